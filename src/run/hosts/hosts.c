/* hosts.c -- the list of hosts of a run, and how long a run waits for them.
 * SPDX-License-Identifier: MIT */
#include "run/hosts/hosts_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "model/platform/generate.h"
#include "run/input/source.h"

/* For workers and commands that connect to end by themselves. */
enum { GOODBYE_MS = 1000 };

void cv_hosts_init(struct cv_hosts *hosts)
{
    hosts->waiting.end = &hosts->waiting.first;
    cv_arena_init(&hosts->arena);
}

/* The input of a chunk that another worker was first with may be on its way, and a stream that ends
 * within a frame is a fault for the worker. */
static void finish_links(struct cv_hosts *hosts, double until_s)
{
    struct pollfd *waits = calloc(hosts->count, sizeof *waits);
    nfds_t count = 1;

    while (waits != NULL && count > 0 && cv_clock_s() < until_s) {
        count = 0;
        for (size_t i = 0; i < hosts->count; i++)
            if (hosts->items[i]->state == CV_HOST_READY &&
                !cv_link_finish(&hosts->items[i]->link, &waits[count]))
                count++;
        if (count > 0)
            (void)poll(waits, count, 1 + (int)(1000 * fmax(until_s - cv_clock_s(), 0)));
    }
    free(waits);
}

/* End all links at the same time, so that workers end. */
static void close_worker_inputs(struct cv_hosts *hosts)
{
    const double until_s = cv_clock_s() + GOODBYE_MS / 1000.0;

    finish_links(hosts, until_s);
    for (size_t i = 0; i < hosts->count; i++)
        cv_link_close(&hosts->items[i]->link);
    for (size_t i = 0; i < hosts->count; i++) {
        struct cv_host *host = hosts->items[i];
        const double left_s = until_s - cv_clock_s();
        struct pollfd wait = { .fd = host->process.pidfd, .events = POLLIN };

        if (host->process.pid > 0 && host->was_ready)
            (void)poll(&wait, 1, left_s > 0 ? (int)(1000 * left_s) : 0);
    }
}

void cv_hosts_done(struct cv_hosts *hosts)
{
    if (hosts->count > 0)
        close_worker_inputs(hosts);
    cv_poller_cancel(hosts->poller, &hosts->hush);
    cv_hosts_connect_no_more(hosts);
    cv_hosts_tell_rest(hosts);
    for (size_t i = 0; i < hosts->count; i++) {
        cv_host_tell_rest(hosts->items[i]);
        cv_host_done(hosts->items[i]);
    }
    cv_arena_done(&hosts->arena);
    free(hosts->items);
    hosts->items = NULL;
    hosts->files = NULL;
    hosts->count = hosts->room = hosts->nfiles = 0;
}

static enum cleave_status describe_file(struct cv_arena *arena,
                                        const struct cv_input *input,
                                        struct cv_remote_file *out,
                                        struct cleave_error *err)
{
    const int fd = open(input->path, O_RDONLY | O_CLOEXEC);
    enum cleave_status status;

    if (fd < 0)
        return cv_fail(err, CLEAVE_EINPUT, "%s: cannot read: %s", input->path,
                       strerror(errno));
    *out = (struct cv_remote_file){ .path = cv_arena_text(arena, input->path),
                                    .size = (uint64_t)input->size,
                                    .mtime_ns = input->mtime_ns };
    status = out->path == NULL
                 ? cv_fail_memory(err, "the input")
                 : cv_remote_ends(fd, out->size, input->path, &out->ends, err);
    close(fd);
    return status;
}

enum cleave_status cv_hosts_describe(struct cv_hosts *hosts, struct cleave_error *err)
{
    const size_t count = cv_source_inputs(hosts->source);
    bool wanted = false;

    if (hosts->terms.job.items) /* files of items are described one by one */
        return cv_hosts_base(hosts, err);

    for (size_t i = 0; i < hosts->count; i++)
        wanted = wanted || hosts->items[i]->may_share;
    for (size_t i = 0; i < count; i++) {
        const struct cv_input input = cv_source_input(hosts->source, i);

        /* Only this process reads its standard input; hosts fetch their parts anyway. */
        wanted =
            wanted && input.size >= 0 && strcmp(input.path, "-") != 0 && !input.fetched;
        hosts->packed = hosts->packed || input.packed;
    }
    if (!wanted)
        return CLEAVE_OK;
    hosts->files = cv_array(&hosts->arena, count, sizeof *hosts->files);
    if (hosts->files == NULL)
        return cv_fail_memory(err, "the input");
    for (size_t i = 0; i < count; i++) {
        const struct cv_input input = cv_source_input(hosts->source, i);

        hosts->nfiles++;
        CV_TRY(describe_file(&hosts->arena, &input, &hosts->files[i], err));
    }
    return CLEAVE_OK;
}

