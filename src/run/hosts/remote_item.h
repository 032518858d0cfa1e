/* remote_item.h -- an item for another machine: its command and its files.
 * SPDX-License-Identifier: MIT */
#ifndef CV_REMOTE_ITEM_H
#define CV_REMOTE_ITEM_H
#include "run/slot/slot.h"

struct cv_hosts;

/* Look at the files that all items need. */
enum cleave_status cv_hosts_base(struct cv_hosts *hosts, struct cleave_error *err);

/* Make the parcel of the slot's item, which is about to be announced. */
enum cleave_status cv_item_pack(struct cv_slot *slot, struct cleave_error *err);
/* Bytes of the head, and of what follows. */
uint64_t cv_item_head(const struct cv_slot *slot);
uint64_t cv_item_body(const struct cv_slot *slot);
/* Whether it has files that are not sent, as the host is to see them. */
bool cv_item_is_shared(const struct cv_slot *slot);
/* The next bytes of it, from `at` on, of the head or of the body; how many. */
size_t cv_item_read(struct cv_slot *slot, uint64_t at, void *out, size_t max);
/* What it brings back. */
enum cleave_status cv_item_take_back(struct cv_slot *slot, const void *bytes,
                                     size_t length, struct cleave_error *err);
/* Put the files that came back where they belong; what is wrong is the fault of the slot.
 * False: it is something that cannot come. */
bool cv_item_unpack(struct cv_slot *slot, bool done, char *fault, size_t size);
/* It is over, or is sent again. */
void cv_item_forget(struct cv_slot *slot);

#endif
