/* driver_loop.h -- the loop that all engines share, and the state of a driver.
 * SPDX-License-Identifier: MIT
 *
 * The loop is inline: native.c compiles it together with its own functions, without the
 * parts that plain runs do not need. driver.c has it for all engines. Results are the
 * same bits. */
#ifndef CV_DRIVER_LOOP_H
#define CV_DRIVER_LOOP_H
#include <float.h>
#include <math.h>

#include "base/arena.h"
#include "engine/driver.h"
#include "policy/common/orders.h"

struct cv_item_check {
    uint64_t nitems; /* 0: not a load of items                                     */
    uint64_t given;  /* items that a worker has or has done */
    bool *has;       /* owned, by item */
    uint64_t *of;    /* owned, by chunk: its item                                  */
    size_t has_room, of_room;
    uint64_t nchunks;
};

/* 0 for a chunk that was not ordered */
static inline uint64_t cv_item_check_of(const struct cv_item_check *check, uint64_t chunk)
{
    return chunk < check->nchunks ? check->of[chunk] : 0;
}

struct cv_open_chunk {
    bool there;    /* the worker has a chunk that was opened and has not ended */
    bool open;     /* ... and not been closed                                           */
    double due;    /* units of an order to extend that has not been answered */
    uint64_t sent; /* other chunks of the worker that have not ended */
};

struct cv_return_check {
    struct {
        uint32_t worker, stage;
    } * chunks; /* owned: by number */
    size_t count, room;
    uint64_t returned;
};

struct cv_reduce_check {
    uint32_t nodes, sent;   /* sent: partials ordered to be sent */
    uint32_t *due;          /* per node: partials sent to it and not combined */
    bool *gone;             /* per node: has been ordered to send                   */
    bool *there;            /* per node: has its own partial                        */
    uint32_t *first, *last; /* inputs of a node's partial; NULL: order is not kept */
};

/* Events without progress before the run fails; each running chunk allows some more. */
enum { CV_LIVELOCK_PATIENCE = 100000 };
/* Limit for simulated runs of a load; for a stream, which ends at its time, the limit is
 * per worker. */
enum { CV_CHUNKS_MOST = 10000000 };

/* `total`: units of the load; INFINITY for a stream. */
static inline bool cv_is_too_many_chunks(uint64_t chunks, double total, uint32_t nworkers)
{
    return chunks > CV_CHUNKS_MOST &&
           (isfinite(total) || chunks / nworkers > CV_CHUNKS_MOST);
}

struct cv_livelock_check {
    double grain;             /* units that do not count as progress */
    bool items;               /* each finished item is progress, even without units */
    double given, most_given; /* units that arrived and were not recalled; the maximum */
    double done, most_done;   /* units; the maximum so far */
    uint64_t idle;            /* events since the last progress */
    uint64_t open;            /* running chunks */
    double since_s;           /* time of the last progress */
};

/* `total`: units of the load; INFINITY for a stream. */
void cv_livelock_check_begin(struct cv_livelock_check *livelock, double total);

static inline bool cv_livelock_check_is_more(const struct cv_livelock_check *livelock,
                                             double units, double *max)
{
    if (!(units > *max + livelock->grain))
        return false;
    *max = units;
    return true;
}

static inline bool cv_livelock_check_gives(struct cv_livelock_check *livelock,
                                           double units)
{
    livelock->given += units;
    return cv_livelock_check_is_more(livelock, livelock->given, &livelock->most_given);
}

static inline bool cv_livelock_check_does(struct cv_livelock_check *livelock,
                                          double units)
{
    livelock->open -= livelock->open > 0;
    livelock->done += units;
    return cv_livelock_check_is_more(livelock, livelock->done, &livelock->most_done) ||
           livelock->items;
}

bool cv_livelock_check_is_on(struct cv_livelock_check *livelock,
                             const struct cleave_event *event);

/* False: no progress. Inline: called for every event. */
static inline bool cv_livelock_check_note(struct cv_livelock_check *livelock,
                                          const struct cleave_event *event)
{
    const bool on =
        event->kind == CLEAVE_SENT   ? cv_livelock_check_gives(livelock, event->units)
        : event->kind == CLEAVE_DONE ? cv_livelock_check_does(livelock, event->units)
                                     : cv_livelock_check_is_on(livelock, event);

    if (on) {
        livelock->idle = 0;
        livelock->since_s = event->time_s;
        return true;
    }
    return ++livelock->idle <= CV_LIVELOCK_PATIENCE + 4 * livelock->open;
}

