/* worker_setup.c -- finds the workers of a run, and lets hosts join and leave.
 * SPDX-License-Identifier: MIT */
#include "run/master/worker_setup.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cleave/trace.h>
#include "base/fail.h"
#include "base/shell_word.h"
#include "model/platform/generate.h"
#include "model/platform/platform_internal.h"
#include "policy/common/reserved_workers.h"
#include "run/common/machine.h"
#include "run/hosts/hosts.h"
#include "run/slot/persistent_slot.h"
#include "run/master/exec_run.h"
#include "run/master/result_sink.h"
#include "run/master/run_policy.h"
#include "run/common/request_check.h"

/* Reserved indices for hosts that may join: if any host can, and otherwise. An unused
 * one takes about 700 bytes. */
enum { SPARE_MANY = 65536, SPARE = 4096 };

void cv_worker_setup_init(struct cv_worker_setup *setup)
{
    *setup = (struct cv_worker_setup){ .ncommands = 0 };
    cv_arena_init(&setup->arena);
}

void cv_worker_setup_done(struct cv_worker_setup *setup)
{
    for (uint32_t w = 0; setup->commands != NULL && w < setup->ncommands; w++)
        cv_command_done(&setup->commands[w]);
    free(setup->commands);
    cleave_platform_free(setup->platform);
    cleave_platform_free(setup->nominal);
    cv_arena_done(&setup->arena);
}

uint32_t cv_worker_setup_count(const struct cleave_execution *request)
{
    if (request->workers.platform != NULL)
        return cleave_platform_nworkers(request->workers.platform);
    return request->workers.count > 0 ? request->workers.count
                                      : (uint32_t)cv_usable_cores();
}

/* --- places ------------------------------------------------------------------------------- */

/* Indices of a run while they are assigned. */
struct places {
    const struct cleave_platform *request;
    uint32_t nasked, count, nspare;
    struct cv_host **hosts; /* per requested worker */
    uint32_t *asked_of;     /* per index: the requested worker */
    struct cv_patience patience;
};

static enum cleave_status ask_platform(struct cv_worker_setup *setup,
                                       const struct cleave_execution *request,
                                       const struct cleave_platform **out,
                                       struct cleave_error *err)
{
    *out = request->workers.platform;
    if (request->workers.platform != NULL)
        return CLEAVE_OK;
    CV_TRY(cv_nominal_platform(CV_NOMINAL_HERE, NULL, cv_worker_setup_count(request),
                               &setup->nominal, err));
    *out = setup->nominal;
    return CLEAVE_OK;
}

static bool takes_joiners(const struct cleave_execution *request)
{
    const struct cleave_policy *policy;

    return cv_run_policy_find(&request->policy, &policy, NULL) == CLEAVE_OK &&
           policy->takes_joiners;
}

static enum cleave_status reach_hosts(struct cv_worker_pool *pool,
                                      const struct cleave_execution *request,
                                      const int *stopped_by, struct places *places,
                                      struct cleave_error *err)
{
    bool others = false;

    for (size_t i = 0; i < request->hosts.count; i++) {
        const struct cleave_host *host = &request->hosts.list[i];
        struct cv_host *added;

        const uint32_t stands = host->slots > 0 ? host->slots : 1;

        if (host->first >= places->nasked || stands > places->nasked - host->first)
            return cv_fail(err, CLEAVE_EINPUT, "host '%s' has no workers", host->name);
        CV_TRY(cv_hosts_add(&pool->hosts, host,
                            host->slots > 0 ? host->first : CV_HOST_NOWHERE, &added,
                            err));
        for (uint32_t k = 0; k < stands; k++)
            places->hosts[host->first + k] = added;
    }
    CV_TRY(cv_hosts_describe(&pool->hosts, err));
    for (uint32_t w = 0; w < places->nasked; w++)
        others = others || places->hosts[w] == NULL;
    pool->hosts.local_workers = others;
    return cv_hosts_connect(&pool->hosts, &places->patience, others, stopped_by, err);
}

/* Indices of a requested worker: one for each chunk that its command may hold. A host that
 * has not reported its number of slots has none, and gets its indices later. */
static uint32_t stands_for(const struct cv_hosts *hosts, const struct cv_host *host)
{
    return host == NULL || !host->asks ? cv_hosts_window(hosts) : host->slots;
}

