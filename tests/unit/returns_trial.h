/* returns_trial.h -- random instances in turn, for theorems about one round with results.
 * SPDX-License-Identifier: MIT
 *
 * tau is a worker's send_s, R its compute_s, delta the ratio of results to load, sigma
 * and phi the orders of sending and returning. */
#ifndef RETURNS_TRIAL_H
#define RETURNS_TRIAL_H
#include "returns_check.h"

enum { FEW = 150, SOME = 600, MANY = 3000 };

/* One instance of at most `most` workers, and room for the values computed about it. */
struct trial {
    struct cv_random random;
    struct cluster c;
    struct cv_arena arena;
    uint32_t n;
};

static inline void trial_begin(struct trial *t, uint64_t seed, uint32_t number,
                               uint32_t min, uint32_t max)
{
    if (number == 0)
        cv_arena_init(&t->arena);
    cv_arena_reset(&t->arena);
    cv_random_at(&t->random, seed, number, 0, 0);
    t->n = min + number % (max - min + 1);
    cluster_random(&t->c, &t->random, t->n);
}

/* Copy with other delta. */
static inline void set_delta(struct cluster *c, double delta)
{
    c->delta = delta;
    for (uint32_t i = 0; i < c->duplex.n; i++)
        c->trips[i].back_s = delta * c->trips[i].send_s;
}

static inline void equal_nodes(struct cluster *c)
{
    for (uint32_t i = 0; i < c->duplex.n; i++)
        c->trips[i].compute_s = c->trips[0].compute_s;
}

static inline void sort_links(struct cluster *c)
{
    for (uint32_t i = 1; i < c->duplex.n; i++)
        for (uint32_t k = i; k > 0 && c->trips[k].send_s < c->trips[k - 1].send_s; k--) {
            const struct cv_trip kept = c->trips[k];

            c->trips[k] = c->trips[k - 1];
            c->trips[k - 1] = kept;
        }
}

static inline void reverse_of(const uint32_t *order, uint32_t n, uint32_t *out)
{
    for (uint32_t k = 0; k < n; k++)
        out[k] = order[n - 1 - k];
}

/* Units of all workers in an order: FIFO, or LIFO. */
static inline struct cv_round_trip fifo_in(struct trial *t, const uint32_t *order)
{
    return tight(&t->c.duplex, order, order, t->n, t->c.lifespan_s, &t->arena);
}

static inline struct cv_round_trip lifo_in(struct trial *t, const uint32_t *order)
{
    uint32_t back[MOST_WORKERS];

    reverse_of(order, t->n, back);
    return tight(&t->c.duplex, order, back, t->n, t->c.lifespan_s, &t->arena);
}

static inline double port_of(struct trial *t, const struct cv_round_trip *trip)
{
    return cv_returns_port_s(&t->c.duplex, trip);
}

#endif
