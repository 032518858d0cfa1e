/* stream_costs.h -- times, delays and weights of workers that serve a stream in rounds.
 * SPDX-License-Identifier: MIT
 *
 * A stream has no known end. Its master gives each worker a chunk per round, and wants
 * rounds to last `tau` seconds. A chunk goes out as two parts, of theta and 1 - theta of
 * its load, in a row; the result of the first part of a round comes back together with
 * that of the second part of the round before. When the result of a first part has arrived, the master posts the worker's next round. So a worker computes one part while the
 * other one travels.
 *
 *     load in a steady round        alpha = S (tau - 2 f)       f: compute latency
 *     throughput of the worker      alpha / tau; none is left when tau <= 2 f
 *
 * Millot and Parrot, "Setting up clusters of computing units to process several data
 * streams efficiently", PPAM 2013. Calls note formulas that differ from the printed ones. */
#ifndef CV_STREAM_COSTS_H
#define CV_STREAM_COSTS_H
#include <cleave/platform.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/arena.h"

/* The shortest automatic round, in computing latencies; a round has two of them. */
#define CV_LATENCIES_PER_ROUND 10.0

/* The two parts of a chunk: times of sending, computing and returning. */
struct cv_stream_times {
    double send_first_s, send_second_s;
    double compute_first_s, compute_second_s;
    double return_first_s, return_second_s;
};

/* Workers that share a master, in the order of service. */
struct cv_stream_ring {
    const struct cleave_worker *workers; /* borrowed                            */
    uint32_t n;
    double tau_s;
    double result_ratio;  /* result units per load unit                         */
    const double *theta;  /* per worker, borrowed; NULL: all 1/2                */
    const double *margin; /* per worker, borrowed: by which part delays are
                             stretched because costs are not sure; NULL: all 0  */
};

/* A worker's costs as if the port sent and received at once: where messages both ways share
 * it, results are data that takes as long, and the ratio of results is 0 from then on. */
struct cleave_worker cv_stream_as_duplex(struct cleave_worker worker,
                                         enum cleave_port port, double ratio);

double cv_ring_margin(const struct cv_stream_ring *ring, uint32_t worker);

/* Load of a round that lasts tau_s, and units per second; both are negative when the two
 * latencies alone last longer. */
double cv_stream_load(const struct cleave_worker *worker, double tau_s);
double cv_stream_profit(const struct cleave_worker *worker, double tau_s);
struct cv_stream_times cv_stream_times(const struct cleave_worker *worker, double theta,
                                       double result_ratio, double load);
/* The times of every worker in steady rounds; NULL when memory is short. */
struct cv_stream_times *cv_ring_times(const struct cv_stream_ring *ring,
                                      struct cv_arena *arena);
/* How long the two parts of a chunk hold the send port, and the receive port. */
double cv_send_time(const struct cv_stream_times *times);
double cv_return_time(const struct cv_stream_times *times);

/* --- the part sent first -------------------------------------------------------------
 * Without contention the worker computes without a gap around the round with load
 * `after` that follows one with load `before` if and only if low <= theta <= high. The
 * window is empty when low > high; bounds start from 0 and 1. In a first round there is
 * no gap between the parts if theta >= cv_theta_first. */
struct cv_theta_window {
    double low, high;
};
struct cv_theta_window cv_theta_window(const struct cleave_worker *worker,
                                       double result_ratio, double before, double after);
double cv_theta_first(const struct cleave_worker *worker, double load);
/* `wanted`, or, if that would make the worker idle in rounds with that load, the nearest
 * part that does not; if there is none for the first round too, the nearest for the others,
 * which is the largest part with the least idle time. */
double cv_theta_moved(const struct cleave_worker *worker, double result_ratio,
                      double load, double wanted);

/* --- delays --------------------------------------------------------------------------
 * The next worker may be posted to when both ports have been left by the one before:
 *
 *     d = (1 + margin) max(all its data, its second result + the own first result)
 *
 * Printed was "its first result + the own second result", which belongs to the opposite
 * order of return; both are the same for theta = 1/2. The first worker's delay follows the last worker of the previous round: it counts in the sum, but does not delay the start. */
