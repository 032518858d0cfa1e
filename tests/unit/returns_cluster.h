/* returns_cluster.h -- rounds with results: instances, and conditions on a schedule.
 * SPDX-License-Identifier: MIT */
#ifndef RETURNS_CLUSTER_H
#define RETURNS_CLUSTER_H
#include <string.h>

#include "model/returns/returns.h"
#include "plan_check.h"

/* An instance that owns its costs. */
struct cluster {
    struct cv_trip trips[MOST_WORKERS];
    struct cv_returns duplex, single; /* over trips */
    double delta, lifespan_s;
};

static inline void cluster_bind(struct cluster *c, uint32_t n)
{
    c->duplex = (struct cv_returns){ c->trips, n, false, NULL };
    c->single = (struct cv_returns){ c->trips, n, true, NULL };
}

static inline void cluster_make(struct cluster *c, uint32_t n, const double *tau,
                                const double *nodes, double delta, double lifespan_s)
{
    for (uint32_t i = 0; i < n; i++)
        c->trips[i] = (struct cv_trip){ .send_s = tau[i],
                                        .compute_s = nodes[i],
                                        .back_s = delta * tau[i] };
    c->delta = delta;
    c->lifespan_s = lifespan_s;
    cluster_bind(c, n);
}

static inline uint32_t random_below(struct cv_random *random, uint32_t limit)
{
    return (uint32_t)(cv_random_bits(random) % limit);
}

/* Links over three decades, nearly alike, or in two groups; nodes alike or over two
 * decades; from computing that is a trifle to links that are. */
static inline void cluster_random(struct cluster *c, struct cv_random *random, uint32_t n)
{
    static const double deltas[] = { 0.01, 0.1, 0.3, 0.5, 0.9, 1 };
    const uint32_t links = random_below(random, 3), which = random_below(random, 7);
    const double gap = random_scale(random, 1, 100);
    const double node = random_scale(random, 0.03, 1000);
    const bool alike = random_below(random, 2) == 0;
    double tau[MOST_WORKERS], nodes[MOST_WORKERS];

    for (uint32_t i = 0; i < n; i++) {
        if (links == 0)
            tau[i] = random_scale(random, 0.03, 30);
        else
            tau[i] = random_between(random, 0.5, 1.5);
        if (links == 2 && random_below(random, 2) == 0)
            tau[i] *= gap;
        nodes[i] = node * (alike ? 1 : random_scale(random, 0.1, 10));
    }
    cluster_make(c, n, tau, nodes,
                 which < 6 ? deltas[which] : random_between(random, 0, 1),
                 random_scale(random, 0.1, 10));
}

/* Return costs that are not a fixed part of send costs. */
static inline void cluster_unequal(struct cluster *c, struct cv_random *random)
{
    for (uint32_t i = 0; i < c->duplex.n; i++)
        c->trips[i].back_s = c->trips[i].send_s * random_scale(random, 0.05, 5);
}

/* Fixed costs, each up to `most` of the lifespan. */
static inline void cluster_fix(struct cluster *c, struct cv_random *random, double max)
{
    for (uint32_t i = 0; i < c->duplex.n; i++) {
        c->trips[i].send_fixed_s = c->lifespan_s * random_between(random, 0, max);
        c->trips[i].compute_fixed_s = c->lifespan_s * random_between(random, 0, max);
        c->trips[i].back_fixed_s = c->lifespan_s * random_between(random, 0, max);
    }
}

static inline void random_order(struct cv_random *random, uint32_t *order, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++) {
        const uint32_t at = random_below(random, k + 1);

        order[k] = k; /* for the analyzer: at may be k */
        order[k] = order[at];
        order[at] = k;
    }
}

/* Carry a schedule out: sends starting at time 0, returns in their order so that the last
 * ends with the lifespan; no worker may return a result before its computation. */
static inline void assert_schedule(const struct cv_returns *returns,
                                   const struct cv_round_trip *trip)
{
    double *ready = calloc(returns->n + 1, sizeof *ready), port = 0, end, sum = 0;
    const double slack = 1e-9 * trip->lifespan_s;
    uint32_t busy = 0;

    assert_non_null(ready);
    for (uint32_t i = 0; i < returns->n; i++) {
        assert_true(trip->units[i] >= 0 && isfinite(trip->units[i]));
        busy += trip->units[i] > 0;
        sum += trip->units[i];
    }
    assert_int_equal(busy, trip->n);
    assert_near(trip->work, sum, 1e-12);
    for (uint32_t k = 0; k < trip->n; k++) {
        const struct cv_trip *t = &returns->trips[trip->send[k]];
        const double units = trip->units[trip->send[k]];

        assert_true(units > 0 && ready[trip->send[k]] == 0);
        port += t->send_fixed_s + t->send_s * units;
        ready[trip->send[k]] = port + t->compute_fixed_s + t->compute_s * units;
    }
    end = trip->lifespan_s;
    for (uint32_t k = trip->n; k-- > 0;) {
        const struct cv_trip *t = &returns->trips[trip->back[k]];

        end -= t->back_fixed_s + t->back_s * trip->units[trip->back[k]];
        assert_true(ready[trip->back[k]] > 0);
        if (!(ready[trip->back[k]] <= end + slack))
            fail_msg("worker %u is ready at %.17g, must return at %.17g", trip->back[k],
                     ready[trip->back[k]], end);
        ready[trip->back[k]] = -1; /* once */
    }
    if (returns->single && !(port <= end + slack))
        fail_msg("sends end at %.17g, returns begin at %.17g", port, end);
    free(ready);
}

/* --- one line for a call ------------------------------------------------------------ */

typedef enum cleave_status plain_solver(const struct cv_returns *returns,
                                        double lifespan_s, struct cv_arena *arena,
                                        struct cv_round_trip *out,
                                        struct cleave_error *err);

/* A solver's schedule, checked. */
static inline struct cv_round_trip solved(plain_solver *solve,
                                          const struct cv_returns *returns,
                                          double lifespan_s, struct cv_arena *arena)
{
    struct cleave_error err;
    struct cv_round_trip trip;

    MUST(solve(returns, lifespan_s, arena, &trip, &err));
    assert_true(trip.lifespan_s == lifespan_s);
    assert_schedule(returns, &trip);
    return trip;
}

static inline struct cv_round_trip tight(const struct cv_returns *returns,
                                         const uint32_t *send, const uint32_t *back,
                                         uint32_t n, double lifespan_s,
                                         struct cv_arena *arena)
{
    struct cleave_error err;
    struct cv_round_trip trip;

    MUST(cv_returns_tight(returns, send, back, n, lifespan_s, arena, &trip, &err));
    return trip;
}

static inline struct cv_round_trip given(const struct cv_returns *returns,
                                         const uint32_t *send, const uint32_t *back,
                                         uint32_t n, double lifespan_s,
                                         struct cv_arena *arena)
{
    struct cleave_error err;
    struct cv_round_trip trip;

    MUST(cv_returns_given(returns, send, back, n, lifespan_s, arena, &trip, &err));
    assert_schedule(returns, &trip);
    return trip;
}

#endif