/* Whether a host may come that has no index yet. */
static bool any_nowhere(const struct cv_hosts *hosts)
{
    for (size_t i = 0; i < hosts->count; i++)
        if (hosts->items[i]->slots == 0)
            return true;
    return false;
}

static enum cleave_status choose_places(struct cv_worker_setup *setup,
                                        const struct cv_hosts *hosts,
                                        const struct cleave_execution *request,
                                        struct places *places, struct cleave_error *err)
{
    const bool all = takes_joiners(request);
    size_t max = (size_t)places->nasked * cv_hosts_window(hosts);
    bool anybody = false;

    for (size_t i = 0; i < hosts->count; i++)
        max += hosts->items[i]->slots;
    places->asked_of = cv_array(&setup->arena, max, sizeof *places->asked_of);
    if (places->asked_of == NULL)
        return cv_fail_memory(err, "the workers");
    for (uint32_t w = 0; w < places->nasked; w++) {
        struct cv_host *host = places->hosts[w];
        const bool there = host == NULL || host->state == CV_HOST_READY;
        const uint32_t stands = stands_for(hosts, host);

        if (places->count + stands > CLEAVE_MAX_WORKERS)
            return cv_fail(err, CLEAVE_EINPUT,
                           "command.window: expected at most %u chunks in all workers, "
                           "got more",
                           CLEAVE_MAX_WORKERS);
        anybody = anybody || there;
        if (there || all)
            for (uint32_t i = 0; i < stands; i++)
                places->asked_of[places->count++] = w;
        else /* no index would be free for it */
            cv_host_leave_out(host);
    }
    if (!anybody && hosts->count == 1)
        return cv_fail(err, CLEAVE_EENGINE, "the host cannot be used: %s: %s",
                       hosts->items[0]->name, hosts->items[0]->reason);
    if (!anybody)
        return cv_fail(err, CLEAVE_EENGINE,
                       "none of %zu hosts can be used; the first one: %s: %s",
                       hosts->count, hosts->items[0]->name, hosts->items[0]->reason);
    if (all &&
        (request->hosts.more != NULL || cv_has_join_port(request) || any_nowhere(hosts)))
        places->nspare = cv_has_join_port(request) || request->hosts.watched != NULL
                             ? SPARE_MANY
                             : SPARE;
    return CLEAVE_OK;
}

/* --- commands and platform ------------------------------------------------------------- */

/* Split the prefix of a worker into arguments: "nice -n 19" becomes three. NULL: none. */
static enum cleave_status prefix_words(const char *text, struct cv_arena *arena,
                                       const char *const **out, struct cleave_error *err)
{
    struct cv_words words = { .arena = arena };

    *out = NULL;
    if (text == NULL)
        return CLEAVE_OK;
    cv_words_split(&words, text);
    *out = cv_words_done(&words);
    return *out != NULL ? CLEAVE_OK : cv_fail_memory(err, "the commands");
}

static enum cleave_status make_command(struct cv_worker_setup *setup,
                                       struct cv_worker_pool *pool,
                                       const struct cleave_execution *request,
                                       uint32_t place, uint32_t worker,
                                       struct cleave_error *err)
{
    const uint32_t window = cv_hosts_window(&pool->hosts);
    char slot[16];

    CV_TRY(prefix_words(request->workers.prefixes != NULL
                            ? request->workers.prefixes[worker]
                            : NULL,
                        &setup->arena, &pool->prefixes[place], err));
    CV_TRY(cv_command_init(&setup->commands[place], pool->prefixes[place],
                           request->command, err));
    snprintf(slot, sizeof slot, "%u", place / window + 1);
    CV_TRY(cv_command_set(&setup->commands[place], "CLEAVE_SLOT", slot, err));
    CV_TRY(cv_window_tell(&setup->commands[place], request->window, err));
    return cv_command_set(&setup->commands[place], "CLEAVE_WORKER", pool->names[place],
                          err);
}

/* Assign an index to a requested worker. */
static enum cleave_status take_place(struct cv_worker_setup *setup,
                                     struct cv_worker_pool *pool,
                                     const struct cleave_execution *request,
                                     const struct places *places, uint32_t place,
                                     struct cleave_error *err)
{
    const uint32_t worker = places->asked_of[place];
    struct cv_host *host = places->hosts[worker];
    const uint32_t window = cv_hosts_window(&pool->hosts);
    char name[300];

