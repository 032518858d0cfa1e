/* returns_fifo.c -- first sent, first or last returned. SPDX-License-Identifier: MIT
 *
 * Without fixed costs LIFO is as if each worker had a link of send_s + back_s a unit and
 * no returns: fastest such links first is best, and every worker helps.
 *
 * FIFO with one ratio: links by nondecreasing send_s (ratio <= 1; else the instance is
 * read backwards), and the next worker helps iff the work W of the workers before it is less
 * than L / back_s. The first that does not help ends the order. On a single port the worker
 * that would overfill it gets the rest of its time. */
#include <math.h>
#include <string.h>
#include "model/returns/returns.h"
#include "model/returns/returns_internal.h"

/* A port may be overfull by this part: rounding. */
static const double port_noise = 1e-12;

/* Orders of sending, which are those of returning (FIFO) or their reverse (LIFO). */
struct chain {
    const struct cv_returns *returns;
    enum cv_chain kind;
    double lifespan_s;
    struct cv_arena *arena;
    uint32_t *order;
    double *shares; /* by place; keys by worker before that */
    double *units;  /* by worker                            */
};

static bool chain_init(struct chain *chain, const struct cv_returns *returns,
                       enum cv_chain kind, double lifespan_s, struct cv_arena *arena)
{
    *chain = (struct chain){ returns, kind, lifespan_s, arena, NULL, NULL, NULL };
    return CV_NEW(arena, chain->order, returns->n) &&
           CV_NEW(arena, chain->shares, returns->n) &&
           CV_NEW(arena, chain->units, returns->n);
}

/* The schedule of the first n workers of the order with their shares. */
static enum cleave_status chain_finish(const struct chain *chain, uint32_t n,
                                       bool everyone, struct cv_round_trip *out,
                                       struct cleave_error *err)
{
    memset(chain->units, 0, chain->returns->n * sizeof *chain->units);
    for (uint32_t k = 0; k < n; k++)
        chain->units[chain->order[k]] = chain->shares[k];
    CV_TRY(cv_returns_make(chain->returns, chain->order, chain->order, n, chain->units,
                           chain->lifespan_s, everyone, chain->arena, out, err));
    if (chain->kind == CV_CHAIN_LIFO)
        cv_returns_reverse(out->back, out->n);
    return CLEAVE_OK;
}

/* --- FIFO with unequal ratios of return to send costs ---------------------------------- */

/* Let `rate` be the work per second that can be reached; returns_chain.c chooses the workers
 * of an order that are worth it at a rate. Exchanging neighbours i, j shows that i goes first
 * iff
 *
 *     (1 - rate r_i) (s_j - r_j) >= (1 - rate r_j) (s_i - r_i),
 *
 * so by nondecreasing (s - r)/(1 - rate r) among workers with 1 - rate r > 0. Let the best
 * of these reach `rate` and no more. A worker with 1 - rate r <= 0 and s >= r is never worth
 * it. Neither is a worker with rate s >= 1: the last such in an order has a value of at most
 * `rate` after it, which it raises by less than it costs,
 *
 *     rate (r - s) <= rate r - 1;
 *
 * so it may go, and then the last but one. If no other worker is left, the order and set are
 * best; else the same is tried backwards in time, where s and r change places.
 *
 * On a single port that this overfills, work per second of the port counts: workers with the
 * least s + r, as many as fit, and the next one for the rest. */

struct unequal {
    struct chain chain; /* the instance, or the instance read backwards */
    double *keys;
    bool *keep;
    uint32_t n;   /* workers in the order            */
    double rate;  /* reached                         */
    bool settled; /* the rule gave all places        */
};

static bool unequal_init(struct unequal *u, const struct cv_returns *returns,
                         double lifespan_s, struct cv_arena *arena)
{
    return chain_init(&u->chain, returns, CV_CHAIN_FIFO, lifespan_s, arena) &&
           CV_NEW(arena, u->keys, returns->n) && CV_NEW(arena, u->keep, returns->n);
}

/* Sort for a rate. Workers that the rule does not place go to the end and are not counted. */
static bool sort_for_rate(struct unequal *u)
{
    const struct cv_returns *returns = u->chain.returns;

    u->n = 0;
    u->settled = true;
    for (uint32_t i = 0; i < returns->n; i++) {
        const struct cv_trip *t = &returns->trips[i];
        const double gain = 1 - u->rate * t->back_s;

        u->keys[i] = gain > 0 ? (t->send_s - t->back_s) / gain : INFINITY;
        u->n += gain > 0;
        if (!(gain > 0) && t->send_s < t->back_s && u->rate * t->send_s < 1)
            u->settled = false;
    }
    return cv_returns_sort(u->keys, returns->n, u->chain.arena, u->chain.order);
}

