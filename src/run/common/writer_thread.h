/* writer_thread.h -- a thread that writes bytes into a pipe. SPDX-License-Identifier: MIT
 *
 * Either into one of its own, that somebody reads from, or into that of a command (a flow `into` it): then nobody
 * passes the bytes on, and how far it has come, and may go, is agreed upon with who feeds the command. */
#ifndef CV_WRITER_THREAD_H
#define CV_WRITER_THREAD_H
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include "run/common/process.h"

/* How wide a pipe is made, by what its reader takes in 10 ms or so. */
struct cv_pipe_width {
    size_t bytes;     /* room in the pipe that has been asked for */
    size_t max;       /* ... and is asked for at all              */
    double started_s; /* when the pipe was first full; 0: not yet */
    uint64_t before;  /* what had been fed then                   */
};
enum { CV_PIPE_NARROW = 64 * 1024 }; /* room in a pipe as it is made */
/* The pipe is full, and so much has been fed: there may have to be more room in it. */
void cv_pipe_adapt(struct cv_pipe_width *width, int pipe, uint64_t fed);

/* In the place of a pipe: there is to be no thread, and whoever feeds asks for the bytes (give of piece_part.h). */
enum { CV_FLOW_HERE = -1 };

/* The pipe of a command, and how far it is to be written to: offsets of what flows. */
struct cv_writer_thread_into {
    int pipe; /* borrowed: the end to write to, nobody else's            */
    struct cv_pipe_width
        *width;    /* borrowed: the thread's as long as it has to write       */
    uint64_t step; /* who feeds it is woken for so much as well; 0: never     */
    uint64_t fed;  /* all that was put into the pipe                         */
    uint64_t at, until;
};

/* Who starts it has it as its first member, and more behind it. */
struct cv_writer_thread {
    struct cv_pipe pipe; /* its end to write to is the thread's */
    pthread_t thread;
    bool running;
    bool here; /* there is no thread, and no pipe */
    enum cleave_status (*work)(struct cv_writer_thread *threaded,
                               struct cleave_error *err);
    enum cleave_status status; /* of the thread, when it has ended */
    struct cleave_error err;
    /* Of a flow into the pipe of a command. */
    bool direct;
    struct cv_writer_thread_into
        into; /* under the lock, which can be had several times */
    pthread_mutex_t lock;
    pthread_cond_t more; /* it may go further, or is to stop                */
    int bell, halt;      /* owned: for who feeds; for the thread            */
    uint64_t told;       /* how far it had come at the last bell for a step  */
    double paced_s;      /* when the pipe was last full, and ...            */
    uint64_t paced;      /* ... what had been fed                           */
    bool stopped, over, refused;
};

/* `what` it does, for messages: "decodes". `flow` is all zero. `into`: NULL: a pipe of its own. */
enum cleave_status
cv_writer_thread_start(struct cv_writer_thread *threaded,
                       enum cleave_status (*work)(struct cv_writer_thread *threaded,
                                                  struct cleave_error *err),
                       const char *what, const struct cv_writer_thread_into *into,
                       struct cleave_error *err);
/* The end to read from, or, if it goes into the pipe of a command, what is readable when it has come to the end of what
 * it may write, or a step further, or has ended: borrowed. */
int cv_writer_thread_fd(const struct cv_writer_thread *threaded);
/* For the thread: false if nobody reads any more. */
bool cv_writer_thread_write(struct cv_writer_thread *threaded, const char *bytes,
                            size_t length);
/* That had an end: why. CLEAVE_OK: there are no more bytes. */
enum cleave_status cv_writer_thread_end(struct cv_writer_thread *threaded,
                                        struct cleave_error *err);
/* Nobody reads any more: wait for the thread, which learns of it by its pipe. */
void cv_writer_thread_stop(struct cv_writer_thread *threaded);

/* --- into the pipe of a command ------------------------------------------------------------- */

/* How far it has come. */
uint64_t cv_writer_thread_at(struct cv_writer_thread *threaded);
/* Let it go as far as `until`; false: it has gone further, and nothing has changed. */
bool cv_writer_thread_until(struct cv_writer_thread *threaded, uint64_t until);
/* As cv_writer_thread_at, after the bell: *ended: it writes no more, *refused: because nobody reads. */
uint64_t cv_writer_thread_heard(struct cv_writer_thread *threaded, bool *ended,
                                bool *refused);
/* Let it write nothing more. */
void cv_writer_thread_halt(struct cv_writer_thread *threaded);
/* Let it write nothing in between. */
void cv_writer_thread_hold(struct cv_writer_thread *threaded);
void cv_writer_thread_go_on(struct cv_writer_thread *threaded);

/* A nap of this length, or 0 for none: a shorter one is not worth the trouble, and in a longer
 * one too much may change. */
static inline double cv_writer_thread_pause_s(double wait_s)
{
    return wait_s >= 100e-6 && wait_s <= 10e-3 ? wait_s : 0;
}

#endif
