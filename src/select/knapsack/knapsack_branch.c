/* knapsack_branch.c -- the integer program over the patterns that can matter.
 * SPDX-License-Identifier: MIT
 *
 * At the duals u of the program, an answer misses the bound by at least the sum, over its
 * bins, of what their patterns are worth less than the most. So an answer above the best
 * known one uses only patterns that miss it by less than the gap; if these are few, they
 * are listed, and branching on how many bins use a pattern finds the optimum among them.
 * At every node, duals again give a bound that does not depend on how exactly the program
 * was solved. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "select/knapsack/knapsack_master.h"

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
static bool is_full(const struct listing *listing, cv_wide rest)
{
    for (uint32_t i = 0; i < listing->nitems; i++) {
        const struct cv_single_item *item = &listing->items[i];

        if (item->weight <= rest && listing->count[item->tag] < item->count)
            return false;
    }
    return true;
}

/* All patterns with the counts of the first `next` items as they are. */
static void list_from(struct listing *listing, uint32_t next, cv_wide rest, double worth)
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
        const cv_wide left = rest - item->weight * c;

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

/* --- answers made of patterns ------------------------------------------------------ */

/* Diving: patterns used once or more by the program are fixed, else the one nearest to a
 * whole bin, and the program is solved again for the bins that are left. Later, a few bins
 * are emptied at a time and filled in the same way, or by chance. */

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