/* Raise the rate to the rate of its best order and set, and keep that set. Each turn but
 * the last gains, and the gain shrinks as fast as in Newton's method. */
static bool climb(struct unequal *u)
{
    const struct cv_returns *returns = u->chain.returns;
    uint32_t *order = u->chain.order, kept = 0;

    u->rate = 0;
    for (;;) {
        double reached;

        if (!sort_for_rate(u))
            return false;
        cv_chain_value(returns, order, u->n, u->rate, u->keep);
        reached = cv_chain_rate(returns, order, u->n, u->keep);
        if (!(reached > u->rate * (1 + 1e-14)))
            break;
        u->rate = reached;
    }
    for (uint32_t k = 0; k < u->n; k++)
        if (u->keep[k])
            order[kept++] = order[k];
    u->n = kept;
    return true;
}

/* The best order and set that the rule gives, forwards or backwards. */
static enum cleave_status best_duplex(struct unequal *u, const struct cv_returns *returns,
                                      double lifespan_s, struct cv_arena *arena,
                                      struct cleave_error *err)
{
    struct unequal other;
    struct cv_returns turned;
    bool turns = true;

    if (!unequal_init(u, returns, lifespan_s, arena) || !climb(u))
        return cv_fail_memory(err, "FIFO schedule");
    for (uint32_t i = 0; i < returns->n; i++)
        turns = turns && returns->trips[i].back_s > 0;
    if (u->settled || !turns)
        return CLEAVE_OK;
    CV_TRY(cv_returns_interchange(returns, arena, &turned, err));
    if (!unequal_init(&other, &turned, lifespan_s, arena) || !climb(&other))
        return cv_fail_memory(err, "FIFO schedule");
    if (other.settled || other.rate > u->rate) {
        *u = other;
        cv_returns_reverse(u->chain.order, u->n);
        u->chain.returns = returns;
    }
    return CLEAVE_OK;
}

/* Number of workers of an order that fill a single port; sums in units of u_1, see
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
static void offer(struct unequal *u, const uint32_t *order, uint32_t n, double *shares,
                  double *best)
{
    const uint32_t m = port_prefix(u->chain.returns, order, n);
    const double work = cv_chain_fill(u->chain.returns, CV_CHAIN_FIFO, order, m,
                                      u->chain.lifespan_s, shares);

    if (!(work > *best))
        return;
    *best = work;
    u->n = m;
    memcpy(u->chain.order, order, m * sizeof *order);
    memcpy(u->chain.shares, shares, m * sizeof *shares);
}

/* The workers of `line` with rank below m, then the one with rank m. */
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

static bool fill_single(struct unequal *u)
{
    const struct cv_returns *returns = u->chain.returns;
    const uint32_t n = returns->n;
    struct cv_arena *arena = u->chain.arena;
    uint32_t *line, *by_port, *rank, *trial, low = 0, high;
    double *shares, best = 0;

    for (uint32_t i = 0; i < n; i++)
        u->keys[i] = returns->trips[i].send_s + returns->trips[i].back_s;
    if (!CV_NEW(arena, line, n) || !CV_NEW(arena, by_port, n) ||
        !CV_NEW(arena, rank, n) || !CV_NEW(arena, trial, n) ||
        !CV_NEW(arena, shares, n) || !cv_returns_sort(u->keys, n, arena, by_port) ||
        !sort_for_rate(u))
        return false;
    memcpy(line, u->chain.order, n * sizeof *line);
    for (uint32_t k = 0; k < n; k++)
        rank[by_port[k]] = k;
    offer(u, by_port, n, shares, &best);
    offer(u, line, n, shares, &best);
    /* The least m for which the ranks up to m overfill the port. */
    for (high = n - 1; low < high;) {
        const uint32_t m = low + (high - low) / 2;
        const uint32_t count = pick(line, n, rank, m, trial);

        if (port_prefix(returns, trial, count) < count)
            high = m;
        else
            low = m + 1;
    }
    for (uint32_t m = low < 2 ? 0 : low - 2; m < n && m < low + 3; m++)
        offer(u, trial, pick(line, n, rank, m, trial), shares, &best);
    return true;
}

/* cv_returns_fifo without fixed costs. `optimal` if the rule settles it and the port has room. */
static enum cleave_status fifo_unequal(const struct cv_returns *returns,
                                       double lifespan_s, struct cv_arena *arena,
                                       struct cv_round_trip *out,
                                       struct cleave_error *err)
{
    struct unequal u;

