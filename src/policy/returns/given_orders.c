/* given_orders.c -- one round; sending and returning in the orders asked for.
 * SPDX-License-Identifier: MIT
 *
 * The shares are the best there are for these orders: a linear system when nobody is idle
 * and all shares are positive; else somebody is left out, or waits on a master that handles
 * one message at a time, which a linear programme decides. O(n^3). A worker that neither
 * order names takes no part.
 *
 * O. Beaumont, A. L. Rosenberg, Link-heterogeneity vs. node-heterogeneity in clusters,
 * 2010; who takes part as in docs/theory/returns.md. */
#include <stdlib.h>
#include <string.h>

#include "policy/returns/round_trip.h"

struct given_orders {
    struct cv_round_trip_state round;
    const char *send_order, *return_order; /* as given: "2,0,1" */
};

struct pair {
    const uint32_t *send, *back;
    uint32_t n;
};

static enum cleave_status solve(void *context, const struct cv_returns *returns,
                                double lifespan_s, struct cv_arena *arena,
                                struct cv_round_trip *out, struct cleave_error *err)
{
    const struct pair *pair = context;

    return cv_returns_given(returns, pair->send, pair->back, pair->n, lifespan_s, arena,
                            out, err);
}

/* Numbers from 0, each once, with commas between. */
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
    CV_TRY(cv_round_trip_plan(&given->round, view,
                              &(struct cv_returns_solver){ solve, &pair, false }, setup,
                              err));
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
    .needs = CLEAVE_NEEDS_SHARED_PORT,
    .one_round = true,
    .orders_returns = true,
    .state_size = sizeof(struct given_orders),
    .params = orders_params,
    .plan = orders_plan,
    .start = cv_round_trip_start,
    .decide = cv_round_trip_decide,
    .work = cv_round_trip_work,
};
