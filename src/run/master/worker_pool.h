/* worker_pool.h -- who works: on this machine and on others. SPDX-License-Identifier: MIT
 *
 * Workers are numbered by their places in the platform of the run. Whoever is on another
 * machine comes and goes with it; places from `first_spare` on are nobody's yet. */
#ifndef CV_WORKER_POOL_H
#define CV_WORKER_POOL_H
#include "run/failures/worker_health.h"
#include "run/hosts/hosts.h"
#include "run/common/time_fit.h"

/* What a worker has done. */
struct cv_worker_stats {
    uint64_t chunks, failures; /* failures: of commands                               */
    double units, busy_s;
    struct cv_time_fit compute;
    struct cv_time_fit link, back; /* of hosts                                         */
    double taken_back_s;           /* longest way of a chunk that was, before it came  */
    uint64_t starts;               /* commands whose first read of input was seen      */
    double starts_s;               /* from their start until then                      */
};

/* All is borrowed but the hosts. */
struct cv_worker_pool {
    const struct cv_command *commands; /* per worker of this machine                   */
    const char **names;                /* per worker                                   */
    const char *const **prefixes;      /* per worker: words before a command, or NULL  */
    struct cv_host **host_of;          /* per worker: NULL: this machine               */
    bool *absent;                      /* per worker: nobody, unless a host joins      */
    struct cv_worker_stats *tallies;   /* per worker                                   */
    struct cv_worker_stats
        all; /* ... and of all: units, busy_s and starts                    */
    struct cv_hosts hosts;
    struct cv_worker_health
        health;             /* owned: whom to believe that a chunk is bad              */
    struct cv_arena *arena; /* of what lives as long as the run                        */
    uint32_t nworkers, first_spare;
    uint32_t nfolders; /* workers that may fold: the first so many                     */
    double connect_s;  /* until hosts were ready                                       */
    double cpu_s;      /* processor time of the master until then                      */
};

/* Whether the worker is there, and is not about to go; whether any is. */
bool cv_worker_pool_there(const struct cv_worker_pool *pool, uint32_t worker);
bool cv_worker_pool_has_any(const struct cv_worker_pool *pool);
/* The party that it belongs to (run/failures/failure_history.h), and its name. */
uint32_t cv_worker_pool_domain(const struct cv_worker_pool *pool, uint32_t worker);
const char *cv_worker_pool_domain_name(const struct cv_worker_pool *pool,
                                       uint32_t domain);
/* Whether the worker can be given something: it is there, and does not rest. If all who are
 * there rest, they are woken. */
bool cv_worker_pool_serves(const struct cv_worker_pool *pool, uint32_t worker);
void cv_worker_pool_end_backoff(struct cv_worker_pool *pool);
/* Whether the host may have workers: those that it has are its own, or it has none yet. */
bool cv_worker_pool_has(const struct cv_worker_pool *pool, const struct cv_host *host);
/* Name the place of a worker as its host does. */
enum cleave_status cv_worker_pool_name(struct cv_worker_pool *pool, uint32_t place,
                                       struct cleave_error *err);
/* Give a host that is ready the first places that nobody has, or those of one that came by
 * itself and has gone. CLEAVE_EREFUSED: there are too few, or others have its names. */
enum cleave_status cv_worker_pool_bind_slot(struct cv_worker_pool *pool,
                                            struct cv_host *host,
                                            struct cleave_error *err);
/* Of a worker: a command was seen to start; it was busy with so many units. */
void cv_worker_pool_started(struct cv_worker_pool *pool, uint32_t worker, double start_s);
void cv_worker_pool_was_busy(struct cv_worker_pool *pool, uint32_t worker, double units,
                             double busy_s);
/* What starts of commands took so far, in the mean, and what commands did in a second; 0: not known. */
double cv_worker_pool_start_s(const struct cv_worker_pool *pool);
double cv_worker_pool_speed(const struct cv_worker_pool *pool);
/* Fails with CLEAVE_ELOST when nobody is there and nobody will be. */
enum cleave_status cv_worker_pool_check(const struct cv_worker_pool *pool,
                                        struct cleave_error *err);

#endif
