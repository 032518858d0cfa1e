/* returns_fifo.c -- first sent, first or last returned. SPDX-License-Identifier: MIT
 *
 * Without fixed costs LIFO is as if each worker had a link of send_s + back_s a unit and
 * sent nothing back: fastest such links first is best, and everybody helps.
 *
 * FIFO with one ratio: links by nondecreasing send_s (ratio <= 1; else the instance is
 * read backwards), and the next one helps iff the work W of those before it is less than
 * L / back_s; the first that does not help ends it. On a single port the one that would
 * overfill it gets what is left of it.
 *
 * Unequal ratios are in returns_fifo.c, fixed costs in returns_fifo.c. */
#include <math.h>
#include <string.h>
#include "model/returns/returns.h"
#include "model/returns/returns_chain.h"
#include "model/returns/returns_internal.h"

/* --- FIFO when return costs are no fixed part of send costs ------------------------ */

/* Let `rate` be the work per second that can be reached; returns_chain.c tells who of an
 * order is worth it at a rate. Exchanging neighbours i, j there shows that i goes first
 * iff
 * 
 *     (1 - rate r_i) (s_j - r_j) >= (1 - rate r_j) (s_i - r_i),
 * 
 * so by nondecreasing (s - r)/(1 - rate r) among those with 1 - rate r > 0. Let the best
 * of these reach `rate` and no more. Of the others, with 1 - rate r <= 0, those with
 * s >= r are never worth it. Neither are those with rate s >= 1: the last of them in an
 * order has a value of at most `rate` behind it, which it raises by less than it costs,
 * 
 *     rate (r - s) <= rate r - 1;
 * 
 * so it may go, and then the last but one. If that is all, the order and set found are
 * best; else the same is tried backwards in time, where s and r change places.
 * 
 * On a single port that this overfills, what counts is work per second of the port: those
 * with the least s + r, as many as fit, and the next one for the rest. */

/* A port may be overfull by this part: rounding. */
static const double port_noise = 1e-12;

struct unequal {
    const struct cv_returns *returns; /* this way, or read backwards        */
    double *keys, *shares;
    uint32_t *order;
    bool *keep;
    uint32_t n;   /* workers in the order                                  */
    double rate;  /* reached                                               */
    bool settled; /* the rule told everybody's place                       */
};

static bool grow_array(struct unequal *u, const struct cv_returns *returns,
                       struct cv_arena *arena)
{
    u->returns = returns;
    return CV_NEW(arena, u->keys, returns->n) && CV_NEW(arena, u->shares, returns->n) &&
           CV_NEW(arena, u->order, returns->n) && CV_NEW(arena, u->keep, returns->n);
}

/* Sort for a rate; whom the rule does not place goes to the end and is not counted. */
static bool sort_for_rate(struct unequal *u, double rate, struct cv_arena *arena)
{
    u->n = 0;
    u->settled = true;
    for (uint32_t i = 0; i < u->returns->n; i++) {
        const struct cv_trip *t = &u->returns->trips[i];
        const double gain = 1 - rate * t->back_s;

        u->keys[i] = gain > 0 ? (t->send_s - t->back_s) / gain : INFINITY;
        u->n += gain > 0;
        if (!(gain > 0) && t->send_s < t->back_s && rate * t->send_s < 1)
            u->settled = false;
    }
    return cv_returns_sort(u->keys, u->returns->n, arena, u->order);
}

/* Raise the rate to what the best order and set for it reach. Each turn but the last
 * gains, and the gain shrinks as fast as in Newton's method. */
static bool climb(struct unequal *u, struct cv_arena *arena)
{
    u->rate = 0;
    for (;;) {
        double reached;

        if (!sort_for_rate(u, u->rate, arena))
            return false;
        cv_chain_value(u->returns, u->order, u->n, u->rate, u->keep);
        reached = cv_chain_rate(u->returns, u->order, u->n, u->keep);
        if (!(reached > u->rate * (1 + 1e-14)))
            break;
        u->rate = reached;
    }
    return true;
}

/* Keep those who are worth it. */
static void compact(struct unequal *u)
{
    uint32_t kept = 0;

    for (uint32_t k = 0; k < u->n; k++)
        if (u->keep[k])
            u->order[kept++] = u->order[k];
    u->n = kept;
}