    CV_TRY(best_duplex(&u, returns, lifespan_s, arena, err));
    cv_chain_tight(returns, CV_CHAIN_FIFO, u.chain.order, u.n, lifespan_s,
                   u.chain.shares);
    CV_TRY(chain_finish(&u.chain, u.n, false, out, err));
    out->optimal = u.settled;
    if (!returns->single ||
        !(cv_returns_port_s(returns, out) > lifespan_s * (1 + port_noise)))
        return CLEAVE_OK;
    return fill_single(&u) ? chain_finish(&u.chain, u.n, false, out, err)
                           : cv_fail_memory(err, "FIFO schedule");
}

/* --- FIFO and LIFO with fixed costs, by improvement ------------------------------------ */

/* The choice of workers is a hard problem with fixed costs. Several orders are walked once,
 * adding each worker that adds work; the best result is improved by moving one worker to its
 * best place, or out, and by exchanging one for another, until nothing changes or
 * MOST_STEPS are spent. */

enum {
    MOST_PLACES = 64,     /* try all places of an order up to this length  */
    MOST_STEPS = 4000000, /* shares computed while improving               */
};

/* Shares that grow more than this along an order are lost to rounding. */
static const double most_growth = 1e6;
/* Steps that a share counts as. */
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

/* `work`: the work of the workers taken so far. */
static bool fifo_takes(struct cv_fifo_walk *walk, double *work, const struct cv_trip *t,
                       const struct improver *im)
{
    struct cv_fifo_walk next = *walk;
    double u, more;

    cv_fifo_step(&next, t);
    u = (im->lifespan_s - next.back_offset) / (1 + next.back_slope);
    more = u * next.work_slope + next.work_offset;
    if (!(next.slope < most_growth) || !(u > next.least_u) || !(more > *work) ||
        (im->returns->single && u * next.port_slope + next.port_offset > im->lifespan_s))
        return false;
    *walk = next;
    *work = more;
    return true;
}

/* A worker with a share helps and does not affect other shares. */
static bool lifo_takes(double *left_s, const struct cv_trip *t)
{
    const double share = (*left_s - cv_trip_once_s(t)) / cv_trip_unit_s(t);

    if (!(share > 0))
        return false;
    *left_s = t->compute_s * share + t->compute_fixed_s;
    return true;
}

static void accept(struct improver *im, uint32_t n, double work)
{
    im->work = work;
    im->n = n;
    memcpy(im->order, im->trial, n * sizeof *im->order);
}

/* Accept the workers of im->trial that help, in that order, if they beat the best. */
static void walk_order(struct improver *im, uint32_t n)
{
    struct cv_fifo_walk walk = { .slope = 1 };
    double left_s = im->lifespan_s, work = 0;
    uint32_t kept = 0;

    for (uint32_t k = 0; k < n; k++) {
        const struct cv_trip *t = &im->returns->trips[im->trial[k]];

        if (im->kind == CV_CHAIN_FIFO ? fifo_takes(&walk, &work, t, im)
                                      : lifo_takes(&left_s, t))
            im->trial[kept++] = im->trial[k];
    }
    /* Rounding may have made a share not positive: drop the last workers. */
    while ((work = measure(im, im->trial, kept)) < 0 && kept > 0)
        kept -= 1 + kept / 8;
    if (work > im->work)
        accept(im, kept, work);
}

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
        /* In a long order only the place of its link, and both ends. */
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

/* Replace a worker of the order by `worker`. */
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

/* Move a worker to a better place, in or out. */
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

enum { WALKS = 5 };

/* Keys of the walks: links; links and fixed costs spread over the work of a worker alone;
 * whole trips; fixed costs. */
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

/* An order of *out_n workers for which cv_chain_fill is positive. False when memory is
 * short. */
static bool chain_improve(const struct chain *chain, uint32_t *out_n)
{
    const struct cv_returns *returns = chain->returns;
    struct cv_arena *arena = chain->arena;
    struct improver im = { .returns = returns,
                           .kind = chain->kind,
                           .lifespan_s = chain->lifespan_s,
                           .order = chain->order };
    bool gained = true;

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
    cv_step_budget_spend(returns->budget, share_steps[im.kind] * (double)im.steps);
    *out_n = im.n;
    return true;
}

/* Most workers for which a linear program improves the result on a single port. */
enum { POLISH_MOST = 64 };

/* Workers by send_s, or for LIFO by send_s + back_s; slowest first if `backwards`. */
static bool sort_links(const struct chain *chain, bool backwards)
{
    const struct cv_returns *returns = chain->returns;

    for (uint32_t i = 0; i < returns->n; i++) {
        const struct cv_trip *t = &returns->trips[i];
        const double link =
            chain->kind == CV_CHAIN_LIFO ? t->send_s + t->back_s : t->send_s;

        chain->shares[i] = backwards ? -link : link;
    }
    return cv_returns_sort(chain->shares, returns->n, chain->arena, chain->order);
}

/* Whether FIFO shares grow along the orders. Read backwards they shrink. */
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

