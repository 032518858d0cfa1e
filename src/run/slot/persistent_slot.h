/* persistent_slot.h -- a slot whose command stays and is given one piece after the other.
 * SPDX-License-Identifier: MIT
 *
 * The command reads frames from its standard input and answers each with one frame on its
 * standard output. A frame is a length of 8 bytes, the first the highest, and so many
 * bytes. Instead of an answer, 8 bytes of all ones say that it could not do the piece: then
 * it is asked again or not, as the user of the slot decides. With mates, a frame of them
 * comes on descriptor 3 for each on standard input. When its input ends the command should
 * end as well, with status 0. What it prints without being asked, or what is no length,
 * makes it useless: it is killed, and the next piece starts another. */
#ifndef CV_PERSISTENT_SLOT_H
#define CV_PERSISTENT_SLOT_H
#include "run/slot/slot.h"

/* After cv_slot_init, before the first start: let the command of this slot stay. It is used
 * by the functions of slot.h. */
void cv_persistent_init(struct cv_slot *slot);

#endif
