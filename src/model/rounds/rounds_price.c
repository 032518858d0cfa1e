/* rounds_price.c -- prices on the time of the port, and the best responses of workers.
 * SPDX-License-Identifier: MIT
 *
 * A chunk computed within [u, v] has at most speed (v - u - latency) units. Its send ends at u
 * and its return starts at v, which is cheapest. Price x time of sends is concave in the time,
 * that of returns convex: tangents bound the worth of a chunk by a function that is convex in
 * u and v (and so do the prices of the cells of u and v, if these are near). One such bound is
 * chosen for every pair of cells. Chunks of a worker follow each other, so the sum is largest
 * with every u and v on an edge: a recursion over the edges, from the last one.
 * docs/theory/rounds.md proves it. */
#include "model/rounds/rounds_internal.h"

#include <math.h>
#include <string.h>
#include "model/returns/returns_internal.h"

bool cv_price_steps_init(struct cv_price_steps *prices, uint32_t max,
                         struct cv_arena *arena)
{
    const size_t n = (size_t)max + 1;

    return CV_NEW(arena, prices->edge, n) && CV_NEW(arena, prices->send, n) &&
           CV_NEW(arena, prices->back, n) && CV_NEW(arena, prices->send_sum, n) &&
           CV_NEW(arena, prices->back_sum, n);
}

bool cv_port_use_init(struct cv_port_use *use, uint32_t max, struct cv_arena *arena)
{
    const size_t n = (size_t)max + 1;

    return CV_NEW(arena, use->send_s, n) && CV_NEW(arena, use->back_s, n) &&
           CV_NEW(arena, use->best, n) && CV_NEW(arena, use->to, n);
}

void cv_price_steps_sum(struct cv_price_steps *prices)
{
    prices->send_sum[0] = prices->back_sum[0] = 0;
    for (uint32_t i = 0; i < prices->cells; i++) {
        const double length_s = prices->edge[i + 1] - prices->edge[i];

        prices->send_sum[i + 1] = prices->send_sum[i] + prices->send[i] * length_s;
        prices->back_sum[i + 1] = prices->back_sum[i] + prices->back[i] * length_s;
    }
}

/* An upper bound on the worth of a chunk from u to v:
 * part speed (v - u - latency)+ + slope_u u - slope_v v + fixed, and if `tangent` plus price x
 * time of returns up to v minus that of sends up to u. */
struct worth {
    double part, slope_u, slope_v, fixed;
    bool tangent;
};

struct response {
    const struct cv_price_steps *prices;
    const struct cv_trip *trip;
    double speed, end_s;
    uint32_t send_cell; /* begin of an empty send that ends mid-cell */
};

static double rest(double part)
{
    return part > 0 ? part : 0;
}

/* Values of a pair of cells: from the first or last edge of cell k to the first or last edge of
 * cell q. */
struct corners {
    double at[2][2];
};

static struct corners corners_of(const struct response *r, const struct worth *worth,
                                 uint32_t k, uint32_t q)
{
    const struct cv_price_steps *t = r->prices;
    const double rate = worth->part * r->speed, fixed_s = r->trip->compute_fixed_s;
    struct corners out;

    for (uint32_t i = 0; i < 2; i++) {
        const double u = t->edge[k + i];
        const double from =
            worth->slope_u * u + worth->fixed - (worth->tangent ? t->send_sum[k + i] : 0);

        for (uint32_t j = 0; j < 2; j++) {
            const double v = t->edge[q + j];

            out.at[i][j] = rate * rest(v - u - fixed_s) + from - worth->slope_v * v +
                           (worth->tangent ? t->back_sum[q + j] : 0);
        }
    }
    return out;
}

/* Points of the tangents: price and time for sends, and for returns. */
struct touch {
    double send, send_at_s, send_sum, back, back_at_s, back_sum;
};

enum limit { BY_TIME, BY_SENDS, BY_RETURNS };

/* All units for which there is time pay: the price of the limiting resource, at its end of the
 * time, takes the rest of the worth. */
static struct touch touch_limit(const struct response *r, struct touch touch,
                                enum limit limit)
{
    const struct cv_price_steps *t = r->prices;
    const struct cv_trip *w = r->trip;

