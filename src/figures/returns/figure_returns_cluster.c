/* figure_returns_cluster.c -- clusters whose results come back, drawn at random.
 * SPDX-License-Identifier: MIT */
#include "figures/returns/figure_returns_cluster.h"

#include <math.h>
#include "figures/common/figure.h"

double cv_random_between(struct cv_random *random, double low, double high)
{
    return low + (high - low) * cv_random_uniform(random);
}

double cv_random_scale(struct cv_random *random, double low, double high)
{
    return exp(cv_random_between(random, log(low), log(high)));
}

void cv_star_set_delta(struct cv_star *cluster, double delta)
{
    cluster->delta = delta;
    for (uint32_t i = 0; i < cluster->n; i++)
        cluster->trips[i].back_s = delta * cluster->trips[i].send_s;
}

void cv_star_random(struct cv_star *out, struct cv_random *random, uint32_t n)
{
    static const double deltas[] = { 0.01, 0.1, 0.3, 0.5, 0.9, 1 };
    const uint64_t links = cv_random_bits(random) % 3, which = cv_random_bits(random) % 7;
    const double gap = cv_random_scale(random, 1, 100);
    const double node = cv_random_scale(random, 0.03, 1000);

    out->n = n;
    for (uint32_t i = 0; i < n; i++) {
        double tau = links == 0 ? cv_random_scale(random, 0.03, 30)
                                : cv_random_between(random, 0.5, 1.5);

        if (links == 2 && cv_random_bits(random) % 2 == 0)
            tau *= gap;
        out->trips[i] = (struct cv_trip){ .send_s = tau, .compute_s = node };
    }
    cv_star_set_delta(out, which < 6 ? deltas[which] : cv_random_uniform(random));
}

void cv_star_sort(struct cv_star *cluster)
{
    struct cv_trip *trips = cluster->trips;

    for (uint32_t i = 1; i < cluster->n; i++)
        for (uint32_t k = i; k > 0 && trips[k].send_s < trips[k - 1].send_s; k--) {
            const struct cv_trip kept = trips[k];

            trips[k] = trips[k - 1];
            trips[k - 1] = kept;
        }
}

void cv_star_order(struct cv_random *random, uint32_t n, uint32_t *order)
{
    for (uint32_t k = 0; k < n; k++) {
        const uint32_t at = (uint32_t)(cv_random_bits(random) % (k + 1));

        order[k] = k; /* at may be k */
        order[k] = order[at];
        order[at] = k;
    }
}

struct cv_round_trip cv_star_trip(const struct cv_star *cluster, bool fifo,
                                  const uint32_t *order, uint32_t n, double lifespan_s,
                                  struct cv_arena *arena)
{
    const struct cv_returns returns = { cluster->trips, cluster->n, false, NULL };
    uint32_t back[CV_STAR_MOST];
    struct cv_round_trip trip;

    for (uint32_t k = 0; k < n; k++)
        back[k] = order[fifo ? k : n - 1 - k];
    CV_MUST(cv_returns_tight(&returns, order, back, n, lifespan_s, arena, &trip, err));
    return trip;
}
