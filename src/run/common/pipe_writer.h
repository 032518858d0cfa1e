/* pipe_writer.h -- write the parts of a piece into a pipe. SPDX-License-Identifier: MIT
 *
 * A pipe writer never waits: it writes what fits and returns a state. The pipe may be filled
 * before its reader is started, so a small chunk needs no waiting at all. The source of a part is
 * one of:
 *
 *   file, memory     spliced into the pipe without a copy; read and written if that is refused
 *   lazy reader      a thread writes the bytes into this pipe, whether cv_pipe_writer_pump is
 *                    called or not, but not beyond the end of the part
 *   no thread        a limit of the system prevents a thread: the bytes are made in the call
 *
 * While the reader keeps up, the pipe is widened to hold about 10 ms of reading: wake-ups are
 * rare, and the bytes in the pipe, which cannot be taken back, are little work. If even a page is
 * too much work, a small write is made whenever the pipe is empty (not by a thread).
 *
 * A pipe refers to pages: bytes of a file that change while they are in the pipe reach the reader
 * changed. */
#ifndef CV_PIPE_WRITER_H
#define CV_PIPE_WRITER_H
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cleave/error.h>
#include "run/common/piece_part.h"
#include "run/common/process.h"

/* The capacity of a pipe, adapted to its reader. */
struct cv_pipe_width {
    size_t bytes;     /* capacity that was requested */
    double started_s; /* when the pipe was first full; 0: not yet */
    uint64_t before;  /* bytes written then */
};

/* As the pipe of cv_writer_thread_into: start no thread (`give` of struct cv_lazy_reader). */
enum { CV_FLOW_HERE = -1 };

/* The pipe of a command, for a thread that writes into it. */
struct cv_writer_thread_into {
    int pipe;                    /* borrowed: no other writer */
    struct cv_pipe_width *width; /* borrowed: for the thread alone while it may write */
    uint64_t step;               /* report after this many bytes; 0: only at the end */
    uint64_t fed;                /* bytes that the pipe was given by all writers */
    uint64_t at, until;          /* offsets: the next byte, and the end of the part */
};

/* The first member of the struct of its user; all zero before the start. */
struct cv_writer_thread {
    bool unthreaded; /* CV_FLOW_HERE */
    pthread_t thread;
    bool running;
    enum cleave_status (*work)(struct cv_writer_thread *threaded,
                               struct cleave_error *err);
    enum cleave_status status; /* result of the work */
    struct cleave_error err;
    struct cv_writer_thread_into into; /* under the lock, which is recursive */
    pthread_mutex_t lock;
    pthread_cond_t more; /* `until` or `stopped` has changed */
    int progress, halt;  /* owned: events for the pipe writer and for the thread */
    uint64_t reported;   /* `at` of the last report of a step */
    double paced_s;      /* when the pipe was last full; 0: unknown */
    uint64_t paced;      /* `fed` at that time */
    bool stopped, over;
    int refused; /* errno of the write that ended it; 0: none */
};

/* `what` the thread does, for messages: "decodes". */
enum cleave_status
cv_writer_thread_start(struct cv_writer_thread *threaded,
                       enum cleave_status (*work)(struct cv_writer_thread *threaded,
                                                  struct cleave_error *err),
                       const char *what, const struct cv_writer_thread_into *into,
                       struct cleave_error *err);
/* Called by the thread: false if no bytes are wanted. */
bool cv_writer_thread_write(struct cv_writer_thread *threaded, const char *bytes,
                            size_t length);
/* The thread has ended: its status. CLEAVE_OK: there are no more bytes. */
enum cleave_status cv_writer_thread_end(struct cv_writer_thread *threaded,
                                        struct cleave_error *err);
/* Stop the thread and wait for it. */
void cv_writer_thread_stop(struct cv_writer_thread *threaded);

/* The wait if it is between 0.1 and 10 ms, else 0: shorter ones do not pay, and longer ones are
 * not predictable. */
static inline double cv_writer_thread_pause_s(double wait_s)
{
    return wait_s >= 100e-6 && wait_s <= 10e-3 ? wait_s : 0;
}

enum { CV_FEED_PARTS = 16 };

enum cv_pipe_writer_state {
    CV_FEED_FULL,    /* call again when the pipe is writable */
    CV_FEED_DRY,     /* call again when cv_pipe_writer_source is readable */
    CV_FEED_BUSY,    /* `max` was reached: call again */
    CV_FEED_DONE,    /* all is in the pipe: close it */
    CV_FEED_REFUSED, /* the reader has closed the pipe: close it */
};

/* For one thread at a time. The members are for the functions of this header. */
struct cv_pipe_writer {
    int pipe;                            /* borrowed */
    struct cv_part parts[CV_FEED_PARTS]; /* `begin` advances as a part is written */
    size_t nparts, part;
    uint64_t fed;  /* bytes of all parts */
    uint64_t step; /* for cv_writer_thread_into */
    struct cv_pipe_width width;
    size_t small_write; /* bytes to write into an empty pipe; 0: as many as fit */
    double small_s;     /* when the last small write was made; 0: not yet */
    bool copies;        /* splice is refused for this part */
    struct cv_writer_thread *threaded; /* owned: thread of a lazy reader; or NULL */
    size_t thread_part;                /* the part it writes */
    uint64_t thread_at, thread_until;  /* next byte, and the end it was given */
    double unthreaded_s;               /* when a thread could not be started */
};

/* Write `nparts` parts (at most CV_FEED_PARTS) into `pipe`, whose file description is not shared
 * with the reader. If a part has a lazy reader, call cv_pipe_writer_done. */
void cv_pipe_writer_init(struct cv_pipe_writer *writer, int pipe,
                         const struct cv_part *parts, size_t nparts);
void cv_pipe_writer_done(struct cv_pipe_writer *writer);
/* The event to wait for in state CV_FEED_DRY: readable after a step, at the end of the part, and at
 * the end of the thread; -1: none. */
int cv_pipe_writer_source(const struct cv_pipe_writer *writer);
/* Write what fits, about `max` bytes at most. SIGPIPE must be blocked or ignored. Fails if a file
 * cannot be read or is shorter than its part. */
enum cleave_status cv_pipe_writer_pump(struct cv_pipe_writer *writer, uint64_t max,
                                       enum cv_pipe_writer_state *out,
                                       struct cleave_error *err);

/* Between these calls a thread writes nothing, so that the following functions give consistent
 * results. They nest. */
void cv_pipe_writer_hold(const struct cv_pipe_writer *writer);
void cv_pipe_writer_go_on(const struct cv_pipe_writer *writer);
/* Bytes written so far; bytes of them that are still in the pipe. */
uint64_t cv_pipe_writer_fed(const struct cv_pipe_writer *writer);
uint64_t cv_pipe_writer_unread(const struct cv_pipe_writer *writer);
/* The offset of the next byte of part `part`. */
uint64_t cv_pipe_writer_at(const struct cv_pipe_writer *writer, size_t part);
/* Let part `part` end earlier, at `end`. False, without a change, if bytes after `end` were
 * written or the part ends before. */
bool cv_pipe_writer_cut(struct cv_pipe_writer *writer, size_t part, uint64_t end);

/* Before the first write: make the pipe one page wide, widen it only for a fast reader, and make
 * small writes if `small_write` is more than 0 and less than a page. */
void cv_pipe_writer_narrow(struct cv_pipe_writer *writer, size_t small_write);
/* The same parts, some of which end later, and perhaps more parts after them. */
void cv_pipe_writer_grow(struct cv_pipe_writer *writer, const struct cv_part *parts,
                         size_t nparts);

#endif
