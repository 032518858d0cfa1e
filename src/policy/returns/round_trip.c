/* round_trip.c -- policies of one round with results in a fixed order: fifo, lifo,
 * orders, small-results, best-orders.
 * SPDX-License-Identifier: MIT
 *
 * A solver of model/returns/returns.h makes the plan. Sends follow each other without a
 * pause; results are asked for in the planned order, each as soon as it and the earlier
 * ones are ready. */
#include "policy/returns/round_trip.h"

#include <stdlib.h>
#include <string.h>
#include "model/returns/returns_bounds.h"
#include "model/returns/returns_search.h"

/* First in the state of each policy here. */
struct round {
    struct cv_round_trip trip; /* shared by all runs */
    uint32_t next_back;        /* index in trip.back */
    uint64_t *ready;           /* per worker: its chunk + 1 when computed */
};

struct cv_returns cv_returns_of(const struct cleave_view *view,
                                struct cleave_setup *setup)
{
    return (struct cv_returns){
        .trips =
            cv_trips(view->workers, view->nworkers, view->result_ratio, 0, setup->arena),
        .n = view->nworkers,
        .single = view->port == CLEAVE_PORT_ONE,
        .budget = setup->budget,
    };
}

static void note_left_out(const struct cv_round_trip *trip,
                          const struct cleave_view *view, struct cleave_setup *setup)
{
    for (uint32_t i = 0; i < view->nworkers; i++)
        if (!(trip->units[i] > 0))
            cv_note_left_out(setup, i,
                             "its messages would cost the others more work than it could "
                             "do by %.6g s",
                             trip->lifespan_s);
}

/* The shares sum up to the load except for rounding, which the largest share takes. */
static void settle(struct cv_round_trip *trip, double load)
{
    uint32_t largest = trip->send[0];
    double sum = 0;

    for (uint32_t k = 0; k < trip->n; k++) {
        sum += trip->units[trip->send[k]];
        if (trip->units[trip->send[k]] > trip->units[largest])
            largest = trip->send[k];
    }
    trip->units[largest] += load - sum;
    trip->work = load;
}

/* The part of the optimal work that these schedules are known to reach. */
static enum cleave_status note_sure(const struct cv_returns *returns,
                                    struct cleave_setup *setup, struct cleave_error *err)
{
    struct cv_returns_ratios sure;

    if (setup->notes == NULL)
        return CLEAVE_OK;
    if (!cv_returns_ratios(returns, setup->arena, &sure))
        return cv_fail_memory(err, "what is certain");
    if (sure.best > 0) {
        cv_note_fact(setup, "sure_fifo", sure.fifo);
        cv_note_fact(setup, "sure_lifo", sure.lifo);
        cv_note_fact(setup, "sure_best", sure.best);
    }
    return CLEAVE_OK;
}

/* Plan for the load or the lifespan of the view and note excluded workers. */
static enum cleave_status round_trip_plan(struct round *round,
                                          const struct cleave_view *view,
                                          const struct cv_returns_solver *solver,
                                          struct cleave_setup *setup,
                                          struct cleave_error *err)
{
    const struct cv_returns returns = cv_returns_of(view, setup);
    struct cv_round_trip *trip = &round->trip;

    if (returns.trips == NULL)
        return cv_fail_memory(err, "the plan");
    if (view->lifespan_s > 0) {
        CV_TRY(solver->solve(solver->context, &returns, view->lifespan_s, setup->arena,
                             trip, err));
    } else {
        CV_TRY(cv_returns_for_work(&returns, solver, view->units_total, setup->arena,
                                   trip, err));
        if (trip->n > 0)
            settle(trip, view->units_total);
    }
    note_left_out(trip, view, setup);
    return note_sure(&returns, setup, err);
}

static enum cleave_status round_trip_start(void *state, const struct cleave_view *view,
                                           struct cleave_setup *setup,
                                           struct cleave_error *err)
{
    struct round *round = state;

    round->next_back = 0;
    round->ready = cv_array(setup->arena, view->nworkers, sizeof *round->ready);
    return round->ready != NULL ? CLEAVE_OK : cv_fail_memory(err, "the results");
}
static void round_trip_decide(void *state, const struct cleave_view *view,
                              const struct cleave_event *event,
                              struct cleave_orders *orders)
{
    struct round *round = state;