    pool->host_of[place] = host;
    pool->names[place] = cleave_platform_worker_name(places->request, worker);
    pool->hosts.local_workers = pool->hosts.local_workers || host == NULL;
    if (host == NULL && window > 1) {
        snprintf(name, sizeof name, "%.280s.%u", pool->names[place], place % window);
        pool->names[place] = cv_arena_text(&setup->arena, name);
        if (pool->names[place] == NULL)
            return cv_fail_memory(err, "the workers");
    }
    if (host == NULL)
        return make_command(setup, pool, request, place, worker, err);
    if (place == 0 || pool->host_of[place - 1] != host)
        host->first = place;
    return host->asks || window > 1 ? cv_worker_pool_name(pool, place, err) : CLEAVE_OK;
}

/* Bind the local workers to cores, in order. */
static enum cleave_status pin_commands(struct cv_worker_setup *setup,
                                       const struct cv_worker_pool *pool,
                                       enum cleave_pin how, uint32_t count,
                                       struct cleave_error *err)
{
    cpu_set_t *pins = cv_array(&setup->arena, (size_t)count + 1, sizeof *pins);
    const uint32_t window = cv_hosts_window(&pool->hosts);
    uint32_t here = 0;

    if (pins == NULL)
        return cv_fail_memory(err, "the workers");
    for (uint32_t p = 0; p < count; p++)
        if (pool->host_of[p] == NULL)
            setup->commands[p].cpus = &pins[here++ / window];
    return cv_cpu_affinity_here(how, here / window, pins, err);
}

/* The costs of an unused index, for the policy. */
static struct cleave_worker empty_place(const struct cv_worker_setup *setup,
                                        const struct cv_host *host)
{
    return setup->begins_early && host != NULL && host->state <= CV_HOST_GREETED
               ? cv_arriving_input_place()
               : cv_reserved_worker();
}

/* The platform of all indices; unused ones are reserved. */
static enum cleave_status build_platform(struct cv_worker_setup *setup,
                                         const struct cv_worker_pool *pool,
                                         enum cleave_port port, struct cleave_error *err)
{
    struct cleave_worker *workers = calloc(pool->nworkers, sizeof *workers);
    struct cv_group *groups = calloc(pool->nworkers, sizeof *groups);
    enum cleave_status status;

    for (uint32_t p = 0; workers != NULL && groups != NULL && p < pool->nworkers; p++) {
        groups[p] = (struct cv_group){ .name = pool->names[p], .count = 1 };
        workers[p] = cv_worker_pool_there(pool, p) ? setup->kinds[p]
                                                   : empty_place(setup, pool->host_of[p]);
    }
    status = workers != NULL && groups != NULL
                 ? cv_platform_build(port, workers, groups, pool->nworkers,
                                     &setup->platform, NULL, err)
                 : cv_fail_memory(err, "the workers");
    free(workers);
    free(groups);
    return status;
}

static enum cleave_status make_platform(struct cv_worker_setup *setup,
                                        const struct cv_worker_pool *pool,
                                        const struct places *places,
                                        struct cleave_error *err)
{
    const struct cleave_worker *known = cleave_platform_workers(places->request);

    setup->kinds = cv_array(&setup->arena, pool->nworkers, sizeof *setup->kinds);
    if (setup->kinds == NULL)
        return cv_fail_memory(err, "the workers");
    for (uint32_t p = 0; p < pool->nworkers; p++)
        setup->kinds[p] = known[p < places->count ? places->asked_of[p] : 0];
    return build_platform(setup, pool, cleave_platform_port(places->request), err);
}

enum cleave_status cv_worker_setup_refresh(struct cv_worker_setup *setup,
                                           struct cv_worker_pool *pool,
                                           struct cleave_error *err)
{
    const enum cleave_port port = cleave_platform_port(setup->platform);

    memset(pool->tallies, 0, pool->nworkers * sizeof *pool->tallies);
    pool->all = (struct cv_worker_stats){ 0 };
    cleave_platform_free(setup->platform);
    setup->platform = NULL;
    return build_platform(setup, pool, port, err);
}

static enum cleave_status fill_places(struct cv_worker_setup *setup,
                                      struct cv_worker_pool *pool,
                                      const struct cleave_execution *request,
                                      const struct places *places,
                                      struct cleave_error *err)
{
    const uint32_t n = places->count + places->nspare;
    const uint32_t cores = cv_usable_cores();

