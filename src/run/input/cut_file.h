/* cut_file.h -- record boundaries of a file. SPDX-License-Identifier: MIT
 *
 * Most splitters need only the bytes near a cut: some kilobytes, or up to the next record. fastq
 * looks back over eight records. csv and groups of N records need all bytes before the cut: they are
 * read once for all cuts in any order, because boundaries on the way are kept in slots. */
#ifndef CV_CUT_FILE_H
#define CV_CUT_FILE_H
#include "run/common/piece_part.h"
#include "run/split/split.h"

enum { CV_CUT_NEAR = 4096 }; /* bytes that are read first around a cut */

/* For one thread at a time. The second group of members is set by the caller after _init. */
struct cv_cut_file {
    const struct cv_splitter *splitter; /* borrowed               */
    const char *name;                   /* borrowed: for messages */
    int fd;                             /* borrowed               */
    uint64_t size;
    uint64_t torn; /* start of an incomplete last record, once found; UINT64_MAX: none */
    struct cv_lazy_reader *reader; /* borrowed: to be read instead of fd; NULL    */
    uint64_t longest;              /* give up a search for a longer record; 0: never */
    /* Private. */
    uint64_t lead; /* bytes of header that are not records, once `led`             */
    bool led;
    uint64_t floor; /* smallest offset above 0 that can be a boundary; 0: not known */
    int form;       /* of walks (struct cv_split_kind), once one has begun after 0  */
    size_t near;    /* bytes that are read first around a cut                       */
    char *block;    /* owned: the bytes read last */
    size_t capacity, held;
    uint64_t block_at;
    uint64_t *slots; /* owned: slots[k] is the first boundary at or after k * grain */
    size_t nslots, slots_capacity;
    uint64_t grain;
    uint64_t last; /* boundary found last with their help: the next one is often near */
};

/* Reads nothing. */
void cv_cut_file_init(struct cv_cut_file *file, const struct cv_splitter *splitter,
                      const char *name, int fd, uint64_t size);
void cv_cut_file_done(struct cv_cut_file *file);

/* The first boundary at or after `offset`, or the size. */
enum cleave_status cv_cut_file_at(struct cv_cut_file *file, uint64_t offset,
                                  uint64_t *out, struct cleave_error *err);
/* The first start of a record, even within a group. */
enum cleave_status cv_cut_record_at(struct cv_cut_file *file, uint64_t offset,
                                    uint64_t *out, struct cleave_error *err);
/* The end of the header. */
enum cleave_status cv_cut_file_header(struct cv_cut_file *file, uint64_t *out,
                                      struct cleave_error *err);
/* The bytes that complete the last record. */
enum cleave_status cv_cut_file_closing(struct cv_cut_file *file, enum cv_closing *out,
                                       struct cleave_error *err);
/* The number of records between two boundaries. Reads the bytes between them. */
enum cleave_status cv_cut_file_count(struct cv_cut_file *file, uint64_t from, uint64_t to,
                                     uint64_t *out, struct cleave_error *err);
/* At least `min` bytes at `offset`, or up to the end of the file, borrowed until the next call of
 * this header; `block` bytes are read at a time. */
enum cleave_status cv_cut_file_read(struct cv_cut_file *file, uint64_t offset, size_t min,
                                    size_t block, const char **bytes, size_t *length,
                                    struct cleave_error *err);
/* The error of a record that is longer than `max`. `offset` is its start, or `inside` it. */
enum cleave_status cv_cut_fail_long(const char *name, bool inside, uint64_t offset,
                                    uint64_t max, struct cleave_error *err);

/* --- pairs: two files, cut after the same number of records ------------------------------------ */

struct cv_pair_cut {
    uint64_t first, second; /* boundaries of the two files   */
    uint64_t records;       /* before either of them         */
};

/* For one thread at a time. Both files are read up to the cut, once for all cuts. */
struct cv_cut_pairs {
    struct cv_cut_file *first, *second; /* borrowed               */
    struct cv_pair_cut *cuts;           /* owned: known, in order */
    size_t ncuts, capacity;
    uint64_t grain; /* bytes of the first file between known cuts */
};

/* Both files have the same splitter, which must allow pairs. */
enum cleave_status cv_cut_pairs_init(struct cv_cut_pairs *pairs,
                                     struct cv_cut_file *first,
                                     struct cv_cut_file *second,
                                     struct cleave_error *err);
void cv_cut_pairs_done(struct cv_cut_pairs *pairs);
/* The first boundary of the first file at or after `offset`, and the start of the same record in
 * the second file. Fails if one file has fewer records. */
enum cleave_status cv_cut_pairs_at(struct cv_cut_pairs *pairs, uint64_t offset,
                                   struct cv_pair_cut *out, struct cleave_error *err);

#endif
