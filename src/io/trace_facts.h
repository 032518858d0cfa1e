/* trace_facts.h -- what is known of a run as a whole, in the header of its trace.
 * SPDX-License-Identifier: MIT */
#ifndef CV_TRACE_FACTS_H
#define CV_TRACE_FACTS_H
#include "base/arena.h"
#include "io/json_out.h"
#include "io/trace_line.h"

/* Write the member "about", if there is anything to tell. `platform` names the workers;
 * NULL for a reduction. */
void cv_trace_facts_write(struct cv_json *json, const struct cleave_trace_facts *facts,
                          const struct cleave_platform *platform);

/* Read the object behind "about" into the trace. Members that are not known are skipped,
 * so that later versions may add some. */
enum cleave_status cv_trace_facts_read(struct cv_trace_lines *lines,
                                       struct cv_arena *arena,
                                       struct cleave_trace *trace);

#endif
