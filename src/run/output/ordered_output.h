/* ordered_output.h -- keep the outputs of chunks and write them in the order of the input.
 * SPDX-License-Identifier: MIT
 *
 * An output is kept in a memfd and, beyond a limit, in a file without a name. Its bytes go from
 * the pipe of the command to there and on to the sink without a copy through this process. Bytes
 * that pass through this process anyway, from or for a link, are kept in blocks of its memory.
 *
 * Several outputs share a spill file of a few megabytes. Its space is freed by truncation when
 * all of them are dropped: punching holes could zero parts of pages that are still in a pipe. */
#ifndef CV_ORDERED_OUTPUT_H
#define CV_ORDERED_OUTPUT_H
#include <cleave/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "run/common/piece_part.h"

struct cleave_kept_output;
struct cv_poller;
struct cv_splitter;
struct cv_ordered_output;
struct cv_chunk_output; /* the output of one chunk, owned by the ordered output */

/* An output is not written early before its command has run for this time. */
#define CV_EARLY_MOMENT_S 0.1

enum { CV_ALIKE = 256 }; /* room for the line with which all outputs begin */
enum { CV_FEW_BYTES = 2048, CV_FEW_LINES = 32 }; /* most of an output with few lines */
enum { CV_GATHER_MEMORY = 256 << 20 };           /* default of options.memory */

struct cv_ordered_output_options {
    int sink;              /* borrowed: where outputs are written; -1: all are taken */
    const char *sink_name; /* borrowed, for messages: "stdout" */
    /* Called for each output of a chunk, instead of a write to `sink`; or NULL */
    enum cleave_status (*keep)(void *keep_context,
                               const struct cleave_kept_output *output,
                               struct cleave_error *err);
    void *keep_context;
    uint64_t memory;       /* most bytes kept in memory */
    const char *directory; /* borrowed: for spill files; NULL: TMPDIR, else /tmp */
    const struct cv_splitter *head; /* borrowed: of headers, to write once; or NULL */
    const char *input_head; /* borrowed: the header of the input, if it is a chunk */
    uint64_t
        head_alone; /* the output of the input up to this byte begins every output, and is
                            written once; 0: none does */
    bool unordered; /* write in the order of cv_ordered_output_finish */
    bool separate;  /* each output has its own file, from byte 0 */
    bool lines;     /* write lines of offered outputs as they arrive, and drop them */
    bool early;     /* write lines of offered outputs, and keep them until the end */
    bool files;     /* outputs are taken (cv_ordered_output_take): use no blocks */
    /* The name of a format that begins with these bytes and cannot be concatenated, or NULL. */
    const char *(*container)(const char *bytes, size_t length);
    void (*before)(void *context); /* called before it writes; may be NULL */
    void *context;
};

enum cleave_status cv_ordered_output_new(const struct cv_ordered_output_options *options,
                                         struct cv_ordered_output **out,
                                         struct cleave_error *err);
/* Frees all outputs, even those that were not written. */
void cv_ordered_output_free(struct cv_ordered_output *outputs);

enum cv_chunk_output_state {
    CV_STORE_EMPTY, /* the pipe is empty: call again when it is readable */
    CV_STORE_BUSY,  /* `max` was reached */
    CV_STORE_END,   /* the pipe is empty, and all writers have closed it */
};

/* *out is valid until it is dropped or, once finished, written. */
enum cleave_status cv_chunk_output_open(struct cv_ordered_output *outputs,
                                        struct cv_chunk_output **out,
                                        struct cleave_error *err);
/* Use blocks, for bytes from or for a link, unless the output is to be taken or the sink prefers
 * files. Call it before anything is written. */
void cv_chunk_output_use_blocks(struct cv_chunk_output *store);
/* Move at most `max` bytes from the pipe `fd`. Never waits. After a failure (disk full) drop the
 * output. */
enum cleave_status cv_chunk_output_pump(struct cv_chunk_output *store, int fd,
                                        uint64_t max, enum cv_chunk_output_state *out,
                                        struct cleave_error *err);
/* Append bytes. After a failure drop the output. */
enum cleave_status cv_chunk_output_write(struct cv_chunk_output *store, const void *bytes,
                                         size_t length, struct cleave_error *err);