struct cv_assigned_units {
    double units;    /* total */
    double *request; /* owned: by chunk from `first`; NAN: the real size is known */
    uint64_t first;  /* chunk of request[0] */
    size_t count, room;
};

void cv_assigned_units_clear(struct cv_assigned_units *handed);
void cv_assigned_units_done(struct cv_assigned_units *handed);

/* The next chunk was ordered. False: no memory. */
bool cv_assigned_units_ask(struct cv_assigned_units *handed, double units);
/* A CLEAVE_SENT, CLEAVE_RECALLED or CLEAVE_LOST event. */
void cv_assigned_units_note(struct cv_assigned_units *handed,
                            const struct cleave_event *event);

struct cv_queued_returns {
    bool on;        /* results wait in this run */
    bool before;    /* a result goes right before the next chunk of its worker */
    bool returning; /* a return */
    uint64_t sends; /* chunks on their way */
    struct cleave_order *items; /* owned: as they were asked for, from `first` */
    size_t first, count, room;
};

void cv_queued_returns_clear(struct cv_queued_returns *held, bool on, bool before);
void cv_queued_returns_done(struct cv_queued_returns *held);
/* False: no memory. */
bool cv_queued_returns_add(struct cv_queued_returns *held,
                           const struct cleave_order *order);
void cv_queued_returns_note(struct cv_queued_returns *held,
                            const struct cleave_event *event);
/* The next return, if no send is in progress; false: none. `all_sent`: no chunk will be
 * sent. */
bool cv_queued_returns_next(struct cv_queued_returns *held, bool all_sent,
                            struct cleave_order *out);
/* The first return of a worker that is about to be sent a chunk; false: none. */
bool cv_queued_returns_take(struct cv_queued_returns *held, uint32_t worker,
                            struct cleave_order *out);

/* Backup copies for policies that do not order them (backups.c). */
struct cv_backups {
    bool on;
    bool hidden;      /* the policy does not get the current event */
    bool owes;        /* ... but got events that others follow, and decides at the last */
    bool all_ordered; /* nothing was left at the current event, before its orders */
    uint32_t
        worker; /* that the current event named; the policy gets the owner's number */
    struct cv_backup_worker *workers; /* in arena */
    struct cv_backup_chunk *chunks;   /* owned: sent and not over, the oldest first */
    size_t nchunks, room;
    uint32_t waker;
    double wake_s;    /* the wake of `waker` that was ordered; INFINITY: none was */
    double longest_s; /* computation of a chunk that is done; 0: none is */
    bool out_of_memory;
};

/* Called before anything else is done about an event; may change its worker. */
void cv_backups_note(struct cv_backups *backups, struct cleave_event *event);
void cv_backups_ordered(struct cv_backups *backups, uint32_t worker);

/* Sums of chunk sizes may miss the load by this part of it: rounding. */
static const double CV_DRIVER_SLACK = 1e-9;

struct cv_driver {
    const struct cv_planned *planned; /* borrowed */
    const struct cv_engine *engine;
    void *instance;        /* owned */
    struct cv_arena arena; /* policy state of the current run      */
    void *state;           /* in arena                             */
    double *done_s;        /* in arena: per worker, the end of its last chunk  */
    struct cleave_view view;
    struct cleave_orders orders;
    struct cv_run run;
    uint64_t chunks;
    struct cv_livelock_check livelock;
    struct cv_assigned_units handed; /* units sent                           */
    struct cv_item_check items;
    /* in arena, per load of several: as the policy knows it, units left, its end */
    struct cleave_load *loads;
    double *left, *ends_s;
    struct cv_open_chunk *open; /* in arena, per worker: chunks that may be extended */
    struct cv_reduce_check reduce;
    struct cv_return_check returns; /* results in any stage */
    struct cv_queued_returns held;  /* results that sends overtake */
    struct cv_backups backups;
};

static inline bool cv_driver_has_results(const struct cv_driver *driver)
{
    return driver->view.result_ratio > 0;
}

/* Check and note an order. The sum over chunks is checked when no units are left and at
 * the end. */