    if (event->kind == CLEAVE_START) {
        /* All at once: no result may come between two sends. */
        for (uint32_t k = 0; k < round->trip.n; k++)
            cleave_order_send(orders, round->trip.send[k],
                              round->trip.units[round->trip.send[k]]);
    } else if (event->kind == CLEAVE_DONE && view->result_ratio > 0) {
        const struct cv_round_trip *trip = &round->trip;

        round->ready[event->worker] = event->chunk + 1;
        while (round->next_back < trip->n &&
               round->ready[trip->back[round->next_back]] > 0) {
            const uint32_t worker = trip->back[round->next_back++];

            cleave_order_return(orders, worker, round->ready[worker] - 1);
        }
    }
}

static double round_trip_work(const void *state)
{
    return ((const struct round *)state)->trip.work;
}

#define ROUND_TRIP                                                                \
    .needs = CLEAVE_NEEDS_SHARED_PORT, .one_round = true, .orders_returns = true, \
    .start = round_trip_start, .decide = round_trip_decide, .work = round_trip_work

/* --- fifo: first served, first to return its result --------------------------------- */

static enum cleave_status fifo_plan(void *state, const struct cleave_view *view,
                                    struct cleave_setup *setup, struct cleave_error *err)
{
    struct round *round = state;

    CV_TRY(round_trip_plan(round, view, &cv_returns_solver_fifo, setup, err));
    if (round->trip.optimal)
        cleave_setup_proved(setup, "schedules that return in the order of sending",
                            false);
    return CLEAVE_OK;
}

const struct cleave_policy cleave_policy_fifo = {
    .name = "fifo",
    .summary = "one round with results, returned in the order of sending",
    .reference = "Beaumont and Rosenberg 2010",
    ROUND_TRIP,
    .state_size = sizeof(struct round),
    .plan = fifo_plan,
};

/* --- lifo: first served, last to return its result ---------------------------------- */

static enum cleave_status lifo_plan(void *state, const struct cleave_view *view,
                                    struct cleave_setup *setup, struct cleave_error *err)
{
    const struct cv_returns returns = cv_returns_of(view, setup);
    struct round *round = state;

    CV_TRY(round_trip_plan(round, view, &cv_returns_solver_lifo, setup, err));
    if (returns.trips != NULL && cv_returns_lifo_proved(&returns, setup->arena))
        cleave_setup_proved(setup, "all schedules of one round", true);
    else if (round->trip.optimal)
        cleave_setup_proved(setup,
                            "schedules that return in the reverse order of sending",
                            false);
    return CLEAVE_OK;
}

const struct cleave_policy cleave_policy_lifo = {
    .name = "lifo",
    .summary = "one round with results, returned in the reverse order of sending",
    .reference = "Beaumont and Rosenberg 2010",
    ROUND_TRIP,
    .state_size = sizeof(struct round),
    .plan = lifo_plan,
};

/* --- orders: sending and returning in given orders ---------------------------------- */

/* The shares are the best for these orders: a linear system if no worker idles and all
 * shares are positive; else a linear program decides which workers are excluded, or wait
 * for a master that handles one message at a time. O(n^3). A worker that neither order
 * names takes no part.
 *
 * O. Beaumont, A. L. Rosenberg, Link-heterogeneity vs. node-heterogeneity in clusters,
 * 2010; the set of workers as in docs/theory/returns.md. */

struct given_orders {
    struct round round;
    const char *send_order, *return_order; /* "2,0,1" */
};

struct pair {
    const uint32_t *send, *back;
    uint32_t n;
};

static enum cleave_status solve_orders(void *context, const struct cv_returns *returns,
                                       double lifespan_s, struct cv_arena *arena,
                                       struct cv_round_trip *out,
                                       struct cleave_error *err)
{
    const struct pair *pair = context;

    return cv_returns_given(returns, pair->send, pair->back, pair->n, lifespan_s, arena,
                            out, err);
}

/* Numbers from 0, each once, separated by commas. */
static enum cleave_status read_order(const char *name, const char *text,
                                     uint32_t nworkers, struct cv_arena *arena,
                                     uint32_t **out, uint32_t *out_n,
                                     struct cleave_error *err)
{
    uint32_t *order = cv_array(arena, nworkers, sizeof *order);
    bool *seen = cv_array(arena, nworkers, sizeof *seen);
    uint32_t n = 0;

