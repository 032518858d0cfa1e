/* streams.h -- data streams, each with its own master and cluster of workers.
 * SPDX-License-Identifier: MIT
 *
 * A stream has no known end: its master distributes arriving units in rounds, by a policy
 * that takes streams (as4dr). The platform sets the costs, its profiles may change the
 * speeds, and the speeds declared to the policy may be wrong. Every master has a port by
 * the rule of the platform; streams do not disturb each other. */
#ifndef CLEAVE_STREAMS_H
#define CLEAVE_STREAMS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cleave/platform.h>
#include <cleave/run.h>

CLEAVE_BEGIN_C

/* The workers of a stream in the order of service; a worker serves one stream. */
struct cleave_stream {
    const uint32_t *workers; /* borrowed: places in the platform */
    uint32_t nworkers;
};

struct cleave_stream_job {
    const struct cleave_platform *platform; /* borrowed                               */
    /* borrowed; NULL: one stream with all workers */
    const struct cleave_stream *streams;
    uint32_t nstreams;
    double horizon_s; /* when the streams end                                   */
    /* load that each master still has at the horizon, as the time its workers need for
     * it at declared speeds */
    double rest_s;
    double result_ratio;    /* units of result that come back per unit                */
    double declared_factor; /* declared speed / true speed; 0: 1 */
    double window_from_s;   /* window of the statistics; both 0: the horizon */
    double window_to_s;
    const struct cleave_setting *settings; /* borrowed: parameters of the policy */
    size_t nsettings;
    unsigned threads; /* 0: one per usable core                             */
    /* optional, with one stream only: events and orders are appended */
    struct cleave_trace *trace;
    const struct cleave_simgrid *simgrid; /* borrowed; not NULL: SimGrid simulates    */
};

/* Use of the time of all workers. `useful` and `busy` are fractions; computing latencies
 * count as busy but not as useful. */
struct cleave_stream_use {
    double units;          /* computed                                                */
    double throughput_ups; /* units per second */
    double useful, busy;
};

/* The rounds of the same number of all workers. */
struct cleave_stream_round {
    double time_s;    /* mean time at which the master knows the length of the round */
    double sigma_s;   /* mean length of the round */
    uint32_t workers; /* number of workers with this many rounds */
};

struct cleave_stream_worker {
    uint32_t worker, stream;
    uint32_t rounds;
    double units, useful_s, busy_s;
    double idle_s;        /* between computations               */
    double end_s;         /* end of the last computation */
    double last_load;     /* load of the last round */
    const char *left_out; /* why the worker got nothing, or NULL: owned by the result */
};

struct cleave_stream_result {
    uint32_t nworkers, members;        /* members: workers that took part */
    double end_s;                      /* arrival of the last result */
    double units_in_time;              /* units whose results arrived by the horizon */
    double throughput_ups;             /* units_in_time per second */
    struct cleave_stream_use window;   /* from window_from_s to window_to_s */
    struct cleave_stream_use whole;    /* from the start to end_s */
    double idle_s;                     /* sum over the workers              */
    double wait_send_s, wait_return_s; /* sums over the requests          */
    uint64_t contentions;              /* requests that had to wait for a port */
    uint64_t chunks, events;
    const struct cleave_stream_round *rounds; /* owned by the result      */
    size_t nrounds;
};

struct cleave_streams_result {
    const struct cleave_stream_result *streams; /* owned */
    uint32_t nstreams;
    /* Sums over the streams, each to its own end; fractions refer to all workers. */
    double throughput_ups; /* from units whose results arrived by the horizon */
    struct cleave_stream_use window, whole;
    double end_s; /* end of the last stream */
    uint64_t contentions;
    const struct cleave_stream_worker *workers; /* stream by stream, in service order */
    uint32_t nworkers;
};

/* Simulate streams until their last results have arrived. The result depends on the job
 * only, never on the number of threads. */
enum cleave_status cleave_simulate_streams(const struct cleave_stream_job *job,
                                           struct cleave_streams_result **out,
                                           struct cleave_error *err);
void cleave_streams_result_free(struct cleave_streams_result *result);

CLEAVE_END_C
#endif
