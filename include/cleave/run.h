/* run.h -- plan and simulate a load, divisible or made of items.
 * SPDX-License-Identifier: MIT
 *
 * A plan is one run of a policy on the native engine with the declared costs exact; a
 * simulation is many runs with seeded noise. Both drive the same policy code. */
#ifndef CLEAVE_RUN_H
#define CLEAVE_RUN_H
#include <stdbool.h>
#include <stdint.h>
#include <cleave/platform.h>

CLEAVE_BEGIN_C

struct cleave_policy; /* policy.h */
struct cleave_simgrid;
struct cleave_trace;

/* A policy parameter as text: key "rounds", value "4". */
struct cleave_setting {
    const char *key, *value;
};

struct cleave_job {
    const struct cleave_platform *platform; /* borrowed                              */
    double load;         /* units, positive; 0 when a lifespan is given             */
    double lifespan_s;   /* above 0: do as much work as ends by this time */
    double result_ratio; /* units of result that come back per unit of load         */
    /* seconds a worker needs to unpack a unit of load or to pack a unit of result, in
     * addition to computing */
    double packaging_s;
    /* port: one: no send overtakes waiting results; messages keep the order asked for,
     * as in the papers */
    bool in_turn;
    /* port: one: results of a worker are fetched right before its next chunk is sent,
     * the last results after all sends; not with in_turn */
    bool before_round;
    const char *policy; /* NULL: "auto"                                            */
    /* borrowed: used instead of `policy`; NULL: none */
    const struct cleave_policy *own_policy;
    const struct cleave_setting *settings; /* borrowed; nsettings of them           */
    size_t nsettings;
    double error; /* expected error of the declared costs  */
    uint64_t seed;
    struct cleave_trace *trace; /* optional: what happens (in run 0) is appended     */
    const struct cleave_simgrid *simgrid; /* borrowed; not NULL: SimGrid simulates   */
    /* How commands read their input; set it to allow open chunks, whose size is decided
     * during the run: "stream" (works and writes as it reads), "count" (works as it
     * reads, writes at its end), "slurp" (reads all, then works), "late" (reads all, then
     * starts up and works) or "mix" (0.3 of the work as it reads, the rest after). NULL:
     * chunks cannot be opened. */
    const char *reads;
    /* an idle worker may also run the chunk of another worker: see cleave_order_copy */
    bool copies;
    /* With `reads`, above 0: the load is a stream, and this many units may wait or be
     * processed at a time; policies do not know its end. */
    double hold;
    /* Not NULL: the load has `nitems` indivisible items; sizes of 0 or more, in units,
     * borrowed. `load` is 0, or their sum; the default policy is "items". No lifespan, no
     * `reads`. */
    const double *sizes;
    uint64_t nitems;
    /* Not NULL: `nloads` loads, borrowed, that are done for a goal. `load` is 0; the default
     * policy is "plan". No lifespan, results, packing, errors, `reads` or SimGrid. */
    const struct cleave_load *loads;
    size_t nloads;
    enum cleave_goal goal;
};

/* A bound for all schedules: a lower bound on the makespan in seconds or, with a
 * lifespan, an upper bound on the units done; for several loads on the value of their goal.
 * Policies of one round are compared with the bound of one round. */
struct cleave_bound {
    const char *name; /* static */
    double value_s;
};

struct cleave_chunk {
    uint32_t worker, round;
    double units;
    double send_start_s, send_end_s, compute_start_s, compute_end_s;
    double return_start_s, return_end_s; /* NAN when no result is sent back */
    uint64_t item; /* items: number of the item, from 0; several loads: of the load */
};

struct cleave_left_out {
    uint32_t worker;
    const char *reason; /* owned by the schedule */
};

/* A number that the method of a policy gives in addition to the plan. */
struct cleave_fact {
    const char *name; /* static: "expected" */
    double value;
};

/* Equal workers of a tree of leaders. */
struct cleave_led {
    const char *name;   /* as in the platform file                         */
    const char *leader; /* name of the leading workers; NULL: the master */
    uint32_t count;     /* for each leader                                 */
    double units;       /* total of all these workers */
};

/* Part of a plan for several loads: until_s, units by worker and load. */
struct cleave_phase {
    double until_s;
    const double *quota; /* [worker * nloads + load] */
};

struct cleave_schedule {
    const char *policy; /* as requested, including "auto" */
    const char *picked; /* the policy that decided; NULL if it is `policy` */
    const char *why;    /* why it was picked, or NULL                      */
    /* static: the schedules among which this one is proved best, or NULL */
    const char *proved;
    /* proved best among all schedules, or equal to the bound; for a policy of one
     * round, among all schedules of one round */
    bool optimal;
    double load;       /* units done, with a lifespan as well                       */
    double lifespan_s; /* 0: none was given                                         */
    double result_ratio;
    double makespan_s, utilisation;
    uint32_t rounds;           /* most chunks any one worker gets                 */
    struct cleave_bound bound; /* the tightest                    */
    const struct cleave_bound *bounds; /* all of them                     */
    size_t nbounds;
    const struct cleave_chunk *chunks; /* in the order sent               */
    size_t nchunks;
    const struct cleave_left_out *left_out;
    size_t nleft_out;
    const struct cleave_fact *facts;
    size_t nfacts;
    double cost; /* total of all workers, by the prices per second of the platform */
    const double *paid_s; /* per worker: paid seconds; NULL: no worker has a price */
    const struct cleave_led
        *led; /* all workers of the platform file if some lead others */
    size_t nled;
    /* Several loads; NULL and 0 otherwise: */
    double value;                   /* of the goal; otherwise the makespan */
    const double *ends_s, *alone_s; /* per load: its end; its bound alone */
    const struct cleave_phase
        *phases; /* of the program at the start, as the policy knew it */
    size_t nphases;
};

