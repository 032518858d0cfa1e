/* rated.c -- simulated items on workers with rates. SPDX-License-Identifier: MIT
 *
 * An engine around the native one, which does what a real run does (run/master/start_rates.c): it
 * keeps orders back while a rate is used up, and CLEAVE_DONE of a worker until that may start
 * again, unless all items were ordered. A start is counted when an item is sent. */
#include "sim/load/rated.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/fail.h"
#include "engine/rate.h"
#include "sim/load/native.h"

struct kept {
    bool is_order;
    bool over; /* `done` was passed on already */
    struct cleave_order order;
    struct cleave_event done;
    double wake_s;   /* when it is looked at again */
    uint64_t number; /* of the chunk, for the driver */
};

static uint32_t worker_of(const struct kept *kept)
{
    return kept->is_order ? kept->order.worker : kept->done.worker;
}

struct rated {
    const struct cv_engine *engine; /* the native one */
    void *inner;                    /* owned */
    const struct cv_run *run;       /* borrowed */
    uint32_t nworkers;
    struct cv_rate *rates; /* owned: one for each rate of the conditions */
    struct kept *kept;     /* owned, the oldest first */
    size_t nkept, kept_room;
    uint64_t *numbers; /* owned: chunk of the native engine -> chunk of the driver */
    size_t nsent, numbers_room;
    uint64_t ordered;
    double now_s;
};

static void clear(struct rated *rated)
{
    const size_t count = rated->run != NULL ? rated->run->conditions.nrates : 0;

    for (size_t i = 0; rated->rates != NULL && i < count; i++)
        cv_rate_done(&rated->rates[i]);
    free(rated->rates);
    rated->rates = NULL;
    rated->nkept = rated->nsent = 0;
    rated->ordered = 0;
    rated->now_s = 0;
}

static void rated_close(void *instance)
{
    struct rated *rated = instance;

    if (rated == NULL)
        return;
    clear(rated);
    if (rated->inner != NULL)
        rated->engine->close(rated->inner);
    free(rated->kept);
    free(rated->numbers);
    free(rated);
}

static enum cleave_status open_around(const struct cv_engine *engine,
                                      const struct cleave_platform *platform,
                                      const void *source, void **out,
                                      struct cleave_error *err)
{
    struct rated *rated = calloc(1, sizeof *rated);
    enum cleave_status status;

    if (rated == NULL)
        return cv_fail_memory(err, "the simulator");
    rated->engine = engine;
    rated->nworkers = cleave_platform_nworkers(platform);
    status = engine->open(platform, source, &rated->inner, err);
    if (status != CLEAVE_OK)
        rated_close(rated);
    else
        *out = rated;
    return status;
}

static enum cleave_status rated_open(const struct cleave_platform *platform,
                                     const void *source, void **out,
                                     struct cleave_error *err)
{
    return open_around(&cv_engine_native, platform, source, out, err);
}

static enum cleave_status rated_open_rough(const struct cleave_platform *platform,
                                           const void *source, void **out,
                                           struct cleave_error *err)
{
    return open_around(&cv_engine_native_open, platform, source, out, err);
}

static enum cleave_status rated_begin(void *instance, const struct cv_run *run,
                                      struct cleave_error *err)
{
    struct rated *rated = instance;

    clear(rated);
    rated->run = run;
    rated->rates = calloc(run->conditions.nrates, sizeof *rated->rates);
    if (rated->rates == NULL)
        return cv_fail_memory(err, "the simulator");
    for (size_t i = 0; i < run->conditions.nrates; i++) {
        rated->rates[i].amount = run->conditions.rates[i].amount;
        rated->rates[i].period_s = run->conditions.rates[i].period_s;
    }
    return rated->engine->begin(rated->inner, run, err);
}

/* The rate of a worker, or NULL. */
static struct cv_rate *rate_of(const struct rated *rated, uint32_t worker)
{
    for (size_t i = 0; i < rated->run->conditions.nrates; i++) {
        const struct cleave_rate *rate = &rated->run->conditions.rates[i];

        if (worker >= rate->first && worker - rate->first < rate->count)
            return &rated->rates[i];
    }
    return NULL;
}

/* The part of its rate that a kept order takes. The next order of a worker that is done is not
 * known: it is one item, or a weight of 0. */
static double amount_of(const struct rated *rated, const struct kept *kept)
{
    const size_t rate = (size_t)(rate_of(rated, worker_of(kept)) - rated->rates);

    return !rated->run->conditions.rates[rate].by_weight ? 1
           : kept->is_order                              ? kept->order.units
                                                         : 0;
}

/* Whether the rate, if there is one, allows a start now after `ahead`. */
static bool allows(const struct rated *rated, const struct kept *kept, double ahead)
{
    struct cv_rate *rate = rate_of(rated, worker_of(kept));

    return rate == NULL || cv_rate_next_s(rate, rated->now_s, amount_of(rated, kept),
                                          ahead) <= rated->now_s;
}

/* Begin the order. The driver has another number for the chunk. */
static enum cleave_status pass_on(struct rated *rated, const struct kept *kept,
                                  struct cleave_error *err)
{
    struct cv_rate *rate = rate_of(rated, kept->order.worker);

    if (rate != NULL)
        CV_TRY(cv_rate_start(rate, rated->now_s, amount_of(rated, kept), err));
    if (!CV_ROOM(rated->numbers, &rated->numbers_room, rated->nsent + 1))
        return cv_fail_memory(err, "the simulator");
    rated->numbers[rated->nsent++] = kept->number;
    return rated->engine->submit(rated->inner, &kept->order, err);
}

