/* figure_reduce_ratios.c -- how near reductions come to their approximation ratios.
 * SPDX-License-Identifier: MIT
 *
 * Benoit, Canon and Marchal, Non-clairvoyant reduction algorithms, Table 1: length over
 * the optimum of binomial, tree-dyn and fibonacci in terms of Delta, the greatest
 * transfer cost over the least, when combinations cost nothing, anything, or the least
 * transfer. Each ratio is held against small platforms whose optimum is found by trying
 * everything, made worse step by step, and against the platform of Theorem 1 for up to
 * 144 nodes. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <cleave/reduce.h>
#include "base/random.h"
#include "figures/common/figure.h"
#include "model/reduce/reduce_tree.h"

enum { MOST_NODES = 6 }; /* for which the optimum is found by trying all trees */
enum { BINOMIAL, TREE_DYN, FIBONACCI, METHODS };
enum { FREE, ANY, EQUAL, CASES };

/* For smaller ratios costs are nearly equal, and some methods are optimal. */
static const double LEAST_DELTA = 1.5;

static const char *const methods[METHODS] = { "binomial", "tree-dyn", "fibonacci" };
static const char *const cases[CASES] = { "c = 0", "any c", "c = d" };

struct worst {
    double ratio[METHODS]; /* length over the optimum      */
    double part[METHODS];  /* ratio over the bound         */
    uint32_t n;
    double delta;
};

/* The published ratio, for n > 1 nodes. */
static double worst_bound(int method, int which, uint32_t n, double delta)
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
    double transfer[MOST_NODES][MOST_NODES], c;
};

struct search {
    const struct platform *platform;
    double ready[MOST_NODES], port[MOST_NODES];
    bool gone[MOST_NODES];
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

static void length_of(const char *method, const struct cleave_costs *costs, double *out)
{
    const struct cleave_reduction job = { .costs = costs, .policy = method };
    struct cleave_tree *tree;

    CV_MUST(cleave_plan_reduce(&job, &tree, err));
    *out = tree->length_s;
    cleave_tree_free(tree);
}

/* Fill ratios and parts for transfers in rows. */
static void compare(uint32_t n, const double *transfer, double c, double best, int which,
                    struct worst *out)
{
    double *compute = malloc(n * sizeof *compute);
    struct cleave_costs *costs = NULL;

    if (compute == NULL)
        cv_figure_no_memory("a platform");
    for (uint32_t i = 0; i < n; i++)
        compute[i] = c;
    CV_MUST(cleave_costs_new(n, transfer, compute, &costs, err));
    for (int m = 0; m < METHODS; m++) {
        double length;

        length_of(methods[m], costs, &length);
        out->ratio[m] = length / best;
        out->part[m] = out->ratio[m] / worst_bound(m, which, n, out->delta);
    }
    cleave_costs_free(costs);
    free(compute);
}

static void judge(struct platform *p, int which, struct worst *out)
{
    double rows[MOST_NODES * MOST_NODES] = { 0 };
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
    compare(p->n, rows, p->c, optimum(p), which, out);
    for (int m = 0; m < METHODS && out->delta < LEAST_DELTA; m++)
        out->part[m] = 0;
}

/* --- search for bad platforms ------------------------------------------------------- */

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

/* Whether `a` is the worse one for a method; between equals something else decides, so
 * that the order in which they are met does not matter. */
static bool worst_worse(const struct worst *a, const struct worst *b, int method)
{
    if (a->part[method] != b->part[method])
        return a->part[method] > b->part[method];
    if (a->ratio[method] != b->ratio[method])
        return a->ratio[method] > b->ratio[method];
    return a->n < b->n;
}

static void keep_worst(const struct worst *now, struct worst out[METHODS])
{
    for (int m = 0; m < METHODS; m++)
        if (worst_worse(now, &out[m], m))
            out[m] = *now;
}

/* Start from the random platform of a number and change one cost after the other for
 * `steps` steps, keeping what brings `method` nearer to its bound. *out has for each
 * method the worst that was met; *tried is added to. */
static void worst_climb(uint64_t number, int method, int which, uint32_t most_nodes,
                        unsigned steps, struct worst out[METHODS], uint64_t *tried)
{
    struct platform p;
    struct worst at;
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
    judge(&p, which, &at);
    keep_worst(&at, out);
    for (unsigned step = 0; step < steps; step++) {
        struct platform next = p;
        struct worst there;
        const uint32_t i = below(&random, p.n);
        const uint32_t j = below(&random, p.n);

        if (i == j && which == ANY)
            next.c *= between(&random, 0.5, 2);
        else
            next.transfer[i][j] = draw_cost(&random, two, delta);
        judge(&next, which, &there);
        keep_worst(&there, out);
        if (there.part[method] >= at.part[method]) {
            p = next;
            at = there;
        }
    }
    *tried += steps + 1;
}

/* The platform of Theorem 1: transfers cost Delta to a node of lower number and 1 to one
 * of higher, so that some tree takes the optimum of equal costs, and none does better. */
static void worst_built(uint32_t n, double delta, double c, int which, struct worst *out)
{
    double *rows = calloc((size_t)n * n, sizeof *rows);

    if (rows == NULL)
        cv_figure_no_memory("a platform");
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < n; j++)
            rows[(size_t)i * n + j] = i == j ? 0 : i > j ? delta : 1;
    out->n = n;
    out->delta = delta;
    compare(n, rows, c, cv_reduce_length(n, 1, c), which, out);
    free(rows);
}

