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
#include "run/journal.h"
#include "run/slot.h"

/* What a worker has done. */
struct cv_local_worker {
    uint64_t chunks;
    double units, busy_s;
};

/* The `source` of the engine, made by cleave_execute; all is borrowed but what is named
 * owned. */
struct cv_local {
    const struct cleave_execution *execution;
    struct cv_poller *poller;
    struct cv_source *source;
    struct cv_gather *gather;
    struct cv_journal *journal; /* NULL: none                                          */
    const struct cv_command *commands; /* per worker                                   */
    const char *const *names;          /* per worker                                   */
    uint32_t nworkers;
    /* How it went: */
    struct cv_local_worker *workers; /* per worker                                     */
    uint64_t chunks, retries, failed, resumed;
    double done; /* bytes                                                              */
    int stopped_by;
    bool halted, output_closed;
};

extern const struct cv_engine cv_engine_local;

#endif
