/* load_bounds.c -- bounds for schedules, results included. SPDX-License-Identifier: MIT
 *
 * rounds: model/rounds/rounds_bound.c, for any number of rounds with results. Schedules
 * of one round have separate bounds, with "one round" in their names.
 *
 * results: in any number of rounds a worker computes only while its latencies leave time,
 * x_i <= (T - latencies_i) S_i, and every unit passes the port on its way out and its
 * result on its way back. A master that handles one message at a time has sum x_i (1/B_i
 * + ratio / B'_i) <= T, one with a message each way sum x_i ratio / B'_i <= T, and with a
 * port per worker x_i ratio / B'_i <= T for each. The most work is a fractional knapsack,
 * the least time for a load its inverse.
 *
 * A bound on work is the load whose bound on time is the lifespan. */
#include "model/bounds/load_bounds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/compare.h"
#include "model/platform/profile.h"
#include "model/returns/returns_bounds.h"
#include "model/rounds/rounds.h"
#include "model/rounds/rounds_links.h"

/* --- speeds that change with time -------------------------------------------------- */

/* With f the factor on speed and bandwidths of a worker, which has something to compute
 * from its latencies on at the earliest, and whose last result takes its latency to return,
 * 
 *     x <= S * integral of f from beta + alpha to T - beta',
 *     x <= B * integral of f from beta to T - alpha - beta',
 *     ratio x <= B' * integral of f from beta + alpha + beta' to T.
 * 
 * Every unit passes the port at the rate B max f at most, its result at B' max f: as in
 * load_bounds.c, sum x (1/B + ratio/B') / max f <= T on a single port, the results alone or
 * the load alone on a duplex one, where the port can do nothing useful for the first ones
 * before, nor for the load in the last, least alpha + least beta. The most work by T is a fractional knapsack and grows with T; the least T is found by bisection
 * from below. */

enum { MOST_STEPS = 200 };

/* Workers by the time of the port that a unit takes. */
struct crowd {
    const struct cv_bound_query *query;
    struct cv_ranked *out, *back; /* back: results on a duplex port; NULL: none */
    double dead_s;                /* useless time of the port */
};

static double part(const struct cleave_profile *profile, double rate, double from_s,
                   double to_s)
{
    return from_s < to_s ? rate * cv_profile_work(profile, from_s, to_s) : 0;
}

/* The most that a worker can do by T, alone. */
static double most_alone(const struct cv_bound_query *query, uint32_t w, double end_s)
{
    const struct cleave_worker *worker = &query->workers[w];
    const double there_s = worker->latency_s + worker->compute_latency_s;
    const double back_s = query->result_ratio > 0 ? worker->return_latency_s : 0;
    const struct cleave_profile *profile;
    double units;

    if (query->profiles == NULL) {
        double rate = worker->speed_ups;

        if (query->port == CLEAVE_PORT_MULTI)
            rate = fmin(rate,
                        fmin(worker->bandwidth_ups,
                             1 / (query->result_ratio / worker->return_bandwidth_ups)));
        return fmax(0, (end_s - (there_s + back_s)) * rate);
    }
    profile = &query->profiles[w];
    units = part(profile, worker->speed_ups, there_s, end_s - back_s);
    units = fmin(units, part(profile, worker->bandwidth_ups, worker->latency_s,
                             end_s - worker->compute_latency_s - back_s));
    if (query->result_ratio > 0)
        units =
            fmin(units, part(profile, worker->return_bandwidth_ups / query->result_ratio,
                             there_s + back_s, end_s));
    return units;
}

static double knapsack(const struct crowd *crowd, const struct cv_ranked *all,
                       double room_s, double end_s)
{
    double units = 0;

    for (uint32_t i = 0; i < crowd->query->nworkers && room_s > 0; i++) {
        double alone = most_alone(crowd->query, all[i].index, end_s);

        if (alone * all[i].value > room_s)
            alone = room_s / all[i].value;
        units += alone;
        room_s -= alone * all[i].value;
    }
    return units;
}

