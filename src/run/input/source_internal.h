/* source_internal.h -- the parts of a source, for its own files. SPDX-License-Identifier: MIT */
#ifndef CV_SOURCE_INTERNAL_H
#define CV_SOURCE_INTERNAL_H
#include "base/text.h"
#include "run/input/cut_file.h"
#include "run/input/cut_window.h"
#include "run/input/source.h"
#include "run/input/spool.h"

/* --- regular files (source_files.c) ------------------------------------------------------- */

struct cv_source_file {
    char *name;   /* owned: as given, for messages */
    char *tail;   /* owned: what closes its pieces; NULL: not known, or nothing */
    char *header; /* owned: its header, if it is not read from a file; NULL: not known */
    char *path;   /* owned: as in struct cv_input  */
    uint64_t device, inode, size;
    struct cv_decoded_file
        *decoded; /* owned: it is decoded, to `size` bytes; NULL: it is not */
    struct cv_fetched
        *fetched;         /* owned: a command gives it by ranges; NULL: it is a file */
    uint64_t packed_size; /* then: bytes of the file                              */
    const struct cv_magic
        *around; /* ... and what it is; NULL: as was asked for          */
    const struct cv_codec
        *lone;               /* it is large, and one block of that; NULL: it can be cut */
    uint64_t foretold_bytes; /* if foretold */
    int64_t mtime_ns, ctime_ns;
    bool touched,
        told;      /* neither size nor mtime, but ctime has changed; it was said    */
    uint64_t base; /* address of its first byte                                   */
    bool ignores;  /* an index of it is made: the one there is not read            */
    bool unended;  /* BGZF without the block that ends it                          */
    bool foretold; /* it is read as a stream, and was decoded once to know its size */
    int fd;        /* -1: not open now                                            */
    bool borrowed; /* standard input: never closed                                */
    struct cv_cut_file cut; /* while fd is open                                   */
    bool headed;            /* header_end is known                                */
    uint64_t header_end;
    uint64_t at_work;             /* bytes taken, neither finished nor put back         */
    uint64_t edge;                /* the last known boundary where a piece begins       */
    uint64_t counted_to, counted; /* so many records are before that boundary     */
};

/* Fill `file` from a path that is a regular file. *is_stream tells that it is none, and
 * then nothing else is done. */
enum cleave_status cv_source_file_init(struct cv_source_file *file, const char *path,
                                       bool *is_stream, struct cleave_error *err);
/* Fill it from the name of an input that is fetched. `options` are borrowed with its texts. */
enum cleave_status cv_source_file_fetch(struct cv_source_file *file, const char *name,
                                        const struct cv_source_options *options,
                                        struct cleave_error *err);
void cv_source_file_done(struct cv_source_file *file);
/* Open it again if it was closed; fails if it is not the same any more. */
enum cleave_status cv_source_file_use(struct cv_source_file *file,
                                      const struct cv_splitter *splitter,
                                      struct cleave_error *err);
void cv_source_file_close(struct cv_source_file *file);
/* Boundaries that were kept in a file beside it, if there is one. (source_index.c) */
enum cleave_status cv_source_file_index(struct cv_source_file *file,
                                        struct cleave_error *err);
enum cleave_status cv_source_file_unchanged(struct cv_source_file *file,
                                            struct cleave_error *err);
/* The file in which an address is. */
size_t cv_source_file_at(const struct cv_source *source, uint64_t address);

/* --- boundaries that are kept (source_index.c) ------------------------------------------------- */

/* Whether boundaries of the splitter cannot be told from the bytes near them. */
bool cv_index_is_useful(const struct cv_splitter *splitter);
/* What an index has to be of, at its head. */
void cv_index_add_head(struct cv_text *out, const struct cv_source_file *file);
/* Its name: owned by the caller; NULL: no memory. */
char *cv_index_name(const struct cv_source_file *file);

/* --- a stream (source_stream.c) ------------------------------------------------------------- */

/* A boundary, and with `numbers` how many records are before it. */
struct cv_stream_mark {
    uint64_t offset, records;
};

