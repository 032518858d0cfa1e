/* parity_check.h -- the native engine and SimGrid on the same plan, compared.
 * SPDX-License-Identifier: MIT */
#ifndef PARITY_CHECK_H
#define PARITY_CHECK_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cleave/trace.h>
#include "engine/driver.h"
#include "policy/compound/registry.h"
#include "sim/simgrid/simgrid_engine.h"

static const double NEAR = 1e-9;

/* --- one world of SimGrid for many runs ------------------------------------------------- */

/* Starting a process takes longer than many runs do: an engine that lends the same one to
 * every driver. */
static void *lent;
static const struct cv_engine *lender;

static enum cleave_status lend(const struct cleave_platform *platform, const void *source,
                               void **out, struct cleave_error *err)
{
    (void)platform;
    (void)source;
    (void)err;
    *out = lent;
    return CLEAVE_OK;
}

static enum cleave_status lent_begin(void *engine, const struct cv_run *run,
                                     struct cleave_error *err)
{
    return lender->begin(engine, run, err);
}

static enum cleave_status lent_submit(void *engine, const struct cleave_order *order,
                                      struct cleave_error *err)
{
    return lender->submit(engine, order, err);
}

static enum cleave_status lent_wait(void *engine, struct cleave_event *out, bool *out_any,
                                    struct cleave_error *err)
{
    return lender->wait(engine, out, out_any, err);
}

static void keep(void *engine)
{
    (void)engine;
}

static const struct cv_engine lent_engine = { "simgrid",  "-",         lend,
                                              lent_begin, lent_submit, lent_wait,
                                              NULL,       NULL,        keep };

static void borrow(const struct cv_engine *engine, const struct cleave_platform *platform,
                   const struct cv_simgrid_source *source)
{
    struct cleave_error err;

    lender = engine;
    if (engine->open(platform, source, &lent, &err) != CLEAVE_OK)
        fail_msg("%s", err.text);
}

static void give_back(void)
{
    lender->close(lent);
    lent = NULL;
}

/* --- comparing -------------------------------------------------------------------------- */

struct trial {
    const struct cleave_policy *policy;
    const char *where; /* kind of platform */
    struct cleave_trace *native, *grid;
};

#define MUST(trial, condition, ...)                                         \
    do {                                                                    \
        if (!(condition)) {                                                 \
            print_error("%s, %s: ", (trial)->policy->name, (trial)->where); \
            print_error(__VA_ARGS__);                                       \
            print_error("\n");                                              \
            fail();                                                         \
        }                                                                   \
    } while (0)

static bool near(double a, double b, double scale)
{
    return fabs(a - b) <= NEAR * fmax(fabs(a), fabs(b)) + 1e-12 * scale;
}

static size_t pick(const struct cleave_trace *trace, bool orders,
                   struct cleave_entry *out)
{
    size_t count = 0;

    for (size_t i = 0; i < cleave_trace_count(trace); i++) {
        const struct cleave_entry *entry = cleave_trace_at(trace, i);

        if (entry->is_order == orders)
            out[count++] = *entry;
    }
    return count;
}

/* Order of events by their subject; equal subjects by time. */
static int by_matter(const void *left, const void *right)
{
    const struct cleave_event *a = &((const struct cleave_entry *)left)->as.event;
    const struct cleave_event *b = &((const struct cleave_entry *)right)->as.event;

    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->worker != b->worker)
        return a->worker < b->worker ? -1 : 1;
    if (a->peer != b->peer)
        return a->peer < b->peer ? -1 : 1;
    if (a->chunk != b->chunk)
        return a->chunk < b->chunk ? -1 : 1;
    return (a->time_s > b->time_s) - (a->time_s < b->time_s);
}

/* The event after entry *at, which is moved to it; *orders counts the orders before it,
 * and NULL is when there are more than `most`. */
static const struct cleave_event *next_event(const struct cleave_trace *trace, size_t *at,
                                             size_t *orders, size_t max)
{
    for (; *at < cleave_trace_count(trace) && *orders <= max; ++*at) {
        const struct cleave_entry *entry = cleave_trace_at(trace, *at);

        if (!entry->is_order) {
            ++*at;
            return &entry->as.event;
        }
        ++*orders;
    }
    return NULL;
}

/* In plans that let all workers end together, as most do, the first to end depends on the
 * last digit of a sum; if results come back in that order, much follows from it, at once
 * or later. Both engines are right: they delivered two simultaneous events in another
 * order, before the order of that number. */