/* The best order and set that the rule gives, this way or backwards. */
static enum cleave_status best_duplex(struct unequal *u, const struct cv_returns *returns,
                                      struct cv_arena *arena, struct cleave_error *err)
{
    struct unequal other;
    struct cv_returns turned;
    bool turns = true;

    if (!grow_array(u, returns, arena) || !climb(u, arena))
        return cv_fail_memory(err, "FIFO schedule");
    compact(u);
    for (uint32_t i = 0; i < returns->n; i++)
        turns = turns && returns->trips[i].back_s > 0;
    if (u->settled || !turns)
        return CLEAVE_OK;
    CV_TRY(cv_returns_interchange(returns, arena, &turned, err));
    if (!grow_array(&other, &turned, arena) || !climb(&other, arena))
        return cv_fail_memory(err, "FIFO schedule");
    if (other.settled || other.rate > u->rate) {
        compact(&other);
        cv_returns_reverse(other.order, other.n);
        *u = other;
        u->returns = returns;
    }
    return CLEAVE_OK;
}

/* --- a single port that is overfull ------------------------------------------------- */

/* How many of an order it takes to fill a single port; sums in units of u_1, see
 * returns_chain.c. */
static uint32_t port_prefix(const struct cv_returns *returns, const uint32_t *order,
                            uint32_t n)
{
    double u = 1, back = 0, messages = 0;

    for (uint32_t k = 0; k < n; k++) {
        const struct cv_trip *t = &returns->trips[order[k]];
        const double share = u / (t->compute_s + t->send_s);

        if (messages >= 1 + back || !isfinite(share))
            return k;
        back += t->back_s * share;
        messages += (t->send_s + t->back_s) * share;
        u = (t->compute_s + t->back_s) * share;
    }
    return n;
}

/* Replace the best schedule by the first workers of an order if they do more. */
static void offer(const struct cv_returns *returns, const uint32_t *order, uint32_t n,
                  double lifespan_s, double *shares, double *best, struct unequal *u)
{
    const uint32_t m = port_prefix(returns, order, n);
    const double work =
        cv_chain_fill(returns, CV_CHAIN_FIFO, order, m, lifespan_s, shares);

    if (!(work > *best))
        return;
    *best = work;
    u->n = m;
    memcpy(u->order, order, m * sizeof *order);
    memcpy(u->shares, shares, m * sizeof *shares);
}

/* Of `line`, those ranked below m by their part of the port, then the one ranked m. */
static uint32_t pick(const uint32_t *line, uint32_t n, const uint32_t *rank, uint32_t m,
                     uint32_t *to)
{
    uint32_t count = 0, last = UINT32_MAX;

    for (uint32_t k = 0; k < n; k++) {
        if (rank[line[k]] < m)
            to[count++] = line[k];
        else if (rank[line[k]] == m)
            last = line[k];
    }
    if (last != UINT32_MAX)
        to[count++] = last;
    return count;
}

static bool fill_single(struct unequal *u, double lifespan_s, struct cv_arena *arena)
{
    const struct cv_returns *returns = u->returns;
    const uint32_t n = returns->n;
    uint32_t *line = cv_array(arena, n, sizeof *line);
    uint32_t *by_port = cv_array(arena, n, sizeof *by_port);
    uint32_t *rank = cv_array(arena, n, sizeof *rank);
    uint32_t *trial = cv_array(arena, n, sizeof *trial);
    double *shares = cv_array(arena, n, sizeof *shares), best = 0;
    uint32_t low = 0, high;

    for (uint32_t i = 0; i < n; i++)
        u->keys[i] = returns->trips[i].send_s + returns->trips[i].back_s;
    if (line == NULL || by_port == NULL || rank == NULL || trial == NULL ||
        shares == NULL || !cv_returns_sort(u->keys, n, arena, by_port) ||
        !sort_for_rate(u, u->rate, arena))
        return false;
    memcpy(line, u->order, n * sizeof *line);
    for (uint32_t k = 0; k < n; k++)
        rank[by_port[k]] = k;
    offer(returns, by_port, n, lifespan_s, shares, &best, u);
    offer(returns, line, n, lifespan_s, shares, &best, u);
    /* The least m at which those ranked up to it overfill the port. */
    for (high = n - 1; low < high;) {
        const uint32_t m = low + (high - low) / 2;
        const uint32_t count = pick(line, n, rank, m, trial);

        if (port_prefix(returns, trial, count) < count)
            high = m;
        else
            low = m + 1;
    }
    for (uint32_t m = low < 2 ? 0 : low - 2; m < n && m < low + 3; m++)
        offer(returns, trial, pick(line, n, rank, m, trial), lifespan_s, shares, &best,
              u);
    return true;
}

