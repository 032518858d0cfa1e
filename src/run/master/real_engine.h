/* real_engine.h -- the engine that really does the work. SPDX-License-Identifier: MIT
 *
 * The driver submits what the policy orders, as in a simulation. A chunk is a piece of the
 * source, cut near the size that was asked for; what is left is what the source says. A
 * command that fails is started again on the same piece, as often as allowed; after that
 * the chunk counts as failed and the run goes on, or halts, as was asked.
 *
 * Workers are slots of this machine or of others (remote_host.h). The chunks of a host that
 * is lost are left again, and the policy is told; for a policy that cannot be told, others
 * stand in for the worker. */
#ifndef CV_REAL_ENGINE_H
#define CV_REAL_ENGINE_H
#include <cleave/execute.h>
#include "engine/engine.h"
#include "run/fold/fold.h"
#include "run/journal/journal.h"
#include "run/kit/time_fit.h"
#include "run/hosts/hosts.h"
#include "run/slot/slot.h"

/* What a worker has done. */
struct cv_tally {
    uint64_t chunks;
    double units, busy_s;
    struct cv_time_fit compute;
    struct cv_time_fit link, back; /* of hosts                                          */
    uint64_t taken_back;           /* chunks that were, before they arrived        */
};

struct cv_real_engine;
struct cv_kept;

/* The `source` of the engine, made by cleave_execute; all is borrowed but what is named
 * owned. */
struct cv_local {
    const struct cleave_execution *execution;
    struct cv_poller *poller;
    struct cv_source *source;
    struct cv_gather *gather;
    struct cv_journal *journal; /* NULL: none                                          */
    struct cv_fold *fold;       /* NULL: outputs are written as they are               */
    struct cv_kept *kept;       /* instead, when they stay with the hosts              */
    uint32_t nfolders;          /* workers that may fold: the first so many            */
    const struct cv_command *commands; /* per worker of this machine                   */
    const char **names;                /* per worker                                   */
    struct cv_host **host_of;          /* per worker: NULL: this machine               */
    bool *absent;                      /* per worker: nobody, unless a host joins       */
    struct cv_hosts hosts;
    struct cv_arena *arena; /* of what lives as long as the run                        */
    uint32_t nworkers, first_spare; /* places from there on are nobody's                */
    bool hears_losses;              /* the policy goes on by itself after a loss       */
    struct cv_real_engine *engine;  /* while it is open                                */
    /* How it went: */
    struct cv_tally *workers; /* per worker                                     */
    uint64_t chunks, retries, failed, resumed, lost;
    double connect_s; /* until hosts were ready                                        */
    double done; /* bytes                                                              */
    uint32_t bad_ends; /* commands that stayed and did not end with status 0            */
    int stopped_by;
    bool rehost; /* the hosts are to be asked for again                                */
    bool halted, output_closed;
    bool reduce_failed; /* the command that reduces did, for good                      */
};

extern const struct cv_engine cv_engine_real;

/* Whether the worker can be given something. */
bool cv_local_there(const struct cv_local *local, uint32_t worker);
/* Fits struct cv_hosts, with the local as context. */
void cv_local_host_changed(void *context, struct cv_host *host);
/* Workers `first` and on, which nobody was, are those of the host from now on. */
enum cleave_status cv_local_join(struct cv_local *local, struct cv_host *host,
                                 struct cleave_error *err);

#endif
