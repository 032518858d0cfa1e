/* line_output.h -- lines of an output, written when they are whole.
 * SPDX-License-Identifier: MIT */
#ifndef CV_LINE_OUTPUT_H
#define CV_LINE_OUTPUT_H
#include "run/slot/slot.h"

/* A new command begins. */
enum cleave_status cv_line_output_begin(struct cv_slot *slot, struct cleave_error *err);
/* Write what is in its pipe as far as lines are whole, and at its end the rest. CLEAVE_ECLOSED:
 * nobody reads. */
enum cleave_status cv_line_output_pump(struct cv_slot *slot, uint64_t max,
                                       enum cv_chunk_output_state *out,
                                       struct cleave_error *err);
/* The same of bytes that have come another way; and of what is left when there will be no more.
 */
enum cleave_status cv_line_output_take(struct cv_slot *slot, const void *bytes,
                                       size_t length, struct cleave_error *err);
enum cleave_status cv_line_output_end(struct cv_slot *slot, struct cleave_error *err);
void cv_line_output_done(struct cv_line_output *lines);

/* Let whoever asked for items keep the output of a command that has ended, put a text before
 * each of its lines, or write something else instead: *store may be another one then. */
enum cleave_status cv_item_output_format(const struct cv_slot *slot,
                                         struct cv_chunk_output **store,
                                         struct cleave_error *err);

#endif
