/* driver.c -- the loop that all engines share, and its checks of orders.
 * SPDX-License-Identifier: MIT */
#include "engine/driver.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "engine/driver_loop.h"
#include "model/loads/loads.h"
#include "model/platform/profile.h"

#define POLICY_FAULT(driver, err, format, ...)                                           \
    cv_fail(err, CLEAVE_EPOLICY, "policy '%s' " format, (driver)->planned->policy->name, \
            __VA_ARGS__)

/* --- which items were given to whom ------------------------------------------------ */

static bool item_check_begin(struct cv_item_check *check, uint64_t nitems)
{
    check->nitems = check->given = check->nchunks = 0;
    if (nitems == 0)
        return true;
    if (nitems >= SIZE_MAX || !CV_ROOM(check->has, &check->has_room, (size_t)nitems))
        return false;
    memset(check->has, 0, (size_t)nitems * sizeof *check->has);
    check->nitems = nitems;
    return true;
}
/* The reason why an order may not be carried out, or NULL. */
static const char *find_fault(const struct cv_item_check *check,
                              const struct cleave_order *order)
{
    if (order->kind != CLEAVE_SEND)
        return "an item is sent as a whole";
    if (order->item >= check->nitems)
        return "there is no such item";
    return check->has[order->item] ? "it was given before" : NULL;
}

/* Check and note an order about the next chunk. */
static enum cleave_status item_check_order(struct cv_driver *driver,
                                           const struct cleave_order *order,
                                           struct cleave_error *err)
{
    struct cv_item_check *check = &driver->items;
    const char *fault = find_fault(check, order);

    if (fault != NULL)
        return POLICY_FAULT(driver, err, "gave item %llu of %llu to worker %u: %s",
                            (unsigned long long)order->item,
                            (unsigned long long)check->nitems, order->worker, fault);
    if (!CV_ROOM(check->of, &check->of_room, (size_t)check->nchunks + 1))
        return cv_fail_memory(err, "the items of a run");
    check->of[check->nchunks++] = order->item;
    check->has[order->item] = true;
    check->given++;
    return CLEAVE_OK;
}

/* A lost item may be given again. */
static void item_check_note(struct cv_item_check *check, const struct cleave_event *event)
{
    uint64_t item;

    if (event->kind != CLEAVE_LOST || event->chunk >= check->nchunks)
        return;
    item = check->of[event->chunk];
    check->given -= check->has[item];
    check->has[item] = false;
}

/* --- which workers have an open chunk ---------------------------------------------- */

/* The reason why an order to send, open, extend, close or query may not be carried out
 * (static), or NULL: then it is noted. */
static const char *open_check_order(struct cv_open_chunk *chunk,
                                    const struct cleave_order *order)
{
    switch (order->kind) {
    case CLEAVE_SEND:
        chunk->sent++;
        return NULL;
    case CLEAVE_OPEN:
        if (chunk->there)
            return "it has one that has not ended";
        if (chunk->sent > 0)
            return "it has something else to do";
        *chunk = (struct cv_open_chunk){ .there = true, .open = true };
        return NULL;
    case CLEAVE_EXTEND:
        if (!chunk->open)
            return "it has none that is open";
        if (chunk->due > 0)
            return "its last extension has no result yet";
        chunk->due = order->units;
        return NULL;
    case CLEAVE_CLOSE:
        if (!chunk->open)
            return "it has none that is open";
        chunk->open = false;
        return NULL;
    default: /* a query has no effect */
        return NULL;
    }
}

/* Units that an order to extend asked for and did not get: they are left again. */
static double open_check_note(struct cv_open_chunk *chunk,
                              const struct cleave_event *event)
{
    const double due = chunk->due;

    if (event->kind != CLEAVE_EXTENDED && event->kind != CLEAVE_DONE &&
        event->kind != CLEAVE_LOST && event->kind != CLEAVE_DROPPED)
        return 0;
    chunk->due = 0;
    if (event->kind == CLEAVE_EXTENDED)
        return due - event->units;
    /* The worker computes one chunk after the other and was idle when one was opened. */
    if (!chunk->there)
        chunk->sent -= chunk->sent > 0;
    chunk->there = chunk->open = false;
    return due;
}

/* --- which results are ready and which have come back ------------------------------ */