static enum cleave_status finish(const struct unequal *u, double lifespan_s,
                                 struct cv_arena *arena, struct cv_round_trip *out,
                                 struct cleave_error *err)
{
    double *units = cv_array(arena, u->returns->n, sizeof *units);

    if (units == NULL)
        return cv_fail_memory(err, "FIFO schedule");
    for (uint32_t k = 0; k < u->n; k++)
        units[u->order[k]] = u->shares[k];
    return cv_returns_make(u->returns, u->order, u->order, u->n, units, lifespan_s, false,
                           arena, out, err);
}

/* As cv_returns_fifo, for an instance that is checked and has no fixed costs. `optimal`
 * when the rule of the file's head settles it and the port has room. */
static enum cleave_status fifo_unequal(const struct cv_returns *returns,
                                       double lifespan_s, struct cv_arena *arena,
                                       struct cv_round_trip *out,
                                       struct cleave_error *err)
{
    struct cv_round_trip made;
    struct unequal u;

    CV_TRY(best_duplex(&u, returns, arena, err));
    cv_chain_tight(returns, CV_CHAIN_FIFO, u.order, u.n, lifespan_s, u.shares);
    CV_TRY(finish(&u, lifespan_s, arena, &made, err));
    made.optimal = u.settled;
    if (returns->single &&
        cv_returns_port_s(returns, &made) > lifespan_s * (1 + port_noise)) {
        if (!fill_single(&u, lifespan_s, arena))
            return cv_fail_memory(err, "FIFO schedule");
        CV_TRY(finish(&u, lifespan_s, arena, &made, err));
    }
    *out = made;
    return CLEAVE_OK;
}

/* --- FIFO and LIFO with fixed costs, by improvement -------------------------------- */

/* Whom to leave out is a hard problem once taking part costs something. Several orders
 * are walked once, adding whoever adds work; the best result is improved by taking one
 * worker out at a time and putting it back at the best place, or not at all, and by
 * exchanging one for another, until nothing changes or enough has been tried. */

enum {
    MOST_PLACES = 64,     /* try all places of an order up to this length  */
    MOST_STEPS = 4000000, /* shares computed while improving               */
};

/* Shares that grow more than this along an order are lost to rounding. */
static const double most_growth = 1e6;
/* What computing one share is counted as. */
static const double share_steps[] = { [CV_CHAIN_FIFO] = 25, [CV_CHAIN_LIFO] = 10 };

struct improver {
    const struct cv_returns *returns;
    enum cv_chain kind;
    double lifespan_s;
    uint32_t *order; /* the best so far */
    uint32_t n;
    double work;
    uint32_t *trial; /* with one worker out, then back in */
    double *shares, *keys;
    uint64_t steps;
};

static double measure(struct improver *im, const uint32_t *order, uint32_t n)
{
    im->steps += n + 1;
    return cv_chain_fill(im->returns, im->kind, order, n, im->lifespan_s, im->shares);
}

/* --- walking an order once ---------------------------------------------------------- */

/* FIFO shares are slope * u_1 + offset (returns_chain.c); sums of them, and the least u_1
 * for which all are positive. */
struct fifo_walk {
    double slope, offset; /* of the next u                  */
    double work_slope, work_offset;
    double back_slope, back_offset;
    double port_slope, port_offset;
    double least_u, work;
};

static bool fifo_takes(struct fifo_walk *walk, const struct cv_trip *t,
                       const struct improver *im)
{
    struct fifo_walk next = *walk;
    const double unit_s = t->compute_s + t->send_s;
    const double slope = walk->slope / unit_s;
    const double offset = (walk->offset - t->compute_fixed_s - t->send_fixed_s) / unit_s;
    double u;

    next.slope = (t->compute_s + t->back_s) * slope;
    next.offset =
        (t->compute_s + t->back_s) * offset + t->compute_fixed_s + t->back_fixed_s;
    next.work_slope += slope;
    next.work_offset += offset;
    next.back_slope += t->back_s * slope;
    next.back_offset += t->back_s * offset + t->back_fixed_s;
    next.port_slope += (t->send_s + t->back_s) * slope;
    next.port_offset +=
        (t->send_s + t->back_s) * offset + t->send_fixed_s + t->back_fixed_s;
    next.least_u = fmax(walk->least_u, -offset / slope);
    u = (im->lifespan_s - next.back_offset) / (1 + next.back_slope);
    next.work = u * next.work_slope + next.work_offset;
    if (!(next.slope < most_growth) || !(u > next.least_u) || !(next.work > walk->work) ||
        (im->returns->single && u * next.port_slope + next.port_offset > im->lifespan_s))
        return false;
    *walk = next;
    return true;
}

