/* rounds_bound.c -- a lower bound for schedules with results, in any number of rounds.
 * SPDX-License-Identifier: MIT
 *
 * With prices on the port's time, falling for sends and rising for returns, all messages of a
 * schedule that ends by T cost at most the worth of the port's time, and each worker earns at
 * most its best response. If both together are less than the load, no schedule ends by T.
 * Prices come from a good plan, the guide, plus a floor: a plan that leaves the port a little
 * time does not price it. The floor, one for each way on a duplex port, and a factor on the
 * prices of the guide are found by search. For few workers rounds_steps.c finds prices. */
#include "model/rounds/rounds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/compare.h"
#include "base/fail.h"
#include "model/rounds/rounds_internal.h"

/* A message: its time, as parts of the makespan, and the worth of a second of the port, in
 * units. */
struct cv_priced {
    double from, to, price;
};

struct guide {
    double end_s;                  /* makespan of the plan  */
    struct cv_priced *send, *back; /* messages in time order */
    uint32_t nsend, nback;
};

/* --- guides ---------------------------------------------------------------------------- */

/* The closed form of a chain is a list of sums, and its end is a linear function of the first
 * pivot, which the load determines. Reverse-mode differentiation of the list gives the
 * derivative of the end by the length of every message, in O(K) for K letters. If the words
 * are an optimal vertex, these are the multipliers of the linear program: they fall over the
 * sends and rise over the returns. If not, they are still useful prices. */

/* Derivatives of the end. */
struct backwards {
    struct cv_rounds_workspace *room;
    const struct cv_rounds_words *words;
    uint32_t n, growing;
    bool lifo;
    double per_unit;         /* seconds per unit of load                 */
    uint32_t *after;         /* send word: the next letter of the worker */
    double *z, *y, *x;       /* x: of pivots                             */
    double *send_s, *back_s; /* prices of the lengths of messages */
};

static const struct cv_trip *cost_of(const struct backwards *b, uint32_t worker)
{
    return &b->room->trips[worker];
}

/* The place of pivot i in the return word. */
static uint32_t back_place(const struct backwards *b, uint32_t i)
{
    return b->lifo ? b->n - 1 - i : i;
}

static void find_after(struct backwards *b)
{
    for (uint32_t k = b->words->nsend; k-- > 0;) {
        const uint32_t w = b->words->send[k];

        b->after[k] = k < b->growing ? b->room->workers[w].next : k;
        b->room->workers[w].next = k;
    }
}

static void through_returns(struct backwards *b)
{
    const struct cv_rounds_words *words = b->words;

    for (uint32_t k = words->nback; k-- > 0;) {
        const struct cv_trip *c = cost_of(b, words->back[k]);
        double x = b->y[k + 1] * c->back_s;

        b->back_s[k] += b->y[k + 1];
        b->y[k] += b->y[k + 1];
        if (k < b->n) {
            b->x[b->lifo ? b->n - 1 - k : k] += x;
            continue;
        }
        x -= b->per_unit;
        x *= b->room->speed[words->back[k]];
        b->y[k] += x;
        b->y[b->room->chunks[b->room->back_id[k]].before] -= x;
    }
}

static void through_sends(struct backwards *b)
{
    const struct cv_rounds_words *words = b->words;

    for (uint32_t k = 0; k < words->nsend; k++) {
        const struct cv_trip *c = cost_of(b, words->send[k]);
        double x = b->z[k] * c->send_s - b->per_unit;

        b->send_s[k] += b->z[k];
        b->z[k + 1] += b->z[k];
        if (k >= b->growing) {
            b->x[k - b->growing] += x;
            continue;
        }
        x *= b->room->speed[words->send[k]];
        b->z[k + 1] += x;
        b->z[b->after[k] + 1] -= x;
    }
}

