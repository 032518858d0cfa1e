/* streams.h -- data streams, each with a master and a cluster of workers of its own.
 * SPDX-License-Identifier: MIT
 *
 * A stream has no known end: its master shares out what comes in, in rounds, by a policy
 * that takes streams (as4dr). Costs are those of the platform, speeds may change by its
 * profiles, and the policy may be told wrong ones. Every master has a port by the rule of
 * the platform; streams do not disturb each other. */
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
    const struct cleave_stream *streams;    /* borrowed; NULL: one of all workers     */
    uint32_t nstreams;
    double horizon_s;       /* when the streams end                                   */
    double rest_s;          /* what each master still holds then: as much as its workers
                               do in this time at declared speeds                     */
    double result_ratio;    /* units of result that come back per unit                */
    double declared_factor; /* declared speeds are the true ones times this; 0: 1     */
    double window_from_s;   /* of the statistics of a window; both 0: the horizon     */
    double window_to_s;
    const struct cleave_setting *settings; /* borrowed: parameters of the policy      */
    size_t nsettings;
    unsigned threads;           /* 0: one per usable core                             */
    struct cleave_trace *trace; /* optional, with one stream: what happens is appended */
    const struct cleave_simgrid *simgrid; /* borrowed; not NULL: SimGrid simulates    */
};

/* Parts of the time of all workers; latencies of computing are busy but not useful. */
struct cleave_stream_use {
    double units;          /* computed                                                */
    double throughput_ups; /* the same per second                                     */
    double useful, busy;
};

/* The rounds of the same number of all workers. */
struct cleave_stream_round {
    double time_s;    /* mean time at which the master knows ...                      */
    double sigma_s;   /* ... how long they take: mean                                 */
    uint32_t workers; /* that had so many rounds                                      */
};

struct cleave_stream_worker {
    uint32_t worker, stream;
    uint32_t rounds;
    double units, useful_s, busy_s;
    double idle_s;        /* between computations               */
    double end_s;         /* of the last computation            */
    double last_load;     /* of the last round                  */
    const char *left_out; /* why it got nothing, or NULL: owned by the result         */
};

struct cleave_stream_result {
    uint32_t nworkers, members;        /* those that took part              */
    double end_s;                      /* when the last result was there    */
    double units_in_time;              /* with results there by the horizon */
    double throughput_ups;             /* the same per second               */
    struct cleave_stream_use window;   /* see the job                       */
    struct cleave_stream_use whole;    /* to the end                        */
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
    /* Sums over the streams, each to its own end; parts are those of all workers. */
    double throughput_ups; /* with results there by the horizon */
    struct cleave_stream_use window, whole;
    double end_s; /* of the last */
    uint64_t contentions;
    const struct cleave_stream_worker *workers; /* stream by stream, in service order */
    uint32_t nworkers;
};

/* Simulate streams until their last results are there. The result depends on the job
 * only, never on the number of threads. */
enum cleave_status cleave_simulate_streams(const struct cleave_stream_job *job,
                                           struct cleave_streams_result **out,
                                           struct cleave_error *err);
void cleave_streams_result_free(struct cleave_streams_result *result);

CLEAVE_END_C
#endif