    if (limit == BY_SENDS) {
        const double price = (1 - touch.back * w->back_s) / w->send_s;

        if (price >= t->send[0]) {
            touch.send = price;
            touch.send_at_s = touch.send_sum = 0;
        }
    } else if (limit == BY_RETURNS) {
        const double price = (1 - touch.send * w->send_s) / w->back_s;

        if (price >= t->back[t->cells - 1]) {
            touch.back = price;
            touch.back_at_s = t->edge[t->cells];
            touch.back_sum = t->back_sum[t->cells];
        }
    }
    return touch;
}

/* The tangents at the units that pay for mid-cell times: prices rise with the units on both
 * sides, cell by cell. */
static struct touch find_touch(const struct response *r, uint32_t back_cell, double u,
                               double v, double max)
{
    const struct cv_price_steps *t = r->prices;
    const struct cv_trip *w = r->trip;
    const double early = (u - w->send_fixed_s) / w->send_s;
    const double late =
        w->back_s > 0 ? (t->edge[t->cells] - v - w->back_fixed_s) / w->back_s : INFINITY;
    const enum limit limit = late < fmin(early, max) ? BY_RETURNS
                             : early < max           ? BY_SENDS
                                                     : BY_TIME;
    uint32_t a = r->send_cell, c = back_cell;

    max = fmin(max, fmin(early, late));
    for (;;) {
        const double left = 1 - t->send[a] * w->send_s - t->back[c] * w->back_s;
        const double next_a =
            a > 0 ? (u - w->send_fixed_s - t->edge[a]) / w->send_s : INFINITY;
        const double next_c = c + 1 < t->cells && w->back_s > 0
                                  ? (t->edge[c + 1] - v - w->back_fixed_s) / w->back_s
                                  : INFINITY;
        struct touch touch = { t->send[a], t->edge[a], t->send_sum[a],
                               t->back[c], t->edge[c], t->back_sum[c] };

        if (left < 0) /* the first unit does not pay */
            return touch;
        if (next_a >= max && next_c >= max)
            return touch_limit(r, touch, limit);
        if (next_a <= next_c) {
            if (1 - t->send[a - 1] * w->send_s - t->back[c] * w->back_s < 0) {
                touch.send = (1 - touch.back * w->back_s) / w->send_s;
                return touch; /* between the prices on both sides of this edge */
            }
            a--;
        } else {
            if (1 - t->send[a] * w->send_s - t->back[c + 1] * w->back_s < 0) {
                touch.back = (1 - touch.send * w->send_s) / w->back_s;
                touch.back_at_s = t->edge[c + 1];
                touch.back_sum = t->back_sum[c + 1];
                return touch;
            }
            c++;
        }
    }
}

static struct worth flat_worth(const struct response *r, uint32_t k, uint32_t q)
{
    const struct cv_price_steps *t = r->prices;
    const struct cv_trip *w = r->trip;

