/* streams_inputs.h -- inputs that cases of several data streams share.
 * SPDX-License-Identifier: MIT */
#ifndef STREAMS_INPUTS_H
#define STREAMS_INPUTS_H
#include "model/stream/stream_costs.h"
#include "vector_case.h"

/* A worker is listed as [speed, compute latency, bandwidth, latency, bandwidth and
 * latency of the way back]. false, with the case failed, for anything else. */
bool case_stream_worker(struct vector_case *c, const struct json *value,
                        struct cleave_worker *out);

/* workers, rho, and if they are listed tau, theta and lam. n is 0, and the case failed,
 * when they cannot be used. */
struct cv_stream_ring case_ring(struct vector_case *c);

/* `count` numbers; fails the case and returns NULL when memory is short. */
double *case_room(struct vector_case *c, size_t count);

#endif
