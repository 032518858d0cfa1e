/* returns_bounds.c -- work that no schedule with results can exceed.
 * SPDX-License-Identifier: MIT
 *
 * Every bound is that of a simpler instance: one ratio of return to send cost, at most 1,
 * for all, no fixed costs, workers by nondecreasing link time. In it, with h the most
 * link time that any schedule can spend on the k fastest links, a polymatroid gives the
 * prefix bound: sum over k of (h_k - h_(k-1)) / link_k. */
#include "model/returns/returns_bounds.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/compare.h"
#include "model/returns/returns_convex.h"
#include "model/returns/returns_internal.h"

/* Common ratios that are tried where ratios differ. */
enum { MOST_RATIOS = 9 };
static const double ratios_alike = 1e-9;

/* The instance without fixed costs. */
struct linear {
    const struct cv_trip *trips;
    uint32_t n;
    double lifespan_s; /* left for all rows                                          */
    double port_s;     /* left for a single port; INFINITY when there is none        */
    bool spread;       /* fixed costs are part of the others                         */
};

/* A worker of the simpler instance: seconds per unit. */
struct link {
    double link_s, compute_s;
};

struct simple {
    struct link *links; /* by nondecreasing link_s                                   */
    uint32_t n;
    double ratio; /* a return takes ratio x link_s, 0 <= ratio <= 1                  */
    double lifespan_s;
    double max; /* of all link times together, as a part of the lifespan            */
};

/* How far the prefix k has come. */
struct prefix {
    double left; /* product of (R + ratio link) / (R + link): 1 at first             */
    double sent; /* (1 - left) / (1 - ratio), also where that is 0 / 0               */
    double h;    /* sent / (1 + ratio sent): most link time, as a part of L           */
    double work; /* polymatroid bound, as a part of L                                */
};

CV_ORDER_BY_TWO(by_link, struct link, link_s, compute_s)

/* What a worker can do in the lifespan at most, having the master for itself. */
static double alone(const struct cv_trip *trip, double lifespan_s)
{
    return (lifespan_s - cv_trip_once_s(trip)) / cv_trip_unit_s(trip);
}

/* Whoever takes part pays its fixed costs and does no more than it could alone: so they
 * are at least this much more per unit. */
static struct cv_trip spread(const struct cv_trip *trip, double lifespan_s)
{
    const double max = alone(trip, lifespan_s);

    return (struct cv_trip){ .send_s = trip->send_s + trip->send_fixed_s / max,
                             .compute_s = trip->compute_s + trip->compute_fixed_s / max,
                             .back_s = trip->back_s + trip->back_fixed_s / max };
}

/* Rid the instance of fixed costs, and of workers whose own leave them no time. Either
 * they are spread over the units, or the least sum of one worker's is taken from the
 * lifespan of all. False when memory is short. */
static bool make_linear(const struct cv_returns *returns, double lifespan_s, bool spreads,
                        struct cv_arena *scratch, struct linear *out)
{
    double min = INFINITY, least_port = INFINITY;
    struct cv_trip *trips;

    if (cv_returns_linear(returns)) {
        *out = (struct linear){ returns->trips, returns->n, lifespan_s,
                                returns->single ? lifespan_s : INFINITY, false };
        return true;
    }
    trips = cv_array(scratch, returns->n, sizeof *trips);
    if (trips == NULL)
        return false;
    *out = (struct linear){ trips, 0, 0, INFINITY, spreads };
    for (uint32_t i = 0; i < returns->n; i++) {
        const struct cv_trip *trip = &returns->trips[i];

        if (!(alone(trip, lifespan_s) > 0))
            continue;
        min = fmin(min, cv_trip_once_s(trip));
        least_port = fmin(least_port, trip->send_fixed_s + trip->back_fixed_s);
        trips[out->n++] = spreads ? spread(trip, lifespan_s) : *trip;
    }
    if (out->n == 0)
        return true;
    out->lifespan_s = lifespan_s - (spreads ? 0 : min);
    if (returns->single)
        out->port_s = lifespan_s - (spreads ? 0 : least_port);
    return true;
}

