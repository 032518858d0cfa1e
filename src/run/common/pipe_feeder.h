/* pipe_feeder.h -- a pipe that a command reads from, and what goes into it.
 * SPDX-License-Identifier: MIT
 *
 * A feed (pipe_writer.h) that goes on by itself when the pipe has room. It does not go on as soon
 * as there is some: a reader that takes 16 KiB at a time would wake it each time, and take
 * turns with it on one processor. Once the reader's pace is known, it sleeps until about
 * half of what is in the pipe has been read. */
#ifndef CV_PIPE_FEEDER_H
#define CV_PIPE_FEEDER_H
#include "run/common/read_monitor.h"
#include "run/common/pipe_writer.h"
#include "run/common/poller.h"

struct cv_pipe_feeder {
    struct cv_poller *poller; /* borrowed                                             */
    /* All has been fed, or the command does not want it. Not called by cv_pipe_feeder_begin. */
    void (*over)(void *context, struct cv_pipe_feeder *feeder);
    /* Some was fed, and the pipe had no room before. May be NULL. */
    void (*moved)(void *context, struct cv_pipe_feeder *feeder);
    void (*broke)(void *context, const struct cleave_error *err); /* reading failed    */
    void *context;                                                /* borrowed          */

    int fd; /* owned: the end to write to; -1: closed                                 */
    struct cv_pipe_writer writer;
    struct cv_watch watch;
    struct cv_watch source; /* of a well that has nothing at hand                     */
    bool dry;               /* ... it is waited for                                   */
    struct cv_timer nap;
    double
        scarce_s; /* since when there is no room for who makes the next part; 0: there is */
    double fed_s; /* when something was last put in; 0: not yet                        */
    double best_Bps; /* of the reader, of late                                         */
    bool feeding; /* there is more to feed                                             */
    bool refused; /* nobody reads any more                                             */
    /* Of a pipe that stays open when all is fed, so that more can follow: */
    bool narrow; /* no more is put in than is read in a moment                        */
    size_t
        small_write; /* ... nor than so much at a time; 0: than a page (pipe_writer.h)            */
    struct cv_read_monitor drain;
};

void cv_pipe_feeder_init(struct cv_pipe_feeder *feeder);
/* Begin to feed these parts: as much as fits goes in at once. Unless that was all
 * (`feeding`), cv_pipe_feeder_watch lets it go on; the process may be started in between. */
enum cleave_status cv_pipe_feeder_begin(struct cv_pipe_feeder *feeder,
                                        const struct cv_part *parts, size_t count,
                                        struct cleave_error *err);
/* If a thread makes what is fed, stop it: another one, or none, goes on later. False: there is none. */
bool cv_pipe_feeder_pause(struct cv_pipe_feeder *feeder);
enum cleave_status cv_pipe_feeder_watch(struct cv_pipe_feeder *feeder,
                                        struct cleave_error *err);
/* The parts are longer, or there are more (cv_pipe_writer_grow): go on. If all is fed at once,
 * `over` is called. */
enum cleave_status cv_pipe_feeder_grow(struct cv_pipe_feeder *feeder,
                                       const struct cv_part *parts, size_t count,
                                       struct cleave_error *err);
void cv_pipe_feeder_close(struct cv_pipe_feeder *feeder);

#endif