    setup->commands = calloc(n, sizeof *setup->commands);
    pool->prefixes = cv_array(&setup->arena, n, sizeof *pool->prefixes);
    pool->names = cv_array(&setup->arena, n, sizeof *pool->names);
    pool->host_of = cv_array(&setup->arena, n, sizeof(struct cv_host *));
    pool->absent = cv_array(&setup->arena, n, sizeof *pool->absent);
    pool->tallies = cv_array(&setup->arena, n, sizeof *pool->tallies);
    if (setup->commands == NULL || pool->prefixes == NULL || pool->names == NULL ||
        pool->host_of == NULL || pool->absent == NULL || pool->tallies == NULL)
        return cv_fail_memory(err, "the workers");
    setup->ncommands = n;
    for (uint32_t p = 0; p < places->count; p++)
        CV_TRY(take_place(setup, pool, request, places, p, err));
    if (request->workers.pin != CLEAVE_PIN_NONE)
        CV_TRY(pin_commands(setup, pool, request->workers.pin, places->count, err));
    for (uint32_t p = places->count; p < n; p++) {
        char name[32];

        snprintf(name, sizeof name, "spare.%u", p - places->count);
        pool->names[p] = cv_arena_text(&setup->arena, name);
        if (pool->names[p] == NULL)
            return cv_fail_memory(err, "the workers");
        pool->absent[p] = true;
    }
    pool->nworkers = n;
    pool->first_spare = places->count;
    pool->asked_of = places->asked_of;
    pool->commands = setup->commands;
    pool->hosts.names = pool->names;
    pool->nfolders = pool->hosts.count == 0 || n < cores ? n : cores;
    return make_platform(setup, pool, places, err);
}

enum cleave_status cv_worker_setup_connect(struct cv_worker_setup *setup,
                                           struct cv_worker_pool *pool,
                                           const struct cleave_execution *request,
                                           bool framed, const int *stopped_by,
                                           struct cleave_error *err)
{
    struct places places = { .nasked = cv_worker_setup_count(request) };
    const struct cleave_policy *policy;
    double began_s;
    bool opens;

    if ((request->hosts.listen == NULL) != (request->hosts.key == NULL))
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected both hosts.listen and hosts.key, got one of them");
    if (request->hosts.listen != NULL)
        CV_TRY(cv_tls_program(NULL, 0, err));
    if (cv_has_join_port(request) && !takes_joiners(request))
        return cv_fail(err, CLEAVE_EINPUT,
                       "no host can join a run of policy '%s': expected learn or self",
                       cv_run_policy_name(&request->policy));
    CV_TRY(ask_platform(setup, request, &places.request, err));
    pool->arena = &setup->arena;
    places.hosts = cv_array(&setup->arena, places.nasked, sizeof(struct cv_host *));
    pool->names = cv_array(&setup->arena, places.nasked, sizeof *pool->names);
    if (places.hosts == NULL || pool->names == NULL)
        return cv_fail_memory(err, "the workers");
    for (uint32_t w = 0; w < places.nasked; w++)
        pool->names[w] = cleave_platform_worker_name(places.request, w);
    pool->hosts.names = pool->names;
    pool->hosts.one_port = cleave_platform_port(places.request) != CLEAVE_PORT_MULTI;
    CV_TRY(cv_run_policy_find(&request->policy, &policy, err));
    opens = cv_request_may_open(request, places.nasked, framed) &&
            !cv_result_sink_apart(request);
    places.patience = cv_connect_wait_of(places.request, policy);
    setup->begins_early =
        opens && policy->opens_chunks && cv_connect_wait_is_short(&places.patience);
    began_s = cv_clock_s();
    CV_TRY(reach_hosts(pool, request, stopped_by, &places, err));
    pool->connect_s = pool->hosts.count > 0 ? cv_clock_s() - began_s : 0;
    pool->cpu_s = cv_cpu_clock_s();
    CV_TRY(choose_places(setup, &pool->hosts, request, &places, err));
    return fill_places(setup, pool, request, &places, err);
}

/* --- hosts that join or depart --------------------------------------------------------- */

