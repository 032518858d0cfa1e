/* room.h -- commands of this machine for which there is no room now, and which wait for it.
 * SPDX-License-Identifier: MIT
 *
 * The rule is that of the gate (run/kit/gate.h); what is under way here is what it asks for. */
#ifndef CV_ROOM_H
#define CV_ROOM_H
#include "run/master/real_run.h"

/* Let the gate of a run see what is under way, and say why commands wait. */
void cv_room_watch(struct cv_real_run *run);

/* Whether there are descriptors for the command of a slot: CLEAVE_ESCARCE if not. */
enum cleave_status cv_room_look(struct cv_real_run *run, const struct cv_slot *slot,
                                struct cleave_error *err);
/* It could not be started, as `why` says: whether it is to be started later, as there may be room
 * for it then. */
bool cv_room_wait(struct cv_real_run *run, const struct cv_slot *slot,
                  const struct cleave_error *why);

#endif
