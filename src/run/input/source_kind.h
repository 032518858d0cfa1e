/* source_kind.h -- the three kinds of sources: files, a stream, items. SPDX-License-Identifier: MIT
 *
 * source.c implements source.h in terms of struct cv_source_kind. */
#ifndef CV_SOURCE_KIND_H
#define CV_SOURCE_KIND_H
#include "run/input/cut_file.h"
#include "run/input/record_weight.h"
#include "run/input/source.h"
#include "run/input/weight_index.h"
#include "run/split/format_choice.h"
#include "run/split/split_kind.h"

struct cv_cut_window;
struct cv_magic;
struct cv_source_file;
struct cv_stream;

/* A range that an earlier run has finished. */
struct cv_source_known {
    size_t file;
    uint64_t begin, end; /* offsets in the file */
    uint64_t tag;
    bool judged; /* stream: it has arrived, and */
    bool broken; /* ... is not whole records    */
};

/* An offset counts from the start of a file or stream. `file` is 0 for a stream. */
struct cv_source_kind {
    void (*free)(struct cv_source *source);
    /* The file of an address, opened for reading, and the address of its first byte. */
    enum cleave_status (*locate)(struct cv_source *source, uint64_t address, size_t *file,
                                 uint64_t *base, struct cleave_error *err);
    /* The address where a piece that begins at an address must end: end of a file or segment. */
    uint64_t (*end_at)(const struct cv_source *source, uint64_t address);

    /* Records. The first boundary at or after `target` in (begin, end], which is before `end`. */
    enum cleave_status (*cut)(struct cv_source *source, size_t file, uint64_t begin,
                              uint64_t end, uint64_t target, uint64_t *out,
                              struct cleave_error *err);
    enum cleave_status (*count)(struct cv_source *source, const struct cv_piece *piece,
                                uint64_t *first, uint64_t *count,
                                struct cleave_error *err);
    enum cleave_status (*find_torn)(struct cv_source *source, bool *out,
                                    struct cleave_error *note, struct cleave_error *err);

    /* Pieces. Set name, bytes and descriptors of a piece with this body. */
    enum cleave_status (*fill)(struct cv_source *source, struct cv_range body,
                               struct cv_piece *piece, struct cleave_error *err);
    /* Whether a known range can be judged yet; if so, whether it is whole records, which are then
     * taken as *piece. */
    enum cleave_status (*judge)(struct cv_source *source,
                                const struct cv_source_known *known, bool *ready,
                                bool *whole, struct cv_piece *piece,
                                struct cleave_error *err);
    enum cleave_status (*finish)(struct cv_source *source, const struct cv_piece *piece,
                                 struct cleave_error *err);

    /* The rest may be NULL. A piece was taken, or put back. */
    void (*in_use)(struct cv_source *source, const struct cv_piece *piece, bool begins);
    enum cleave_status (*limit)(struct cv_source *source, const struct cv_piece *piece,
                                struct cleave_error *err);

    /* Let bytes that arrived be taken. */
    enum cleave_status (*start)(struct cv_source *source, struct cleave_error *err);

    /* Input that arrives, while the source is `open`. */
    bool (*has_room)(const struct cv_source *source);
    int (*poll_fd)(const struct cv_source *source);
    enum cleave_status (*pump)(struct cv_source *source, struct cleave_error *err);
    /* Whether the byte at this address is still to arrive and there is room for it. */
    bool (*arrives)(const struct cv_source *source, uint64_t address);
};

/* The weights of the records of a source (source_weights.c). */
struct cv_source_weights {
    char *text; /* owned: as it was asked for */
    double missing;
    bool known; /* `how` is set: the header has arrived */
    struct cv_record_weight how;
    struct cv_splitter
        records; /* the splitter of the source without groups; its parts are borrowed */
    struct cv_weight_index index;
    const struct cleave_key_limit *limits; /* borrowed: index.nkeys of them */
    struct cv_record_weight *keys;         /* owned: one for each limit */
    uint64_t *found;                       /* owned: keys of the current record */
    uint64_t number;                       /* records of the current file so far */
    double left;                           /* weight of the pending ranges */
    struct cv_weigher *weigher;            /* owned; NULL: no command runs */
};