/* Whoever gets something helps: the others do not notice. */
static bool lifo_takes(double *left_s, const struct cv_trip *t)
{
    const double share = (*left_s - cv_trip_once_s(t)) / cv_trip_unit_s(t);

    if (!(share > 0))
        return false;
    *left_s = t->compute_s * share + t->compute_fixed_s;
    return true;
}

/* Those of im->trial who help, in that order; the best so far is replaced by less. */
static void walk_order(struct improver *im, uint32_t n)
{
    struct fifo_walk walk = { .slope = 1 };
    double left_s = im->lifespan_s, work;
    uint32_t kept = 0;

    for (uint32_t k = 0; k < n; k++) {
        const struct cv_trip *t = &im->returns->trips[im->trial[k]];

        if (im->kind == CV_CHAIN_FIFO ? fifo_takes(&walk, t, im) : lifo_takes(&left_s, t))
            im->trial[kept++] = im->trial[k];
    }
    /* Rounding may have let in one that is not positive: the last ones go first. */
    while ((work = measure(im, im->trial, kept)) < 0 && kept > 0)
        kept -= 1 + kept / 8;
    if (work > im->work) {
        im->work = work;
        im->n = kept;
        memcpy(im->order, im->trial, kept * sizeof *im->order);
    }
}

/* --- one worker at a time ----------------------------------------------------------- */

/* Move the entry at `from` to `to`. */
static void shift(uint32_t *order, uint32_t from, uint32_t to)
{
    const uint32_t moved = order[from];

    if (from < to)
        memmove(order + from, order + from + 1, (to - from) * sizeof *order);
    else
        memmove(order + to + 1, order + to, (from - to) * sizeof *order);
    order[to] = moved;
}

static void accept(struct improver *im, uint32_t n, double work)
{
    im->work = work;
    im->n = n;
    memcpy(im->order, im->trial, n * sizeof *im->order);
}

/* Put `worker` back into im->trial (n others) where it is best. */
static bool reinsert(struct improver *im, uint32_t worker, uint32_t n)
{
    const bool all = n <= MOST_PLACES;
    double best = im->work * (1 + 1e-12);
    uint32_t place = UINT32_MAX, now = n;

    im->trial[n] = worker;
    for (uint32_t at = n + 1; at-- > 0 && im->steps < MOST_STEPS; now = at) {
        double work;

        shift(im->trial, now, at);
        /* In a long order only where its link puts it, and at both ends. */
        if (!all && at > 0 && at < n &&
            !(im->keys[im->trial[at - 1]] <= im->keys[worker] &&
              im->keys[worker] <= im->keys[im->trial[at + 1]]))
            continue;
        work = measure(im, im->trial, n + 1);
        if (work > best) {
            best = work;
            place = at;
        }
    }
    if (place == UINT32_MAX)
        return false;
    shift(im->trial, now, place);
    accept(im, n + 1, best);
    return true;
}

/* Let a worker that is out take the place of one that is in. */
static bool replace(struct improver *im, uint32_t worker)
{
    double best = im->work * (1 + 1e-12);
    uint32_t place = UINT32_MAX;

    memcpy(im->trial, im->order, im->n * sizeof *im->trial);
    for (uint32_t at = 0; at < im->n; at++) {
        double work;

        im->trial[at] = worker;
        work = measure(im, im->trial, im->n);
        im->trial[at] = im->order[at];
        if (work > best) {
            best = work;
            place = at;
        }
    }
    if (place == UINT32_MAX)
        return false;
    im->trial[place] = worker;
    accept(im, im->n, best);
    return true;
}

