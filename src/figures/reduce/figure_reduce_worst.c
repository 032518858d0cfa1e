/* figure_reduce_worst.c -- bad platforms for reductions that do not know the costs.
 * SPDX-License-Identifier: MIT */
#include "figures/reduce/figure_reduce_worst.h"

#include <math.h>
#include <stdlib.h>

#include <cleave/reduce.h>
#include "base/fail.h"
#include "base/random.h"
#include "model/reduce/reduce_tree.h"

enum { BINOMIAL, TREE_DYN, FIBONACCI };
enum { FREE, ANY, EQUAL };

/* Below, costs are nearly equal, and some methods are optimal then: that tells nothing
 * about unequal ones. */
static const double LEAST_DELTA = 1.5;

const char *const cv_worst_methods[CV_WORST_METHODS] = { "binomial", "tree-dyn",
                                                         "fibonacci" };
const char *const cv_worst_cases[CV_WORST_CASES] = { "c = 0", "any c", "c = d" };

double cv_worst_bound(int method, int which, uint32_t n, double delta)
{
    const double log2_phi = log2((1 + sqrt(5)) / 2), rounds = cv_ceil_log2(n);

    if (method == FIBONACCI)
        return which == FREE  ? delta / log2_phi + delta / rounds
               : which == ANY ? delta / log2_phi + 2 * delta / rounds
                              : delta;
    return which == FREE  ? delta
           : which == ANY ? delta + 1
                          : (delta + 1) * (1 + 1 / log2(n)) * log2_phi;
}

/* --- the optimum -------------------------------------------------------------------- */

struct platform {
    uint32_t n;
    double transfer[CV_WORST_NODES][CV_WORST_NODES], c;
};

struct search {
    const struct platform *platform;
    double ready[CV_WORST_NODES], port[CV_WORST_NODES];
    bool gone[CV_WORST_NODES];
    double best;
};

/* Every sequence of transfers, cut where it cannot get better. A node sends after all its
 * combinations, and receives one value at a time while it may combine another. */
static void try_all(struct search *search, uint32_t left, double so_far)
{
    const struct platform *p = search->platform;

    if (left == 1) {
        search->best = fmin(search->best, so_far);
        return;
    }
    for (uint32_t i = 0; i < p->n; i++)
        for (uint32_t j = 0; j < p->n && !search->gone[i]; j++) {
            const double port = search->port[j], ready = search->ready[j];
            double arrives, done;

            if (i == j || search->gone[j])
                continue;
            arrives = fmax(search->ready[i], port) + p->transfer[i][j];
            done = fmax(ready, arrives) + p->c;
            if (done >= search->best)
                continue;
            search->gone[i] = true;
            search->port[j] = arrives;
            search->ready[j] = done;
            try_all(search, left - 1, fmax(so_far, done));
            search->gone[i] = false;
            search->port[j] = port;
            search->ready[j] = ready;
        }
}

static double optimum(const struct platform *platform)
{
    struct search search = { .platform = platform, .best = INFINITY };

    try_all(&search, platform->n, 0);
    return search.best;
}

/* --- the methods -------------------------------------------------------------------- */

static enum cleave_status length_of(const char *method, const struct cleave_costs *costs,
                                    double *out, struct cleave_error *err)
{
    const struct cleave_reduction job = { .costs = costs, .policy = method };
    struct cleave_tree *tree;

    CV_TRY(cleave_plan_reduce(&job, &tree, err));
    *out = tree->length_s;
    cleave_tree_free(tree);
    return CLEAVE_OK;
}

/* Fill ratios and parts for transfers in rows. */
static enum cleave_status compare(uint32_t n, const double *transfer, double c,
                                  double best, int which, struct cv_worst *out,
                                  struct cleave_error *err)
{
    double *compute = malloc(n * sizeof *compute);
    struct cleave_costs *costs = NULL;
    enum cleave_status status;

    if (compute == NULL)
        return cv_fail_memory(err, "a platform");
    for (uint32_t i = 0; i < n; i++)
        compute[i] = c;
    status = cleave_costs_new(n, transfer, compute, &costs, err);
    for (int m = 0; m < CV_WORST_METHODS && status == CLEAVE_OK; m++) {
        double length;

        status = length_of(cv_worst_methods[m], costs, &length, err);
        if (status == CLEAVE_OK) {
            out->ratio[m] = length / best;
            out->part[m] = out->ratio[m] / cv_worst_bound(m, which, n, out->delta);
        }
    }
    cleave_costs_free(costs);
    free(compute);
    return status;
}

