/* rounds_polish.c -- random changes of words, with the best sizes for their orders.
 * SPDX-License-Identifier: MIT
 *
 * For few workers, and where a duplex port is full, the closed form of good orders is not
 * their optimum, and leads a search astray. Here every change whose closed form is not far
 * off is measured by its linear program. */
#include <math.h>

#include "model/rounds/rounds_search.h"

/* Words whose closed form is longer than the best plan by more than this are passed by. */
static const double FAR = 1.08;

static enum cleave_status try_change(struct cv_rounds_search *search,
                                     struct cv_arena *scratch,
                                     struct cv_rounds_plan *plan,
                                     struct cleave_error *err)
{
    const double end_s = cv_rounds_dense(search->room, &search->trial.words);

    *plan = (struct cv_rounds_plan){ .makespan_s = INFINITY };
    if (!(end_s < search->current.end_s * FAR))
        return CLEAVE_OK;
    CV_TRY(cv_rounds_take(search->room, end_s, scratch, plan, err));
    return cv_rounds_lp(search->room->rounds, plan, scratch, err);
}

/* A copy that lives in another arena. */
static enum cleave_status keep(const struct cv_rounds_plan *plan, struct cv_arena *arena,
                               struct cv_rounds_plan *out, struct cleave_error *err)
{
    struct cv_rounds_plan copy = *plan;

    copy.worker = cv_array(arena, plan->nchunks, sizeof *copy.worker);
    copy.units = cv_array(arena, plan->nchunks, sizeof *copy.units);
    copy.back = cv_array(arena, plan->nchunks, sizeof *copy.back);
    if (copy.worker == NULL || copy.units == NULL || copy.back == NULL)
        return cv_fail_memory(err, "a plan");
    for (uint32_t k = 0; k < plan->nchunks; k++) {
        copy.worker[k] = plan->worker[k];
        copy.units[k] = plan->units[k];
        copy.back[k] = plan->back[k];
    }
    *out = copy;
    return CLEAVE_OK;
}

enum cleave_status cv_rounds_polish(struct cv_rounds_search *search, double work,
                                    struct cv_arena *arena, struct cv_rounds_plan *best,
                                    struct cleave_error *err)
{
    enum cleave_status status = CLEAVE_OK;
    struct cv_arena scratch;

    cv_arena_init(&scratch);
    cv_candidate_copy(&search->current, &search->best);
    search->current.end_s = best->makespan_s;
    for (double spent = 0; spent < work && status == CLEAVE_OK;) {
        const uint32_t times = 1 + cv_rounds_below(search, 3);
        const double n = best->nchunks;
        struct cv_rounds_plan plan;

        spent += 1000 + n * n * n;
        if (spent > work)
            break;
        cv_candidate_copy(&search->trial, &search->current);
        for (uint32_t k = 0; k < times; k++)
            (void)cv_rounds_mutate(search, &search->trial);
        status = try_change(search, &scratch, &plan, err);
        if (status == CLEAVE_OK && plan.makespan_s <= search->current.end_s) {
            cv_candidate_copy(&search->current, &search->trial);
            search->current.end_s = plan.makespan_s;
            if (plan.makespan_s < best->makespan_s)
                status = keep(&plan, arena, best, err);
        }
        cv_arena_reset(&scratch);
    }
    cv_arena_done(&scratch);
    return status;
}
