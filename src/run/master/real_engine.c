/* real_engine.c -- the engine that really does the work. SPDX-License-Identifier: MIT */
#include "run/master/real_engine.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "base/fail.h"
#include "run/master/outlet_fold.h"
#include "run/master/real_run.h"
#include "run/master/muster.h"

/* --- telling the driver ------------------------------------------------------------------ */

void cv_local_tell(struct cv_real_engine *engine, struct cleave_event event)
{
    if (engine->first_event == engine->nevents)
        engine->first_event = engine->nevents = 0;
    if (engine->nevents == engine->event_room) {
        struct cleave_event *grown = cv_grow(engine->events, &engine->event_room,
                                             engine->nevents + 1, sizeof *grown);

        if (grown == NULL) {
            cv_fail_memory(&engine->err, "the events of a run");
            engine->broken = true;
            return;
        }
        engine->events = grown;
    }
    event.time_s = cv_clock_s() - engine->began_s;
    if (event.kind != CLEAVE_DONE && !(event.start_s > 0))
        event.start_s = event.time_s;
    engine->events[engine->nevents++] = event;
}

void cv_local_broke(void *context, const struct cleave_error *err)
{
    struct cv_real_engine *engine = context;

    if (!engine->broken)
        engine->err = *err;
    engine->broken = true;
}

/* --- the stream --------------------------------------------------------------------------- */

static void input_ready(void *context, unsigned events)
{
    struct cv_real_engine *engine = context;
    struct cleave_error err;

    (void)events;
    if (cv_source_pump(engine->local->source, &err) != CLEAVE_OK)
        cv_local_broke(engine, &err);
}

/* Listen to the stream only while it is wanted; say once that it has ended. */
static enum cleave_status attend_stream(struct cv_real_engine *engine,
                                        struct cleave_error *err)
{
    struct cv_local *local = engine->local;
    const int fd = cv_source_poll_fd(local->source);
    const bool wants = fd >= 0 && cv_source_wants(local->source);

    if (wants && !engine->listening)
        CV_TRY(cv_poller_add(local->poller, &engine->input, fd, CV_READABLE, input_ready,
                             engine, err));
    else if (!wants && engine->listening)
        cv_poller_remove(local->poller, &engine->input);
    engine->listening = wants;
    if (engine->open_ended && isfinite(cv_source_total(local->source))) {
        engine->open_ended = false;
        cv_local_tell(engine,
                      (struct cleave_event){ .kind = CLEAVE_ENDED,
                                             .units = cv_source_left(local->source) });
    }
    return CLEAVE_OK;
}

/* --- hosts -------------------------------------------------------------------------------- */

bool cv_local_there(const struct cv_local *local, uint32_t worker)
{
    const struct cv_host *host = local->host_of[worker];

    return host != NULL ? host->state == CV_HOST_READY : !local->absent[worker];
}

/* The policy may have given up a worker that is there again. */
void cv_local_host_changed(void *context, struct cv_host *host)
{
    const struct cv_local *local = context;

    if (local->engine == NULL || host->state != CV_HOST_READY)
        return;
    for (uint32_t i = 0; i < host->slots; i++)
        cv_local_tell(local->engine, (struct cleave_event){ .kind = CLEAVE_WAKE,
                                                            .worker = host->first + i });
}

enum cleave_status cv_local_join(struct cv_local *local, struct cv_host *host,
                                 struct cleave_error *err)
{
    for (uint32_t i = 0; i < host->slots; i++) {
        const uint32_t worker = host->first + i;

        local->host_of[worker] = host;
        if (local->engine != NULL)
            CV_TRY(cv_desk_open(local->engine, worker, err));
    }
    return CLEAVE_OK;
}

/* Whether nobody is there and nobody will be. */
static enum cleave_status check_hosts(const struct cv_real_engine *engine,
                                      struct cleave_error *err)
{
    const struct cv_local *local = engine->local;

    if (local->hosts.count == 0 || cv_hosts_any_hope(&local->hosts))
        return CLEAVE_OK;
    for (uint32_t w = 0; w < local->nworkers; w++)
        if (cv_local_there(local, w))
            return CLEAVE_OK;
    return cv_fail(err, CLEAVE_EENGINE, "all hosts are gone; the last one: %s: %s",
                   local->hosts.items[local->hosts.count - 1]->name,
                   local->hosts.items[local->hosts.count - 1]->reason);
}

/* --- the engine --------------------------------------------------------------------------- */

static void real_close(void *instance)
{
    struct cv_real_engine *engine = instance;

    if (engine == NULL)
        return;
    engine->local->engine = NULL;
    for (uint32_t w = 0; engine->desks != NULL && w < engine->local->nworkers; w++)
        cv_desk_done(&engine->desks[w]);
    for (size_t i = 0; i < engine->local->hosts.count; i++)
        engine->local->hosts.items[i]->first_slot = NULL;
    if (engine->listening)
        cv_poller_remove(engine->local->poller, &engine->input);
    while (engine->wakes != NULL) {
        struct cv_local_wake *wake = engine->wakes;

        engine->wakes = wake->next;
        cv_poller_cancel(engine->local->poller, &wake->timer);
        free(wake);
    }
    free(engine->desks);
    free(engine->events);
    free(engine);
}

static enum cleave_status real_open(const struct cleave_platform *platform,
                                    const void *source, void **out,
                                    struct cleave_error *err)
{
    struct cv_real_engine *engine = calloc(1, sizeof *engine);
    /* The driver only passes it on; it is this engine's to change. */
    union {
        const void *in;
        struct cv_local *out;
    } local = { source };

