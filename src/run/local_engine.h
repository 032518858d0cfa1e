/* local_engine.h -- the engine that really does the work, on this machine.
 * SPDX-License-Identifier: MIT
 *
 * The driver submits what the policy orders, as in a simulation. A chunk is a piece of the
 * source, cut near the size that was asked for; what is left is what the source says. A
 * command that fails is started again on the same piece, as often as allowed; after that
 * the chunk counts as failed and the run goes on, or halts, as was asked. */
#ifndef CV_LOCAL_ENGINE_H
#define CV_LOCAL_ENGINE_H
#include <cleave/execute.h>
#include "engine/engine.h"
#include "run/fold.h"
#include "run/journal.h"
#include "run/slot.h"

/* What a worker has done. */
struct cv_local_worker {
    uint64_t chunks;
    double units, busy_s;
    double units2, cross; /* sums of units^2 and of units times seconds, for the fit */
};

/* Time of a chunk = latency + units / speed, fitted to what the worker has done. Speed is 0
 * when it has done nothing. */
void cv_local_fit(const struct cv_local_worker *worker, double *out_latency_s,
                  double *out_speed_ups);

/* The `source` of the engine, made by cleave_execute; all is borrowed but what is named
 * owned. */
struct cv_local {
    const struct cleave_execution *execution;
    struct cv_poller *poller;
    struct cv_source *source;
    struct cv_gather *gather;
    struct cv_journal *journal; /* NULL: none                                          */
    struct cv_fold *fold;       /* NULL: outputs are written as they are               */
    const struct cv_command *commands; /* per worker                                   */
    const char *const *names;          /* per worker                                   */
    uint32_t nworkers;
    /* How it went: */
    struct cv_local_worker *workers; /* per worker                                     */
    uint64_t chunks, retries, failed, resumed;
    double done; /* bytes                                                              */
    uint32_t bad_ends; /* commands that stayed and did not end with status 0            */
    int stopped_by;
    bool halted, output_closed;
    bool reduce_failed; /* the command that reduces did, for good                      */
};

extern const struct cv_engine cv_engine_local;

#endif
