/* knapsack_patterns.c -- the patterns that linear programming asks for.
 * SPDX-License-Identifier: MIT
 *
 * Column generation (Gilmore and Gomory, Operations Research 9, 1961): the duals of the
 * program over the patterns known so far are the worth of an item in a bin; the pattern of
 * most worth is a single knapsack. With any worths u >= 0,
 *
 *     sum_i count_i max(0, profit_i - u_i) + sum_g bins_g max_{patterns of g} u a
 *
 * is an upper bound, far better than the surrogate one when bins hold few items. */
#include "select/knapsack/knapsack_master.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool cv_generator_init(struct cv_generator *generator, const struct cv_instance *instance,
                       struct cv_single_workspace *room, struct cv_work *work)
{
    *generator =
        (struct cv_generator){ .instance = instance, .room = room, .work = work };
    cv_random_at(&generator->random, 1, instance->nsizes, instance->nbins, 0);
    generator->single.items = malloc(instance->nsizes * sizeof(struct cv_single_item));
    generator->single.best = calloc(instance->nsizes, sizeof(uint32_t));
    generator->count = calloc(instance->nsizes, sizeof(uint32_t));
    generator->upper = calloc(instance->ngroups, sizeof(double));
    generator->open = calloc(instance->nbins, sizeof(bool));
    return generator->single.items != NULL && generator->single.best != NULL &&
           generator->count != NULL && generator->upper != NULL &&
           generator->open != NULL && cv_fill_init(&generator->trial, instance) &&
           cv_master_init(&generator->master, instance);
}

void cv_generator_done(struct cv_generator *generator)
{
    free(generator->single.items);
    free(generator->single.best);
    free(generator->count);
    free(generator->upper);
    free(generator->values);
    free(generator->open);
    cv_fill_done(&generator->trial);
    if (generator->master.instance != NULL)
        cv_master_done(&generator->master);
}

uint32_t cv_generator_left(const struct cv_generator *generator, uint32_t size)
{
    return generator->instance->sizes[size].count - generator->trial.used[size];
}

void cv_generator_complete(struct cv_generator *generator, cv_parallel_decoder rest)
{
    for (uint32_t s = 0; s < generator->instance->nsizes; s++) {
        const cv_parallel_decoder weight = generator->instance->sizes[s].weight;
        const uint32_t more =
            cv_wide_times(rest, weight,
                          cv_generator_left(generator, s) - generator->count[s]);

        generator->count[s] += more;
        rest -= weight * more;
    }
}

/* Look for a pattern worth more than the dual of its group, and add it. */
static bool price_group(struct cv_generator *generator, uint32_t group, double tolerance,
                        bool *added)
{
    const struct cv_instance *instance = generator->instance;
    const double *dual = generator->master.dual;
    struct cv_single *single = &generator->single;
    struct cv_single_result result;
    cv_parallel_decoder rest = instance->groups[group].capacity;
    uint32_t known = generator->master.npatterns;

    single->nitems = 0;
    for (uint32_t s = 0; s < instance->nsizes; s++)
        if (dual[s] > 1e-12 && cv_generator_left(generator, s) > 0)
            single->items[single->nitems++] =
                (struct cv_single_item){ instance->sizes[s].weight, dual[s],
                                         cv_generator_left(generator, s), s };
    if (!cv_single_sort(single->items, single->nitems))
        return false;
    single->capacity = rest;
    single->floor = fmax(dual[instance->nsizes + group], 0);
    single->tolerance = tolerance;
    single->max = generator->price;
    if (!cv_single_solve(single, generator->room, generator->work, &result))
        return false;
    generator->upper[group] = result.upper;
    if (result.value < 0)
        return true;
    memset(generator->count, 0, instance->nsizes * sizeof *generator->count);
    for (uint32_t i = 0; i < single->nitems; i++) {
        generator->count[single->items[i].tag] = single->best[i];
        rest -= single->items[i].weight * single->best[i];
    }
    cv_generator_complete(generator, rest);
    if (!cv_master_add(&generator->master, group, generator->count))
        return false;
    *added = *added || generator->master.npatterns > known;
    return true;
}

double cv_generator_bound(const struct cv_generator *generator)
{
    const struct cv_instance *instance = generator->instance;
    const struct cv_master *master = &generator->master;
    double bound = 0;

    for (uint32_t i = 0; i < instance->nsegments; i++) {
        const struct cv_segment *segment = &instance->segments[i];
        const double worth = fmax(master->dual[segment->size], 0);

        bound += segment->count * fmax(segment->profit / master->scale - worth, 0);
    }
    for (uint32_t s = 0; s < instance->nsizes; s++)
        bound += fmax(master->dual[s], 0) * master->rhs[s];
    for (uint32_t g = 0; g < instance->ngroups; g++)
        bound += generator->upper[g] * master->rhs[instance->nsizes + g];
    return bound * master->scale;
}

bool cv_generate(struct cv_generator *generator, unsigned rounds, double best,
                 double *bound)
{
    struct cv_master *master = &generator->master;
    const uint32_t nsizes = generator->instance->nsizes;

    for (unsigned round = 0; round < rounds && generator->work->left > 0; round++) {
        double tolerance, min;
        bool added = false;

        generator->priced = false;
        if (!cv_master_solve(master, generator->work))
            return true;
        min = fmax(master->objective, best / master->scale);
        tolerance =
            1e-3 * (*bound / master->scale - min) / (generator->instance->nbins + 1.0);
        tolerance = fmax(tolerance, 1e-10);
        for (uint32_t g = 0; g < generator->instance->ngroups; g++)
            if (master->rhs[nsizes + g] > 0 &&
                !price_group(generator, g, tolerance, &added))
                return false;
        generator->priced = true;
        *bound = fmin(*bound, cv_instance_round(generator->instance,
                                                cv_generator_bound(generator)));
        if (!added || cv_reaches(best, *bound))
            break;
    }
    return true;
}
