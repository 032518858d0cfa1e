/* bound_price.c -- a bound from prices on the port's time. SPDX-License-Identifier: MIT
 *
 * Let every second of the port have a price, in units of load. Messages do not overlap,
 * so in any schedule that ends by T they cost no more than the price summed over [0, T],
 * and each worker earns no more than it would if it had the port for itself and paid:
 *
 *     load <= price x time over [0, T] + sum over workers of the best response to it.
 *
 * A T for which the right side is less than the load is a bound, whatever the prices.
 * They come from a simple schedule and are improved by subgradient steps: where the
 * responses use more of the port than there is, its time becomes dearer, else cheaper
 * (prices must keep falling over time). */
#include "model/load/bounds.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cleave/platform.h>
#include "base/arena.h"
#include "base/compare.h"
#include "model/load/plan.h"

enum { CV_PRICE_PIECES = 64 };

/* A price of the port's time that falls in steps: price[k] units of load per second from
 * from[k] to from[k + 1]; the last piece has price 0 and does not end. */
struct cv_prices {
    uint32_t pieces;
    double from[CV_PRICE_PIECES + 1], price[CV_PRICE_PIECES + 1];
    double total[CV_PRICE_PIECES + 1]; /* sum of price x time up to from[k] */
    double gap[CV_PRICE_PIECES + 1]; /* how long a chunk sent then keeps a worker busy */
};

/* --- the most that one worker earns at given prices -------------------------------- */

/* A chunk that arrives at t and keeps the worker busy until its next one arrives at t'
 * has x = S (t' - t - alpha) units and a message of d = beta + x / B seconds, which costs
 * the price summed over [t - d, t]. Prices fall, so their sum is a concave function, and
 * the tangent at piece k bounds the cost from below by
 *     sum(t) - sum(from_k) - price_k (t - from_k) + price_k d                  (tangent)
 * exactly when the message begins in piece k; and price(t) d bounds it too   (flat).
 * Cut time into regions, edge_k = from_k + lag x (usual message), one tangent each. For
 * chunks in given regions the earnings are then convex in the arrival times, so the best
 * times are edges, and a search over edges from the last to the first is enough. Which
 * bound is used for a chunk depends only on its region and the next chunk's. Details and
 * proof: docs/theory/bounds.md. O(pieces^2), some hundred nanoseconds. */

enum { EDGES = CV_PRICE_PIECES + 2 };

enum step_kind { TANGENT, FLAT, SMALL };

/* Where a chunk's successor arrives: at the left or right edge of a region; region n is
 * the end. SMALL: at the right edge of the same region. */
struct step {
    enum step_kind kind;
    uint32_t region;
    bool right;
};

struct search {
    const struct cv_prices *prices;
    double speed, ratio, alpha, beta, horizon; /* ratio: S / B                       */
    uint32_t n;                                /* regions                            */
    double edge[EDGES], sum[EDGES];            /* and price x time up to it          */
    double lowest[EDGES];                      /* price just before edge[k + 1]      */
    uint32_t lowest_piece[EDGES];
    double left[EDGES], right[EDGES]; /* earned by a chunk there and all later ones */
    double best[EDGES];               /* the better that arrives at edge[q] */
};

/* How the first chunk arrives; kept to add up the port's time. */
struct opening {
    double value, time;
    bool at_edge; /* `state` is the edge; else the step to its successor */
    struct step state;
};

/* Price x time up to t. */
static double prices_until(const struct cv_prices *prices, double t)
{
    uint32_t k = prices->pieces - 1;

    while (k > 0 && prices->from[k] > t)
        k--;
    return prices->total[k] + prices->price[k] * (t - prices->from[k]);
}

static double worth(const struct search *s, double price)
{
    return fmax(0, s->speed - s->ratio * price);
}

