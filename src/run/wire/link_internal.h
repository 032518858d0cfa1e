/* link_internal.h -- what the parts of a link share. SPDX-License-Identifier: MIT */
#ifndef CV_LINK_INTERNAL_H
#define CV_LINK_INTERNAL_H
#include "run/wire/link.h"

/* --- link_out.c --- */

/* It is over; says so, once. */
void cv_link_break(struct cv_link *link, const struct cleave_error *err);
void cv_link_fail_system(struct cv_link *link, const char *what, int error);
/* Callback of a watch: send what waits, and ask for more. */
void cv_link_can_write(void *context, unsigned events);

/* --- link_in.c --- */

/* Callbacks of watches: something has come, over a descriptor; over a channel something
 * has come, or there may be room again. */
void cv_link_can_read(void *context, unsigned events);
void cv_link_receive(void *context, unsigned events);

#endif