static enum cleave_status improve(const struct chain *chain, struct cv_round_trip *out,
                                  struct cleave_error *err)
{
    const struct cv_returns *returns = chain->returns;
    const bool turn = chain->kind == CV_CHAIN_FIFO && grows(returns);
    struct cv_returns turned = *returns;
    struct chain with = *chain;
    uint32_t n;

    if (cv_returns_hopeless(returns, chain->lifespan_s)) {
        CV_TRY(cv_returns_nothing(returns, chain->lifespan_s, chain->arena, out, err));
        out->optimal = true;
        return CLEAVE_OK;
    }
    if (turn)
        CV_TRY(cv_returns_interchange(returns, chain->arena, &turned, err));
    with.returns = &turned;
    if (!chain_improve(&with, &n))
        return cv_fail_memory(err, "schedule with fixed costs");
    cv_chain_fill(&turned, chain->kind, chain->order, n, chain->lifespan_s,
                  chain->shares);
    CV_TRY(chain_finish(&with, n, false, out, err));
    if (turn)
        cv_returns_interchange_back(out);
    out->optimal = returns->n == 1;
    return CLEAVE_OK;
}

enum cleave_status cv_returns_lifo(const struct cv_returns *returns, double lifespan_s,
                                   struct cv_arena *arena, struct cv_round_trip *out,
                                   struct cleave_error *err)
{
    struct chain chain;

    CV_TRY(cv_returns_check(returns, lifespan_s, err));
    if (!chain_init(&chain, returns, CV_CHAIN_LIFO, lifespan_s, arena))
        return cv_fail_memory(err, "LIFO schedule");
    if (!cv_returns_linear(returns))
        return improve(&chain, out, err);
    if (!sort_links(&chain, false))
        return cv_fail_memory(err, "LIFO schedule");
    cv_chain_tight(returns, CV_CHAIN_LIFO, chain.order, returns->n, lifespan_s,
                   chain.shares);
    CV_TRY(chain_finish(&chain, returns->n, false, out, err));
    out->optimal = true;
    return CLEAVE_OK;
}

/* Number of sorted workers that help; the last may have to share the port. Sums are in units
 * of u_1, as in returns_chain.c. */
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

static enum cleave_status fifo_one_ratio(struct chain chain, bool backwards,
                                         struct cv_round_trip *out,
                                         struct cleave_error *err)
{
    struct cv_returns turned;
    uint32_t n;

    if (!sort_links(&chain, backwards))
        return cv_fail_memory(err, "FIFO schedule");
    if (backwards) {
        CV_TRY(cv_returns_interchange(chain.returns, chain.arena, &turned, err));
        cv_returns_reverse(chain.order, turned.n);
        chain.returns = &turned;
    }
    n = count_helpful(chain.returns, chain.order);
    /* Some prefix of the order fills any port. */
    while (n > 0 && cv_chain_fill(chain.returns, CV_CHAIN_FIFO, chain.order, n,
                                  chain.lifespan_s, chain.shares) < 0)
        n--;
    CV_TRY(chain_finish(&chain, n, false, out, err));
    if (backwards)
        cv_returns_interchange_back(out);
    out->optimal = true;
    return CLEAVE_OK;
}

/* On a single port it may be better that another worker waits than the last, or that another
 * set fills it: the best shares for the order found, with the other workers at its end. */
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
    struct chain chain;
    double ratio;

    CV_TRY(cv_returns_check(returns, lifespan_s, err));
    if (!chain_init(&chain, returns, CV_CHAIN_FIFO, lifespan_s, arena))
        return cv_fail_memory(err, "FIFO schedule");
    if (!cv_returns_linear(returns)) {
        CV_TRY(improve(&chain, &best, err));
    } else if (cv_returns_uniform(returns, &ratio)) {
        CV_TRY(fifo_one_ratio(chain, ratio > 1, &best, err));
    } else {
        CV_TRY(fifo_unequal(returns, lifespan_s, arena, &best, err));
        if (!best.optimal) {
            CV_TRY(improve(&chain, &other, err));
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
    struct chain chain;
    double ratio = 0;
    bool uniform;

    CV_TRY(cv_returns_check(returns, lifespan_s, err));
    uniform = cv_returns_uniform(returns, &ratio);
    if (!chain_init(&chain, returns, CV_CHAIN_FIFO, lifespan_s, arena) ||
        !sort_links(&chain, uniform && ratio > 1))
        return cv_fail_memory(err, "FIFO schedule");
    cv_chain_tight(returns, CV_CHAIN_FIFO, chain.order, returns->n, lifespan_s,
                   chain.shares);
    CV_TRY(chain_finish(&chain, returns->n, true, out, err));
    out->optimal = uniform && cv_returns_linear(returns);
    return CLEAVE_OK;
}
