/* lp_order.c -- the best sizes for a send order, by linear programming.
 * SPDX-License-Identifier: MIT
 *
 * Least T such that for every chunk k
 *
 *     sum over l <= k of (beta_l + x_l / B_l)
 *       + sum over l >= k of the same worker of (alpha_l + x_l / S_l)   <= T
 *
 * and the x_l >= 0 sum to the load: a worker ends when, for some chunk of its own, that
 * chunk and all later ones are computed without a pause after its arrival. */
#include "lp_order.h"

#include <math.h>

#if defined(CLEAVE_HAVE_CLP) || defined(CLEAVE_WITH_CLP)
#include <stdlib.h>
#include <coin/Clp_C_Interface.h>

int lp_order_available(void)
{
    return 1;
}

struct program {
    CoinBigIndex *start;
    int *row;
    double *value, *lower, *upper, *floor, *ceiling, *cost;
};

static int grow_array(struct program *p, size_t n)
{
    const size_t entries = n * (n + 1) + n;

    p->start = malloc((n + 2) * sizeof *p->start);
    p->row = malloc(entries * sizeof *p->row);
    p->value = malloc(entries * sizeof *p->value);
    p->lower = malloc((n + 1) * sizeof *p->lower);
    p->upper = malloc((n + 1) * sizeof *p->upper);
    p->floor = malloc((n + 1) * sizeof *p->floor);
    p->ceiling = malloc((n + 1) * sizeof *p->ceiling);
    p->cost = malloc((n + 1) * sizeof *p->cost);
    return p->start != NULL && p->row != NULL && p->value != NULL && p->lower != NULL &&
           p->upper != NULL && p->floor != NULL && p->ceiling != NULL && p->cost != NULL;
}

static void free_room(struct program *p)
{
    free(p->start);
    free(p->row);
    free(p->value);
    free(p->lower);
    free(p->upper);
    free(p->floor);
    free(p->ceiling);
    free(p->cost);
}

/* Columns x_0 .. x_(n-1), T; rows: one per chunk, then the sum. Sizes are in parts of
 * the load, so that the numbers do not depend on its magnitude. */
static void fill(struct program *p, const struct cleave_worker *workers, double load,
                 const uint32_t *seq, size_t n)
{
    int entries = 0;
    double sent_s = 0;

    for (size_t l = 0; l < n; l++) {
        const struct cleave_worker *worker = &workers[seq[l]];

        p->start[l] = entries;
        for (size_t k = 0; k < n; k++) {
            const double value =
                (l <= k ? load / worker->bandwidth_ups : 0) +
                (l >= k && seq[l] == seq[k] ? load / worker->speed_ups : 0);

            if (value == 0)
                continue;
            p->row[entries] = (int)k;
            p->value[entries++] = -value;
        }
        p->row[entries] = (int)n;
        p->value[entries++] = 1;
        p->floor[l] = p->cost[l] = 0;
        p->ceiling[l] = 1;
    }
    p->start[n] = entries;
    for (size_t k = 0; k < n; k++) {
        double latency_s = 0;

        for (size_t l = k; l < n; l++)
            if (seq[l] == seq[k])
                latency_s += workers[seq[l]].compute_latency_s;
        sent_s += workers[seq[k]].latency_s;
        p->row[entries] = (int)k;
        p->value[entries++] = 1;
        p->lower[k] = sent_s + latency_s;
        p->upper[k] = HUGE_VAL;
    }
    p->start[n + 1] = entries;
    p->lower[n] = p->upper[n] = 1;
    p->floor[n] = 0;
    p->ceiling[n] = HUGE_VAL;
    p->cost[n] = 1;
}

double lp_order_optimum(const struct cleave_worker *workers, double load,
                        const uint32_t *seq, size_t n, double *units)
{
    struct program p = { 0 };
    Clp_Simplex *model = NULL;
    double optimum = NAN;

    if (grow_array(&p, n))
        model = Clp_newModel();
    if (model != NULL) {
        fill(&p, workers, load, seq, n);
        Clp_setLogLevel(model, 0);
        Clp_setPrimalTolerance(model, 1e-10);
        Clp_setDualTolerance(model, 1e-10);
        Clp_loadProblem(model, (int)n + 1, (int)n + 1, p.start, p.row, p.value, p.floor,
                        p.ceiling, p.cost, p.lower, p.upper);
        if (Clp_dual(model, 0) == 0) {
            optimum = Clp_objectiveValue(model);
            for (size_t k = 0; units != NULL && k < n; k++)
                units[k] = load * Clp_primalColumnSolution(model)[k];
        }
        Clp_deleteModel(model);
    }
    free_room(&p);
    return optimum;
}

#else

int lp_order_available(void)
{
    return 0;
}

double lp_order_optimum(const struct cleave_worker *workers, double load,
                        const uint32_t *seq, size_t n, double *units)
{
    (void)workers;
    (void)load;
    (void)seq;
    (void)n;
    (void)units;
    return NAN;
}

#endif
