/* native.h -- the built-in simulator. SPDX-License-Identifier: MIT */
#ifndef CV_NATIVE_H
#define CV_NATIVE_H
#include "engine/engine.h"

extern const struct cv_engine cv_engine_native;
/* The same for runs that say how commands read (cv_run.command): it knows what is left. */
extern const struct cv_engine cv_engine_native_open;

#endif