enum cleave_status cleave_plan_load(const struct cleave_job *job,
                                    struct cleave_schedule **out,
                                    struct cleave_error *err);
void cleave_schedule_free(struct cleave_schedule *schedule);

/* The limit for a rental: one of the members is above 0. */
struct cleave_rental_terms {
    double deadline_s; /* the cheapest plan that ends by then     */
    double budget;     /* the fastest plan within this cost */
};

/* The workers to rent, and the plan for them. */
struct cleave_rental {
    struct cleave_platform
        *platform;           /* those workers, in the order of the job's platform */
    const uint32_t *workers; /* worker numbers in the job's platform */
    const char *policy;
    const struct cleave_setting *settings;
    size_t nsettings;
    double makespan_s, cost;
    /* bound on the time with all workers; named "budget" if the budget decides it */
    struct cleave_bound bound;
    /* lower bound on the cost of all schedules within the deadline, if one is given */
    double least_cost;
};

/* Look for workers and a plan for the terms. The job has a load, and no trace is written;
 * to get one, plan the load on the rental's platform with the rental's policy and
 * settings. A policy of the job is kept. If no plan meets the terms, the call fails with
 * CLEAVE_EINPUT and the best plan found in err. */
enum cleave_status cleave_rent(const struct cleave_job *job,
                               const struct cleave_rental_terms *terms,
                               struct cleave_rental **out, struct cleave_error *err);
void cleave_rental_free(struct cleave_rental *rental);

enum cleave_noise_kind {
    CLEAVE_NOISE_NONE,
    CLEAVE_NOISE_GAMMA,  /* factor of mean 1 and coefficient of variation `spread`  */
    CLEAVE_NOISE_NORMAL, /* max(0.1, normal of mean 1, standard deviation `spread`) */
};

/* Each transfer and each computation takes its modelled time multiplied by a separate
 * factor, a function of (seed, run, worker, operation number on that worker). */
struct cleave_noise {
    enum cleave_noise_kind kind;
    double spread;
};

/* "none", "gamma:0.3", "normal:0.2". */
enum cleave_status cleave_noise_parse(const char *text, struct cleave_noise *out,
                                      struct cleave_error *err);

/* Stalls: a worker stops computing from time to time, while its links continue. The times
 * from the end of one stall to the next and the lengths of stalls are exponential with
 * these means. every_s 0: it never does. */
struct cleave_stalls {
    double every_s, length_s;
};

/* "60s,2s". */
enum cleave_status cleave_stalls_parse(const char *text, struct cleave_stalls *out,
                                       struct cleave_error *err);

enum cleave_cost_kind {
    CLEAVE_COST_EVEN,
    CLEAVE_COST_GAMMA,     /* `spread` is the coefficient of variation             */
    CLEAVE_COST_LOGNORMAL, /* the same                                             */
    CLEAVE_COST_PARETO,    /* `spread` is the exponent, above 1                    */
};

/* Computing a record takes its declared time multiplied by a separate factor of mean 1, a
 * function of (seed, run, place in the load): a chunk takes the sum over its records. An
 * item is one record. */
struct cleave_cost_law {
    enum cleave_cost_kind kind;
    double spread;
    double record; /* units of a record; not for items */
};

/* "gamma:0.5", "lognormal:2,100" with records of 100 units, "pareto:1.5". */
enum cleave_status cleave_cost_law_parse(const char *text, struct cleave_cost_law *out,
                                         struct cleave_error *err);

/* A worker stops computing for ever, while its links continue. */
struct cleave_hang {
    uint32_t worker;
    double time_s;
};

/* At most `amount` starts on workers [first, first + count) in any window of `period_s`, a half
 * open interval of time. An item or record counts 1 when a command gets it, or with `by_weight`
 * its weight (items.sizes, input.weight). A chunk counts all its records. If a command asks to be
 * run later (failures.later), they are taken off the amount, and a tenth of the amount comes back
 * in each period. Workers on hosts get one chunk at a time, which counts when it is sent. */
struct cleave_rate {
    uint32_t first, count;
    double amount, period_s;
    bool by_weight;
};

/* Undeclared effects of real runs. Zero: none. */
struct cleave_conditions {
    double answers_s; /* delay of all reports of a worker */
    struct cleave_stalls stalls;
    struct cleave_cost_law costs;
    const struct cleave_hang *hangs; /* borrowed */
    size_t nhangs;
    double timeout_s; /* a hanging worker counts as lost after this time; 0: 10 s */
    const struct cleave_rate *rates; /* borrowed; for items, not with simgrid */
    size_t nrates;
    uint64_t nitems; /* set by the library */
};

struct cleave_trial {
    uint64_t runs;
    unsigned threads; /* 0: one per usable core */
    struct cleave_noise noise;
    struct cleave_conditions conditions; /* for loads and items */
    /* Called from time to time from the calling thread with the number of runs done; may
     * be NULL. */
    void (*progress)(void *context, uint64_t done);
    void *context;
};

struct cleave_stats {
    uint64_t runs;
    /* of the makespan; for several loads of the value of the goal */
    double mean_s, stddev_s, stderr_s, q10_s, median_s, q90_s, least_s, most_s;
    double utilisation; /* mean over runs and workers of busy time / makespan */
    double chunks;      /* mean number of chunks                              */
    double load;        /* units, as planned when a lifespan was given        */
    struct cleave_bound bound;
    const char *picked; /* as in cleave_schedule; static                      */
};

/* The result depends on job and runs only, never on the number of threads. */
enum cleave_status cleave_simulate_load(const struct cleave_job *job,
                                        const struct cleave_trial *trial,
                                        struct cleave_stats *out,
                                        struct cleave_error *err);

CLEAVE_END_C
#endif
