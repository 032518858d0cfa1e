/* ordered_output_internal.h -- what the files gather*.c share. SPDX-License-Identifier: MIT */
#ifndef CV_ORDERED_OUTPUT_INTERNAL_H
#define CV_ORDERED_OUTPUT_INTERNAL_H
#include "run/output/ordered_output.h"
#include "run/common/poller.h"

/* A file that outputs are put into, one behind the other, and given back as a whole. */
struct cv_spill_file {
    int fd;
    bool disk;       /* else in memory                                        */
    uint64_t length; /* up to where it has been written                       */
    uint64_t held;   /* bytes of it that count as used                        */
    size_t users;    /* stores that are partly in it                          */
    bool taken;      /* a store is being filled at its end                    */
    bool listed;     /* in the list of those with room                        */
    struct cv_spill_file *next, *previous; /* of all                                   */
    struct cv_spill_file *next_free;       /* of those with room                       */
};

struct cv_extent {
    struct cv_spill_file *spill; /* borrowed */
    uint64_t begin, end;
};

enum { CV_BLOCK = 256 * 1024 - 64 }; /* what a frame of 256 KiB has room for */

struct cv_chunk_output_block {
    struct cv_chunk_output_block *next;
    size_t room, length; /* length: up to where it is filled                      */
    unsigned char bytes[];
};

/* An output, or its beginning, in memory of this process. */
struct cv_chunk_output_blocks {
    struct cv_chunk_output_block *first,
        *last;    /* owned                                           */
    size_t begin; /* of the first one: what is before it is gone     */
    uint64_t bytes;
};

/* What did not fit into memory follows on disk. There, room is left for what is before
 * it, which takes no space and lets both be joined without moving the larger part. */
struct cv_chunk_output {
    struct cv_ordered_output
        *outputs;   /* borrowed                                        */
    bool in_blocks; /* rather than in files, as far as memory goes       */
    struct cv_chunk_output_blocks
        blocks;                  /* come first                                      */
    struct cv_extent extents[2]; /* in memory, on disk; after blocks: on disk         */
    size_t nextents;
    bool filling; /* its last spill file is still taken                                */
    bool passes;  /* it is filled by lines; see ordered_output.c                       */
    bool offered; /* lines of it may be written before it is finished               */
    uint64_t whole;  /* bytes of it that are left up to the end of its last line    */
    uint64_t passed; /* bytes of it that were written before it was finished        */
    /* Of one whose output may be shown early, which keeps what was; see ordered_output.c. */
    uint64_t shown;            /* bytes of it that were written                        */
    uint64_t looked, line_end; /* up to where it was looked for lines, and one ends     */
    double due_s; /* before that nothing of it is; 0: that moment has gone            */
    void (*call)(void *context); /* it is wanted where it is made; NULL: that is known  */
    void *caller;
    struct cv_chunk_output *next_offered;
    bool widened;
    size_t
        lent; /* of the blocks: bytes that cv_chunk_output_read has handed out         */
    uint64_t begin, end; /* of the input, once finished                          */
    struct cv_chunk_output *next;      /* of all                                        */
    struct cv_chunk_output *next_free; /* of those not in use                           */
};

enum cv_sink_kind { CV_SINK_NONE, CV_SINK_PIPE, CV_SINK_FILE, CV_SINK_OTHER };

/* Whether all outputs begin with the same line. */
struct cv_repeated_header {
    char line[CV_ALIKE]; /* of the first that has something, or its beginning        */
    uint64_t outputs;    /* that have something and begin so                         */
    bool differ;
};

struct cv_ordered_output {
    struct cv_ordered_output_options options;
    char *directory; /* owned: options.directory */
    char *sink_name; /* owned: options.sink_name */

    struct cv_spill_file *spills,
        *free_shelves[2];             /* owned; with room: in memory, on disk */
    uint64_t memory, disk, most_disk; /* bytes held                           */
    struct cv_chunk_output_block
        *spare_blocks; /* owned: all of CV_BLOCK bytes          */
    uint64_t spare;    /* bytes of them                        */
    struct cv_chunk_output *stores,
        *free_stores; /* owned                                */

