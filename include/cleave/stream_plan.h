/* stream_plan.h -- assignment of workers to data streams, with the order of service.
 * SPDX-License-Identifier: MIT
 *
 * Every stream has a master, which serves a cluster of workers in rounds of one length,
 * the period. A worker computes speed (1 - 2 latency / period) units per second; its
 * delay is the time that the ports of its master need before it can be served after its
 * predecessor. The delays of a cluster add up to at most a period. The plan has the
 * clusters of greatest total throughput; docs/theory/streams.md has the formulas. */
#ifndef CLEAVE_STREAM_PLAN_H
#define CLEAVE_STREAM_PLAN_H
#include <cleave/streams.h>

CLEAVE_BEGIN_C

/* How the delay of a worker is computed. */
enum cleave_stream_weights {
    /* from its own messages; the plan chooses the order of service */
    CLEAVE_WEIGHTS_OWN,
    /* as after the worst possible predecessor, as published; wastes up to three
     * quarters of the throughput if links differ */
    CLEAVE_WEIGHTS_RING,
};

/* Division of the throughput among the streams. */
enum cleave_stream_shares {
    CLEAVE_SHARES_LEVEL, /* by demand, as far as that costs no throughput */
    CLEAVE_SHARES_ANY,   /* as the packing happens to be: a stream may get nothing */
};

struct cleave_stream_task {
    const struct cleave_platform
        *platform; /* borrowed                                  */
    uint32_t nstreams;
    /* 0: the shortest period with 95 % of the throughput of an infinite period */
    double period_s;
    double margin;         /* fraction by which delays are lengthened */
    const double *margins; /* replaces `margin`: one per worker, borrowed; NULL: none */
    double theta;          /* fraction of a round that is sent first; 0: 1/2 */
    double result_ratio;   /* units of result that come back per unit                   */
    double declared_factor; /* factor on the speeds of the platform; 0: 1 */
    enum cleave_stream_weights weights;
    enum cleave_stream_shares shares;
    const double *demands; /* one per stream, positive; NULL: equal */
    /* limit for the search: 2e8 is about a second; 0: at most some seconds */
    uint64_t work;
};

struct cleave_plan_worker {
    double delay_s; /* after its predecessor; NAN if the worker is left out */
    double start_s; /* start of its first message; NAN if the worker is left out */
    /* contribution of the worker, also computed for a worker that is left out */
    double throughput_ups;
    /* fraction of a round that is sent first: as requested, or changed so that the
     * worker does not idle */
    double theta;
    uint32_t stream;    /* UINT32_MAX if the worker is left out */
    const char *reason; /* why the worker is left out, or NULL: owned by the plan */
};

struct cleave_plan_stream {
    double throughput_ups;
    double wanted_ups;  /* share of the total throughput, by demand */
    double delay_sum_s; /* at most the period */
};

struct cleave_stream_plan {
    double period_s;
    bool period_chosen;
    double throughput_ups;  /* total of all streams */
    double upper_bound_ups; /* upper bound for all clusters with these weights */
    bool optimal;           /* proved */
    uint32_t selected, nworkers, nstreams;
    double least_share;                   /* least of throughput / wanted            */
    const struct cleave_stream *clusters; /* one per stream, in order of service     */
    const struct cleave_plan_stream *streams; /* one per stream */
    const struct cleave_plan_worker *workers; /* one per worker of the platform */
};

/* On success *out is owned by the caller: cleave_stream_plan_free. A stream without
 * workers is not a failure. */
enum cleave_status cleave_plan_streams(const struct cleave_stream_task *task,
                                       struct cleave_stream_plan **out,
                                       struct cleave_error *err);
void cleave_stream_plan_free(struct cleave_stream_plan *plan);

CLEAVE_END_C
#endif
