/* reduce_costs.c -- what sending and combining partials costs. SPDX-License-Identifier: MIT */
#include "model/reduce/reduce_costs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/random.h"

static bool usable(const double *costs, size_t count, size_t skip_step)
{
    for (size_t i = 0; i < count; i++)
        if (i % skip_step != 0 && (!(costs[i] >= 0) || isinf(costs[i])))
            return false;
    return true;
}

enum cleave_status cleave_costs_new(uint32_t nodes, const double *transfer,
                                    const double *compute, struct cleave_costs **out,
                                    struct cleave_error *err)
{
    struct cleave_costs *costs;
    size_t cells = (size_t)nodes * nodes;

    if (nodes < 1)
        return cv_fail(err, CLEAVE_EINPUT, "expected 1 or more nodes, got %u", nodes);
    /* The diagonal is not used: every (nodes + 1)-th cell. */
    if (!usable(transfer, cells, (size_t)nodes + 1))
        return cv_fail(err, CLEAVE_EINPUT, "expected transfer costs of 0 or more");
    for (uint32_t i = 0; i < nodes; i++)
        if (!(compute[i] >= 0) || isinf(compute[i]))
            return cv_fail(err, CLEAVE_EINPUT, "expected compute costs of 0 or more");
    costs = calloc(1, sizeof *costs);
    if (costs == NULL)
        return cv_fail_memory(err, "costs");
    cv_arena_init(&costs->arena);
    costs->nodes = nodes;
    costs->transfer = cv_array(&costs->arena, cells, sizeof *costs->transfer);
    costs->compute = cv_array(&costs->arena, nodes, sizeof *costs->compute);
    if (costs->transfer == NULL || costs->compute == NULL) {
        cleave_costs_free(costs);
        return cv_fail_memory(err, "costs");
    }
    memcpy(costs->transfer, transfer, cells * sizeof *transfer);
    memcpy(costs->compute, compute, nodes * sizeof *compute);
    *out = costs;
    return CLEAVE_OK;
}

void cleave_costs_free(struct cleave_costs *costs)
{
    if (costs == NULL)
        return;
    cv_arena_done(&costs->arena);
    free(costs);
}

uint32_t cleave_costs_nodes(const struct cleave_costs *costs)
{
    return costs->nodes;
}

void cv_reduce_costs_seed(struct cv_reduce_costs *costs, uint64_t seed)
{
    costs->transfer_seed = cv_random_derive(seed, 0);
    costs->compute_seed = cv_random_derive(seed, 1);
    costs->ready_seed = cv_random_derive(seed, 2);
}

/* By how much transfers between clusters raise the mean over all pairs. */
static double mean_factor(const struct cv_reduce_costs *costs)
{
    double n = costs->nodes, size = costs->cluster, near, last;

    if (costs->cluster == 0 || costs->nodes < 2)
        return 1;
    last = fmod(n, size);
    near = (floor(n / size) * size * (size - 1) + last * (last - 1)) / (n * (n - 1));
    return near + (1 - near) * costs->remote;
}

double cv_mean_transfer(const struct cv_reduce_costs *costs)
{
    double sum = 0;
    uint32_t n = costs->nodes;

    if (costs->exact == NULL)
        return cv_distribution_mean(&costs->transfer) * mean_factor(costs);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < n; j++)
            if (i != j)
                sum += costs->exact->transfer[(size_t)i * n + j];
    return n > 1 ? sum / ((double)n * (n - 1)) : 0;
}

double cv_mean_compute(const struct cv_reduce_costs *costs)
{
    double sum = 0;

    if (costs->exact == NULL)
        return cv_distribution_mean(&costs->compute);
    for (uint32_t i = 0; i < costs->nodes; i++)
        sum += costs->exact->compute[i];
    return sum / costs->nodes;
}