    struct cv_chunk_output *
        *heap; /* owned array of finished stores, the first on top    */
    size_t count, capacity;
    struct cv_chunk_output
        *writing; /* the one that is being written, or NULL            */
    struct cv_chunk_output
        *offered; /* the first of those that are                       */
    struct cv_chunk_output
        *said; /* failed after some of it was written: another one has to begin
                                 with that; or NULL                                */
    struct cv_timer ripens; /* when what is in front may be shown                */
    bool headed;            /* its header has been looked at                     */
    size_t extent;          /* of it                                             */
    uint64_t position;      /* in the input: all before it is written or skipped;
                                 unordered: how many outputs were written          */
    uint64_t finished, written;
    double blocked_from_s,
        blocked_s; /* since when the sink takes nothing (0: it does), and
                                         how long it did not before                   */

    char *head; /* owned: the header of outputs, once one had it; else NULL       */
    size_t head_length;
    char head_goes_on; /* what follows begins with the same '@' or '#'; 0: it does not */
    struct cv_repeated_header alike;

    enum cv_sink_kind kind;
    size_t copy_bytes; /* of CV_SINK_OTHER, at a time                              */
    bool socket;
    int error; /* errno of the failure of the sink                                 */
    struct cleave_error failure;
    struct cv_poller *poller; /* borrowed, or NULL */
    struct cv_watch watch;
};

/* --- output_storage.c ----------------------------------------------------------------------- */

/* A spill file whose end a store may fill, in memory or on disk. */
enum cleave_status cv_spill_file_take(struct cv_ordered_output *outputs, bool disk,
                                      struct cv_spill_file **out,
                                      struct cleave_error *err);
/* The store at its end is complete. */
void cv_spill_file_return(struct cv_ordered_output *outputs, struct cv_spill_file *spill);
/* `bytes` more are in it; they may be negative. */
void cv_spill_file_count(struct cv_ordered_output *outputs, struct cv_spill_file *spill,
                         int64_t bytes);
/* A store that is partly in it goes away. */
void cv_spill_file_leave(struct cv_ordered_output *outputs, struct cv_spill_file *spill);
void cv_spill_files_close(struct cv_ordered_output *outputs);
/* An error of reading or writing kept outputs, with errno. */
enum cleave_status cv_spill_file_fail(const struct cv_ordered_output *outputs, bool disk,
                                      int error, struct cleave_error *err);

/* --- output_storage.c ----------------------------------------------------------------------- */

/* Room for the next bytes of an output, of which `wanted` are known to come. NULL: the
 * memory is used up. */
unsigned char *cv_blocks_room(struct cv_chunk_output *store, size_t wanted,
                              size_t *out_room);
/* So many have been put there. */
void cv_blocks_added(struct cv_chunk_output *store, size_t bytes);
/* The first bytes of those that are left; there are some. */
const unsigned char *cv_blocks_front(const struct cv_chunk_output *store,
                                     size_t *out_length);
/* So many of the first ones are not needed any more. */
void cv_blocks_gone(struct cv_chunk_output *store, size_t bytes);
/* Nothing is added any more: give back what is not used. */
void cv_blocks_cut(struct cv_chunk_output *store);
/* So many of the last ones are not wanted; there are as many. */
void cv_blocks_drop_last(struct cv_chunk_output *store, uint64_t bytes);
void cv_blocks_clear(struct cv_chunk_output *store);
/* Free the blocks that are in no output. */
void cv_blocks_trim(struct cv_ordered_output *outputs);

/* --- chunk_output.c ----------------------------------------------------------------------- */

/* What comes next goes to a spill file, in memory or on disk. */
enum cleave_status cv_chunk_output_begin_extent(struct cv_chunk_output *store, bool disk,
                                                struct cleave_error *err);