/* Append bytes with options.lines; complete lines of an offered output are written. */
enum cleave_status cv_chunk_output_write_lines(struct cv_chunk_output *store,
                                               const void *bytes, size_t length,
                                               struct cleave_error *err);
/* Take at most `max` bytes from the front of an output that is being filled. With options.lines
 * only complete lines, the last of which may be cut if there are more. */
enum cleave_status cv_chunk_output_read_some(struct cv_chunk_output *store, void *room,
                                             size_t max, size_t *out_length,
                                             struct cleave_error *err);
/* The output is not here but in a file, which is removed if the output is dropped. */
struct cv_stored_file {
    char *
        name; /* owned; "": the file has its final name, and is not removed; NULL: none */
    uint64_t bytes;
    struct cv_content_hash hash;
};
/* The file of a complete output without bytes; the name is taken. False: the name is NULL. */
bool cv_chunk_output_put_in_file(struct cv_chunk_output *store, char *name,
                                 uint64_t bytes, struct cv_content_hash hash);
/* NULL: the output is not in a file. */
const struct cv_stored_file *cv_chunk_output_file(const struct cv_chunk_output *store);
/* Drop the bytes after the last complete line. */
void cv_chunk_output_keep_lines(struct cv_chunk_output *store);
uint64_t cv_chunk_output_size(const struct cv_chunk_output *store);
/* Bytes that were written or taken before the output was finished; all bytes that came. */
uint64_t cv_chunk_output_passed(const struct cv_chunk_output *store);
uint64_t cv_chunk_output_came(const struct cv_chunk_output *store);
/* Nothing more is added: free unused room. */
void cv_chunk_output_close(struct cv_chunk_output *store);
/* Read a complete output from the front, once: the next bytes, at most `max`, none at the end.
 * They are in `room` or borrowed until the next call. */
enum cleave_status cv_chunk_output_read(struct cv_chunk_output *store, void *room,
                                        size_t max, const void **out_bytes,
                                        size_t *out_length, struct cleave_error *err);
/* Free an output that was not finished, because its chunk failed or it was taken. */
void cv_chunk_output_drop(struct cv_chunk_output *store);

/* A complete output as bytes [begin, end) of a file, borrowed until it is dropped or written.
 * With options.separate, begin is 0 and the file ends at `end`, so that other processes can open
 * it as /proc/PID/fd/FD. */
struct cv_taken {
    int fd;
    uint64_t begin, end;
};

/* The output must be finished or dropped afterwards. */
enum cleave_status cv_ordered_output_take(struct cv_chunk_output *store,
                                          struct cv_taken *out, struct cleave_error *err);

/* Set options.files and, if `separate`, options.separate. False: outputs share files already. */
bool cv_ordered_output_expect_taking(struct cv_ordered_output *outputs, bool separate);

/* The output belongs to the input from byte `begin`. With options.lines or options.early, and in
 * order, its complete lines are written as soon as all before it is. Otherwise, and if another output
 * of this place was offered, this does nothing.
 * `call`: ask for the bytes of an output of another machine when they can be written; or NULL. */
void cv_ordered_output_offer(struct cv_chunk_output *store, uint64_t begin,
                             void (*call)(void *context), void *context);
/* Bytes were added to an output that may have been offered. */
void cv_ordered_output_pass_on(struct cv_chunk_output *store);
/* Whether an output at `begin` must repeat bytes that were written of another. */
bool cv_ordered_output_remembers(const struct cv_ordered_output *outputs, uint64_t begin);
/* With options.early: the output failed after bytes of it were written. The next output at its
 * place must repeat them (cv_ordered_output_repeats). */
void cv_streamed_output_remember(struct cv_chunk_output *store);
/* Whether a complete output repeats the bytes that were written of an earlier one at `begin`.
 * They are then not written again. If not, drop the output. */
bool cv_ordered_output_repeats(struct cv_chunk_output *store, uint64_t begin);
/* A complete output replaces another output of the same place, which is still being
 * filled: bytes of that output that were written are not written again. *other then
 * becomes a new output without written bytes. *out is false if the complete output does
 * not repeat the written bytes: drop it. */
enum cleave_status cv_ordered_output_replace(struct cv_chunk_output *store,
                                             struct cv_chunk_output **other, bool *out,
                                             struct cleave_error *err);