/* --- Table 1 ------------------------------------------------------------------------ */

enum { SIZES = 16, DELTAS = 4, COSTS = 5, BLOCK = 8, MOST_THREADS = 256 };
enum { TRIED, FOUND, BOUND, PART, BUILT, BUILT_NODES };

static const uint32_t sizes[SIZES] = { 2,  3,  4,  5,  6,  8,  9,  13,
                                       16, 22, 32, 34, 56, 64, 89, 144 };
static const double deltas[DELTAS] = { 2, 10, 100, 1000 };
static const double costs[COSTS] = { 0.01, 0.3, 1, 3, 100 };

struct hunt {
    uint32_t most_nodes;
    unsigned steps;
    struct {
        struct worst worst[CASES][METHODS];
        uint64_t tried[CASES];
    } by[MOST_THREADS]; /* results of each thread */
};

static void climb(void *context, const struct cv_turn *turn)
{
    struct hunt *hunt = context;
    const uint64_t i = turn->number;
    const int which = (int)(i % CASES), method = (int)(i / CASES % METHODS);

    worst_climb(i, method, which, hunt->most_nodes, hunt->steps,
                hunt->by[turn->thread].worst[which],
                &hunt->by[turn->thread].tried[which]);
}

/* Into the first thread's place. */
static void gather(struct hunt *hunt)
{
    for (int t = 1; t < MOST_THREADS; t++)
        for (int which = 0; which < CASES; which++) {
            hunt->by[0].tried[which] += hunt->by[t].tried[which];
            for (int m = 0; m < METHODS; m++)
                if (worst_worse(&hunt->by[t].worst[which][m],
                                &hunt->by[0].worst[which][m], m))
                    hunt->by[0].worst[which][m] = hunt->by[t].worst[which][m];
        }
}

/* The worst of the platforms of Theorem 1. */
static void build(int which, struct worst out[METHODS])
{
    const int ncosts = which == 1 ? COSTS : 1;

    for (int s = 0; s < SIZES; s++)
        for (int d = 0; d < DELTAS; d++)
            for (int c = 0; c < ncosts; c++) {
                const double cost = which == 0 ? 0 : which == 1 ? costs[c] : 1;
                struct worst now;

                worst_built(sizes[s], deltas[d], cost, which, &now);
                for (int m = 0; m < METHODS; m++)
                    if (now.part[m] > out[m].part[m] * (1 + 1e-12))
                        out[m] = now;
            }
}

static void claim_entry(int method, int which, const double *values,
                        struct cv_figure_result *result)
{
    static const char *const claims[CASES][METHODS] = {
        { "binomial, c = 0: at most Delta times the optimum",
          "tree-dyn, c = 0: at most Delta times the optimum",
          "fibonacci, c = 0: at most Delta / log2 phi + Delta / ceil(log2 n)" },
        { "binomial, any c: at most Delta + 1", "tree-dyn, any c: at most Delta + 1",
          "fibonacci, any c: at most Delta / log2 phi + 2 Delta / ceil(log2 n)" },
        { "binomial, c = d: at most (Delta + 1) (1 + 1 / log2 n) log2 phi",
          "tree-dyn, c = d: at most (Delta + 1) (1 + 1 / log2 n) log2 phi",
          "fibonacci, c = d: at most Delta" },
    };
    const double max = fmax(values[PART], values[BUILT]);

