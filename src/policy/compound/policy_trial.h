/* policy_trial.h -- simulate every policy that takes a load, and find who ends first.
 * SPDX-License-Identifier: MIT */
#ifndef CV_POLICY_TRIAL_H
#define CV_POLICY_TRIAL_H
#include "policy/common/setup.h"

struct cv_policy_trial {
    const struct cleave_policy *best, *second; /* second: NULL if nobody else took it */
    double best_s, second_s;
    unsigned tried;
    unsigned late;  /* not tried, or not to the end, when the limit was reached       */
    double allowed; /* steps that the best one had for its plan                       */
};

/* The least mean makespan of `runs` simulated runs with the expected error of the view.
 * Everyone in the registry who takes such a load with its preset parameters takes part,
 * those aside who try others themselves, and on large platforms those whose plans take
 * long. Of equals the one made for the platform wins, then who is first in the registry.
 *
 * All of it takes at most `limit_s` seconds, counted in steps (base/step_budget.h), half of which are
 * kept for planning with the best one again. Orders of results, which may be searched
 * for long, are tried after the others. The planner of the platform is always tried.
 *
 * If the view has a lifespan, who does most in it is the best, with costs as declared; times are
 * then those of a unit. */
enum cleave_status cv_policy_trial(const struct cleave_view *view, uint32_t runs,
                                   double limit_s, struct cleave_setup *setup,
                                   struct cv_policy_trial *out, struct cleave_error *err);
/* Units that the best one does in the view's lifespan. */
double cv_policy_trial_units(const struct cv_policy_trial *contest,
                             const struct cleave_view *view);
/* Plan with the best one, as it was tried. */
enum cleave_status cv_policy_trial_plan(const struct cv_policy_trial *contest,
                                        struct cv_inner *inner,
                                        const struct cleave_view *view,
                                        struct cleave_setup *setup,
                                        struct cleave_error *err);
/* "; limit=10 s cut 3 of all short" if it was so, else nothing. */
const char *cv_policy_trial_late(const struct cv_policy_trial *contest, double limit_s,
                                 char *text, size_t room);

/* The parameter of those who hold contests. */
#define CV_LIMIT_PARAM(state, member)                                                  \
    {                                                                                  \
        "limit", CLEAVE_PARAM_REAL, offsetof(state, member), 10, 1e-6, 1e9,            \
            "seconds for trying policies, counted in steps: the same on every machine" \
    }

#endif
