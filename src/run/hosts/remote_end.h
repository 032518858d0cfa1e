/* remote_end.h -- how a piece on another machine ends. SPDX-License-Identifier: MIT */
#ifndef CV_REMOTE_END_H
#define CV_REMOTE_END_H
#include "run/slot/slot.h"

struct cv_host;

/* END has come: it is looked at whether that can be, and the slot's user is told. */
void cv_remote_take_end(struct cv_host *host, struct cv_slot *slot,
                        const unsigned char *payload, size_t length);
/* BACK has come: the piece has not been begun, and will not be. */
void cv_remote_take_back(struct cv_host *host, struct cv_slot *slot);

#endif
