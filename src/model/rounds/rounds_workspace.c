/* rounds_workspace.c -- room for words, and the schedule that follows from sizes.
 * SPDX-License-Identifier: MIT */
#include "model/rounds/rounds_workspace.h"

#include <math.h>
#include <string.h>
#include "model/rounds/rounds.h"

static bool set_costs(struct cv_rounds_workspace *room, struct cv_arena *arena)
{
    const struct cv_returns *returns = &room->rounds->returns;

    room->costs = cv_array(arena, returns->n, sizeof *room->costs);
    for (uint32_t i = 0; room->costs != NULL && i < returns->n; i++) {
        const struct cv_trip *t = &returns->trips[i];

        room->costs[i] = (struct cv_rounds_cost){
            t->send_s, t->send_fixed_s, t->compute_s,     t->compute_fixed_s,
            t->back_s, t->back_fixed_s, 1 / t->compute_s,
        };
    }
    return room->costs != NULL;
}

static bool by_chunk(struct cv_rounds_workspace *room, struct cv_arena *arena)
{
    const size_t chunks = 2 * (size_t)room->max;

    return CV_NEW(arena, room->worker, chunks) &&
           CV_NEW(arena, room->send_order, chunks) &&
           CV_NEW(arena, room->back_order, chunks) &&
           CV_NEW(arena, room->units, chunks) &&
           CV_NEW(arena, room->best_units, chunks) &&
           CV_NEW(arena, room->best_send, chunks) &&
           CV_NEW(arena, room->best_back, chunks) &&
           CV_NEW(arena, room->need_s, chunks) && CV_NEW(arena, room->ends_s, chunks) &&
           CV_NEW(arena, room->pivot, room->max) &&
           CV_NEW(arena, room->back_id, room->max) &&
           CV_NEW(arena, room->before, room->max);
}

static bool by_worker(struct cv_rounds_workspace *room, struct cv_arena *arena)
{
    const uint32_t n = room->rounds->returns.n;

    return CV_NEW(arena, room->index, n) && CV_NEW(arena, room->place, n) &&
           CV_NEW(arena, room->back_place, n) && CV_NEW(arena, room->next, n) &&
           CV_NEW(arena, room->ready_s, n);
}

/* Rows of as many numbers as there can be unknowns, a constant, and one more that makes them
 * even. Chains use three. */
static bool by_unknown(struct cv_rounds_workspace *room, struct cv_arena *arena)
{
    const uint32_t m = room->most_workers + 3;
    const size_t max = (size_t)room->max + 1;

    room->z = cv_array(arena, max, m * sizeof *room->z);
    room->y = cv_array(arena, max, m * sizeof *room->y);
    room->xs = cv_array(arena, max, m * sizeof *room->xs);
    room->xr = cv_array(arena, max, m * sizeof *room->xr);
    room->sum = cv_array(arena, m, sizeof *room->sum);
    room->port = cv_array(arena, m, sizeof *room->port);
    room->solved = cv_array(arena, m, sizeof *room->solved);
    room->matrix = cv_array(arena, m, (m + 1) * sizeof *room->matrix);
    room->lu = cv_array(arena, m, (m + 1) * sizeof *room->lu);
    return room->z != NULL && room->y != NULL && room->xs != NULL && room->xr != NULL &&
           room->sum != NULL && room->port != NULL && room->solved != NULL &&
           room->matrix != NULL && room->lu != NULL && CV_NEW(arena, room->unknown, m);
}

bool cv_rounds_room_init(struct cv_rounds_workspace *room, const struct cv_rounds *rounds,
                         uint32_t max, bool dense, struct cv_arena *arena)
{
    const uint32_t n = rounds->returns.n;

    *room = (struct cv_rounds_workspace){
        .rounds = rounds,
        .max = max,
        .limit_s = INFINITY,
        .most_workers = !dense              ? 0
                        : n < CV_DENSE_MOST ? n
                                            : CV_DENSE_MOST,
    };
    return set_costs(room, arena) && by_chunk(room, arena) && by_worker(room, arena) &&
           by_unknown(room, arena);
}

