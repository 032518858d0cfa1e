/* rated.h -- simulated items on workers with rates. SPDX-License-Identifier: MIT */
#ifndef CV_RATED_H
#define CV_RATED_H
#include "engine/engine.h"

/* For runs whose conditions have rates, without and with a command model. */
extern const struct cv_engine cv_engine_rated, cv_engine_rated_rough;

#endif
