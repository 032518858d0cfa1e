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
#define CV_ROW_PARAM(WHERE)                                                             \
    { .name = "--param", .kind = CV_OPTION_REPEAT, .argument = "KEY=VALUE",             \
      .offset = WHERE(params),                                                          \
      .help = "Set a parameter of the policy, as 'cleave policies NAME' lists them. May " \
              "be given several times." }
#define CV_ROW_PARAM_OF_ALL(WHERE)                                                      \
    { .name = "--param", .kind = CV_OPTION_REPEAT, .argument = "KEY=VALUE",             \
      .offset = WHERE(params),                                                          \
      .help = "Set a parameter of all policies; those without it do not apply. May be " \
              "given several times." }

#define CV_ROW_SEED(WHERE)                                                              \
    { .name = "--seed", .kind = CV_OPTION_COUNT, .argument = "N",                       \
      .offset = WHERE(seed),                                                            \
      .help = "Random numbers depend on this and nothing else. Default 1." }
#define CV_ROW_RUNS(WHERE, of_what)                                                     \
    { .name = "--runs", .letter = 'n', .kind = CV_OPTION_COUNT, .argument = "N",        \
      .offset = WHERE(runs), .min = 1, .max = 1e8,                                   \
      .help = "How many runs" of_what ". Default 1000." }
#define CV_ROW_THREADS(WHERE)                                                           \
    { .name = "--threads", .letter = 'j', .kind = CV_OPTION_COUNT, .argument = "N",     \
      .offset = WHERE(threads), .min = 0, .max = 4096,                               \
      .help = "Threads to use; results do not depend on it. Default 0: one per core." }
#define CV_ROW_ENGINE(WHERE)                                                            \
    { .name = "--engine", .kind = CV_OPTION_TEXT, .argument = "NAME",                   \
      .offset = WHERE(engine),                                                          \
      .help = "What simulates: one of 'cleave engines'. Default native, or simgrid with " \
              "--topology." }

#define CV_ROW_ALL_WORKERS(WHERE)                                                       \
    { .name = "--all-workers", .value = 1, .offset = WHERE(all_workers),                \
      .help = "List every worker, however many there are." }
#define CV_ROW_GANTT(WHERE)                                                             \
    { .name = "--gantt", .value = 1, .offset = WHERE(gantt),                            \
      .help = "Draw a chart of the schedule; this is the default." },                   \
    { .name = "--no-gantt", .value = 0, .offset = WHERE(gantt),                         \
      .help = "Draw no chart." }
#define CV_ROW_WIDTH(WHERE, of_what)                                                    \
    { .name = "--width", .kind = CV_OPTION_COUNT, .argument = "COLUMNS",                \
      .offset = WHERE(width), .min = 40, .max = 1000,                                \
      .help = "Width of " of_what ". Default: that of the terminal." }
/* `what` is written: "Write every event and order". */
#define CV_ROW_TRACE(WHERE, what)                                                       \
    { .name = "--trace", .kind = CV_OPTION_TEXT, .argument = "FILE",                    \
      .offset = WHERE(trace), .file = CV_FILE_WRITTEN,                                  \
      .help = what " to this file, as JSON lines. A file of that name is replaced. "    \
              CV_TRACE_FORMATS_HELP }

/* Rows of an option table; WHERE(name) is the offset of a field of the struct above. */
#define CV_TOPOLOGY_OPTION(WHERE)                                                     \
    { .name = "--topology", .kind = CV_OPTION_TEXT, .argument = "FILE",               \
      .offset = WHERE(file),                                                          \
      .help = "A platform file of SimGrid: messages go over its links, which they "   \
              "share, and computations run at the speed of its hosts. Simulated by "  \
              "SimGrid." }
#define CV_TOPOLOGY_HOSTS(WHERE)                                                      \
    { .name = "--worker-hosts", .kind = CV_OPTION_TEXT, .argument = "A,B,C",          \
      .offset = WHERE(workers),                                                       \
      .help = "Hosts of the topology that take part, by name. Default: all of them, " \
              "or as many as are asked for, evenly spread in the order of names." }
#define CV_TOPOLOGY_WORKERS(WHERE)                                                    \
    { .name = "--workers", .kind = CV_OPTION_COUNT, .argument = "N",                  \
      .offset = WHERE(count), .min = 1, .max = 1e7,                                \
      .help = "On a topology: so many of its hosts take part, evenly spread in the "  \
              "order of names. Default: all of them." }
#define CV_TOPOLOGY_MASTER(WHERE)                                                     \
    { .name = "--master", .kind = CV_OPTION_TEXT, .argument = "HOST",                 \
      .offset = WHERE(master),                                                        \
      .help = "The host of the topology that holds the load. Default: the first by "  \
              "name." }
#define CV_TOPOLOGY_UNITS(WHERE)                                                      \
    { .name = "--unit-bytes", .kind = CV_OPTION_UNITS, .argument = "SIZE",            \
      .offset = WHERE(unit_bytes),                                                    \
      .help = "On a topology: bytes in a unit of load. Default 1 MB." },              \
    { .name = "--unit-flops", .kind = CV_OPTION_UNITS, .argument = "N",               \
      .offset = WHERE(unit_flops),                                                    \
      .help = "On a topology: floating-point operations that a unit of load takes. "  \
              "Default 1e9." }
#define CV_TOPOLOGY_PORT(WHERE)                                                       \
    { .name = "--port", .kind = CV_OPTION_TEXT, .argument = "one|duplex|multi",       \
      .offset = WHERE(port),                                                          \
      .help = "On a topology, without --platform: how many messages the master "      \
              "handles at a time. Default one." }
/* Of verbs that simulate. */
#define CV_TOPOLOGY_ROWS(WHERE)                                                       \
    CV_TOPOLOGY_OPTION(WHERE), CV_TOPOLOGY_MASTER(WHERE), CV_TOPOLOGY_WORKERS(WHERE), \
    CV_TOPOLOGY_HOSTS(WHERE), CV_TOPOLOGY_PORT(WHERE), CV_TOPOLOGY_UNITS(WHERE)
/* clang-format on */

#endif
