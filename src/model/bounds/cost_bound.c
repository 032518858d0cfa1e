/* cost_bound.c -- what a load costs at least. SPDX-License-Identifier: MIT
 *
 * Whoever takes part is paid for its latencies once and for what it computes. By the
 * deadline D it does at most X units, so that of its latencies a unit bears at least 1/X:
 * a unit costs q = cost (1/S + latencies / X), and takes r = 1/B + latency / X of the port,
 * which has D. Least sum of q x with sum of x = load, x <= X and sum of r x <= D: a linear
 * program with one row too many for a greedy choice, which is priced; every price gives a
 * bound, the best is found by search, as the bound is concave in the price.
 * O(workers log workers) for each. Proof: docs/theory/money.md. */
#include "model/bounds/cost_bound.h"

#include <math.h>
#include <stdlib.h>

#include "base/compare.h"
#include "model/platform/profile.h"

enum { SEARCH_STEPS = 80, BUDGET_STEPS = 100 };

/* What a unit costs, takes of the port, and how many there can be. */
struct share {
    double money, port_s, max, priced;
};

struct market {
    struct share *shares;
    uint32_t n;
    double load, deadline_s;
};

CV_ORDER_BY(by_price, struct share, priced)

/* The bound with the port at `price` per second; INFINITY: too little can be done. */
static double at_price(const struct market *market, double price)
{
    double left = market->load, sum = 0;

    for (uint32_t i = 0; i < market->n; i++)
        market->shares[i].priced =
            market->shares[i].money + price * market->shares[i].port_s;
    qsort(market->shares, market->n, sizeof *market->shares, by_price);
    for (uint32_t i = 0; i < market->n && left > 0; i++) {
        const double units = fmin(left, market->shares[i].max);

        sum += units * market->shares[i].priced;
        left -= units;
    }
    if (left > 1e-9 * market->load)
        return INFINITY;
    return price > 0 ? sum - price * market->deadline_s : sum;
}

/* The most of a concave function of the price, from 0 on. */
static double best_price(const struct market *market)
{
    double low = 0, high = 0, best = at_price(market, 0);

    if (isinf(best) || isinf(market->deadline_s))
        return best;
    for (uint32_t i = 0; i < market->n; i++)
        high = fmax(high, market->shares[i].money / market->shares[i].port_s);
    for (int i = 0; i < 40 && at_price(market, 2 * high) > at_price(market, high); i++)
        high *= 2;
    high *= 2;
    for (int i = 0; i < SEARCH_STEPS && high - low > 1e-12 * high; i++) {
        const double a = low + (high - low) / 3, b = high - (high - low) / 3;
        const double at_a = at_price(market, a), at_b = at_price(market, b);

        best = fmax(best, fmax(at_a, at_b));
        if (at_a < at_b)
            low = a;
        else
            high = b;
    }
    return best;
}

static void set_shares(const struct cv_bound_query *query,
                       const struct cleave_worker *workers, const double *costs,
                       struct market *market)
{
    const bool results = query->result_ratio > 0,
               single = results && query->port == CLEAVE_PORT_ONE;

    market->n = 0;
    for (uint32_t w = 0; w < query->nworkers; w++) {
        const struct cleave_worker *worker = &workers[w];
        const double back_s = results ? worker->return_latency_s : 0;
        const double fixed_s = worker->latency_s + worker->compute_latency_s + back_s;
        const double max =
            fmin(query->load, worker->speed_ups * (market->deadline_s - fixed_s));
        struct share *share = &market->shares[market->n];

        if (!(max > 0))
            continue;
        *share =
            (struct share){ .max = max,
                            .money = costs[w] * (1 / worker->speed_ups + fixed_s / max),
                            .port_s =
                                1 / worker->bandwidth_ups + worker->latency_s / max };
        if (single)
            share->port_s +=
                query->result_ratio / worker->return_bandwidth_ups + back_s / max;
        if (query->port == CLEAVE_PORT_MULTI)
            share->port_s = 0;
        market->n++;
    }
}

double cv_cost_bound(const struct cv_bound_query *query, const double *costs,
                     double deadline_s, struct cv_arena *scratch)
{
    const struct cleave_worker *workers =
        cv_platform_at_peak(query->workers, query->profiles, query->nworkers, scratch);
    struct market market = { .load = query->load, .deadline_s = deadline_s };

    market.shares = cv_array(scratch, query->nworkers, sizeof *market.shares);
    if (workers == NULL || market.shares == NULL)
        return NAN;
    set_shares(query, workers, costs, &market);
    if (query->port == CLEAVE_PORT_MULTI)
        return at_price(&market, 0);
    return best_price(&market);
}

double cv_budget_bound(const struct cv_bound_query *query, const double *costs,
                       double budget, struct cv_arena *scratch)
{
    const double min = cv_cost_bound(query, costs, INFINITY, scratch);
    double low = 0, high = 1;

    if (isnan(min) || min > budget)
        return isnan(min) ? NAN : INFINITY;
    for (int i = 0; i < 1000; i++, high *= 2) {
        const double cost = cv_cost_bound(query, costs, high, scratch);

        if (isnan(cost) || cost <= budget || isinf(high))
            break;
    }
    for (int i = 0; i < BUDGET_STEPS && high - low > 1e-12 * high; i++) {
        const double middle = low + (high - low) / 2;
        const double cost = cv_cost_bound(query, costs, middle, scratch);

        if (isnan(cost))
            return NAN;
        if (cost <= budget)
            high = middle;
        else
            low = middle;
    }
    return low;
}