static struct cv_host *find_host(const struct cv_hosts *hosts, const char *name)
{
    for (size_t i = 0; i < hosts->count; i++)
        if (strcmp(hosts->items[i]->name, name) == 0)
            return hosts->items[i];
    return NULL;
}

static enum cleave_status let_join(struct cv_worker_pool *pool,
                                   const struct cleave_host *request,
                                   struct cleave_error *err)
{
    struct cv_host *host;

    if (request->leads && !pool->hosts.leads) {
        cv_hosts_note(
            &pool->hosts,
            "%s: leads others, and cannot join a run that began without leaders",
            request->name);
        return CLEAVE_OK;
    }
    CV_TRY(cv_hosts_add(&pool->hosts, request, CV_HOST_NOWHERE, &host, err));
    cv_host_connect(host);
    return CLEAVE_OK;
}

/* Let hosts depart that are not in `more`, unless they joined by themselves. */
static void let_leave(struct cv_worker_pool *pool, const struct cleave_more_hosts *more)
{
    for (size_t i = 0; i < pool->hosts.count; i++) {
        struct cv_host *host = pool->hosts.items[i];
        size_t at = 0;

        while (at < more->nhosts && strcmp(more->hosts[at].name, host->name) != 0)
            at++;
        if (at == more->nhosts && host->words != NULL)
            cv_host_dismiss(host);
    }
}

/* Read the list of hosts again: new ones join, excluded ones are tried again, and
 * those that were removed depart. */
static enum cleave_status worker_setup_again(struct cv_worker_pool *pool,
                                             const struct cleave_execution *request,
                                             struct cleave_error *err)
{
    struct cleave_more_hosts more = { NULL, 0 };
    struct cleave_error note;

    if (request->hosts.more(request->listener.context, &more, &note) != CLEAVE_OK) {
        cv_hosts_note(&pool->hosts, "cannot read the hosts again: %s", note.text);
        return CLEAVE_OK;
    }
    for (size_t i = 0; i < more.nhosts; i++) {
        struct cv_host *host = find_host(&pool->hosts, more.hosts[i].name);

        if (host != NULL)
            cv_host_keep(host);
        if (host == NULL)
            CV_TRY(let_join(pool, &more.hosts[i], err));
        else if (host->state == CV_HOST_OUT && host->words != NULL &&
                 cv_worker_pool_has(pool, host)) {
            host->tries = 0;
            cv_host_connect(host);
        }
    }
    let_leave(pool, &more);
    return CLEAVE_OK;
}

/* Indices in use, and those that occur in the trace. */
static uint32_t count_places(const struct cv_worker_pool *pool,
                             const struct cleave_trace *trace)
{
    const size_t count = trace != NULL ? cleave_trace_count(trace) : 0;
    uint32_t n = pool->first_spare;

    for (size_t i = 0; i < count; i++) {
        const struct cleave_entry *entry = cleave_trace_at(trace, i);

        if (entry->is_order && entry->as.order.worker >= n)
            n = entry->as.order.worker + 1;
    }
    return n;
}

enum cleave_status cv_worker_setup_platform(const struct cv_worker_setup *setup,
                                            const struct cv_worker_pool *pool,
                                            const struct cleave_trace *trace,
                                            struct cleave_platform **out,
                                            struct cleave_error *err)
{
    const uint32_t n = count_places(pool, trace);
    const struct cleave_worker *workers = cleave_platform_workers(setup->platform);
    struct cv_group *groups = calloc(n, sizeof *groups);
    enum cleave_status status;

    if (groups == NULL)
        return cv_fail_memory(err, "the platform");
    for (uint32_t p = 0; p < n; p++)
        groups[p] = (struct cv_group){ .name = pool->names[p], .count = 1 };
    status = cv_platform_build(cleave_platform_port(setup->platform), workers, groups, n,
                               out, NULL, err);
    free(groups);
    return status;
}

/* --- changes during the run ------------------------------------------------------------ */

/* Assign indices and attempts to a host that had none. */
static bool settle(struct cv_exec_run *run, struct cv_host *host)
{
    const uint32_t slots = host->slots / cv_hosts_window(&run->pool.hosts);
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
                      host->machine, slots, slots == 1 ? "" : "s");
    for (uint32_t i = 0; status == CLEAVE_OK && i < host->slots; i++)
        status = cv_chunks_bind_slot(run, host->first + i, &err);
    if (status != CLEAVE_OK)
        cv_event_queue_fail(&run->events, &err);
    return status == CLEAVE_OK;
}