enum { ON_ITS_WAY, READY, ASKED_FOR, HERE };
/* The reason why a result may not be asked for (static), or NULL: then it is noted. */
static const char *return_check_order(struct cv_return_check *check, uint32_t worker,
                                      uint64_t chunk)
{
    if (chunk >= check->count)
        return "there is no such chunk";
    if (check->chunks[chunk].worker != worker)
        return "another worker has that chunk";
    if (check->chunks[chunk].stage == ON_ITS_WAY)
        return "it is not computed yet";
    if (check->chunks[chunk].stage != READY)
        return "it was asked for before";
    check->chunks[chunk].stage = ASKED_FOR;
    return NULL;
}

/* --- how much of a load was given to workers --------------------------------------- */

void cv_assigned_units_clear(struct cv_assigned_units *handed)
{
    handed->units = 0;
    handed->first = 0;
    handed->count = 0;
}

void cv_assigned_units_done(struct cv_assigned_units *handed)
{
    free(handed->request);
    *handed = (struct cv_assigned_units){ .units = 0 };
}

/* Forget the oldest chunks whose real sizes are known. */
static void forget(struct cv_assigned_units *handed)
{
    size_t known = 0;

    while (known < handed->count && isnan(handed->request[known]))
        known++;
    if (known == 0) /* also if there is no list yet */
        return;
    memmove(handed->request, handed->request + known,
            (handed->count - known) * sizeof *handed->request);
    handed->count -= known;
    handed->first += known;
}

/* Leaves at least half of the array free, so that not every order searches it. */
static bool grow_array(struct cv_assigned_units *handed)
{
    forget(handed);
    if (handed->count < handed->room / 2)
        return true;
    return CV_ROOM(handed->request, &handed->room, 2 * handed->count + 8);
}

bool cv_assigned_units_ask(struct cv_assigned_units *handed, double units)
{
    if (handed->count == handed->room && !grow_array(handed))
        return false;
    handed->request[handed->count++] = units;
    handed->units += units;
    return true;
}

void cv_assigned_units_note(struct cv_assigned_units *handed,
                            const struct cleave_event *event)
{
    const bool there =
        event->chunk >= handed->first && event->chunk - handed->first < handed->count;
    double *request = there ? &handed->request[event->chunk - handed->first] : NULL;
    const bool open = there && !isnan(*request);

    if (event->kind == CLEAVE_SENT && open) {
        handed->units += event->units - *request;
        *request = NAN;
    } else if (event->kind == CLEAVE_RECALLED) {
        handed->units -= event->units;
        if (open)
            *request -= event->units;
    } else if (event->kind == CLEAVE_LOST) {
        handed->units -= open ? *request : event->units;
        if (open)
            *request = NAN;
    }
}

/* --- results that wait for their turn ---------------------------------------------- */

void cv_queued_returns_clear(struct cv_queued_returns *held, bool on, bool before)
{
    held->on = on;
    held->before = before;
    held->returning = false;
    held->sends = 0;
    held->first = held->count = 0;
}

void cv_queued_returns_done(struct cv_queued_returns *held)
{
    free(held->items);
    held->items = NULL;
    held->first = held->count = held->room = 0;
}

bool cv_queued_returns_add(struct cv_queued_returns *held,
                           const struct cleave_order *order)
{
    if (held->first == held->count)
        held->first = held->count = 0;
    if (!CV_ROOM(held->items, &held->room, held->count + 1))
        return false;
    held->items[held->count++] = *order;
    return true;
}

void cv_queued_returns_note(struct cv_queued_returns *held,
                            const struct cleave_event *event)
{
    if (event->kind == CLEAVE_SENT || event->kind == CLEAVE_EXTENDED)
        held->sends--;
    else if (event->kind == CLEAVE_RETURNED)
        held->returning = false;
}

bool cv_queued_returns_next(struct cv_queued_returns *held, bool all_sent,
                            struct cleave_order *out)
{
    if (held->sends > 0 || held->returning || held->first == held->count ||
        (held->before && !all_sent))
        return false;
    *out = held->items[held->first++];
    held->returning = true;
    return true;
}

bool cv_queued_returns_take(struct cv_queued_returns *held, uint32_t worker,
                            struct cleave_order *out)
{
    size_t at = held->first;

    while (at < held->count && held->items[at].worker != worker)
        at++;
    if (at == held->count)
        return false;
    *out = held->items[at];
    held->count--;
    memmove(&held->items[at], &held->items[at + 1],
            (held->count - at) * sizeof *held->items);
    return true;
}

/* --- whether a run gets on --------------------------------------------------------- */

