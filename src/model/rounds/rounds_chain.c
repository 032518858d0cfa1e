/* rounds_chain.c -- the closed form of words whose pivots stand together.
 * SPDX-License-Identifier: MIT
 *
 * All pivots end the send word, in some order, and begin the return word in the same order
 * or in the reverse one. Then the rows of neighbours differ by messages of these two only:
 * the size of a pivot tells that of the next one. So every time and size is linear in the
 * first pivot, and in one that waits where the port is full: O(K) for K letters, however
 * many workers there are. */
#include <math.h>
#include <string.h>

#include "model/rounds/rounds_workspace.h"

enum { NONE = UINT32_MAX };

/* Two numbers at a time. */
typedef double pair __attribute__((vector_size(16), aligned(8), may_alias));

/* a first + c, and b waiting: a and c are what every line has, in one piece. */
struct line {
    pair ac;
    double b;
};

static const struct line NOTHING = { { 0, 0 }, 0 };

struct chain {
    struct cv_rounds_workspace *room;
    const struct cv_rounds_words *words;
    uint32_t n, growing, waits; /* waits: place among the pivots                 */
    bool lifo;
    struct line sum, port, end; /* units, time of all messages, T                */
};

/* Inline, with a constant `waits`: whether anybody does, or b is 0 everywhere and need not be
 * looked at. This is the inner loop of the search. */
#define ALWAYS static inline __attribute__((always_inline))

ALWAYS struct line plus(struct line x, struct line y, double times, bool waits)
{
    return (struct line){ x.ac + y.ac * times, waits ? x.b + y.b * times : 0 };
}

/* speed (from - to - fixed) */
ALWAYS struct line between(struct line from, struct line to,
                           const struct cv_rounds_cost *c, bool waits)
{
    const pair fixed = { 0, c->compute_fixed_s };

    return (struct line){ (from.ac - to.ac - fixed) * c->speed,
                          waits ? (from.b - to.b) * c->speed : 0 };
}

ALWAYS double value(const struct line *x, double first, double waiting, bool waits)
{
    return x->ac[0] * first + x->ac[1] + (waits ? x->b * waiting : 0);
}

static struct line *lines(double *array)
{
    return (struct line *)(void *)array;
}

static const struct cv_rounds_cost *pivot_cost(const struct chain *chain, uint32_t i)
{
    return &chain->room->costs[chain->words->send[chain->growing + i]];
}

/* Units and port time so far. */
struct sums {
    struct line units, port;
};

ALWAYS void count_in(struct sums *sums, struct line x, const struct cv_rounds_cost *c,
                     bool waits)
{
    sums->units = plus(sums->units, x, 1, waits);
    sums->port = plus(sums->port, x, c->send_s + c->back_s, waits);
    sums->port.ac[1] += c->send_fixed_s + c->back_fixed_s;
}

/* What the arrival of a pivot is later than that of the one before, less what its result may
 * leave later, by messages of both but its own size: `gap` has those passed by so far. */
static void pass(struct line *gap, struct line x, const struct cv_rounds_cost *c,
                 bool sends, bool returns, double sense)
{
    if (sends) {
        *gap = plus(*gap, x, c->send_s, true);
        gap->ac[1] += c->send_fixed_s;
    }
    if (returns) {
        *gap = plus(*gap, x, sense * c->back_s, true);
        gap->ac[1] += sense * c->back_fixed_s;
    }
}

/* Sizes of all pivots. Rows u and w that follow each other, with one that waits between or
 * not: what is sent after u up to w, and computed, less what is returned from u up to w
 * (fifo) or more by what is returned after w up to it (lifo), is the same for both. */
static void set_pivots(struct chain *chain)
{
    struct line *x = lines(chain->room->xs) + chain->growing;
    struct line gap = NOTHING;
    uint32_t before = NONE;

    for (uint32_t i = 0; i < chain->n; i++) {
        const struct cv_rounds_cost *c = pivot_cost(chain, i);

        if (i == chain->waits) {
            x[i] = (struct line){ { 0, 0 }, 1 };
            pass(&gap, x[i], c, true, true, chain->lifo ? 1 : -1);
        } else if (before == NONE) {
            x[i] = (struct line){ { 1, 0 }, 0 };
        } else {
            /* gap + send + compute (+ return, lifo) of this one = compute (+ return, fifo) of
             * the one before, which is in the gap already. */
            const double own = c->send_s + c->compute_s + (chain->lifo ? c->back_s : 0);
            const pair fixed = { 0, c->send_fixed_s + c->compute_fixed_s +
                                        (chain->lifo ? c->back_fixed_s : 0) };

            x[i] = (struct line){ -(gap.ac + fixed) / own, -gap.b / own };
        }
        if (i != chain->waits) {
            gap = plus(NOTHING, x[i], -c->compute_s, true);
            gap.ac[1] -= c->compute_fixed_s;
            pass(&gap, x[i], c, false, !chain->lifo, -1);
            before = i;
        }
    }
}