enum cleave_status cv_driver_check_order(struct cv_driver *driver,
                                         const struct cleave_order *order, double now_s,
                                         struct cleave_error *err);
/* Several loads: the policy may know those that are released by now. */
void cv_driver_release(struct cv_driver *driver, double now_s);
/* Update view, checks and outcome. */
void cv_driver_note_event(struct cv_driver *driver, const struct cleave_event *event,
                          struct cv_outcome *outcome);
enum cleave_status cv_backups_begin(struct cv_driver *driver, struct cleave_error *err);
/* The next order about backups after an event, if there is one. */
bool cv_backups_next(struct cv_driver *driver, double now_s, struct cleave_order *out);
struct cv_loop;
/* Submit all of them. */
enum cleave_status cv_backups_order(struct cv_driver *driver, double now_s,
                                    struct cleave_trace *trace,
                                    const struct cv_loop *loop, struct cleave_error *err);
enum cv_driver_failure {
    CV_TOO_MANY_UNITS,
    CV_TOO_MANY_CHUNKS,
    CV_TOO_LONG,
    CV_LIVELOCK
};
enum cleave_status cv_driver_fail(const struct cv_driver *driver,
                                  enum cv_driver_failure failure,
                                  struct cleave_error *err);
enum cleave_status cv_driver_record_event(const struct cv_driver *driver,
                                          struct cleave_trace *trace,
                                          const struct cleave_event *event,
                                          struct cleave_error *err);
enum cleave_status cv_driver_record_order(struct cleave_trace *trace,
                                          const struct cleave_order *order,
                                          struct cleave_error *err);

#define CV_IN_LOOP static inline __attribute__((always_inline))

/* Steps of an event, for simulations with a limit. */
static const double CV_EVENT_STEPS = 100, CV_WORKER_STEPS = 2;

struct cv_loop {
    enum cleave_status (*submit)(void *engine, const struct cleave_order *order,
                                 struct cleave_error *err);
    enum cleave_status (*wait)(void *engine, struct cleave_event *out, bool *out_any,
                               struct cleave_error *err);
    bool plain; /* cv_driver_is_plain holds */
};

/* Plain runs: a load without results, items, open chunks, copies, memory limits and
 * trace. */
static inline bool cv_driver_is_plain(const struct cv_driver *driver,
                                      const struct cleave_trace *trace)
{
    const struct cleave_view *view = &driver->view;

    return trace == NULL && driver->planned->policy->task != CLEAVE_TASK_REDUCE &&
           !cv_driver_has_results(driver) && !view->opens && !view->copies &&
           view->nitems == 0 && view->nloads == 0 && view->memory == NULL &&
           driver->engine->left == NULL;
}

/* Only the engine knows what is left if chunks end at records. */
CV_IN_LOOP void cv_loop_ask_left(struct cv_driver *driver, const struct cv_loop *loop)
{
    if (!loop->plain && driver->engine->left != NULL)
        driver->view.units_left = driver->engine->left(driver->instance);
}

/* Same as cv_driver_check_order for sends of plain runs; false: call that. */
CV_IN_LOOP bool cv_loop_check_send(struct cv_driver *driver,
                                   const struct cleave_order *order)
{
    if (order->kind != CLEAVE_SEND || order->worker >= driver->view.nworkers ||
        !(order->units >= 0 && order->units <= DBL_MAX))
        return false;
    driver->livelock.open++;
    driver->handed.units += order->units;
    return true;
}

CV_IN_LOOP enum cleave_status cv_loop_submit(struct cv_driver *driver,
                                             const struct cleave_order *order,
                                             struct cleave_trace *trace,
                                             const struct cv_loop *loop,
                                             struct cleave_error *err)
{
    const bool sends = order->kind == CLEAVE_SEND || order->kind == CLEAVE_OPEN;

    if (!loop->plain && trace != NULL)
        CV_TRY(cv_driver_record_order(trace, order, err));
    CV_TRY(loop->submit(driver->instance, order, err));
    driver->held.sends += sends || order->kind == CLEAVE_EXTEND;
    driver->chunks += sends || order->kind == CLEAVE_COMBINE;
    return CLEAVE_OK;
}