/* Lower the costs of all workers to a common ratio of return to send cost, from 0 to
 * INFINITY. Read forwards a worker has min(send, back / ratio), backwards, with the
 * inverse ratio, min(back, send / inverse). `links` has room for all. */
static struct simple simplify(const struct linear *linear, double ratio,
                              struct link *links)
{
    const bool forwards = ratio <= 1;
    struct simple simple = { links, linear->n, forwards ? ratio : 1 / ratio,
                             linear->lifespan_s, INFINITY };

    for (uint32_t i = 0; i < linear->n; i++) {
        const struct cv_trip *trip = &linear->trips[i];
        const double out_s = forwards ? trip->send_s : trip->back_s;
        const double home_s = forwards ? trip->back_s : trip->send_s;

        links[i].link_s = simple.ratio > 0 ? fmin(out_s, home_s / simple.ratio) : out_s;
        links[i].compute_s = trip->compute_s;
    }
    if (linear->port_s < INFINITY)
        simple.max = linear->port_s / linear->lifespan_s / (1 + simple.ratio);
    qsort(links, linear->n, sizeof *links, by_link);
    return simple;
}

/* Take one more link. Nothing here is a difference of nearly equal numbers. */
static void extend(const struct simple *simple, const struct link *link,
                   struct prefix *prefix)
{
    const double ratio = simple->ratio, both = link->compute_s + link->link_s;
    const double more = prefix->left / both, before = prefix->h;
    const double sent = prefix->sent + more * link->link_s;

    if (before < simple->max) {
        const double gain = more / ((1 + ratio * sent) * (1 + ratio * prefix->sent));

        prefix->h = sent / (1 + ratio * sent);
        if (prefix->h > simple->max) {
            prefix->h = simple->max;
            prefix->work += fmin(gain, (simple->max - before) / link->link_s);
        } else {
            prefix->work += gain;
        }
    }
    prefix->sent = sent;
    prefix->left *= (link->compute_s + ratio * link->link_s) / both;
}

/* The prefix bound of the simpler instance. */
static double prefix_bound(const struct simple *simple)
{
    struct prefix prefix = { .left = 1 };

    for (uint32_t k = 0; k < simple->n; k++)
        extend(simple, &simple->links[k], &prefix);
    return prefix.work * simple->lifespan_s;
}

/* Fill `ratios` with common ratios to try, none twice; 0 when memory is short. */
static uint32_t choose_ratios(const struct linear *linear, struct cv_arena *scratch,
                              double *ratios)
{
    double *all = cv_array(scratch, linear->n, sizeof *all);
    uint32_t count = 0;

    if (all == NULL)
        return 0;
    for (uint32_t i = 0; i < linear->n; i++)
        all[i] = linear->trips[i].back_s / linear->trips[i].send_s;
    qsort(all, linear->n, sizeof *all, cv_compare_doubles);
    for (uint32_t i = 0; i < MOST_RATIOS; i++) {
        const uint64_t at = (uint64_t)(linear->n - 1) * i / (MOST_RATIOS - 1);

        if (i == 0 || all[at] - ratios[count - 1] > ratios_alike * all[at])
            ratios[count++] = all[at];
    }
    return count;
}

/* Most work of workers none of which does more than it could alone, while their sends,
 * their returns, or on a single port both, take no longer than there is time: a
 * fractional knapsack, cheapest first. `links` has room for all. */
static double knapsack(const struct linear *linear, bool sends, bool returns,
                       struct link *links)
{
    double room = sends && returns ? linear->port_s : linear->lifespan_s, work = 0;

    for (uint32_t i = 0; i < linear->n; i++) {
        const struct cv_trip *trip = &linear->trips[i];

        links[i].link_s = (sends ? trip->send_s : 0) + (returns ? trip->back_s : 0);
        links[i].compute_s =
            trip->compute_s + (sends ? 0 : trip->send_s) + (returns ? 0 : trip->back_s);
    }
    qsort(links, linear->n, sizeof *links, by_link);
    for (uint32_t i = 0; i < linear->n && room > 0; i++) {
        const double max = linear->lifespan_s / (links[i].link_s + links[i].compute_s);
        const double takes = max * links[i].link_s;

        work += takes > room ? room / links[i].link_s : max;
        room -= takes;
    }
    return work;
}

