/* bound_price.c -- a bound from prices on the port's time.
 * SPDX-License-Identifier: MIT
 *
 * Let every second of the port have a price, in units of load. Messages do not overlap,
 * so in any schedule that ends by T they cost no more than the price summed over [0, T],
 * and each worker earns no more than it would if it had the port for itself and paid:
 *
 *     load <= price x time over [0, T] + sum over workers of the best response to it.
 *
 * A T for which the right side is less than the load is a bound, whatever the prices.
 * They are taken from a simple schedule (bound_guide.c) and then improved: where the
 * workers' responses use more of the port than there is, its time becomes dearer, where
 * they use less, cheaper (a subgradient step; prices must keep falling over time). */
#include "model/load/bound_price.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "model/load/bound_guide.h"
#include "model/load/bound_response.h"

enum {
    MOST_KINDS = 4096, /* different workers; with more there is no bound        */
    MOST_STEPS = 16,   /* improvements of the prices                            */
    WORK = 2000000,    /* about this many inner loop turns spent on them         */
    NEWTON = 12,
    PATIENCE = 3, /* steps without success before they are made smaller    */
};

/* Bounds on a response differ in how long a message is expected to be. */
static const double lags[] = { 1, 0.5, 0 };
/* The first step aims at this part of the way from the bound to the guide's makespan. */
static const double first_aim = 0.4;
static const double lower[] = { 0.985, 0.97, 0.95, 0.9, 0.8, 0.7 };

struct kind {
    const struct cleave_worker *worker; /* borrowed */
    double count, lag;
};

struct market {
    struct kind *kinds;
    uint32_t nkinds;
    double load;
    struct cv_prices prices;
};

static bool same(const struct cleave_worker *a, const struct cleave_worker *b)
{
    return a->speed_ups == b->speed_ups && a->bandwidth_ups == b->bandwidth_ups &&
           a->compute_latency_s == b->compute_latency_s && a->latency_s == b->latency_s;
}

/* Workers alike that stand together are one kind. Returns how many there are, or more
 * than MOST_KINDS. */
static uint32_t count_kinds(const struct cleave_worker *workers, uint32_t nworkers,
                            struct kind *kinds)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < nworkers; i++) {
        if (n > 0 && same(kinds[n - 1].worker, &workers[i])) {
            kinds[n - 1].count++;
            continue;
        }
        if (n == MOST_KINDS)
            return n + 1;
        kinds[n++] = (struct kind){ &workers[i], 1, lags[0] };
    }
    return n;
}

/* For each kind the lag that gives the least response at these prices. */
static void choose_lags(struct market *market, double horizon)
{
    for (uint32_t i = 0; i < market->nkinds; i++) {
        struct kind *kind = &market->kinds[i];
        double best = INFINITY, slope;

        for (size_t k = 0; k < sizeof lags / sizeof *lags; k++) {
            const double response = cv_price_response(&market->prices, kind->worker,
                                                      horizon, lags[k], &slope, NULL, 0);

            if (response < best) {
                best = response;
                kind->lag = lags[k];
            }
        }
    }
}

static double price_at(const struct cv_prices *prices, double t)
{
    uint32_t k = prices->pieces - 1;

    while (k > 0 && prices->from[k] >= t)
        k--;
    return prices->price[k];
}

/* The right side at T = horizon, and its slope. If `spare` is not NULL it gets, for each
 * piece, the port's time less what the responses use. */
static double volume(const struct market *market, double horizon, double *out_slope,
                     double *spare)
{
    const struct cv_prices *prices = &market->prices;
    double units = cv_prices_until(prices, horizon);

    *out_slope = price_at(prices, horizon);
    for (uint32_t k = 0; spare != NULL && k < prices->pieces; k++) {
        const double end = k + 1 < prices->pieces ? prices->from[k + 1] : horizon;

        spare[k] = fmax(0, fmin(end, horizon) - prices->from[k]);
    }
    for (uint32_t i = 0; i < market->nkinds; i++) {
        const struct kind *kind = &market->kinds[i];
        double slope;

        units += kind->count * cv_price_response(prices, kind->worker, horizon, kind->lag,
                                                 &slope, spare, -kind->count);
        *out_slope += kind->count * slope;
    }
    return units;
}

static void scale(struct cv_prices *prices, double factor)
{
    for (uint32_t k = 0; k < prices->pieces; k++)
        prices->price[k] *= factor;
    cv_prices_sum(prices);
}

/* Make all prices lower if that lowers the right side. Where few chunks with large
 * latencies are best, the guide's prices are so high that nobody would work at all. */
