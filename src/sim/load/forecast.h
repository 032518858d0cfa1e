/* forecast.h -- try a policy in simulation before it is used. SPDX-License-Identifier: MIT */
#ifndef CV_FORECAST_H
#define CV_FORECAST_H
#include "engine/command_model.h"
#include "policy/common/setup.h"

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

#endif