static void search_edges(struct search *s, double lag)
{
    const struct cv_prices *prices = s->prices;
    uint32_t piece = 0;

    s->n = 1; /* region 0 begins at time 0; edge[0] is not used */
    s->edge[0] = 0;
    for (uint32_t k = 1; k < prices->pieces; k++) {
        const double usual = s->beta + s->ratio * fmax(0, prices->gap[k] - s->alpha);
        const double edge = fmax(prices->from[k] + lag * usual, s->edge[k - 1]);

        if (edge >= s->horizon)
            break;
        s->edge[k] = edge;
        s->n = k + 1;
    }
    s->edge[s->n] = s->horizon;
    for (uint32_t k = 1; k <= s->n; k++) {
        while (piece + 1 < prices->pieces && prices->from[piece + 1] < s->edge[k])
            piece++;
        s->sum[k] = prices->total[piece] +
                    prices->price[piece] * (s->edge[k] - prices->from[piece]);
        s->lowest[k - 1] = prices->price[piece];
        s->lowest_piece[k - 1] = piece;
    }
}

/* Targets of a chunk under one bound: left edges of regions `from` to `to`, right edges
 * of regions before the end. best[q] is the better of both that arrive at edge[q]. */
struct targets {
    double slope;
    uint32_t from, to;
    bool right_too; /* the right edge of `to`, too */
};

static double slope_value(const struct search *s, double slope, uint32_t q, double value)
{
    return slope * s->edge[q] + value;
}

/* The best target; *out_at is its place, at most to + 1. */
static double best_target(const struct search *s, const struct targets *t,
                          uint32_t *out_at)
{
    double top = slope_value(s, t->slope, t->from, s->left[t->from]);

    *out_at = t->from;
    for (uint32_t q = t->from + 1; q <= t->to; q++) {
        const double value = slope_value(s, t->slope, q, s->best[q]);

        if (value > top) {
            top = value;
            *out_at = q;
        }
    }
    if (t->right_too && slope_value(s, t->slope, t->to + 1, s->right[t->to]) > top) {
        *out_at = t->to + 1;
        top = slope_value(s, t->slope, t->to + 1, s->right[t->to]);
    }
    return top;
}

static struct step step_to(const struct search *s, const struct targets *t, uint32_t at,
                           enum step_kind kind)
{
    const bool right = at > t->from && (at > t->to || s->right[at - 1] > s->left[at]);

    return (struct step){ kind, right ? at - 1 : at, right };
}

/* Both bounds for a chunk in region k, by the region of the next one: the flat one for
 * near regions, the tangent for far ones. It earns value - slope x (arrival + alpha) -
 * cost, the better of the two. */
struct choice {
    struct targets near, far;
    bool has_near, has_far;
    double near_top, far_top;
    uint32_t near_at, far_at;
    double flat_cost, left_cost, right_cost;
};

static double tangent_cost(const struct search *s, uint32_t piece, double t, double sum)
{
    const struct cv_prices *p = s->prices;

    return sum - p->total[piece] - p->price[piece] * (t - p->from[piece] - s->beta);
}

/* `limit`: the successor of region k + 1 by the tangent. Time is worth less to k, so its
 * successor is no further, if the region is allowed at all. */
static void choice_make(const struct search *s, uint32_t k, uint32_t limit,
                        struct choice *c)
{
    const double tangent = worth(s, s->prices->price[k]), flat = worth(s, s->lowest[k]);
    uint32_t split = k + 1;

    assert(k < s->n); /* a region, so an edge follows it */
    c->flat_cost = s->beta * s->lowest[k];
    c->left_cost = 0;
    if (k > 0)
        /* cppcheck-suppress arrayIndexOutOfBoundsCond ; k is below n */
        c->left_cost = tangent_cost(s, k, s->edge[k], s->sum[k]);
    c->right_cost = tangent_cost(s, k, s->edge[k + 1], s->sum[k + 1]);
    while (k > 0 && split <= s->n &&
           /* cppcheck-suppress arrayIndexOutOfBoundsCond ; the same */
           (flat - tangent) * (s->edge[split] - s->edge[k] - s->alpha) <
               c->flat_cost - c->left_cost)
        split++;
    c->far = (struct targets){ tangent, split, limit > split ? limit : s->n, false };
    c->near = (struct targets){ flat, k + 1, split - 1, split <= s->n };
    c->has_far = split <= s->n;
    c->has_near = split > k + 1;
    c->far_at = s->n;
    c->far_top = c->has_far ? best_target(s, &c->far, &c->far_at) : -INFINITY;
    c->near_top = c->has_near ? best_target(s, &c->near, &c->near_at) : -INFINITY;
}

