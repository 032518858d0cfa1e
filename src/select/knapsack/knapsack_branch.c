/* knapsack_branch.c -- the integer program over the patterns that can matter.
 * SPDX-License-Identifier: MIT
 *
 * At the duals u of the program, an answer misses the bound by at least the sum, over its
 * bins, of what their patterns are worth less than the most. So an answer above the best
 * known one uses only patterns that miss it by less than the gap; if these are few, they
 * are listed, and branching on how many bins use a pattern finds the optimum among them.
 * At every node, duals again give a bound that does not depend on how exactly the program
 * was solved. */
#include "select/knapsack/knapsack_master.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LISTED = 20000 };

struct listing {
    const struct cv_instance *instance;
    struct cv_master *pool;
    struct cv_work *work;
    struct cv_single_item *items; /* sizes by decreasing worth per weight  */
    uint32_t nitems, group;
    double min; /* worth of a pattern that matters        */
    uint32_t *count;
    bool complete, made;
};

/* Whether nothing more has room in the pattern. */
static bool is_full(const struct listing *listing, cv_parallel_decoder rest)
{
    for (uint32_t i = 0; i < listing->nitems; i++) {
        const struct cv_single_item *item = &listing->items[i];

        if (item->weight <= rest && listing->count[item->tag] < item->count)
            return false;
    }
    return true;
}

/* All patterns with the counts of the first `next` items as they are. */
static void list_from(struct listing *listing, uint32_t next, cv_parallel_decoder rest,
                      double worth)
{
    const struct cv_single_item *item = &listing->items[next];
    uint32_t count;

    if (!listing->complete || !listing->made)
        return;
    if (!cv_work_spend(listing->work, 4)) {
        listing->complete = false;
        return;
    }
    if (next == listing->nitems) {
        if (worth < listing->min || !is_full(listing, rest))
            return;
        if (listing->pool->npatterns >= MOST_LISTED) {
            listing->complete = false;
            return;
        }
        listing->made = cv_master_append(listing->pool, listing->group, listing->count);
        return;
    }
    if (worth + cv_wide_double(rest) * (item->profit / cv_wide_double(item->weight)) <
        listing->min)
        return;
    count = cv_wide_times(rest, item->weight, item->count);
    for (uint32_t c = count + 1; c-- > 0;) {
        const double here = worth + item->profit * c;
        const cv_parallel_decoder left = rest - item->weight * c;

        listing->count[item->tag] = c;
        list_from(listing, next + 1, left, here);
    }
    listing->count[item->tag] = 0;
}

/* Fill the pool with the patterns that miss the bound by no more than the gap. */
static bool list_patterns(const struct cv_master *master, const double *upper, double gap,
                          struct cv_master *pool, struct cv_work *work, bool *complete)
{
    const struct cv_instance *instance = master->instance;
    struct listing listing = { .instance = instance, .pool = pool, .work = work };

    listing.items = calloc(instance->nsizes + 1, sizeof *listing.items);
    listing.count = calloc(instance->nsizes, sizeof *listing.count);
    listing.made = listing.items != NULL && listing.count != NULL;
    listing.complete = true;
    for (uint32_t s = 0; s < instance->nsizes && listing.made; s++)
        if (instance->sizes[s].count > 0)
            listing.items[listing.nitems++] =
                (struct cv_single_item){ instance->sizes[s].weight,
                                         fmax(master->dual[s], 0),
                                         instance->sizes[s].count, s };
    listing.made = listing.made && cv_single_sort(listing.items, listing.nitems);
    for (uint32_t g = 0; g < instance->ngroups && listing.made && listing.complete; g++) {
        listing.group = g;
        listing.min = upper[g] - gap;
        list_from(&listing, 0, instance->groups[g].capacity, 0);
    }
    *complete = listing.complete;
    free(listing.items);
    free(listing.count);
    return listing.made;
}

/* --- branching ------------------------------------------------------------------------ */

struct branching {
    struct cv_master *pool;
    struct cv_work *work;
    struct cv_fill *best, *trial;
    double *values;
    uint32_t *fixed; /* bins per pattern                          */
    double closed;   /* no leaf or branch left aside reaches more */
    bool made;
};

/* A bound on the profit below the node, from the duals. */
static double node_bound(const struct cv_master *pool)
{
    const struct cv_instance *instance = pool->instance;
    double bound = 0, worth[CV_MASTER_ROWS];

    for (uint32_t g = 0; g < instance->ngroups; g++)
        worth[g] = fmax(pool->dual[instance->nsizes + g], 0);
    for (uint32_t turn = 0; turn < 2; turn++)
        for (uint32_t p = 0; p < pool->npatterns; p++) {
            const uint32_t *count = cv_master_pattern(pool, p), g = pool->group[p];
            double here = 0;

            /* First what unlimited patterns are worth, then what limited ones add. */
            if (isinf(*cv_master_limit(pool, p)) != (turn == 0) ||
                *cv_master_limit(pool, p) <= 0)
                continue;
            for (uint32_t s = 0; s < instance->nsizes; s++)
                here += fmax(pool->dual[s], 0) * count[s];
            if (turn == 0)
                worth[g] = fmax(worth[g], here);
            else
                bound += *cv_master_limit(pool, p) * fmax(here - worth[g], 0);
        }
    for (uint32_t g = 0; g < instance->ngroups; g++)
        bound += worth[g] * pool->rhs[instance->nsizes + g];
    for (uint32_t s = 0; s < instance->nsizes; s++)
        bound += fmax(pool->dual[s], 0) * pool->rhs[s];
    for (uint32_t i = 0; i < instance->nsegments; i++) {
        const struct cv_segment *segment = &instance->segments[i];

        bound +=
            segment->count *
            fmax(segment->profit / pool->scale - fmax(pool->dual[segment->size], 0), 0);
    }
    return bound * pool->scale;
}

