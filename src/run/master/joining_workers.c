/* joining_workers.c -- hosts that come and go while it runs. SPDX-License-Identifier: MIT */
#include "run/master/joining_workers.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "run/master/chunk_start.h"
#include "run/master/worker_setup.h"
#include "run/master/open_chunks.h"

/* Places and desks for one that had none. */
static bool settle(struct cv_exec_run *run, struct cv_host *host)
{
    struct cleave_error err;
    enum cleave_status status = cv_worker_pool_bind_slot(&run->pool, host, &err);

    if (status == CLEAVE_EREFUSED) {
        snprintf(host->reason, sizeof host->reason, "%.390s", err.text);
        run->pool.hosts.nready--;
        cv_host_leave_out(host);
        return false;
    }
    if (host->words == NULL)
        cv_hosts_note(&run->pool.hosts, "%s: %s has joined, with %u slot%s", host->name,
                      host->machine, host->slots, host->slots == 1 ? "" : "s");
    for (uint32_t i = 0; status == CLEAVE_OK && i < host->slots; i++)
        status = cv_chunks_bind_slot(run, host->first + i, &err);
    if (status != CLEAVE_OK)
        cv_event_queue_fail(&run->events, &err);
    return status == CLEAVE_OK;
}

void cv_joining_workers_changed(void *context, struct cv_host *host)
{
    struct cv_exec_run *run = context;

    if (!run->queue.open || host->state != CV_HOST_READY)
        return;
    if (host->first == CV_HOST_NOWHERE && !settle(run, host))
        return;
    /* One that came too late for a policy that takes nobody has no place. */
    for (uint32_t i = 0; i < host->slots && cv_worker_pool_has(&run->pool, host); i++)
        cv_event_queue_push(&run->events,
                            (struct cleave_event){ .kind = CLEAVE_CAME,
                                                   .worker = host->first + i });
}

/* Ask again for hosts: those that join take places that nobody had, when they are ready. */
static enum cleave_status take_on(struct cv_exec_run *run, struct cleave_error *err)
{
    run->rehost = false;
    CV_TRY(cv_worker_setup_again(&run->pool, run->request, err));
    cv_worker_health_clear_backoff(&run->pool.health);
    return CLEAVE_OK;
}

/* Those that are to leave do as soon as they have ended what they have. */
static void let_go(struct cv_exec_run *run)
{
    const struct cv_hosts *hosts = &run->pool.hosts;

    for (size_t i = 0; hosts->nleaving > 0 && i < hosts->count; i++) {
        struct cv_host *host = hosts->items[i];
        bool busy = false;

        if (!host->leaving)
            continue;
        for (uint32_t k = 0; k < host->slots && host->first != CV_HOST_NOWHERE; k++) {
            cv_open_chunks_end_one(run, host->first + k);
            busy = busy || cv_desks_busy(&run->table, host->first + k);
        }
        if (!busy)
            cv_host_release(host);
    }
}

static void hosts_changed(void *context)
{
    struct cv_exec_run *run = context;

    run->rehost = true;
}

static enum cleave_status watch_hosts(struct cv_joining_workers *joining,
                                      struct cv_exec_run *run, struct cleave_error *err)
{
    if (run->request->hosts.watched == NULL || run->request->hosts.more == NULL)
        return CLEAVE_OK;
    joining->file = (struct cv_file_watch){ .poller = run->poller,
                                            .path = run->request->hosts.watched,
                                            .changed = hosts_changed,
                                            .context = run };
    return cv_file_watch_open(&joining->file, err);
}

/* Somebody has come by the socket. */
static void has_come(void *context, int fd)
{
    struct cv_joining_workers *joining = context;
    struct cv_exec_run *run = joining->run;
    struct cv_host *host;
    struct cleave_error err;
    char name[32];

    snprintf(name, sizeof name, "join%u", ++joining->came);
    if (cv_hosts_add(&run->pool.hosts, &(struct cleave_host){ .name = name, .link = fd },
                     CV_HOST_NOWHERE, &host, &err) != CLEAVE_OK)
        cv_event_queue_fail(&run->events, &err);
    else
        cv_host_connect(host);
}

static void is_full(void *context, int reason)
{
    struct cv_joining_workers *joining = context;

    if (joining->full)
        return;
    joining->full = true;
    cv_hosts_note(&joining->run->pool.hosts,
                  "nobody can join for now: %s%s; those who wait are tried again",
                  strerror(reason), reason == EMFILE ? " (ulimit -n says how many)" : "");
}

static enum cleave_status open_port(struct cv_joining_workers *joining,
                                    struct cleave_error *err)
{
    struct cv_exec_run *run = joining->run;

    if (run->request->hosts.join_path == NULL)
        return CLEAVE_OK;
    joining->port = (struct cv_join_port){ .poller = run->poller,
                                           .path = run->request->hosts.join_path,
                                           .joined = has_come,
                                           .full = is_full,
                                           .context = joining };
    return cv_join_port_open(&joining->port, err);
}

enum cleave_status cv_joining_workers_open(struct cv_joining_workers *joining,
                                           struct cv_exec_run *run,
                                           struct cleave_error *err)
{
    const struct cv_hosts *hosts = &run->pool.hosts;

    for (size_t i = 0; i < hosts->count; i++) /* ready since places were given out */
        if (hosts->items[i]->first == CV_HOST_NOWHERE)
            cv_joining_workers_changed(run, hosts->items[i]);
    joining->run = run;
    CV_TRY(open_port(joining, err));
    return watch_hosts(joining, run, err);
}

void cv_joining_workers_close(struct cv_joining_workers *joining)
{
    cv_file_watch_close(&joining->file);
    cv_join_port_close(&joining->port);
}

enum cleave_status cv_joining_workers_poll(struct cv_exec_run *run,
                                           struct cleave_error *err)
{
    if (run->rehost)
        CV_TRY(take_on(run, err));
    let_go(run);
    return CLEAVE_OK;
}
