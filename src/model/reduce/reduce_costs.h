/* reduce_costs.h -- costs of sending and combining partials. SPDX-License-Identifier: MIT
 *
 * Either one exact instance (a matrix) or laws, from which the cost of an operation is
 * drawn as a function of (seed, run, who): no matrix is stored, and every policy meets
 * the same platform in the same run. */
#ifndef CV_REDUCE_COSTS_H
#define CV_REDUCE_COSTS_H
#include <cleave/error.h>
#include <cleave/reduce.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/gamma_sampler.h"

enum cv_distribution_kind {
    CV_LAW_GAMMA, /* const and exp as well: they are gamma with CV 0 and 1 */
    CV_LAW_LOGNORMAL,
    CV_LAW_UNIFORM,
    CV_LAW_BERNOULLI,
};

/* Plain data: it may be copied. A zeroed law is the constant 0. */
struct cv_distribution {
    enum cv_distribution_kind kind;
    double mean, cv;
    struct cv_gamma gamma;
    double low, high, p; /* UNIFORM, BERNOULLI: p is the probability of high    */
    double mu, sigma;    /* LOGNORMAL: mean and standard deviation of its log   */
};

/* On failure *out is untouched and err->text has the expected and the given text. */
enum cleave_status cv_distribution_parse(const char *text, struct cv_distribution *out,
                                         struct cleave_error *err);

/* Always `x`, which must be finite and not negative. */
struct cv_distribution cv_distribution_constant(double x);

static inline double cv_distribution_mean(const struct cv_distribution *distribution)
{
    return distribution->mean;
}

/* Standard deviation over mean; 0 for a law that only gives 0. */
static inline double cv_distribution_cv(const struct cv_distribution *distribution)
{
    return distribution->cv;
}

double cv_distribution_draw_other(const struct cv_distribution *distribution,
                                  uint64_t seed, uint32_t run, uint32_t i, uint32_t j);

/* The value named (seed, run, i, j), never negative. Two laws drawn under one name give
 * values made of the same bits; independent ones need separate seeds (cv_random_derive). */
static inline double cv_distribution_draw(const struct cv_distribution *distribution,
                                          uint64_t seed, uint32_t run, uint32_t i,
                                          uint32_t j)
{
    if (distribution->kind == CV_LAW_GAMMA)
        return cv_gamma_at(&distribution->gamma, seed, run, i, j);
    return cv_distribution_draw_other(distribution, seed, run, i, j);
}

struct cleave_costs {
    struct cv_arena arena; /* owns the arrays                        */
    uint32_t nodes;
    double *transfer; /* nodes x nodes, row: the sender         */
    double *compute;  /* per node                               */
};

struct cv_reduce_costs {
    uint32_t nodes;
    const struct cleave_costs *exact; /* borrowed; NULL: laws        */
    struct cv_distribution transfer, compute;
    enum cleave_compute_model model;
    uint64_t transfer_seed, compute_seed; /* derived from a seed: cv_reduce_costs_seed */
    /* When partials become ready: known times, or a law, if there are such times. */
    bool has_ready;
    const double *ready_s;      /* borrowed; NULL: the law */
    const double *mean_ready_s; /* borrowed: costs for plans if the law varies */
    struct cv_distribution ready;
    enum cleave_ready_model ready_model;
    uint64_t ready_seed;
    uint32_t cluster; /* laws only: nodes per cluster, in a row; 0: none */
    double remote;    /* factor on transfers between clusters            */
};

/* Transfers and combinations draw from separate streams. */
void cv_reduce_costs_seed(struct cv_reduce_costs *costs, uint64_t seed);

static inline double cv_transfer_cost(const struct cv_reduce_costs *costs, uint32_t run,
                                      uint32_t from, uint32_t to)
{
    if (costs->exact != NULL)
        return costs->exact->transfer[(size_t)from * costs->nodes + to];
    if (costs->cluster != 0 && from / costs->cluster != to / costs->cluster)
        return costs->remote * cv_distribution_draw(&costs->transfer,
                                                    costs->transfer_seed, run, from, to);
    return cv_distribution_draw(&costs->transfer, costs->transfer_seed, run, from, to);
}

/* The cost of the nth combination (from 0) on a node. */
static inline double cv_compute_cost(const struct cv_reduce_costs *costs, uint32_t run,
                                     uint32_t node, uint32_t nth)
{
    if (costs->exact != NULL)
        return costs->exact->compute[node];
    return cv_distribution_draw(&costs->compute, costs->compute_seed, run, node,
                                costs->model == CLEAVE_COMPUTE_FIXED ? 0 : nth);
}

/* When a node has its partial, if there are ready times. */
static inline double cv_ready_time(const struct cv_reduce_costs *costs, uint32_t run,
                                   uint32_t node)
{
    return costs->ready_s != NULL
               ? costs->ready_s[node]
               : cv_distribution_draw(&costs->ready, costs->ready_seed, run, node, 0);
}

/* Whether they are others in every run. */
static inline bool cv_ready_varies(const struct cv_reduce_costs *costs)
{
    return costs->has_ready && costs->ready_s == NULL && costs->ready.cv > 0;
}

/* Every combination costs costs->compute.mean. */
static inline bool cv_compute_is_constant(const struct cv_reduce_costs *costs)
{
    return costs->exact == NULL && costs->compute.kind == CV_LAW_GAMMA &&
           costs->compute.gamma.method == CV_GAMMA_CONSTANT;
}

/* Means over all transfers and all nodes. */
double cv_mean_transfer(const struct cv_reduce_costs *costs);
double cv_mean_compute(const struct cv_reduce_costs *costs);

#endif