static void through_pivots(struct backwards *b)
{
    for (uint32_t i = b->n; i-- > 1;) {
        const struct cv_trip *c = cost_of(b, b->words->send[b->growing + i]);
        const struct cv_trip *before = cost_of(b, b->words->send[b->growing + i - 1]);
        const double own = c->send_s + c->compute_s + (b->lifo ? c->back_s : 0);
        const double gap = -b->x[i] / own;

        b->send_s[b->growing + i] += gap;
        b->x[i - 1] -= gap * (before->compute_s + (b->lifo ? 0 : before->back_s));
        if (b->lifo)
            b->back_s[back_place(b, i)] += gap;
        else
            b->back_s[back_place(b, i - 1)] -= gap;
    }
}

/* Seconds per unit of load, from the coefficients of the first pivot. */
static double per_unit(const struct backwards *b)
{
    const struct cv_rounds_words *words = b->words;
    const double *z = b->room->z, *y = b->room->y, *xs = b->room->xs, *xr = b->room->xr;
    const struct cv_trip *c = cost_of(b, words->send[b->growing]);
    double sum = 0, end;

    for (uint32_t k = 0; k < words->nsend; k++)
        sum += xs[(size_t)3 * k];
    for (uint32_t k = b->n; k < words->nback; k++)
        sum += xr[(size_t)3 * k];
    end = z[0] - z[(size_t)3 * (b->growing + 1)] +
          xs[(size_t)3 * b->growing] * c->compute_s + y[(size_t)3 * words->nback] -
          y[(size_t)3 * back_place(b, 0)];
    return end / sum;
}

/* Prices of sends do not rise, prices of returns do not fall. */
static void make_monotone(struct guide *guide)
{
    for (uint32_t k = guide->nsend; k-- > 1;)
        guide->send[k - 1].price = fmax(guide->send[k - 1].price, guide->send[k].price);
    for (uint32_t k = 1; k < guide->nback; k++)
        guide->back[k].price = fmax(guide->back[k].price, guide->back[k - 1].price);
}

/* Messages of a word as parts of the end, with prices that are at least 0. */
static void set_times(const struct backwards *b, struct guide *out)
{
    const struct cv_rounds_words *words = b->words;
    double at_s = 0;

    for (uint32_t k = 0; k < words->nsend; k++) {
        const struct cv_trip *c = cost_of(b, words->send[k]);
        const double begin_s = at_s;

        at_s += c->send_fixed_s + b->room->best.units[k] * c->send_s;
        out->send[k] = (struct cv_priced){ begin_s / out->end_s, at_s / out->end_s,
                                           fmax(0, b->send_s[k] / b->per_unit) };
    }
    at_s = out->end_s;
    for (uint32_t k = words->nback; k-- > 0;) {
        const struct cv_trip *c = cost_of(b, words->back[k]);
        const double until_s = at_s;

        at_s -= c->back_fixed_s + b->room->best.units[b->room->back_id[k]] * c->back_s;
        out->back[k] = (struct cv_priced){ at_s / out->end_s, until_s / out->end_s,
                                           fmax(0, b->back_s[k] / b->per_unit) };
    }
    make_monotone(out);
}

static bool set_up(struct backwards *b, struct guide *out, struct cv_arena *arena)
{
    const size_t nsend = b->words->nsend, nback = b->words->nback;

    out->nsend = (uint32_t)nsend;
    out->nback = (uint32_t)nback;
    return CV_NEW(arena, b->after, nsend) && CV_NEW(arena, b->z, nsend + 1) &&
           CV_NEW(arena, b->y, nback + 1) && CV_NEW(arena, b->x, b->n) &&
           CV_NEW(arena, b->send_s, nsend) && CV_NEW(arena, b->back_s, nback) &&
           CV_NEW(arena, out->send, nsend) && CV_NEW(arena, out->back, nback);
}

/* The price of a message of a chain is the derivative of the end by its length over that by the
 * load. */
static enum cleave_status guide_of_chain(struct cv_rounds_workspace *room,
                                         const struct cv_rounds_candidate *chain,
                                         struct cv_arena *arena, struct guide *out,
                                         struct cleave_error *err)
{
    struct backwards b = { .room = room,
                           .words = &chain->words,
                           .n = chain->chain,
                           .growing = chain->words.nsend - chain->chain,
                           .lifo = chain->lifo };

