/* trace_file.h -- traces as JSON lines. SPDX-License-Identifier: MIT */
#ifndef CV_TRACE_FILE_H
#define CV_TRACE_FILE_H
#include <cleave/trace.h>
#include <stdio.h>
#include "base/arena.h"
#include "io/trace_header.h"

#define CV_TRACE_FORMAT "cleave-trace-1"

/* cleave_trace_load from a file that is open; `name` stands for it in messages. */
enum cleave_status cv_trace_read(FILE *file, const char *name,
                                 const struct cleave_platform *platform,
                                 struct cleave_trace **out, struct cleave_error *err);
/* cleave_trace_load_reduce likewise. */
enum cleave_status cv_trace_read_reduce(FILE *file, const char *name, uint32_t *out_nodes,
                                        struct cleave_trace **out,
                                        struct cleave_error *err);

/* What keeps the entry from being written so that it can be read again, or NULL. `count`
 * is that of the workers or, without a platform, of the nodes. */
const char *cv_trace_fault(const struct cleave_entry *entry,
                           const struct cleave_platform *platform, uint32_t count);

/* A trace with what its header says, for those who have no platform: of a load or of a
 * reduction, whichever it is. */
struct cv_trace_file {
    struct cv_trace_header header;
    struct cleave_trace *trace; /* its events and facts, maybe without orders */
    struct cv_arena arena;      /* what the header points to                */
};

/* Read the file at `path`, "-" for standard input, with its orders or, to save memory,
 * without. cv_trace_file_done releases it, also after a failure if it was zeroed before. */
enum cleave_status cv_trace_file_load_whole(const char *path, struct cv_trace_file *out,
                                            struct cleave_error *err);
enum cleave_status cv_trace_file_load(const char *path, struct cv_trace_file *out,
                                      struct cleave_error *err);
/* The same from a file that is open; `name` stands for it in messages. */
enum cleave_status cv_trace_file_read(FILE *file, const char *name,
                                      struct cv_trace_file *out,
                                      struct cleave_error *err);
void cv_trace_file_done(struct cv_trace_file *file);

#endif