/* No finite plan has chunks as small as this part of the load. */
static const double GRAIN = 1e-12;

void cv_livelock_check_begin(struct cv_livelock_check *livelock, double total)
{
    *livelock =
        (struct cv_livelock_check){ .grain = isfinite(total) ? GRAIN * total : 0 };
}

/* Progress by an event other than the two frequent ones. */
bool cv_livelock_check_is_on(struct cv_livelock_check *livelock,
                             const struct cleave_event *event)
{
    switch (event->kind) {
    case CLEAVE_EXTENDED:
        return cv_livelock_check_gives(livelock, event->units);
    case CLEAVE_RECALLED:
        return cv_livelock_check_gives(livelock, -event->units);
    case CLEAVE_LOST:
        livelock->open -= livelock->open > 0;
        cv_livelock_check_gives(livelock, -event->units);
        return true;
    case CLEAVE_ARRIVED:
    case CLEAVE_COMBINED:
    case CLEAVE_READY:
    case CLEAVE_ENDED:
        return true;
    default:
        return false;
    }
}

/* --- partials of a reduction ---------------------------------------------------------- */

static bool reduce_check_init(struct cv_reduce_check *check, struct cv_arena *arena,
                              uint32_t nodes, bool keeps_order, bool all_there)
{
    check->nodes = nodes;
    check->sent = 0;
    check->due = cv_array(arena, nodes, sizeof *check->due);
    check->gone = cv_array(arena, nodes, sizeof *check->gone);
    check->there = cv_array(arena, nodes, sizeof *check->there);
    check->first = check->last = NULL;
    if (check->due == NULL || check->gone == NULL || check->there == NULL)
        return false;
    for (uint32_t i = 0; i < nodes; i++)
        check->there[i] = all_there;
    if (!keeps_order)
        return true;
    if (!CV_NEW(arena, check->first, nodes) || !CV_NEW(arena, check->last, nodes))
        return false;
    for (uint32_t i = 0; i < nodes; i++)
        check->first[i] = check->last[i] = i;
    return true;
}

/* The reason why an order may not be carried out (static), or NULL: then it is noted. */
static const char *reduce_check_order(struct cv_reduce_check *check,
                                      const struct cleave_order *order)
{
    uint32_t to = order->worker, from = order->peer;

    if (to >= check->nodes || from >= check->nodes)
        return "there is no such node";
    if (to == from)
        return "a node cannot send to itself";
    if (check->gone[from])
        return "the sender has sent its partial before";
    if (check->gone[to])
        return "the receiver has sent its partial away";
    if (!check->there[from])
        return "the sender has no partial yet";
    if (check->due[from] > 0)
        return "the sender has combinations to do";
    if (check->first != NULL) {
        if (check->last[from] + 1 == check->first[to])
            check->first[to] = check->first[from];
        else if (check->last[to] + 1 == check->first[from])
            check->last[to] = check->last[from];
        else
            return "their inputs are not neighbours";
    }
    check->gone[from] = true;
    check->due[to]++;
    check->sent++;
    return NULL;
}

/* --- orders and events ------------------------------------------------------------- */

/* Whether it matters which workers have a chunk. */
static bool follows_chunks(const struct cv_driver *driver)
{
    return driver->view.opens || driver->view.copies;
}

static bool is_about_open(const struct cv_driver *driver,
                          const struct cleave_order *order)
{
    return (order->kind == CLEAVE_SEND && follows_chunks(driver)) ||
           order->kind == CLEAVE_OPEN || order->kind == CLEAVE_EXTEND ||
           order->kind == CLEAVE_CLOSE || order->kind == CLEAVE_QUERY ||
           order->kind == CLEAVE_COPY;
}
/* Check an order to copy. The copied chunk is closed. */
static const char *copy_check_order(struct cv_driver *driver,
                                    const struct cleave_order *order)
{
    struct cv_open_chunk *own = &driver->open[order->worker];

    if (!driver->view.copies)
        return "chunks cannot be copied here";
    if (order->peer >= driver->view.nworkers || order->peer == order->worker)
        return "no other worker has it";
    if (own->there || own->sent > 0)
        return "it has something else to do";
    *own = (struct cv_open_chunk){ .there = true };
    driver->open[order->peer].open = false;
    return NULL;
}

