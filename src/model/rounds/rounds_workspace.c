/* rounds_workspace.c -- the schedule of two words, and the closed form of chains.
 * SPDX-License-Identifier: MIT
 *
 * In a chain all pivots end the send word, in some order, and begin the return word in the
 * same or in the reverse order. The equations of neighbours then differ by their own messages
 * only, so that the size of a pivot determines that of the next. Every time and size is
 * linear in the first pivot, and in a second one that waits if the port is full: O(K) for K
 * letters and any number of workers. */
#include "model/rounds/rounds_internal.h"

#include <math.h>
#include <string.h>
#include "model/rounds/rounds.h"

static bool variant_init(struct cv_rounds_variant *variant, size_t chunks,
                         struct cv_arena *arena)
{
    return CV_NEW(arena, variant->units, chunks) &&
           CV_NEW(arena, variant->send, chunks) && CV_NEW(arena, variant->back, chunks);
}

/* Rows have as many numbers as unknowns, a constant, and one more that makes the length even.
 * Chains use three. */
static bool rows_init(struct cv_rounds_workspace *room, struct cv_arena *arena)
{
    const size_t m = (size_t)room->most_workers + 3, rows = ((size_t)room->max + 1) * m;

    return CV_NEW(arena, room->z, rows) && CV_NEW(arena, room->y, rows) &&
           CV_NEW(arena, room->xs, rows) && CV_NEW(arena, room->xr, rows) &&
           CV_NEW(arena, room->sum, m) && CV_NEW(arena, room->port, m) &&
           CV_NEW(arena, room->solved, m) && CV_NEW(arena, room->unknown, m) &&
           CV_NEW(arena, room->matrix, m * (m + 1)) &&
           CV_NEW(arena, room->lu, m * (m + 1));
}

bool cv_rounds_room_init(struct cv_rounds_workspace *room, const struct cv_rounds *rounds,
                         uint32_t max, bool dense, struct cv_arena *arena)
{
    const uint32_t n = rounds->returns.n;

    *room = (struct cv_rounds_workspace){
        .rounds = rounds,
        .trips = rounds->returns.trips,
        .max = max,
        .limit_s = INFINITY,
        .most_workers = !dense              ? 0
                        : n < CV_DENSE_MOST ? n
                                            : CV_DENSE_MOST,
    };
    if (!CV_NEW(arena, room->speed, n))
        return false;
    for (uint32_t i = 0; i < n; i++)
        room->speed[i] = 1 / room->trips[i].compute_s;
    return CV_NEW(arena, room->chunks, 2 * (size_t)max) &&
           CV_NEW(arena, room->workers, n) && CV_NEW(arena, room->back_id, max) &&
           variant_init(&room->now, 2 * (size_t)max, arena) &&
           variant_init(&room->best, 2 * (size_t)max, arena) && rows_init(room, arena);
}

bool cv_rounds_plan_init(struct cv_rounds_plan *plan, uint32_t chunks,
                         struct cv_arena *arena)
{
    plan->nchunks = chunks;
    return CV_NEW(arena, plan->worker, chunks) && CV_NEW(arena, plan->units, chunks) &&
           CV_NEW(arena, plan->back, chunks);
}

bool cv_words_init(struct cv_rounds_words *words, uint32_t max, struct cv_arena *arena)
{
    words->nsend = words->nback = 0;
    return CV_NEW(arena, words->send, max) && CV_NEW(arena, words->back, max);
}

double cv_rounds_replay(const struct cv_returns *returns,
                        const struct cv_rounds_plan *plan, const double *units,
                        double *room)
{
    double *ends_s = room, *ready_s = room + plan->nchunks, now_s = 0;

    for (uint32_t i = 0; i < returns->n; i++)
        ready_s[i] = 0;
    for (uint32_t k = 0; k < plan->nchunks; k++) {
        const uint32_t w = plan->worker[k];
        const struct cv_trip *t = &returns->trips[w];

        now_s += t->send_fixed_s + units[k] * t->send_s;
        ends_s[k] = ready_s[w] =
            fmax(now_s, ready_s[w]) + t->compute_fixed_s + units[k] * t->compute_s;
    }
    if (!returns->single)
        now_s = 0;
    for (uint32_t i = 0; i < plan->nchunks; i++) {
        const uint32_t k = plan->back[i];
        const struct cv_trip *t = &returns->trips[plan->worker[k]];

        now_s = fmax(now_s, ends_s[k]) + t->back_fixed_s + units[k] * t->back_s;
    }
    return now_s;
}

