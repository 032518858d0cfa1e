/* trace_line.h -- lines of a trace: one event or order each. SPDX-License-Identifier: MIT */
#ifndef CV_TRACE_LINE_H
#define CV_TRACE_LINE_H
#include <cleave/trace.h>
#include "base/arena.h"
#include "io/json_in.h"
#include "io/json_out.h"

struct cv_trace_name {
    const char *name;
    uint32_t worker;
};

/* State of reading a trace. */
struct cv_trace_lines {
    struct cv_json_in in;
    struct cv_arena *arena;                 /* borrowed: for names and facts       */
    const struct cleave_platform *platform; /* borrowed; NULL: not known           */
    bool any;                               /* the header may be of any task       */
    bool events_only;                       /* orders are checked and dropped      */
    enum cleave_task task;                  /* set by the header                   */
    enum cleave_port port;                  /* set by the header                   */
    const struct cv_trace_name *names;      /* borrowed: of the workers, sorted    */
    uint32_t nworkers;                      /* or nodes                            */
};

int cv_trace_name_compare(const void *left, const void *right);

/* Fail about the value of a field that begins at `at`. */
enum cleave_status cv_trace_fail(struct cv_trace_lines *lines, const char *at,
                                 const char *field, const char *format, ...)
    CV_PRINTF(4, 5);
/* Fail with "expected ..., got 'value'". */
enum cleave_status cv_trace_fail_got(struct cv_trace_lines *lines, const char *at,
                                     const char *field, const char *expected,
                                     const char *got);

/* A worker by its name or, in a reduction, a node by its number. */
enum cleave_status cv_trace_worker(struct cv_trace_lines *lines, const char *field,
                                   uint32_t *out);
/* A number of at least 0. */
enum cleave_status cv_trace_positive(struct cv_trace_lines *lines, const char *field,
                                     double *out);
/* A string, copied into the arena. */
enum cleave_status cv_trace_text(struct cv_trace_lines *lines, const char **out);
/* Any value, for members of later versions. */
enum cleave_status cv_trace_skip(struct cv_trace_lines *lines);
/* An object; `read` takes the value of each key, and skips those that it does not know. */
enum cleave_status cv_trace_object(struct cv_trace_lines *lines,
                                   enum cleave_status (*read)(void *context,
                                                              const char *key),
                                   void *context);
/* A list, or an object if `bracket` is '{', of elements of `size` bytes that `read` takes;
 * *out is an array of *out_count in the arena. If there are more than `most`, reading stops
 * and *out_count is most + 1. */
enum cleave_status cv_trace_list(struct cv_trace_lines *lines, char bracket, size_t size,
                                 size_t most,
                                 enum cleave_status (*read)(void *context, void *element),
                                 void *context, void *out, size_t *out_count);

/* Read an entry from the line of lines->in. */
enum cleave_status cv_trace_entry_read(struct cv_trace_lines *lines,
                                       struct cleave_entry *out);

/* The workers of a trace that is written. */
struct cv_trace_workers {
    const struct cleave_platform *platform; /* NULL for a reduction: nodes have numbers */
    uint32_t count;
    bool items; /* chunks are items */
};

/* Fails if the reader would refuse an entry. */
enum cleave_status cv_trace_check(const struct cleave_trace *trace,
                                  const struct cv_trace_workers *workers,
                                  struct cleave_error *err);
void cv_trace_entry_write(struct cv_json *json, const struct cleave_entry *entry,
                          const struct cv_trace_workers *workers);
/* The name of an order (static), and its fields after the worker. */
const char *cv_trace_order_name(enum cleave_order_kind kind);
void cv_trace_order_fields(struct cv_json *json, const struct cleave_order *order,
                           bool items);

#endif