static void lower_prices(struct market *market, double horizon)
{
    const struct cv_prices given = market->prices;
    double slope, min = volume(market, horizon, &slope, NULL), best = 1;

    for (size_t i = 0; i < sizeof lower / sizeof *lower; i++) {
        double units;

        market->prices = given;
        scale(&market->prices, lower[i]);
        units = volume(market, horizon, &slope, NULL);
        if (units > min)
            break;
        min = units;
        best = lower[i];
    }
    market->prices = given;
    scale(&market->prices, best);
}

/* Come down from `t` to a time at which the right side is less than the load. */
static double descend(const struct market *market, double t, double floor)
{
    for (int step = 0; step < NEWTON && t > floor; step++) {
        double slope;
        const double units = volume(market, t, &slope, NULL);

        if (units < market->load * (1 - 1e-12))
            return t;
        if (!(slope > 0)) { /* nobody works that late */
            t = market->prices.from[market->prices.pieces - 1];
            continue;
        }
        t -= (units - market->load) / slope + 1e-9 * t;
    }
    return floor;
}

/* Move the prices against `spare` so that the right side would fall by `aim`. */
static void adjust(struct cv_prices *prices, const double *spare, double aim)
{
    double drop[CV_PRICE_PIECES + 1], gradient[CV_PRICE_PIECES + 1];
    double sum = 0, square = 0;
    const uint32_t last = prices->pieces - 1;

    /* Prices are sums of drops, none negative: all pieces up to k feel drop k. */
    for (uint32_t k = 0; k < last; k++) {
        drop[k] = prices->price[k] - prices->price[k + 1];
        sum += spare[k];
        gradient[k] = drop[k] <= 0 && sum > 0 ? 0 : sum;
        square += gradient[k] * gradient[k];
    }
    if (!(square > 0))
        return;
    for (uint32_t k = last; k-- > 0;)
        prices->price[k] =
            prices->price[k + 1] + fmax(0, drop[k] - aim / square * gradient[k]);
    cv_prices_sum(prices);
}

static double improve(struct market *market, double bound, double makespan, int steps)
{
    struct cv_prices best = market->prices;
    double spare[CV_PRICE_PIECES + 1] = { 0 }, aim = first_aim * (makespan - bound);
    int failed = 0;

    for (int step = 0; step < steps; step++) {
        double slope, units = volume(market, bound, &slope, spare);

        if (step > 0 && units < market->load && slope > 0) {
            const double before = bound;

            bound = descend(market, bound + (market->load - units) / slope, bound);
            if (bound > before) {
                best = market->prices;
                failed = 0;
            }
            units = market->load;
        } else {
            failed++;
        }
        if (failed > PATIENCE) {
            failed = 0;
            aim /= 2;
            market->prices = best;
            units = volume(market, bound, &slope, spare);
        }
        adjust(&market->prices, spare, units - market->load + aim * slope);
    }
    return bound;
}

/* Whether what responses are made of can be counted: the rest of an infinite part is none. */
static bool can_count(const struct market *market, double horizon)
{
    for (uint32_t i = 0; i < market->nkinds; i++) {
        const struct cleave_worker *worker = market->kinds[i].worker;

        if (isinf(worker->speed_ups / worker->bandwidth_ups) ||
            isinf(worker->speed_ups * horizon))
            return false;
    }
    return true;
}

double cv_bound_price(const struct cleave_worker *workers, uint32_t nworkers, double load,
                      struct cv_arena *scratch)
{
    const uint32_t max = nworkers < MOST_KINDS ? nworkers : MOST_KINDS;
    struct market market = { .load = load };
    double makespan, bound, turns;

    market.kinds = cv_array(scratch, max, sizeof *market.kinds);
    if (market.kinds == NULL)
        return -1;
    market.nkinds = count_kinds(workers, nworkers, market.kinds);
    if (market.nkinds > MOST_KINDS)
        return 0;
    if (!cv_price_guide(workers, nworkers, load, CV_PRICE_PIECES, scratch, &market.prices,
                        &makespan))
        return -1;
    if (market.prices.pieces < 2 || !can_count(&market, makespan))
        return 0;
    choose_lags(&market, makespan);
    lower_prices(&market, makespan);
    bound = descend(&market, makespan, 0);
    turns = (double)market.nkinds * market.prices.pieces * market.prices.pieces;
    if (bound > 0)
        bound = improve(&market, bound, makespan, (int)fmin(MOST_STEPS, WORK / turns));
    return bound;
}
