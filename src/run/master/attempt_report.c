/* attempt_report.c -- what the user is told of commands. SPDX-License-Identifier: MIT */
#include "run/master/attempt_report.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "base/fail.h"

void cv_attempt_report(const struct cleave_execution *request, const char *worker,
                       const struct cv_attempt *attempt, enum cv_slot_end end,
                       bool given_up)
{
    const struct cv_slot *slot = &attempt->slot;
    const struct cv_remote_facts facts = cv_remote_facts(slot);
    const double seconds = cv_clock_s() - slot->start_s;
    struct timespec now;

    if (request->listener.attempted == NULL)
        return;
    clock_gettime(CLOCK_REALTIME, &now);
    request->listener.attempted(
        request->listener.context,
        &(struct cleave_attempt){
            .worker = worker,
            .place = slot->worker + 1,
            .chunk = attempt->chunk,
            .attempt = attempt->number,
            .start_s = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec - seconds,
            .seconds = seconds,
            .compute_s = cv_is_computed(&facts) ? facts.compute_s : seconds,
            .sent = cv_slot_sent(slot),
            .received = cv_slot_came(slot),
            .exit_code = slot->process.exit_code,
            .signal = slot->process.signal,
            .input = slot->piece.name,
            .begin = slot->piece.body.begin,
            .end = slot->piece.body.end,
            .timed_out = end == CV_SLOT_TIMED_OUT,
            .given_up = given_up,
        });
}

static void tell(const struct cleave_execution *request, const char *format, ...)
    CV_PRINTF(2, 3);
static void tell(const struct cleave_execution *request, const char *format, ...)
{
    char text[600];
    va_list words;

    if (request->listener.note == NULL)
        return;
    va_start(words, format);
    vsnprintf(text, sizeof text, format, words);
    va_end(words);
    request->listener.note(request->listener.context, text);
}

void cv_note_silent(const struct cleave_execution *request, const char *worker)
{
    tell(request, "%s: no answer to the first chunk yet: is '%s' made to be persistent?",
         worker, request->command[0]);
}

void cv_note_held(const struct cleave_execution *request, const char *worker)
{
    tell(request,
         "%s: the command has ended, but processes that it started hold its output or "
         "input: waiting for them, as a shell would; --timeout limits it",
         worker);
}

void cv_note_crowded(const struct cleave_execution *request, const char *why)
{
    tell(request, "%s: commands wait until others have ended", why);
}

void cv_note_touched(const struct cleave_execution *request, const char *name)
{
    tell(request,
         "%s: something of it was changed while it was in use, but neither its size nor "
         "its time: no harm if it was linked, moved or given other rights; if it was "
         "rewritten, the output is of both",
         name);
}

void cv_note_bad_end(const struct cleave_execution *request, const char *worker,
                     const struct cv_slot *slot)
{
    char how[64];

    cv_slot_describe_end(slot, how, sizeof how);
    tell(request, "%s: the command %s after its last chunk", worker, how);
}

void cv_note_worker_excluded(const struct cleave_execution *request, const char *name,
                             const struct cv_health_record *standing)
{
    char reason[200];

    cv_worker_health_reason(standing, reason, sizeof reason);
    tell(request, "%.200s: left out: %s", name, reason);
}

void cv_note_rests(const struct cleave_execution *request,
                   const struct cv_worker_pool *pool)
{
    char reason[200];

    for (uint32_t p = 0; p < pool->health.count; p++) {
        const struct cv_health_record *at = &pool->health.items[p];

        if (at->rests == 0 || at->out)
            continue;
        cv_worker_health_reason(at, reason, sizeof reason);
        tell(request, "%.200s: was rested: %s", cv_worker_pool_domain_name(pool, p),
             reason);
    }
}