static double earned_far(const struct search *s, const struct choice *c, uint32_t k,
                         bool right)
{
    return c->far_top - c->far.slope * (s->edge[k + right] + s->alpha) -
           (right ? c->right_cost : c->left_cost);
}

static double earned_near(const struct search *s, const struct choice *c, uint32_t k,
                          bool right)
{
    return c->near_top - c->near.slope * (s->edge[k + right] + s->alpha) - c->flat_cost;
}

static uint32_t search_region(struct search *s, uint32_t k, uint32_t limit)
{
    struct choice c;
    double small;

    choice_make(s, k, limit, &c);
    s->left[k] = fmax(earned_far(s, &c, k, false), earned_near(s, &c, k, false));
    s->right[k] = fmax(earned_far(s, &c, k, true), earned_near(s, &c, k, true));
    small = s->right[k] - c.flat_cost +
            c.near.slope * (s->edge[k + 1] - s->edge[k] - s->alpha);
    s->left[k] = fmax(s->left[k], small);
    s->best[k + 1] = fmax(s->left[k + 1], s->right[k]);
    return c.far_at;
}

/* The step that a chunk at an edge takes. */
static struct step next_step(const struct search *s, uint32_t k, bool right)
{
    struct choice c;
    double far, near;

    choice_make(s, k, s->n, &c);
    far = earned_far(s, &c, k, right);
    near = earned_near(s, &c, k, right);
    if (!right && s->left[k] > fmax(far, near))
        return (struct step){ SMALL, k, true };
    return far >= near ? step_to(s, &c.far, c.far_at, TANGENT)
                       : step_to(s, &c.near, c.near_at, FLAT);
}

/* A message does not begin before time 0: the earliest arrival of a chunk that lasts
 * until t. */
static double soonest(const struct search *s, double t)
{
    return (s->beta + s->ratio * (t - s->alpha)) / (1 + s->ratio);
}

/* First chunks that arrive in region 0 as soon as their size allows. */
static void open_soonest(const struct search *s, double extra, struct opening *open)
{
    const struct cv_prices *p = s->prices;
    const double tangent = worth(s, p->price[0]);
    uint32_t piece = 0;

    for (uint32_t i = 2; i <= 2 * s->n; i++) {
        const bool right = i % 2 == 1;
        const uint32_t region = i / 2;
        const double until = s->edge[region + right];
        const double then = right ? s->right[region] : s->left[region];
        const double t = soonest(s, until);
        double value;

        if (t > s->edge[1])
            break;
        while (piece + 1 < p->pieces && p->from[piece + 1] <= t)
            piece++;
        value = tangent * (until - t - s->alpha) + then + extra -
                tangent_cost(s, 0, t,
                             p->total[piece] + p->price[piece] * (t - p->from[piece]));
        if (value > open->value)
            *open = (struct opening){ value, t, false, { TANGENT, region, right } };
    }
}

static struct opening search_opening(const struct search *s)
{
    /* Other chunks before it in region 0; no chunk arrives before beta. */
    const double extra =
        fmax(0, worth(s, s->lowest[0]) * (s->edge[1] - s->beta - s->alpha) -
                    s->beta * s->lowest[0]);
    struct opening open = { .value = 0, .at_edge = false, .state = { SMALL, 0, false } };

    open_soonest(s, extra, &open);
    for (uint32_t k = 0; k < s->n; k++) {
        const double right = s->right[k] + (k == 0 ? extra : 0);

        if (right > open.value)
            open = (struct opening){ right, 0, true, { TANGENT, k, true } };
        if (k > 0 && s->left[k] > open.value)
            open = (struct opening){ s->left[k], 0, true, { TANGENT, k, false } };
    }
    return open;
}

