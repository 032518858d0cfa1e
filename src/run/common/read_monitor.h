/* read_monitor.h -- hear when a command reads, and when it has read all there is.
 * SPDX-License-Identifier: MIT
 *
 * Nobody tells the writer of a pipe that it was read, unless the pipe was full. So a pipe is
 * made as narrow as a page when all is in it: then it is full until all has been read, and
 * waking up costs nothing before. A reader that takes a few bytes at a time is looked at
 * now and then: its beginning is known to a few hundredths of the time that it took. */
#ifndef CV_READ_MONITOR_H
#define CV_READ_MONITOR_H
#include "run/common/pipe_writer.h"
#include "run/common/poller.h"

struct cv_read_monitor {
    struct cv_poller *poller; /* borrowed, as the feed; NULL: nobody wants to hear     */
    struct cv_pipe_writer *writer;
    /* The first byte has been read: called once. */
    void (*began)(void *context);
    /* There is nothing in the pipe any more or, if not `read`, nobody who would read it. */
    void (*empty)(void *context, bool read);
    void (*broke)(void *context, const struct cleave_error *err);
    void *context;
    double since_s; /* the reader was started                                          */
    bool has_begun, waits, shrunk;
    struct cv_watch watch;
    struct cv_timer timer;
};

/* From the start of the reader on; the other fields are set. */
enum cleave_status cv_read_monitor_begin(struct cv_read_monitor *drain, double since_s,
                                         struct cleave_error *err);
/* Something may have been read. */
void cv_read_monitor_note(struct cv_read_monitor *drain);
/* Nothing more is put in for now: call `empty` once, perhaps before this returns. */
enum cleave_status cv_read_monitor_wait(struct cv_read_monitor *drain,
                                        struct cleave_error *err);
/* Do not: more is put in. */
void cv_read_monitor_rest(struct cv_read_monitor *drain);
/* Nobody wants to hear any more. */
void cv_read_monitor_stop(struct cv_read_monitor *drain);

#endif