static enum cleave_status check_open_order(struct cv_driver *driver,
                                           const struct cleave_order *order,
                                           struct cleave_error *err)
{
    static const char *const VERBS[] = {
        [CLEAVE_SEND] = "send",   [CLEAVE_OPEN] = "open",     [CLEAVE_EXTEND] = "extend",
        [CLEAVE_CLOSE] = "close", [CLEAVE_QUERY] = "look at", [CLEAVE_COPY] = "copy"
    };
    const bool opens = order->kind != CLEAVE_COPY && order->kind != CLEAVE_SEND;
    const char *fault = opens && !driver->view.opens ? "chunks cannot be opened here"
                        : order->kind == CLEAVE_COPY
                            ? copy_check_order(driver, order)
                            : open_check_order(&driver->open[order->worker], order);

    if (fault != NULL)
        return POLICY_FAULT(driver, err, "asked to %s a chunk of worker %u: %s",
                            VERBS[order->kind], order->worker, fault);
    return CLEAVE_OK;
}

/* Check and note an order about the next chunk of one of several loads. */
static enum cleave_status part_check_order(struct cv_driver *driver,
                                           const struct cleave_order *order, double now_s,
                                           struct cleave_error *err)
{
    struct cv_item_check *check = &driver->items;
    const struct cleave_load *loads = driver->planned->loads;
    const uint64_t load = order->item;

    if (order->kind != CLEAVE_SEND || load >= driver->view.nloads)
        return POLICY_FAULT(driver, err, "gave an order about load %llu of %zu",
                            (unsigned long long)load, driver->view.nloads);
    if (loads[load].release_s > now_s)
        return POLICY_FAULT(driver, err, "sent units of load '%s' before its release",
                            loads[load].name);
    if (!CV_ROOM(check->of, &check->of_room, (size_t)check->nchunks + 1))
        return cv_fail_memory(err, "the chunks of a run");
    check->of[check->nchunks++] = load;
    driver->left[load] -= order->units;
    return driver->left[load] >= -CV_DRIVER_SLACK * loads[load].units
               ? CLEAVE_OK
               : POLICY_FAULT(driver, err, "sent %g units more of load '%s' than it has",
                              -driver->left[load], loads[load].name);
}

void cv_driver_release(struct cv_driver *driver, double now_s)
{
    for (size_t k = 0; k < driver->view.nloads; k++)
        if (driver->planned->loads[k].release_s <= now_s)
            driver->loads[k] = driver->planned->loads[k];
}

static enum cleave_status check_load_order(struct cv_driver *driver,
                                           const struct cleave_order *order, double now_s,
                                           struct cleave_error *err)
{
    struct cv_return_check *returns = &driver->returns;

    if (order->kind == CLEAVE_RETURN) {
        const char *fault =
            !cv_driver_has_results(driver)
                ? "this load has none"
                : return_check_order(returns, order->worker, order->chunk);

        if (fault != NULL)
            return POLICY_FAULT(driver, err,
                                "asked worker %u for the result of chunk %llu: %s",
                                order->worker, (unsigned long long)order->chunk, fault);
        return CLEAVE_OK;
    }
    if (!(order->units >= 0) || isinf(order->units))
        return POLICY_FAULT(driver, err, "sent %g units to worker %u", order->units,
                            order->worker);
    if (driver->view.nitems > 0 && order->kind != CLEAVE_COPY)
        CV_TRY(item_check_order(driver, order, err));
    if (driver->view.nloads > 0)
        CV_TRY(part_check_order(driver, order, now_s, err));
    /* A recall may concern several chunks. */
    if (driver->view.memory != NULL && order->kind != CLEAVE_RECALL &&
        order->units > driver->view.memory[order->worker] * (1 + CV_DRIVER_SLACK))
        return cv_fail(
            err, CLEAVE_EINPUT,
            "policy '%s' sends %g units to worker %u at once, which has memory "
            "for %g; auto picks who keeps to that",
            driver->planned->policy->name, order->units, order->worker,
            driver->view.memory[order->worker]);
    if (is_about_open(driver, order))
        CV_TRY(check_open_order(driver, order, err));
    if (order->kind == CLEAVE_EXTEND)
        driver->handed.units += order->units;
    if (order->kind != CLEAVE_SEND && order->kind != CLEAVE_OPEN)
        return CLEAVE_OK;
    driver->livelock.open++;
    cv_backups_ordered(&driver->backups, order->worker);
    if (cv_driver_has_results(driver)) {
        if (!CV_ROOM(returns->chunks, &returns->room, returns->count + 1))
            return cv_fail_memory(err, "the results of a run");
        returns->chunks[returns->count].worker = order->worker;
        returns->chunks[returns->count++].stage = ON_ITS_WAY;
    }
    if (driver->engine->left == NULL) /* the engine gives the units asked for */
        driver->handed.units += order->units;
    else if (!cv_assigned_units_ask(&driver->handed, order->units))
        return cv_fail_memory(err, "the chunks of a run");
    return CLEAVE_OK;
}
enum cleave_status cv_driver_check_order(struct cv_driver *driver,
                                         const struct cleave_order *order, double now_s,
                                         struct cleave_error *err)
{
    const bool reduces = driver->planned->policy->task == CLEAVE_TASK_REDUCE;
    const char *fault;