static bool tie_by_rounding(const struct trial *trial, size_t order)
{
    size_t at_a = 0, at_b = 0, orders_a = 0, orders_b = 0;

    for (;;) {
        const struct cleave_event *a = next_event(trial->native, &at_a, &orders_a, order);
        const struct cleave_event *b = next_event(trial->grid, &at_b, &orders_b, order);

        if (a == NULL || b == NULL)
            return false;
        if (a->worker != b->worker || a->kind != b->kind)
            return near(a->time_s, b->time_s, 0);
    }
}

/* learn recalls units so that two workers end together, and then asks for the last of
 * them: an additional tie. */
static bool has_ties_of_its_own(const struct cleave_policy *policy)
{
    return policy == &cleave_policy_learn;
}

static bool same_order(const struct cleave_order *a, const struct cleave_order *b)
{
    return a->kind == b->kind && a->worker == b->worker && a->peer == b->peer &&
           a->chunk == b->chunk && near(a->units, b->units, 0) &&
           near(a->time_s, b->time_s, 0);
}

enum verdict { SAME, PART_AT_TIE, PART_IN_POLICY };

static enum verdict compare_orders(const struct trial *trial,
                                   const struct cleave_entry *a,
                                   const struct cleave_entry *b, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct cleave_order *x = &a[i].as.order, *y = &b[i].as.order;

        if (!same_order(x, y) && tie_by_rounding(trial, i)) {
            print_message("%s, %s: part at a tie, before order %zu\n",
                          trial->policy->name, trial->where, i);
            return PART_AT_TIE;
        }
        if (!same_order(x, y) && has_ties_of_its_own(trial->policy))
            return PART_IN_POLICY;
        MUST(trial, same_order(x, y),
             "order %zu: kind %d worker %u peer %u chunk %llu units %.17g at %.17g, "
             "SimGrid: kind %d worker %u peer %u chunk %llu units %.17g at %.17g",
             i, (int)x->kind, x->worker, x->peer, (unsigned long long)x->chunk, x->units,
             x->time_s, (int)y->kind, y->worker, y->peer, (unsigned long long)y->chunk,
             y->units, y->time_s);
    }
    return SAME;
}

static void compare_events(const struct trial *trial, const struct cleave_entry *a,
                           const struct cleave_entry *b, size_t count, double scale)
{
    for (size_t i = 0; i < count; i++) {
        const struct cleave_event *x = &a[i].as.event, *y = &b[i].as.event;

        MUST(
            trial,
            x->kind == y->kind && x->worker == y->worker && x->peer == y->peer &&
                x->chunk == y->chunk && near(x->units, y->units, scale) &&
                near(x->start_s, y->start_s, scale) && near(x->time_s, y->time_s, scale),
            "event %zu: kind %d worker %u peer %u chunk %llu units %.17g from %.17g to "
            "%.17g, SimGrid: kind %d worker %u peer %u chunk %llu units %.17g from %.17g "
            "to %.17g",
            i, (int)x->kind, x->worker, x->peer, (unsigned long long)x->chunk, x->units,
            x->start_s, x->time_s, (int)y->kind, y->worker, y->peer,
            (unsigned long long)y->chunk, y->units, y->start_s, y->time_s);
    }
}

static struct cleave_entry *pick_all(const struct cleave_trace *trace, bool orders,
                                     size_t *out_count)
{
    struct cleave_entry *picked = calloc(cleave_trace_count(trace) + 1, sizeof *picked);

    assert_non_null(picked);
    *out_count = pick(trace, orders, picked);
    return picked;
}

static void compare_all_events(const struct trial *trial, double makespan_s)
{
    size_t n, m;
    struct cleave_entry *a = pick_all(trial->native, false, &n);
    struct cleave_entry *b = pick_all(trial->grid, false, &m);

    MUST(trial, n == m, "%zu events, SimGrid: %zu", n, m);
    qsort(a, n, sizeof *a, by_matter);
    qsort(b, n, sizeof *b, by_matter);
    compare_events(trial, a, b, n, makespan_s);
    free(a);
    free(b);
}

static enum verdict compare(const struct trial *trial, double makespan_s)
{
    size_t n, m;
    struct cleave_entry *a = pick_all(trial->native, true, &n);
    struct cleave_entry *b = pick_all(trial->grid, true, &m);
    const enum verdict verdict = compare_orders(trial, a, b, n < m ? n : m);

    if (verdict == SAME) {
        MUST(trial, n == m, "%zu orders, SimGrid: %zu", n, m);
        compare_all_events(trial, makespan_s);
    }
    free(a);
    free(b);
    return verdict;
}

/* --- following ---------------------------------------------------------------------------- */

/* If a policy has such ties, the native engine gets the orders from SimGrid: a policy
 * repeats the recorded answer to every event. */
static const struct cleave_trace *followed;

