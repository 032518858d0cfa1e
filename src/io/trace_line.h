/* trace_line.h -- one event or order from a line of a trace.
 * SPDX-License-Identifier: MIT */
#ifndef CV_TRACE_LINE_H
#define CV_TRACE_LINE_H
#include <cleave/trace.h>
#include "io/json_in.h"
#include "io/json_out.h"

struct cv_trace_name {
    const char *name;
    uint32_t worker;
};

/* What a line is read with. */
struct cv_trace_lines {
    struct cv_json_in in;
    const struct cleave_platform *platform; /* borrowed; NULL: none was given      */
    bool any;              /* the header tells what the trace is about             */
    bool events_only;      /* orders are checked and dropped                       */
    enum cleave_task task; /* set by the header                                    */
    enum cleave_port port; /* likewise                                             */
    const struct cv_trace_name *names; /* borrowed: of the workers, sorted         */
    uint32_t nworkers;                 /* or nodes                                 */
    struct cleave_error *err;          /* borrowed; may be NULL                    */
};

int cv_trace_name_compare(const void *left, const void *right);

/* What an order is called on its line (static). */
const char *cv_trace_order_name(enum cleave_order_kind kind);
/* Put what stands there behind its worker: trace_file.c. */
void cv_trace_order_fields(struct cv_json *json, const struct cleave_order *order,
                           bool items);

/* Fail about the value that begins at `at`: "expected ..., got 'value'". */
enum cleave_status cv_trace_fail(struct cv_trace_lines *lines, const char *at,
                                 const char *field, const char *expected,
                                 const char *got);

/* A worker by its name or, in a reduction, a node by its number. */
enum cleave_status cv_trace_worker(struct cv_trace_lines *lines, const char *field,
                                   uint32_t *out);

/* A number of at least 0. */
enum cleave_status cv_trace_positive(struct cv_trace_lines *lines, const char *field,
                                     double *out);

/* The next key of an object that was opened; NULL: there is none, and the object is over. *first
 * is true before the first one. */
enum cleave_status cv_trace_key(struct cv_trace_lines *lines, bool *first,
                                const char **out);

/* Any value, for members of later versions. */
enum cleave_status cv_trace_skip(struct cv_trace_lines *lines);

/* Read the line that lines->in stands on. */
enum cleave_status cv_trace_entry(struct cv_trace_lines *lines, struct cleave_entry *out);

#endif
