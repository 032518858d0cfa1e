/* worker_health.c -- whether a chunk or the worker is the cause of a failure.
 * SPDX-License-Identifier: MIT */
#include "run/failures/worker_health.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/fail.h"
#include "run/common/machine.h"

/* The first back-off; each one is twice as long as the one before. */
static const double REST_S = 1;

/* Rests without a told length are doubled this many times: about a minute at most. */
enum { REST_DOUBLINGS = 6 };

/* Limit of failures in a row that are accepted. */
enum { PATIENCE_MOST = 1 << 20 };

enum cleave_status cv_worker_health_open(struct cv_worker_health *health,
                                         uint32_t nworkers, struct cv_poller *poller,
                                         struct cleave_error *err)
{
    cv_worker_health_close(health);
    health->items = calloc(nworkers, sizeof *health->items);
    if (health->items == NULL)
        return cv_fail_memory(err, "the workers");
    health->count = nworkers;
    health->poller = poller;
    for (uint32_t p = 0; p < nworkers; p++) {
        health->items[p].health = health;
        health->items[p].domain = p;
        health->items[p].patience = 1;
    }
    return CLEAVE_OK;
}

void cv_worker_health_close(struct cv_worker_health *health)
{
    for (uint32_t p = 0; p < health->count; p++) {
        cv_poller_cancel(health->poller, &health->items[p].timer);
        cv_poller_cancel(health->poller, &health->items[p].wait);
    }
    free(health->items);
    health->items = NULL;
    health->count = health->nresting = health->nfailed = 0;
}

/* The number of a kind of failure. */
static uint8_t number_way(struct cv_health_record *at, const char *how)
{
    uint8_t way = 0;

    while (way < at->nways && strncmp(at->ways[way], how, sizeof at->ways[0] - 1) != 0)
        way++;
    if (way == CV_TRUST_WAYS)
        return 0;
    if (way == at->nways)
        snprintf(at->ways[at->nways++], sizeof at->ways[0], "%s", how);
    return (uint8_t)(way + 1);
}

bool cv_worker_health_note_failure(struct cv_worker_health *health, uint32_t domain,
                                   const char *how, uint8_t *way)
{
    struct cv_health_record *at = &health->items[domain];

    *way = at->last_way = number_way(at, how);
    health->nfailed += at->failures++ == 0;
    at->streak++;
    return at->streak >= at->patience &&
           (health->anybody || health->nfailed < CV_TRUST_DOMAINS);
}

static void end_backoff(struct cv_health_record *at)
{
    if (!at->resting)
        return;
    cv_poller_cancel(at->health->poller, &at->timer);
    at->resting = false;
    at->health->nresting--;
    at->health->is_back(at->health->context, at->domain);
}

static void rest_over(void *context)
{
    end_backoff(context);
}

void cv_worker_health_pause(struct cv_worker_health *health, uint32_t domain)
{
    struct cv_health_record *at = &health->items[domain];

    if (at->resting)
        return;
    at->resting = true;
    health->nresting++;
    cv_poller_set(health->poller, &at->timer, cv_clock_s() + REST_S, rest_over, at);
}

/* Another domain succeeded with a piece that this one failed with. A success since
 * then clears it, and one back-off covers all earlier failures. */
static void refute(struct cv_health_record *at, uint8_t way)
{
    const double rest_s = REST_S * (double)(1U << (at->refuted < 20 ? at->refuted : 20));

    if (at->streak == 0 || at->resting)
        return;
    at->patience = 1;
    at->refuted_way = way;
    at->refuted++;
    at->out = at->refuted >= CV_TRUST_REFUTED;
    at->resting = true;
    at->health->nresting++;
    if (!at->out) {
        at->rests++;
        cv_poller_set(at->health->poller, &at->timer, cv_clock_s() + rest_s, rest_over,
                      at);
    }
    at->health->rests(at->health->context, at->domain);
}

void cv_worker_health_note_success(struct cv_worker_health *health, uint32_t domain,
                                   const struct cv_failure_history *history)
{
    struct cv_health_record *at = &health->items[domain];

    health->anybody = true;
    at->proven = true;
    at->streak = at->refuted = 0;
    at->patience = at->patience < 2 ? 2 : at->patience;
    for (uint32_t i = 0; i < history->count; i++)
        if (history->items[i].domain != domain)
            refute(&health->items[history->items[i].domain], history->items[i].way);
}

void cv_worker_health_confirm_failure(struct cv_worker_health *health,
                                      const struct cv_failure_history *history)
{
    for (uint32_t i = 0; history->count > 1 && i < history->count; i++) {
        struct cv_health_record *at = &health->items[history->items[i].domain];

        at->streak = 0;
        if (at->patience < PATIENCE_MOST)
            at->patience *= 2;
    }
}

/* The next attempt of a part of a piece tells nothing about a domain. */
static void count_retries(struct cv_worker_health *health,
                          const struct cv_failure_history *history, int change)
{
    for (uint32_t i = 0; history->family == NULL && i < history->count; i++)
        health->items[history->items[i].domain].retried += (uint32_t)change;
}