/* Shrinking chunks are sent in the order of their deadlines. */
static void order_sends(struct cv_rounds_workspace *room,
                        const struct cv_rounds_words *words)
{
    uint32_t *order = room->now.send;
    const uint32_t first = words->nsend;

    for (uint32_t k = 0; k < first; k++)
        order[k] = k;
    for (uint32_t k = first; k < room->nchunks; k++) {
        uint32_t at = k;

        for (; at > first && room->chunks[order[at - 1]].need_s > room->chunks[k].need_s;
             at--)
            order[at] = order[at - 1];
        order[at] = k;
    }
}

/* Growing chunks return in the order of their ends, then the letters of the return word. */
static void order_returns(struct cv_rounds_workspace *room,
                          const struct cv_rounds_words *words)
{
    uint32_t *order = room->now.back, count = 0;

    for (uint32_t k = 0; k < words->nsend; k++) {
        uint32_t at = count;

        if (room->chunks[k].pivot)
            continue;
        for (; at > 0 && room->chunks[order[at - 1]].ends_s > room->chunks[k].ends_s;
             at--)
            order[at] = order[at - 1];
        order[at] = k;
        count++;
    }
    for (uint32_t k = 0; k < words->nback; k++)
        order[count++] = room->back_id[k];
}

/* Times of a part of chunk k if chunks that exceed the memory are sent in parts. */
struct parts {
    double count, send_s, own_s, back_s;
};

static struct parts parts_of(const struct cv_rounds_workspace *room, uint32_t k)
{
    const uint32_t w = room->chunks[k].worker;
    const struct cv_trip *c = &room->trips[w];
    const double units = room->now.units[k];
    const double count = cv_parts_of(units, room->rounds->memory[w]);

    return (struct parts){ count, c->send_fixed_s + units / count * c->send_s,
                           c->compute_fixed_s + units / count * c->compute_s,
                           c->back_fixed_s + units / count * c->back_s };
}

static double send_in_parts(struct cv_rounds_workspace *room)
{
    double now_s = 0;

    for (uint32_t i = 0; i < room->nchunks; i++) {
        const uint32_t k = room->now.send[i];
        struct cv_rounds_worker *worker = &room->workers[room->chunks[k].worker];
        const struct parts part = parts_of(room, k);
        /* The worker waits for the first part, or for the last one. */
        const double start_s = fmax(now_s + part.send_s, worker->ready_s);

        now_s += part.count * part.send_s;
        room->chunks[k].ends_s = worker->ready_s =
            fmax(start_s + part.count * part.own_s, now_s + part.own_s);
    }
    return now_s;
}

/* Parts are ready one after the other. */
static double return_in_parts(struct cv_rounds_workspace *room, double now_s)
{
    for (uint32_t i = 0; i < room->nchunks; i++) {
        const uint32_t k = room->now.back[i];
        const struct parts part = parts_of(room, k);
        const double ends_s = room->chunks[k].ends_s;

        now_s = fmax(fmax(now_s, ends_s - (part.count - 1) * part.own_s) +
                         part.count * part.back_s,
                     ends_s + part.back_s);
    }
    return now_s;
}

double cv_rounds_orders(struct cv_rounds_workspace *room,
                        const struct cv_rounds_words *words)
{
    const double *units = room->now.units;
    double now_s = 0;

    for (uint32_t k = 0; k < words->nsend; k++) {
        room->chunks[k].worker = words->send[k];
        room->workers[words->send[k]].ready_s = 0;
    }
    for (uint32_t k = 0; k < words->nback; k++)
        room->chunks[room->back_id[k]].worker = words->back[k];
    order_sends(room, words);
    if (room->rounds->memory != NULL) {
        now_s = send_in_parts(room);
        order_returns(room, words);
        return return_in_parts(room, room->rounds->returns.single ? now_s : 0);
    }
    for (uint32_t i = 0; i < room->nchunks; i++) {
        const uint32_t k = room->now.send[i], w = room->chunks[k].worker;
        const struct cv_trip *c = &room->trips[w];
        double start_s;

        now_s += c->send_fixed_s + units[k] * c->send_s;
        start_s = now_s > room->workers[w].ready_s ? now_s : room->workers[w].ready_s;
        room->chunks[k].ends_s = room->workers[w].ready_s =
            start_s + c->compute_fixed_s + units[k] * c->compute_s;
    }
    order_returns(room, words);
    if (!room->rounds->returns.single)
        now_s = 0;
    for (uint32_t i = 0; i < room->nchunks; i++) {
        const uint32_t k = room->now.back[i];
        const struct cv_trip *c = &room->trips[room->chunks[k].worker];

        if (room->chunks[k].ends_s > now_s)
            now_s = room->chunks[k].ends_s;
        now_s += c->back_fixed_s + units[k] * c->back_s;
    }
    return now_s;
}