/* Take a worker out if it is in, and find it a better place, or none. */
static bool move_worker(struct improver *im, uint32_t worker)
{
    const bool all = im->n <= MOST_PLACES;
    uint32_t n = 0;
    double work;
    bool gained = false;

    for (uint32_t k = 0; k < im->n; k++)
        if (im->order[k] != worker)
            im->trial[n++] = im->order[k];
    if (n < im->n && (work = measure(im, im->trial, n)) > im->work * (1 + 1e-12)) {
        accept(im, n, work);
        gained = true;
    }
    if (reinsert(im, worker, n))
        return true;
    return (all && n == im->n && replace(im, worker)) || gained;
}

/* --- all together ------------------------------------------------------------------- */

enum { WALKS = 5 };

/* Different ideas of who comes first: links; links and what is paid once, spread over
 * what a worker could do alone; whole trips; fixed costs. */
static double first_key(const struct improver *im, uint32_t worker, int walk)
{
    const struct cv_trip *t = &im->returns->trips[worker];
    const double link = im->kind == CV_CHAIN_LIFO ? t->send_s + t->back_s : t->send_s;
    const double once = cv_trip_once_s(t), unit = cv_trip_unit_s(t);

    switch (walk) {
    case 0:
        return im->kind == CV_CHAIN_FIFO && t->back_s > t->send_s ? -link : link;
    case 1:
        return link + (once - t->compute_fixed_s) * unit / im->lifespan_s;
    case 2:
        return link + once * unit / im->lifespan_s;
    case 3:
        return unit + once * unit / im->lifespan_s;
    default:
        return once;
    }
}

/* An order of sending of *out_n workers for which cv_chain_fill is positive, or of none.
 * `order` has room for all workers. False when memory is short. */
static bool chain_improve(const struct cv_returns *returns, enum cv_chain kind,
                          double lifespan_s, uint32_t *order, uint32_t *out_n,
                          struct cv_arena *arena)
{
    struct improver im = { .returns = returns, .kind = kind, .lifespan_s = lifespan_s };
    bool gained = true;

    im.order = order;
    if (!CV_NEW(arena, im.trial, (size_t)returns->n + 1) ||
        !CV_NEW(arena, im.shares, (size_t)returns->n + 1) ||
        !CV_NEW(arena, im.keys, returns->n))
        return false;
    for (int walk = WALKS; walk-- > 0;) {
        for (uint32_t i = 0; i < returns->n; i++)
            im.keys[i] = first_key(&im, i, walk);
        if (!cv_returns_sort(im.keys, returns->n, arena, im.trial))
            return false;
        walk_order(&im, returns->n);
    }
    while (gained && im.steps < MOST_STEPS) {
        gained = false;
        for (uint32_t i = 0; i < returns->n && im.steps < MOST_STEPS; i++)
            gained = move_worker(&im, i) || gained;
    }
    cv_step_budget_spend(returns->budget, share_steps[kind] * (double)im.steps);
    *out_n = im.n;
    return true;
}

/* --- first sent, first or last returned -------------------------------------------- */

/* Up to here a linear program has the last word on a single port. */
enum { POLISH_MOST = 64 };

/* What the solvers below work in. */
struct chain_room {
    uint32_t *order;
    double *shares; /* by place; keys by worker before that */
    double *units;  /* by worker                            */
};

static bool fifo_grow_array(struct chain_room *room, struct cv_arena *arena, uint32_t n)
{
    return CV_NEW(arena, room->order, n) && CV_NEW(arena, room->shares, n) &&
           CV_NEW(arena, room->units, n);
}

/* The schedule of `n` workers in the room's order with its shares. */
static enum cleave_status fifo_finish(const struct cv_returns *returns,
                                      enum cv_chain kind, struct chain_room *room,
                                      uint32_t n, double lifespan_s, bool everyone,
                                      struct cv_arena *arena, struct cv_round_trip *out,
                                      struct cleave_error *err)
{
    for (uint32_t k = 0; k < n; k++)
        room->units[room->order[k]] = room->shares[k];
    CV_TRY(cv_returns_make(returns, room->order, room->order, n, room->units, lifespan_s,
                           everyone, arena, out, err));
    if (kind == CV_CHAIN_LIFO)
        cv_returns_reverse(out->back, out->n);
    return CLEAVE_OK;
}

