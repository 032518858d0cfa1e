/* job_options.h -- parameters of a policy, and lists of policies, as typed.
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

/* Settings that grow; texts live in the arena of the call. */
struct cv_settings {
    struct cleave_setting *items;
    size_t count;
};

/* Room for all of `params` and `more` others. Returns an exit status, as all here. */
int cv_settings_open(struct cv_settings *settings, const struct cv_strings *params,
                     size_t more, struct cv_arena *arena);
/* Add "key=value", from an option of its own or from --param. */
int cv_settings_add(struct cv_settings *settings, const char *text,
                    struct cv_arena *arena);
/* The option that stands for --param key=value; 0 means that it was not given. */
int cv_settings_count(struct cv_settings *settings, const char *key, uint64_t value,
                      struct cv_arena *arena);

/* The same with a text; NULL means that it was not given. */
int cv_settings_text(struct cv_settings *settings, const char *key, const char *value,
                     struct cv_arena *arena);

/* The policies that a list of --policies names, or all for the task when it is NULL.
 * *out lives in the arena. `example` goes into the complaint about an empty list. */
int cv_policies_choose(enum cleave_task task, const char *list, const char *example,
                       struct cv_arena *arena, const struct cleave_policy ***out,
                       size_t *out_count);

struct cv_engine_fact {
    const char *name, *summary;
    /* Whether it can be used; NULL: always. On failure err says what to do about it. */
    enum cleave_status (*find)(char *path, size_t size, struct cleave_error *err);
};

size_t cv_engine_count(void);
const struct cv_engine_fact *cv_engine_at(size_t index);
bool cv_engine_is_here(const struct cv_engine_fact *engine);

/* CV_EXIT_DONE if the engine can be used; NULL is the usual one. Otherwise complains and
 * returns the status: CV_EXIT_ENGINE for one that is missing, CV_EXIT_USAGE for an unknown
 * name. */
int cv_engine_check(const char *name);

struct cv_topology_options {
    const char *file, *master, *workers, *port;
    double unit_bytes, unit_flops, partial_bytes; /* 0: not given */
    uint64_t count;                               /* of workers; 0: not given */
};

/* The name of the engine that is asked for; NULL is native, or simgrid for a topology. */
const char *cv_engine_used(const char *engine, const struct cv_topology_options *options);

/* A line about it for people, if it is not native. */
void cv_engine_line(const char *engine, const struct cv_topology_options *options,
                    struct cv_text *text);

/* Check engine and topology. *out is what a job takes, NULL for the native engine; it and
 * what it points to live as long as the arena and the options. Returns an exit status. */
int cv_topology_open(const char *engine, const struct cv_topology_options *options,
                     struct cv_arena *arena, const struct cleave_simgrid **out);
/* The star that a master on the topology sees, measured: owned by the caller. */
int cv_topology_platform(const struct cv_topology_options *options,
                         const struct cleave_simgrid *simgrid,
                         struct cleave_platform **out);

/* What --help says of the formats. */
#define CV_TRACE_FORMATS_HELP                                                           \
    "A name that ends in .chrome.json makes it a trace for Perfetto, one that ends in " \
    ".paje a trace for ViTE."

/* Add the command line of the call, for the shell. */
void cv_command_line(const struct cv_call *call, struct cv_text *out);

/* Let the trace know the command line of the call. Does nothing without a trace. Returns
 * an exit status, as all here. */
int cv_trace_call(struct cleave_trace *trace, const struct cv_call *call);

/* Add facts to it. */
int cv_trace_add_facts(struct cleave_trace *trace,
                       const struct cleave_trace_facts *facts);

/* Add what a plan of the job says: the policy that was picked, and who is left out why. */
int cv_trace_plan_facts(struct cleave_trace *trace, const struct cleave_job *job);

/* Write the trace to the file that --trace named, in the format that its name asks for;
 * a file of that name is replaced. Only its owner may read it. */
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
        "On a topology: so many of its hosts take part, evenly spread in the order of " \
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
/* Of verbs that simulate. */
#define CV_TOPOLOGY_ROWS \
    CV_TOPOLOGY_OPTION, CV_TOPOLOGY_MASTER, CV_TOPOLOGY_WORKERS, \
    CV_TOPOLOGY_HOSTS, CV_TOPOLOGY_PORT, CV_TOPOLOGY_UNITS
/* clang-format on */

#endif
