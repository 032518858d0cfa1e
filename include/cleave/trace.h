/* trace.h -- what happened in a run: every event and every order, in order.
 * SPDX-License-Identifier: MIT
 *
 * Events carry start and end, so they are the spans of a Gantt chart; orders stand
 * after the event that caused them, so a run can be replayed. On disk a trace is JSON
 * lines: a header, then one object per event or order. The header also has the facts, if
 * there are any. */
#ifndef CLEAVE_TRACE_H
#define CLEAVE_TRACE_H
#include <stdio.h>
#include <cleave/policy.h>
#include <cleave/run.h>

CLEAVE_BEGIN_C

struct cleave_entry {
    bool is_order;
    /* Of events in a real run, where only the engine knows what is left, since records
     * are not divisible: whether that is known, and how many units. Not known: a stream. */
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
/* Forget the entries, keep the memory. */
void cleave_trace_clear(struct cleave_trace *trace);
size_t cleave_trace_count(const struct cleave_trace *trace);
/* Entry `index`: borrowed, valid until the trace changes. */
const struct cleave_entry *cleave_trace_at(const struct cleave_trace *trace,
                                           size_t index);
enum cleave_status cleave_trace_add(struct cleave_trace *trace,
                                    const struct cleave_entry *entry,
                                    struct cleave_error *err);

/* What a policy was told before the first event: with it and the events it can be asked
 * again. */
struct cleave_policy_input {
    const struct cleave_setting *settings; /* its parameters, nsettings of them      */
    size_t nsettings;
    struct cleave_view view; /* as `plan` got it; without workers for a reduction    */
    bool changing;           /* costs of workers change with time, as forecasts knew */
    const char
        *reads;   /* how commands read, as in cleave_job, as forecasts knew; or NULL */
    double input; /* with `reads`: all units there are, also of a stream           */
};

/* What is known of a run as a whole, beside its events. */
struct cleave_trace_facts {
    const char *command; /* a line for the shell that does it again; NULL: not known */
    const char *engine;  /* what made it happen                                      */
    const char *noise;   /* what was drawn: "normal:0.2"                             */
    const char *picked,
        *why;            /* as in cleave_schedule                                    */
    const char *version; /* of the library that wrote the trace; set by reading      */
    const char *policy;  /* its name; set by reading                                 */
    const struct cleave_policy_input
        *told;           /* NULL: not known                               */
    double lifespan_s;   /* above 0: as much was done as ended by then              */
    double failed, left; /* of a run: units whose commands failed for good, and units
                            that were not begun when it ended                     */
    struct cleave_bound
        bound; /* name NULL: not known; in units with a lifespan         */
    const struct cleave_left_out *left_out;
    size_t nleft_out;
};

/* Add what `facts` has, in place of what was known of the same; it is copied. Clearing a
 * trace leaves the facts. */
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

/* The same for a reduction, whose nodes are numbers from 0. Reading tells how many. */
enum cleave_status cleave_trace_save_reduce(const struct cleave_trace *trace,
                                            uint32_t nodes, const char *policy,
                                            FILE *file, struct cleave_error *err);
enum cleave_status cleave_trace_load_reduce(const char *path, uint32_t *out_nodes,
                                            struct cleave_trace **out,
                                            struct cleave_error *err);

/* Either of them, without a platform: the header says who the workers are. Reads standard
 * input for "-". */
enum cleave_status cleave_trace_load_any(const char *path, struct cleave_trace **out,
                                         struct cleave_error *err);

/* What came of asking a policy again. */
struct cleave_replayed {
    bool same;       /* all its orders are those that were recorded                  */
    uint64_t orders; /* how many were compared and found the same                    */
    /* Unless all are the same, the first difference: an order that was recorded, one that
     * the policy gives now, or both. */
    size_t entry;  /* of the trace, where it should stand                            */
    double time_s; /* of the event that the order answers                            */
    bool has_recorded, has_now;
    struct cleave_order recorded, now;
};

/* Ask the policy of a trace again, with what it was told then and the events as they were
 * recorded, and compare its orders. `own_policy` is used in place of the one that the
 * trace names, unless it is NULL. A run that was stopped is compared as far as it came.
 * CLEAVE_EINPUT when the trace lacks something, and says what; a difference is no error. */
enum cleave_status cleave_replay(const struct cleave_trace *trace,
                                 const struct cleave_policy *own_policy,
                                 struct cleave_replayed *out, struct cleave_error *err);

CLEAVE_END_C
#endif
