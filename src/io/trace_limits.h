/* trace_limits.h -- profiles and memory of workers, in the header of a trace.
 * SPDX-License-Identifier: MIT */
#ifndef CV_TRACE_LIMITS_H
#define CV_TRACE_LIMITS_H
#include "base/arena.h"
#include "io/json_out.h"
#include "io/trace_line.h"

/* Members "profiles" and "memory" of the object that is open, if the view has them. Each is a
 * list with an entry per worker: time, factor, time, factor, .. and units, 0 for any. */
void cv_trace_limits_write(struct cv_json *json, const struct cleave_view *view);

/* A list of numbers of at least 0, however many, in the arena. */
enum cleave_status cv_trace_numbers_read(struct cv_trace_lines *lines,
                                         struct cv_arena *arena, const char *field,
                                         double **out, size_t *out_count);
/* Read what is behind either key into the view; it lives in the arena. */
enum cleave_status cv_trace_profiles_read(struct cv_trace_lines *lines,
                                          struct cv_arena *arena,
                                          struct cleave_view *view);
enum cleave_status cv_trace_memory_read(struct cv_trace_lines *lines,
                                        struct cv_arena *arena, struct cleave_view *view);

#endif