    if (order->worker >= driver->view.nworkers)
        return POLICY_FAULT(driver, err, "named worker %u of %u", order->worker,
                            driver->view.nworkers);
    if (order->kind == CLEAVE_WAKE_AT) {
        if (!(order->time_s >= now_s) || isinf(order->time_s))
            return POLICY_FAULT(driver, err, "asked to be woken at %g s, but it is %g s",
                                order->time_s, now_s);
        return CLEAVE_OK;
    }
    if ((order->kind == CLEAVE_COMBINE) != reduces)
        return cv_fail(err, CLEAVE_EPOLICY, "policy '%s' gave an order of another task",
                       driver->planned->policy->name);
    if (!reduces)
        return check_load_order(driver, order, now_s, err);
    fault = reduce_check_order(&driver->reduce, order);
    if (fault != NULL)
        return POLICY_FAULT(driver, err, "let node %u send to node %u: %s", order->peer,
                            order->worker, fault);
    return CLEAVE_OK;
}

/* A lost chunk has no result. Without a CLEAVE_SENT event it was still on its way. */
static void note_loss(struct cv_driver *driver, const struct cleave_event *event)
{
    const struct cv_assigned_units *handed = &driver->handed;
    const uint64_t at = event->chunk - handed->first;

    if (driver->held.on && event->chunk >= handed->first && at < handed->count &&
        !isnan(handed->request[at]))
        driver->held.sends--;
    if (!cv_driver_has_results(driver))
        return;
    driver->returns.chunks[event->chunk].stage = HERE;
    driver->returns.returned++;
}

/* Units that an open chunk did not get are left. */
static void note_extension(struct cv_driver *driver, const struct cleave_event *event)
{
    double missed;

    if (!follows_chunks(driver) || driver->open == NULL)
        return;
    missed = open_check_note(&driver->open[event->worker], event);
    if (event->kind == CLEAVE_LOST && missed > 0 && driver->held.on)
        driver->held.sends--;
    driver->view.units_left += missed;
    driver->handed.units -= missed;
}

void cv_driver_note_event(struct cv_driver *driver, const struct cleave_event *event,
                          struct cv_outcome *outcome)
{
    if (driver->backups.hidden)
        return;
    if (driver->held.on)
        cv_queued_returns_note(&driver->held, event);
    note_extension(driver, event);
    if (event->kind == CLEAVE_SENT || event->kind == CLEAVE_EXTENDED)
        outcome->sent_s = event->time_s;
    item_check_note(&driver->items, event);
    if (event->kind == CLEAVE_DONE) {
        outcome->busy_s += event->time_s - event->start_s;
        outcome->makespan_s = event->time_s;
        if (driver->view.nloads > 0)
            driver->ends_s[driver->items.of[event->chunk]] = event->time_s;
        if (cv_driver_has_results(driver)) {
            driver->returns.chunks[event->chunk].stage = READY;
            driver->returns.chunks[event->chunk].worker = event->worker; /* a copy */
        }
    } else if (event->kind == CLEAVE_RETURNED) {
        outcome->makespan_s = event->time_s;
        if (cv_driver_has_results(driver)) {
            driver->returns.chunks[event->chunk].stage = HERE;
            driver->returns.returned++;
        }
    } else if (event->kind == CLEAVE_RECALLED || event->kind == CLEAVE_LOST) {
        if (event->kind == CLEAVE_LOST)
            note_loss(driver, event);
        driver->view.units_left += event->units;
        cv_assigned_units_note(&driver->handed, event);
    } else if (event->kind == CLEAVE_ENDED) {
        driver->view.units_left = event->units;
        driver->view.units_total = driver->handed.units + event->units;
    } else if (event->kind == CLEAVE_SENT) {
        if (driver->engine->left != NULL) /* else the engine gives the units asked for */
            cv_assigned_units_note(&driver->handed, event);
    } else if (event->kind == CLEAVE_COMBINED) {
        driver->reduce.due[event->worker]--;
        outcome->makespan_s = event->time_s;
    } else if (event->kind == CLEAVE_READY) {
        driver->reduce.there[event->worker] = true;
        outcome->makespan_s = event->time_s;
    }
}
enum cleave_status cv_driver_fail(const struct cv_driver *driver,
                                  enum cv_driver_failure failure,
                                  struct cleave_error *err)
{
    switch (failure) {
    case CV_TOO_MANY_UNITS:
        return POLICY_FAULT(driver, err, "handed out %g units more than the load",
                            -driver->view.units_left);
    case CV_TOO_MANY_CHUNKS:
        return POLICY_FAULT(driver, err,
                            "made %llu chunks, and %g of %g units are left: "
                            "expected larger ones",
                            (unsigned long long)driver->chunks, driver->view.units_left,
                            driver->view.units_total);
    case CV_TOO_LONG:
        return cv_fail(err, CLEAVE_EPOLICY,
                       "policy '%s' is not tried to the end: it would take too long",
                       driver->planned->policy->name);
    default:
        return POLICY_FAULT(driver, err,
                            "makes no headway: since %g s there were %llu events, and "
                            "nothing was done",
                            driver->livelock.since_s,
                            (unsigned long long)driver->livelock.idle);
    }
}
/* --- runs -------------------------------------------------------------------------- */