/* The policy may have stopped using a worker that is available again. */
void cv_joining_workers_changed(void *context, struct cv_host *host)
{
    struct cv_exec_run *run = context;

    if (!run->queue.open || host->state != CV_HOST_READY)
        return;
    if (host->first == CV_HOST_NOWHERE && !settle(run, host))
        return;
    /* A host that came too late for the policy has no index. */
    for (uint32_t i = 0; i < host->slots && cv_worker_pool_has(&run->pool, host); i++)
        cv_event_queue_push(&run->events,
                            (struct cleave_event){ .kind = CLEAVE_CAME,
                                                   .worker = host->first + i });
}

/* Read the list of hosts again; new hosts get indices when they are connected. */
static enum cleave_status take_on(struct cv_exec_run *run, struct cleave_error *err)
{
    run->rehost = false;
    CV_TRY(worker_setup_again(&run->pool, run->request, err));
    cv_worker_health_clear_backoff(&run->pool.health);
    return CLEAVE_OK;
}

/* Departing hosts are closed when they have finished their chunks. */
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
            busy = busy || cv_attempt_table_is_busy(&run->table, host->first + k);
        }
        if (!busy && cv_link_pending(&host->link) == 0 &&
            !cv_result_sink_holds(run->results, host))
            cv_host_release(host);
    }
}

static void hosts_changed(void *context)
{
    struct cv_exec_run *run = context;

    run->rehost = true;
}

static void watch_hosts(struct cv_joining_workers *joining, struct cv_exec_run *run)
{
    if (run->request->hosts.watched == NULL || run->request->hosts.more == NULL)
        return;
    joining->file = (struct cv_file_watch){ .poller = run->poller,
                                            .path = run->request->hosts.watched,
                                            .changed = hosts_changed,
                                            .context = run };
    cv_file_watch_open(&joining->file);
}

/* A worker has connected to the socket of hosts.join_path. */
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
                  "no host can join for now: %s%s; waiting hosts are tried again",
                  strerror(reason), reason == EMFILE ? " (see: ulimit -n)" : "");
}

static void tell(void *context, const char *format, const char *text)
{
    const struct cv_joining_workers *joining = context;

    cv_hosts_note(&joining->run->pool.hosts, format, text);
}

static enum cleave_status open_ports(struct cv_joining_workers *joining,
                                     struct cleave_error *err)
{
    struct cv_exec_run *run = joining->run;
    const struct cleave_host_list *hosts = &run->request->hosts;

    if (hosts->join_path != NULL) {
        joining->port = (struct cv_join_port){ .poller = run->poller,
                                               .path = hosts->join_path,
                                               .joined = has_come,
                                               .full = is_full,
                                               .context = joining };
        CV_TRY(cv_join_port_open(&joining->port, err));
    }
    if (hosts->listen == NULL)
        return CLEAVE_OK;
    joining->tls = (struct cv_tls_port){ .poller = run->poller,
                                         .address = hosts->listen,
                                         .key = hosts->key,
                                         .joined = has_come,
                                         .full = is_full,
                                         .note = tell,
                                         .context = joining };
    return cv_tls_port_open(&joining->tls, err);
}

enum cleave_status cv_joining_workers_open(struct cv_joining_workers *joining,
                                           struct cv_exec_run *run,
                                           struct cleave_error *err)
{
    const struct cv_hosts *hosts = &run->pool.hosts;

    for (size_t i = 0; i < hosts->count; i++) /* connected after indices were assigned */
        if (hosts->items[i]->first == CV_HOST_NOWHERE)
            cv_joining_workers_changed(run, hosts->items[i]);
    joining->run = run;
    CV_TRY(open_ports(joining, err));
    watch_hosts(joining, run);
    return CLEAVE_OK;
}

void cv_joining_workers_close(struct cv_joining_workers *joining)
{
    cv_file_watch_close(&joining->file);
    cv_join_port_close(&joining->port);
    cv_tls_port_close(&joining->tls);
}

enum cleave_status cv_joining_workers_poll(struct cv_exec_run *run,
                                           struct cleave_error *err)
{
    if (run->rehost)
        CV_TRY(take_on(run, err));
    let_go(run);
    return CLEAVE_OK;
}
