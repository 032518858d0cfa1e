/* remote_packed.h -- pieces that are decoded by the machine that computes them.
 * SPDX-License-Identifier: MIT
 *
 * What is sent of their body is bytes of the compressed file; all other numbers, in the words of both
 * sides, are those of decoded bytes. */
#ifndef CV_REMOTE_PACKED_H
#define CV_REMOTE_PACKED_H
#include "run/slot/slot.h"

/* Decide whether the piece of the slot, which was not announced or had no bytes, goes so. */
void cv_packed_begin(struct cv_slot *slot);
/* Its end is another one now. */
void cv_packed_changed(struct cv_slot *slot);
/* Say what it is, if the host does not know. */
enum cleave_status cv_packed_tell(struct cv_slot *slot, struct cleave_error *err);
/* Bytes that are sent of it in all, with its header. */
uint64_t cv_packed_size(const struct cv_slot *slot);
/* The next bytes, as read(2). */
ssize_t cv_packed_read(const struct cv_slot *slot, void *to, size_t max);
/* Bytes of header and body that the host can give to its command by now. */
uint64_t cv_packed_there(const struct cv_slot *slot);
/* Up to which byte of the body, an offset in the file, some may be on its way. */
uint64_t cv_packed_fed(const struct cv_slot *slot);
/* So many bytes of those that are sent, as bytes of the input. */
uint64_t cv_packed_units(const struct cv_slot *slot, uint64_t bytes);

#endif
