/* worker_setup.h -- finds the workers of a run, and lets hosts join and leave.
 * SPDX-License-Identifier: MIT
 *
 * Workers are those of the platform, on this machine and on hosts that can be reached
 * now. If the policy takes workers that join later, unreachable hosts keep their
 * indices, and more are reserved for unknown hosts. */
#ifndef CV_WORKER_SETUP_H
#define CV_WORKER_SETUP_H
#include "run/hosts/joining.h"
#include "run/master/exec_run.h"
#include "run/master/worker_pool.h"

struct cv_worker_setup {
    struct cv_arena arena;
    struct cleave_platform *nominal;  /* owned: workers without a description */
    struct cleave_platform *platform; /* owned: all indices, in the order of the run */
    struct cleave_worker *kinds;      /* in the arena: costs of each index */
    struct cv_command *commands;      /* owned: of local workers */
    uint32_t ncommands;
    bool begins_early; /* hosts that are not connected at the start are expected soon */
};

void cv_worker_setup_init(struct cv_worker_setup *setup);
void cv_worker_setup_done(struct cv_worker_setup *setup);
/* Number of requested workers. */
uint32_t cv_worker_setup_count(const struct cleave_execution *request);
/* Connect the hosts and fill the pool, whose hosts have poller, source and outputs.
 * `framed`: chunks have a header and an end. A signal sets *stopped_by. */
enum cleave_status cv_worker_setup_connect(struct cv_worker_setup *setup,
                                           struct cv_worker_pool *pool,
                                           const struct cleave_execution *request,
                                           bool framed, const int *stopped_by,
                                           struct cleave_error *err);

/* For the next input: the same workers, with new statistics. */
enum cleave_status cv_worker_setup_refresh(struct cv_worker_setup *setup,
                                           struct cv_worker_pool *pool,
                                           struct cleave_error *err);

/* The platform at the end of the run, without indices that were never used and are not
 * in `trace`, which may be NULL. */
enum cleave_status cv_worker_setup_platform(const struct cv_worker_setup *setup,
                                            const struct cv_worker_pool *pool,
                                            const struct cleave_trace *trace,
                                            struct cleave_platform **out,
                                            struct cleave_error *err);

/* How hosts join. */
struct cv_joining_workers {
    struct cv_file_watch file; /* the hosts file, if it is watched */
    struct cv_join_port port;  /* the socket of hosts.join_path */
    struct cv_tls_port tls;    /* hosts.listen */
    struct cv_exec_run *run;   /* borrowed                                             */
    uint32_t came;
    bool full; /* the note that no index is free was printed */
};

/* Callback of struct cv_hosts; the context is the run. */
void cv_joining_workers_changed(void *context, struct cv_host *host);

/* Closing an all-zero structure does nothing. */
enum cleave_status cv_joining_workers_open(struct cv_joining_workers *joining,
                                           struct cv_exec_run *run,
                                           struct cleave_error *err);
void cv_joining_workers_close(struct cv_joining_workers *joining);
/* Handle hosts that join or depart. */
enum cleave_status cv_joining_workers_poll(struct cv_exec_run *run,
                                           struct cleave_error *err);

#endif
