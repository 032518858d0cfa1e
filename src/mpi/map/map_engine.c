/* map_engine.c -- the engine that shares a job among MPI ranks. SPDX-License-Identifier: MIT */
#include <math.h>

#include "base/arena.h"
#include "base/fail.h"
#include "mpi/bridge/bridge_idle.h"
#include "mpi/map/map_master.h"

/* --- orders ------------------------------------------------------------------------------- */

static enum cleave_status want(struct cv_map_master *master,
                               const struct cleave_order *order, struct cleave_error *err)
{
    struct cv_map_member *member = &master->members[order->worker];

    if (member->first == member->nwants)
        member->first = member->nwants = 0;
    if (member->nwants == member->want_room) {
        struct cv_map_pending_order *grown =
            cv_grow(member->wants, &member->want_room, member->nwants + 1, sizeof *grown);

        if (grown == NULL)
            return cv_fail_memory(err, "the orders of a run");
        member->wants = grown;
    }
    member->wants[member->nwants++] =
        (struct cv_map_pending_order){ master->numbered++, order->units };
    master->ordered += order->units;
    return CLEAVE_OK;
}

static enum cleave_status wake_at(struct cv_map_master *master,
                                  const struct cleave_order *order,
                                  struct cleave_error *err)
{
    if (master->nwakes == master->wake_room) {
        struct cv_map_wake *grown =
            cv_grow(master->wakes, &master->wake_room, master->nwakes + 1, sizeof *grown);

        if (grown == NULL)
            return cv_fail_memory(err, "the times to wake at");
        master->wakes = grown;
    }
    master->wakes[master->nwakes++] =
        (struct cv_map_wake){ master->began_s + order->time_s, order->worker };
    return CLEAVE_OK;
}

static enum cleave_status map_submit(void *instance, const struct cleave_order *order,
                                     struct cleave_error *err)
{
    struct cv_map_master *master = instance;

    switch (order->kind) {
    case CLEAVE_SEND:
        return want(master, order, err);
    case CLEAVE_WAKE_AT:
        return wake_at(master, order, err);
    case CLEAVE_RECALL:
        /* A callback cannot be taken back what it has been given. */
        cv_map_event(master, (struct cleave_event){ .kind = CLEAVE_RECALLED,
                                                    .worker = order->worker });
        return CLEAVE_OK;
    default:
        return cv_fail(err, CLEAVE_EENGINE,
                       "this engine can send and wake, nothing else");
    }
}

/* --- events ------------------------------------------------------------------------------- */

/* Tell of all times that have come; when the next one does. */
static double ring(struct cv_map_master *master)
{
    const double now_s = cv_idle_wait_clock_s();
    double next_s = INFINITY;

    for (size_t i = 0; i < master->nwakes;) {
        const struct cv_map_wake wake = master->wakes[i];

        if (wake.at_s > now_s) {
            next_s = fmin(next_s, wake.at_s);
            i++;
            continue;
        }
        master->wakes[i] = master->wakes[--master->nwakes];
        cv_map_event(master,
                     (struct cleave_event){ .kind = CLEAVE_WAKE, .worker = wake.worker });
    }
    return next_s;
}

static bool anything_wanted(const struct cv_map_master *master)
{
    for (uint32_t w = 0; w < master->nworkers; w++)
        if (master->members[w].first < master->members[w].nwants)
            return true;
    return false;
}

static enum cleave_status map_wait(void *instance, struct cleave_event *out,
                                   bool *out_any, struct cleave_error *err)
{
    struct cv_map_master *master = instance;

    *out_any = true;
    for (;;) {
        double wake_s, fold_s;

        CV_TRY(cv_map_begin_all(master, err));
        wake_s = ring(master);
        if (master->first_event < master->nevents) {
            *out = master->events[master->first_event++];
            out->more = master->first_event < master->nevents;
            if (out->kind == CLEAVE_DONE)
                out->fold_s = cv_map_fold_one_s(master);
            return CLEAVE_OK;
        }
        /* Who sleeps with nothing left to do need not be waited for. */
        if (master->running == 0 && !anything_wanted(master) &&
            (master->nwakes == 0 || master->next_unit == master->map->units)) {
            *out_any = false;
            return CLEAVE_OK;
        }
        CV_TRY(cv_map_fold_go(master, &fold_s, err));
        CV_TRY(cv_map_step(master, fmin(wake_s, fold_s), err));
    }
}

/* --- the engine --------------------------------------------------------------------------- */

static enum cleave_status map_open(const struct cleave_platform *platform,
                                   const void *source, void **out,
                                   struct cleave_error *err)
{
    /* The driver only passes it on; it is this engine's to change. */
    union {
        const void *in;
        void *out;
    } master = { source };

    (void)platform;
    (void)err;
    *out = master.out;
    return CLEAVE_OK;
}

static enum cleave_status map_begin(void *instance, const struct cv_run *run,
                                    struct cleave_error *err)
{
    struct cv_map_master *master = instance;

    (void)run;
    (void)err;
    master->began_s = master->last_s = cv_idle_wait_clock_s();
    return CLEAVE_OK;
}

static double map_left(const void *instance)
{
    const struct cv_map_master *master = instance;

    return fmax(0, (double)master->map->units - master->ordered);
}

static void map_close(void *instance)
{
    (void)instance; /* whoever made it goes on with it */
}

const struct cv_engine cv_engine_map = {
    .name = "mpi",
    .summary = "shares a job among the ranks of an MPI program",
    .open = map_open,
    .begin = map_begin,
    .submit = map_submit,
    .wait = map_wait,
    .left = map_left,
    .close = map_close,
};
