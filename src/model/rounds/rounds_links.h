/* rounds_links.h -- several rounds with results where every worker has a port of its own.
 * SPDX-License-Identifier: MIT
 *
 * Links that share no port are independent (rounds_link.h): the makespan of a load is the
 * least time by which what all can do sums up to it. */
#ifndef CV_ROUNDS_LINKS_H
#define CV_ROUNDS_LINKS_H
#include "model/rounds/rounds.h"

/* The best plan found for the load, or, with a lifespan above 0, of the most work in it;
 * *out_load is its load. Chunks are listed worker by worker; `single` does not matter. */
enum cleave_status cv_rounds_links(const struct cv_rounds *rounds, double lifespan_s,
                                   struct cv_arena *arena, struct cv_rounds_plan *out,
                                   double *out_load, struct cleave_error *err);

/* A makespan that no schedule beats, or with a lifespan the units that none exceeds: what the
 * plan takes, to nine digits, where workers get up to 16 chunks. 0 when there are too many
 * kinds of workers, negative when memory is short. */
double cv_rounds_links_bound(const struct cv_rounds *rounds, double lifespan_s,
                             struct cv_arena *scratch);

#endif
