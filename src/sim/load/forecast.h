/* forecast.h -- try a policy in simulation before it is used. SPDX-License-Identifier: MIT */
#ifndef CV_FORECAST_H
#define CV_FORECAST_H
#include "engine/simulated_command.h"
#include "policy/common/setup.h"
#include "sim/load/load_case.h"

/* Forecasts on the native engine, with the costs that the view declares, each stretched by
 * a normal factor of the view's expected error. If chunks may be opened, set `command` and
 * `units`. */
struct cv_forecast cv_native_forecast(const struct cleave_platform *platform);

/* With a lifespan: the most units that end within it, provided that the makespan grows with
 * the load. All trials count in the budget of the case, if it has one. */
enum cleave_status cv_load_case_plan(const struct cv_load_case *load_case,
                                     const struct cleave_job *job,
                                     struct cv_planned *planned,
                                     struct cleave_error *err);

#endif