/* Workers by send_s, or for LIFO by send_s + back_s; slowest first if `backwards`. */
static bool sort_links(const struct cv_returns *returns, enum cv_chain kind,
                       bool backwards, struct chain_room *room, struct cv_arena *arena)
{
    for (uint32_t i = 0; i < returns->n; i++) {
        const struct cv_trip *t = &returns->trips[i];
        const double link = kind == CV_CHAIN_LIFO ? t->send_s + t->back_s : t->send_s;

        room->shares[i] = backwards ? -link : link;
    }
    return cv_returns_sort(room->shares, returns->n, arena, room->order);
}

/* FIFO shares would grow along the orders: better read backwards, where they shrink. */
static bool grows(const struct cv_returns *returns)
{
    double growth = 0;

    for (uint32_t i = 0; i < returns->n; i++) {
        const struct cv_trip *t = &returns->trips[i];

        if (!(t->back_s > 0))
            return false;
        growth += log((t->compute_s + t->back_s) / (t->compute_s + t->send_s));
    }
    return growth > 0;
}

static enum cleave_status improve(const struct cv_returns *returns, enum cv_chain kind,
                                  double lifespan_s, struct chain_room *room,
                                  struct cv_arena *arena, struct cv_round_trip *out,
                                  struct cleave_error *err)
{
    const bool turn = kind == CV_CHAIN_FIFO && grows(returns);
    struct cv_returns turned = *returns;
    uint32_t n;

    if (cv_returns_hopeless(returns, lifespan_s)) {
        CV_TRY(cv_returns_nothing(returns, lifespan_s, arena, out, err));
        out->optimal = true;
        return CLEAVE_OK;
    }
    if (turn)
        CV_TRY(cv_returns_interchange(returns, arena, &turned, err));
    if (!chain_improve(&turned, kind, lifespan_s, room->order, &n, arena))
        return cv_fail_memory(err, "schedule with fixed costs");
    cv_chain_fill(&turned, kind, room->order, n, lifespan_s, room->shares);
    CV_TRY(fifo_finish(&turned, kind, room, n, lifespan_s, false, arena, out, err));
    if (turn)
        cv_returns_interchange_back(out);
    out->optimal = returns->n == 1;
    return CLEAVE_OK;
}

enum cleave_status cv_returns_lifo(const struct cv_returns *returns, double lifespan_s,
                                   struct cv_arena *arena, struct cv_round_trip *out,
                                   struct cleave_error *err)
{
    struct chain_room room;

    CV_TRY(cv_returns_check(returns, lifespan_s, err));
    if (!fifo_grow_array(&room, arena, returns->n))
        return cv_fail_memory(err, "LIFO schedule");
    if (!cv_returns_linear(returns))
        return improve(returns, CV_CHAIN_LIFO, lifespan_s, &room, arena, out, err);
    if (!sort_links(returns, CV_CHAIN_LIFO, false, &room, arena))
        return cv_fail_memory(err, "LIFO schedule");
    cv_chain_tight(returns, CV_CHAIN_LIFO, room.order, returns->n, lifespan_s,
                   room.shares);
    CV_TRY(fifo_finish(returns, CV_CHAIN_LIFO, &room, returns->n, lifespan_s, false,
                       arena, out, err));
    out->optimal = true;
    return CLEAVE_OK;
}

/* --- one ratio, at most 1 ----------------------------------------------------------- */

/* How many of the sorted workers help; the last of them may have to share the port. All
 * sums are in units of u_1, as in returns_chain.c. */
static uint32_t count_helpful(const struct cv_returns *returns, const uint32_t *order)
{
    double u = 1, work = 0, back = 0, messages = 0;

    for (uint32_t k = 0; k < returns->n; k++) {
        const struct cv_trip *t = &returns->trips[order[k]];
        const double share = u / (t->compute_s + t->send_s);

        if (!(share > 0) || !(work * t->back_s < 1 + back) ||
            (returns->single && messages >= 1 + back))
            return k;
        work += share;
        back += t->back_s * share;
        messages += (t->send_s + t->back_s) * share;
        u = (t->compute_s + t->back_s) * share;
    }
    return returns->n;
}

/* Without fixed costs some prefix of an order fills any port. */
static uint32_t fill_prefix(const struct cv_returns *returns, double lifespan_s,
                            struct chain_room *room, uint32_t n)
{
    while (n > 0 && cv_chain_fill(returns, CV_CHAIN_FIFO, room->order, n, lifespan_s,
                                  room->shares) < 0)
        n--;
    return n;
}

