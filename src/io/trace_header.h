/* trace_header.h -- the first line of a trace. SPDX-License-Identifier: MIT */
#ifndef CV_TRACE_HEADER_H
#define CV_TRACE_HEADER_H
#include "io/trace_line.h"

struct cv_trace_header {
    enum cleave_task task;
    const char *policy; /* in the arena, as the names are */
    double load;        /* units; a reduction has no load, port or names */
    enum cleave_port port;
    const char **names;
    uint32_t nworkers; /* or nodes of a reduction */
};

/* Read the header from the line of lines->in. With a platform it must have the same workers;
 * without one it must be of a reduction, unless `lines->any`. Sets lines->task, nworkers and,
 * without a platform, the names; adds the facts to `trace`. */
enum cleave_status cv_trace_header_read(struct cv_trace_lines *lines,
                                        struct cleave_trace *trace,
                                        struct cv_trace_header *out);

void cv_trace_header_write(struct cv_json *json, const struct cv_trace_workers *workers,
                           const char *policy, double load,
                           const struct cleave_trace_facts *facts);

#endif
