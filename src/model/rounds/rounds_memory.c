/* rounds_memory.c -- chunks that are too large for the memory of their worker.
 * SPDX-License-Identifier: MIT */
#include "model/rounds/rounds_memory.h"

/* Plans of more chunks take too much memory themselves. */
static const double PARTS_MOST = 1e6;

/* Where the parts of each chunk begin; false: there are too many. */
static bool count_parts(const struct cv_rounds *rounds, const struct cv_rounds_plan *plan,
                        uint32_t *first)
{
    double sum = 0;

    for (uint32_t k = 0; k < plan->nchunks; k++) {
        first[k] = (uint32_t)sum;
        sum += cv_parts_of(plan->units[k], rounds->memory[plan->worker[k]]);
        if (!(sum <= PARTS_MOST))
            return false;
    }
    first[plan->nchunks] = (uint32_t)sum;
    return true;
}

static bool grow_array(struct cv_rounds_plan *plan, uint32_t chunks,
                       struct cv_arena *arena)
{
    plan->nchunks = chunks;
    plan->worker = cv_array(arena, chunks, sizeof *plan->worker);
    plan->units = cv_array(arena, chunks, sizeof *plan->units);
    plan->back = cv_array(arena, chunks, sizeof *plan->back);
    return plan->worker != NULL && plan->units != NULL && plan->back != NULL;
}

bool cv_rounds_measure(const struct cv_rounds *rounds, struct cv_rounds_plan *plan,
                       struct cv_arena *arena)
{
    uint32_t *order = cv_array(arena, plan->nchunks, sizeof *order);
    double *room =
        cv_array(arena, (size_t)plan->nchunks + rounds->returns.n, sizeof *room);

    if (order == NULL || room == NULL)
        return false;
    for (uint32_t k = 0; k < plan->nchunks; k++)
        order[k] = k;
    plan->makespan_s =
        cv_rounds_replay(&rounds->returns, plan->worker, plan->units, order, plan->back,
                         plan->nchunks, room, room + plan->nchunks);
    return true;
}

enum cleave_status cv_rounds_cut(const struct cv_rounds *rounds, struct cv_arena *arena,
                                 struct cv_rounds_plan *plan, struct cleave_error *err)
{
    uint32_t *first = cv_array(arena, (size_t)plan->nchunks + 1, sizeof *first);
    struct cv_rounds_plan cut;
    uint32_t at = 0;

    if (first == NULL)
        return cv_fail_memory(err, "the parts of chunks");
    if (!count_parts(rounds, plan, first))
        return cv_fail(err, CLEAVE_EINPUT,
                       "workers have so little memory that there would be more than %g "
                       "chunks",
                       PARTS_MOST);
    if (!grow_array(&cut, first[plan->nchunks], arena))
        return cv_fail_memory(err, "the parts of chunks");
    for (uint32_t k = 0; k < plan->nchunks; k++)
        for (uint32_t i = first[k]; i < first[k + 1]; i++) {
            cut.worker[i] = plan->worker[k];
            cut.units[i] = plan->units[k] / (first[k + 1] - first[k]);
        }
    for (uint32_t k = 0; k < plan->nchunks; k++)
        for (uint32_t i = first[plan->back[k]]; i < first[plan->back[k] + 1]; i++)
            cut.back[at++] = i;
    if (!cv_rounds_measure(rounds, &cut, arena))
        return cv_fail_memory(err, "the parts of chunks");
    *plan = cut;
    return CLEAVE_OK;
}

struct cv_trip *cv_trips_in_parts(const struct cv_rounds *rounds, struct cv_arena *arena)
{
    const uint32_t n = rounds->returns.n;
    struct cv_trip *trips = cv_array(arena, n, sizeof *trips);

    for (uint32_t w = 0; trips != NULL && w < n; w++) {
        struct cv_trip *t = &trips[w];

        *t = rounds->returns.trips[w];
        if (isinf(rounds->memory[w]))
            continue;
        t->send_s += t->send_fixed_s / rounds->memory[w];
        t->compute_s += t->compute_fixed_s / rounds->memory[w];
        t->back_s += t->back_fixed_s / rounds->memory[w];
        t->send_fixed_s = t->compute_fixed_s = t->back_fixed_s = 0;
    }
    return trips;
}
