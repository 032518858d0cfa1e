/* trace_file.h -- traces as JSON lines. SPDX-License-Identifier: MIT */
#ifndef CV_TRACE_FILE_H
#define CV_TRACE_FILE_H
#include <cleave/trace.h>
#include <stdio.h>
#include "base/arena.h"
#include "io/trace_header.h"

/* cleave_trace_load from an open file; messages call it `name`. */
enum cleave_status cv_trace_read(FILE *file, const char *name,
                                 const struct cleave_platform *platform,
                                 struct cleave_trace **out, struct cleave_error *err);
/* cleave_trace_load_reduce from an open file. */
enum cleave_status cv_trace_read_reduce(FILE *file, const char *name, uint32_t *out_nodes,
                                        struct cleave_trace **out,
                                        struct cleave_error *err);

/* A trace of a load or of a reduction, with its header, for callers without a platform. */
struct cv_trace_file {
    struct cv_trace_header header;
    struct cleave_trace *trace; /* owned; without orders if only events were read */
    struct cv_arena arena;      /* texts of the header                            */
};

/* Read the file at `path`, "-" for standard input, with its orders or, to save memory,
 * without. cv_trace_file_done releases it, also after a failure. */
enum cleave_status cv_trace_file_load(const char *path, bool events_only,
                                      struct cv_trace_file *out,
                                      struct cleave_error *err);
/* Read from an open file; messages call it `name`. */
enum cleave_status cv_trace_file_read(FILE *file, const char *name, bool events_only,
                                      struct cv_trace_file *out,
                                      struct cleave_error *err);
void cv_trace_file_done(struct cv_trace_file *file);

#endif
