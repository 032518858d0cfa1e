/* remote_slot.h -- a slot of another machine. SPDX-License-Identifier: MIT
 *
 * To its user it is a slot like any other (slot.h), but pieces take their time to get there
 * (`arrived`), what has arrived is cut only after asking (`cut_answered`), and the machine
 * may be lost (CV_SLOT_LOST). Several may stand for one slot of the other machine, which
 * does their pieces one after the other: then the next piece travels while the last one is
 * worked on. */
#ifndef CV_REMOTE_SLOT_H
#define CV_REMOTE_SLOT_H
#include "run/slot/slot.h"
#include "run/wire/frame.h"

struct cv_host;

/* After cv_slot_init: it stands for slot `seat` of the host, which outlives it. */
void cv_remote_init(struct cv_slot *slot, struct cv_host *host, uint32_t seat);
/* Ask for the piece, which has arrived, to end at `head`. False: it cannot be asked now. */
bool cv_remote_ask_cut(struct cv_slot *slot, const struct cv_piece *head);
/* Give up a piece that has not arrived: nothing will be heard of it again. */
void cv_remote_forget(struct cv_slot *slot);

/* A host that is ready says something that it may (host_rules.h), of the piece of a slot or of
 * one that nobody waits for (NULL). In remote_frames.c. */
void cv_remote_frame(struct cv_host *host, struct cv_slot *slot,
                     const struct cv_frame_head *head, const unsigned char *payload);
/* The host has gone: so have the pieces of its slots. In remote_end.c. */
void cv_remote_lose(struct cv_host *host);

/* --- for those who hear of it (remote_end.c, remote_frames.c) ------------------------------ */

/* Send the slot's piece, from its beginning. */
enum cleave_status cv_remote_start(struct cv_slot *slot, struct cleave_error *err);
/* If it was asked whether the piece can be shorter, that is the answer. */
void cv_remote_cut_answered(struct cv_slot *slot, bool done);
void cv_remote_drop_store(struct cv_slot *slot);

/* --- limits (remote_limit.c) -------------------------------------------------------------- */

/* Hold the host to the time that the piece, which is under way or is being stopped, or the end
 * of a command that stays may take: who does not keep to it is lost. */
void cv_limit_set(struct cv_slot *slot);
void cv_limit_over(struct cv_slot *slot);
/* As long as the host has pieces, hold it to taking some of what is to be sent to it, since
 * `moved_s`: who takes none of it, and still says that it is there, has a link that does not
 * move, and is lost if there are others. */
void cv_limit_link(struct cv_slot *slot);

#endif
