/* returns_unequal.c -- FIFO when return costs are no fixed part of send costs.
 * SPDX-License-Identifier: MIT
 *
 * Let `rate` be the work per second that can be reached; returns_chain.c tells who of an
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
#include "model/returns/returns_unequal.h"

#include <math.h>
#include <string.h>

#include "model/returns/returns_chain.h"
#include "model/returns/returns_internal.h"

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
    u->keys = cv_array(arena, returns->n, sizeof *u->keys);
    u->shares = cv_array(arena, returns->n, sizeof *u->shares);
    u->order = cv_array(arena, returns->n, sizeof *u->order);
    u->keep = cv_array(arena, returns->n, sizeof *u->keep);
    return u->keys != NULL && u->shares != NULL && u->order != NULL && u->keep != NULL;
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

enum cleave_status cv_fifo_unequal(const struct cv_returns *returns, double lifespan_s,
                                   struct cv_arena *arena, struct cv_round_trip *out,
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