enum cleave_status cv_driver_open(const struct cv_planned *planned,
                                  const struct cv_engine *engine,
                                  const struct cleave_platform *platform,
                                  const void *source, struct cv_driver **out,
                                  struct cleave_error *err)
{
    struct cv_driver *driver = calloc(1, sizeof *driver);
    enum cleave_status status;

    if (driver == NULL)
        return cv_fail_memory(err, "a driver");
    cv_arena_init(&driver->arena);
    driver->planned = planned;
    driver->engine = engine;
    status = engine->open(platform, source, &driver->instance, err);
    if (status != CLEAVE_OK) {
        free(driver);
        return status;
    }
    *out = driver;
    return CLEAVE_OK;
}

void cv_driver_close(struct cv_driver *driver)
{
    if (driver == NULL)
        return;
    driver->engine->close(driver->instance);
    cv_arena_done(&driver->arena);
    free(driver->returns.chunks);
    cv_queued_returns_done(&driver->held);
    cv_assigned_units_done(&driver->handed);
    free(driver->backups.chunks);
    free(driver->items.has);
    free(driver->items.of);
    free(driver->orders.items);
    free(driver);
}

const double *cv_driver_done_s(const struct cv_driver *driver)
{
    return driver->done_s;
}

/* Checks of a load. */
static enum cleave_status init_load_checks(struct cv_driver *driver,
                                           struct cleave_error *err)
{
    const struct cleave_view *view = &driver->view;

    if (!CV_NEW(&driver->arena, driver->done_s, view->nworkers) ||
        !CV_NEW(&driver->arena, driver->open, view->nworkers))
        return cv_fail_memory(err, "the state of a policy");
    if (!item_check_begin(&driver->items, view->nitems))
        return cv_fail_memory(err, "the items of a run");
    if (view->nloads > 0) {
        if (!CV_NEW(&driver->arena, driver->loads, view->nloads) ||
            !CV_NEW(&driver->arena, driver->left, view->nloads) ||
            !CV_NEW(&driver->arena, driver->ends_s, view->nloads))
            return cv_fail_memory(err, "the loads of a run");
        memcpy(driver->loads, view->loads, view->nloads * sizeof *driver->loads);
        for (size_t k = 0; k < view->nloads; k++)
            driver->left[k] = driver->planned->loads[k].units;
        driver->view.loads = driver->loads;
    }
    driver->livelock.items = view->nitems > 0;
    driver->orders.sizes = view->sizes;
    driver->orders.nitems = view->nitems;
    return CLEAVE_OK;
}

static enum cleave_status start_policy(struct cv_driver *driver, struct cleave_error *err)
{
    const struct cleave_policy *policy = driver->planned->policy;
    struct cleave_setup setup = { .arena = &driver->arena };

