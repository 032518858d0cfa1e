/* stream_select.h -- the workers of several streams.
 * SPDX-License-Identifier: MIT
 *
 * Each of M streams has a master, and a cluster of workers that it serves in rounds of
 * tau seconds. A worker in a cluster gives speed (1 - 2 latency / tau) units per second;
 * a worker whose two compute latencies last tau or longer gives nothing and is never taken.
 * The delays of a cluster must sum up to tau at most. To be chosen: the clusters of
 * greatest throughput in all.
 *
 * The delay of a worker depends on the one before it. CV_SELECT_RING, which is the
 * published way, takes the worst case for it: a multiple knapsack, but on platforms with
 * unequal links it leaves half of the throughput or more. CV_SELECT_OWN chooses the order
 * too. It packs with weights that do not depend on the order, in several ways:
 *
 *     mu data + (1 - mu) results      no cluster can have more than tau of it, whatever
 *                                     mu in 0..1: an upper bound comes with it
 *     max(data, results)              in a round less the spread of the first results:
 *                                     fits if served in the order of the first results
 *
 * then adds, takes out and exchanges workers with the best order as the test, and keeps
 * the best outcome. */
#ifndef CV_STREAM_SELECT_H
#define CV_STREAM_SELECT_H
#include <cleave/error.h>
#include "model/stream/stream_costs.h"

enum cv_select_weights { CV_SELECT_RING, CV_SELECT_OWN };

struct cv_stream_task {
    struct cv_stream_ring ring; /* all workers; their order has no meaning */
    uint32_t nstreams;          /* M > 0                                   */
    enum cv_select_weights weights;
    uint64_t work; /* effort as in knapsack.h; 0: some seconds at most */
};

/* Why a worker serves no stream. */
enum cv_left_why {
    CV_TAKEN,
    CV_NO_GAIN,    /* compute latencies take all of the round           */
    CV_TOO_LONG,   /* messages alone take longer than the round         */
    CV_LESS_VALUE, /* the chosen ones give more for the masters' time    */
};

/* The clusters of the streams; all memory is the arena's. */
struct cv_stream_choice {
    double throughput;  /* units per second of all streams                           */
    double upper_bound; /* no clusters have more: with the weights of CV_SELECT_RING,
                           or in any order of service for CV_SELECT_OWN              */
    bool optimal;       /* throughput is the bound, up to rounding                   */
    uint32_t selected, nstreams;
    uint32_t *first;     /* stream m is served by members[first[m] .. first[m+1] - 1] */
    uint32_t *members;   /* workers, in order of service                            */
    double *delay;       /* per worker; NaN when left out    */
    double *delay_sum;   /* per stream, at most tau                                 */
    double *stream_ups;  /* per stream: its throughput                              */
    uint32_t *stream_of; /* per worker; UINT32_MAX when left out                    */
    enum cv_left_why *reason; /* per worker                                          */
};

/* There are streams, and tau, ratio, theta and margins are good. Fails when memory is short.
 * A choice without workers is not a failure. */
enum cleave_status cv_stream_select(const struct cv_stream_task *task,
                                    struct cv_arena *arena, struct cv_stream_choice *out,
                                    struct cleave_error *err);

struct cv_stream_field;
struct cv_stream_set;

/* Replace the clusters of a choice by others of the same workers and streams, each put
 * into its best order. The bound stays what it was, or is raised to the throughput. */
enum cleave_status cv_choice_replace(struct cv_stream_field *field,
                                     struct cv_stream_set *set, struct cv_arena *arena,
                                     struct cv_stream_choice *choice,
                                     struct cleave_error *err);

#define CV_PERIOD_SHARE 0.95

/* The period for a task, whose tau is not read. Fails with CLEAVE_EINPUT when no worker
 * can be served in rounds of any length. */
enum cleave_status cv_stream_period(const struct cv_stream_task *task, double *out_s,
                                    struct cleave_error *err);

/* As cv_stream_select; demands[m] > 0 per stream, and `tolerance` in 0..1. */
enum cleave_status cv_stream_select_demand(const struct cv_stream_task *task,
                                           const double *demands, double tolerance,
                                           struct cv_arena *arena,
                                           struct cv_stream_choice *out,
                                           struct cleave_error *err);

#endif
