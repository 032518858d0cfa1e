/* replay.h -- run a policy against what was recorded. SPDX-License-Identifier: MIT */
#ifndef CV_REPLAY_H
#define CV_REPLAY_H
#include "engine/engine.h"

/* An engine whose source is a struct cleave_trace of one run: it reports the recorded
 * events and fails at the first order that differs from the recorded one. */
extern const struct cv_engine cv_engine_replay;

#endif