double cv_stream_delay(double margin, const struct cv_stream_times *before,
                       const struct cv_stream_times *own);
void cv_ring_delays(const struct cv_stream_ring *ring,
                    const struct cv_stream_times *times, double *out);
/* Delays after the worst worker: weights that do not depend on the order. */
void cv_ring_tight_delays(const struct cv_stream_ring *ring,
                          const struct cv_stream_times *times, double *out);
double cv_stream_sum(const double *values, uint32_t n);
/* When each worker is posted to for the first time. */
void cv_ring_starts(const double *delays, uint32_t n, double *out);

/* Own weights: omega = (1 + margin) max(all data, all results), and a reserve. Served in
 * increasing order of their first result, workers need no more than the sum of omega plus
 * the reserve, (1 + margin) (greatest - least first result). Returns the reserve; NaN if
 * the margins differ, for then the sum does not telescope. */
double cv_ring_own_weights(const struct cv_stream_ring *ring,
                           const struct cv_stream_times *times, double *out_omega);

/* --- contention ----------------------------------------------------------------------
 * Delays between first posts are not those between later ones: a worker's posts come
 * start + phi + i tau, and phi = first part out + computed + returned depends on the
 * worker. The least time the send port and the receive port are free between two uses
 * in a steady round; negative: they are asked for twice at the same time. `first_loads` are loads of the first round, NULL: the steady ones (the second round is taken to be
 * steady). false when memory is short. */
struct cv_port_gaps {
    double send_s, receive_s;
};
bool cv_ring_gaps(const struct cv_stream_ring *ring, const struct cv_stream_times *times,
                  const double *starts, const double *first_loads, struct cv_arena *arena,
                  struct cv_port_gaps *out);

/* First loads that make all workers start + i tau apart, as the delays intend: the first
 * round of worker w lasts tau - (phi_w - phi_0) / (1 + theta S / B). A worker for which
 * that is not possible (its load would not be positive) keeps its steady load; returns
 * how many there are. */
uint32_t cv_ring_first_loads(const struct cv_stream_ring *ring,
                             const struct cv_stream_times *times, double *out);

/* The load after a round that was measured as sigma. Such a measure says nothing when it
 * is not a positive number: the load is kept. */
double cv_stream_next_load(double load, double tau_s, double sigma);

struct cv_cycle {
    const double *leave, *enter; /* borrowed; finite, positive or negative */
    uint32_t n;
};

/* Cost of the cycle order[0], order[1], ..., back to order[0]; NULL: 0, 1, 2, ... One
 * place alone is followed by itself. */
double cv_cycle_cost(const struct cv_cycle *cycle, const uint32_t *order);

/* The cheapest cycle: order[0..n-1], from place 0. *out_cost is its cost, and
 * *out_bound, which may be NULL, the cost of the cheapest assignment of a next place to
 * each, which may fall apart into several cycles. false when memory is short. */
bool cv_cycle_best(const struct cv_cycle *cycle, struct cv_arena *arena, uint32_t *order,
                   double *out_cost, double *out_bound);

/* The costs between workers of a stream as a cycle. *out_base is what every order costs
 * besides: the sum of the second results. Margins are not in it: a common one stretches
 * all orders alike. false when memory is short. */
bool cv_cycle_of_times(const struct cv_stream_times *times, uint32_t n,
                       struct cv_arena *arena, struct cv_cycle *out, double *out_base);

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
/* The same for the workers that are worth waiting for: a worker whose two latencies take
 * as long as a round of those that start faster is left out. served[0 .. *out_count - 1]
 * are the others, in the order of the ring and of the lists of *out. */
enum cleave_status cv_stream_cip_served(const struct cv_stream_ring *ring,
                                        double max_latency_share, struct cv_arena *arena,
                                        struct cv_cip *out, uint32_t *served,
                                        uint32_t *out_count, struct cleave_error *err);

#endif