/* Make an answer of the fixed bins and the whole part of the values. */
static void round_down(struct branching *branching)
{
    const struct cv_master *pool = branching->pool;
    const struct cv_instance *instance = pool->instance;
    struct cv_fill *trial = branching->trial;
    uint32_t next[CV_MASTER_ROWS] = { 0 };

    cv_fill_clear(trial);
    for (uint32_t p = 0; p < pool->npatterns; p++) {
        const struct cv_knapsack_group *group = &instance->groups[pool->group[p]];
        const uint32_t *count = cv_master_pattern(pool, p);
        uint32_t bins =
            branching->fixed[p] + (uint32_t)floor(branching->values[p] + 1e-6);

        for (; bins > 0 && next[pool->group[p]] < group->nbins; bins--) {
            const uint32_t bin = group->first + next[pool->group[p]]++;

            for (uint32_t s = 0; s < instance->nsizes && branching->made; s++) {
                const uint32_t left = instance->sizes[s].count - trial->used[s];

                branching->made =
                    cv_fill_put(trial, bin, s, count[s] < left ? count[s] : left);
            }
        }
    }
    branching->made = branching->made && cv_fill_greedy(trial, branching->work);
    if (branching->made && cv_fill_count(trial) > branching->best->profit)
        branching->made = cv_fill_copy(branching->best, trial);
}

/* The pattern whose number of bins is least whole; UINT32_MAX: all are whole. */
static uint32_t choose_pattern(const struct branching *branching)
{
    uint32_t chosen = UINT32_MAX;
    double max = 1e-6;

    for (uint32_t p = 0; p < branching->pool->npatterns; p++) {
        const double value = branching->values[p], part = value - floor(value);

        if (part < 1 - 1e-6 && part > max) {
            max = part;
            chosen = p;
        }
    }
    return chosen;
}

/* Put `bins` more bins of a pattern into the fixed part. */
static void shift(struct branching *branching, uint32_t pattern, double bins)
{
    struct cv_master *pool = branching->pool;
    const uint32_t *count = cv_master_pattern(pool, pattern);

    for (uint32_t s = 0; s < pool->instance->nsizes; s++)
        pool->rhs[s] += bins * count[s];
    pool->rhs[pool->instance->nsizes + pool->group[pattern]] -= bins;
    *cv_master_limit(pool, pattern) -= bins;
    branching->fixed[pattern] = (uint32_t)((double)branching->fixed[pattern] + bins);
}

/* Look below a node; `parent` bounds what is there. */
static void branch(struct branching *branching, double parent)
{
    struct cv_master *pool = branching->pool;
    double bound, whole, limit;
    uint32_t p;

    if (cv_reaches(branching->best->profit, parent) || !branching->made)
        return;
    cv_master_reset(pool);
    (void)cv_work_spend(branching->work,
                        (uint64_t)pool->npatterns * pool->instance->nsizes);
    (void)cv_master_solve(pool, branching->work);
    bound = fmin(parent, cv_instance_round(pool->instance, node_bound(pool)));
    if (cv_reaches(branching->best->profit, bound))
        return;
    cv_master_values(pool, branching->values);
    round_down(branching);
    p = choose_pattern(branching);
    if (p == UINT32_MAX || branching->work->left == 0) {
        branching->closed = fmax(branching->closed, bound);
        return;
    }
    whole = floor(branching->values[p]);
    limit = *cv_master_limit(pool, p);
    if (pool->rhs[pool->instance->nsizes + pool->group[p]] >= whole + 1 &&
        limit >= whole + 1) {
        shift(branching, p, whole + 1);
        branch(branching, bound);
        shift(branching, p, -(whole + 1));
    }
    *cv_master_limit(pool, p) = whole;
    branch(branching, bound);
    *cv_master_limit(pool, p) = limit;
}

bool cv_branch_solve(const struct cv_generator *generator, struct cv_work *work,
                     struct cv_fill *best, struct cv_fill *trial, double *bound)
{
    const struct cv_master *master = &generator->master;
    /* A better answer has at least the grain more. */
    const double min = best->profit + (1 - 1e-6) * master->instance->grain;
    const double missed = fmax(cv_generator_bound(generator) - min, 0);
    const double gap = missed / master->scale * (1 + 1e-9) + 1e-9;
    struct cv_master pool;
    struct branching branching = {
        .pool = &pool, .work = work, .best = best, .trial = trial, .made = true
    };
    bool listed = false;

    if (!cv_master_init(&pool, master->instance))
        return false;
    branching.made = list_patterns(master, generator->upper, gap, &pool, work, &listed);
    if (branching.made && listed) {
        const size_t n = pool.npatterns > 0 ? pool.npatterns : 1;

        branching.values = calloc(n, sizeof *branching.values);
        branching.fixed = calloc(n, sizeof *branching.fixed);
        branching.made = branching.values != NULL && branching.fixed != NULL;
        if (branching.made)
            branch(&branching, *bound);
        if (branching.made)
            *bound = fmin(*bound, fmax(best->profit, branching.closed));
    }
    free(branching.values);
    free(branching.fixed);
    cv_master_done(&pool);
    return branching.made;
}
