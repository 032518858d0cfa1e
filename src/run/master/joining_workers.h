/* joining_workers.h -- hosts that come and go while it runs. SPDX-License-Identifier: MIT
 *
 * Those that are ready and have no places yet take the first that nobody has, and the policy is
 * woken about them; those that are to go do when they have ended what they have. */
#ifndef CV_JOINING_WORKERS_H
#define CV_JOINING_WORKERS_H
#include "run/hosts/joining.h"
#include "run/master/exec_run.h"

/* How it is heard of them. */
struct cv_joining_workers {
    struct cv_file_watch file; /* that names them, if it is watched                    */
    struct cv_join_port port;  /* by which they come, if they may                      */
    struct cv_exec_run *run;   /* borrowed                                             */
    uint32_t came;
    bool full; /* it was said that nobody can                                          */
};

/* Fits struct cv_hosts, with the run as context. */
void cv_joining_workers_changed(void *context, struct cv_host *host);

/* The run begins: listen. To close what is all 0 does nothing. */
enum cleave_status cv_joining_workers_open(struct cv_joining_workers *joining,
                                           struct cv_exec_run *run,
                                           struct cleave_error *err);
void cv_joining_workers_close(struct cv_joining_workers *joining);
/* See to those that come and go. */
enum cleave_status cv_joining_workers_poll(struct cv_exec_run *run,
                                           struct cleave_error *err);

#endif