extern const struct cv_source_kind cv_source_files, cv_source_stream, cv_source_items;

struct cv_source {
    const struct cv_source_kind *kind;
    const struct cv_splitter *splitter; /* borrowed */
    bool header, raw;
    struct cv_splitter *choose; /* borrowed: to become the splitter of the format; NULL */
    struct cv_format_choice choice;
    bool no_header, chose_header;
    bool waits;                    /* for cv_source_start */
    char *head;                    /* owned: its bytes; NULL                          */
    uint64_t alone;                /* end of the header that is a piece; 0: none      */
    bool open;                     /* more may arrive                                 */
    double first_s;                /* when the first bytes of a stream arrived        */
    double ended_s;                /* when its end arrived                            */
    uint64_t hold;                 /* bytes to hold while it is open                  */
    uint64_t max_piece;            /* 0: no limit                                     */
    uint64_t max_record;           /* 0: no limit                                     */
    uint64_t total;                /* bytes of all files, or that have arrived        */
    struct cv_range_set pending;   /* addresses that can be taken             */
    struct cv_source_known *known; /* owned */
    size_t nknown, known_capacity;
    size_t next_known;                  /* to be given out            */
    struct cv_content_hasher *hasher;   /* owned; NULL until used     */
    const struct cv_format_guess *like; /* of the first input; NULL   */
    struct cv_source_file *files;       /* owned; one for a stream or items */
    size_t nfiles;
    size_t current;              /* the file in use; nfiles: none  */
    struct cv_source_file *mate; /* owned; NULL without pairs      */
    struct cv_cut_pairs pairs;
    struct cv_pair_cut pair_cut; /* the result of the last search  */
    bool shortened;              /* a file could not be decoded to its end: */
    uint64_t total_good;         /* addresses before the damage    */
    struct cleave_error damage;
    /* A stream. */
    struct cv_stream *stream; /* owned; NULL: files or items                     */
    size_t next_judged;       /* known range to compare with the stream          */
    /* Items. */
    const struct cleave_items *items;  /* borrowed */
    struct cv_source_weights *weights; /* owned; NULL: units are bytes */
};

/* --- source.c ------------------------------------------------------------------------------- */

/* The last file that does not begin after the address; it is not empty, because the next file
 * begins at the same address as an empty one. */
size_t cv_source_file_at(const struct cv_source *source, uint64_t address);
/* Choose the format by the first bytes of the first file with bytes; `ends`: those are all. */
enum cleave_status cv_source_choose(struct cv_source *source,
                                    const struct cv_source_file *file, const char *bytes,
                                    size_t length, bool ends, bool *decided,
                                    struct cleave_error *err);
/* The end of the header of a file in use; 0: none, or it has not arrived. */
enum cleave_status cv_source_find_header(struct cv_source *source, size_t index,
                                         uint64_t *out, struct cleave_error *err);
/* The first boundary at or after `target`, an offset in the file; at most `end`. The first piece of a
 * file has more than its header. */
enum cleave_status cv_source_cut(struct cv_source *source, size_t file, uint64_t begin,
                                 uint64_t end, uint64_t target, uint64_t *out,
                                 struct cleave_error *err);
/* The piece with a body, an offset in a file that is in use. */
enum cleave_status cv_source_make(struct cv_source *source, size_t file,
                                  struct cv_range body, struct cv_piece *out,
                                  struct cleave_error *err);
/* Take a piece out of the pending ranges. */
enum cleave_status cv_source_remove(struct cv_source *source,
                                    const struct cv_piece *piece,
                                    struct cleave_error *err);
/* With weights: pending ranges have changed. */
void cv_source_weights_note(struct cv_source *source, uint64_t begin, uint64_t end,
                            bool pending);
void cv_source_weights_recount(struct cv_source *source);
enum cleave_status cv_source_cannot_read(const char *name, struct cleave_error *err);
/* The error of a last record that is incomplete and begins at `offset`. */
enum cleave_status cv_source_fail_torn(const char *name, uint64_t offset,
                                       struct cleave_error *err);

