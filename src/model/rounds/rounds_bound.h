/* rounds_bound.h -- what no schedule with results can beat, in any number of rounds.
 * SPDX-License-Identifier: MIT */
#ifndef CV_ROUNDS_BOUND_H
#define CV_ROUNDS_BOUND_H
#include "model/rounds/rounds.h"

/* Kinds of workers up to which it is computed. */
enum { CV_ROUNDS_BOUND_MOST = 100 };

/* A makespan that no schedule beats, however many chunks each worker gets: usually one
 * percent below the best plan known. 0 when there are too many kinds of workers, negative
 * when memory is short. About 30 ms for 10 workers. */
double cv_rounds_bound(const struct cv_rounds *rounds, struct cv_arena *scratch);

/* The most units that any schedule does by a lifespan, in the same way; INFINITY when there
 * is no bound, negative when memory is short. */
double cv_rounds_bound_work(const struct cv_returns *returns, double lifespan_s,
                            struct cv_arena *scratch);

#endif