ALWAYS void go_back(struct chain *chain, struct sums *sums, bool waits)
{
    struct cv_rounds_workspace *room = chain->room;
    const struct cv_rounds_words *words = chain->words;
    struct line *z = lines(room->z), *xs = lines(room->xs), now = NOTHING;

    z[words->nsend] = now;
    for (uint32_t k = words->nsend; k-- > 0;) {
        const uint32_t w = words->send[k];
        const struct cv_rounds_cost *c = &room->costs[w];
        struct line x;

        room->pivot[k] = k >= chain->growing;
        if (!room->pivot[k]) {
            xs[k] = x = between(now, z[room->next[w] + 1], c, waits);
        } else {
            x = xs[k];
            room->place[w] = k;
        }
        count_in(sums, x, c, waits);
        now = plus(now, x, c->send_s, waits);
        now.ac[1] += c->send_fixed_s;
        z[k] = now;
        room->next[w] = k;
    }
}

ALWAYS void go_on(struct chain *chain, struct sums *sums, bool waits)
{
    struct cv_rounds_workspace *room = chain->room;
    const struct cv_rounds_words *words = chain->words;
    struct line *y = lines(room->y), *xr = lines(room->xr), now = NOTHING;

    y[0] = now;
    room->nchunks = words->nsend;
    for (uint32_t k = 0; k < words->nback; k++) {
        const uint32_t w = words->back[k];
        const struct cv_rounds_cost *c = &room->costs[w];
        struct line x;

        if (k < chain->n) {
            room->back_id[k] = room->place[w];
            x = lines(room->xs)[room->place[w]];
        } else {
            x = between(now, y[room->next[w]], c, waits);
            count_in(sums, x, c, waits);
            room->before[room->nchunks - words->nsend] = room->next[w];
            room->back_id[k] = room->nchunks++;
        }
        xr[k] = x;
        now = plus(now, x, c->back_s, waits);
        now.ac[1] += c->back_fixed_s;
        y[k + 1] = now;
        room->next[w] = k;
    }
}

/* T from the row of the first pivot that does not wait. */
static void set_end(struct chain *chain)
{
    struct cv_rounds_workspace *room = chain->room;
    const uint32_t i = chain->waits == 0 ? 1 : 0;
    const uint32_t k = chain->growing + i, j = chain->lifo ? chain->n - 1 - i : i;
    const struct cv_rounds_cost *c = pivot_cost(chain, i);
    const struct line *z = lines(room->z), *y = lines(room->y);
    struct line end = plus(z[0], z[k + 1], -1, true);

    end = plus(end, lines(room->xs)[k], c->compute_s, true);
    end.ac[1] += c->compute_fixed_s;
    end = plus(end, y[chain->words->nback], 1, true);
    chain->end = plus(end, y[j], -1, true);
}

/* The unknowns. */
static void set_unknowns(const struct chain *chain, double *first, double *waiting)
{
    const double left = chain->room->rounds->load - chain->sum.ac[1];
    const struct line full = plus(chain->port, chain->end, -1, true);
    const double det = chain->sum.ac[0] * full.b - chain->sum.b * full.ac[0];

    if (chain->waits == NONE) {
        *first = left / chain->sum.ac[0];
        *waiting = 0;
    } else {
        *first = (left * full.b + chain->sum.b * full.ac[1]) / det;
        *waiting = (-chain->sum.ac[0] * full.ac[1] - left * full.ac[0]) / det;
    }
}

