/* plan.c -- a list of chunks fixed in advance, and how long it takes.
 * SPDX-License-Identifier: MIT */
#include "model/load/plan.h"

size_t cv_chunk_cap(uint32_t nworkers)
{
    const size_t quick = (size_t)1 << 20, min = 2000;
    size_t cap = (size_t)nworkers * 64;

    if (cap > quick)
        cap = (size_t)nworkers * 8 > quick ? (size_t)nworkers * 8 : quick;
    return cap < min ? min : cap > CV_MAX_CHUNKS ? CV_MAX_CHUNKS : cap;
}

bool cv_plan_init(struct cv_plan *plan, struct cv_arena *arena, size_t nchunks)
{
    uint32_t *worker;
    double *units;

    if (nchunks > CV_MAX_CHUNKS)
        return false;
    worker = cv_array(arena, nchunks, sizeof *worker);
    units = cv_array(arena, nchunks, sizeof *units);
    if (worker == NULL || units == NULL)
        return false;
    *plan = (struct cv_plan){ .nchunks = nchunks, .worker = worker, .units = units };
    return true;
}

double cv_plan_makespan(const struct cleave_worker *workers, uint32_t nworkers,
                        const struct cv_plan *plan, double *ready)
{
    double port = 0, makespan = 0;

    for (uint32_t i = 0; i < nworkers; i++)
        ready[i] = 0;
    for (size_t k = 0; k < plan->nchunks; k++) {
        const uint32_t w = plan->worker[k];
        const struct cleave_worker *worker = &workers[w];
        double end;

        port += worker->latency_s + plan->units[k] / worker->bandwidth_ups;
        end = (ready[w] > port ? ready[w] : port) + worker->compute_latency_s +
              plan->units[k] / worker->speed_ups;
        ready[w] = end;
        if (end > makespan)
            makespan = end;
    }
    return makespan;
}

static bool none_above_zero(const struct cv_plan *plan)
{
    for (size_t k = 0; k < plan->nchunks; k++)
        if (plan->units[k] > 0)
            return false;
    return true;
}

void cv_plan_settle(struct cv_plan *plan, double load)
{
    size_t kept = 0, largest = 0;
    double others = 0;

    if (plan->nchunks > 0 && none_above_zero(plan))
        plan->units[0] = load;
    for (size_t k = 0; k < plan->nchunks; k++) {
        if (!(plan->units[k] > 0))
            continue;
        plan->worker[kept] = plan->worker[k];
        plan->units[kept] = plan->units[k];
        if (plan->units[kept] > plan->units[largest])
            largest = kept;
        kept++;
    }
    plan->nchunks = kept;
    for (size_t k = 0; k < kept; k++)
        if (k != largest)
            others += plan->units[k];
    if (kept > 0 && others < load)
        plan->units[largest] = load - others;
}
