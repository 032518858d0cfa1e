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
    double lifespan_s;   /* above 0: do as much as ends by then                     */
    double result_ratio; /* units of result that come back per unit of load         */
    double packaging_s;  /* what a worker takes to unpack a unit of load or to pack
                            a unit of result, on top of computing                   */
    bool in_turn;        /* port: one: no send overtakes results that wait, messages go
                            in the order asked for, as in the papers                */
    bool before_round;   /* port: one: results of a worker are fetched right before its
                            next chunk is sent, the last ones when all are sent; not
                            with in_turn                                            */
    const char *policy;  /* NULL: "auto"                                            */
    const struct cleave_policy *own_policy; /* borrowed: instead of a name, one that is
                                               not in the library; NULL: none          */
    const struct cleave_setting *settings;  /* borrowed; nsettings of them           */
    size_t nsettings;
    double error; /* expected error of the declared costs  */
    uint64_t seed;
    struct cleave_trace *trace; /* optional: what happens (in run 0) is appended     */
    const struct cleave_simgrid *simgrid; /* borrowed; not NULL: SimGrid simulates   */
    /* How the commands that workers run take their input, so that chunks may stay open
     * until it is known how much they should have: "stream" (works and writes as it
     * reads), "count" (works as it reads, writes at its end), "slurp" (reads all, then
     * works), "late" (reads all, then starts up and works) or "mix" (0.3 of the work as
     * it reads, the rest after). NULL: chunks cannot be opened. */
    const char *reads;
    bool copies; /* a worker that has nothing to do may run the chunk of another as well:
                    see cleave_order_copy                                             */
    double hold; /* with `reads`: above 0: the load is a stream of which so many units may
                    wait or be at work at a time; policies are not told where it ends */
    /* Not NULL: the load is made of `nitems` items, each of which is done by one worker as
     * a whole; sizes of 0 or more, in units, borrowed. `load` is 0, or their sum; the
     * default policy is "items". No lifespan, no `reads`. */
    const double *sizes;
    uint64_t nitems;
};

/* What no schedule can beat: a lower bound on the makespan in seconds or, with a lifespan,
 * an upper bound on the units done. Policies of one round are measured by what one round
 * can do. */
struct cleave_bound {
    const char *name; /* static */
    double value_s;
};

struct cleave_chunk {
    uint32_t worker, round;
    double units;
    double send_start_s, send_end_s, compute_start_s, compute_end_s;
    double return_start_s, return_end_s; /* NAN when no result is sent back */
    uint64_t item; /* of a load of items: which one it is, numbered from 0 */
};

struct cleave_left_out {
    uint32_t worker;
    const char *reason; /* owned by the schedule */
};

/* A number that a policy's method gives beside its plan. */
struct cleave_fact {
    const char *name; /* static: "expected" */
    double value;
};

/* Equal workers of a tree of leaders. */
struct cleave_led {
    const char *name;   /* as in the platform file                         */
    const char *leader; /* of the workers that lead these; NULL: the master */
    uint32_t count;     /* for each leader                                 */
    double units;       /* that all of them compute                        */
};

struct cleave_schedule {
    const char *policy; /* as asked for, "auto" included                   */
    const char *picked; /* the policy that decided; NULL if it is `policy` */
    const char *why;    /* why it was picked, or NULL                      */
    const char *proved; /* NULL, or among which schedules it is proved best: static  */
    bool optimal;       /* proved best among all, or equal to the bound; for policies
                           of one round among all of one round                       */
    double load;        /* units done, with a lifespan as well                       */
    double lifespan_s;  /* 0: none was given                                         */
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
    double cost; /* of all workers, by the costs per second that the platform declares */
    const double
        *paid_s; /* per worker: for so long it is paid; NULL: nobody costs anything */
    const struct cleave_led
        *led; /* all workers of the platform file if some lead others */
    size_t nled;
};

enum cleave_status cleave_plan_load(const struct cleave_job *job,
                                    struct cleave_schedule **out,
                                    struct cleave_error *err);
void cleave_schedule_free(struct cleave_schedule *schedule);

/* What matters beside the end: one of these is above 0. */
struct cleave_rental_terms {
    double deadline_s; /* the cheapest plan that ends by then     */
    double budget;     /* the fastest plan that costs so much at most */
};

/* Which workers to pay for, and what to plan for them. */
struct cleave_rental {
    struct cleave_platform
        *platform;           /* those workers, in the order of the job's platform */
    const uint32_t *workers; /* their numbers there                               */
    const char *policy;
    const struct cleave_setting *settings;
    size_t nsettings;
    double makespan_s, cost;
    struct cleave_bound
        bound; /* on the time, for all workers: "budget" if that is why   */
    double
        least_cost; /* no schedule that keeps to the deadline, if there is one, is cheaper */
};

/* Look for workers and a plan for the terms. The job has a load, and no trace is written: plan
 * its load on the rental's platform by the rental's policy and settings for that. A job with
 * a policy keeps it. What cannot be is CLEAVE_EINPUT with the best that was found. */
enum cleave_status cleave_rent(const struct cleave_job *job,
                               const struct cleave_rental_terms *terms,
                               struct cleave_rental **out, struct cleave_error *err);
void cleave_rental_free(struct cleave_rental *rental);

enum cleave_noise_kind {
    CLEAVE_NOISE_NONE,
    CLEAVE_NOISE_GAMMA,  /* factor of mean 1 and coefficient of variation `spread`  */
    CLEAVE_NOISE_NORMAL, /* max(0.1, normal of mean 1, standard deviation `spread`) */
};

/* Each transfer and each computation takes its modelled time multiplied by a factor of
 * its own, a function of (seed, run, worker, operation number on that worker). */
struct cleave_noise {
    enum cleave_noise_kind kind;
    double spread;
};

/* "none", "gamma:0.3", "normal:0.2". */
enum cleave_status cleave_noise_parse(const char *text, struct cleave_noise *out,
                                      struct cleave_error *err);

/* A worker stands still now and then, although not its links. The times from the end of
 * one stall to the next and the lengths of stalls are exponential with these means.
 * every_s 0: it never does. */
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

/* Computing a record takes its declared time multiplied by a factor of mean 1 of its own,
 * a function of (seed, run, place in the load): a chunk takes the sum over its records.
 * An item is one record. */
struct cleave_cost_law {
    enum cleave_cost_kind kind;
    double spread;
    double record; /* units of a record; not of items */
};

/* "gamma:0.5", "lognormal:2,100" with records of 100 units, "pareto:1.5". */
enum cleave_status cleave_cost_law_parse(const char *text, struct cleave_cost_law *out,
                                         struct cleave_error *err);

/* A worker stops computing for ever, although its links work on. */
struct cleave_hang {
    uint32_t worker;
    double time_s;
};

/* What happens in real runs and is not declared. Zero: nothing of it. */
struct cleave_conditions {
    double answers_s; /* what a worker reports arrives so much later */
    struct cleave_stalls stalls;
    struct cleave_cost_law costs;
    const struct cleave_hang *hangs; /* borrowed */
    size_t nhangs;
    double timeout_s; /* a worker is lost so long after it hangs; 0: 10 s */
};

struct cleave_trial {
    uint64_t runs;
    unsigned threads; /* 0: one per usable core */
    struct cleave_noise noise;
    struct cleave_conditions conditions; /* of loads and items */
    /* Called now and then from the calling thread with the runs done; may be NULL. */
    void (*progress)(void *context, uint64_t done);
    void *context;
};

struct cleave_stats {
    uint64_t runs;
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
