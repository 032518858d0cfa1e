/* stream_cip.h -- the shortest round in which a master can serve all its workers.
 * SPDX-License-Identifier: MIT
 *
 * CIP, "contentions and idleness prevention", is what a master does before the first post
 * when it has one stream and given workers: find tau, the parts sent first and the first
 * loads so that nobody waits. The delays of stream_costs.h are maxima of two affine
 * functions of tau, so (sum of delays) - tau is convex and piecewise linear; Newton's
 * method from the left finds its first root exactly, in as many steps as there are
 * pieces, most often below ten. */
#ifndef CV_STREAM_CIP_H
#define CV_STREAM_CIP_H
#include "model/stream/stream_costs.h"

/* The least tau >= max(from_s, twice the greatest compute latency) for which the sum of
 * the delays is at most tau; INFINITY when there is none. ring->tau_s is not read. */
double cv_ring_least_tau(const struct cv_stream_ring *ring, double from_s);

/* Values of tau for which every worker has a part theta that leaves no gap, neither in
 * steady rounds nor in a first one: from low_s to high_s, which may be INFINITY. None if
 * low_s > high_s. */
struct cv_tau_range {
    double low_s, high_s;
};
struct cv_tau_range cv_ring_theta_range(const struct cv_stream_ring *ring);

struct cv_cip {
    double least_tau_s; /* with the parts that were wanted; for the sum of delays alone */
    double tau_s;
    double *theta, *first_load, *delay; /* per worker */
};

/* Choose tau for all workers of the ring, whose theta are those wanted; they are moved
 * into their windows. tau is the least that leaves a window to every worker and for which
 * both latencies take no more than `max_latency_share` of a round (0: any share; then a
 * load may come out as 0). Fails with CLEAVE_EINPUT when there is no such tau. */
enum cleave_status cv_stream_cip(const struct cv_stream_ring *ring,
                                 double max_latency_share, struct cv_arena *arena,
                                 struct cv_cip *out, struct cleave_error *err);

#endif