    if (!set_up(&b, out, arena))
        return cv_fail_memory(err, "prices");
    (void)cv_rounds_chain_tight(room, b.words, b.n, b.lifo);
    find_after(&b);
    out->end_s = room->closed_s;
    b.per_unit = per_unit(&b);
    b.z[0] = 1;
    b.z[b.growing + 1] -= 1;
    b.y[b.words->nback] = 1;
    b.y[back_place(&b, 0)] -= 1;
    b.x[0] = cost_of(&b, b.words->send[b.growing])->compute_s;
    through_returns(&b);
    through_sends(&b);
    through_pivots(&b);
    set_times(&b, out);
    return CLEAVE_OK;
}

static void set_lp_times(const struct cv_rounds *rounds,
                         const struct cv_rounds_plan *plan, const double *send,
                         const double *back, struct guide *out)
{
    const double end_s = out->end_s = plan->makespan_s;
    double at_s = 0;

    out->nsend = out->nback = plan->nchunks;
    for (uint32_t k = 0; k < plan->nchunks; k++) {
        const struct cv_trip *t = &rounds->returns.trips[plan->worker[k]];
        const double begin_s = at_s;

        at_s += t->send_fixed_s + plan->units[k] * t->send_s;
        out->send[k] =
            (struct cv_priced){ begin_s / end_s, at_s / end_s, fmax(0, send[k]) };
    }
    at_s = end_s;
    for (uint32_t i = plan->nchunks; i-- > 0;) {
        const uint32_t k = plan->back[i];
        const struct cv_trip *t = &rounds->returns.trips[plan->worker[k]];
        const double until_s = at_s;

        at_s -= t->back_fixed_s + plan->units[k] * t->back_s;
        out->back[i] =
            (struct cv_priced){ at_s / end_s, until_s / end_s, fmax(0, back[k]) };
    }
    make_monotone(out);
}

/* Prices from the multipliers of the linear program of a plan's orders, if it is small:
 * *out_known. The port counts as duplex: the worth of a full single port is a floor. */
static enum cleave_status guide_of_lp(const struct cv_rounds *rounds,
                                      struct cv_rounds_plan *plan, struct cv_arena *arena,
                                      struct guide *out, bool *out_known,
                                      struct cleave_error *err)
{
    const uint32_t n = plan->nchunks;
    struct cv_rounds duplex = *rounds;
    double *send, *back;

    if (!CV_NEW(arena, send, n) || !CV_NEW(arena, back, n) ||
        !CV_NEW(arena, out->send, n) || !CV_NEW(arena, out->back, n))
        return cv_fail_memory(err, "prices");
    duplex.returns.single = false;
    CV_TRY(cv_rounds_lp_prices(&duplex, plan, send, back, out_known, arena, err));
    if (*out_known)
        set_lp_times(rounds, plan, send, back, out);
    return CLEAVE_OK;
}

enum { COARSE = 32, FINE = 160 }; /* cells */
enum { FEW = 6 }; /* workers up to which prices are found by steps, without a guide */
enum { LETTERS_EACH = 26, LETTERS_MORE = 64, GUIDE_CHANGES = 1500 };
static const double SPACING = 0.5;   /* least distance of edges, in equal cells */
static const double SAFE = 1 - 1e-9; /* allowance for rounding */

/* Floors of sends and returns, and the factor on the prices of the guide. */
struct mix {
    double send, back, guide;
};

struct bounding {
    const struct cv_rounds *rounds;
    struct cv_arena *arena;
    struct cv_kinds kinds;
    struct guide guide;
    /* shape: of the guide, on 0 to 1; prices: of a mix */
    struct cv_price_steps shape, prices;
    struct cv_port_use use;
    double send_scale, back_scale; /* scales of floors */
    double send_until, back_from;  /* last send and first return of the guide */
    double end_s;                  /* makespan of the guide                   */
};

