/* umr_unselected.c -- uniform rounds for all workers, whatever their links.
 * SPDX-License-Identifier: MIT
 *
 * What the formulas of umr.c give when nobody is left out: the published comparison for
 * workers that differ. */
#include "policy/static/umr_unselected.h"

#include "base/fail.h"
#include "policy/static/umr_choice.h"

static void fill_rounds(const struct cv_umr_sums *p, const struct cv_umr_shape *shape,
                        uint32_t rounds, double *round_s)
{
    round_s[0] = shape->first_s;
    round_s[rounds - 1] = shape->last_s;
    if (p->rho <= 1) /* from the largest on, so that nothing cancels */
        for (uint32_t j = rounds - 1; j-- > 0;)
            round_s[j] = p->rho * round_s[j + 1] + p->kappa;
    else
        for (uint32_t j = 1; j < rounds; j++)
            round_s[j] = (round_s[j - 1] - p->kappa) / p->rho;
}

/* Positive chunks only; returns what they sum up to. */
static double fill_chunks(const struct cleave_worker *workers, const uint32_t *order,
                          uint32_t nworkers, const struct cv_umr_sums *sums,
                          double last_s, struct cv_umr *out)
{
    double sent = 0;

    out->plan.nchunks = 0;
    for (uint32_t j = 0; j < out->rounds; j++)
        for (uint32_t i = 0; i < nworkers; i++) {
            const struct cleave_worker *worker = &workers[order[i]];
            const double time_s =
                j + 1 < out->rounds
                    ? out->round_s[j]
                    : last_s - sums[i + 1].kappa - sums[i + 1].rho * out->round_s[0];
            const double units = worker->speed_ups * (time_s - worker->compute_latency_s);

            if (!(units > 0))
                continue;
            out->plan.worker[out->plan.nchunks] = order[i];
            out->plan.units[out->plan.nchunks++] = units;
            sent += units;
        }
    return sent;
}

enum cleave_status cv_umr_unselected(const struct cleave_worker *workers,
                                     const uint32_t *order, uint32_t nworkers,
                                     double load, uint32_t round_cap, uint32_t rounds,
                                     struct cv_arena *arena, struct cv_umr *out,
                                     struct cleave_error *err)
{
    struct cv_umr_sums *sums = cv_array(arena, (size_t)nworkers + 1, sizeof *sums);
    double *ready = cv_array(arena, nworkers, sizeof *ready), last_s, sent;
    const struct cv_umr_search search = { .load = load, .round_cap = round_cap };
    struct cv_umr_line line = { 1, 0 };
    struct cv_umr_shape shape;

    if (sums == NULL || ready == NULL)
        return cv_fail_memory(err, "the sums over workers");
    for (uint32_t i = 0; i < nworkers; i++)
        sums[i + 1] = cv_umr_add(&sums[i], &workers[order[i]], &line);
    *out = (struct cv_umr){ .order = order, .usable = nworkers, .prompt = nworkers };
    out->rounds = rounds > 0 ? rounds : cv_umr_choose_rounds(&search, &sums[nworkers]);
    shape = cv_umr_shape_of(&sums[nworkers], load, out->rounds);
    out->theta = 1 / sums[nworkers].rho;
    out->eta = cv_umr_eta(&sums[nworkers]);
    out->real_rounds = cv_umr_real_rounds(&sums[nworkers], load);
    out->expected_s = shape.expected_s;
    out->round_s = cv_array(arena, out->rounds, sizeof *out->round_s);
    if (out->round_s == NULL ||
        !cv_plan_init(&out->plan, arena, (size_t)nworkers * out->rounds))
        return cv_fail_memory(err, "the plan");
    fill_rounds(&sums[nworkers], &shape, out->rounds, out->round_s);
    out->predicted_s = cv_umr_end(&sums[nworkers], load, out->rounds, &shape, &last_s);
    sent = fill_chunks(workers, order, nworkers, sums, last_s, out);
    if (!(sent > 0))
        return CLEAVE_OK;
    for (size_t k = 0; k < out->plan.nchunks; k++)
        out->plan.units[k] *= load / sent;
    cv_plan_settle(&out->plan, load);
    out->workers = nworkers;
    out->makespan_s = cv_plan_makespan(workers, nworkers, &out->plan, ready);
    return CLEAVE_OK;
}