/* Which bound of the simpler instances is wanted. */
enum strength { FREE, PREFIX, CONVEX };

/* The convex bound of the simpler instance; INFINITY where its numbers are beyond what
 * the interior point can take. */
static double convex_bound(const struct simple *simple, struct cv_arena *scratch)
{
    struct cv_convex_worker *workers = cv_array(scratch, simple->n, sizeof *workers);
    const struct cv_convex convex = { workers, simple->n, (1 + simple->ratio) / 2 };
    struct prefix prefix = { .left = 1 };

    if (workers == NULL)
        return NAN;
    for (uint32_t k = 0; k < simple->n; k++) {
        const struct link *link = &simple->links[k];
        struct cv_convex_worker *worker = &workers[k];

        extend(simple, link, &prefix);
        worker->gain = 1 / link->link_s;
        worker->weight = link->compute_s / link->link_s + convex.pair;
        worker->cap = prefix.h;
        if (!isnormal(worker->gain) || !isnormal(worker->weight) ||
            !isnormal(worker->cap))
            return INFINITY;
    }
    return cv_convex_bound(&convex, scratch, NULL) * simple->lifespan_s;
}

/* The least bound over the common ratios. */
static double bound_linear(const struct linear *linear, enum strength strength,
                           struct cv_arena *scratch)
{
    double ratios[MOST_RATIOS] = { 0, INFINITY }, bound = INFINITY;
    struct link *links = cv_array(scratch, linear->n, sizeof *links);
    const uint32_t count = strength == FREE ? 2 : choose_ratios(linear, scratch, ratios);

    if (links == NULL || count == 0)
        return NAN;
    for (uint32_t i = 0; i < count; i++) {
        struct simple simple = simplify(linear, ratios[i], links);

        if (strength == FREE)
            simple.max = INFINITY;
        bound = fmin(bound, prefix_bound(&simple));
        if (strength == CONVEX) {
            struct cv_arena room; /* for one ratio at a time */
            double convex;

            cv_arena_init(&room);
            convex = convex_bound(&simple, &room);
            cv_arena_done(&room);
            if (isnan(convex))
                return NAN;
            bound = fmin(bound, convex);
        }
    }
    if (strength != FREE && (linear->spread || count > 1)) {
        bound = fmin(bound, knapsack(linear, true, false, links));
        bound = fmin(bound, knapsack(linear, false, true, links));
        if (linear->port_s < INFINITY)
            bound = fmin(bound, knapsack(linear, true, true, links));
    }
    return bound;
}

static double bound_of(const struct cv_returns *returns, double lifespan_s,
                       enum strength strength, struct cv_arena *scratch)
{
    const int ways = cv_returns_linear(returns) ? 1 : 2;
    double bound = INFINITY;

    for (int way = 0; way < ways; way++) {
        struct linear linear;
        double own;

        if (!make_linear(returns, lifespan_s, way == 1, scratch, &linear))
            return NAN;
        if (linear.n == 0)
            return 0;
        own = bound_linear(&linear, strength, scratch);
        if (isnan(own))
            return NAN;
        bound = fmin(bound, own);
    }
    return bound;
}

double cv_returns_bound_free(const struct cv_returns *returns, double lifespan_s,
                             struct cv_arena *scratch)
{
    return bound_of(returns, lifespan_s, FREE, scratch);
}

double cv_returns_bound_prefix(const struct cv_returns *returns, double lifespan_s,
                               struct cv_arena *scratch)
{
    return bound_of(returns, lifespan_s, PREFIX, scratch);
}

double cv_returns_bound_convex(const struct cv_returns *returns, double lifespan_s,
                               struct cv_arena *scratch)
{
    return bound_of(returns, lifespan_s, returns->n > CV_CONVEX_MOST ? PREFIX : CONVEX,
                    scratch);
}

