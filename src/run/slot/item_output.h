/* item_output.h -- what becomes of the output of an item. SPDX-License-Identifier: MIT */
#ifndef CV_ITEM_OUTPUT_H
#define CV_ITEM_OUTPUT_H
#include "run/slot/slot.h"

/* Let whoever asked for items keep the output of a command that has ended, put a text before
 * each of its lines, or write something else instead: *store may be another one then. */
enum cleave_status cv_item_output_format(const struct cv_slot *slot,
                                         struct cv_chunk_output **store,
                                         struct cleave_error *err);

#endif