/* Edges at the ends of messages of the guide and of equal cells, not too near to each other. */
static bool set_cells(struct bounding *b, uint32_t cells)
{
    const struct guide *guide = &b->guide;
    const size_t max = (size_t)guide->nsend + guide->nback + cells + 4;
    double *times = cv_array(b->arena, max, sizeof *times);
    struct cv_price_steps *shape = &b->shape;
    const uint32_t equal = cells / 2;
    size_t count = 0;

    if (times == NULL || !cv_price_steps_init(shape, (uint32_t)max, b->arena) ||
        !cv_price_steps_init(&b->prices, (uint32_t)max, b->arena) ||
        !cv_port_use_init(&b->use, (uint32_t)max, b->arena))
        return false;
    for (uint32_t k = 0; k < guide->nsend; k++)
        times[count++] = guide->send[k].to;
    for (uint32_t k = 0; k < guide->nback; k++)
        times[count++] = guide->back[k].from;
    for (uint32_t k = 1; k <= equal; k++)
        times[count++] = (double)k / equal;
    qsort(times, count, sizeof *times, cv_compare_doubles);
    shape->cells = 0;
    shape->edge[0] = 0;
    for (size_t k = 0; k < count; k++)
        if (times[k] - shape->edge[shape->cells] > SPACING / cells && times[k] < 1)
            shape->edge[++shape->cells] = times[k];
    if (1 - shape->edge[shape->cells] > SPACING / cells || shape->cells == 0)
        shape->cells++;
    shape->edge[shape->cells] = 1;
    return true;
}

/* The guide's prices in the middle of each cell. */
static void set_shape(struct bounding *b)
{
    const struct guide *guide = &b->guide;
    struct cv_price_steps *shape = &b->shape;
    uint32_t s = 0, r = 0;

    for (uint32_t i = 0; i < shape->cells; i++) {
        const double middle = 0.5 * (shape->edge[i] + shape->edge[i + 1]);

        while (s < guide->nsend && guide->send[s].to < middle)
            s++;
        while (r + 1 < guide->nback && guide->back[r].to < middle)
            r++;
        shape->send[i] = s < guide->nsend ? guide->send[s].price : 0;
        shape->back[i] = guide->back[r].from <= middle ? guide->back[r].price : 0;
    }
}

static double value_at(struct bounding *b, const struct mix *mix, double time_s)
{
    const struct cv_price_steps *shape = &b->shape;
    struct cv_price_steps *prices = &b->prices;

    prices->cells = shape->cells;
    prices->edge[0] = 0;
    for (uint32_t i = 0; i < shape->cells; i++) {
        const double middle = 0.5 * (shape->edge[i] + shape->edge[i + 1]);

        prices->edge[i + 1] = shape->edge[i + 1] * time_s;
        prices->send[i] =
            mix->guide * shape->send[i] + (middle < b->send_until ? mix->send : 0);
        prices->back[i] =
            mix->guide * shape->back[i] + (middle > b->back_from ? mix->back : 0);
    }
    cv_price_steps_sum(prices);
    return cv_rounds_lagrangian(b->rounds, &b->kinds, prices, &b->use);
}

/* Times that the prices prove too short (low), and that they do not (high). */
struct bracket {
    double low, low_value, high, high_value;
};

static void narrow(struct bounding *b, const struct mix *mix, double time_s,
                   struct bracket *bracket)
{
    const double value = value_at(b, mix, time_s);

    if (value < 0) {
        bracket->low = time_s;
        bracket->low_value = value;
    } else {
        bracket->high = time_s;
        bracket->high_value = value;
    }
}

