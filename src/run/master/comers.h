/* comers.h -- hosts that come and go while it runs. SPDX-License-Identifier: MIT
 *
 * Those that are ready and have no places yet take the first that nobody has, and the policy is
 * woken about them; those that are to go do when they have ended what they have. */
#ifndef CV_COMERS_H
#define CV_COMERS_H
#include "run/hosts/file_watch.h"
#include "run/hosts/join_port.h"
#include "run/master/real_run.h"

/* How it is heard of them. */
struct cv_comers {
    struct cv_file_watch file; /* that names them, if it is watched                    */
    struct cv_join_port port;  /* by which they come, if they may                      */
    struct cv_real_run *run;   /* borrowed                                             */
    uint32_t came;
    bool full; /* it was said that nobody can                                          */
};

/* Fits struct cv_hosts, with the run as context. */
void cv_comers_changed(void *context, struct cv_host *host);

/* The run begins: listen. To close what is all 0 does nothing. */
enum cleave_status cv_comers_open(struct cv_comers *comers, struct cv_real_run *run,
                                  struct cleave_error *err);
void cv_comers_close(struct cv_comers *comers);
/* See to those that come and go. */
enum cleave_status cv_comers_attend(struct cv_real_run *run, struct cleave_error *err);

#endif
