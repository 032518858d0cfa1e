/* knapsack.c -- the multiple knapsack, from cheap answers to proved ones.
 * SPDX-License-Identifier: MIT */
#include "select/knapsack/knapsack.h"

#include <math.h>
#include "base/fail.h"
#include "select/knapsack/knapsack_internal.h"

/* The best filling so far, a place to try others, and the bound. */
struct contest {
    const struct cv_instance *instance;
    struct cv_fill best, trial;
    struct cv_single single;
    double bound;
    uint32_t *take; /* the selection of the surrogate knapsack */
};

static void keep_trial(struct contest *contest)
{
    if (cv_fill_count(&contest->trial) > contest->best.profit)
        cv_fill_copy(&contest->best, &contest->trial);
}

static bool solved(const struct contest *contest)
{
    return cv_reaches(contest->best.profit + contest->instance->free_profit,
                      contest->bound);
}

/* Bounds with all bins as one, and fillings made from them. */
static void try_surrogate(struct contest *contest, struct cv_work *work)
{
    const struct cv_instance *instance = contest->instance;
    bool exact;

    contest->bound = cv_instance_round(instance, cv_instance_surrogate_lp(instance));
    cv_fill_greedy(&contest->trial, work);
    keep_trial(contest);
    if (solved(contest))
        return;
    contest->bound =
        fmin(contest->bound,
             cv_instance_surrogate_kp(instance, &contest->single, work, work->left / 8,
                                      contest->take, &exact));
    if (solved(contest))
        return;
    cv_fill_split(&contest->trial, contest->take, &contest->single, work);
    keep_trial(contest);
}

/* Refill single bins of the best filling. */
static void try_improve(struct contest *contest, struct cv_work *work)
{
    struct cv_work share = cv_work_share(work, work->left / 8);

    cv_fill_copy(&contest->trial, &contest->best);
    cv_fill_improve(&contest->trial, NULL, &contest->single, &share);
    cv_fill_pairs(&contest->trial, &contest->single, &share);
    keep_trial(contest);
    cv_work_return(work, &share);
}

/* Pack the whole selection of the surrogate knapsack, which is then optimal. */
static void try_pack(struct contest *contest, struct cv_work *work)
{
    struct cv_work share = cv_work_share(work, work->left / 8);

    if (cv_fill_pack(&contest->trial, contest->take, &share)) {
        cv_fill_greedy(&contest->trial, &share);
        keep_trial(contest);
    }
    cv_work_return(work, &share);
}

static bool try_all(struct contest *contest, struct cv_work *work)
{
    void (*const ways[])(struct contest *, struct cv_work *) = { try_surrogate,
                                                                 try_improve, try_pack };

    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        ways[i](contest, work);
        if (contest->best.failed || contest->trial.failed || solved(contest))
            return !contest->best.failed && !contest->trial.failed;
    }
    return cv_patterns_solve(contest->instance, work, &contest->single, &contest->best,
                             &contest->bound);
}

/* Solve an instance; with an answer wanted or, if `out` is NULL, for the bound alone. */
static bool run(struct cv_instance *instance, const struct cv_knapsack *problem,
                struct cv_work *work, struct cv_arena *arena, double *out_bound,
                struct cv_knapsack_answer *out)
{
    struct contest contest = { .instance = instance };
    bool made;

    made = cv_instance_tighten(instance, work) &&
           cv_single_init(&contest.single, instance) &&
           CV_NEW(instance->arena, contest.take, instance->nsizes) &&
           cv_fill_init(&contest.best, instance) &&
           cv_fill_init(&contest.trial, instance) && try_all(&contest, work) &&
           (out == NULL || cv_fill_answer(&contest.best, problem, arena, out));
    *out_bound = contest.bound;
    cv_fill_done(&contest.best);
    cv_fill_done(&contest.trial);
    return made;
}

static bool solve(const struct cv_knapsack *problem, uint64_t work_units,
                  struct cv_arena *arena, struct cv_knapsack_answer *out)
{
    struct cv_work work = { work_units > 0 ? work_units : CV_KNAPSACK_WORK, 0 };
    struct cv_instance instance;
    struct cv_arena own;
    bool made;

    cv_arena_init(&own);
    made = cv_instance_make(problem, CV_FOR_ANSWERS, &own, &instance) &&
           run(&instance, problem, &work, arena, &out->upper_bound, out);
    if (made && instance.rounded) {
        /* The answer holds for the larger weights; the bound must for the smaller. */
        work.left += (work_units > 0 ? work_units : CV_KNAPSACK_WORK) / 2;
        cv_arena_reset(&own);
        made = cv_instance_make(problem, CV_FOR_BOUNDS, &own, &instance) &&
               run(&instance, problem, &work, arena, &out->upper_bound, NULL);
    }
    cv_arena_done(&own);
    out->work = work.spent;
    out->optimal = made && cv_reaches(out->profit, out->upper_bound);
    if (out->optimal || out->upper_bound < out->profit)
        out->upper_bound = out->profit;
    return made;
}

enum cleave_status cv_knapsack_solve(const struct cv_knapsack *problem, uint64_t work,
                                     struct cv_arena *arena,
                                     struct cv_knapsack_answer *out,
                                     struct cleave_error *err)
{
    struct cv_knapsack_answer answer = { .profit = 0 };
    uint64_t *counts;

    CV_TRY(cv_knapsack_check(problem, err));
    if (!CV_NEW(arena, counts, problem->nclasses) ||
        !solve(problem, work, arena, &answer))
        return cv_fail_memory(err, "the selection of items");
    if (!cv_knapsack_holds(problem, &answer, counts))
        return cv_fail(err, CLEAVE_EPOLICY, "a bin was filled beyond its capacity");
    *out = answer;
    return CLEAVE_OK;
}

enum cleave_status cv_knapsack_surrogate_lp(const struct cv_knapsack *problem,
                                            double *out_bound, struct cleave_error *err)
{
    struct cv_instance instance;
    struct cv_arena own;
    bool made;

    CV_TRY(cv_knapsack_check(problem, err));
    cv_arena_init(&own);
    made = cv_instance_make(problem, CV_AS_ONE_BIN, &own, &instance);
    if (made)
        *out_bound = cv_instance_surrogate_lp(&instance);
    cv_arena_done(&own);
    return made ? CLEAVE_OK : cv_fail_memory(err, "a bound");
}
