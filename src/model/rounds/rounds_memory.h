/* rounds_memory.h -- chunks that are too large for the memory of their worker.
 * SPDX-License-Identifier: MIT
 *
 * They are sent in equal parts, one behind the other, and so are their results. */
#ifndef CV_ROUNDS_MEMORY_H
#define CV_ROUNDS_MEMORY_H
#include <math.h>

#include "base/fail.h"
#include "model/rounds/rounds.h"

/* Parts of a chunk: 1 where all of it fits. */
static inline double cv_parts_of(double units, double memory)
{
    return units <= memory ? 1 : ceil(units / memory * (1 - 1e-12));
}

/* Set the makespan of a plan, whose chunks are in the order sent, by what it comes to. False when
 * memory is short. */
bool cv_rounds_measure(const struct cv_rounds *rounds, struct cv_rounds_plan *plan,
                       struct cv_arena *arena);

/* Cut the chunks of a plan; its makespan is that of the parts. */
enum cleave_status cv_rounds_cut(const struct cv_rounds *rounds, struct cv_arena *arena,
                                 struct cv_rounds_plan *plan, struct cleave_error *err);

/* The same workers if every unit had its part of the latencies, as when all chunks are as
 * large as memory allows: no chunk that fits is cheaper. NULL when memory is short. */
struct cv_trip *cv_trips_in_parts(const struct cv_rounds *rounds, struct cv_arena *arena);

#endif