    (void)platform;
    if (engine == NULL)
        return cv_fail_memory(err, "the engine");
    engine->local = local.out;
    engine->desks = calloc(engine->local->nworkers, sizeof *engine->desks);
    if (engine->desks == NULL) {
        real_close(engine);
        return cv_fail_memory(err, "the engine");
    }
    for (uint32_t w = 0; w < engine->local->nworkers; w++) {
        const enum cleave_status status = cv_desk_open(engine, w, err);

        if (status != CLEAVE_OK) {
            real_close(engine);
            return status;
        }
    }
    engine->local->engine = engine;
    *out = engine;
    return CLEAVE_OK;
}

static enum cleave_status real_begin(void *instance, const struct cv_run *run,
                                     struct cleave_error *err)
{
    struct cv_real_engine *engine = instance;

    (void)run;
    engine->began_s = cv_clock_s();
    engine->open_ended = isinf(cv_source_total(engine->local->source));
    return attend_stream(engine, err);
}

/* Let commands that stay end; whether all have. */
static bool all_left(struct cv_real_engine *engine)
{
    bool left = true;

    for (uint32_t w = 0; w < engine->local->nworkers; w++)
        for (uint32_t i = 0; i < engine->desks[w].nerrands; i++)
            left &= cv_slot_leave(&engine->desks[w].errands[i].slot);
    return left;
}

void cv_local_stop_all(struct cv_real_engine *engine)
{
    for (uint32_t w = 0; w < engine->local->nworkers; w++)
        for (uint32_t i = 0; i < engine->desks[w].nerrands; i++)
            cv_slot_stop(&engine->desks[w].errands[i].slot);
}

/* What stops a run before its end. */
static enum cleave_status check_stop(struct cv_real_engine *engine,
                                     struct cleave_error *err)
{
    struct cv_local *local = engine->local;
    int reason = 0;

    if (local->stopped_by != 0 && !engine->stopping) {
        engine->stopping = true;
        cv_local_stop_all(engine);
    }
    if (engine->stopping || local->halted)
        cv_local_fold_stop(local);
    CV_TRY(cv_local_fold_status(local, err));
    if (cv_gather_status(local->gather, &reason, err) != CLEAVE_OK) {
        local->output_closed = reason == EPIPE;
        return CLEAVE_EENGINE;
    }
    if (engine->broken) {
        *err = engine->err;
        return err->status == CLEAVE_OK ? CLEAVE_EENGINE : err->status;
    }
    if (!engine->stopping)
        CV_TRY(check_hosts(engine, err));
    if (engine->running == 0 && cv_local_folding(local) == 0 &&
        (engine->stopping || local->halted) && all_left(engine))
        return cv_fail(err, CLEAVE_EENGINE,
                       local->halted ? "halted after %llu failed chunks"
                                     : "stopped by a signal",
                       (unsigned long long)local->failed);
    return CLEAVE_OK;
}

static void show_progress(struct cv_real_engine *engine)
{
    const struct cv_local *local = engine->local;
    const struct cleave_execution *execution = local->execution;

    if (execution->tell.progress != NULL)
        execution->tell.progress(execution->tell.context,
                                 &(struct cleave_progress){
                                     .elapsed_s = cv_clock_s() - engine->began_s,
                                     .done = local->done,
                                     .total = cv_source_total(local->source),
                                     .chunks = local->chunks,
                                     .failed = local->failed,
                                     .busy = engine->running,
                                     .workers = local->nworkers,
                                 });
}

static enum cleave_status real_wait(void *instance, struct cleave_event *out,
                                    bool *out_any, struct cleave_error *err)
{
    struct cv_real_engine *engine = instance;

    *out_any = true;
    for (;;) {
        if (engine->local->rehost)
            CV_TRY(cv_muster_again(engine->local, err));
        CV_TRY(cv_real_begin_all(engine, err));
        CV_TRY(attend_stream(engine, err));
        CV_TRY(check_stop(engine, err));
        if (engine->first_event < engine->nevents) {
            *out = engine->events[engine->first_event++];
            out->more = engine->first_event < engine->nevents;
            return CLEAVE_OK;
        }
        /* Who sleeps with nothing left to do need not be waited for. */
        if (engine->running == 0 && engine->pending == 0 && !engine->open_ended &&
            (engine->sleeping == 0 || !(cv_source_left(engine->local->source) > 0)) &&
            cv_local_folding(engine->local) == 0 && all_left(engine)) {
            *out_any = false;
            return CLEAVE_OK;
        }
        CV_TRY(cv_local_fold_idle(engine, err));
        show_progress(engine);
        CV_TRY(cv_poller_wait(engine->local->poller,
                              engine->local->execution->tell.progress != NULL ? 0.2 : -1,
                              err));
    }
}

static double real_left(const void *instance)
{
    const struct cv_real_engine *engine = instance;
    const double left = cv_source_left(engine->local->source);

    /* Wishes may be for more than there is, and without end for a stream: what is left when
     * nothing waits is certain, whatever they add up to. */
    return left - engine->wanted >= 0.5 ? left - engine->wanted : 0;
}

const struct cv_engine cv_engine_real = {
    .name = "real",
    .summary = "runs commands on this machine and on others",
    .open = real_open,
    .begin = real_begin,
    .submit = cv_real_submit,
    .wait = real_wait,
    .left = real_left,
    .close = real_close,
};
