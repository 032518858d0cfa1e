/* trace_policy_input.h -- the input of a policy, in the header of its trace.
 * SPDX-License-Identifier: MIT */
#ifndef CV_TRACE_POLICY_INPUT_H
#define CV_TRACE_POLICY_INPUT_H
#include "io/trace_line.h"

/* Write the member "told". */
void cv_trace_policy_input_write(struct cv_json *json,
                                 const struct cleave_policy_input *told);

/* Read the value of "told" into the arena of `lines`, whose port and number of workers are
 * known. Unknown members are skipped. */
enum cleave_status cv_trace_policy_input_read(struct cv_trace_lines *lines,
                                              struct cleave_policy_input *out);

#endif