static double most_by(const struct crowd *crowd, double end_s)
{
    double units = knapsack(crowd, crowd->out, end_s - crowd->dead_s, end_s);

    if (crowd->back != NULL)
        units = fmin(units, knapsack(crowd, crowd->back, end_s, end_s));
    return units;
}

static struct cv_ranked *passages(const struct cv_bound_query *query, double load,
                                  double results, struct cv_arena *scratch)
{
    struct cv_ranked *all = cv_array(scratch, query->nworkers, sizeof *all);

    for (uint32_t w = 0; all != NULL && w < query->nworkers; w++) {
        const struct cleave_worker *worker = &query->workers[w];
        const double max =
            query->profiles != NULL ? cv_profile_most(&query->profiles[w]) : 1;

        all[w].index = w;
        all[w].value =
            (load / worker->bandwidth_ups + results / worker->return_bandwidth_ups) /
            fmax(max, 1e-300);
    }
    if (all != NULL)
        qsort(all, query->nworkers, sizeof *all, cv_rank_up);
    return all;
}

static bool prepare(struct crowd *varied, const struct cv_bound_query *query,
                    struct cv_arena *scratch)
{
    const bool multi = query->port == CLEAVE_PORT_MULTI,
               one = query->port == CLEAVE_PORT_ONE;
    double alpha = INFINITY, beta = INFINITY;

    *varied = (struct crowd){ .query = query };
    varied->out = passages(query, multi ? 0 : 1, one ? query->result_ratio : 0, scratch);
    if (varied->out == NULL)
        return false;
    for (uint32_t w = 0; w < query->nworkers; w++) {
        alpha = fmin(alpha, query->workers[w].compute_latency_s);
        beta = fmin(beta, query->workers[w].latency_s);
    }
    if (!multi) /* on one port the last result has to be fetched */
        varied->dead_s = beta + (one && query->result_ratio > 0 ? 0 : alpha);
    if (query->port != CLEAVE_PORT_DUPLEX || !(query->result_ratio > 0))
        return true;
    varied->back = passages(query, 0, query->result_ratio, scratch);
    return varied->back != NULL;
}

/* The least time for the load from below, or the most units by the lifespan; INFINITY if the
 * load can never be done. */
