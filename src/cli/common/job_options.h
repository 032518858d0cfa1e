/* job_options.h -- parameters, engines, topologies and traces that verbs share.
 * SPDX-License-Identifier: MIT */
#ifndef CV_JOB_OPTIONS_H
#define CV_JOB_OPTIONS_H
#include <cleave/error.h>
#include <cleave/policy.h>
#include <cleave/run.h>
#include <cleave/simgrid.h>
#include <cleave/trace.h>
#include <stdbool.h>
#include <stddef.h>
#include "base/text.h"
#include "cli/common/options.h"
#include "cli/common/verb.h"
#include "io/trace_export.h"

struct cv_host_fields;

/* Parameters of a policy; texts live in the arena of the call. */
struct cv_settings {
    struct cleave_setting *items;
    size_t count;
    struct cv_arena *arena;
};

/* Read --param, with room for `more` parameters. Returns an exit status, as all here. */
int cv_settings_open(struct cv_settings *settings, const struct cv_strings *params,
                     size_t more, struct cv_arena *arena);
/* Add an option that stands for --param key=value; NULL and 0: not given. */
int cv_settings_text(struct cv_settings *settings, const char *key, const char *value);
int cv_settings_number(struct cv_settings *settings, const char *key, double value);

/* The policies of --policies, or all of the task if `list` is NULL; in the arena.
 * `example` is for the message about an empty list. */
int cv_policies_choose(enum cleave_task task, const char *list, const char *example,
                       struct cv_arena *arena, const struct cleave_policy ***out,
                       size_t *out_count);

/* Write a platform file to `output`, NULL for standard output; an older file is
 * replaced only with `force`. */
int cv_platform_save(const struct cleave_platform *platform,
                     const struct cv_host_fields *hosts, const char *comment,
                     const char *output, bool force);

struct cv_engine_fact {
    const char *name, *summary;
    /* NULL: the engine is always there. */
    enum cleave_status (*find)(char *path, size_t size, struct cleave_error *err);
};

enum { CV_ENGINES = 2 };
extern const struct cv_engine_fact cv_engines[CV_ENGINES];
bool cv_engine_is_here(const struct cv_engine_fact *engine);

/* Check that an engine can be used; NULL is the default one. */
int cv_engine_check(const char *name);

struct cv_topology_options {
    const char *file, *master, *workers, *port;
    double unit_bytes, unit_flops, partial_bytes; /* 0: not given */
    uint64_t count;                               /* workers; 0: not given */
};

/* The name of the engine: by default native, or simgrid for a topology. */
const char *cv_engine_used(const char *engine, const struct cv_topology_options *options);

/* A line about the engine, unless it is native. */
void cv_engine_line(const char *engine, const struct cv_topology_options *options,
                    struct cv_text *text);

/* Check engine and topology. *out is for the job, NULL for the native engine; it lives
 * in the arena. */
int cv_topology_open(const char *engine, const struct cv_topology_options *options,
                     struct cv_arena *arena, const struct cleave_simgrid **out);
/* Measure the star that the master of a topology sees; owned by the caller. */
int cv_topology_platform(const struct cv_topology_options *options,
                         const struct cleave_simgrid *simgrid,
                         struct cleave_platform **out);

#define CV_TRACE_FORMATS_HELP                                                            \
    "A name that ends in .chrome.json writes a trace for Perfetto, a name that ends in " \
    ".paje a trace for ViTE."

/* The command line of the call, for a shell. */
void cv_command_line(const struct cv_call *call, struct cv_text *out);

/* Add the command line of the call; `trace` may be NULL. */
int cv_trace_call(struct cleave_trace *trace, const struct cv_call *call);

int cv_trace_add_facts(struct cleave_trace *trace,
                       const struct cleave_trace_facts *facts);

/* Add facts of a plan of the job: the policy that was picked, and workers left out. */
int cv_trace_plan_facts(struct cleave_trace *trace, const struct cleave_job *job);

/* Write the trace in the format of its name. Only its owner may read it. */
int cv_trace_write(const char *path, const struct cv_trace_context *context);

/* clang-format off */
/* Rows of option tables. */
#define CV_ROW_SEED \
    CV_OPTION(0, "--seed", COUNT, "N", seed, \
        "Random numbers depend on this and nothing else. Default 1.")
/* For values with a struct cv_topology_options `where`. */
#define CV_TOPOLOGY_OPTION \
    CV_OPTION(0, "--topology", TEXT, "FILE", where.file, \
        "A platform file of SimGrid: messages go over its links, which they share, and " \
        "computations run at the speed of its hosts. Simulated by SimGrid.")
#define CV_TOPOLOGY_HOSTS \
    CV_OPTION(0, "--worker-hosts", TEXT, "A,B,C", where.workers, \
        "Hosts of the topology that take part, by name. Default: all of them, or as " \
        "many as are asked for, evenly spread in the order of names.")
#define CV_TOPOLOGY_WORKERS \
    CV_OPTION(0, "--workers", COUNT, "N", where.count, \
        "On a topology: use this many of its hosts, evenly spread in the order of " \
        "names. Default: all of them.", .min = 1, .max = 1e7)
#define CV_TOPOLOGY_MASTER \
    CV_OPTION(0, "--master", TEXT, "HOST", where.master, \
        "The host of the topology that holds the load. Default: the first by name.")
#define CV_TOPOLOGY_UNITS \
    CV_OPTION(0, "--unit-bytes", UNITS, "SIZE", where.unit_bytes, \
        "On a topology: bytes in a unit of load. Default 1 MB."), \
    CV_OPTION(0, "--unit-flops", UNITS, "N", where.unit_flops, \
        "On a topology: floating-point operations that a unit of load takes. Default " \
        "1e9.")
#define CV_TOPOLOGY_PORT \
    CV_OPTION(0, "--port", TEXT, "one|duplex|multi", where.port, \
        "On a topology, without --platform: how many messages the master handles at a " \
        "time. Default one.")
/* Rules about these options; `more`: other options that are about topologies. */
#define CV_TOPOLOGY_RULES(more) \
    { 0, "--master --worker-hosts --port --unit-bytes --unit-flops" more, CV_NEEDS, \
      "--topology", "%1 is about a topology: see --topology" }, \
    { 0, "--workers", CV_EXCLUDES, "--worker-hosts", \
      "--workers and --worker-hosts cannot both select the workers" }
/* For verbs that simulate. */
#define CV_TOPOLOGY_ROWS \
    CV_TOPOLOGY_OPTION, CV_TOPOLOGY_MASTER, CV_TOPOLOGY_WORKERS, \
    CV_TOPOLOGY_HOSTS, CV_TOPOLOGY_PORT, CV_TOPOLOGY_UNITS
/* clang-format on */

#endif
