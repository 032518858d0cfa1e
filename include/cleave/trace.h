/* trace.h -- record of a run: every event and every order, in sequence.
 * SPDX-License-Identifier: MIT
 *
 * Events carry start and end, so they are the spans of a Gantt chart; orders follow the
 * event that caused them, so a run can be replayed. On disk a trace is JSON lines: a
 * header, then one object per event or order. The header also has the facts, if they were
 * set. */
#ifndef CLEAVE_TRACE_H
#define CLEAVE_TRACE_H
#include <stdio.h>
#include <cleave/policy.h>
#include <cleave/run.h>

CLEAVE_BEGIN_C

struct cleave_entry {
    bool is_order;
    /* Events of real runs: the units that are left, which only the engine knows since
     * records are indivisible. knows_left is false for a stream. */
    bool knows_left;
    double units_left;
    union {
        struct cleave_event event;
        struct cleave_order order;
    } as;
};

struct cleave_trace;

enum cleave_status cleave_trace_new(struct cleave_trace **out, struct cleave_error *err);
void cleave_trace_free(struct cleave_trace *trace);
/* Remove all entries, keep the memory. */
void cleave_trace_clear(struct cleave_trace *trace);
size_t cleave_trace_count(const struct cleave_trace *trace);
/* Entry `index`: borrowed, valid until the trace changes. */
const struct cleave_entry *cleave_trace_at(const struct cleave_trace *trace,
                                           size_t index);
enum cleave_status cleave_trace_add(struct cleave_trace *trace,
                                    const struct cleave_entry *entry,
                                    struct cleave_error *err);

/* The input of a policy before the first event. With it and the events, the policy can be
 * replayed. */
struct cleave_policy_input {
    /* parameters of the policy, nsettings of them */
    const struct cleave_setting *settings;
    size_t nsettings;
    struct cleave_view view; /* as passed to `plan`; without workers for a reduction */
    bool changing;           /* forecasts used costs that change with time */
    const char *reads; /* how commands read in forecasts, as in cleave_job; or NULL */
    double input;      /* with `reads`: all units, also if the load is a stream */
};

/* A chunk or an item of a real run whose command failed for good. */
struct cleave_trace_failure {
    uint32_t worker;
    uint64_t chunk; /* number of the chunk in the events */
    uint64_t attempts;
    const char *what;   /* bytes of a file, or the command of an item */
    const char *how;    /* as "exited with status 3" */
    const char *errors; /* last lines on standard error; NULL: unknown */
};

/* Facts about the whole run, in addition to its events. */
struct cleave_trace_facts {
    const char *command; /* shell command line that repeats the run; NULL: unknown */
    const char *engine;  /* name of the engine */
    const char *noise;   /* law of the noise: "normal:0.2" */
    const char *picked,
        *why;            /* as in cleave_schedule                                    */
    const char *version; /* version of the library that wrote the trace; set by reading */
    const char *policy;  /* name of the policy; set by reading */
    const struct cleave_policy_input *told; /* NULL: unknown */
    double lifespan_s; /* above 0: the run did as much work as ended by this time */
    /* real runs: units whose commands failed for good, and units that were not started */
    double failed, left;
    struct cleave_bound bound; /* name NULL: unknown; in units with a lifespan */
    const struct cleave_left_out *left_out;
    size_t nleft_out;
    const struct cleave_trace_failure *failures; /* of a real run: the first failures */
    size_t nfailures;
    /* seconds before the commands of each worker of a real run read their input; NAN: unknown */
    const double *starts_s;
    size_t nstarts;
};

/* Set the facts that `facts` has; they are copied and replace older values. Clearing a
 * trace keeps the facts. */
enum cleave_status cleave_trace_describe(struct cleave_trace *trace,
                                         const struct cleave_trace_facts *facts,
                                         struct cleave_error *err);
/* All facts: borrowed, valid until the trace changes. */
const struct cleave_trace_facts *cleave_trace_facts(const struct cleave_trace *trace);

/* Write to / read from JSON lines. Workers are named by `platform`; `policy` and `load`
 * go into the header. Reading checks every name and number. */
enum cleave_status cleave_trace_save(const struct cleave_trace *trace,
                                     const struct cleave_platform *platform,
                                     const char *policy, double load, FILE *file,
                                     struct cleave_error *err);
enum cleave_status cleave_trace_load(const char *path,
                                     const struct cleave_platform *platform,
                                     struct cleave_trace **out, struct cleave_error *err);

/* Write or read the trace of a reduction, whose nodes are numbered from 0. Reading sets
 * *out_nodes to their number. */
enum cleave_status cleave_trace_save_reduce(const struct cleave_trace *trace,
                                            uint32_t nodes, const char *policy,
                                            FILE *file, struct cleave_error *err);
enum cleave_status cleave_trace_load_reduce(const char *path, uint32_t *out_nodes,
                                            struct cleave_trace **out,
                                            struct cleave_error *err);

/* Read a trace of a load or a reduction without a platform: the header names the workers.
 * Path "-" is standard input. */
enum cleave_status cleave_trace_load_any(const char *path, struct cleave_trace **out,
                                         struct cleave_error *err);

/* Result of replaying a policy. */
struct cleave_replayed {
    bool same;       /* all orders equal the recorded ones */
    uint64_t orders; /* number of equal orders */
    /* If `same` is false, the first difference: a recorded order, an order that the
     * policy gives now, or both. */
    size_t entry;  /* index in the trace at which the order belongs */
    double time_s; /* time of the event that caused the order */
    bool has_recorded, has_now;
    struct cleave_order recorded, now;
};

/* Replay the policy of a trace with its recorded input and events, and compare its
 * orders. If `own_policy` is not NULL, it replaces the policy that the trace names. A run
 * that was stopped is compared up to its end. If the trace lacks something, the call
 * fails with CLEAVE_EINPUT and err names it; a difference is not an error. */
enum cleave_status cleave_replay(const struct cleave_trace *trace,
                                 const struct cleave_policy *own_policy,
                                 struct cleave_replayed *out, struct cleave_error *err);

CLEAVE_END_C
#endif