/* With before_round, results of a worker go before its next chunk. */
CV_IN_LOOP enum cleave_status cv_loop_fetch_before(struct cv_driver *driver,
                                                   const struct cleave_order *next,
                                                   struct cleave_trace *trace,
                                                   const struct cv_loop *loop,
                                                   struct cleave_error *err)
{
    struct cleave_order order;

    if (loop->plain || !driver->held.before ||
        (next->kind != CLEAVE_SEND && next->kind != CLEAVE_OPEN))
        return CLEAVE_OK;
    while (cv_queued_returns_take(&driver->held, next->worker, &order))
        CV_TRY(cv_loop_submit(driver, &order, trace, loop, err));
    return CLEAVE_OK;
}

CV_IN_LOOP enum cleave_status
cv_loop_submit_orders(struct cv_driver *driver, double now_s, struct cleave_trace *trace,
                      const struct cv_loop *loop, struct cleave_error *err)
{
    struct cleave_orders *orders = &driver->orders;

    if (orders->out_of_memory)
        return cv_fail_memory(err, "the orders of a policy");
    /* Chunks that end at records are larger than ordered, so that a plan may order more
     * than is left; an engine that knows what is left gives less. */
    if ((loop->plain || driver->engine->left == NULL) &&
        driver->view.units_left < -CV_DRIVER_SLACK * driver->view.units_total)
        return cv_driver_fail(driver, CV_TOO_MANY_UNITS, err);
    for (size_t i = 0; i < orders->count; i++) {
        const struct cleave_order *order = &orders->items[i];

        if (!loop->plain || !cv_loop_check_send(driver, order))
            CV_TRY(cv_driver_check_order(driver, order, now_s, err));
        if (!loop->plain && driver->held.on && order->kind == CLEAVE_RETURN) {
            if (!cv_queued_returns_add(&driver->held, order))
                return cv_fail_memory(err, "the results of a run");
            continue;
        }
        CV_TRY(cv_loop_fetch_before(driver, order, trace, loop, err));
        CV_TRY(cv_loop_submit(driver, order, trace, loop, err));
    }
    cv_loop_ask_left(driver, loop);
    return CLEAVE_OK;
}

/* In real runs CLEAVE_DONE comes when the output is here, and the worker computes the
 * next chunk by then. The policy sees a chunk begin when the worker's previous one was
 * done, so that it measures the bottleneck, link or CPU. The trace has the true
 * start. */
CV_IN_LOOP void cv_loop_adjust_event(struct cv_driver *driver, struct cleave_event *event,
                                     const struct cv_loop *loop)
{
    double *done_s;

    if (!loop->plain && driver->view.nloads > 0)
        cv_driver_release(driver, event->time_s);
    if (!loop->plain && (driver->view.nitems > 0 || driver->view.nloads > 0))
        event->item = cv_item_check_of(&driver->items, event->chunk);
    if (event->kind != CLEAVE_DONE)
        return;
    done_s = &driver->done_s[event->worker];
    event->start_s = fmax(event->start_s, *done_s);
    *done_s = event->time_s;
}

CV_IN_LOOP bool cv_loop_all_sent(const struct cleave_view *view)
{
    /* The end of a stream may be known before the policy gets CLEAVE_ENDED. */
    return isfinite(view->units_left) && isfinite(view->units_total) &&
           view->units_left <= CV_DRIVER_SLACK * view->units_total;
}

/* A waiting result may go if no send is in progress. `all_sent`: no chunk will be sent. */
CV_IN_LOOP enum cleave_status cv_loop_release(struct cv_driver *driver, bool all_sent,
                                              struct cleave_trace *trace,
                                              const struct cv_loop *loop,
                                              struct cleave_error *err)
{
    struct cleave_order order;

    if (loop->plain || !driver->held.on ||
        !cv_queued_returns_next(&driver->held, all_sent, &order))
        return CLEAVE_OK;
    return cv_loop_submit(driver, &order, trace, loop, err);
}

/* Record the event, pass it to the policy, carry out the policy's orders. */
CV_IN_LOOP enum cleave_status cv_loop_step(struct cv_driver *driver,
                                           struct cleave_event *event,
                                           struct cleave_trace *trace,
                                           const struct cv_loop *loop,
                                           struct cleave_error *err)
{
    const bool results = !loop->plain && cv_driver_has_results(driver);