/* The sizes; false if one is negative. */
ALWAYS bool set_units(struct chain *chain, double first, double waiting, bool waits)
{
    struct cv_rounds_workspace *room = chain->room;
    const uint32_t nsend = chain->words->nsend;
    const struct line *xs = lines(room->xs), *xr = lines(room->xr), *y = lines(room->y);

    for (uint32_t k = 0; k < nsend; k++) {
        room->units[k] = value(&xs[k], first, waiting, waits);
        if (!(room->units[k] >= 0))
            return false;
    }
    for (uint32_t k = chain->n; k < chain->words->nback; k++) {
        const uint32_t id = room->back_id[k];

        room->units[id] = value(&xr[k], first, waiting, waits);
        if (!(room->units[id] >= 0))
            return false;
        room->need_s[id] = value(&y[room->before[id - nsend]], first, waiting, waits);
    }
    return true;
}

ALWAYS bool solve_if(struct chain *chain, double *out_end_s, bool waits)
{
    struct sums sums = { NOTHING, NOTHING };
    double first, waiting;

    set_pivots(chain);
    go_back(chain, &sums, waits);
    go_on(chain, &sums, waits);
    chain->sum = sums.units;
    chain->port = sums.port;
    set_end(chain);
    set_unknowns(chain, &first, &waiting);
    *out_end_s = value(&chain->end, first, waiting, waits);
    chain->room->port_s = value(&chain->port, first, waiting, waits);
    /* A pivot's row is a path through the schedule: sizes would not make it shorter. */
    return *out_end_s >= chain->room->limit_s || set_units(chain, first, waiting, waits);
}

static bool solve(struct chain *chain, double *out_end_s)
{
    return chain->waits == NONE ? solve_if(chain, out_end_s, false)
                                : solve_if(chain, out_end_s, true);
}

static double evaluate(struct chain *chain, bool *out_full)
{
    struct cv_rounds_workspace *room = chain->room;
    double closed_s;
    const bool fits = solve(chain, &closed_s);

    *out_full = room->port_s > closed_s * (1 + 1e-12) && closed_s > 0;
    room->steps += chain->words->nsend + chain->words->nback;
    if (!fits)
        return INFINITY;
    room->closed_s = closed_s;
    /* A pivot's row is a path through the schedule, so is the port. */
    if (closed_s >= room->limit_s)
        return closed_s;
    if (room->rounds->returns.single && room->port_s >= room->limit_s)
        return room->port_s;
    room->steps += chain->words->nsend + chain->words->nback;
    return cv_rounds_orders(room, chain->words);
}

static struct chain chain_of(struct cv_rounds_workspace *room,
                             const struct cv_rounds_words *words, uint32_t n, bool lifo)
{
    return (struct chain){ .room = room,
                           .words = words,
                           .n = n,
                           .growing = words->nsend - n,
                           .waits = NONE,
                           .lifo = lifo };
}

bool cv_rounds_chain_tight(struct cv_rounds_workspace *room,
                           const struct cv_rounds_words *words, uint32_t n, bool lifo)
{
    struct chain chain = chain_of(room, words, n, lifo);
    const bool fits = solve(&chain, &room->closed_s);

    if (fits)
        (void)cv_rounds_orders(room, words);
    cv_rounds_keep(room);
    return fits;
}

/* Places of the slowest links among the pivots. */
static uint32_t slowest(const struct chain *chain, uint32_t out[CV_WAITING_MOST])
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < chain->n; i++) {
        const double own = pivot_cost(chain, i)->send_s;
        uint32_t at = count < CV_WAITING_MOST ? count++ : CV_WAITING_MOST;

        for (; at > 0 && pivot_cost(chain, out[at - 1])->send_s < own; at--)
            if (at < CV_WAITING_MOST)
                out[at] = out[at - 1];
        if (at < CV_WAITING_MOST)
            out[at] = i;
    }
    return count;
}

double cv_rounds_chain(struct cv_rounds_workspace *room,
                       const struct cv_rounds_words *words, uint32_t n, bool lifo)
{
    struct chain chain = chain_of(room, words, n, lifo);
    uint32_t waiting[CV_WAITING_MOST] = { 0 }, count = 0;
    bool full, ignored;
    double best_s = evaluate(&chain, &full);

    if (best_s < INFINITY)
        cv_rounds_keep(room);
    if (full && n > 1 && room->rounds->returns.single)
        count = slowest(&chain, waiting);
    for (uint32_t v = 0; v < count; v++) {
        double end_s;

        chain.waits = waiting[v];
        end_s = evaluate(&chain, &ignored);
        if (end_s < best_s) {
            best_s = end_s;
            cv_rounds_keep(room);
        }
    }
    return best_s;
}
