/* cut_file.h -- cut a file at record boundaries. SPDX-License-Identifier: MIT
 *
 * For most splitters only the bytes near the cut are read: a few kilobytes, or as many as
 * it takes to reach the next record. fastq looks back over the last eight records
 * (cut_file.c). csv needs all bytes up to the cut; they are read once, whatever the number
 * of cuts and their order, as the boundaries found on the way are remembered. */
#ifndef CV_CUT_FILE_H
#define CV_CUT_FILE_H
#include "run/common/piece_part.h"
#include "run/split/split.h"

struct cv_walk;

enum { CV_CUT_NEAR = 4096 }; /* bytes read at first around a cut */

/* For one thread at a time. The fields are for the functions of this header. */
struct cv_cut_file {
    const struct cv_splitter *splitter; /* borrowed                            */
    const char *name;                   /* borrowed: for messages              */
    int fd;                             /* borrowed: any file that can pread   */
    struct cv_lazy_reader
        *well; /* borrowed: in its place; NULL. To be set behind _init */
    uint64_t size;
    uint64_t lead; /* bytes of header that are no records, once `led`              */
    bool led;
    uint64_t floor; /* least offset past 0 that can be a boundary; 0 = not known yet */
    uint64_t torn;  /* see cv_cut_file_incomplete_record */
    int form;       /* of walks, once one has begun behind the start */
    size_t near;    /* bytes read at first around a cut */
    uint64_t
        longest; /* of a record, if a search is to give up; 0: it is not. To be set, too */
    /* The bytes read last. */
    char *block; /* owned */
    size_t capacity, held;
    uint64_t block_at;
    /* csv, groups of so many records: slots[k] is the first boundary at or after k * grain. */
    uint64_t *slots; /* owned */
    size_t nslots, slots_capacity;
    uint64_t grain;
};

/* The first `size` bytes of `fd` are the input. Reads nothing. */
void cv_cut_file_init(struct cv_cut_file *file, const struct cv_splitter *splitter,
                      const char *name, int fd, uint64_t size);
void cv_cut_file_done(struct cv_cut_file *file);

/* The first boundary at or after `offset`; the size when there is none before. */
enum cleave_status cv_cut_file_at(struct cv_cut_file *file, uint64_t offset,
                                  uint64_t *out, struct cleave_error *err);
/* The same for records, be they in groups or not. */
enum cleave_status cv_cut_record_at(struct cv_cut_file *file, uint64_t offset,
                                    uint64_t *out, struct cleave_error *err);
/* The end of the header to be repeated: of the first record, unless told. */
enum cleave_status cv_cut_file_header(struct cv_cut_file *file, uint64_t *out,
                                      struct cleave_error *err);
/* What the last record lacks of its end; nothing of a file without bytes. */
enum cleave_status cv_cut_file_closing(struct cv_cut_file *file, enum cv_closing *out,
                                       struct cleave_error *err);
/* How many records are between two boundaries. Reads the bytes between them. */
enum cleave_status cv_cut_file_count(struct cv_cut_file *file, uint64_t from, uint64_t to,
                                     uint64_t *out, struct cleave_error *err);
/* Where a last record begins that the end of the file cuts short, as by a quote that is
 * never closed; UINT64_MAX as long as no cut or count came upon one. */
uint64_t cv_cut_file_incomplete_record(const struct cv_cut_file *file);

/* Below the search, in cut_file.c: the bytes from `offset` on, at least `least` of them
 * if the file has them, borrowed until the next call; `block` are read at a time. And a
 * walk over the file, up to `limit` or as the walk says. */
enum cleave_status cv_cut_file_read(struct cv_cut_file *file, uint64_t offset, size_t min,
                                    size_t block, const char **bytes, size_t *length,
                                    struct cleave_error *err);
/* The first boundary at or after `offset` where `find` finds the first at or after `until`
 * from one before on: its answers are remembered. */
typedef enum cleave_status cv_cut_find(struct cv_cut_file *file, uint64_t boundary,
                                       uint64_t until, uint64_t *out,
                                       struct cleave_error *err);

struct cv_pair_cut {
    uint64_t first, second; /* boundaries of the two files   */
    uint64_t records;       /* before either of them         */
};

/* For one thread at a time. The fields are for the functions of this header. */
struct cv_cut_pairs {
    struct cv_cut_file *first, *second; /* borrowed               */
    struct cv_pair_cut *cuts;           /* owned: known, in order */
    size_t ncuts, capacity;
    uint64_t grain; /* bytes of the first file between known cuts */
};

/* Both files must have the same splitter, for which cv_splitter_pairs holds. */
enum cleave_status cv_cut_pairs_init(struct cv_cut_pairs *pairs,
                                     struct cv_cut_file *first,
                                     struct cv_cut_file *second,
                                     struct cleave_error *err);
void cv_cut_pairs_done(struct cv_cut_pairs *pairs);
/* The first boundary of the first file at or after `offset`, and the place of the same
 * record in the second file. Fails if one file ends before the other. */
enum cleave_status cv_cut_pairs_at(struct cv_cut_pairs *pairs, uint64_t offset,
                                   struct cv_pair_cut *out, struct cleave_error *err);

#endif
