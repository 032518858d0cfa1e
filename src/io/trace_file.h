/* trace_file.h -- traces as JSON lines. SPDX-License-Identifier: MIT */
#ifndef CV_TRACE_FILE_H
#define CV_TRACE_FILE_H
#include <cleave/trace.h>
#include <stdio.h>
#include "base/arena.h"
#include "io/trace_line.h"

/* A trace of a load or of a reduction, with its header, for callers without a platform. */
struct cv_trace_file {
    struct cv_trace_header header;
    struct cleave_trace *trace; /* owned; without orders if only events were read */
    struct cv_arena arena;      /* texts of the header                            */
};

/* What a trace must be of, and how much of it is read. */
struct cv_trace_wanted {
    const struct cleave_platform *platform; /* of a load on it; NULL: of a reduction    */
    bool any;                               /* of a load or of a reduction              */
    bool events_only;                       /* without orders, to save memory           */
};

/* Read the file at `path`, "-" for standard input. cv_trace_file_done releases it, also
 * after a failure. */
enum cleave_status cv_trace_file_load(const char *path,
                                      const struct cv_trace_wanted *wanted,
                                      struct cv_trace_file *out,
                                      struct cleave_error *err);
/* Read from an open file; messages call it `name`. */
enum cleave_status cv_trace_file_read(FILE *file, const char *name,
                                      const struct cv_trace_wanted *wanted,
                                      struct cv_trace_file *out,
                                      struct cleave_error *err);
void cv_trace_file_done(struct cv_trace_file *file);

#endif