static enum cleave_status judge(struct platform *p, int which, struct cv_worst *out,
                                struct cleave_error *err)
{
    double rows[CV_WORST_NODES * CV_WORST_NODES] = { 0 };
    double min = INFINITY, max = 0;

    for (uint32_t i = 0; i < p->n; i++)
        for (uint32_t j = 0; j < p->n; j++)
            if (i != j) {
                rows[i * p->n + j] = p->transfer[i][j];
                min = fmin(min, p->transfer[i][j]);
                max = fmax(max, p->transfer[i][j]);
            }
    if (which == EQUAL)
        p->c = min;
    out->n = p->n;
    out->delta = max / min;
    CV_TRY(compare(p->n, rows, p->c, optimum(p), which, out, err));
    for (int m = 0; m < CV_WORST_METHODS && out->delta < LEAST_DELTA; m++)
        out->part[m] = 0;
    return CLEAVE_OK;
}

/* --- looking for bad ones ----------------------------------------------------------- */

static double between(struct cv_random *random, double low, double high)
{
    return low * pow(high / low, cv_random_uniform(random));
}

static uint32_t below(struct cv_random *random, uint32_t limit)
{
    return limit > 0 ? (uint32_t)(cv_random_bits(random) % limit) : 0;
}

static double draw_cost(struct cv_random *random, bool two, double delta)
{
    if (two)
        return cv_random_uniform(random) < 0.5 ? 1 : delta;
    return between(random, 1, delta);
}

bool cv_worst_worse(const struct cv_worst *a, const struct cv_worst *b, int method)
{
    if (a->part[method] != b->part[method])
        return a->part[method] > b->part[method];
    if (a->ratio[method] != b->ratio[method])
        return a->ratio[method] > b->ratio[method];
    return a->n < b->n;
}

static void keep_worst(const struct cv_worst *now, struct cv_worst out[CV_WORST_METHODS])
{
    for (int m = 0; m < CV_WORST_METHODS; m++)
        if (cv_worst_worse(now, &out[m], m))
            out[m] = *now;
}

enum cleave_status cv_worst_climb(uint64_t number, int method, int which,
                                  uint32_t most_nodes, unsigned steps,
                                  struct cv_worst out[CV_WORST_METHODS], uint64_t *tried,
                                  struct cleave_error *err)
{
    struct platform p;
    struct cv_worst at;
    struct cv_random random;
    double delta;
    bool two;

    cv_random_at(&random, 4, (uint32_t)number, (uint32_t)which, (uint32_t)method);
    p.n = 2 + below(&random, most_nodes - 1);
    delta = between(&random, LEAST_DELTA, 20);
    two = cv_random_uniform(&random) < 0.7;
    p.c = which == ANY ? between(&random, 0.01, 100) : 0;
    for (uint32_t i = 0; i < p.n; i++)
        for (uint32_t j = 0; j < p.n; j++)
            p.transfer[i][j] = draw_cost(&random, two, delta);
    CV_TRY(judge(&p, which, &at, err));
    keep_worst(&at, out);
    for (unsigned step = 0; step < steps; step++) {
        struct platform next = p;
        struct cv_worst there;
        const uint32_t i = below(&random, p.n);
        const uint32_t j = below(&random, p.n);

        if (i == j && which == ANY)
            next.c *= between(&random, 0.5, 2);
        else
            next.transfer[i][j] = draw_cost(&random, two, delta);
        CV_TRY(judge(&next, which, &there, err));
        keep_worst(&there, out);
        if (there.part[method] >= at.part[method]) {
            p = next;
            at = there;
        }
    }
    *tried += steps + 1;
    return CLEAVE_OK;
}

enum cleave_status cv_worst_built(uint32_t n, double delta, double c, int which,
                                  struct cv_worst *out, struct cleave_error *err)
{
    double *rows = calloc((size_t)n * n, sizeof *rows);
    enum cleave_status status;

    if (rows == NULL)
        return cv_fail_memory(err, "a platform");
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < n; j++)
            rows[(size_t)i * n + j] = i == j ? 0 : i > j ? delta : 1;
    out->n = n;
    out->delta = delta;
    status = compare(n, rows, c, cv_reduce_length(n, 1, c), which, out, err);
    free(rows);
    return status;
}
