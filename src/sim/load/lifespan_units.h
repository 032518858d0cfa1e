/* lifespan_units.h -- as much as one policy finishes within a lifespan.
 * SPDX-License-Identifier: MIT */
#ifndef CV_LIFESPAN_UNITS_H
#define CV_LIFESPAN_UNITS_H
#include "sim/load/load_case.h"

/* How far below the lifespan an end may stay. */
static const double CV_LIFESPAN_CLOSE = 1e-10;

/* Units are looked for by a policy, in the lifespan of the case. */
struct cv_units_quest {
    const struct cv_load_case *load_case;
    const struct cleave_policy *policy;
    const struct cleave_setting *settings;
    size_t nsettings;
    const struct cv_forecast *forecast; /* for policies that try others; NULL: none  */
    struct cv_step_budget *budget;      /* of all plans; who picks sets the limit    */
};

/* Whether the policy picks others. */
bool cv_picks(const struct cleave_policy *policy);
/* Whether it says by itself what it does in the lifespan: of speeds that change only auto
 * does, which asks others, and not where errors are expected. */
bool cv_knows(const struct cv_units_quest *quest);

bool cv_ends_in_time(const struct cv_units_quest *quest, double end_s);
bool cv_ends_sooner(const struct cv_units_quest *quest, double end_s);
/* What all workers could compute. */
double cv_units_of_all(const struct cv_load_case *load_case);

/* Plan for so many units, and when that ends. */
enum cleave_status cv_plan_units(const struct cv_units_quest *quest, double units,
                                 struct cv_planned *planned, double *out_s,
                                 struct cleave_error *err);
/* The plan of a policy that knows what it does, and when that ends. */
enum cleave_status cv_plan_known(const struct cv_units_quest *quest,
                                 struct cv_planned *planned, double *out_s,
                                 struct cleave_error *err);
/* The most units that end within the lifespan, as far as the makespan grows with them. `low` of
 * them are known to end at `low_s`, which is within it; or 0. 0: nothing ends in time. */
enum cleave_status cv_find_units(const struct cv_units_quest *quest, double low,
                                 double low_s, double *out, struct cleave_error *err);
/* Either of them: how many units the policy does. */
enum cleave_status cv_units_work(const struct cv_units_quest *quest, double *out,
                                 struct cleave_error *err);
enum cleave_status cv_fail_lifespan(double lifespan_s, struct cleave_error *err);

#endif