    cv_figure_claim(result, max <= 100 * (1 + 1e-9), claims[which][method],
                    "%.1f %% of that at most: %.1f %% on %.0f platforms made "
                    "worse step by step, %.1f %% on that of Theorem 1 (%.0f nodes)",
                    max, values[PART], values[TRIED], values[BUILT], values[BUILT_NODES]);
}

static void fill(const struct hunt *hunt, struct cv_figure_result *result)
{
    for (int which = 0; which < CASES; which++) {
        struct worst built[METHODS] = { { .n = 0 } };

        build(which, built);
        for (int m = 0; m < METHODS; m++) {
            const struct worst *worst = &hunt->by[0].worst[which][m];
            double *values = cv_figure_row(result, "%s, %s", methods[m], cases[which]);

            values[TRIED] = (double)hunt->by[0].tried[which];
            values[FOUND] = worst->ratio[m];
            values[BOUND] = worst_bound(m, which, worst->n, worst->delta);
            values[PART] = 100 * worst->part[m];
            values[BUILT] = 100 * built[m].part[m];
            values[BUILT_NODES] = built[m].n;
            claim_entry(m, which, values, result);
        }
    }
}

/* Theorem 1: the ratio is reached, and for which numbers of nodes it is not. */
static void judge_reached(struct cv_figure_result *result)
{
    struct worst four, five, sixteen;

    worst_built(4, 5, 0, 0, &four);
    worst_built(5, 5, 0, 0, &five);
    worst_built(16, 5, 0, 0, &sixteen);
    cv_figure_claim(
        result,
        fabs(four.part[0] - 1) + fabs(four.part[1] - 1) + fabs(sixteen.part[1] - 1) <
            1e-12,
        "Theorem 1: binomial and tree-dyn reach the ratio Delta",
        "Delta 5: %g and %g times the optimum with 4 nodes, %g and %g with 16",
        four.ratio[0], four.ratio[1], sixteen.ratio[0], sixteen.ratio[1]);
    cv_figure_claim(
        result, fabs(five.part[1] - 1) < 1e-12,
        "on that platform tree-dyn takes D ceil(log2 n) for every n",
        "5 nodes, d 1, D 5: %g instead of 15, as nodes become idle in the order of their "
        "numbers; it does for powers of two",
        3 * five.ratio[1]);
}

static void make(struct cv_figure_result *result)
{
    struct hunt *hunt = cv_figure_alloc(result, 1, sizeof *hunt);

    hunt->most_nodes = result->job->quick ? 5 : MOST_NODES;
    hunt->steps = result->job->quick ? 20 : 60;
    cv_figure_parallel(result->job, result->job->quick ? 270 : 4500, BLOCK, climb, hunt);
    gather(hunt);
    cv_figure_table(
        result, "method, case",
        "platforms|worst ratio|bound there|% of bound|% built|built: nodes",
        "Up to 6 nodes (5 if quick) and Delta from 1.5 to 20 in the search; Delta 2, "
        "10, 100 and 1000 on the platform of Theorem 1. For one node the ratios divide "
        "by log2 1 = 0.");
    fill(hunt, result);
    judge_reached(result);
    CV_PLOT_ADD(result, .title = "How near to the ratio in print: 100 % would be tight",
                .y_label = "worst ratio over the bound (%)", .y_to = 105, .labels = true,
                CV_CURVES({ "small platforms, optimum by trying everything", PART,
                            CV_LINE_MARKS, -0.1 },
                          { "platform of Theorem 1, up to 144 nodes", BUILT,
                            CV_LINE_MARKS, 0.1 }));
}

const struct cv_figure cv_figure_reduce_ratios = {
    .title = "Approximation ratios of three reductions against the worst platforms found",
    .source = "Benoit, Canon and Marchal, Non-clairvoyant reduction algorithms, Table 1 "
              "and Theorem 1",
    .says =
        "With Delta the greatest transfer cost over the least, binomial and tree-dyn "
        "take at most Delta times the optimum if c = 0, Delta + 1 for any c; fibonacci "
        "Delta / log2 phi and a little more, Delta if c = d.",
    .make = make,
};