/* The instance as the theory has it: one ratio, no fixed costs. False where there is no
 * such thing, with *out_short telling whether memory was short. */
static bool as_in_theory(const struct cv_returns *returns, struct cv_arena *scratch,
                         struct simple *out, bool *out_short)
{
    struct linear linear;
    struct link *links;
    double ratio;

    *out_short = false;
    if (returns->n == 0 || !cv_returns_linear(returns) ||
        !cv_returns_uniform(returns, &ratio))
        return false;
    links = cv_array(scratch, returns->n, sizeof *links);
    *out_short = links == NULL || !make_linear(returns, 1, false, scratch, &linear);
    if (*out_short)
        return false;
    *out = simplify(&linear, ratio, links);
    return true;
}

/* LIFO meets every quadratic prefix row with equality. Multipliers for which it solves
 * the relaxation follow from the last row back; with g_i = R_i / (R_i + (1 + ratio)
 * link_i) and N_i the sum of the multipliers from i on times g_1 ... g_(i-1),
 *
 *     N_i = 1 / link_i - 1 / link_(i+1) + g_(i+1) N_(i+1),
 *
 * and they are all >= 0 if g_i N_i >= N_(i+1). The ratio may be above 1: reading
 * schedules backwards changes nothing here. */
bool cv_returns_lifo_proved(const struct cv_returns *returns, struct cv_arena *scratch)
{
    struct simple simple;
    double sum, margin;
    bool out_of_memory;

    if (!as_in_theory(returns, scratch, &simple, &out_of_memory))
        return false;
    margin = 1 + 16 * DBL_EPSILON * simple.n; /* against rounding: rather not proved */
    sum = 1 / simple.links[simple.n - 1].link_s;
    for (uint32_t i = simple.n - 1; i-- > 0;) {
        const struct link *here = &simple.links[i], *next = here + 1;
        const double both = 1 + simple.ratio;
        const double g = here->compute_s / (here->compute_s + both * here->link_s);
        const double g_next = next->compute_s / (next->compute_s + both * next->link_s);
        const double before = sum;

        sum = (next->link_s - here->link_s) / here->link_s / next->link_s + g_next * sum;
        if (!(g * sum >= before * margin))
            return false;
    }
    return true;
}

/* LIFO against the prefix bound, prefix by prefix: with F = 1 - (1 - ratio) sent the
 * former is at least (1 - F^((1 + ratio) / (1 - ratio))) / (1 + ratio), the latter is h.
 * The quotient falls with `sent`, on a single port until the port is full: sent = 1. */
static double lifo_ratio(const struct simple *simple, double sent)
{
    const double ratio = simple->ratio, rest = 1 - ratio;
    const double u = simple->max < INFINITY ? fmin(sent, 1) : sent;
    const double log_left = rest > 0 ? log1p(-fmin(1, rest * u)) / rest : -u;

    return -expm1((1 + ratio) * log_left) * (1 + ratio * u) / ((1 + ratio) * u);
}

bool cv_returns_ratios(const struct cv_returns *returns, struct cv_arena *scratch,
                       struct cv_returns_ratios *out)
{
    struct prefix prefix = { .left = 1 }, bare = { .left = 1 };
    struct simple simple, no_returns;
    bool out_of_memory;

    *out = (struct cv_returns_ratios){ 0 };
    if (!as_in_theory(returns, scratch, &simple, &out_of_memory))
        return !out_of_memory;
    no_returns = simple;
    no_returns.ratio = 0;
    for (uint32_t k = 0; k < simple.n; k++) {
        extend(&simple, &simple.links[k], &prefix);
        extend(&no_returns, &simple.links[k], &bare);
    }
    /* Without returns all stop computing at once; then the results come back. */
    out->fifo = 1 / (1 + simple.ratio * bare.sent);
    out->lifo = fmax(out->fifo, lifo_ratio(&simple, prefix.sent));
    out->best = out->lifo;
    if (!returns->single && simple.ratio <= 0.5)
        out->best = fmax(out->best, 2 / (2 + simple.ratio));
    return true;
}