static enum cleave_status fifo_one_ratio(const struct cv_returns *returns, bool backwards,
                                         double lifespan_s, struct chain_room *room,
                                         struct cv_arena *arena,
                                         struct cv_round_trip *out,
                                         struct cleave_error *err)
{
    struct cv_returns turned;
    uint32_t n;

    if (!sort_links(returns, CV_CHAIN_FIFO, backwards, room, arena))
        return cv_fail_memory(err, "FIFO schedule");
    if (backwards) {
        CV_TRY(cv_returns_interchange(returns, arena, &turned, err));
        cv_returns_reverse(room->order, returns->n);
        returns = &turned;
    }
    n = fill_prefix(returns, lifespan_s, room, count_helpful(returns, room->order));
    CV_TRY(
        fifo_finish(returns, CV_CHAIN_FIFO, room, n, lifespan_s, false, arena, out, err));
    if (backwards)
        cv_returns_interchange_back(out);
    out->optimal = true;
    return CLEAVE_OK;
}

/* On a single port it may be somebody else than the last who should wait, or another set
 * that fills it: the best shares for the order found, those left out at its end. */
static enum cleave_status polish(const struct cv_returns *returns, double lifespan_s,
                                 struct cv_arena *arena, struct cv_round_trip *trip,
                                 struct cleave_error *err)
{
    uint32_t order[POLISH_MOST], n = trip->n;
    struct cv_round_trip other;

    if (!returns->single || trip->optimal || returns->n > POLISH_MOST ||
        cv_step_budget_over(returns->budget))
        return CLEAVE_OK;
    memcpy(order, trip->send, n * sizeof *order);
    for (uint32_t i = 0; i < returns->n; i++)
        if (!(trip->units[i] > 0))
            order[n++] = i;
    CV_TRY(cv_returns_given(returns, order, order, n, lifespan_s, arena, &other, err));
    other.optimal = false;
    if (other.work > trip->work)
        *trip = other;
    return CLEAVE_OK;
}

enum cleave_status cv_returns_fifo(const struct cv_returns *returns, double lifespan_s,
                                   struct cv_arena *arena, struct cv_round_trip *out,
                                   struct cleave_error *err)
{
    struct cv_round_trip best, other;
    struct chain_room room;
    double ratio;

    CV_TRY(cv_returns_check(returns, lifespan_s, err));
    if (!fifo_grow_array(&room, arena, returns->n))
        return cv_fail_memory(err, "FIFO schedule");
    if (!cv_returns_linear(returns)) {
        CV_TRY(improve(returns, CV_CHAIN_FIFO, lifespan_s, &room, arena, &best, err));
    } else if (cv_returns_uniform(returns, &ratio)) {
        CV_TRY(fifo_one_ratio(returns, ratio > 1, lifespan_s, &room, arena, &best, err));
    } else {
        CV_TRY(fifo_unequal(returns, lifespan_s, arena, &best, err));
        if (!best.optimal) {
            CV_TRY(
                improve(returns, CV_CHAIN_FIFO, lifespan_s, &room, arena, &other, err));
            best = other.work > best.work ? other : best;
        }
    }
    CV_TRY(polish(returns, lifespan_s, arena, &best, err));
    *out = best;
    return CLEAVE_OK;
}

enum cleave_status cv_returns_fifo_all(const struct cv_returns *returns,
                                       double lifespan_s, struct cv_arena *arena,
                                       struct cv_round_trip *out,
                                       struct cleave_error *err)
{
    const bool linear = cv_returns_linear(returns);
    struct chain_room room;
    double ratio = 0;
    bool uniform;

    CV_TRY(cv_returns_check(returns, lifespan_s, err));
    uniform = cv_returns_uniform(returns, &ratio);
    if (!fifo_grow_array(&room, arena, returns->n) ||
        !sort_links(returns, CV_CHAIN_FIFO, uniform && ratio > 1, &room, arena))
        return cv_fail_memory(err, "FIFO schedule");
    cv_chain_tight(returns, CV_CHAIN_FIFO, room.order, returns->n, lifespan_s,
                   room.shares);
    CV_TRY(fifo_finish(returns, CV_CHAIN_FIFO, &room, returns->n, lifespan_s, true, arena,
                       out, err));
    out->optimal = linear && uniform;
    return CLEAVE_OK;
}
