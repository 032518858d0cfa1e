/* contest.h -- simulate every policy that takes a load, and find who ends first.
 * SPDX-License-Identifier: MIT */
#ifndef CV_CONTEST_H
#define CV_CONTEST_H
#include "policy/kit/setup.h"

struct cv_contest {
    const struct cleave_policy *best, *second; /* second: NULL if nobody else took it */
    double best_s, second_s;
    unsigned tried;
};

/* The least mean makespan of `runs` simulated runs with the expected error of the view.
 * Everyone in the registry who takes such a load with its preset parameters takes part,
 * those aside who try others themselves, and on large platforms those whose plans take
 * long. Of equals the one made for the platform wins, then who is first in the registry. */
enum cleave_status cv_contest(const struct cleave_view *view, uint32_t runs,
                              struct cleave_setup *setup, struct cv_contest *out,
                              struct cleave_error *err);

#endif