static double crowd_bound(const struct crowd *crowd, double precision)
{
    const struct cv_bound_query *query = crowd->query;
    double low = 0, high = 1;

    if (query->lifespan_s > 0)
        return most_by(crowd, query->lifespan_s);
    while (most_by(crowd, high) < query->load) {
        if (high > 1e300)
            return INFINITY;
        low = high;
        high *= 2;
    }
    for (int i = 0; i < MOST_STEPS && high - low > precision * high; i++) {
        const double middle = low + (high - low) / 2;

        if (most_by(crowd, middle) < query->load)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* With profiles; NAN when memory is short. */
static double varied_bound(const struct cv_bound_query *query, struct cv_arena *scratch)
{
    struct crowd varied;

    return prepare(&varied, query, scratch) ? crowd_bound(&varied, 1e-15) : NAN;
}

/* Most workers for which the convex bound takes milliseconds. */
enum { CONVEX_QUICK = 1000 };

/* The load whose least time is the lifespan, from above: `least` grows with the load,
 * nearly in proportion. */
static double invert(const struct cv_bound_query *query, double units, double least_s,
                     struct cv_arena *scratch, size_t which)
{
    double low = 0, high = INFINITY;

    for (int step = 0; step < 40 && high > low * (1 + 1e-9); step++) {
        struct cleave_bound bounds[CV_MAX_BOUNDS];
        size_t tightest;

        if (least_s > query->lifespan_s)
            high = fmin(high, units);
        else
            low = fmax(low, units);
        units *= query->lifespan_s / least_s * (step % 2 == 0 ? 1 + 1e-10 : 1 - 1e-10);
        if (!(units > low && units < high))
            units = isinf(high) ? 2 * low : low + (high - low) / 2;
        if (!(units > 0) || isinf(units) ||
            cv_bounds(query->workers, query->nworkers, query->port, units, scratch,
                      bounds, &tightest) <= which)
            break;
        least_s = bounds[which].value_s;
    }
    return high;
}

static size_t add(struct cleave_bound *out, size_t count, const char *name, double value)
{
    if (count < CV_MAX_BOUNDS && isfinite(value) && value > 0)
        out[count++] = (struct cleave_bound){ name, value };
    return count;
}

typedef double work_bound(const struct cv_returns *returns, double lifespan_s,
                          struct cv_arena *scratch);

/* The time for a load from the work in a lifespan, from below: without latencies they are
 * proportional. */
static double time_bound(work_bound *bound, const struct cv_returns *returns, double load,
                         struct cv_arena *scratch)
{
    double low = 0, high = INFINITY, low_work = 0, high_work = INFINITY, time_s = 1;

    for (int step = 0; step < 60 && low < high * (1 - 1e-11); step++) {
        const double work = bound(returns, time_s, scratch);

        if (isnan(work))
            return NAN;
        if (work > load) {
            high = time_s;
            high_work = work;
        } else {
            low = time_s;
            low_work = work;
        }
        if (isinf(high) || low == 0)
            time_s *=
                work > 0 ? fmax(0.1, load / work * (work > load ? 1 - 1e-12 : 1.1)) : 16;
        else if (step % 3 == 2)
            time_s = low + (high - low) / 2;
        else
            time_s = low + (high - low) * (load - low_work) / (high_work - low_work) *
                               (1 - 1e-12);
    }
    return low;
}

/* Bounds for schedules of one round: work in a lifespan, or the time for a load. */
static size_t add_one_round(const struct cv_bound_query *query, struct cv_arena *scratch,
                            struct cleave_bound *out, size_t count)
{
    static const struct {
        const char *name;
        work_bound *bound;
        uint32_t max;
    } bounds[] = {
        { "prefix, one round", cv_returns_bound_prefix, UINT32_MAX },
        { "convex, one round", cv_returns_bound_convex, CONVEX_QUICK },
    };
    struct cv_returns returns = { .n = query->nworkers,
                                  .single = query->port == CLEAVE_PORT_ONE };

    returns.trips =
        cv_trips(query->workers, query->nworkers, query->result_ratio, 0, scratch);
    if (returns.trips == NULL)
        return 0;
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++)
        if (query->nworkers <= bounds[i].max)
            count =
                add(out, count, bounds[i].name,
                    query->lifespan_s > 0
                        ? bounds[i].bound(&returns, query->lifespan_s, scratch)
                        : time_bound(bounds[i].bound, &returns, query->load, scratch));
    return count;
}

static size_t add_rounds(const struct cv_bound_query *query, struct cv_arena *scratch,
                         struct cleave_bound *out, size_t count)
{
    const struct cv_rounds rounds = {
        { cv_trips(query->workers, query->nworkers, query->result_ratio, 0, scratch),
          query->nworkers, query->port == CLEAVE_PORT_ONE, NULL },
        query->load,
        query->port == CLEAVE_PORT_MULTI ? query->memory : NULL,
    };
    double bound;

    if (rounds.returns.trips == NULL)
        return 0;
    bound = query->port == CLEAVE_PORT_MULTI
                ? cv_rounds_links_bound(&rounds, query->lifespan_s, scratch)
            : query->lifespan_s > 0
                ? cv_rounds_bound_work(&rounds.returns, query->lifespan_s, scratch)
                : cv_rounds_bound(&rounds, scratch);
    return bound < 0 ? 0 : add(out, count, "rounds", bound);
}

/* The workers with leaders that start at once; NULL: no memory. */
static struct cleave_worker *relaxed(const struct cv_bound_query *query,
                                     struct cv_arena *scratch)
{
    struct cleave_worker *out = cv_array(scratch, query->nworkers, sizeof *out);

    for (uint32_t i = 0; out != NULL && i < query->nworkers; i++) {
        out[i] = query->workers[i];
        if (query->leads != NULL && query->leads[i])
            out[i].compute_latency_s = 0;
    }
    return out;
}

/* cv_bounds of the query with these workers; for a lifespan in units. 0: no memory. */
static size_t star_bounds(const struct cv_bound_query *query,
                          const struct cleave_worker *workers, struct cv_arena *scratch,
                          struct cleave_bound out[CV_MAX_BOUNDS])
{
    struct cv_bound_query star = *query;
    const bool lives = query->lifespan_s > 0;
    double guess = lives ? query->lifespan_s : query->load;
    size_t count, tightest = 0;

    star.workers = workers;
    if (lives) {
        double speed = 0;

        for (uint32_t i = 0; i < query->nworkers; i++)
            speed += workers[i].speed_ups;
        guess *= speed;
    }
    count =
        cv_bounds(workers, query->nworkers, query->port, guess, scratch, out, &tightest);
    for (size_t i = 0; lives && i < count; i++)
        out[i].value_s = invert(&star, guess, out[i].value_s, scratch, i);
    return count;
}

static size_t find_tightest(const struct cv_bound_query *query,
                            const struct cleave_bound *bounds, size_t count)
{
    size_t tightest = 0;

    for (size_t i = 1; i < count; i++)
        if (query->lifespan_s > 0 ? bounds[i].value_s < bounds[tightest].value_s
                                  : bounds[i].value_s > bounds[tightest].value_s)
            tightest = i;
    return tightest;
}

/* Bounds of cv_bounds that charge the latencies of a worker once. */
static size_t keep_single_charges(struct cleave_bound *bounds, size_t count)
{
    static const char *const names[] = { "ideal", "port", "link", "start" };
    size_t kept = 0;

    for (size_t i = 0; i < count; i++)
        for (size_t n = 0; n < sizeof names / sizeof *names; n++)
            if (strcmp(bounds[i].name, names[n]) == 0)
                bounds[kept++] = bounds[i];
    return kept;
}

/* Pieces of a leader overlap, so that its start is paid once, or not at all. */
static size_t leader_bounds(const struct cv_bound_query *query, struct cv_arena *scratch,
                            struct cleave_bound out[CV_MAX_BOUNDS])
{
    const struct cleave_worker *workers = relaxed(query, scratch);
    struct cleave_bound others[CV_MAX_BOUNDS];
    size_t count = star_bounds(query, query->workers, scratch, out), nothers;

    if (count == 0 || workers == NULL)
        return 0;
    count = keep_single_charges(out, count);
    nothers = star_bounds(query, workers, scratch, others);
    if (nothers == 0)
        return 0;
    if (query->tree != NULL)
        count =
            add(out, count, "tree",
                query->lifespan_s > 0 ? cv_led_most_units(query->tree, query->lifespan_s)
                                      : cv_led_bound(query->tree, query->load));
    return add(out, count, "relaxed",
               others[find_tightest(query, others, nothers)].value_s);
}

static size_t steady_bounds(const struct cv_bound_query *query, struct cv_arena *scratch,
                            struct cleave_bound out[CV_MAX_BOUNDS], size_t *out_tightest)
{
    size_t count = query->leads != NULL
                       ? leader_bounds(query, scratch, out)
                       : star_bounds(query, query->workers, scratch, out);

    if (count == 0)
        return 0;
    if (query->result_ratio > 0) {
        const struct crowd crowd = {
            query,
            passages(query, query->port == CLEAVE_PORT_ONE ? 1 : 0,
                     query->port == CLEAVE_PORT_MULTI ? 0 : query->result_ratio, scratch),
            NULL, 0
        };

        if (crowd.out == NULL)
            return 0;
        count = add(out, count, "results", crowd_bound(&crowd, 1e-12));
    }
    if (query->leads == NULL) {
        if (query->one_round && query->port != CLEAVE_PORT_MULTI)
            count = add_one_round(query, scratch, out, count);
        else if (query->result_ratio > 0)
            count = add_rounds(query, scratch, out, count);
    }
    *out_tightest = find_tightest(query, out, count);
    return count;
}

/* No chunk is larger than memory allows, so each unit bears at least this part of the
 * latencies, which cost nothing else. NULL when memory is short. */
static struct cleave_worker *in_parts(const struct cv_bound_query *query,
                                      struct cv_arena *scratch)
{
    struct cleave_worker *out = relaxed(query, scratch);

    for (uint32_t i = 0; out != NULL && i < query->nworkers; i++) {
        struct cleave_worker *w = &out[i];
        const double max = query->memory[i];

        if (isinf(max))
            continue;
        w->speed_ups /= 1 + w->speed_ups * w->compute_latency_s / max;
        w->bandwidth_ups /= 1 + w->bandwidth_ups * w->latency_s / max;
        if (query->result_ratio > 0)
            w->return_bandwidth_ups /= 1 + w->return_bandwidth_ups * w->return_latency_s /
                                               (max * query->result_ratio);
        w->compute_latency_s = w->latency_s = w->return_latency_s = 0;
    }
    return out;
}

/* Bounds of steady workers, with the bounds from memory. */
static size_t memory_bounds(const struct cv_bound_query *query, struct cv_arena *scratch,
                            struct cleave_bound out[CV_MAX_BOUNDS], size_t *out_tightest)
{
    const bool lives = query->lifespan_s > 0;
    struct cv_bound_query parts = *query;
    struct cleave_bound tighter[CV_MAX_BOUNDS];
    size_t count = steady_bounds(query, scratch, out, out_tightest), other = 0;

    if (query->memory == NULL || count == 0)
        return count;
    parts.memory = NULL;
    parts.workers = in_parts(query, scratch);
    parts.tree = NULL;
    if (query->leads != NULL) /* a leader may send results in any order */
        parts.result_ratio = 0;
    if (parts.workers == NULL || steady_bounds(&parts, scratch, tighter, &other) == 0)
        return 0;
    if (lives ? tighter[other].value_s < out[*out_tightest].value_s
              : tighter[other].value_s > out[*out_tightest].value_s) {
        *out_tightest = count < CV_MAX_BOUNDS ? count : *out_tightest;
        count = add(out, count, "memory", tighter[other].value_s);
    }
    return count;
}

size_t cv_load_bounds(const struct cv_bound_query *query, struct cv_arena *scratch,
                      struct cleave_bound out[CV_MAX_BOUNDS], size_t *out_tightest)
{
    const bool lives = query->lifespan_s > 0;
    struct cv_bound_query steady = *query;
    size_t count, tightest = 0;

    /* One worker has both ways of a duplex port to itself. */
    if (query->nworkers == 1 && query->port == CLEAVE_PORT_DUPLEX)
        steady.port = CLEAVE_PORT_MULTI;
    if (query->profiles == NULL)
        return memory_bounds(&steady, scratch, out, out_tightest);
    steady.memory = NULL;
    steady.profiles = NULL;
    steady.tree = NULL; /* other workers may be faster than there */
    steady.workers =
        cv_platform_at_peak(query->workers, query->profiles, query->nworkers, scratch);
    if (steady.workers == NULL)
        return 0;
    count = steady_bounds(&steady, scratch, out, &tightest);
    if (count == 0)
        return 0;
    out[0] = (struct cleave_bound){ "steady", out[tightest].value_s };
    count = add(out, 1, "available", varied_bound(query, scratch));
    *out_tightest = count == 2 && (lives ? out[1].value_s < out[0].value_s
                                         : out[1].value_s > out[0].value_s);
    return count;
}

/* --- the least cost of a load ------------------------------------------------------ */

/* A worker that takes part is paid for its latencies once and for its computations. By
 * the deadline D it does at most X units, so a unit bears at least 1/X of its latencies:
 * a unit costs q = cost (1/S + latencies / X), and takes r = 1/B + latency / X of the
 * port, which has D. Least sum of q x with sum of x = load, x <= X and sum of r x <= D:
 * the port's row is priced; every price gives a bound, concave in the price, and the best
 * is found by search, O(workers log workers) each. Proof: docs/theory/money.md. */

enum { SEARCH_STEPS = 80, BUDGET_STEPS = 100 };

/* Cost and port time of a unit, and the most units. */
struct share {
    double money, port_s, max, priced;
};

struct market {
    struct share *shares;
    uint32_t n;
    double load, deadline_s;
};

CV_ORDER_BY(by_price, struct share, priced)

/* The bound with the port at `price` per second; INFINITY: the load cannot be done. */
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

/* The maximum of a concave function of the price from 0. */
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

    if (workers == NULL || !CV_NEW(scratch, market.shares, query->nworkers))
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
