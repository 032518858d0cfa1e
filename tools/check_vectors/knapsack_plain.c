/* knapsack_plain.c -- a plain heuristic and a plain bound for the multiple knapsack.
 * SPDX-License-Identifier: MIT */
#include "knapsack_plain.h"

#include "base/fail.h"
#include "select/knapsack/knapsack_internal.h"

enum cleave_status knapsack_greedy(const struct cv_knapsack *problem,
                                   struct cv_arena *arena, struct cv_knapsack_answer *out,
                                   struct cleave_error *err)
{
    struct cv_knapsack_answer answer = { .profit = 0 };
    struct cv_work work = { UINT64_MAX, 0 };
    struct cv_fill fill = { .instance = NULL };
    struct cv_instance instance;
    struct cv_arena own;
    bool made;

    CV_TRY(cv_knapsack_check(problem, err));
    cv_arena_init(&own);
    made = cv_instance_make(problem, CV_FOR_ANSWERS, &own, &instance) &&
           cv_fill_init(&fill, &instance);
    if (made) {
        cv_fill_greedy(&fill, &work);
        made = cv_fill_answer(&fill, problem, arena, &answer);
    }
    cv_fill_done(&fill);
    cv_arena_done(&own);
    if (!made)
        return cv_fail_memory(err, "the selection of items");
    CV_TRY(cv_knapsack_surrogate_lp(problem, &answer.upper_bound, err));
    answer.work = work.spent;
    answer.optimal = cv_reaches(answer.profit, answer.upper_bound);
    if (answer.optimal || answer.upper_bound < answer.profit)
        answer.upper_bound = answer.profit;
    *out = answer;
    return CLEAVE_OK;
}

enum cleave_status knapsack_surrogate_kp(const struct cv_knapsack *problem, uint64_t work,
                                         double *out_bound, bool *out_exact,
                                         struct cleave_error *err)
{
    struct cv_work left = { work > 0 ? work : CV_KNAPSACK_WORK, 0 };
    struct cv_instance instance;
    struct cv_single single;
    struct cv_arena own;
    uint32_t *take;
    bool made;

    CV_TRY(cv_knapsack_check(problem, err));
    cv_arena_init(&own);
    made = cv_instance_make(problem, CV_AS_ONE_BIN, &own, &instance) &&
           cv_instance_tighten(&instance, &left) && cv_single_init(&single, &instance) &&
           CV_NEW(&own, take, instance.nsizes);
    if (made)
        *out_bound = cv_instance_surrogate_kp(&instance, &single, &left, left.left, take,
                                              out_exact);
    cv_arena_done(&own);
    return made ? CLEAVE_OK : cv_fail_memory(err, "a bound");
}