    cv_arena_reset(&driver->arena);
    driver->state = cv_array(&driver->arena, 1, policy->state_size);
    if (driver->state == NULL)
        return cv_fail_memory(err, "the state of a policy");
    memcpy(driver->state, driver->planned->state, policy->state_size);
    driver->view = driver->planned->view;
    if (policy->task == CLEAVE_TASK_REDUCE) {
        driver->view.ready_s = driver->run.ready_s;
        driver->view.ready_model = driver->run.ready_model;
    }
    driver->done_s = NULL;
    driver->open = NULL;
    driver->orders.units_left = &driver->view.units_left;
    driver->orders.out_of_memory = false;
    driver->chunks = 0;
    cv_assigned_units_clear(&driver->handed);
    cv_livelock_check_begin(&driver->livelock, driver->view.units_total);
    driver->returns.count = driver->returns.returned = 0;
    if (policy->task != CLEAVE_TASK_REDUCE)
        CV_TRY(init_load_checks(driver, err));
    CV_TRY(cv_backups_begin(driver, err));
    cv_queued_returns_clear(&driver->held,
                            driver->view.sends_first || driver->view.before_round,
                            driver->view.before_round);
    if (policy->task == CLEAVE_TASK_REDUCE &&
        !reduce_check_init(&driver->reduce, &driver->arena, driver->view.nworkers,
                           policy->keeps_order, driver->view.ready_s == NULL))
        return cv_fail_memory(err, "the state of a reduction");
    return policy->start == NULL
               ? CLEAVE_OK
               : policy->start(driver->state, &driver->view, &setup, err);
}

static enum cleave_status record_policy_input(const struct cv_driver *driver,
                                              struct cleave_trace *trace,
                                              struct cleave_error *err)
{
    const struct cv_planned *planned = driver->planned;
    struct cleave_policy_input told = { .settings = planned->settings,
                                        .nsettings = planned->nsettings,
                                        .view = planned->view,
                                        .changing =
                                            cv_is_changing(driver->run.platform) };

    if (trace == NULL || planned->given || planned->loads != NULL)
        return CLEAVE_OK;
    if (driver->run.command != NULL) {
        told.reads = driver->run.command->name;
        told.input = driver->run.units;
    }
    told.view.ready_s = driver->view.ready_s;
    told.view.ready_model = driver->view.ready_model;
    if (told.view.lifespan_s > 0) /* the plan decides how much */
        told.view.units_total = told.view.units_left = 0;
    return cleave_trace_describe(trace, &(struct cleave_trace_facts){ .told = &told },
                                 err);
}

enum cleave_status cv_driver_record_event(const struct cv_driver *driver,
                                          struct cleave_trace *trace,
                                          const struct cleave_event *event,
                                          struct cleave_error *err)
{
    struct cleave_entry entry = { .is_order = false };

    entry.as.event = *event;
    if (driver->backups.on)
        entry.as.event.worker = driver->backups.worker;
    if (driver->engine->left != NULL && isfinite(driver->view.units_left)) {
        entry.knows_left = true;
        entry.units_left = driver->view.units_left;
    }
    return cleave_trace_add(trace, &entry, err);
}

enum cleave_status cv_driver_record_order(struct cleave_trace *trace,
                                          const struct cleave_order *order,
                                          struct cleave_error *err)
{
    struct cleave_entry entry = { .is_order = true };

    entry.as.order = *order;
    return cleave_trace_add(trace, &entry, err);
}

/* A worker whose chunk was never closed, or nworkers. */
static uint32_t open_worker(const struct cv_driver *driver)
{
    uint32_t w = driver->view.opens ? 0 : driver->view.nworkers;

    while (w < driver->view.nworkers && !driver->open[w].open)
        w++;
    return w;
}
static enum cleave_status check_end(const struct cv_driver *driver,
                                    struct cleave_error *err)
{
    const struct cleave_view *view = &driver->view;

    if (driver->planned->policy->task == CLEAVE_TASK_REDUCE) {
        if (driver->reduce.sent + 1 < view->nworkers)
            return POLICY_FAULT(driver, err, "stopped with %u partials left",
                                view->nworkers - driver->reduce.sent);
    } else if (driver->items.given < view->nitems &&
               (driver->engine->left == NULL || view->units_left > 0)) {
        return POLICY_FAULT(driver, err, "stopped with %llu of %llu items left",
                            (unsigned long long)(view->nitems - driver->items.given),
                            (unsigned long long)view->nitems);
    } else if (view->units_left > CV_DRIVER_SLACK * view->units_total) {
        return POLICY_FAULT(driver, err, "stopped with %g of %g units left",
                            view->units_left, view->units_total);
    } else if (open_worker(driver) < view->nworkers) {
        return POLICY_FAULT(driver, err, "stopped and left the chunk of worker %u open",
                            open_worker(driver));
    } else if (cv_driver_has_results(driver) &&
               driver->returns.returned < driver->chunks) {
        return POLICY_FAULT(driver, err, "stopped with %llu of %llu results not fetched",
                            (unsigned long long)(driver->chunks -
                                                 driver->returns.returned),
                            (unsigned long long)driver->chunks);
    }
    return CLEAVE_OK;
}