/* --- weights (source_weights.c) ----------------------------------------------------------------- */

/* Weigh complete records of a stream, at an address. */
enum cleave_status cv_source_weigh_arrived(struct cv_source *source, const char *bytes,
                                           uint64_t begin, uint64_t end,
                                           const struct cv_cut_window *window,
                                           struct cleave_error *err);
/* --- files, and the file of a stream (source_files.c) ------------------------------------------------------------------- */

struct cv_source_file {
    char *name;   /* owned: as given, for messages               */
    char *path;   /* owned: as in struct cv_input                */
    char *tail;   /* owned: closes its pieces; NULL: not known   */
    char *header; /* owned: kept if it is decoded, fetched or a stream; NULL */
    uint64_t device, inode, size;
    int64_t mtime_ns, ctime_ns;
    uint64_t base;                   /* address of its first byte */
    struct cv_decoded_file *decoded; /* owned: has `size` bytes; NULL: not compressed   */
    struct cv_fetched *fetched;    /* owned: a command writes its ranges; NULL          */
    uint64_t packed_size;          /* bytes of a file that is decoded                   */
    const struct cv_magic *around; /* format of a file that is decoded; NULL: as asked  */
    const struct cv_codec *lone;   /* format of a large file that is one block; NULL    */
    bool touched; /* ctime has changed, but not size and mtime          */
    bool touch_reported;
    bool ignores_index;
    bool unended;  /* BGZF without EOF block                             */
    bool foretold; /* decoded once, to learn its size; read as a stream: */
    uint64_t foretold_bytes;
    bool borrowed;          /* standard input: never closed                      */
    int fd;                 /* -1: closed; a file is open while it is in use      */
    struct cv_cut_file cut; /* while it is open                                   */
    bool headed;            /* header_end is known                                */
    uint64_t header_end;
    uint64_t in_use;              /* bytes taken, neither finished nor put back   */
    uint64_t edge;                /* the last boundary where a piece begins       */
    uint64_t counted_to, counted; /* `counted` records are before `counted_to`    */
};

/* *is_stream: `path` is not a regular file; only names and identity are set. */
enum cleave_status cv_source_file_init(struct cv_source_file *file, const char *path,
                                       bool *is_stream, struct cleave_error *err);
enum cleave_status cv_source_file_fetch(struct cv_source_file *file, const char *name,
                                        const struct cv_source_options *options,
                                        struct cleave_error *err);
/* Prepare a compressed file to be read at any offset. If that takes decoding all of it, and `alone`,
 * it is to be read as a stream instead: *as_stream. */
enum cleave_status cv_source_file_unpack(struct cv_source_file *file,
                                         const struct cv_source_options *options,
                                         bool alone, bool *as_stream,
                                         struct cleave_error *err);
/* Open it unless it is open; fails if it was changed. */
enum cleave_status cv_source_file_use(struct cv_source_file *file,
                                      const struct cv_splitter *splitter,
                                      struct cleave_error *err);
/* Begin to cut an open file, which has `size` bytes. */
void cv_source_file_cut(struct cv_source_file *file, const struct cv_splitter *splitter,
                        uint64_t size);
/* Use a file, and close the one before unless a piece of it is in use. */
enum cleave_status cv_source_use(struct cv_source *source, size_t file,
                                 struct cleave_error *err);
/* Close the file in use, so that another splitter can be used for it. */
void cv_source_unuse(struct cv_source *source);

/* --- FILE.cleave-index (source_files.c) -------------------------------------------------------- */

/* Write the index of a file in use. *slots grows by its boundaries. */
enum cleave_status cv_source_file_make_index(struct cv_source_file *file, bool force,
                                             uint64_t *slots, struct cleave_error *err);
bool cv_source_index_helps(const struct cv_splitter *splitter);
/* Owned by the caller; NULL: no memory. */
char *cv_source_index_name(const struct cv_source_file *file);

/* --- streams (source_stream.c) ----------------------------------------------------------------- */

/* Read the only file of the source as a stream. */
enum cleave_status cv_source_open_stream(struct cv_source *source,
                                         const struct cv_source_options *options,
                                         struct cleave_error *err);

#endif