void cv_rounds_keep(struct cv_rounds_workspace *room)
{
    const struct cv_rounds_variant now = room->now;

    room->now = room->best;
    room->best = now;
}

uint32_t cv_rounds_slowest(const struct cv_rounds_workspace *room,
                           const uint32_t *workers, uint32_t n,
                           uint32_t out[CV_WAITING_MOST])
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < n; i++) {
        const double own_s = room->trips[workers[i]].send_s;
        uint32_t at = count < CV_WAITING_MOST ? count++ : CV_WAITING_MOST;

        for (; at > 0 && room->trips[workers[out[at - 1]]].send_s < own_s; at--)
            if (at < CV_WAITING_MOST)
                out[at] = out[at - 1];
        if (at < CV_WAITING_MOST)
            out[at] = i;
    }
    return count;
}

enum cleave_status cv_rounds_take(struct cv_rounds_workspace *room, double makespan_s,
                                  struct cv_arena *arena, struct cv_rounds_plan *out,
                                  struct cleave_error *err)
{
    const uint32_t n = room->nchunks;
    uint32_t *number = cv_array(arena, n, sizeof *number);
    struct cv_rounds_plan plan;
    double sum = 0;

    if (number == NULL || !cv_rounds_plan_init(&plan, n, arena))
        return cv_fail_memory(err, "a plan");
    plan.makespan_s = makespan_s;
    for (uint32_t k = 0; k < n; k++)
        sum += room->best.units[k];
    for (uint32_t k = 0; k < n; k++) {
        const uint32_t id = room->best.send[k];

        number[id] = k;
        plan.worker[k] = room->chunks[id].worker;
        plan.units[k] = room->best.units[id] * (room->rounds->load / sum);
    }
    for (uint32_t k = 0; k < n; k++)
        plan.back[k] = number[room->best.back[k]];
    *out = plan;
    return CLEAVE_OK;
}

enum { NONE = UINT32_MAX };

/* Two numbers at a time. */
typedef double pair __attribute__((vector_size(16), aligned(8), may_alias));

/* a first + b waiting + c; `ac` has a and c. */
struct line {
    pair ac;
    double b;
};

static const struct line NOTHING = { { 0, 0 }, 0 };

struct chain {
    struct cv_rounds_workspace *room;
    const struct cv_rounds_words *words;
    uint32_t n, growing, waits; /* waits: place among the pivots; or NONE */
    bool lifo;
    struct line sum, port, end; /* units, time of all messages, T         */
};

/* This is the inner loop of the search. `waits` is a constant after inlining: if no pivot
 * waits, all b are 0 and are not computed. */
#define ALWAYS static inline __attribute__((always_inline))

ALWAYS struct line plus(struct line x, struct line y, double times, bool waits)
{
    return (struct line){ x.ac + y.ac * times, waits ? x.b + y.b * times : 0 };
}

/* speed (from - to - fixed) */
ALWAYS struct line between(struct line from, struct line to, const struct cv_trip *c,
                           double speed, bool waits)
{
    const pair fixed = { 0, c->compute_fixed_s };

    return (struct line){ (from.ac - to.ac - fixed) * speed,
                          waits ? (from.b - to.b) * speed : 0 };
}

ALWAYS double value(const struct line *x, double first, double waiting, bool waits)
{
    return x->ac[0] * first + x->ac[1] + (waits ? x->b * waiting : 0);
}

static struct line *lines(double *array)
{
    return (struct line *)(void *)array;
}

static const struct cv_trip *pivot_cost(const struct chain *chain, uint32_t i)
{
    return &chain->room->trips[chain->words->send[chain->growing + i]];
}

/* Units and port time so far. */
struct sums {
    struct line units, port;
};

ALWAYS void count_in(struct sums *sums, struct line x, const struct cv_trip *c,
                     bool waits)
{
    sums->units = plus(sums->units, x, 1, waits);
    sums->port = plus(sums->port, x, c->send_s + c->back_s, waits);
    sums->port.ac[1] += c->send_fixed_s + c->back_fixed_s;
}