void cv_worker_health_note_retry(struct cv_worker_health *health,
                                 const struct cv_failure_history *history)
{
    count_retries(health, history, 1);
}

void cv_worker_health_note_retried(struct cv_worker_health *health,
                                   const struct cv_failure_history *history)
{
    count_retries(health, history, -1);
}

static void wait_over(void *context)
{
    struct cv_health_record *at = context;

    at->later = false;
    at->health->rested(at->health->context, at->domain, at->since_s);
}

double cv_worker_health_postpone(struct cv_worker_health *health, uint32_t worker,
                                 double began_s, double told_s)
{
    struct cv_health_record *at = &health->items[worker];
    const double now_s = cv_clock_s();
    const uint32_t before =
        at->postponed < REST_DOUBLINGS ? at->postponed : REST_DOUBLINGS;
    const double rest_s = told_s > 0 ? told_s : REST_S * (double)(1U << before);

    if (!(told_s > 0) && began_s < at->since_s) /* it began before the last rest */
        return fmax(0, at->until_s - now_s);
    at->postponed++;
    at->since_s = at->later ? at->since_s : now_s;
    at->until_s = fmax(at->until_s, now_s + rest_s);
    at->later = true;
    cv_poller_set(health->poller, &at->wait, at->until_s, wait_over, at);
    return at->until_s - now_s;
}

void cv_worker_health_answered(struct cv_worker_health *health, uint32_t worker)
{
    health->items[worker].postponed = 0;
}

bool cv_worker_health_is_postponed(const struct cv_worker_health *health, uint32_t worker)
{
    return worker < health->count && health->items[worker].later;
}

bool cv_worker_health_in_backoff(const struct cv_worker_health *health, uint32_t domain)
{
    return domain < health->count && health->items[domain].resting;
}

bool cv_worker_health_is_probing(const struct cv_worker_health *health, uint32_t domain)
{
    return health->items[domain].refuted > 0;
}

bool cv_worker_health_suspects(const struct cv_worker_health *health, uint32_t domain)
{
    const struct cv_health_record *at = &health->items[domain];

    return at->retried > 0 && at->streak > 0 &&
           (!at->proven || at->streak > 1 || at->refuted > 0);
}

bool cv_worker_health_awaits(const struct cv_worker_health *health)
{
    for (uint32_t p = 0; p < health->count; p++)
        if (health->items[p].later || (health->items[p].resting && !health->items[p].out))
            return true;
    return false;
}

void cv_worker_health_clear_backoff(struct cv_worker_health *health)
{
    for (uint32_t p = 0; p < health->count && health->nresting > 0; p++) {
        health->items[p].out = false;
        health->items[p].refuted = 0;
        end_backoff(&health->items[p]);
    }
}

void cv_worker_health_reason(const struct cv_health_record *standing, char *out,
                             size_t size)
{
    const uint32_t failed = standing->streak;
    const uint8_t way = standing->refuted_way;

    if (way == 0)
        snprintf(out, size, "a command that failed there succeeded elsewhere");
    else if (failed > 1 && way == standing->last_way)
        snprintf(out, size,
                 "its last %u commands failed (the last one %s), the same chunks "
                 "succeeded elsewhere",
                 failed, standing->ways[way - 1]);
    else
        snprintf(out, size, "a command that failed there, as it %s, succeeded elsewhere",
                 standing->ways[way - 1]);
}

/* --- processes killed for lack of memory ----------------------------------------------- */

enum { ROOM = 4096 };

/* The rest of the line that begins with `word`; NULL: there is none. */
static const char *behind(const char *text, const char *word)
{
    const size_t length = strlen(word);

    while (text != NULL && strncmp(text, word, length) != 0) {
        text = strchr(text, '\n');
        text = text != NULL ? text + 1 : NULL;
    }
    return text != NULL ? text + length : NULL;
}

uint64_t cv_memory_kills_in(const char *text)
{
    const char *number = behind(text, "oom_kill ");

    return number != NULL ? strtoull(number, NULL, 10) : 0;
}

void cv_memory_kills_file(const char *groups, char *out, size_t size)
{
    const char *old = strstr(groups, ":memory:");
    const char *group = old != NULL ? old + strlen(":memory:") : behind(groups, "0::");

    out[0] = '\0';
    if (group == NULL)
        return;
    snprintf(out, size, "/sys/fs/cgroup%s%.*s%s", old != NULL ? "/memory" : "",
             (int)strcspn(group, "\n"), group,
             old != NULL ? "/memory.oom_control" : "/memory.events");
}

uint64_t cv_memory_kills(void)
{
    char text[ROOM], path[ROOM];

    cv_read_first("/proc/self/cgroup", text, sizeof text);
    cv_memory_kills_file(text, path, sizeof path);
    cv_read_first(path, text, sizeof text);
    return cv_memory_kills_in(text);
}
