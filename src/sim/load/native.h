/* native.h -- the built-in simulator. SPDX-License-Identifier: MIT */
#ifndef CV_NATIVE_H
#define CV_NATIVE_H
#include "engine/engine.h"

extern const struct cv_engine cv_engine_native;
/* The engine for runs with a model of how commands read (cv_run.command): it knows the
 * units that are left. */
extern const struct cv_engine cv_engine_native_open;

#endif
