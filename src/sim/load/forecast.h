/* forecast.h -- try a policy in simulation before it is used. SPDX-License-Identifier: MIT */
#ifndef CV_FORECAST_H
#define CV_FORECAST_H
#include "engine/simulated_command.h"
#include "policy/common/setup.h"
#include "sim/load/load_case.h"

/* Forecasts on the native engine for policies that run on `platform`, which must outlive
 * the result. Costs are those the view declares, each stretched by a normal factor of
 * the view's expected error. */
struct cv_forecast cv_native_forecast(const struct cleave_platform *platform);

/* The same where chunks may stay open: how the commands read. All is borrowed and must outlive
 * the forecasts. */
struct cv_forecast_open {
    const struct cleave_platform *platform;
    const struct cv_command_model *command;
    double units; /* of a stream: so many come, which policies are not told */
};
struct cv_forecast cv_open_forecast(const struct cv_forecast_open *scene);

/* The most units that end within a lifespan are found as far as the makespan grows with the
 * load. If the case has a meter, all that is tried counts there. */
enum cleave_status cv_load_case_plan(const struct cv_load_case *load_case,
                                     const struct cleave_job *job,
                                     struct cv_planned *planned,
                                     struct cleave_error *err);

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

#endif
