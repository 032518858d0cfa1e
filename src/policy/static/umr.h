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
    uint32_t prompt;  /* workers of `order` after these start too late */
    const uint32_t
        *order; /* by decreasing bandwidth; workers that start late at the end */
    bool
        rounds_only; /* more workers could take part with fewer rounds, but would end later: workers after `workers` are excluded for the number of rounds alone */
    double usage;    /* sum of speed/bandwidth over usable + 1, or over all       */
    uint32_t rounds;
    double real_rounds; /* with the least expected time; INFINITY: none */
    double theta;       /* growth of a round over the one before                     */
    double eta;         /* units of a round that would not grow; INFINITY: theta = 1 */
    double *round_s;    /* time each worker computes in each round, latency included,
                              the last one before levelling                             */
    double expected_s;  /* with the mean wait of the first round, as published       */
    double predicted_s; /* with the wait of each worker                              */
    double makespan_s;
    struct cv_plan plan;
};

/* `rounds` 0: choose the number of rounds, at most round_cap. Else out->workers is 0 if
 * no number of workers can have this many rounds. */
enum cleave_status cv_umr_plan(const struct cleave_worker *workers, uint32_t nworkers,
                               double load, uint32_t round_cap, uint32_t rounds,
                               struct cv_arena *arena, struct cv_umr *out,
                               struct cleave_error *err);

/* Choose the number of rounds. Without latencies, where more rounds are always better,
 * only as many as make a difference of 1e-9. */
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

struct cv_umr_sums cv_umr_add(const struct cv_umr_sums *before,
                              const struct cleave_worker *worker,
                              struct cv_umr_line *line);

/* The real number of rounds with the least expected time; INFINITY: it always falls. */
double cv_umr_real_rounds(const struct cv_umr_sums *sums, double load);

/* All workers in the given order, even if they use more than the port; negative chunks
 * are not sent, the others grow to the load. `rounds` 0: as many as the formula gives, at
 * most round_cap. out->workers is 0 if no chunk is left. */
enum cleave_status cv_umr_unselected(const struct cleave_worker *workers,
                                     const uint32_t *order, uint32_t nworkers,
                                     double load, uint32_t round_cap, uint32_t rounds,
                                     struct cv_arena *arena, struct cv_umr *out,
                                     struct cleave_error *err);

#endif
