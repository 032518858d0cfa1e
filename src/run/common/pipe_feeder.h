/* pipe_feeder.h -- a pipe writer that is driven by a poller. SPDX-License-Identifier: MIT
 *
 * The feeder continues when the pipe has room, but not at once: a reader that takes 16 KiB at a
 * time would wake it each time and alternate with it on one core. Once the pace of the reader is
 * known, the feeder sleeps until about half of the pipe has been read. */
#ifndef CV_PIPE_FEEDER_H
#define CV_PIPE_FEEDER_H
#include "run/common/pipe_writer.h"
#include "run/common/poller.h"

struct cv_pipe_feeder {
    struct cv_poller *poller; /* borrowed */
    /* All is written, or the reader has closed the pipe. Not called by cv_pipe_feeder_begin. */
    void (*over)(void *context, struct cv_pipe_feeder *feeder);
    /* Bytes were written after the pipe had been full. May be NULL. */
    void (*moved)(void *context, struct cv_pipe_feeder *feeder);
    void (*broke)(void *context, const struct cleave_error *err); /* reading failed */
    void *context;                                                /* borrowed */

    int fd; /* owned: the end to write to; -1: closed */
    struct cv_pipe_writer writer;
    struct cv_watch watch;
    struct cv_watch source; /* a lazy reader without bytes is waited for */
    struct cv_timer nap;
    double scarce_s; /* a limit prevents the next part since this time; 0: no */
    double fed_s;    /* when bytes were last written; 0: not yet */
    double best_Bps; /* best recent pace of the reader */
    bool feeding;    /* not all is written */
    bool dry;        /* ... and the source has no bytes */
    bool refused;    /* the reader has closed the pipe */

    /* For a pipe that stays open when all is written: */
    bool narrow;        /* hold no more than is read in a moment */
    size_t small_write; /* for cv_pipe_writer_narrow */
    /* The first byte was read: called once. */
    void (*began)(void *context);
    /* The pipe is empty or, if not `read`, its reader has closed it. */
    void (*empty)(void *context, bool read);
    bool monitored; /* cv_pipe_feeder_monitor was called */
    bool has_begun; /* the first byte was read */
    bool waits;     /* `empty` is to be called */
    bool shrunk;    /* the pipe is one page wide for that purpose */
    double since_s; /* when the reader was started */
    struct cv_watch page;
    struct cv_timer looks;
};

void cv_pipe_feeder_init(struct cv_pipe_feeder *feeder);
/* Write what fits. Unless that was all (`feeding`), cv_pipe_feeder_watch lets it continue; the
 * process may be started in between. */
enum cleave_status cv_pipe_feeder_begin(struct cv_pipe_feeder *feeder,
                                        const struct cv_part *parts, size_t count,
                                        struct cleave_error *err);
enum cleave_status cv_pipe_feeder_watch(struct cv_pipe_feeder *feeder,
                                        struct cleave_error *err);
/* Stop the thread of a lazy reader, to be started again later. False: there is none. */
bool cv_pipe_feeder_pause(struct cv_pipe_feeder *feeder);
/* Continue with longer or more parts (cv_pipe_writer_grow). `over` may be called. */
enum cleave_status cv_pipe_feeder_grow(struct cv_pipe_feeder *feeder,
                                       const struct cv_part *parts, size_t count,
                                       struct cleave_error *err);
/* Report when the reader, which was started at `since_s`, begins to read. Until then the pipe is
 * looked at from time to time: the beginning is known to 2 % of the time that it took. */
void cv_pipe_feeder_monitor(struct cv_pipe_feeder *feeder, double since_s);
/* No more is written for now: call `empty` once, perhaps before this returns. A pipe reports
 * reads only if it was full. So it is made one page wide: it is full until all was read. */
enum cleave_status cv_pipe_feeder_await_empty(struct cv_pipe_feeder *feeder,
                                              struct cleave_error *err);
void cv_pipe_feeder_close(struct cv_pipe_feeder *feeder);

#endif
