/* resource_wait.h -- commands of this machine for which there is no room now, and which wait for it.
 * SPDX-License-Identifier: MIT
 *
 * The rule is that of the gate (run/common/start_limiter.h); what is under way here is what it asks for. */
#ifndef CV_RESOURCE_WAIT_H
#define CV_RESOURCE_WAIT_H
#include "run/master/exec_run.h"

/* Let the gate of a run see what is under way, and say why commands wait. */
void cv_resource_wait_watch(struct cv_exec_run *run);

/* Whether there are descriptors for the command of a slot: CLEAVE_ERESOURCES if not. */
enum cleave_status cv_resource_wait_look(struct cv_exec_run *run,
                                         const struct cv_slot *slot,
                                         struct cleave_error *err);
/* It could not be started, as `why` says: whether it is to be started later, as there may be room
 * for it then. */
bool cv_resource_wait_wait(struct cv_exec_run *run, const struct cv_slot *slot,
                           const struct cleave_error *why);

#endif