    return (struct worth){
        .part = rest(1 - t->send[k] * w->send_s - t->back[q] * w->back_s),
        .fixed = -t->send[k] * w->send_fixed_s - t->back[q] * w->back_fixed_s,
    };
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* The bound by tangents for the middle of cells k and q. */
static struct worth tangent_worth(const struct response *r, uint32_t k, uint32_t q,
                                  uint32_t back_cell)
{
    const struct cv_price_steps *t = r->prices;
    const struct cv_trip *w = r->trip;
    const double u = 0.5 * (t->edge[k] + t->edge[k + 1]);
    const double v = 0.5 * (t->edge[q] + t->edge[q + 1]);
    const double max = r->speed * (v - u - w->compute_fixed_s);
    const struct touch touch = find_touch(r, back_cell, u, v, rest(max));

    return (struct worth){
        .part = rest(1 - touch.send * w->send_s - touch.back * w->back_s),
        .slope_u = touch.send,
        .slope_v = touch.back,
        .fixed = touch.send_sum - touch.send * (w->send_fixed_s + touch.send_at_s) -
                 touch.back_sum - touch.back * (w->back_fixed_s - touch.back_at_s),
        .tangent = true,
    };
}

enum { NO_CHUNK = 0 }; /* no chunk ends at edge 0 */

/* Worth of chunks that begin in a cell: from its first and from its last edge with all chunks
 * that follow; from the first edge to the last without them. Edges where the chunk ends. */
struct begin {
    double first, last, one;
    uint32_t first_to, last_to;
};

static void improve(double *best, uint32_t *best_to, double value, uint32_t to)
{
    if (!(value > *best))
        return;
    *best = value;
    *best_to = to;
}

/* Add chunks that end in cell q. */
static struct begin with(struct begin begin, const struct corners *corners, uint32_t k,
                         uint32_t q, const double *best)
{
    if (q > k) {
        improve(&begin.last, &begin.last_to, corners->at[1][1] + best[q + 1], q + 1);
        improve(&begin.first, &begin.first_to, corners->at[0][1] + best[q + 1], q + 1);
    } else {
        begin.one = larger(begin.one, corners->at[0][1]);
    }
    if (q > k + 1) {
        improve(&begin.last, &begin.last_to, corners->at[1][0] + best[q], q);
        improve(&begin.first, &begin.first_to, corners->at[0][0] + best[q], q);
    } else if (q > k) {
        begin.one = larger(begin.one, corners->at[0][0]);
    }
    return begin;
}

static bool same(const struct begin *a, const struct begin *b)
{
    return !(a->first > b->first) && !(a->last > b->last) && !(a->one > b->one);
}

static double highest(const struct corners *corners)
{
    return larger(larger(corners->at[0][0], corners->at[0][1]),
                  larger(corners->at[1][0], corners->at[1][1]));
}

/* Set best[k + 1] and best[k], the most worth from there, for chunks that begin in cell k, and
 * where the first of these chunks ends. */
static void best_from(const struct response *r, uint32_t k, double *best, uint32_t *to)
{
    const struct cv_price_steps *t = r->prices;
    const struct cv_trip *w = r->trip;
    struct begin begin = { best[k + 1], best[k + 1], 0, NO_CHUNK, to[k + 1] };
    struct worth tangent = { .tangent = false };
    uint32_t back_cell = k;

    for (uint32_t q = k; q < t->cells && t->edge[q] + w->back_fixed_s <= r->end_s; q++) {
        const double returns_s = 0.5 * (t->edge[q] + t->edge[q + 1]) + w->back_fixed_s;
        const double longest = t->edge[q + 1] - t->edge[k] - w->compute_fixed_s;
        const struct worth flat = flat_worth(r, k, q);
        const double max = flat.part * r->speed * rest(longest) + flat.fixed;
        struct corners corners;
        struct begin old, new;

        while (back_cell + 1 < t->cells && t->edge[back_cell + 1] <= returns_s)
            back_cell++;
        /* No corner exceeds the flat bound of the longest chunk. */
        if (longest <= 0 || max + best[q > k ? q : k + 1] <= best[k + 1])
            continue;
        if (q <= k + 1) {
            corners = corners_of(r, &flat, k, q);
            begin = with(begin, &corners, k, q, best);
            continue;
        }
        if (tangent.tangent) { /* the tangent of another pair is valid, too */
            corners = corners_of(r, &tangent, k, q);
            old = with(begin, &corners, k, q, best);
            if (same(&old, &begin))
                continue;
        }
        tangent = tangent_worth(r, k, q, back_cell);
        corners = corners_of(r, &tangent, k, q);
        new = with(begin, &corners, k, q, best);
        if (max < highest(&corners)) {
            corners = corners_of(r, &flat, k, q);
            new = with(begin, &corners, k, q, best);
        }
        begin = new;
    }
    best[k + 1] = begin.last;
    to[k + 1] = begin.last_to;
    best[k] = begin.last;
    to[k] = NO_CHUNK;
    improve(&best[k], &to[k], begin.one + begin.last, k + 1);
    improve(&best[k], &to[k], begin.first, begin.first_to);
}

/* Add to `used` the part of each cell that a message takes. */
static void take_time(const struct cv_price_steps *prices, double from_s, double to_s,
                      double count, double *used)
{
    for (uint32_t i = 0; i < prices->cells && prices->edge[i] < to_s; i++)
        used[i] +=
            count * rest(fmin(to_s, prices->edge[i + 1]) - fmax(from_s, prices->edge[i]));
}

/* Add the messages of a chunk computed from u to v that takes the units that pay. */
static void take_chunk(const struct response *r, double u, double v, double count,
                       struct cv_port_use *use)
{
    const struct cv_price_steps *t = r->prices;
    const struct cv_trip *w = r->trip;
    const double max = r->speed * rest(v - u - w->compute_fixed_s);
    double units = 0, begin_s = u - w->send_fixed_s, end_s = v + w->back_fixed_s;
    uint32_t a = 0, c = 0;