/* Secant steps that stay inside the bracket. */
static void find_root(struct bounding *b, const struct mix *mix, unsigned steps,
                      double close, struct bracket *bracket)
{
    for (unsigned i = 0; i < steps; i++) {
        const double width = bracket->high - bracket->low;
        double time_s = bracket->high - width * bracket->high_value /
                                            (bracket->high_value - bracket->low_value);

        if (width <= close * bracket->high ||
            (bracket->low > 0 && time_s - bracket->low <= close * bracket->high))
            return;
        time_s -= 0.1 * close * bracket->high;
        narrow(b, mix,
               fmin(fmax(time_s, bracket->low + 0.05 * width),
                    bracket->high - 0.02 * width),
               bracket);
    }
}

/* The root with fine cells from the root with coarse cells: values are lower, the slope is
 * about the same. */
static double refine(struct bounding *b, const struct mix *mix, unsigned steps,
                     double slope, double low)
{
    double time_s = low;

    for (unsigned i = 0; i < steps; i++) {
        const double value = value_at(b, mix, time_s);
        const double step_s = value / slope;

        if (value < 0)
            low = fmax(low, time_s);
        if (value < 0 && -step_s <= 2e-4 * low)
            break;
        time_s -= value < 0 ? 0.98 * step_s : 1.05 * step_s;
        if (value >= 0 && time_s <= low)
            break;
    }
    return low;
}

struct look {
    struct mix mix;
    double value;
};

static void look_at(struct bounding *b, struct mix mix, double time_s, struct look *best)
{
    const double value = value_at(b, &mix, time_s);

    if (value < best->value)
        *best = (struct look){ mix, value };
}

static void look_around(struct bounding *b, double time_s, struct look *best)
{
    static const double ways[6][3] = { { 1, 0, 0 },  { -1, 0, 0 }, { 0, 0, 1 },
                                       { 0, 0, -1 }, { 0, 1, 0 },  { 0, -1, 0 } };
    const bool single = b->rounds->returns.single;
    double step = 0.3;

    for (unsigned turn = 0; step > 0.05 && turn < 8; turn++) {
        const double before = best->value;

        for (unsigned i = 0; i < (single ? 4 : 6); i++) {
            struct mix mix = best->mix;

            mix.send += ways[i][0] * step * fmax(mix.send, 0.1 * b->send_scale);
            mix.back += ways[i][1] * step * fmax(mix.back, 0.1 * b->back_scale);
            mix.guide *= 1 + ways[i][2] * step;
            mix.send = fmax(0, mix.send);
            mix.back = single ? mix.send : fmax(0, mix.back);
            look_at(b, mix, time_s, best);
        }
        if (!(best->value < before))
            step /= 2;
    }
}

static void look_first(struct bounding *b, double time_s, struct look *best)
{
    static const double single[][2] = {
        { 0.08, 0.08 }, { 0.2, 0.2 }, { 0.35, 0.35 }, { 0.5, 0.5 }, { 0.65, 0.65 }
    };
    static const double duplex[][2] = { { 0.1, 0 }, { 0.4, 0 },   { 0, 0.1 },
                                        { 0, 0.4 }, { 0.2, 0.2 }, { 0.4, 0.4 } };
    const bool one = b->rounds->returns.single;

    best->mix = (struct mix){ 0, 0, 1 };
    best->value = value_at(b, &best->mix, time_s);
    for (unsigned i = 0; i < (one ? 5 : 6); i++) {
        const double *parts = one ? single[i] : duplex[i];

        look_at(b,
                (struct mix){ parts[0] * b->send_scale, parts[1] * b->back_scale,
                              one ? fmax(0.3, 1 - parts[0]) : 1 },
                time_s, best);
    }
}

/* The median of the units that a second of the port can carry. */
static double middle_of(const struct cv_rounds *rounds, bool send, bool back,
                        double *room)
{
    const uint32_t n = rounds->returns.n;

    for (uint32_t i = 0; i < n; i++) {
        const struct cv_trip *t = &rounds->returns.trips[i];

        room[i] = 1 / ((send ? t->send_s : 0) + (back ? t->back_s : 0));
    }
    qsort(room, n, sizeof *room, cv_compare_doubles);
    return room[n / 2];
}