/* Add the derivative of a tangent's cost by every price: message time and offsets. */
static void add_tangent(const struct search *s, uint32_t piece, double t, double message,
                        double *used, double weight)
{
    const struct cv_prices *p = s->prices;

    for (uint32_t k = piece; k < p->pieces && p->from[k] < t; k++) {
        const double until = k + 1 < p->pieces ? fmin(t, p->from[k + 1]) : t;

        used[k] += weight * (until - p->from[k]);
    }
    for (uint32_t k = 0; k < piece; k++) {
        if (p->from[k + 1] > t)
            used[k] -= weight * (p->from[k + 1] - fmax(t, p->from[k]));
    }
    used[piece] += weight * (message - (t - p->from[piece]));
}

/* Port time of the chunk in `region` that arrives at t, by the step to its successor.
 * Returns its earnings per second that its end is put off. */
static double add_chunk(const struct search *s, uint32_t region, double t,
                        const struct step *step, double *used, double weight)
{
    const uint32_t piece = step->kind == TANGENT ? region : s->lowest_piece[region];
    const double earns = worth(s, s->prices->price[piece]);
    const double until =
        step->kind == SMALL ? s->edge[region + 1] : s->edge[step->region + step->right];
    const double message = s->beta + (earns > 0 ? s->ratio * (until - t - s->alpha) : 0);

    if (used != NULL && step->kind == TANGENT)
        add_tangent(s, piece, t, message, used, weight);
    else if (used != NULL)
        used[piece] += weight * message;
    return earns;
}

static double follow(const struct search *s, const struct opening *open, double *used,
                     double weight)
{
    struct step at = open->state;
    double earns;

    if (!open->at_edge) {
        earns = add_chunk(s, 0, open->time, &open->state, used, weight);
        if (at.region >= s->n)
            return earns;
    }
    for (;;) {
        const struct step next = next_step(s, at.region, at.right);

        earns =
            add_chunk(s, at.region, s->edge[at.region + at.right], &next, used, weight);
        if (next.region >= s->n)
            return earns;
        at = next;
    }
}

/* An upper bound of the units that a worker computes by `horizon`, minus the price of
 * their messages. `lag` from 0 to 1 chooses among valid bounds. *out_slope: its growth
 * with the horizon. Port time of each piece is added to `used`, unless NULL, `weight`
 * times. */
static double price_response(const struct cv_prices *prices,
                             const struct cleave_worker *worker, double horizon,
                             double lag, double *out_slope, double *used, double weight)
{
    struct search s;
    struct opening open;
    uint32_t limit;

    s.prices = prices;
    s.speed = worker->speed_ups;
    s.ratio = worker->speed_ups / worker->bandwidth_ups;
    s.alpha = worker->compute_latency_s;
    s.beta = worker->latency_s;
    s.horizon = horizon;
    search_edges(&s, lag);
    s.left[s.n] = 0;
    limit = s.n;
    for (uint32_t k = s.n; k-- > 0;)
        limit = search_region(&s, k, limit);
    open = search_opening(&s);
    *out_slope = 0;
    if (open.value > 0)
        *out_slope = follow(&s, &open, used, weight);
    return open.value;
}

/* --- a first guess of the worth of the port's time --------------------------------- */

/* The prices come from a schedule: round robin over the n widest links, K chunks, sizes
 * without gaps, the best over n and K. Counted from the end, sizes are affine in the time
 * of the last chunk whatever K is, so all K for one n cost one scan. The multipliers of
 * the linear program of that order are the units that a second of the port is worth
 * during each message; messages in excess of the pieces are taken together. A bad guess
 * makes a weak bound, never a wrong one. */

/* With more workers than this only some n are tried. */
static const uint32_t try_all = 32;
static const double try_ratio = 0.75;
/* Sizes are not trusted if larger terms, as multiples of the load, cancel. */
static const double most_cancelled = 1e8;

struct guide {
    const struct cleave_worker *workers; /* borrowed             */
    double load;
    struct cv_ranked *links; /* widest first         */
    struct cv_affine *lead;  /* per place in `links` */
    double makespan;         /* best so far          */
    uint32_t n;
    size_t chunks;
};

