/* remote_open.h -- open pieces of slots of other machines (single_slot.h).
 * SPDX-License-Identifier: MIT
 *
 * Their command is started over there before all of them has been sent. What was sent and has
 * not been fed to it can be taken back only after asking, as of a piece that has arrived. So
 * that this is little, and that the host need not keep more, no more is sent than the command
 * may want in a moment: the host says how much it has been fed. One that reads the input itself
 * is told how far it may read. */
#ifndef CV_REMOTE_OPEN_H
#define CV_REMOTE_OPEN_H
#include "run/slot/slot.h"
#include "run/wire/frame.h"

/* For the kind of such slots. */
bool cv_remote_is_open(const struct cv_slot *slot);
enum cleave_status cv_remote_extend(struct cv_slot *slot, const struct cv_piece *longer,
                                    struct cleave_error *err);
void cv_remote_shut(struct cv_slot *slot);

/* Ask how far its command is: `seen` of the slot is called, unless it ends before. */
void cv_remote_look(struct cv_slot *slot);
/* STARTED, FED, DRAINED or SEEN of its piece. */
void cv_remote_open_frame(struct cv_host *host, struct cv_slot *slot,
                          const struct cv_frame_head *head, const unsigned char *payload);
/* A host that reads it itself has heard of it. */
void cv_remote_open_announced(struct cv_slot *slot);
/* What was not sent of it was cut off. */
void cv_remote_open_shorter(struct cv_slot *slot);
/* It was cut over there, or could not be: go on with what is to be sent. */
void cv_remote_open_cut(struct cv_slot *slot, bool done);
/* Bytes of its body that the command has been given, as far as is known here. */
uint64_t cv_remote_open_fed(const struct cv_slot *slot);

#endif
