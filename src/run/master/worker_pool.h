/* worker_pool.h -- the workers of a run, on this machine and on hosts.
 * SPDX-License-Identifier: MIT
 *
 * A worker is known by its index in the platform of the run. Indices from `first_spare`
 * are reserved for hosts that may join. */
#ifndef CV_WORKER_POOL_H
#define CV_WORKER_POOL_H
#include "run/failures/worker_health.h"
#include "run/hosts/hosts.h"
#include "run/common/time_fit.h"

struct cv_worker_stats {
    uint64_t chunks, failures;   /* failures: of commands */
    uint64_t later;              /* commands that asked to be run later */
    double units, bytes, busy_s; /* bytes: of finished chunks */
    double
        ended_s; /* end of its last attempt, on the clock of the poller; 0: it had none */
    struct cv_time_fit compute;
    struct cv_time_fit link, back; /* of workers on hosts */
    /* longest transfer of a chunk that was recalled before it arrived */
    double taken_back_s;
    uint64_t starts; /* commands whose first read was seen */
    double starts_s; /* seconds until that read */
};

/* Everything is borrowed except for the hosts. */
struct cv_worker_pool {
    const struct cv_command *commands; /* per local worker */
    const char **names;                /* per worker                                   */
    const char *const **prefixes; /* per worker: arguments before the command, or NULL */
    struct cv_host **host_of;     /* per worker; NULL: this machine */
    const uint32_t *asked_of; /* per worker below first_spare: its index in the request */
    bool *absent;             /* per worker: reserved for a host that may join */
    struct cv_worker_stats *tallies; /* per worker                                   */
    struct cv_worker_stats all;      /* sums over all workers: units, busy_s and starts */
    struct cv_hosts hosts;
    struct cv_worker_health health;
    struct cv_arena *arena; /* lives as long as the run */
    uint32_t nworkers, first_spare;
    uint32_t nfolders; /* the first workers, which may fold */
    double connect_s;  /* seconds until hosts were connected */
    double cpu_s;      /* CPU seconds of the master until then */
};

/* Whether the worker is connected and does not depart; whether any is. */
bool cv_worker_pool_there(const struct cv_worker_pool *pool, uint32_t worker);
bool cv_worker_pool_has_any(const struct cv_worker_pool *pool);
/* The failure domain of a worker (run/failures/worker_health.h), and its name. */
uint32_t cv_worker_pool_domain(const struct cv_worker_pool *pool, uint32_t worker);
const char *cv_worker_pool_domain_name(const struct cv_worker_pool *pool,
                                       uint32_t domain);
/* Whether the worker can get work: it is connected, not in back-off, and does not rest.
 * end_backoff ends all back-offs if no other worker is left. */
bool cv_worker_pool_serves(const struct cv_worker_pool *pool, uint32_t worker);
void cv_worker_pool_end_backoff(struct cv_worker_pool *pool);
/* Whether the host can have workers: it has its own indices, or none yet. */
bool cv_worker_pool_has(const struct cv_worker_pool *pool, const struct cv_host *host);
/* Set the name of a worker to the one its host has. */
enum cleave_status cv_worker_pool_name(struct cv_worker_pool *pool, uint32_t place,
                                       struct cleave_error *err);
/* Give a connected host the first unused indices, or those of a departed one.
 * CLEAVE_EREFUSED: there are too few, or its names are taken. */
enum cleave_status cv_worker_pool_bind_slot(struct cv_worker_pool *pool,
                                            struct cv_host *host,
                                            struct cleave_error *err);
/* Note that a command of the worker has started; that the worker was busy with
 * `units`. */
void cv_worker_pool_started(struct cv_worker_pool *pool, uint32_t worker, double start_s);
void cv_worker_pool_was_busy(struct cv_worker_pool *pool, uint32_t worker, double units,
                             double busy_s);
/* Mean start-up time of commands, and units per second of a worker; 0: unknown. */
double cv_worker_pool_start_s(const struct cv_worker_pool *pool);
double cv_worker_pool_speed(const struct cv_worker_pool *pool);
/* Fails with CLEAVE_ELOST if no worker is connected and none can be. */
enum cleave_status cv_worker_pool_check(const struct cv_worker_pool *pool,
                                        struct cleave_error *err);

#endif
