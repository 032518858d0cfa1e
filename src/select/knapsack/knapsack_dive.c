/* knapsack_dive.c -- answers made of patterns.
 * SPDX-License-Identifier: MIT
 *
 * Diving: patterns used once or more by the program are fixed, else the one nearest to a
 * whole bin, and the program is solved again for the bins that are left. Later, a few bins
 * are emptied at a time and filled in the same way, or by chance. */
#include "select/knapsack/knapsack_master.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROOT_ROUNDS = 2000, DIVE_ROUNDS = 12, MOST_PATTERNS = 600, DIVES = 4 };
/* With no more bins than this all are looked at again after a dive. */
enum { FEW_BINS = 16 };
/* Work for a pattern of most worth, where bounds count and elsewhere. */
static const uint64_t root_price = 400000, dive_price = 20000;

/* Fill an empty bin of the pattern's group; false in *placed when there is none. */
static bool place(struct cv_generator *generator, uint32_t pattern, bool *placed)
{
    const struct cv_instance *instance = generator->instance;
    const struct cv_knapsack_group *group =
        &instance->groups[generator->master.group[pattern]];
    const uint32_t *count = cv_master_pattern(&generator->master, pattern);
    uint32_t bin = group->first;

    while (bin < group->first + group->nbins && generator->trial.bins[bin].nparts > 0)
        bin++;
    *placed = bin < group->first + group->nbins;
    for (uint32_t s = 0; s < instance->nsizes && *placed; s++) {
        const uint32_t left = cv_generator_left(generator, s);

        if (!cv_fill_put(&generator->trial, bin, s, count[s] < left ? count[s] : left))
            return false;
    }
    return true;
}

/* Make the program that of the empty bins; returns how many there are. */
static uint32_t set_rows(struct cv_generator *generator)
{
    const struct cv_instance *instance = generator->instance;
    uint32_t empty = 0;

    for (uint32_t s = 0; s < instance->nsizes; s++)
        generator->master.rhs[s] = generator->trial.used[s];
    for (uint32_t g = 0; g < instance->ngroups; g++) {
        const struct cv_knapsack_group *group = &instance->groups[g];
        uint32_t here = 0;

        for (uint32_t i = 0; i < group->nbins; i++)
            here += generator->trial.bins[group->first + i].nparts == 0;
        generator->master.rhs[instance->nsizes + g] = here;
        empty += here;
    }
    cv_master_reset(&generator->master);
    return empty;
}

static bool read_values(struct cv_generator *generator)
{
    const size_t n = generator->master.npatterns;

    if (!CV_ROOM(generator->values, &generator->values_capacity, n))
        return false;
    cv_master_values(&generator->master, generator->values);
    return true;
}

/* Fix whole bins of the program's answer, or else one nearly whole; *placed: how many. */
static bool fix_patterns(struct cv_generator *generator, bool vary, uint32_t *placed)
{
    const uint32_t n = generator->master.npatterns;
    uint32_t nearest = UINT32_MAX;
    double max = 1e-6;

    *placed = 0;
    for (uint32_t p = 0; p < n; p++) {
        const double noise = vary ? 0.5 * cv_random_uniform(&generator->random) : 0;
        const double value = generator->values[p];

        for (uint32_t whole = (uint32_t)(value + 1e-6); whole > 0; whole--) {
            bool done;

            if (!place(generator, p, &done))
                return false;
            *placed += done;
        }
        if (value > 1e-6 && value + noise > max) {
            max = value + noise;
            nearest = p;
        }
    }
    if (*placed == 0 && nearest != UINT32_MAX) {
        bool done;

        if (!place(generator, nearest, &done))
            return false;
        *placed += done;
    }
    return true;
}

/* Note which bins are to be looked at again in the end. */
static void open_bins(struct cv_generator *generator)
{
    for (uint32_t b = 0; b < generator->instance->nbins; b++)
        generator->open[b] = generator->instance->nbins <= FEW_BINS ||
                             generator->trial.bins[b].nparts == 0;
}

/* Put in what has room, and look at the open bins again. */
static bool finish(struct cv_generator *generator)
{
    struct cv_work share = cv_work_share(generator->work, generator->work->left / 4);
    const bool made =
        cv_fill_greedy(&generator->trial, &share) &&
        cv_fill_improve(&generator->trial, generator->open, generator->room, &share);

    cv_work_return(generator->work, &share);
    return made;
}

/* Fill the empty bins of the trial. */
static bool dive(struct cv_generator *generator, bool vary)
{
    uint32_t placed = 1;

    open_bins(generator);
    generator->price = dive_price;
    if (generator->master.npatterns > generator->nroot + MOST_PATTERNS)
        generator->master.npatterns = generator->nroot;
    while (placed > 0 && generator->work->left > 0 && set_rows(generator) > 1) {
        double bound = INFINITY;

        if (!cv_generate(generator, DIVE_ROUNDS, 0, &bound) || !read_values(generator) ||
            !fix_patterns(generator, vary, &placed))
            return false;
    }
    return finish(generator);
}

