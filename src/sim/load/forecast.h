/* forecast.h -- try a policy in simulation before it is used. SPDX-License-Identifier: MIT */
#ifndef CV_FORECAST_H
#define CV_FORECAST_H
#include "policy/kit/setup.h"

/* Forecasts on the native engine for policies that run on `platform`, which must outlive
 * the result. Costs are those the view declares, each stretched by a normal factor of
 * the view's expected error. */
struct cv_forecast cv_native_forecast(const struct cleave_platform *platform);

#endif