static bool same_matter(const struct cleave_event *a, const struct cleave_event *b)
{
    return a->kind == b->kind && a->worker == b->worker && a->peer == b->peer &&
           a->chunk == b->chunk &&
           (a->kind != CLEAVE_WAKE || near(a->time_s, b->time_s, 0));
}

static void give(const struct cleave_order *order, struct cleave_orders *orders)
{
    if (order->kind == CLEAVE_SEND)
        cleave_order_send(orders, order->worker, order->units);
    else if (order->kind == CLEAVE_RETURN)
        cleave_order_return(orders, order->worker, order->chunk);
    else if (order->kind == CLEAVE_RECALL)
        cleave_order_recall(orders, order->worker, order->units);
    else if (order->kind == CLEAVE_WAKE_AT)
        cleave_order_wake(orders, order->worker, order->time_s);
    else
        cleave_order_combine(orders, order->worker, order->peer);
}

/* One byte of state per entry: an event is answered once. */
static void follow_decide(void *state, const struct cleave_view *view,
                          const struct cleave_event *event, struct cleave_orders *orders)
{
    bool *answered = state;
    const size_t count = cleave_trace_count(followed);

    (void)view;
    for (size_t i = 0; i < count; i++) {
        const struct cleave_entry *entry = cleave_trace_at(followed, i);

        if (entry->is_order || answered[i] || !same_matter(&entry->as.event, event))
            continue;
        answered[i] = true;
        for (i++; i < count && cleave_trace_at(followed, i)->is_order; i++)
            give(&cleave_trace_at(followed, i)->as.order, orders);
        return;
    }
}

static void follow(const struct trial *trial, const struct cv_planned *planned,
                   const struct cv_engine *native, const struct cv_run *run)
{
    struct cleave_policy policy = *trial->policy;
    struct cv_planned follower = *planned;
    struct trial again = *trial;
    struct cv_driver *driver = NULL;
    struct cv_outcome outcome = { 0 };
    struct cleave_error err;
    bool *answered = calloc(cleave_trace_count(trial->grid) + 1, sizeof *answered);

    assert_non_null(answered);
    followed = trial->grid;
    policy.name = "follower";
    policy.state_size = cleave_trace_count(trial->grid) + 1;
    policy.orders_returns = true; /* returns are among the orders */
    policy.start = NULL;
    policy.decide = follow_decide;
    follower.policy = &policy;
    follower.state = answered;
    assert_int_equal(cleave_trace_new(&again.native, NULL), CLEAVE_OK);
    if (cv_driver_open(&follower, native, run->platform, NULL, &driver, &err) !=
            CLEAVE_OK ||
        cv_driver_run(driver, run, again.native, &outcome, &err) != CLEAVE_OK)
        MUST(trial, false, "following SimGrid: %s", err.text);
    compare_all_events(&again, outcome.makespan_s);
    cv_driver_close(driver);
    cleave_trace_free(again.native);
    free(answered);
}

/* Run the plan on both and compare. False when they part at a tie. */
static bool run_both(const struct cleave_policy *policy, const char *where,
                     const struct cv_planned *planned, const struct cv_engine *native,
                     const struct cv_reduce_costs *costs, const struct cv_run *run)
{
    struct trial trial = { policy, where, NULL, NULL };
    const struct cv_engine *engines[] = { native, &lent_engine };
    struct cv_outcome outcome[2];
    enum verdict verdict;

    assert_int_equal(cleave_trace_new(&trial.native, NULL), CLEAVE_OK);
    assert_int_equal(cleave_trace_new(&trial.grid, NULL), CLEAVE_OK);
    memset(outcome, 0, sizeof outcome);
    for (int i = 0; i < 2; i++) {
        struct cv_driver *driver = NULL;
        struct cleave_error err;
        enum cleave_status status =
            cv_driver_open(planned, engines[i], run->platform, costs, &driver, &err);

        if (status == CLEAVE_OK)
            status = cv_driver_run(driver, run, i == 0 ? trial.native : trial.grid,
                                   &outcome[i], &err);
        MUST(&trial, status == CLEAVE_OK, "%s: %s", engines[i]->name, err.text);
        cv_driver_close(driver);
    }
    verdict = compare(&trial, outcome[0].makespan_s);
    if (verdict == SAME) {
        MUST(&trial, near(outcome[0].makespan_s, outcome[1].makespan_s, 0),
             "makespan %.17g s, SimGrid: %.17g s", outcome[0].makespan_s,
             outcome[1].makespan_s);
        MUST(&trial, near(outcome[0].busy_s, outcome[1].busy_s, 0), "busy times differ");
    } else if (verdict == PART_IN_POLICY) {
        follow(&trial, planned, native, run);
    }
    cleave_trace_free(trial.native);
    cleave_trace_free(trial.grid);
    return verdict != PART_AT_TIE;
}

#endif