/* `gap` is the difference of the arrivals of two successive pivots, minus that of their returns,
 * without the size of the second: add a message that lies between. */
static void pass(struct line *gap, struct line x, const struct cv_trip *c, bool sends,
                 bool returns, double sense)
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

/* Sizes of all pivots. For pivots u and w that follow each other, maybe with one that waits in
 * between: the sends after u up to w and the computation of w, minus the returns from u to w
 * (fifo) or plus those after w up to u (lifo), take as long as the computation of u. */
static void set_pivots(struct chain *chain)
{
    struct line *x = lines(chain->room->xs) + chain->growing;
    struct line gap = NOTHING;
    uint32_t before = NONE;

    for (uint32_t i = 0; i < chain->n; i++) {
        const struct cv_trip *c = pivot_cost(chain, i);

        if (i == chain->waits) {
            x[i] = (struct line){ { 0, 0 }, 1 };
            pass(&gap, x[i], c, true, true, chain->lifo ? 1 : -1);
        } else if (before == NONE) {
            x[i] = (struct line){ { 1, 0 }, 0 };
        } else {
            /* gap + send + compute (+ return, lifo) of w = compute (+ return, fifo) of u, which
             * is part of the gap. */
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
        const struct cv_trip *c = &room->trips[w];
        struct line x;

        room->chunks[k].pivot = k >= chain->growing;
        if (!room->chunks[k].pivot) {
            xs[k] = x =
                between(now, z[room->workers[w].next + 1], c, room->speed[w], waits);
        } else {
            x = xs[k];
            room->workers[w].place = k;
        }
        count_in(sums, x, c, waits);
        now = plus(now, x, c->send_s, waits);
        now.ac[1] += c->send_fixed_s;
        z[k] = now;
        room->workers[w].next = k;
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
        const struct cv_trip *c = &room->trips[w];
        struct line x;

        if (k < chain->n) {
            room->back_id[k] = room->workers[w].place;
            x = lines(room->xs)[room->workers[w].place];
        } else {
            x = between(now, y[room->workers[w].next], c, room->speed[w], waits);
            count_in(sums, x, c, waits);
            room->chunks[room->nchunks].before = room->workers[w].next;
            room->back_id[k] = room->nchunks++;
        }
        xr[k] = x;
        now = plus(now, x, c->back_s, waits);
        now.ac[1] += c->back_fixed_s;
        y[k + 1] = now;
        room->workers[w].next = k;
    }
}

/* T from the equation of the first pivot that does not wait. */
static void set_end(struct chain *chain)
{
    struct cv_rounds_workspace *room = chain->room;
    const uint32_t i = chain->waits == 0 ? 1 : 0;
    const uint32_t k = chain->growing + i, j = chain->lifo ? chain->n - 1 - i : i;
    const struct cv_trip *c = pivot_cost(chain, i);
    const struct line *z = lines(room->z), *y = lines(room->y);
    struct line end = plus(z[0], z[k + 1], -1, true);

    end = plus(end, lines(room->xs)[k], c->compute_s, true);
    end.ac[1] += c->compute_fixed_s;
    end = plus(end, y[chain->words->nback], 1, true);
    chain->end = plus(end, y[j], -1, true);
}

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

/* Sizes; false if one is negative. */
ALWAYS bool set_units(struct chain *chain, double first, double waiting, bool waits)
{
    struct cv_rounds_workspace *room = chain->room;
    const uint32_t nsend = chain->words->nsend;
    const struct line *xs = lines(room->xs), *xr = lines(room->xr), *y = lines(room->y);

    for (uint32_t k = 0; k < nsend; k++) {
        room->now.units[k] = value(&xs[k], first, waiting, waits);
        if (!(room->now.units[k] >= 0))
            return false;
    }
    for (uint32_t k = chain->n; k < chain->words->nback; k++) {
        const uint32_t id = room->back_id[k];

        room->now.units[id] = value(&xr[k], first, waiting, waits);
        if (!(room->now.units[id] >= 0))
            return false;
        room->chunks[id].need_s =
            value(&y[room->chunks[id].before], first, waiting, waits);
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
    /* The equation of a pivot is a path through the schedule: no size would shorten it. */
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
        count = cv_rounds_slowest(room, words->send + chain.growing, n, waiting);
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
