/* ordered_output.h -- keep the outputs of commands and write them in order.
 * SPDX-License-Identifier: MIT
 *
 * An output is kept in memory that belongs to no process (a memfd) and, past a limit, in a
 * file without a name; the bytes go from the command's pipe to there and on to the sink
 * without passing through this process. Those that pass through it anyway, as they come
 * from a link or go to one, are kept in blocks of its memory instead (output_storage.c). Once a chunk has succeeded, its output is given
 * its place in the input and written as soon as everything before it has been.
 *
 * Outputs are put one behind the other in files of a few megabytes ("spill files"). Space comes
 * back when all outputs of a spill file have gone, by cutting it to nothing: punching holes
 * could zero parts of pages that are still on their way through a pipe. */
#ifndef CV_ORDERED_OUTPUT_H
#define CV_ORDERED_OUTPUT_H
#include <cleave/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cv_poller;
struct cv_splitter;
struct cv_ordered_output;
struct cv_chunk_output; /* the output of one chunk, owned by the gather */

/* Of an output that is shown early, nothing is before its command has run for so long. */
#define CV_EARLY_MOMENT_S 0.1

enum { CV_ALIKE = 256 }; /* room for the line with which all outputs begin */
enum { CV_GATHER_MEMORY = 256 << 20 }; /* bytes of output in memory, unless told */

struct cv_ordered_output_options {
    int sink; /* borrowed: where outputs go; -1: nowhere, all are taken     */
    const char
        *sink_name;  /* borrowed, for messages: "stdout"                           */
    uint64_t memory; /* most bytes kept in memory                                  */
    const char
        *directory; /* borrowed: for what does not fit; NULL: TMPDIR, else /tmp   */
    const struct cv_splitter
        *head; /* borrowed: outputs begin with its header, to be written
                     * once; NULL: they have none                                  */
    bool
        unordered; /* write in the order of cv_ordered_output_finish                     */
    bool separate; /* every output gets a file of its own, from byte 0           */
    bool lines;    /* lines of outputs that are offered are written as they come  */
    bool early;    /* the same, but they are kept until the output is finished    */
    bool files; /* outputs are taken (cv_ordered_output_take): none is kept in blocks */
    void (*before)(void *context); /* called before it writes; NULL: nobody is       */
    void *context;
};

enum cleave_status cv_ordered_output_new(const struct cv_ordered_output_options *options,
                                         struct cv_ordered_output **out,
                                         struct cleave_error *err);
/* Releases all stores. What was not written is lost. */
void cv_ordered_output_free(struct cv_ordered_output *outputs);

/* --- filling a store ---------------------------------------------------------------------- */

enum cv_chunk_output_state {
    CV_STORE_EMPTY, /* the pipe is empty: call again when it is readable  */
    CV_STORE_BUSY,  /* `most` was reached                                 */
    CV_STORE_END,   /* nobody writes to the pipe any more, and it is read */
};

/* A new, empty output. *out is valid until it is dropped or, once finished, written. */
enum cleave_status cv_chunk_output_open(struct cv_ordered_output *outputs,
                                        struct cv_chunk_output **out,
                                        struct cleave_error *err);
/* It comes over a link, or will go over one: keep it in memory of this process rather than
 * in a file, if it is not to be taken and the sink makes nothing of files. Before anything
 * is put into it. */
void cv_chunk_output_use_blocks(struct cv_chunk_output *store);
/* Move what is in the pipe `fd` to the store, at most `most` bytes. Never waits. After a
 * failure (disk full) the store is good for nothing but to be dropped. */
enum cleave_status cv_chunk_output_pump(struct cv_chunk_output *store, int fd,
                                        uint64_t max, enum cv_chunk_output_state *out,
                                        struct cleave_error *err);
/* Append bytes. On failure some may have been stored: drop it. */
enum cleave_status cv_chunk_output_write(struct cv_chunk_output *store, const void *bytes,
                                         size_t length, struct cleave_error *err);
/* The same with `lines`, of an output that may have been offered: what is whole of it by now is
 * passed on. */
enum cleave_status cv_chunk_output_write_lines(struct cv_chunk_output *store,
                                               const void *bytes, size_t length,
                                               struct cleave_error *err);
/* Take whole lines out of an output that is still being filled, from the front, once: at most
 * `most` bytes, which may end inside of a line when there are more. 0: none is whole. */
enum cleave_status cv_chunk_output_read_lines(struct cv_chunk_output *store, void *room,
                                              size_t max, size_t *out_length,
                                              struct cleave_error *err);
/* Take what there is out of an output that is still being filled, from the front, once: at most
 * `most` bytes. For one in blocks (cv_chunk_output_use_blocks). */
enum cleave_status cv_chunk_output_read_some(struct cv_chunk_output *store, void *room,
                                             size_t max, size_t *out_length,
                                             struct cleave_error *err);
/* Forget what is behind its last whole line. */
void cv_chunk_output_keep_lines(struct cv_chunk_output *store);
uint64_t cv_chunk_output_size(const struct cv_chunk_output *store);
/* Bytes of it that were written, or taken out by lines, before it was finished, which is with
 * `lines` and `early` only; and all that have come: those, and what is kept. */
uint64_t cv_chunk_output_passed(const struct cv_chunk_output *store);
uint64_t cv_chunk_output_came(const struct cv_chunk_output *store);
/* Nothing is added to it any more: what it does not need is given back. */
void cv_chunk_output_close(struct cv_chunk_output *store);
/* The output is complete, and is read from the front, once: the next bytes, at most `most`,
 * and at least one if any are left. They are in `room`, which has space for as many, or
 * borrowed until the next call. */
