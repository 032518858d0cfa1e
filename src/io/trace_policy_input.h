/* trace_policy_input.h -- what a policy was told, in the header of its trace.
 * SPDX-License-Identifier: MIT */
#ifndef CV_TRACE_POLICY_INPUT_H
#define CV_TRACE_POLICY_INPUT_H
#include "base/arena.h"
#include "io/json_out.h"
#include "io/trace_line.h"

/* A header of a few bytes may claim so many workers like the last one, and no more. */
enum { CV_TRACE_ALIKE_MOST = 1000000 };

/* Write the member "told". */
void cv_trace_policy_input_write(struct cv_json *json,
                                 const struct cleave_policy_input *told);

/* Read the object behind "told"; what it points to lives in the arena. Port and number of
 * workers are those that the header has said before. Members that are not known are
 * skipped. */
enum cleave_status cv_trace_policy_input_read(struct cv_trace_lines *lines,
                                              struct cv_arena *arena,
                                              struct cleave_policy_input *out);

#endif