/* The amount of kept orders and events with the same rate that come first. */
static double ahead_of(const struct rated *rated, size_t index,
                       const struct cv_rate *rate)
{
    double ahead = 0;

    for (size_t i = 0; i < index; i++)
        if (!rated->kept[i].over && rate_of(rated, worker_of(&rated->kept[i])) == rate)
            ahead += amount_of(rated, &rated->kept[i]);
    return ahead;
}

/* When the kept one may begin. */
static double due_s(const struct rated *rated, size_t index)
{
    const struct kept *kept = &rated->kept[index];
    struct cv_rate *rate = rate_of(rated, worker_of(kept));

    return cv_rate_next_s(rate, rated->now_s, amount_of(rated, kept),
                          ahead_of(rated, index, rate));
}

static enum cleave_status keep(struct rated *rated, const struct kept *kept,
                               struct cleave_error *err)
{
    const uint32_t worker = worker_of(kept);
    struct kept *added;

    if (!CV_ROOM(rated->kept, &rated->kept_room, rated->nkept + 1))
        return cv_fail_memory(err, "the simulator");
    added = &rated->kept[rated->nkept++];
    *added = *kept;
    added->wake_s = due_s(rated, rated->nkept - 1);
    return rated->engine->submit(rated->inner,
                                 &(struct cleave_order){ .kind = CLEAVE_WAKE_AT,
                                                         .worker = worker,
                                                         .time_s = added->wake_s },
                                 err);
}

static enum cleave_status rated_submit(void *instance, const struct cleave_order *order,
                                       struct cleave_error *err)
{
    struct rated *rated = instance;
    const struct kept kept = { .is_order = true,
                               .order = *order,
                               .number = rated->ordered };

    if (order->kind != CLEAVE_SEND)
        return rated->engine->submit(rated->inner, order, err);
    rated->ordered++;
    return allows(rated, &kept, 0) ? pass_on(rated, &kept, err) : keep(rated, &kept, err);
}

static struct kept take(struct rated *rated, size_t index)
{
    const struct kept taken = rated->kept[index];

    rated->nkept--;
    memmove(&rated->kept[index], &rated->kept[index + 1],
            (rated->nkept - index) * sizeof taken);
    return taken;
}

/* Whether the event is the wake-up of a kept one, which is done or kept again. *out is the event
 * that the policy gets, or CLEAVE_START for none. */
static enum cleave_status wake(struct rated *rated, struct cleave_event *out, bool *mine,
                               struct cleave_error *err)
{
    struct kept kept;
    size_t i = 0;

    while (i < rated->nkept && !(rated->kept[i].wake_s == out->time_s &&
                                 worker_of(&rated->kept[i]) == out->worker))
        i++;
    *mine = i < rated->nkept;
    if (!*mine)
        return CLEAVE_OK;
    kept = take(rated, i);
    out->kind = CLEAVE_START;
    if (kept.over)
        return CLEAVE_OK;
    if (kept.is_order)
        return allows(rated, &kept, 0) ? pass_on(rated, &kept, err)
                                       : keep(rated, &kept, err);
    kept.done.time_s = rated->now_s;
    *out = kept.done;
    return CLEAVE_OK;
}

/* All items were ordered: pass on an event that is kept. False: there is none. */
static bool pass_done(struct rated *rated, struct cleave_event *out)
{
    for (size_t i = 0; i < rated->nkept; i++) {
        struct kept *kept = &rated->kept[i];

        if (kept->is_order || kept->over ||
            rated->ordered < rated->run->conditions.nitems)
            continue;
        kept->over = true;
        *out = kept->done;
        out->time_s = rated->now_s;
        out->more = false;
        return true;
    }
    return false;
}

static enum cleave_status rated_wait(void *instance, struct cleave_event *out,
                                     bool *out_any, struct cleave_error *err)
{
    struct rated *rated = instance;
    bool mine = true;

    if (pass_done(rated, out)) {
        *out_any = true;
        return CLEAVE_OK;
    }
    while (mine) {
        CV_TRY(rated->engine->wait(rated->inner, out, out_any, err));
        if (!*out_any)
            return CLEAVE_OK;
        rated->now_s = out->time_s;
        mine = false;
        if (out->kind == CLEAVE_WAKE) {
            CV_TRY(wake(rated, out, &mine, err));
            mine = mine && out->kind == CLEAVE_START;
            continue;
        }
        if (out->chunk < rated->nsent && out->kind != CLEAVE_CAME)
            out->chunk = rated->numbers[out->chunk];
        if (out->kind == CLEAVE_DONE && rated->ordered < rated->run->conditions.nitems) {
            const struct kept kept = { .done = *out };

            if (!allows(rated, &kept,
                        ahead_of(rated, rated->nkept, rate_of(rated, out->worker)))) {
                CV_TRY(keep(rated, &kept, err));
                mine = true;
            }
        }
    }
    out->more = false;
    return CLEAVE_OK;
}

const struct cv_engine cv_engine_rated = {
    .name = "native",
    .summary = "built-in simulator with rates of workers",
    .open = rated_open,
    .begin = rated_begin,
    .submit = rated_submit,
    .wait = rated_wait,
    .close = rated_close,
};

const struct cv_engine cv_engine_rated_rough = {
    .name = "native",
    .summary = "built-in simulator with rates of workers, and conditions of real runs",
    .open = rated_open_rough,
    .begin = rated_begin,
    .submit = rated_submit,
    .wait = rated_wait,
    .close = rated_close,
};
