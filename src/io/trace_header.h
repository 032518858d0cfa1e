/* trace_header.h -- the first line of a trace. SPDX-License-Identifier: MIT */
#ifndef CV_TRACE_HEADER_H
#define CV_TRACE_HEADER_H
#include "base/arena.h"
#include "io/json_out.h"
#include "io/trace_line.h"

struct cv_trace_header {
    enum cleave_task task;
    const char *policy; /* in the arena, as the names are */
    double load;        /* of a load: units, and below    */
    enum cleave_port port;
    const char **names;
    uint32_t nworkers; /* or nodes of a reduction */
};

/* Read the header on the line that lines->in stands on. With a platform it must be about
 * these workers; without, `lines->any` tells whether it may be about any or must be about
 * a reduction. Sets lines->task, nworkers and, unless there is a platform, the names; puts
 * the facts into `trace`. */
enum cleave_status cv_trace_header_read(struct cv_trace_lines *lines,
                                        struct cv_arena *arena,
                                        struct cleave_trace *trace,
                                        struct cv_trace_header *out);

/* Write the member "about", if there is anything to tell. `platform` names the workers;
 * NULL for a reduction. */
void cv_trace_facts_write(struct cv_json *json, const struct cleave_trace_facts *facts,
                          const struct cleave_platform *platform);

#endif