/* Guides from the closed form of a good chain and, if it is small, from its program. */
static enum cleave_status make_guides(struct bounding *b, struct guide guides[2],
                                      uint32_t *out_n, struct cleave_error *err)
{
    const uint32_t n = b->rounds->returns.n;
    struct cv_rounds_workspace room;
    struct cv_rounds_search search;
    struct cv_rounds_plan plan;
    bool known = false;

    if (!cv_rounds_room_init(&room, b->rounds, LETTERS_EACH * n + LETTERS_MORE, false,
                             b->arena) ||
        !cv_rounds_search_init(&search, &room, 1, b->arena) ||
        !cv_rounds_start_by(&search, CV_BY_PASSAGE, false, b->arena))
        return cv_fail_memory(err, "the bound");
    cv_rounds_leave_out(&search);
    cv_rounds_change(&search, GUIDE_CHANGES, 0);
    if (isinf(search.best.end_s))
        return cv_fail(err, CLEAVE_EINPUT, "no plan guides the bound");
    b->end_s = search.best.end_s;
    CV_TRY(guide_of_chain(&room, &search.best, b->arena, &guides[0], err));
    *out_n = 1;
    if (b->rounds->returns.single)
        return CLEAVE_OK;
    (void)cv_rounds_chain(&room, &search.best.words, search.best.chain, search.best.lifo);
    CV_TRY(cv_rounds_take(&room, search.best.end_s, b->arena, &plan, err));
    b->end_s = fmin(b->end_s, plan.makespan_s);
    CV_TRY(guide_of_lp(b->rounds, &plan, b->arena, &guides[1], &known, err));
    *out_n = known ? 2 : 1;
    return CLEAVE_OK;
}

static bool bound_set_up(struct bounding *b)
{
    const struct cv_rounds *rounds = b->rounds;
    const bool single = rounds->returns.single;
    double *room = cv_array(b->arena, rounds->returns.n, sizeof *room);

    if (room == NULL)
        return false;
    b->send_scale = middle_of(rounds, true, single, room);
    b->back_scale = middle_of(rounds, single, true, room);
    if (isinf(b->back_scale))
        b->back_scale = 0;
    return true;
}

/* A value takes kinds * cells^2 steps: few kinds of workers can have more cells. */
static uint32_t cells_for(const struct bounding *b, uint32_t cells)
{
    const double more = sqrt(10.0 / b->kinds.n);

    return (uint32_t)(cells * fmin(fmax(more, 0.7), 2.5));
}

/* Use the prices of a guide, on `cells` cells. */
static bool take_guide(struct bounding *b, const struct guide *guide, uint32_t cells)
{
    const bool single = b->rounds->returns.single;

    b->guide = *guide;
    b->send_until = single ? 2 : guide->send[guide->nsend - 1].to;
    b->back_from = single ? -1 : guide->back[0].from;
    if (!set_cells(b, cells))
        return false;
    set_shape(b);
    return true;
}

/* Improve a mix for a guide, and bracket its root. */
static void search_mix(struct bounding *b, struct look *best, struct bracket *bracket)
{
    for (int turn = 0; turn < 2; turn++) {
        if (turn > 0) {
            best->value = value_at(b, &best->mix, 1.004 * bracket->low);
            look_around(b, 1.004 * bracket->low, best);
        }
        *bracket = (struct bracket){ 0, -b->rounds->load, b->end_s, INFINITY };
        bracket->high_value = value_at(b, &best->mix, bracket->high);
        if (bracket->high_value < 0)
            bracket->low = bracket->high;
        else
            find_root(b, &best->mix, 4, 1e-3, bracket);
    }
}

/* Guides, and scales of prices. 1; 0: there is no bound; negative: memory is short. */
static int prepare(struct bounding *b, struct guide guides[2], uint32_t *out_n)
{
    struct cleave_error err;
    const enum cleave_status status = make_guides(b, guides, out_n, &err);

    if (status != CLEAVE_OK)
        return status == CLEAVE_ENOMEM ? -1 : 0;
    return bound_set_up(b) ? 1 : -1;
}