    if (order == NULL || seen == NULL)
        return cv_fail_memory(err, "the orders");
    if (text == NULL)
        return cv_fail(err, CLEAVE_EINPUT,
                       "policy 'orders' needs a %s, such as 2,0,1: workers by number, "
                       "the first of the platform is 0",
                       name);
    for (const char *at = text;; at++) {
        char *end;
        const unsigned long worker = strtoul(at, &end, 10);

        if (*at < '0' || *at > '9' || (*end != ',' && *end != '\0'))
            return cv_fail(err, CLEAVE_EINPUT,
                           "policy 'orders': parameter '%s': expected numbers of workers "
                           "with commas between, such as 2,0,1, got '%s'",
                           name, text);
        if (worker >= nworkers || seen[worker])
            return cv_fail(err, CLEAVE_EINPUT,
                           "policy 'orders': parameter '%s': expected each worker from 0 "
                           "to %lu at most once, got %lu%s",
                           name, (unsigned long)nworkers - 1, worker,
                           worker < nworkers ? " twice" : "");
        seen[worker] = true;
        order[n++] = (uint32_t)worker;
        if (*end == '\0')
            break;
        at = end;
    }
    *out = order;
    *out_n = n;
    return CLEAVE_OK;
}

static enum cleave_status check_same(const uint32_t *send, uint32_t nsend,
                                     const uint32_t *back, uint32_t nback,
                                     uint32_t nworkers, struct cv_arena *arena,
                                     struct cleave_error *err)
{
    bool *served = cv_array(arena, nworkers, sizeof *served);

    if (served == NULL)
        return cv_fail_memory(err, "the orders");
    for (uint32_t k = 0; k < nsend; k++)
        served[send[k]] = true;
    for (uint32_t k = 0; k < nback; k++) {
        if (!served[back[k]])
            return cv_fail(err, CLEAVE_EINPUT,
                           "policy 'orders': worker %u returns a result but is sent "
                           "nothing",
                           back[k]);
        served[back[k]] = false;
    }
    for (uint32_t k = 0; k < nsend; k++)
        if (served[send[k]])
            return cv_fail(err, CLEAVE_EINPUT,
                           "policy 'orders': worker %u is sent work but does not return",
                           send[k]);
    return CLEAVE_OK;
}

static enum cleave_status orders_plan(void *state, const struct cleave_view *view,
                                      struct cleave_setup *setup,
                                      struct cleave_error *err)
{
    struct given_orders *given = state;
    uint32_t *send = NULL, *back = NULL, nsend = 0, nback = 0;
    struct pair pair;

    CV_TRY(read_order("send-order", given->send_order, view->nworkers, setup->arena,
                      &send, &nsend, err));
    CV_TRY(read_order("return-order", given->return_order, view->nworkers, setup->arena,
                      &back, &nback, err));
    CV_TRY(check_same(send, nsend, back, nback, view->nworkers, setup->arena, err));
    pair = (struct pair){ send, back, nsend };
    CV_TRY(round_trip_plan(&given->round, view,
                           &(struct cv_returns_solver){ solve_orders, &pair, false },
                           setup, err));
    if (given->round.trip.optimal)
        cleave_setup_proved(setup, "schedules with these orders", false);
    return CLEAVE_OK;
}

static const struct cleave_param orders_params[] = {
    { "send-order", CLEAVE_PARAM_TEXT, offsetof(struct given_orders, send_order), 0, 0, 0,
      "workers in the order of sending, by number: 2,0,1" },
    { "return-order", CLEAVE_PARAM_TEXT, offsetof(struct given_orders, return_order), 0,
      0, 0, "the same workers in the order of returning" },
    { 0 },
};

const struct cleave_policy cleave_policy_orders = {
    .name = "orders",
    .summary = "one round with results, in given orders of sending and returning",
    .reference = "Beaumont and Rosenberg 2010",
    ROUND_TRIP,
    .state_size = sizeof(struct given_orders),
    .params = orders_params,
    .plan = orders_plan,
};

/* --- small-results: the best return order for small results ------------------------- */

/* With y the shares as if results took no time and u the worth of a second more for each
 * worker, returns cost sum u_i (sum of tau_k y_k over the workers that return from i on)
 * to first order: one machine, weighted completion times, read backwards. So sending goes
 * by nondecreasing tau and returning by nonincreasing tau y / u, which is exact as delta
 * goes to 0 and a good guess above. O(n log n) for the orders; the shares are the best
 * for them.
 *
 * O. Beaumont, A. L. Rosenberg, Link-heterogeneity vs. node-heterogeneity in clusters,
 * 2010, in the direction proved in docs/theory/returns.md. */

/* With latencies the set of workers is a search, for each of some 40 lifespans: seconds
 * for a hundred workers, hours for a thousand. */
enum { LATENCIES_MOST = 128 };

static enum cleave_status solve_small(void *context, const struct cv_returns *returns,
                                      double lifespan_s, struct cv_arena *arena,
                                      struct cv_round_trip *out, struct cleave_error *err)
{
    (void)context;
    return cv_returns_small(returns, lifespan_s, arena, out, NULL, err);
}