/* All K for round robin over the first n links. */
static void guide_scan(struct guide *guide, uint32_t n)
{
    struct cv_affine ahead = { 0, 1 }, sum = { 0, 0 };
    const size_t max = 4 * (size_t)n + 256;
    double min = 0, best = INFINITY;
    size_t since = 0;
    uint32_t place = n;

    for (uint32_t i = 0; i < n; i++)
        guide->lead[i] = (struct cv_affine){ 0, 0 };
    for (size_t chunks = 1; chunks <= max && since <= 2 * (size_t)n + 8; chunks++) {
        const struct cleave_worker *w;
        struct cv_affine size;
        double last, makespan;

        place = place > 0 ? place - 1 : n - 1;
        w = &guide->workers[guide->links[place].index];
        size = cv_vertex_step(w, &guide->lead[place], &ahead, &sum);
        min = fmax(min, -size.offset / size.slope);
        last = (guide->load - sum.offset) / sum.slope;
        makespan = ahead.offset + ahead.slope * last;
        if (!isfinite(makespan) || fabs(sum.offset) > most_cancelled * guide->load)
            break;
        if (best < INFINITY)
            since++;
        if (!(last >= min && makespan < best))
            continue;
        best = makespan;
        since = 0;
        if (best < guide->makespan) {
            guide->makespan = best;
            guide->n = n;
            guide->chunks = chunks;
        }
    }
}

/* Set `total` from `from` and `price`. */
static void prices_sum(struct cv_prices *prices)
{
    prices->total[0] = 0;
    for (uint32_t k = 0; k + 1 < prices->pieces; k++)
        prices->total[k + 1] =
            prices->total[k] + prices->price[k] * (prices->from[k + 1] - prices->from[k]);
}

/* One piece per group of messages: prices averaged over time, never rising. */
static void pieces_from(const struct guide *guide, const uint32_t *seq,
                        const double *units, const double *multiplier,
                        struct cv_prices *out)
{
    const struct cleave_worker *first = &guide->workers[seq[0]];
    const double worth =
        1 / (1 / first->bandwidth_ups + multiplier[0] / first->speed_ups);
    const size_t group = (guide->chunks + CV_PRICE_PIECES - 2) / (CV_PRICE_PIECES - 1);
    double now = 0, left = 1, lowest = INFINITY;
    uint32_t k = 0;

    for (size_t i = 0; i < guide->chunks;) {
        double time = 0, cost = 0, gap = 0;
        size_t in = 0;

        for (; in < group && i < guide->chunks; in++, i++) {
            const struct cleave_worker *w = &guide->workers[seq[i]];
            const double message = w->latency_s + units[i] / w->bandwidth_ups;

            time += message;
            cost += message * left * worth;
            gap += w->compute_latency_s + units[i] / w->speed_ups;
            left -= multiplier[i];
        }
        if (time > 0)
            lowest = fmin(lowest, fmax(0, cost / time));
        if (!(time > 0) || !isfinite(lowest))
            continue;
        out->from[k] = now;
        out->price[k] = lowest;
        out->gap[k] = gap / (double)in;
        now += time;
        k++;
    }
    out->from[k] = now;
    out->price[k] = 0;
    out->gap[k] = k > 0 ? out->gap[k - 1] : 0;
    out->pieces = k + 1;
    prices_sum(out);
}

static bool guide_prices(const struct guide *guide, uint32_t nworkers,
                         struct cv_arena *scratch, struct cv_prices *out)
{
    const size_t chunks = guide->chunks;
    struct cv_vertex_workspace room;
    uint32_t *seq;
    double *units, *multiplier;
    bool feasible;

    if (!CV_NEW(scratch, seq, chunks) || !CV_NEW(scratch, units, chunks) ||
        !CV_NEW(scratch, multiplier, chunks) ||
        !cv_vertex_room_init(&room, scratch, chunks, nworkers))
        return false;
    for (size_t i = 0; i < chunks; i++)
        seq[chunks - 1 - i] = guide->links[guide->n - 1 - (uint32_t)(i % guide->n)].index;
    cv_vertex_solve(guide->workers, guide->load, seq, chunks, &room, units, &feasible);
    for (size_t i = 0; i < chunks; i++)
        units[i] = fmax(0, units[i]);
    cv_vertex_multipliers(guide->workers, seq, chunks, &room, multiplier);
    pieces_from(guide, seq, units, multiplier, out);
    return true;
}

