/* figure_returns_cluster.h -- clusters whose results come back, drawn at random.
 * SPDX-License-Identifier: MIT
 *
 * For what Beaumont and Rosenberg, Link-heterogeneity vs. node-heterogeneity in clusters,
 * 2010, state about one round with results. tau is a worker's send_s, R its compute_s,
 * delta the ratio of results to load. */
#ifndef CV_FIGURE_RETURNS_CLUSTER_H
#define CV_FIGURE_RETURNS_CLUSTER_H
#include "base/random.h"
#include "model/returns/returns.h"

enum { CV_STAR_MOST = 8 };

struct cv_star {
    struct cv_trip trips[CV_STAR_MOST];
    uint32_t n;
    double delta;
};

/* Links over three decades, nearly alike, or in two groups; equal nodes, from computing
 * that is a trifle to links that are; delta up to 1. */
void cv_star_random(struct cv_star *out, struct cv_random *random, uint32_t n);
/* The same links and nodes with another delta. */
void cv_star_set_delta(struct cv_star *cluster, double delta);
/* Fastest links first. */
void cv_star_sort(struct cv_star *cluster);
/* A random order of n workers. */
void cv_star_order(struct cv_random *random, uint32_t n, uint32_t *order);

double cv_random_between(struct cv_random *random, double low, double high);
/* Every order of magnitude as likely as another. */
double cv_random_scale(struct cv_random *random, double low, double high);

/* The first n workers of `order` in a lifespan, one message each way at a time. Results
 * return in that order if `fifo`, else in reverse order. */
struct cv_round_trip cv_star_trip(const struct cv_star *cluster, bool fifo,
                                  const uint32_t *order, uint32_t n, double lifespan_s,
                                  struct cv_arena *arena);

#endif
