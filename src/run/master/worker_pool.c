/* worker_pool.c -- the workers of a run, on this machine and on hosts.
 * SPDX-License-Identifier: MIT */
#include "run/master/worker_pool.h"

#include <string.h>

bool cv_worker_pool_there(const struct cv_worker_pool *pool, uint32_t worker)
{
    const struct cv_host *host = pool->host_of[worker];

    return host != NULL ? host->state == CV_HOST_READY && !host->leaving
                        : !pool->absent[worker];
}

bool cv_worker_pool_has_any(const struct cv_worker_pool *pool)
{
    for (uint32_t w = 0; w < pool->nworkers; w++)
        if (cv_worker_pool_there(pool, w))
            return true;
    return false;
}

uint32_t cv_worker_pool_domain(const struct cv_worker_pool *pool, uint32_t worker)
{
    return pool->host_of[worker] != NULL
               ? pool->host_of[worker]->first
               : worker - worker % cv_hosts_window(&pool->hosts);
}

const char *cv_worker_pool_domain_name(const struct cv_worker_pool *pool, uint32_t domain)
{
    return pool->host_of[domain] != NULL ? pool->host_of[domain]->name
                                         : pool->names[domain];
}

static bool trusts(const struct cv_worker_pool *pool, uint32_t worker)
{
    return cv_worker_pool_there(pool, worker) &&
           !cv_worker_health_in_backoff(&pool->health,
                                        cv_worker_pool_domain(pool, worker));
}

bool cv_worker_pool_serves(const struct cv_worker_pool *pool, uint32_t worker)
{
    return trusts(pool, worker) && !cv_worker_health_is_postponed(&pool->health, worker);
}

void cv_worker_pool_end_backoff(struct cv_worker_pool *pool)
{
    for (uint32_t w = 0; w < pool->nworkers && pool->health.nresting > 0; w++)
        if (trusts(pool, w)) /* maybe it rests for a moment */
            return;
    if (pool->health.nresting > 0 && cv_worker_pool_has_any(pool) &&
        !cv_hosts_connecting(&pool->hosts))
        cv_worker_health_clear_backoff(&pool->health);
}

bool cv_worker_pool_has(const struct cv_worker_pool *pool, const struct cv_host *host)
{
    return host->first == CV_HOST_NOWHERE || pool->host_of[host->first] == host;
}

enum cleave_status cv_worker_pool_name(struct cv_worker_pool *pool, uint32_t place,
                                       struct cleave_error *err)
{
    const struct cv_host *host = pool->host_of[place];
    char name[CV_HOST_NAME_ROOM];

    pool->names[place] =
        cv_arena_text(pool->arena, cv_host_worker_name(host, place - host->first, name));
    return pool->names[place] != NULL ? CLEAVE_OK : cv_fail_memory(err, "the workers");
}

static bool is_taken(const struct cv_worker_pool *pool, const char *name)
{
    for (uint32_t w = 0; w < pool->first_spare; w++)
        if (strcmp(pool->names[w], name) == 0)
            return true;
    return false;
}

/* A departed host that had joined with as many slots; NULL: there is none. */
static struct cv_host *find_gone(const struct cv_worker_pool *pool, uint32_t slots)
{
    for (size_t i = 0; i < pool->hosts.count; i++) {
        struct cv_host *host = pool->hosts.items[i];

        if (host->state == CV_HOST_OUT && host->words == NULL && host->slots == slots &&
            host->first != CV_HOST_NOWHERE && host->first < pool->health.count &&
            !pool->health.items[host->first].out)
            return host;
    }
    return NULL;
}

/* Worker numbers for a host: unused ones, else those of a departed host. */
static enum cleave_status find_places(struct cv_worker_pool *pool,
                                      const struct cv_host *host, uint32_t *out,
                                      struct cleave_error *err)
{
    struct cv_host *gone;

    if (host->slots <= pool->nworkers - pool->first_spare) {
        *out = pool->first_spare;
        pool->first_spare += host->slots;
        return CLEAVE_OK;
    }
    gone = find_gone(pool, host->slots);
    if (gone == NULL)
        return cv_fail(err, CLEAVE_EREFUSED, "there is no place left for its %u slots",
                       host->slots);
    *out = gone->first;
    gone->first = CV_HOST_NOWHERE;
    return CLEAVE_OK;
}

enum cleave_status cv_worker_pool_bind_slot(struct cv_worker_pool *pool,
                                            struct cv_host *host,
                                            struct cleave_error *err)
{
    char name[CV_HOST_NAME_ROOM];

    for (uint32_t i = 0; i < host->slots; i++)
        if (is_taken(pool, cv_host_worker_name(host, i, name)))
            return cv_fail(err, CLEAVE_EREFUSED, "another worker is called '%s'", name);
    CV_TRY(find_places(pool, host, &host->first, err));
    for (uint32_t i = 0; i < host->slots; i++) {
        pool->host_of[host->first + i] = host;
        CV_TRY(cv_worker_pool_name(pool, host->first + i, err));
    }
    return CLEAVE_OK;
}

enum cleave_status cv_worker_pool_check(const struct cv_worker_pool *pool,
                                        struct cleave_error *err)
{
    const struct cv_hosts *hosts = &pool->hosts;

    if (hosts->count == 0 || cv_hosts_any_hope(hosts) || cv_worker_pool_has_any(pool))
        return CLEAVE_OK;
    return cv_fail(err, CLEAVE_ELOST, "all hosts are lost; the last one: %s: %s",
                   hosts->items[hosts->count - 1]->name,
                   hosts->items[hosts->count - 1]->reason);
}

/* Sums are kept up to date, because they are read at every event. */
void cv_worker_pool_started(struct cv_worker_pool *pool, uint32_t worker, double start_s)
{
    pool->tallies[worker].starts++;
    pool->tallies[worker].starts_s += start_s;
    pool->all.starts++;
    pool->all.starts_s += start_s;
}

void cv_worker_pool_was_busy(struct cv_worker_pool *pool, uint32_t worker, double units,
                             double busy_s)
{
    pool->tallies[worker].units += units;
    pool->tallies[worker].busy_s += busy_s;
    pool->all.units += units;
    pool->all.busy_s += busy_s;
}

double cv_worker_pool_start_s(const struct cv_worker_pool *pool)
{
    return pool->all.starts > 0 ? pool->all.starts_s / (double)pool->all.starts : 0;
}

double cv_worker_pool_speed(const struct cv_worker_pool *pool)
{
    const double work_s = pool->all.busy_s - pool->all.starts_s;

    return work_s > 0 ? pool->all.units / work_s : 0;
}
