/* step_budget.h -- how much work a search may do, counted in steps and not by a clock.
 * SPDX-License-Identifier: MIT
 *
 * A step takes about a nanosecond, whatever the machine: what is found within a limit is the
 * same everywhere. Who may be asked to stop early counts what it does, and looks now and then
 * whether the limit is passed. A NULL meter counts nothing and has no limit. */
#ifndef CV_STEP_BUDGET_H
#define CV_STEP_BUDGET_H
#include <stdbool.h>
#include <stddef.h>

static const double CV_STEPS_A_SECOND = 1e9;

struct cv_step_budget {
    double spent, limit; /* steps */
};

static inline void cv_step_budget_spend(struct cv_step_budget *budget, double steps)
{
    if (budget != NULL)
        budget->spent += steps;
}

static inline bool cv_step_budget_over(const struct cv_step_budget *budget)
{
    return budget != NULL && budget->spent >= budget->limit;
}

/* For a plan that is tried afterwards, which needs some of it, too: half of what is left. */
static inline struct cv_step_budget
cv_step_budget_half(const struct cv_step_budget *budget)
{
    return (struct cv_step_budget){ 0, (budget->limit - budget->spent) / 2 };
}

#endif