static bool have_latencies(const struct cleave_view *view)
{
    for (uint32_t w = 0; w < view->nworkers; w++) {
        const struct cleave_worker *worker = &view->workers[w];

        if (worker->latency_s > 0 || worker->compute_latency_s > 0 ||
            (worker->return_latency_s > 0 && view->result_ratio > 0))
            return true;
    }
    return false;
}

static enum cleave_status small_results_plan(void *state, const struct cleave_view *view,
                                             struct cleave_setup *setup,
                                             struct cleave_error *err)
{
    const struct cv_returns_solver solver = { solve_small, NULL, false };

    if (view->nworkers > LATENCIES_MOST && have_latencies(view))
        return cv_fail(
            err, CLEAVE_EINPUT,
            "policy 'small-results' takes up to %d workers that have latencies, "
            "got %u; fifo, lifo and rounds take more",
            LATENCIES_MOST, view->nworkers);
    return round_trip_plan(state, view, &solver, setup, err);
}

const struct cleave_policy cleave_policy_small_results = {
    .name = "small-results",
    .summary = "one round, returning in the order that is best when results are small",
    .reference = "Beaumont and Rosenberg 2010",
    ROUND_TRIP,
    .state_size = sizeof(struct round),
    .plan = small_results_plan,
};

/* --- best-orders: search for orders of sending and returning ------------------------ */

/* Which orders are best is an open question; even fastest link first is not always right.
 * Up to `exact` workers all sets and pairs of orders are searched, with proof. For more,
 * one worker after the other is removed and put back at the best of all pairs of
 * positions, until nothing improves: O(n^3) a sweep and a few sweeps; for more than a
 * thousand workers the best of the other policies is taken. Never worse than fifo, lifo
 * and small-results; the search includes latencies and the set of workers. A plan that
 * meets a bound is proved as well.
 *
 * Beyond the paper of O. Beaumont and A. L. Rosenberg, 2010: docs/theory/returns.md. */

/* Relative accuracy of the bounds. */
static const double EQUAL = 1e-8;

struct best_orders {
    struct round round;
    uint32_t starts, kicks, exact;
};

struct search {
    struct cv_search_effort effort;
    uint32_t exact;
};

static enum cleave_status search_orders(void *context, const struct cv_returns *returns,
                                        double lifespan_s, struct cv_arena *arena,
                                        struct cv_round_trip *out,
                                        struct cleave_error *err)
{
    const struct search *search = context;
    double bound;

    if (returns->n <= search->exact && returns->n <= CV_EXACT_MOST)
        return cv_returns_exact(returns, lifespan_s, arena, out, err);
    CV_TRY(cv_returns_search(returns, lifespan_s, &search->effort, arena, out, err));
    if (out->optimal || returns->n > CV_CONVEX_MOST ||
        cv_step_budget_over(returns->budget))
        return CLEAVE_OK;
    bound = cv_returns_bound_convex(returns, lifespan_s, arena);
    out->optimal = out->work >= bound * (1 - EQUAL);
    return CLEAVE_OK;
}

static enum cleave_status best_orders_plan(void *state, const struct cleave_view *view,
                                           struct cleave_setup *setup,
                                           struct cleave_error *err)
{
    struct best_orders *best = state;
    struct search search = {
        .effort = { .starts = best->starts, .kicks = best->kicks, .seed = view->seed },
        .exact = best->exact
    };

    CV_TRY(round_trip_plan(&best->round, view,
                           &(struct cv_returns_solver){ search_orders, &search, true },
                           setup, err));
    if (best->round.trip.optimal)
        cleave_setup_proved(setup, "all schedules of one round", true);
    return CLEAVE_OK;
}

static const struct cleave_param best_orders_params[] = {
    { "starts", CLEAVE_PARAM_COUNT, offsetof(struct best_orders, starts), 0, 0, 1000,
      "searches from different orders; 0: as many as the size allows" },
    { "kicks", CLEAVE_PARAM_COUNT, offsetof(struct best_orders, kicks), 0, 0, 100000,
      "random changes after which the search continues; 0: as the size allows" },
    { "exact", CLEAVE_PARAM_COUNT, offsetof(struct best_orders, exact), 7, 0,
      CV_EXACT_MOST, "up to this many workers the best orders are proved" },
    { 0 },
};

const struct cleave_policy cleave_policy_best_orders = {
    .name = "best-orders",
    .summary = "one round with results, in the best orders found; proved for few workers",
    .reference = "cleave",
    ROUND_TRIP,
    .state_size = sizeof(struct best_orders),
    .params = best_orders_params,
    .plan = best_orders_plan,
};