    if (!loop->plain && trace != NULL)
        CV_TRY(cv_driver_record_event(driver, trace, event, err));
    cv_loop_adjust_event(driver, event, loop);
    /* the engine returned the output without an order */
    if (event->kind == CLEAVE_RETURNED && !results)
        return CLEAVE_OK;
    driver->orders.count = 0;
    if (!loop->plain && driver->backups.on)
        driver->backups.all_ordered = driver->view.nitems > 0
                                          ? driver->items.given == driver->view.nitems
                                          : cv_loop_all_sent(&driver->view);
    if (loop->plain || !driver->backups.hidden ||
        (driver->backups.owes && !event->more)) {
        if (!loop->plain && driver->backups.hidden)
            event->kind = CLEAVE_WAKE; /* tells nothing, but the policy decides */
        driver->backups.owes = event->more;
        driver->planned->policy->decide(driver->state, &driver->view, event,
                                        &driver->orders);
    }
    if (results && !driver->planned->policy->orders_returns)
        cv_return_when_done(&driver->view, event, &driver->orders);
    if (driver->orders.count > 0 || driver->orders.out_of_memory)
        CV_TRY(cv_loop_submit_orders(driver, event->time_s, trace, loop, err));
    if (!loop->plain && driver->backups.on)
        CV_TRY(cv_backups_order(driver, event->time_s, trace, loop, err));
    return cv_loop_release(driver, cv_loop_all_sent(&driver->view), trace, loop, err);
}

CV_IN_LOOP void cv_loop_note(struct cv_driver *driver, struct cleave_event *event,
                             const struct cv_loop *loop, struct cv_outcome *outcome)
{
    outcome->events++;
    if (!loop->plain && driver->backups.on)
        cv_backups_note(&driver->backups, event);
    if (!loop->plain || (event->kind != CLEAVE_DONE && event->kind != CLEAVE_SENT)) {
        cv_driver_note_event(driver, event, outcome);
    } else if (event->kind == CLEAVE_DONE) {
        outcome->busy_s += event->time_s - event->start_s;
        outcome->makespan_s = event->time_s;
    } else {
        outcome->sent_s = event->time_s;
    }
}

CV_IN_LOOP enum cleave_status cv_loop_check_headway(struct cv_driver *driver,
                                                    const struct cleave_event *event,
                                                    const struct cv_loop *loop,
                                                    struct cleave_error *err)
{
    if (driver->run.budget != NULL) {
        cv_step_budget_spend(driver->run.budget,
                             CV_EVENT_STEPS + CV_WORKER_STEPS * driver->view.nworkers);
        if (cv_step_budget_over(driver->run.budget))
            return cv_driver_fail(driver, CV_TOO_LONG, err);
    }
    if (!cv_livelock_check_note(&driver->livelock, event))
        return cv_driver_fail(driver, CV_LIVELOCK, err);
    /* Records bound the number of chunks of a real run. */
    if (cv_is_too_many_chunks(driver->chunks, driver->planned->view.units_total,
                              driver->view.nworkers) &&
        (loop->plain || driver->engine->left == NULL))
        return cv_driver_fail(driver, CV_TOO_MANY_CHUNKS, err);
    return CLEAVE_OK;
}

CV_IN_LOOP enum cleave_status cv_driver_loop(struct cv_driver *driver,
                                             struct cleave_trace *trace,
                                             const struct cv_loop *loop,
                                             struct cv_outcome *outcome,
                                             struct cleave_error *err)
{
    struct cleave_event event = { .kind = CLEAVE_START };
    bool any = true;

    while (any) {
        CV_TRY(cv_loop_step(driver, &event, trace, loop, err));
        event.item = 0; /* set for the policy only */
        CV_TRY(loop->wait(driver->instance, &event, &any, err));
        if (!any && !loop->plain && driver->held.before) {
            /* A policy that waits for results gets them. */
            CV_TRY(cv_loop_release(driver, true, trace, loop, err));
            CV_TRY(loop->wait(driver->instance, &event, &any, err));
        }
        if (any) {
            cv_loop_note(driver, &event, loop, outcome);
            CV_TRY(cv_loop_check_headway(driver, &event, loop, err));
            cv_loop_ask_left(driver, loop);
        }
    }
    return CLEAVE_OK;
}

#endif
