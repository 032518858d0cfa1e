/* replay.h -- run a policy against a recorded trace. SPDX-License-Identifier: MIT */
#ifndef CV_REPLAY_H
#define CV_REPLAY_H
#include <cleave/trace.h>
#include "engine/engine.h"

struct cv_replay_source {
    const struct cleave_trace *trace; /* borrowed: one run                         */
    uint32_t nworkers;                /* or nodes                                      */
    struct cleave_replayed *out;      /* borrowed: filled as it goes; NULL: not wanted */
};

/* An engine that reports the recorded events and fails with CLEAVE_EPOLICY at the first
 * order that differs from the recorded one, which *out then describes. Its `same` is true
 * when all entries have been seen without a difference, even if the driver fails then,
 * since the run was stopped. Impossible events, such as the end of a chunk
 * that was never sent, give CLEAVE_EINPUT. */
extern const struct cv_engine cv_engine_replay;
/* For a real run, whose trace has the units left. */
extern const struct cv_engine cv_engine_replay_real;

#endif