enum cleave_status cv_backups_order(struct cv_driver *driver, double now_s,
                                    struct cleave_trace *trace,
                                    const struct cv_loop *loop, struct cleave_error *err)
{
    struct cleave_order order;

    if (driver->backups.out_of_memory)
        return cv_fail_memory(err, "backup copies");
    while (cv_backups_next(driver, now_s, &order))
        CV_TRY(cv_loop_submit(driver, &order, trace, loop, err));
    return CLEAVE_OK;
}

/* A policy of several loads gets CLEAVE_WAKE at their releases. */
static enum cleave_status wake_at_releases(struct cv_driver *driver,
                                           struct cleave_trace *trace,
                                           struct cleave_error *err)
{
    const struct cv_loop loop = { .submit = driver->engine->submit };

    for (size_t k = 0; k < driver->view.nloads; k++) {
        const struct cleave_order order = { .kind = CLEAVE_WAKE_AT,
                                            .time_s =
                                                driver->planned->loads[k].release_s };

        if (order.time_s > 0)
            CV_TRY(cv_loop_submit(driver, &order, trace, &loop, err));
    }
    return CLEAVE_OK;
}

/* Use the engine's own loop for plain runs. */
static enum cleave_status run_loop(struct cv_driver *driver, struct cleave_trace *trace,
                                   struct cv_outcome *outcome, struct cleave_error *err)
{
    const struct cv_loop loop = { .submit = driver->engine->submit,
                                  .wait = driver->engine->wait };

    if (driver->engine->plain_loop != NULL && cv_driver_is_plain(driver, trace))
        return driver->engine->plain_loop(driver, outcome, err);
    return cv_driver_loop(driver, trace, &loop, outcome, err);
}

enum cleave_status cv_driver_run(struct cv_driver *driver, const struct cv_run *run,
                                 struct cleave_trace *trace, struct cv_outcome *out,
                                 struct cleave_error *err)
{
    struct cv_outcome outcome = { 0 };

    driver->run = *run;
    driver->run.result_ratio = driver->planned->view.result_ratio;
    driver->run.items = driver->planned->view.nitems > 0;
    driver->run.loads = driver->planned->loads;
    driver->run.copies = driver->planned->view.copies;
    /* If chunks may be opened, no substitute handles losses, as in real runs. */
    driver->run.gets_losses =
        driver->planned->policy->gets_losses || driver->planned->view.opens;
    if (isfinite(driver->planned->view.units_total))
        driver->run.units = driver->planned->view.units_total;
    CV_TRY(driver->engine->begin(driver->instance, &driver->run, err));
    CV_TRY(start_policy(driver, err));
    CV_TRY(record_policy_input(driver, trace, err));
    CV_TRY(wake_at_releases(driver, trace, err));
    CV_TRY(run_loop(driver, trace, &outcome, err));
    if (driver->engine->left != NULL) /* the engine may have completed the load itself */
        driver->view.units_left = driver->engine->left(driver->instance);
    CV_TRY(check_end(driver, err));
    outcome.chunks = driver->chunks;
    outcome.value = driver->view.nloads > 0
                        ? cv_loads_value(driver->view.goal, driver->planned->loads,
                                         (uint32_t)driver->view.nloads, driver->ends_s)
                        : outcome.makespan_s;
    *out = outcome;
    return CLEAVE_OK;
}

enum cleave_status cv_driver_run_once(const struct cv_planned *planned,
                                      const struct cv_engine *engine, const void *source,
                                      const struct cv_run *run,
                                      struct cleave_trace *trace, struct cv_outcome *out,
                                      struct cleave_error *err)
{
    struct cv_driver *driver;
    enum cleave_status status;

    CV_TRY(cv_driver_open(planned, engine, run->platform, source, &driver, err));
    status = cv_driver_run(driver, run, trace, out, err);
    cv_driver_close(driver);
    return status;
}
