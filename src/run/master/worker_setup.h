/* worker_setup.h -- who takes part in a run. SPDX-License-Identifier: MIT
 *
 * Workers are those of the platform: places on this machine, and on hosts that are reached
 * now. Hosts that are not reached have no part, unless the policy can do with workers that
 * come later; then they keep their place, and there are some more places for hosts that
 * are not known yet. */
#ifndef CV_WORKER_SETUP_H
#define CV_WORKER_SETUP_H
#include "run/hosts/file_watch.h"
#include "run/hosts/join_port.h"
#include "run/master/exec_run.h"
#include "run/master/worker_pool.h"

struct cv_worker_setup {
    struct cv_arena arena;
    struct cleave_platform *nominal;  /* owned: of workers nobody described           */
    struct cleave_platform *platform; /* owned: all places, in the order of the run   */
    struct cleave_worker *kinds;      /* of the arena: what each costs that has a place */
    struct cv_command *commands;      /* owned: of places on this machine             */
    uint32_t ncommands;
    bool begins_early; /* hosts that are not there when it begins are expected soon    */
};

void cv_worker_setup_init(struct cv_worker_setup *setup);
void cv_worker_setup_done(struct cv_worker_setup *setup);
/* How many workers there would be. */
uint32_t cv_worker_setup_count(const struct cleave_execution *request);
/* Find out who is there, and fill in the staff, whose hosts have their poller, source and
 * gather. `framed`: chunks have a head and an end. *stopped_by becomes other than 0 when it is to
 * end. */
enum cleave_status cv_worker_setup_connect(struct cv_worker_setup *setup,
                                           struct cv_worker_pool *pool,
                                           const struct cleave_execution *request,
                                           bool framed, const int *stopped_by,
                                           struct cleave_error *err);

/* For another input: who is there now, and nothing of what they have done. */
enum cleave_status cv_worker_setup_refresh(struct cv_worker_setup *setup,
                                           struct cv_worker_pool *pool,
                                           struct cleave_error *err);

/* The platform as it was at the end, places that nobody took and that the trace, which may
 * be NULL, does not name not included. */
enum cleave_status cv_worker_setup_platform(const struct cv_worker_setup *setup,
                                            const struct cv_worker_pool *pool,
                                            const struct cleave_trace *trace,
                                            struct cleave_platform **out,
                                            struct cleave_error *err);

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