bool cv_words_init(struct cv_rounds_words *words, uint32_t max, struct cv_arena *arena)
{
    words->nsend = words->nback = 0;
    return CV_NEW(arena, words->send, max) && CV_NEW(arena, words->back, max);
}

void cv_words_copy(struct cv_rounds_words *to, const struct cv_rounds_words *from)
{
    to->nsend = from->nsend;
    to->nback = from->nback;
    memcpy(to->send, from->send, from->nsend * sizeof *to->send);
    memcpy(to->back, from->back, from->nback * sizeof *to->back);
}

double cv_rounds_replay(const struct cv_returns *returns, const uint32_t *worker,
                        const double *units, const uint32_t *send_order,
                        const uint32_t *back_order, uint32_t nchunks, double *ends_s,
                        double *ready_s)
{
    double now_s = 0;

    for (uint32_t i = 0; i < returns->n; i++)
        ready_s[i] = 0;
    for (uint32_t i = 0; i < nchunks; i++) {
        const uint32_t k = send_order[i], w = worker[k];
        const struct cv_trip *t = &returns->trips[w];

        now_s += t->send_fixed_s + units[k] * t->send_s;
        ends_s[k] = ready_s[w] =
            fmax(now_s, ready_s[w]) + t->compute_fixed_s + units[k] * t->compute_s;
    }
    if (!returns->single)
        now_s = 0;
    for (uint32_t i = 0; i < nchunks; i++) {
        const uint32_t k = back_order[i];
        const struct cv_trip *t = &returns->trips[worker[k]];

        now_s = fmax(now_s, ends_s[k]) + t->back_fixed_s + units[k] * t->back_s;
    }
    return now_s;
}

/* Shrinking chunks are sent in the order in which they are needed. */
static void order_sends(struct cv_rounds_workspace *room,
                        const struct cv_rounds_words *words)
{
    uint32_t *order = room->send_order;
    const uint32_t first = words->nsend;

    for (uint32_t k = 0; k < first; k++)
        order[k] = k;
    for (uint32_t k = first; k < room->nchunks; k++) {
        uint32_t at = k;

        for (; at > first && room->need_s[order[at - 1]] > room->need_s[k]; at--)
            order[at] = order[at - 1];
        order[at] = k;
    }
}

/* Growing chunks return as they get ready, then comes the return word. */
static void order_returns(struct cv_rounds_workspace *room,
                          const struct cv_rounds_words *words)
{
    uint32_t *order = room->back_order, count = 0;

    for (uint32_t k = 0; k < words->nsend; k++) {
        uint32_t at = count;

        if (room->pivot[k])
            continue;
        for (; at > 0 && room->ends_s[order[at - 1]] > room->ends_s[k]; at--)
            order[at] = order[at - 1];
        order[at] = k;
        count++;
    }
    for (uint32_t k = 0; k < words->nback; k++)
        order[count++] = room->back_id[k];
}

/* Sends and computations of chunks of which some are sent in parts. */
static double send_in_parts(struct cv_rounds_workspace *room)
{
    double now_s = 0;

    for (uint32_t i = 0; i < room->nchunks; i++) {
        const uint32_t k = room->send_order[i], w = room->worker[k];
        const struct cv_rounds_cost *c = &room->costs[w];
        const double parts = cv_parts_of(room->units[k], room->rounds->memory[w]);
        const double send_s = c->send_fixed_s + room->units[k] / parts * c->send_s;
        const double own_s = c->compute_fixed_s + room->units[k] / parts * c->compute_s;
        /* Either the first part or the last one, that has to come, is waited for. */
        const double start_s = fmax(now_s + send_s, room->ready_s[w]);

        now_s += parts * send_s;
        room->ends_s[k] = room->ready_s[w] = fmax(start_s + parts * own_s, now_s + own_s);
    }
    return now_s;
}