/* A good mix for a guide, with coarse cells, at `part` of the makespan. False when memory is
 * short. */
static bool look_by(struct bounding *b, const struct guide *guide, double part,
                    struct look *out)
{
    if (!take_guide(b, guide, cells_for(b, COARSE)))
        return false;
    look_first(b, part * b->end_s, out);
    return true;
}

/* Use the guide that is better at `part` of the makespan. */
static bool choose(struct bounding *b, const struct guide *guides, uint32_t n,
                   double part, struct look *out, uint32_t *out_which)
{
    uint32_t which = 0;

    *out = (struct look){ .value = INFINITY };
    for (uint32_t i = 0; i < n; i++) {
        struct look look;

        if (!look_by(b, &guides[i], part, &look))
            return false;
        if (look.value < out->value) {
            *out = look;
            which = i;
        }
    }
    *out_which = which;
    return which + 1 == n || take_guide(b, &guides[which], cells_for(b, COARSE));
}

/* The bound of a guide, from a good mix. Negative: memory is short. */
static double bound_by(struct bounding *b, const struct guide *guide, struct look *mix)
{
    struct bracket found = { 0 };

    search_mix(b, mix, &found);
    if (!(found.low > 0) || found.low >= b->end_s)
        return found.low * SAFE;
    if (!take_guide(b, guide, cells_for(b, FINE)))
        return -1;
    return SAFE * refine(b, &mix->mix, 4,
                         (found.high_value - found.low_value) / (found.high - found.low),
                         found.low);
}

/* The worth of the port's time and of the workers by the lifespan, for any load, from a good
 * mix. Negative: memory is short. */
static double work_by(struct bounding *b, const struct guide *guide, double lifespan_s,
                      struct look *mix)
{
    mix->value = value_at(b, &mix->mix, lifespan_s);
    look_around(b, lifespan_s, mix);
    if (!take_guide(b, guide, cells_for(b, FINE)))
        return -1;
    return (b->rounds->load + value_at(b, &mix->mix, lifespan_s)) / SAFE;
}

/* The least makespan or, with a lifespan, the most units. Negative: memory is short. */
static double best_bound(struct bounding *b, double lifespan_s)
{
    const bool lives = lifespan_s > 0;
    const double part = lives ? 1 : 0.98;
    struct guide guides[2];
    struct look mix;
    uint32_t n = 0, which = 0;
    const double best = lives ? INFINITY : 0;
    int begun;

    if (!cv_kinds_init(&b->kinds, &b->rounds->returns, NULL, b->arena))
        return -1;
    if (b->rounds->returns.n <= FEW)
        return cv_rounds_bound_few(b->rounds, &b->kinds, lifespan_s, b->arena);
    begun = b->kinds.n > CV_ROUNDS_BOUND_MOST ? 0 : prepare(b, guides, &n);
    if (begun <= 0)
        return begun < 0 ? -1 : best;
    if (!choose(b, guides, n, part, &mix, &which))
        return -1;
    return lives ? work_by(b, &guides[which], lifespan_s, &mix)
                 : bound_by(b, &guides[which], &mix);
}

double cv_rounds_bound(const struct cv_rounds *rounds, struct cv_arena *scratch)
{
    return best_bound(&(struct bounding){ .rounds = rounds, .arena = scratch }, 0);
}

double cv_rounds_bound_work(const struct cv_returns *returns, double lifespan_s,
                            struct cv_arena *scratch)
{
    struct cv_rounds rounds = { *returns, 0, NULL };
    struct cv_rounds_plan plan;
    struct cleave_error err;

    if (cv_rounds_for_lifespan(returns, NULL, lifespan_s, CV_ROUNDS_FAST, 1, scratch,
                               &plan, &rounds.load, &err) != CLEAVE_OK)
        return -1;
    if (!(rounds.load > 0))
        return INFINITY;
    return best_bound(&(struct bounding){ .rounds = &rounds, .arena = scratch },
                      lifespan_s);
}
