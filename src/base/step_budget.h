/* step_budget.h -- limits of searches in steps, not in time. SPDX-License-Identifier: MIT
 *
 * A step takes about a nanosecond, and results are the same on every machine. A search
 * counts its steps and checks the limit now and then. A NULL budget has no limit. */
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

/* Half of the steps left: trying the plan afterwards takes steps, too. */
static inline struct cv_step_budget
cv_step_budget_half(const struct cv_step_budget *budget)
{
    return (struct cv_step_budget){ 0, (budget->limit - budget->spent) / 2 };
}

#endif