enum cleave_status cv_chunk_output_read(struct cv_chunk_output *store, void *room,
                                        size_t max, const void **out_bytes,
                                        size_t *out_length, struct cleave_error *err);
/* Forget an output that was not finished: of a failed chunk, or one that was taken. */
void cv_chunk_output_drop(struct cv_chunk_output *store);

/* Where an output is: bytes [begin, end) of `fd`, borrowed until the store is dropped or
 * written. It must be complete. It can still be finished; if it is not, drop it. With
 * `separate`, begin is 0 and the file ends at `end`, so it can be opened by others as
 * /proc/PID/fd/FD. */
struct cv_taken {
    int fd;
    uint64_t begin, end;
};

enum cleave_status cv_ordered_output_take(struct cv_chunk_output *store,
                                          struct cv_taken *out, struct cleave_error *err);

/* Let every output have a file of its own, as with `separate`. False: there are some
 * already. */
bool cv_ordered_output_separate(struct cv_ordered_output *outputs);
/* Outputs will be taken, as with `files`. */
void cv_ordered_output_expect_taking(struct cv_ordered_output *outputs);

/* --- writing ------------------------------------------------------------------------------ */

/* What is and will be in the store is the output of the input from byte `begin` on, which has
 * not been finished or skipped. With `lines` or `early`, and in order: as soon as everything
 * before it has been written, its lines are, each when it is whole. Else nothing comes of it. */
void cv_ordered_output_offer(struct cv_chunk_output *store, uint64_t begin);
/* The same with `early`, of an output that is made elsewhere: `call` is called when it is in front
 * and may be shown, so that it comes. */
void cv_ordered_output_offer_away(struct cv_chunk_output *store, uint64_t begin,
                                  void (*call)(void *context), void *context);
/* More was put into the store, which may have been offered. */
void cv_ordered_output_pass_on(struct cv_chunk_output *store);
/* Whether an output that begins at `begin` has to begin with what was written of another. */
bool cv_ordered_output_remembers(const struct cv_ordered_output *outputs, uint64_t begin);
/* With `early`: it will not be finished, after some of it was written. Whatever is finished there
 * has to begin with that, and is asked for that first. */
void cv_streamed_output_remember(struct cv_chunk_output *store);
/* Whether an output that is whole begins with what was written of an earlier one that began at
 * `begin`. Then that is not written again; else the store is good for nothing but to be dropped. */
bool cv_ordered_output_repeats(struct cv_chunk_output *store, uint64_t begin);
/* With `early`: forget what is behind the last whole line. */
void cv_streamed_output_keep_lines(struct cv_chunk_output *store);
/* The store is the whole output of the bytes [begin, end) of the input, which have not
 * been finished or skipped before. begin < end. The store is the gather's from here on. */
enum cleave_status cv_ordered_output_finish(struct cv_ordered_output *outputs,
                                            struct cv_chunk_output *store, uint64_t begin,
                                            uint64_t end, struct cleave_error *err);
/* No output will come for [begin, end): what follows is not held up by it. */
enum cleave_status cv_ordered_output_skip(struct cv_ordered_output *outputs,
                                          uint64_t begin, uint64_t end,
                                          struct cleave_error *err);

enum cv_ordered_output_state {
    CV_GATHER_IDLE,    /* nothing can be written now                       */
    CV_GATHER_BLOCKED, /* call again when the sink is writable             */
    CV_GATHER_BUSY,    /* `most` was reached: call again                   */
};

/* Write what may be written, about `most` bytes at most. A pipe is never waited for, and
 * the sink's flags are left alone, as others may share it. SIGPIPE must be blocked or
 * ignored. After a failure every call fails in the same way. */
enum cleave_status cv_ordered_output_pump(struct cv_ordered_output *outputs, uint64_t max,
                                          enum cv_ordered_output_state *out,
                                          struct cleave_error *err);
/* Let the poller call it when there is something to write and the sink has room. The
 * caller looks for failures with cv_ordered_output_status. Detach before the poller is freed. */
enum cleave_status cv_ordered_output_attach(struct cv_ordered_output *outputs,
                                            struct cv_poller *poller,
                                            struct cleave_error *err);
void cv_ordered_output_detach(struct cv_ordered_output *outputs);
/* How writing went so far, and the errno of the failure (EPIPE: nobody reads), else 0. */
enum cleave_status cv_ordered_output_status(const struct cv_ordered_output *outputs,
                                            int *out_errno, struct cleave_error *err);

/* Whether something finished has not been written completely. */
bool cv_ordered_output_pending(const struct cv_ordered_output *outputs);
/* Bytes written; bytes kept in memory and on disk now; most bytes ever kept on disk. */
struct cv_ordered_output_usage {
    uint64_t written, memory, disk, most_disk;
    double blocked_s; /* there was something to write, and the sink took nothing        */
    char head_goes_on; /* behind the header that is written once, more begins so; 0: no */
};
struct cv_ordered_output_usage
cv_ordered_output_usage(const struct cv_ordered_output *outputs);
/* The line with which all outputs begin that have something, if they are several, or the beginning
 * of it, as text; "": there is none. Borrowed. */
const char *cv_ordered_output_same_line(const struct cv_ordered_output *outputs);

/* A file without a name where outputs are kept that memory has no room for. *out is owned by
 * the caller. */
enum cleave_status cv_ordered_output_file(const struct cv_ordered_output *outputs,
                                          int *out, struct cleave_error *err);

#endif
