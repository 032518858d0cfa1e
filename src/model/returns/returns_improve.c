/* returns_improve.c -- FIFO and LIFO with fixed costs, by improvement.
 * SPDX-License-Identifier: MIT
 *
 * Whom to leave out is a hard problem once taking part costs something. Several orders
 * are walked once, adding whoever adds work; the best result is improved by taking one
 * worker out at a time and putting it back at the best place, or not at all, and by
 * exchanging one for another, until nothing changes or enough has been tried. */
#include "model/returns/returns_improve.h"

#include <math.h>
#include <string.h>

#include "model/returns/returns_internal.h"

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

bool cv_chain_improve(const struct cv_returns *returns, enum cv_chain kind,
                      double lifespan_s, uint32_t *order, uint32_t *out_n,
                      struct cv_arena *arena)
{
    struct improver im = { .returns = returns, .kind = kind, .lifespan_s = lifespan_s };
    bool gained = true;

    im.order = order;
    im.trial = cv_array(arena, (size_t)returns->n + 1, sizeof *im.trial);
    im.shares = cv_array(arena, (size_t)returns->n + 1, sizeof *im.shares);
    im.keys = cv_array(arena, returns->n, sizeof *im.keys);
    if (im.trial == NULL || im.shares == NULL || im.keys == NULL)
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
