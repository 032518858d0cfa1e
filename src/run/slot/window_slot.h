/* window_slot.h -- slots that share a persistent command, which holds a piece of each.
 * SPDX-License-Identifier: MIT
 *
 * The command may read several frames before it answers, as many as CLEAVE_WINDOW says. It
 * numbers them itself: the first one of a process is 0, and 0 follows 65535. The first byte of
 * an answer, which is 0 in a length, tells its kind:
 *
 *   00 L L L L L L L   the oldest piece: L bytes follow
 *   02 T T T T T T T   the oldest piece: later, in T milliseconds
 *   80 N N L L L L L   piece N: L bytes follow
 *   81 N N 0 0 0 0 0   piece N failed
 *   82 N N T T T T T   piece N: later
 *   FF FF .. FF        the oldest piece failed
 *
 * So a command that knows of no window answers in the order of its input.
 *
 * A process that fails while it holds one piece has failed with that piece. If it held several,
 * another process gets each of them alone: only the piece that ends a process alone has failed.
 * Bytes that do not begin an answer may belong to an earlier piece, so cleave gives even a single
 * piece once more, alone. */
#ifndef CV_WINDOW_SLOT_H
#define CV_WINDOW_SLOT_H
#include "run/slot/persistent_slot.h"

/* After cv_slot_init and before the first start: share the command of `first`, or, if that is
 * NULL, have a command that up to `count` slots share. cv_slot_free ends it with its last slot. */
enum cleave_status cv_window_init(struct cv_slot *slot, struct cv_slot *first,
                                  uint32_t count, struct cleave_error *err);
/* Set CLEAVE_WINDOW, the number of pieces that the command may hold; 0: leave it unset. */
enum cleave_status cv_window_tell(struct cv_command *command, uint32_t count,
                                  struct cleave_error *err);

#endif
