/* open_slot.h -- a command whose piece may grow. SPDX-License-Identifier: MIT
 *
 * The input of the command is not closed when all of the piece has been fed: more of what
 * follows can be given to it, until it is closed. A command can be started before it is
 * known which piece it gets. It is heard when it reads first and when it has read all there
 * is. So that little is in the pipe which cannot be taken back, that is narrow until the
 * command proves to be fast.
 *
 * Only for slots that start a command for each piece. */
#ifndef CV_OPEN_SLOT_H
#define CV_OPEN_SLOT_H
#include "run/slot/slot.h"

/* What a command has done so far. */
struct cv_slot_seen {
    uint64_t read;   /* bytes of the body; of a piece that was closed, those fed        */
    uint64_t output; /* bytes                                                           */
    double cpu_s;    /* of the process, without its children; 0: not known              */
};

/* As cv_slot_start, but more may follow. The piece may have no bytes yet (cv_source_blank). */
enum cleave_status cv_slot_open(struct cv_slot *slot, const struct cv_piece *piece,
                                struct cleave_error *err);
/* Whether it may get more: it was opened and not closed, and its command reads. */
bool cv_slot_is_open(const struct cv_slot *slot);
/* The piece is `longer` now, which begins as it does; or its first one. */
enum cleave_status cv_slot_extend(struct cv_slot *slot, const struct cv_piece *longer,
                                  struct cleave_error *err);
/* That is all: the command reads the end behind it. One that was given nothing is
 * stopped. */
void cv_slot_close_input(struct cv_slot *slot);
/* Of any slot of this machine that is busy. */
struct cv_slot_seen cv_slot_look(const struct cv_slot *slot);

#endif
