/* trace_output.h -- what --trace writes, and what a trace should know of its run.
 * SPDX-License-Identifier: MIT */
#ifndef CV_TRACE_OUTPUT_H
#define CV_TRACE_OUTPUT_H
#include <cleave/trace.h>
#include "base/text.h"
#include "cli/common/verb.h"
#include "io/trace_export.h"

/* What --help says of the formats. */
#define CV_TRACE_FORMATS_HELP                                                           \
    "A name that ends in .chrome.json makes it a trace for Perfetto, one that ends in " \
    ".paje a trace for ViTE."

/* Add the command line of the call, for the shell. */
void cv_command_line(const struct cv_call *call, struct cv_text *out);

/* Let the trace know the command line of the call. Does nothing without a trace. Returns
 * an exit status, as all here. */
int cv_trace_call(struct cleave_trace *trace, const struct cv_call *call);

/* Add facts to it. */
int cv_trace_add_facts(struct cleave_trace *trace,
                       const struct cleave_trace_facts *facts);

/* Add what a plan of the job says: the policy that was picked, and who is left out why. */
int cv_trace_plan_facts(struct cleave_trace *trace, const struct cleave_job *job);

/* Write the trace to the file that --trace named, in the format that its name asks for;
 * a file of that name is replaced. Only its owner may read it. */
int cv_trace_write(const char *path, const struct cv_trace_context *context);

#endif