/* Prices and the makespan of their schedule. False when memory is short. */
static bool price_guide(const struct cleave_worker *workers, uint32_t nworkers,
                        double load, struct cv_arena *scratch, struct cv_prices *out,
                        double *out_makespan)
{
    struct guide guide = { .workers = workers, .load = load, .makespan = INFINITY };

    if (!CV_NEW(scratch, guide.links, nworkers) || !CV_NEW(scratch, guide.lead, nworkers))
        return false;
    for (uint32_t i = 0; i < nworkers; i++)
        guide.links[i] = (struct cv_ranked){ workers[i].bandwidth_ups, i };
    qsort(guide.links, nworkers, sizeof *guide.links, cv_rank_down);
    for (uint32_t n = nworkers; n >= 1;) {
        guide_scan(&guide, n);
        n = n <= try_all ? n - 1 : (uint32_t)(n * try_ratio);
    }
    *out_makespan = guide.makespan;
    out->pieces = 0;
    if (!isfinite(guide.makespan))
        return true;
    return guide_prices(&guide, nworkers, scratch, out);
}

enum {
    MOST_KINDS = 4096, /* different workers; no bound with more */
    MOST_STEPS = 16,   /* improvements of the prices                            */
    WORK = 2000000,    /* about this many inner loop turns */
    NEWTON = 12,
    PATIENCE = 3, /* failures before steps become smaller */
};

/* Assumed lengths of messages for the bounds of a response. */
static const double lags[] = { 1, 0.5, 0 };
/* Part of the way from the bound to the guide's makespan that the first step aims at. */
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

/* Number of kinds: runs of equal workers. Above MOST_KINDS it is not exact. */
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

/* For each kind the lag with the least response at these prices. */
static void choose_lags(struct market *market, double horizon)
{
    for (uint32_t i = 0; i < market->nkinds; i++) {
        struct kind *kind = &market->kinds[i];
        double best = INFINITY, slope;

        for (size_t k = 0; k < sizeof lags / sizeof *lags; k++) {
            const double response = price_response(&market->prices, kind->worker, horizon,
                                                   lags[k], &slope, NULL, 0);

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

/* The right side at T = horizon, and its slope. `spare`, unless NULL, gets for each piece
 * the port's time minus that of the responses. */
static double volume(const struct market *market, double horizon, double *out_slope,
                     double *spare)
{
    const struct cv_prices *prices = &market->prices;
    double units = prices_until(prices, horizon);

    *out_slope = price_at(prices, horizon);
    for (uint32_t k = 0; spare != NULL && k < prices->pieces; k++) {
        const double end = k + 1 < prices->pieces ? prices->from[k + 1] : horizon;

        spare[k] = fmax(0, fmin(end, horizon) - prices->from[k]);
    }
    for (uint32_t i = 0; i < market->nkinds; i++) {
        const struct kind *kind = &market->kinds[i];
        double slope;

        units += kind->count * price_response(prices, kind->worker, horizon, kind->lag,
                                              &slope, spare, -kind->count);
        *out_slope += kind->count * slope;
    }
    return units;
}

static void scale(struct cv_prices *prices, double factor)
{
    for (uint32_t k = 0; k < prices->pieces; k++)
        prices->price[k] *= factor;
    prices_sum(prices);
}

/* Lower all prices if that lowers the right side. If few chunks with large latencies are
 * best, no worker would work at the guide's prices. */
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

/* Descend from `t` to a time at which the right side is less than the load. */
static double descend(const struct market *market, double t, double floor)
{
    for (int step = 0; step < NEWTON && t > floor; step++) {
        double slope;
        const double units = volume(market, t, &slope, NULL);

        if (units < market->load * (1 - 1e-12))
            return t;
        if (!(slope > 0)) { /* no worker works that late */
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
    prices_sum(prices);
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

/* Whether all terms are finite. */
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

    if (!CV_NEW(scratch, market.kinds, max))
        return -1;
    market.nkinds = count_kinds(workers, nworkers, market.kinds);
    if (market.nkinds > MOST_KINDS)
        return 0;
    if (!price_guide(workers, nworkers, load, scratch, &market.prices, &makespan))
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