/* Empty a few bins, chosen at random, of the trial. */
static void empty_some(struct cv_generator *generator)
{
    const uint32_t nbins = generator->instance->nbins;
    uint32_t max = nbins < 10 ? nbins : 10, wanted;

    wanted = 2 + (uint32_t)(cv_random_uniform(&generator->random) * (max - 1));
    for (uint32_t i = 0; i < wanted; i++)
        cv_fill_empty_bin(&generator->trial,
                          (uint32_t)(cv_random_uniform(&generator->random) * nbins));
}

/* Fill a few bins of the best answer anew: by diving, or by chance, which is cheaper. */
static bool repair_some(struct cv_generator *generator, bool by_chance,
                        struct cv_fill *best)
{
    if (!cv_fill_copy(&generator->trial, best))
        return false;
    (void)cv_work_spend(generator->work, 24 * ((uint64_t)generator->instance->nbins +
                                               generator->instance->nsegments));
    empty_some(generator);
    if (by_chance) {
        open_bins(generator);
        if (!cv_fill_noisily(&generator->trial, &generator->random, generator->room,
                             generator->work) ||
            !finish(generator))
            return false;
    } else if (!dive(generator, true)) {
        return false;
    }
    if (generator->trial.profit > best->profit &&
        !cv_fill_pairs(&generator->trial, generator->room, generator->work))
        return false;
    return generator->trial.profit < best->profit ||
           cv_fill_copy(best, &generator->trial);
}

/* Do so while there is work left, half of it in each way. */
static bool repair(struct cv_generator *generator, struct cv_fill *best, double bound)
{
    uint64_t spent[2] = { 0, 0 };

    while (generator->work->left > 0 && !cv_reaches(best->profit, bound)) {
        const bool by_chance = spent[1] < spent[0];
        const uint64_t before = generator->work->spent;

        if (!repair_some(generator, by_chance, best))
            return false;
        spent[by_chance] += generator->work->spent - before;
    }
    return true;
}

/* --- all of it ------------------------------------------------------------------------ */

/* The bins of an answer are patterns. */
static bool add_bins(struct cv_generator *generator, const struct cv_fill *fill)
{
    const struct cv_instance *instance = generator->instance;

    for (uint32_t g = 0; g < instance->ngroups; g++)
        for (uint32_t i = 0; i < instance->groups[g].nbins; i++) {
            const struct cv_fill_bin *bin = &fill->bins[instance->groups[g].first + i];

            memset(generator->count, 0, instance->nsizes * sizeof *generator->count);
            for (size_t k = 0; k < bin->nparts; k++)
                generator->count[bin->parts[k].size] += bin->parts[k].count;
            cv_generator_complete(generator, bin->left);
            if (!cv_master_add(&generator->master, g, generator->count))
                return false;
        }
    return true;
}

static bool root(struct cv_generator *generator, const struct cv_fill *best,
                 double *bound)
{
    generator->price = root_price;
    generator->priced = false;
    cv_fill_clear(&generator->trial);
    (void)set_rows(generator);
    return cv_generate(generator, ROOT_ROUNDS, best->profit, bound);
}

static bool solve(struct cv_generator *generator, struct cv_fill *best, double *bound)
{
    struct cv_work *all = generator->work, share = cv_work_share(all, all->left / 2);
    bool made;

    cv_fill_clear(&generator->trial);
    if (!add_bins(generator, best))
        return false;
    generator->work = &share;
    made = root(generator, best, bound);
    generator->nroot = generator->master.npatterns;
    for (unsigned i = 0; made && i < DIVES && !cv_reaches(best->profit, *bound); i++) {
        cv_fill_clear(&generator->trial);
        made = dive(generator, i > 0) && (generator->trial.profit <= best->profit ||
                                          cv_fill_copy(best, &generator->trial));
    }
    cv_work_return(all, &share);
    share = cv_work_share(all, all->left / 2);
    if (made && !cv_reaches(best->profit, *bound)) {
        made = root(generator, best, bound) &&
               (!generator->priced ||
                cv_branch_solve(generator, &share, best, &generator->trial, bound));
        cv_work_return(all, &share);
    }
    generator->work = all;
    return made && repair(generator, best, *bound);
}

bool cv_patterns_solve(const struct cv_instance *instance, struct cv_work *work,
                       struct cv_single_workspace *room, struct cv_fill *best,
                       double *bound)
{
    struct cv_generator generator;
    double own_bound = *bound - instance->free_profit;
    bool made;

    if (instance->nsizes + instance->ngroups > CV_MASTER_ROWS || instance->nsizes == 0)
        return true;
    made = cv_generator_init(&generator, instance, room, work) &&
           solve(&generator, best, &own_bound);
    cv_generator_done(&generator);
    *bound = fmin(*bound, own_bound + instance->free_profit);
    return made;
}
