/* worker_health.c -- whether a chunk failed because of the chunk or because of who did it.
 * SPDX-License-Identifier: MIT */
#include "run/failures/worker_health.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"

/* The first rest; every other is twice the one before. */
static const double REST_S = 1;

/* No more failures in a row are believed than this. */
enum { PATIENCE_MOST = 1 << 20 };

enum cleave_status cv_worker_health_open(struct cv_worker_health *trust,
                                         uint32_t nworkers, struct cv_poller *poller,
                                         struct cleave_error *err)
{
    trust->items = calloc(nworkers, sizeof *trust->items);
    if (trust->items == NULL)
        return cv_fail_memory(err, "the workers");
    trust->count = nworkers;
    trust->poller = poller;
    for (uint32_t p = 0; p < nworkers; p++) {
        trust->items[p].trust = trust;
        trust->items[p].party = p;
        trust->items[p].patience = 1;
    }
    return CLEAVE_OK;
}

void cv_worker_health_close(struct cv_worker_health *trust)
{
    for (uint32_t p = 0; p < trust->count; p++)
        cv_poller_cancel(trust->poller, &trust->items[p].timer);
    free(trust->items);
    trust->items = NULL;
    trust->count = trust->nresting = 0;
}

/* The number of that way to fail. */
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

bool cv_worker_health_note_failure(struct cv_worker_health *trust, uint32_t party,
                                   const char *how, uint8_t *way)
{
    struct cv_health_record *at = &trust->items[party];

    *way = at->last_way = number_way(at, how);
    at->failures++;
    at->streak++;
    return at->streak >= at->patience;
}

static void end_backoff(struct cv_health_record *at)
{
    if (!at->resting)
        return;
    cv_poller_cancel(at->trust->poller, &at->timer);
    at->resting = false;
    at->trust->nresting--;
    at->trust->is_back(at->trust->context, at->party);
}

static void rest_over(void *context)
{
    end_backoff(context);
}

/* Somebody else has done what it failed with. If it has succeeded since, nothing is wrong
 * with it; and one rest stands for all that it had failed with before. */
static enum cleave_status refute(struct cv_health_record *at, uint8_t way,
                                 struct cleave_error *err)
{
    const double rest_s = REST_S * (double)(1U << (at->refuted < 20 ? at->refuted : 20));

    if (at->streak == 0 || at->resting)
        return CLEAVE_OK;
    at->patience = 1;
    at->refuted_way = way;
    at->refuted++;
    at->out = at->refuted >= CV_TRUST_REFUTED;
    at->resting = true;
    at->trust->nresting++;
    if (!at->out) {
        at->rests++;
        CV_TRY(cv_poller_set(at->trust->poller, &at->timer, cv_clock_s() + rest_s,
                             rest_over, at, err));
    }
    at->trust->rests(at->trust->context, at->party);
    return CLEAVE_OK;
}

enum cleave_status cv_worker_health_note_success(struct cv_worker_health *trust,
                                                 uint32_t party,
                                                 const struct cv_failure_history *history,
                                                 struct cleave_error *err)
{
    struct cv_health_record *at = &trust->items[party];

    trust->anybody = true;
    at->proven = true;
    at->streak = at->refuted = 0;
    at->patience = at->patience < 2 ? 2 : at->patience;
    for (uint32_t i = 0; i < history->count; i++)
        if (history->parties[i] != party)
            CV_TRY(refute(&trust->items[history->parties[i]], history->ways[i], err));
    return CLEAVE_OK;
}

void cv_worker_health_confirm_failure(struct cv_worker_health *trust,
                                      const struct cv_failure_history *history)
{
    for (uint32_t i = 0; history->count > 1 && i < history->count; i++) {
        struct cv_health_record *at = &trust->items[history->parties[i]];

        at->streak = 0;
        if (at->patience < PATIENCE_MOST)
            at->patience *= 2;
    }
}

bool cv_worker_health_in_backoff(const struct cv_worker_health *trust, uint32_t party)
{
    return party < trust->count && trust->items[party].resting;
}

bool cv_worker_health_is_probing(const struct cv_worker_health *trust, uint32_t party)
{
    return trust->items[party].refuted > 0;
}

bool cv_worker_health_suspects(const struct cv_worker_health *trust, uint32_t party)
{
    const struct cv_health_record *at = &trust->items[party];

    return at->streak > 0 && (!at->proven || at->streak > 1 || at->refuted > 0);
}

bool cv_worker_health_awaits(const struct cv_worker_health *trust)
{
    for (uint32_t p = 0; p < trust->count && trust->nresting > 0; p++)
        if (trust->items[p].resting && !trust->items[p].out)
            return true;
    return false;
}

void cv_worker_health_clear_backoff(struct cv_worker_health *trust)
{
    for (uint32_t p = 0; p < trust->count && trust->nresting > 0; p++) {
        trust->items[p].out = false;
        trust->items[p].refuted = 0;
        end_backoff(&trust->items[p]);
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
