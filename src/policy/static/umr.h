/* umr.h -- uniform multi-round, for other policies and for checks.
 * SPDX-License-Identifier: MIT */
#ifndef CV_UMR_H
#define CV_UMR_H
#include <cleave/platform.h>
#include <cleave/policy.h>
#include <stdbool.h>
#include <stdint.h>
#include "model/load/plan.h"

extern const struct cleave_policy cleave_policy_umr;

struct cv_umr {
    uint32_t workers; /* used: the first of `order`; 0 when there is no plan       */
    uint32_t usable;  /* the first of `order` whose speed/bandwidth sums to 1 or less */
    uint32_t prompt;  /* beyond these of `order` workers take too long to start         */
    const uint32_t *order; /* by decreasing bandwidth, those that start late at the end */
    bool rounds_only; /* more workers would do with fewer rounds, but end later: those
                         beyond `workers` are left out for the number of rounds alone */
    double usage;     /* sum of speed/bandwidth over usable + 1, or over all       */
    uint32_t rounds;
    double real_rounds; /* where the expected time is least; INFINITY: never         */
    double theta;       /* growth of a round over the one before                     */
    double eta;         /* units of a round that would not grow; INFINITY: theta = 1 */
    double *round_s;    /* time each worker computes in each round, latency included,
                              the last one before levelling                             */
    double expected_s;  /* with the mean wait of the first round, as published       */
    double predicted_s; /* with the wait of each worker                              */
    double makespan_s;
    struct cv_plan plan;
};

/* With `rounds` 0 the number of rounds is chosen, at most round_cap. With a given number
 * of rounds out->workers is 0 if no number of workers can have so many. */
enum cleave_status cv_umr_plan(const struct cleave_worker *workers, uint32_t nworkers,
                               double load, uint32_t round_cap, uint32_t rounds,
                               struct cv_arena *arena, struct cv_umr *out,
                               struct cleave_error *err);

/* The same with the number of rounds chosen, but without latencies, where more rounds are
 * always better, only as many as make a difference of 1e-9. */
enum cleave_status cv_umr_plan_enough(const struct cleave_worker *workers,
                                      uint32_t nworkers, double load, uint32_t round_cap,
                                      struct cv_arena *arena, struct cv_umr *out,
                                      struct cleave_error *err);

/* Sums over the first workers of the order. */
struct cv_umr_sums {
    double sigma, a, rho, kappa;
    double wait_offset,
        wait_slope;                /* sum S_i off_i = wait_offset + wait_slope t_0      */
    double latency_s;              /* largest alpha                                     */
    double level_rate, level_lost; /* one round: units = level_rate T - level_lost      */
    double level_least_s;          /* one round: least T with no chunk negative         */
};

/* In the one-round line: D = slope T - offset, see one_round.c. Begins at { 1, 0 }. */
struct cv_umr_line {
    double slope, offset;
};

/* The sums with one more worker. */
struct cv_umr_sums cv_umr_add(const struct cv_umr_sums *before,
                              const struct cleave_worker *worker,
                              struct cv_umr_line *line);

/* Where the expected time is least among real numbers; INFINITY: it always falls. */
double cv_umr_real_rounds(const struct cv_umr_sums *sums, double load);

/* The rounds of one choice of n and M. */
struct cv_umr_shape {
    double first_s, second_last_s,
        last_s; /* t_0, t_(M-2), t_(M-1)                      */
    double expected_s;
};

/* All workers in the given order, even if they use more than the port; what would be
 * negative is not sent, and the rest grows to the load. `rounds` 0: as many as the formula
 * says, at most round_cap. With nothing left to send out->workers is 0. */
enum cleave_status cv_umr_unselected(const struct cleave_worker *workers,
                                     const uint32_t *order, uint32_t nworkers,
                                     double load, uint32_t round_cap, uint32_t rounds,
                                     struct cv_arena *arena, struct cv_umr *out,
                                     struct cleave_error *err);

#endif
