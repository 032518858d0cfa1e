/* umr_rounds.h -- uniform rounds: sizes, expected time, how many are best.
 * SPDX-License-Identifier: MIT */
#ifndef CV_UMR_ROUNDS_H
#define CV_UMR_ROUNDS_H
#include <stdint.h>
#include <cleave/platform.h>

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

/* Growth of a round over the one before; exactly 1 when it is so near that the formulas
 * for 1 are the better ones. */
double cv_umr_theta(const struct cv_umr_sums *sums);
/* Units of a round that would stay as it is; INFINITY when theta is 1. */
double cv_umr_eta(const struct cv_umr_sums *sums);
/* Where the expected time is least among real numbers; INFINITY: it always falls. */
double cv_umr_real_rounds(const struct cv_umr_sums *sums, double load);
/* The whole number below, or `most` if that is less. Needs no root: about 6
 * evaluations. */
uint32_t cv_umr_whole_rounds(const struct cv_umr_sums *sums, double load, uint32_t max);

/* The rounds of one choice of n and M. */
struct cv_umr_shape {
    double first_s, second_last_s,
        last_s; /* t_0, t_(M-2), t_(M-1)                      */
    double expected_s;
};

struct cv_umr_shape cv_umr_shape_of(const struct cv_umr_sums *sums, double load,
                                    uint32_t rounds);

/* When all end, the last round levelled. *out_last_s is the time, latency included, that
 * a worker that started at time 0 would have for its last chunk. For two or more
 * rounds. */
double cv_umr_end(const struct cv_umr_sums *sums, double load, uint32_t rounds,
                  const struct cv_umr_shape *shape, double *out_last_s);

#endif
