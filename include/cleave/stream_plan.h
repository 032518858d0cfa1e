/* stream_plan.h -- which workers serve which of several data streams, in which order.
 * SPDX-License-Identifier: MIT
 *
 * Every stream has a master, which serves a cluster of workers in rounds of one length,
 * the period. A worker computes speed (1 - 2 latency / period) units per second; its
 * delay is what the ports of its master need before it can be served behind the one
 * before it. The delays of a cluster take a period at most. Chosen are the clusters of
 * greatest throughput in all; docs/theory/streams.md has the formulas. */
#ifndef CLEAVE_STREAM_PLAN_H
#define CLEAVE_STREAM_PLAN_H
#include <cleave/streams.h>

CLEAVE_BEGIN_C

/* How the time that a worker takes of its master is reckoned. */
enum cleave_stream_weights {
    CLEAVE_WEIGHTS_OWN,  /* by its own messages; the order of service is chosen  */
    CLEAVE_WEIGHTS_RING, /* behind the worst worker there may be, as published: wastes up
                            to three quarters of the throughput where links differ */
};

/* Which stream gets how much of the throughput. */
enum cleave_stream_shares {
    CLEAVE_SHARES_LEVEL, /* by demand, as far as that costs no throughput       */
    CLEAVE_SHARES_ANY,   /* as the packing comes out: a stream may get nothing  */
};

struct cleave_stream_task {
    const struct cleave_platform
        *platform; /* borrowed                                  */
    uint32_t nstreams;
    double period_s; /* 0: chosen, the shortest that gives 95 % of the throughput
                               of rounds without end */
    double margin;   /* by which part delays are stretched                        */
    const double
        *margins;        /* instead: one per worker, borrowed; NULL: none              */
    double theta;        /* part of a round that is sent first; 0: 1/2                */
    double result_ratio; /* units of result that come back per unit                   */
    double
        declared_factor; /* speeds count as those of the platform times this; 0: 1    */
    enum cleave_stream_weights weights;
    enum cleave_stream_shares shares;
    const double *demands; /* one per stream, positive; NULL: all the same              */
    uint64_t work; /* effort: 2e8 is about a second; 0: some seconds at most     */
};

struct cleave_plan_worker {
    double delay_s; /* behind the one before; NAN when left out                   */
    double start_s; /* of its first post; NAN when left out                       */
    double
        throughput_ups; /* that it gives, or would give                               */
    double theta;       /* part of a round that is sent first: as wanted, or moved so that
                           it does not idle                                           */
    uint32_t stream;    /* UINT32_MAX when left out                                   */
    const char *reason; /* why it is left out, or NULL: owned by the plan             */
};

struct cleave_plan_stream {
    double throughput_ups;
    double wanted_ups; /* its share, by demand, of all that the streams get             */
    double
        delay_sum_s; /* at most the period                                            */
};

struct cleave_stream_plan {
    double period_s;
    bool period_chosen;
    double throughput_ups; /* of all streams                                            */
    double
        upper_bound_ups; /* no clusters have more, with these weights                 */
    bool optimal;        /* proved                                                    */
    uint32_t selected, nworkers, nstreams;
    double least_share;                   /* least of throughput / wanted            */
    const struct cleave_stream *clusters; /* one per stream, in order of service     */
    const struct cleave_plan_stream
        *streams; /* the same                                */
    const struct cleave_plan_worker
        *workers; /* of the platform                         */
};

/* On success *out is owned by the caller: cleave_stream_plan_free. That streams get no
 * workers is not a failure. */
enum cleave_status cleave_plan_streams(const struct cleave_stream_task *task,
                                       struct cleave_stream_plan **out,
                                       struct cleave_error *err);
void cleave_stream_plan_free(struct cleave_stream_plan *plan);

CLEAVE_END_C
#endif
