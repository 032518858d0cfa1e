/* line_output.h -- outputs by lines, and outputs of items. SPDX-License-Identifier: MIT */
#ifndef CV_LINE_OUTPUT_H
#define CV_LINE_OUTPUT_H
#include "run/slot/slot.h"

/* A new command begins. */
enum cleave_status cv_line_output_begin(struct cv_slot *slot, struct cleave_error *err);
/* Write complete lines from the pipe of the command, and the rest at its end. CLEAVE_ECLOSED: the
 * reader has closed the sink. */
enum cleave_status cv_line_output_pump(struct cv_slot *slot, uint64_t max,
                                       enum cv_chunk_output_state *out,
                                       struct cleave_error *err);
/* Write complete lines of other bytes; write the rest. */
enum cleave_status cv_line_output_take(struct cv_slot *slot, const void *bytes,
                                       size_t length, struct cleave_error *err);
enum cleave_status cv_line_output_end(struct cv_slot *slot, struct cleave_error *err);
void cv_line_output_done(struct cv_line_output *lines);

/* The command of an item has ended: let the user of the items keep its output, or replace it, or
 * put a tag before each line. *store may be another output afterwards. */
enum cleave_status cv_item_output_format(const struct cv_slot *slot,
                                         struct cv_chunk_output **store,
                                         struct cleave_error *err);

#endif