/* The output of the bytes [begin, end) of the input is complete and now owned by the ordered
 * output. begin < end. */
enum cleave_status cv_ordered_output_finish(struct cv_ordered_output *outputs,
                                            struct cv_chunk_output *store, uint64_t begin,
                                            uint64_t end, struct cleave_error *err);
/* Before cv_ordered_output_finish: the output belongs to the chunk [begin, end).
 * `resumed`: an earlier run made it. */
struct cv_unwritten_output {
    uint64_t begin, end;
    bool resumed;
};
void cv_chunk_output_note_input(struct cv_chunk_output *store,
                                struct cv_unwritten_output input);
/* The chunk of finished output number `index`; empty if all bytes of the output were written.
 * False: there are fewer outputs. */
bool cv_ordered_output_unwritten(const struct cv_ordered_output *outputs, size_t index,
                                 struct cv_unwritten_output *out);
/* The run ends early: write the rest of a finished output that was partly written, unless
 * the sink accepts nothing for CV_REST_S. */
#define CV_REST_S 1
void cv_ordered_output_write_rest(struct cv_ordered_output *outputs);
/* There is no output for [begin, end). */
enum cleave_status cv_ordered_output_skip(struct cv_ordered_output *outputs,
                                          uint64_t begin, uint64_t end,
                                          struct cleave_error *err);

/* All outputs were written: append the EOF block of BGZF if it was removed from their ends. */
enum cleave_status cv_ordered_output_end(struct cv_ordered_output *outputs,
                                         struct cleave_error *err);

enum cv_ordered_output_state {
    CV_GATHER_IDLE,    /* nothing can be written now */
    CV_GATHER_BLOCKED, /* call again when the sink is writable */
    CV_GATHER_BUSY,    /* `max` was reached: call again */
};

/* Write about `max` bytes at most. Never waits for a pipe. The flags of the sink, which other
 * processes may share, are unchanged. SIGPIPE must be blocked. After a failure every call fails. */
enum cleave_status cv_ordered_output_pump(struct cv_ordered_output *outputs, uint64_t max,
                                          enum cv_ordered_output_state *out,
                                          struct cleave_error *err);
/* Something is written to the sink now: make room on a screen. */
void cv_ordered_output_make_room(const struct cv_ordered_output *outputs);
/* Let the poller write. Failures show in cv_ordered_output_status. Detach before the poller is
 * freed. */
enum cleave_status cv_ordered_output_attach(struct cv_ordered_output *outputs,
                                            struct cv_poller *poller,
                                            struct cleave_error *err);
void cv_ordered_output_detach(struct cv_ordered_output *outputs);
/* The status of writing, and its errno (EPIPE: the reader has closed the sink) or 0. */
enum cleave_status cv_ordered_output_status(const struct cv_ordered_output *outputs,
                                            int *out_errno, struct cleave_error *err);

/* Whether a finished output is not completely written. */
bool cv_ordered_output_pending(const struct cv_ordered_output *outputs);
struct cv_ordered_output_usage {
    uint64_t written, memory, disk, most_disk; /* bytes; most_disk: maximum of `disk` */
    double blocked_s;                          /* how long the sink accepted nothing */
    char head_goes_on; /* '@' or '#': begins the line after the header, too; 0: no */
    uint64_t
        cut; /* the last bytes written, if they are of an output that is incomplete */
};
struct cv_ordered_output_usage
cv_ordered_output_usage(const struct cv_ordered_output *outputs);
/* The first line of all outputs that are not empty, perhaps cut; "": fewer than two, or they
 * differ. Borrowed. */
const char *cv_ordered_output_same_line(const struct cv_ordered_output *outputs);
/* Whether the outputs number their lines, all from 0 or all from 1; false: fewer than two. */
bool cv_ordered_output_numbered_alike(const struct cv_ordered_output *outputs);
/* The number of lines of each output; 0: fewer than two outputs, or they differ, or have many lines. */
uint32_t cv_ordered_output_same_lines(const struct cv_ordered_output *outputs);

/* A file without a name in the directory of spill files. *out is owned by the caller. */
enum cleave_status cv_ordered_output_file(const struct cv_ordered_output *outputs,
                                          int *out, struct cleave_error *err);

#endif
