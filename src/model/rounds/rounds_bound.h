/* rounds_bound.h -- a lower bound for schedules with results, in any number of rounds.
 * SPDX-License-Identifier: MIT */
#ifndef CV_ROUNDS_BOUND_H
#define CV_ROUNDS_BOUND_H
#include "model/rounds/rounds.h"

/* Most kinds of workers for which it is computed. */
enum { CV_ROUNDS_BOUND_MOST = 100 };

/* A lower bound on the makespan for any number of chunks, usually one percent below the best
 * plan known. 0: too many kinds of workers; negative: memory is short. About 30 ms for 10
 * workers. */
double cv_rounds_bound(const struct cv_rounds *rounds, struct cv_arena *scratch);

/* An upper bound on the units by a lifespan; INFINITY: there is no bound; negative: memory is
 * short. */
double cv_rounds_bound_work(const struct cv_returns *returns, double lifespan_s,
                            struct cv_arena *scratch);

#endif