/* So many of its last bytes are not wanted. */
void cv_chunk_output_cut(struct cv_chunk_output *store, uint64_t bytes);
/* It is not offered any more. */
void cv_chunk_output_take_out(struct cv_chunk_output *store);

/* --- ordered_output.c ------------------------------------------------------------------------ */

/* The one among those offered that begins there, or NULL. */
struct cv_chunk_output *cv_pass_find(const struct cv_ordered_output *outputs,
                                     uint64_t begin);
/* So many bytes of an offered store were written, or of another one taken out. */
void cv_pass_written(struct cv_chunk_output *store, uint64_t bytes);
/* It is finished: the rest of it is written from where it is now. */
void cv_pass_finish(struct cv_chunk_output *store);

/* --- chunk_output.c ------------------------------------------------------------------------ */

/* What cv_chunk_output_read has handed out is not looked at any more. */
void cv_chunk_output_read_over(struct cv_chunk_output *store);

/* --- ordered_output.c ----------------------------------------------------------------------- */

/* Write what may be written of the store that is being written, at most *most bytes. One that
 * is still being filled gives whole lines only, and stays. */
enum cleave_status cv_ordered_output_write(struct cv_ordered_output *outputs,
                                           uint64_t *max,
                                           enum cv_ordered_output_state *out);

/* --- ordered_output.c ----------------------------------------------------------------------- */

/* It is offered: its first moment begins. */
void cv_streamed_output_begin(struct cv_chunk_output *store);
/* Whether some of it may be written now. */
bool cv_streamed_output_ready(struct cv_chunk_output *store);
/* Write what may be, at most *most bytes, of the store in front. */
enum cleave_status cv_streamed_output_write(struct cv_ordered_output *outputs,
                                            uint64_t *max,
                                            enum cv_ordered_output_state *out);
/* It is finished: what is left of it is what was not written. */
void cv_streamed_output_finish(struct cv_chunk_output *store);
/* What there is at `begin` need not be what was written of it before. */
void cv_streamed_output_forget(struct cv_ordered_output *outputs, uint64_t begin);

/* --- output_header.c ------------------------------------------------------------------------ */

/* An output is about to be written: take the header away unless it is the first that has
 * one. Fails if it is another. */
enum cleave_status cv_ordered_output_head(struct cv_ordered_output *outputs,
                                          struct cv_chunk_output *store,
                                          struct cleave_error *err);

/* The first `length` bytes of an output that has as many. */
enum cleave_status cv_chunk_output_peek(const struct cv_chunk_output *store, char *out,
                                        size_t length, struct cleave_error *err);

/* --- output_header.c ----------------------------------------------------------------------- */

/* An output is whole, and nothing was taken away from it yet: see how it begins. */
void cv_alike_look(struct cv_ordered_output *outputs,
                   const struct cv_chunk_output *store);

/* --- output_sink.c ------------------------------------------------------------------------ */

void cv_sink_init(struct cv_ordered_output *outputs);
/* Whether it takes bytes of this process as well as those of a file. */
bool cv_sink_takes_bytes(const struct cv_ordered_output *outputs);
/* Write bytes; the number written, or -1 with errno, which is EAGAIN if a sink of another kind
 * has no room now. */
int64_t cv_sink_write_bytes(const struct cv_ordered_output *outputs,
                            const unsigned char *bytes, size_t length);
/* Write up to `length` bytes of `extent`; the number written, or -1 with errno (EAGAIN:
 * wait until the sink is writable). */
int64_t cv_sink_write(struct cv_ordered_output *outputs, const struct cv_extent *extent,
                      uint64_t length);

/* What came of writing to the sink, as a system call says it: how many bytes, which are no longer
 * among the *most. */
enum cleave_status cv_sink_wrote(struct cv_ordered_output *outputs, int64_t got,
                                 uint64_t *max, size_t *out_bytes,
                                 enum cv_ordered_output_state *out);
/* The sink has failed, with errno, and nothing more is written. */
enum cleave_status cv_sink_broke(struct cv_ordered_output *outputs, int error);

#endif