/* Returns likewise: parts are ready one after the other. */
static double return_in_parts(struct cv_rounds_workspace *room, double now_s)
{
    for (uint32_t i = 0; i < room->nchunks; i++) {
        const uint32_t k = room->back_order[i], w = room->worker[k];
        const struct cv_rounds_cost *c = &room->costs[w];
        const double parts = cv_parts_of(room->units[k], room->rounds->memory[w]);
        const double back_s = c->back_fixed_s + room->units[k] / parts * c->back_s;
        const double own_s = c->compute_fixed_s + room->units[k] / parts * c->compute_s;

        now_s = fmax(fmax(now_s, room->ends_s[k] - (parts - 1) * own_s) + parts * back_s,
                     room->ends_s[k] + back_s);
    }
    return now_s;
}

/* Inline versions of the costs: this is the inner loop of every search. */
double cv_rounds_orders(struct cv_rounds_workspace *room,
                        const struct cv_rounds_words *words)
{
    const struct cv_rounds_cost *costs = room->costs;
    const double *units = room->units;
    double now_s = 0;

    for (uint32_t k = 0; k < words->nsend; k++) {
        room->worker[k] = words->send[k];
        room->ready_s[words->send[k]] = 0;
    }
    for (uint32_t k = 0; k < words->nback; k++)
        room->worker[room->back_id[k]] = words->back[k];
    order_sends(room, words);
    if (room->rounds->memory != NULL) {
        now_s = send_in_parts(room);
        order_returns(room, words);
        return return_in_parts(room, room->rounds->returns.single ? now_s : 0);
    }
    for (uint32_t i = 0; i < room->nchunks; i++) {
        const uint32_t k = room->send_order[i], w = room->worker[k];
        const struct cv_rounds_cost *c = &costs[w];
        double start_s;

        now_s += c->send_fixed_s + units[k] * c->send_s;
        start_s = now_s > room->ready_s[w] ? now_s : room->ready_s[w];
        room->ends_s[k] = room->ready_s[w] =
            start_s + c->compute_fixed_s + units[k] * c->compute_s;
    }
    order_returns(room, words);
    if (!room->rounds->returns.single)
        now_s = 0;
    for (uint32_t i = 0; i < room->nchunks; i++) {
        const uint32_t k = room->back_order[i];
        const struct cv_rounds_cost *c = &costs[room->worker[k]];

        if (room->ends_s[k] > now_s)
            now_s = room->ends_s[k];
        now_s += c->back_fixed_s + units[k] * c->back_s;
    }
    return now_s;
}

void cv_rounds_keep(struct cv_rounds_workspace *room)
{
    double *units = room->best_units;
    uint32_t *send = room->best_send, *back = room->best_back;

    room->best_units = room->units;
    room->units = units;
    room->best_send = room->send_order;
    room->send_order = send;
    room->best_back = room->back_order;
    room->back_order = back;
}

enum cleave_status cv_rounds_take(struct cv_rounds_workspace *room, double makespan_s,
                                  struct cv_arena *arena, struct cv_rounds_plan *out,
                                  struct cleave_error *err)
{
    const uint32_t n = room->nchunks;
    struct cv_rounds_plan plan = { .nchunks = n, .makespan_s = makespan_s };
    uint32_t *number = cv_array(arena, n, sizeof *number);
    double sum = 0;

    if (number == NULL || !CV_NEW(arena, plan.worker, n) ||
        !CV_NEW(arena, plan.units, n) || !CV_NEW(arena, plan.back, n))
        return cv_fail_memory(err, "a plan");
    for (uint32_t k = 0; k < n; k++)
        sum += room->best_units[k];
    for (uint32_t k = 0; k < n; k++) {
        const uint32_t id = room->best_send[k];

        number[id] = k;
        plan.worker[k] = room->worker[id];
        plan.units[k] = room->best_units[id] * (room->rounds->load / sum);
    }
    for (uint32_t k = 0; k < n; k++)
        plan.back[k] = number[room->best_back[k]];
    *out = plan;
    return CLEAVE_OK;
}

/* --- the closed form of words whose pivots stand together -------------------------- */

/* All pivots end the send word, in some order, and begin the return word in the same order
 * or in the reverse one. Then the rows of neighbours differ by messages of these two only:
 * the size of a pivot tells that of the next one. So every time and size is linear in the
 * first pivot, and in one that waits where the port is full: O(K) for K letters, however
 * many workers there are. */

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