static const char **copy_words(struct cv_arena *arena, const char *const *words)
{
    size_t count = 0;
    const char **copy;

    while (words[count] != NULL)
        count++;
    copy = cv_array(arena, count + 1, sizeof *copy);
    for (size_t i = 0; copy != NULL && i < count; i++)
        copy[i] = cv_arena_text(arena, words[i]);
    return copy;
}

static bool keep_copies(struct cv_arena *arena, const struct cleave_host *request,
                        struct cv_host *out)
{
    struct cleave_copy *copies = cv_array(arena, request->ncopies, sizeof *copies);

    for (size_t i = 0; copies != NULL && i < request->ncopies; i++) {
        const struct cleave_copy *copy = &request->copies[i];

        copies[i].absent = copy->absent != NULL ? cv_arena_text(arena, copy->absent) : "";
        copies[i].push = copy->push != NULL ? copy_words(arena, copy->push) : NULL;
        copies[i].file = copy->push != NULL ? cv_arena_text(arena, copy->file) : NULL;
        if (copies[i].absent == NULL ||
            (copy->push != NULL && (copies[i].push == NULL || copies[i].file == NULL)))
            return false;
    }
    out->copies = copies;
    out->ncopies = request->ncopies;
    return copies != NULL;
}

enum cleave_status cv_hosts_add(struct cv_hosts *hosts, const struct cleave_host *request,
                                uint32_t first, struct cv_host **out,
                                struct cleave_error *err)
{
    struct cv_host **grown =
        cv_grow(hosts->items, &hosts->room, hosts->count + 1, sizeof(struct cv_host *));
    struct cv_host *host;

    if (grown == NULL)
        return cv_fail_memory(err, "the hosts");
    hosts->items = grown;
    host = calloc(1, sizeof *host);
    if (host == NULL)
        return cv_fail_memory(err, "the hosts");
    host->hosts = hosts;
    host->name = cv_arena_text(&hosts->arena, request->name);
    host->words =
        request->connect != NULL ? copy_words(&hosts->arena, request->connect) : NULL;
    host->channel = request->connect != NULL ? NULL : request->channel;
    host->given =
        request->connect != NULL || request->channel != NULL ? -1 : request->link;
    host->slots = request->slots * cv_hosts_window(hosts);
    host->asks = request->slots == 0;
    host->seats = host->slots > 0 ? calloc(host->slots, sizeof *host->seats) : NULL;
    host->first = first;
    host->peer = request->peer > 0 ? request->peer : (uint32_t)hosts->count + 1;
    host->leads = request->leads;
    hosts->leads = hosts->leads || request->leads;
    host->may_share = request->shared_input || hosts->terms.shared_input;
    host->link.in = host->link.out = -1;
    host->link.broken = true;
    host->process.pidfd = -1;
    host->numbered = 1;
    cv_send_reset(host);
    hosts->items[hosts->count++] = host;
    if (host->name == NULL || (request->slots > 0 && host->seats == NULL) ||
        (request->connect != NULL && host->words == NULL) ||
        !keep_copies(&hosts->arena, request, host))
        return cv_fail_memory(err, "the hosts");
    *out = host;
    return CLEAVE_OK;
}

/* --- the wait for hosts ------------------------------------------------------------- */

/* A policy that does not take joiners waits for all hosts. Other policies begin with the hosts
 * that are ready: soon if no costs are known, and chunks are made as they are needed; else later,
 * because plans are made for all hosts. */

/* Time in all, and since the last host was ready. */
static const struct cv_patience LONG = { 1, INFINITY }, SHORT = { 0.5, 0.2 };

static bool is_nominal(const struct cleave_platform *platform)
{
    const struct cleave_worker *workers = cleave_platform_workers(platform);

    for (uint32_t w = 0; w < cleave_platform_nworkers(platform); w++)
        if (!cv_is_nominal(&workers[w]))
            return false;
    return true;
}

struct cv_patience cv_connect_wait_of(const struct cleave_platform *platform,
                                      const struct cleave_policy *policy)
{
    if (!policy->takes_joiners)
        return (struct cv_patience){ INFINITY, INFINITY };
    return is_nominal(platform) ? SHORT : LONG;
}

bool cv_connect_wait_is_short(const struct cv_patience *patience)
{
    return isfinite(patience->gap_s);
}
