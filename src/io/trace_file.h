/* trace_file.h -- traces as JSON lines. SPDX-License-Identifier: MIT */
#ifndef CV_TRACE_FILE_H
#define CV_TRACE_FILE_H
#include <stdio.h>
#include <cleave/trace.h>

#define CV_TRACE_FORMAT "cleave-trace-1"

/* cleave_trace_load from a file that is open; `name` stands for it in messages. */
enum cleave_status cv_trace_read(FILE *file, const char *name,
                                 const struct cleave_platform *platform,
                                 struct cleave_trace **out, struct cleave_error *err);
/* cleave_trace_load_reduce likewise. */
enum cleave_status cv_trace_read_reduce(FILE *file, const char *name, uint32_t *out_nodes,
                                        struct cleave_trace **out,
                                        struct cleave_error *err);

#endif