    while (a + 1 < t->cells && t->edge[a + 1] < begin_s)
        a++;
    while (c + 1 < t->cells && t->edge[c + 1] <= end_s)
        c++;
    while (units < max && 1 - t->send[a] * w->send_s - t->back[c] * w->back_s > 0) {
        const double next_a = rest(begin_s - t->edge[a]) / w->send_s;
        const double next_c =
            w->back_s > 0 ? rest(t->edge[c + 1] - end_s) / w->back_s : INFINITY;
        const double more = fmin(max - units, fmin(next_a, next_c));

        units += more;
        begin_s -= more * w->send_s;
        end_s += more * w->back_s;
        if (more < next_a && more < next_c)
            break;
        if (next_a <= next_c ? a-- == 0 : ++c == t->cells)
            break;
    }
    take_time(t, begin_s, u, count, use->send_s);
    take_time(t, v, end_s, count, use->back_s);
}

/* An upper bound on units minus price of messages for one worker that has the port alone. */
static double respond(const struct cv_price_steps *prices, const struct cv_trip *trip,
                      double count, struct cv_port_use *use)
{
    double *room = use->best;
    struct response r = { .prices = prices,
                          .trip = trip,
                          .speed = 1 / trip->compute_s,
                          .end_s = prices->edge[prices->cells] };

    memset(room, 0, (prices->cells + 1) * sizeof *room);
    memset(use->to, 0, (prices->cells + 1) * sizeof *use->to);
    r.send_cell = prices->cells - 1;
    for (uint32_t k = prices->cells; k-- > 0;) {
        const double starts_s =
            0.5 * (prices->edge[k] + prices->edge[k + 1]) - trip->send_fixed_s;

        while (r.send_cell > 0 && prices->edge[r.send_cell] > starts_s)
            r.send_cell--;
        room[k] = room[k + 1];
        if (prices->edge[k + 1] >= trip->send_fixed_s)
            best_from(&r, k, room, use->to);
    }
    for (uint32_t k = 0; k < prices->cells;) {
        const uint32_t to = use->to[k];

        if (to != NO_CHUNK)
            take_chunk(&r, prices->edge[k], prices->edge[to], count, use);
        k = to != NO_CHUNK ? to : k + 1;
    }
    return fmax(0, room[0]);
}

bool cv_kinds_init(struct cv_kinds *kinds, const struct cv_returns *returns,
                   const double *memory, struct cv_arena *arena)
{
    kinds->n = 0;
    if (!CV_NEW(arena, kinds->kind, returns->n) ||
        !CV_NEW(arena, kinds->count, returns->n) || !CV_NEW(arena, kinds->of, returns->n))
        return false;
    for (uint32_t i = 0; i < returns->n; i++) {
        const struct cv_rounds_link own = { returns->trips[i],
                                            memory != NULL ? memory[i] : INFINITY };
        uint32_t k = 0;

        while (k < kinds->n && !(kinds->kind[k].memory == own.memory &&
                                 cv_trips_equal(&kinds->kind[k].trip, &own.trip)))
            k++;
        if (k == kinds->n)
            kinds->kind[kinds->n++] = own;
        kinds->count[k]++;
        kinds->of[i] = k;
    }
    return true;
}

double cv_rounds_lagrangian(const struct cv_rounds *rounds, const struct cv_kinds *kinds,
                            const struct cv_price_steps *prices, struct cv_port_use *use)
{
    double value = -rounds->load;

    memset(use->send_s, 0, prices->cells * sizeof *use->send_s);
    memset(use->back_s, 0, prices->cells * sizeof *use->back_s);
    for (uint32_t i = 0; i < prices->cells; i++) {
        const double length_s = prices->edge[i + 1] - prices->edge[i];

        value +=
            length_s * (rounds->returns.single ? fmax(prices->send[i], prices->back[i])
                                               : prices->send[i] + prices->back[i]);
    }
    for (uint32_t k = 0; k < kinds->n; k++)
        value +=
            kinds->count[k] * respond(prices, &kinds->kind[k].trip, kinds->count[k], use);
    return value;
}
