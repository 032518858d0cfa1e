/* trace_file.h -- traces as JSON lines. SPDX-License-Identifier: MIT */
#ifndef CV_TRACE_FILE_H
#define CV_TRACE_FILE_H
#include <cleave/trace.h>
#include <stdio.h>
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
    const struct cv_trace_name *names;      /* borrowed: names of the workers, sorted */
    uint32_t nworkers;                      /* or nodes                            */
};

/* A worker by its name or, in a reduction, a node by its number. */
enum cleave_status cv_trace_worker(struct cv_trace_lines *lines, const char *field,
                                   uint32_t *out);

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
/* The name of an order (static), and its fields after the worker. */
const char *cv_trace_order_name(enum cleave_order_kind kind);
void cv_trace_order_fields(struct cv_json *json, const struct cleave_order *order,
                           bool items);

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

/* A trace of a load or of a reduction, with its header, for callers without a platform. */
struct cv_trace_file {
    struct cv_trace_header header;
    struct cleave_trace *trace; /* owned; without orders if only events were read */
    struct cv_arena arena;      /* texts of the header                            */
};

/* The kind of trace that is expected, and the amount that is read. */
struct cv_trace_wanted {
    /* the trace has a load on this platform; NULL: it has a reduction */
    const struct cleave_platform *platform;
    bool any;         /* both kinds are accepted */
    bool events_only; /* without orders, to save memory           */
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