struct cv_stream {
    char *name, *path; /* owned                                                       */
    int fd;
    bool borrowed; /* standard input                                              */
    bool polls;    /* epoll can wait for it                                       */
    bool numbers;
    bool ended;
    double ended_s;   /* when that was, by the clock                                  */
    double first_s;   /* when the first bytes had come                                */
    bool looked;      /* at what it is (magic.h), or nobody asks                     */
    const char *eats; /* what it may be that is no text: of the splitter               */
    const struct cv_codec *codec;  /* what it has to be; NULL: whatever it is        */
    const struct cv_magic *around; /* what it was before it was decoded; NULL        */
    const struct cv_format_guess
        *like; /* what it seems to be, as text; NULL             */
    struct cv_decode_thread
        *decoding; /* owned; NULL: it comes as it is                 */
    int packed_fd; /* then: what is decoded                          */
    bool damaged;  /* it could not be decoded to its end: why        */
    bool stunted;  /* ... and its last record has bytes missing      */
    struct cleave_error damage;
    struct cv_spool
        spool; /* what came and is not finished                              */
    uint64_t device, inode;
    uint64_t hold, piece_most;
    uint64_t received; /* bytes that came                                             */
    uint64_t settled;  /* the last boundary known: all before was made available      */
    uint64_t finished; /* bytes                                                       */
    bool headed;       /* the header is known, or nobody asks                         */
    uint64_t header_end;
    struct cv_cut_window window; /* from `settled` on                                 */
    char *header;     /* owned: a copy; NULL until it is known                         */
    char *tail;       /* owned: what closes its pieces                                 */
    uint64_t records; /* before `settled`, with `numbers`                              */
    /* In order, of what is not finished: every 64 KiB or so, so that a cut needs no long
     * walk, and with `numbers` where pieces begin and end. */
    struct cv_stream_mark *marks; /* owned */
    size_t nmarks, marks_capacity;
};

enum cleave_status cv_stream_new(const char *path,
                                 const struct cv_source_options *options,
                                 struct cv_stream **out, struct cleave_error *err);
void cv_stream_free(struct cv_stream *stream);
/* Whether as much is held as may be. */
bool cv_stream_full(const struct cv_stream *stream);
/* Move what is there to memory, up to a few megabytes. */
enum cleave_status cv_stream_read(struct cv_stream *stream, struct cleave_error *err);
/* Give the memory back. */
enum cleave_status cv_stream_finish(struct cv_stream *stream, uint64_t begin,
                                    uint64_t end, struct cleave_error *err);

/* --- its boundaries that are remembered (source_stream.c) ------------------------------------- */

enum cleave_status cv_stream_records(const struct cv_stream *stream, uint64_t begin,
                                     uint64_t end, uint64_t *first, uint64_t *count,
                                     struct cleave_error *err);
/* With `numbers`: know how many records are before a boundary at the end of a piece. */
enum cleave_status cv_stream_number(struct cv_stream *stream, uint64_t offset,
                                    struct cleave_error *err);
/* A mark more, in its place; `index` of them are before it. */
enum cleave_status cv_stream_mark(struct cv_stream *stream, size_t index,
                                  struct cv_stream_mark mark, struct cleave_error *err);
/* Marks before `offset`. */
size_t cv_stream_marks_before(const struct cv_stream *stream, uint64_t offset);
/* The first boundary at or after `target` in [begin, end], which are boundaries, of bytes
 * that are not finished, in one stretch. begin < target <= end. */
enum cleave_status cv_stream_cut(const struct cv_stream *stream, uint64_t begin,
                                 uint64_t end, uint64_t target, uint64_t *out,
                                 struct cleave_error *err);

/* --- new ones (source_stream.c) --------------------------------------------------------------- */

/* Find new boundaries in what came, and let it be taken. */
enum cleave_status cv_stream_settle(struct cv_source *source, struct cleave_error *err);

/* --- streams that are decoded (source_unpack.c) ------------------------------------------------- */

/* Look at the first bytes that came: whether it is text, to be decoded, or neither. */
enum cleave_status cv_stream_look(struct cv_stream *stream, struct cleave_error *err);
/* What is decoded has ended: well, or `damaged`. */
void cv_stream_unpacked(struct cv_stream *stream);
/* Whether a regular file is to be decoded. If so, it is made ready to be read from any
 * place, unless it is `alone` and that would take decoding all of it: then *as_stream. */
