/* bound_response.c -- what one worker earns at most when the port's time has a price.
 * SPDX-License-Identifier: MIT
 *
 * A chunk that arrives at t and keeps the worker busy until its next one arrives at t'
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
#include "model/load/bound_response.h"

#include <assert.h>
#include <math.h>

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
    double left[EDGES], right[EDGES]; /* earned from a chunk there on       */
    double best[EDGES];               /* the better that arrives at edge[q] */
};

/* How the first chunk arrives; kept to add up the port's time. */
struct opening {
    double value, time;
    bool at_edge; /* then `state` is where; else the step to its successor */
    struct step state;
};

double cv_prices_until(const struct cv_prices *prices, double t)
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
 * of those before the end. best[q] stands for both that arrive at edge[q]. */
struct targets {
    double slope;
    uint32_t from, to;
    bool right_too; /* the right edge of `to` is a target, too */
};

static double slope_value(const struct search *s, double slope, uint32_t q, double value)
{
    return slope * s->edge[q] + value;
}

/* The best of them; *out_at is its place, at most to + 1. */
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

/* What stands at place `at`. */
static struct step step_to(const struct search *s, const struct targets *t, uint32_t at,
                           enum step_kind kind)
{
    const bool right = at > t->from && (at > t->to || s->right[at - 1] > s->left[at]);

    return (struct step){ kind, right ? at - 1 : at, right };
}

/* Both bounds for a chunk in region k, by where the next one is: the flat one for near
 * regions, the tangent for far ones. What it earns is value - slope x (arrival + alpha)
 * - cost, the better of the two. */
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

/* `limit`: where the region after k goes by the tangent. Time is worth less to k, so it
 * goes no further, if it may go there at all. */
static void choice_make(const struct search *s, uint32_t k, uint32_t limit,
                        struct choice *c)
{
    const double tangent = worth(s, s->prices->price[k]), flat = worth(s, s->lowest[k]);
    uint32_t split = k + 1;

    assert(k < s->n); /* a region, and so there is an edge behind it */
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

/* A message does not begin before time 0: when its chunk must last until t, the chunk
 * arrives no earlier than this. */
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
 * Returns what it earns per second that its end is put off. */
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

double cv_price_response(const struct cv_prices *prices,
                         const struct cleave_worker *worker, double horizon, double lag,
                         double *out_slope, double *used, double weight)
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