enum cleave_status cv_source_file_unpack(struct cv_source_file *file,
                                         const struct cv_source_options *options,
                                         bool alone, bool *as_stream,
                                         struct cleave_error *err);

/* --- records that are too long (source_limit.c) ------------------------------------------------ */

/* Of the records of a stream in [begin, end), which are boundaries. */
enum cleave_status cv_stream_limit(const struct cv_source *source, const char *bytes,
                                   uint64_t begin, uint64_t end,
                                   struct cleave_error *err);
/* Of the one that begins at the last boundary and has no end yet. */
enum cleave_status cv_stream_limit_rest(const struct cv_source *source, uint64_t begin,
                                        struct cleave_error *err);
/* Of a piece of a file that is in use. */
enum cleave_status cv_source_limit(struct cv_source *source, const struct cv_piece *piece,
                                   struct cleave_error *err);

/* --- the source ----------------------------------------------------------------------------- */

struct cv_source_known {
    size_t file;
    uint64_t begin, end; /* offsets in the file */
    uint64_t tag;
    bool judged; /* of a stream: whether it has come, and */
    bool broken; /* whether it is no whole records        */
};

struct cv_source {
    const struct cv_splitter *splitter; /* borrowed */
    bool header, raw;
    bool foretold, unended;      /* its stream, as of a file */
    const struct cv_codec *lone; /* what its stream is one block of; NULL */
    const struct cv_format_guess
        *like;                    /* what the first of its files seems to be; NULL */
    uint64_t foretold_bytes;      /* of its stream, if foretold */
    uint64_t max_record;          /* bytes; 0: any number     */
    struct cv_source_file *files; /* owned; none for a stream */
    size_t nfiles;
    size_t current;              /* the file in use; nfiles: none */
    struct cv_source_file *mate; /* owned; NULL without pairs     */
    struct cv_cut_pairs pairs;
    struct cv_pair_cut pair_cut;   /* the last one asked for        */
    struct cv_stream *stream;      /* owned; NULL for files         */
    uint64_t total;                /* bytes of all files            */
    struct cv_range_set pending;   /* addresses                     */
    struct cv_source_known *known; /* owned */
    size_t nknown, known_capacity;
    size_t next_known;                /* to be given out                             */
    size_t next_judged;               /* of a stream: to be compared with what comes */
    struct cv_content_hasher *hasher; /* owned; NULL until used                      */
    bool shortened;                   /* a file could not be decoded to its end:     */
    uint64_t total_good;              /* addresses before that                       */
    struct cleave_error damage;
    const struct cleave_items
        *items;          /* borrowed: its bytes are these; NULL: of an input */
    uint64_t items_hold; /* more are read while fewer wait                  */
    bool items_come;     /* more may                                        */
};

/* --- items that come (source_items.c) -------------------------------------------------------- */

/* Ask for more, and let them be taken. */
enum cleave_status cv_source_items_pump(struct cv_source *source,
                                        struct cleave_error *err);

/* Open a file that is to be used; the one before is closed unless a piece of it is at
 * work. (source.c) */
enum cleave_status cv_source_use(struct cv_source *source, size_t index,
                                 struct cleave_error *err);
/* The first boundary at or after `target` in [begin, end], by offsets in the file; begin <
 * target. The first piece of a file is never its header alone. */
enum cleave_status cv_source_cut(struct cv_source *source, size_t index, uint64_t begin,
                                 uint64_t end, uint64_t target, uint64_t *out,
                                 struct cleave_error *err);
/* The piece of a file that is in use. */
enum cleave_status cv_source_make(struct cv_source *source, size_t index,
                                  struct cv_range body, struct cv_piece *out,
                                  struct cleave_error *err);
/* The error that a last record is cut short; offset: where it begins. (source.c) */
enum cleave_status cv_source_say_torn(const char *name, uint64_t offset,
                                      struct cleave_error *err);
/* A piece was taken, or is finished or put back. */
void cv_source_at_work(struct cv_source *source, const struct cv_piece *piece,
                       bool begins);

#endif
