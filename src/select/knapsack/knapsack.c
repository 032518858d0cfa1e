/* knapsack.c -- the multiple knapsack, from cheap answers to proved ones.
 * SPDX-License-Identifier: MIT */
#include "select/knapsack/knapsack.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/fail.h"
#include "select/knapsack/knapsack_internal.h"

/* --- answers made of patterns ------------------------------------------------------ */

/* Diving: patterns used once or more by the program are fixed, else the one nearest to a whole
 * bin, and the program is solved again for the bins that are left. Later, a few bins are
 * emptied at a time and filled in the same way, or at random.
 * 
 * Branching: at the duals u of the program, an answer misses the bound by at least the sum, over
 * its bins, of the worth that their patterns lack to the most. So an answer above the best
 * known one uses only patterns that miss it by less than the gap; if these are few, they are
 * listed, and branching on the number of bins of a pattern finds the optimum among them. At
 * every node duals again give a bound that does not depend on how exactly the program was
 * solved. */

enum { MOST_LISTED = 20000 };

struct listing {
    const struct cv_instance *instance;
    struct cv_master *pool;
    struct cv_work *work;
    struct cv_single *single; /* sizes by decreasing worth per weight  */
    double min;               /* worth of a pattern that matters        */
    uint32_t *count;
    bool complete;
};

static bool is_full(const struct listing *listing, cv_wide rest)
{
    for (uint32_t i = 0; i < listing->single->nitems; i++) {
        const struct cv_single_item *item = &listing->single->items[i];

        if (item->weight <= rest && listing->count[item->tag] < item->count)
            return false;
    }
    return true;
}

/* All patterns with the present counts of the first `next` items. */
static void list_from(struct listing *listing, uint32_t next, cv_wide rest, double worth)
{
    const struct cv_single_item *item = &listing->single->items[next];
    uint32_t count;

    listing->complete = listing->complete && cv_work_spend(listing->work, 4);
    if (!listing->complete)
        return;
    if (next == listing->single->nitems) {
        if (worth < listing->min || !is_full(listing, rest))
            return;
        listing->complete = listing->pool->npatterns < MOST_LISTED;
        if (listing->complete)
            cv_master_append(listing->pool, listing->count);
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

/* Fill the pool with the patterns that miss the bound by no more than the gap. False: there are
 * too many. */
static bool list_patterns(const struct cv_generator *generator, double gap,
                          struct cv_master *pool, struct cv_work *work)
{
    const struct cv_instance *instance = generator->instance;
    struct cv_single *single = generator->single;
    struct listing listing = { .instance = instance,
                               .pool = pool,
                               .work = work,
                               .single = single,
                               .min = generator->upper - gap,
                               .count = generator->count,
                               .complete = true };

    memset(listing.count, 0, instance->nsizes * sizeof *listing.count);
    single->nitems = 0;
    for (uint32_t s = 0; s < instance->nsizes; s++)
        if (instance->sizes[s].count > 0)
            single->items[single->nitems++] =
                (struct cv_single_item){ instance->sizes[s].weight,
                                         fmax(generator->master.dual[s], 0),
                                         instance->sizes[s].count, s };
    cv_single_sort(single);
    list_from(&listing, 0, instance->capacity, 0);
    return listing.complete;
}

struct branching {
    struct cv_master *pool;
    struct cv_work *work;
    struct cv_fill *best, *trial;
    uint32_t *fixed; /* bins per pattern                          */
    double closed;   /* no leaf or branch left aside reaches more */
};

/* A bound on the profit below the node, from the duals. */
static double node_bound(const struct cv_master *pool)
{
    const struct cv_instance *instance = pool->instance;
    double bound = 0, worth = fmax(pool->dual[instance->nsizes], 0);

    for (uint32_t turn = 0; turn < 2; turn++)
        for (uint32_t p = 0; p < pool->npatterns; p++) {
            const uint32_t *count = cv_master_pattern(pool, p);
            double here = 0;

            /* First what unlimited patterns are worth, then what limited ones add. */
            if (isinf(*cv_master_limit(pool, p)) != (turn == 0) ||
                *cv_master_limit(pool, p) <= 0)
                continue;
            for (uint32_t s = 0; s < instance->nsizes; s++)
                here += fmax(pool->dual[s], 0) * count[s];
            if (turn == 0)
                worth = fmax(worth, here);
            else
                bound += *cv_master_limit(pool, p) * fmax(here - worth, 0);
        }
    bound += worth * pool->rhs[instance->nsizes];
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
    uint32_t next = 0;

    cv_fill_clear(trial);
    for (uint32_t p = 0; p < pool->npatterns; p++) {
        const uint32_t *count = cv_master_pattern(pool, p);
        uint32_t bins = branching->fixed[p] + (uint32_t)floor(pool->values[p] + 1e-6);

        for (; bins > 0 && next < instance->nbins; bins--, next++)
            for (uint32_t s = 0; s < instance->nsizes; s++) {
                const uint32_t left = instance->sizes[s].count - trial->used[s];

                cv_fill_put(trial, next, s, count[s] < left ? count[s] : left);
            }
    }
    cv_fill_greedy(trial, branching->work);
    if (cv_fill_count(trial) > branching->best->profit)
        cv_fill_copy(branching->best, trial);
}

/* The pattern whose number of bins has the largest fraction; UINT32_MAX: all numbers are
 * integers. */
static uint32_t choose_pattern(const struct cv_master *pool)
{
    uint32_t chosen = UINT32_MAX;
    double max = 1e-6;

    for (uint32_t p = 0; p < pool->npatterns; p++) {
        const double value = pool->values[p], part = value - floor(value);

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
    pool->rhs[pool->instance->nsizes] -= bins;
    *cv_master_limit(pool, pattern) -= bins;
    branching->fixed[pattern] = (uint32_t)((double)branching->fixed[pattern] + bins);
}

/* Search below a node, whose bound is `parent`. */
static void branch(struct branching *branching, double parent)
{
    struct cv_master *pool = branching->pool;
    double bound, whole, limit;
    uint32_t p;

    if (cv_reaches(branching->best->profit, parent) || branching->trial->failed)
        return;
    cv_master_reset(pool);
    (void)cv_work_spend(branching->work,
                        (uint64_t)pool->npatterns * pool->instance->nsizes);
    (void)cv_master_solve(pool, branching->work);
    bound = fmin(parent, cv_instance_round(pool->instance, node_bound(pool)));
    if (cv_reaches(branching->best->profit, bound))
        return;
    cv_master_values(pool);
    round_down(branching);
    p = choose_pattern(pool);
    if (p == UINT32_MAX || branching->work->left == 0) {
        branching->closed = fmax(branching->closed, bound);
        return;
    }
    whole = floor(pool->values[p]);
    limit = *cv_master_limit(pool, p);
    if (pool->rhs[pool->instance->nsizes] >= whole + 1 && limit >= whole + 1) {
        shift(branching, p, whole + 1);
        branch(branching, bound);
        shift(branching, p, -(whole + 1));
    }
    *cv_master_limit(pool, p) = whole;
    branch(branching, bound);
    *cv_master_limit(pool, p) = limit;
}

/* All patterns that an answer better than `best` may need are listed, if they are few: at the
 * duals of the generator, which must be priced, they miss its bound by no more than `best`
 * does. Then the integer program over them is solved by branching. Improves `best`, and
 * lowers *bound to its profit if the search ends. */
static bool branch_solve(struct cv_generator *generator, struct cv_work *work,
                         struct cv_fill *best, double *bound)
{
    const struct cv_master *master = &generator->master;
    /* A better answer has at least the grain more. */
    const double min = best->profit + (1 - 1e-6) * master->instance->grain;
    const double missed = fmax(cv_generator_bound(generator) - min, 0);
    const double gap = missed / master->scale * (1 + 1e-9) + 1e-9;
    struct cv_master pool;
    struct branching branching = {
        .pool = &pool, .work = work, .best = best, .trial = &generator->trial
    };
    bool made = cv_master_init(&pool, master->instance);

    if (made && list_patterns(generator, gap, &pool, work)) {
        made = !pool.failed &&
               CV_NEW(master->instance->arena, branching.fixed, pool.npatterns);
        if (made) {
            branch(&branching, *bound);
            *bound = fmin(*bound, fmax(best->profit, branching.closed));
        }
    }
    made = made && !pool.failed;
    cv_master_done(&pool);
    return made;
}

/* --- diving ------------------------------------------------------------------------------------ */

enum { ROOT_ROUNDS = 2000, DIVE_ROUNDS = 12, MOST_PATTERNS = 600, DIVES = 4 };
/* Most bins that are all refilled after a dive. */
enum { FEW_BINS = 16 };
/* Work for a pattern of most worth, for bounds and in dives. */
static const uint64_t root_price = 400000, dive_price = 20000;

/* Fill an empty bin; false when there is none. */
static bool place(struct cv_generator *generator, uint32_t pattern)
{
    const struct cv_instance *instance = generator->instance;
    const uint32_t *count = cv_master_pattern(&generator->master, pattern);
    uint32_t bin = 0;

    while (bin < instance->nbins && generator->trial.bins[bin].nparts > 0)
        bin++;
    if (bin == instance->nbins)
        return false;
    for (uint32_t s = 0; s < instance->nsizes; s++) {
        const uint32_t left = cv_generator_left(generator, s);

        cv_fill_put(&generator->trial, bin, s, count[s] < left ? count[s] : left);
    }
    return true;
}

/* Set the program for the empty bins; returns their number. */
static uint32_t set_rows(struct cv_generator *generator)
{
    const struct cv_instance *instance = generator->instance;
    uint32_t empty = 0;

    for (uint32_t s = 0; s < instance->nsizes; s++)
        generator->master.rhs[s] = generator->trial.used[s];
    for (uint32_t b = 0; b < instance->nbins; b++)
        empty += generator->trial.bins[b].nparts == 0;
    generator->master.rhs[instance->nsizes] = empty;
    cv_master_reset(&generator->master);
    return empty;
}

/* Fix whole bins of the program's answer, or else one nearly whole; returns how many. */
static uint32_t fix_patterns(struct cv_generator *generator, bool vary)
{
    const uint32_t n = generator->master.npatterns;
    uint32_t nearest = UINT32_MAX, placed = 0;
    double max = 1e-6;

    cv_master_values(&generator->master);
    for (uint32_t p = 0; p < n; p++) {
        const double noise = vary ? 0.5 * cv_random_uniform(&generator->random) : 0;
        const double value = generator->master.values[p];

        for (uint32_t whole = (uint32_t)(value + 1e-6); whole > 0; whole--)
            placed += place(generator, p);
        if (value > 1e-6 && value + noise > max) {
            max = value + noise;
            nearest = p;
        }
    }
    if (placed == 0 && nearest != UINT32_MAX)
        placed += place(generator, nearest);
    return placed;
}

/* Choose the bins that finish() refills. */
static void open_bins(struct cv_generator *generator)
{
    for (uint32_t b = 0; b < generator->instance->nbins; b++)
        generator->open[b] = generator->instance->nbins <= FEW_BINS ||
                             generator->trial.bins[b].nparts == 0;
}

/* Add items that fit, and refill the open bins. */
static void finish(struct cv_generator *generator)
{
    struct cv_work share = cv_work_share(generator->work, generator->work->left / 4);

    cv_fill_greedy(&generator->trial, &share);
    cv_fill_improve(&generator->trial, generator->open, generator->single, &share);
    cv_work_return(generator->work, &share);
}

static bool has_failed(const struct cv_generator *generator)
{
    return generator->trial.failed || generator->master.failed;
}

/* Fill the empty bins of the trial. */
static void dive(struct cv_generator *generator, bool vary)
{
    uint32_t placed = 1;

    open_bins(generator);
    generator->price = dive_price;
    if (generator->master.npatterns > generator->nroot + MOST_PATTERNS)
        generator->master.npatterns = generator->nroot;
    while (placed > 0 && generator->work->left > 0 && set_rows(generator) > 1 &&
           !has_failed(generator)) {
        double bound = INFINITY;

        cv_generate(generator, DIVE_ROUNDS, 0, &bound);
        placed = fix_patterns(generator, vary);
    }
    finish(generator);
}

/* Empty a few random bins of the trial. */
static void empty_some(struct cv_generator *generator)
{
    const uint32_t nbins = generator->instance->nbins;
    uint32_t max = nbins < 10 ? nbins : 10, wanted;

    wanted = 2 + (uint32_t)(cv_random_uniform(&generator->random) * (max - 1));
    for (uint32_t i = 0; i < wanted; i++)
        cv_fill_empty_bin(&generator->trial,
                          (uint32_t)(cv_random_uniform(&generator->random) * nbins));
}

/* Refill a few bins of the best answer: by diving, or at random, which is cheaper. */
static void repair_some(struct cv_generator *generator, bool by_chance,
                        struct cv_fill *best)
{
    cv_fill_copy(&generator->trial, best);
    (void)cv_work_spend(generator->work, 24 * ((uint64_t)generator->instance->nbins +
                                               generator->instance->nsegments));
    empty_some(generator);
    if (by_chance) {
        open_bins(generator);
        cv_fill_noisily(&generator->trial, &generator->random, generator->single,
                        generator->work);
        finish(generator);
    } else {
        dive(generator, true);
    }
    if (generator->trial.profit > best->profit)
        cv_fill_pairs(&generator->trial, generator->single, generator->work);
    if (generator->trial.profit >= best->profit)
        cv_fill_copy(best, &generator->trial);
}

/* Repair while there is work left, half of it in each way. */
static void repair(struct cv_generator *generator, struct cv_fill *best, double bound)
{
    uint64_t spent[2] = { 0, 0 };

    while (generator->work->left > 0 && !cv_reaches(best->profit, bound) &&
           !has_failed(generator)) {
        const bool by_chance = spent[1] < spent[0];
        const uint64_t before = generator->work->spent;

        repair_some(generator, by_chance, best);
        spent[by_chance] += generator->work->spent - before;
    }
}

/* The bins of an answer are patterns. */
static void add_bins(struct cv_generator *generator, const struct cv_fill *fill)
{
    const struct cv_instance *instance = generator->instance;

    for (uint32_t b = 0; b < instance->nbins; b++) {
        const struct cv_fill_bin *bin = &fill->bins[b];

        memset(generator->count, 0, instance->nsizes * sizeof *generator->count);
        for (size_t k = 0; k < bin->nparts; k++)
            generator->count[bin->parts[k].size] += bin->parts[k].count;
        cv_generator_complete(generator, bin->left);
        cv_master_add(&generator->master, generator->count);
    }
}

static void root(struct cv_generator *generator, const struct cv_fill *best,
                 double *bound)
{
    generator->price = root_price;
    generator->priced = false;
    cv_fill_clear(&generator->trial);
    (void)set_rows(generator);
    cv_generate(generator, ROOT_ROUNDS, best->profit, bound);
}

static bool solve_patterns(struct cv_generator *generator, struct cv_fill *best,
                           double *bound)
{
    struct cv_work *all = generator->work, share = cv_work_share(all, all->left / 2);
    bool made = true;

    cv_fill_clear(&generator->trial);
    add_bins(generator, best);
    generator->work = &share;
    root(generator, best, bound);
    generator->nroot = generator->master.npatterns;
    for (unsigned i = 0; i < DIVES && !cv_reaches(best->profit, *bound); i++) {
        cv_fill_clear(&generator->trial);
        dive(generator, i > 0);
        if (generator->trial.profit > best->profit)
            cv_fill_copy(best, &generator->trial);
    }
    cv_work_return(all, &share);
    share = cv_work_share(all, all->left / 2);
    if (!cv_reaches(best->profit, *bound)) {
        root(generator, best, bound);
        if (generator->priced)
            made = branch_solve(generator, &share, best, bound);
        cv_work_return(all, &share);
    }
    generator->work = all;
    if (made)
        repair(generator, best, *bound);
    return made && !has_failed(generator) && !best->failed;
}

/* Look for better fillings and a better bound by linear programming over the ways to
 * fill one bin. `best` and *bound are improved. */
static bool try_patterns(const struct cv_instance *instance, struct cv_work *work,
                         struct cv_single *single, struct cv_fill *best, double *bound)
{
    struct cv_generator generator;
    double own_bound = *bound - instance->free_profit;
    bool made;

    if (instance->nsizes + 1 > CV_MASTER_ROWS || instance->nsizes == 0)
        return true;
    made = cv_generator_init(&generator, instance, single, work) &&
           solve_patterns(&generator, best, &own_bound);
    cv_generator_done(&generator);
    *bound = fmin(*bound, own_bound + instance->free_profit);
    return made;
}

/* --- the multiple knapsack, from cheap answers to proved ones ---------------------- */

/* The best filling so far, a place to try others, and the bound. */
struct contest {
    const struct cv_instance *instance;
    struct cv_fill best, trial;
    struct cv_single single;
    double bound;
    uint32_t *take; /* the selection of the surrogate knapsack */
};

static void keep_trial(struct contest *contest)
{
    if (cv_fill_count(&contest->trial) > contest->best.profit)
        cv_fill_copy(&contest->best, &contest->trial);
}

static bool solved(const struct contest *contest)
{
    return cv_reaches(contest->best.profit + contest->instance->free_profit,
                      contest->bound);
}

/* Bounds with all bins as one, and fillings made from them. */
static void try_surrogate(struct contest *contest, struct cv_work *work)
{
    const struct cv_instance *instance = contest->instance;
    bool exact;

    contest->bound = cv_instance_round(instance, cv_instance_surrogate_lp(instance));
    cv_fill_greedy(&contest->trial, work);
    keep_trial(contest);
    if (solved(contest))
        return;
    contest->bound =
        fmin(contest->bound,
             cv_instance_surrogate_kp(instance, &contest->single, work, work->left / 8,
                                      contest->take, &exact));
    if (solved(contest))
        return;
    cv_fill_split(&contest->trial, contest->take, &contest->single, work);
    keep_trial(contest);
}

/* Refill single bins of the best filling. */
static void try_improve(struct contest *contest, struct cv_work *work)
{
    struct cv_work share = cv_work_share(work, work->left / 8);

    cv_fill_copy(&contest->trial, &contest->best);
    cv_fill_improve(&contest->trial, NULL, &contest->single, &share);
    cv_fill_pairs(&contest->trial, &contest->single, &share);
    keep_trial(contest);
    cv_work_return(work, &share);
}

/* Pack the whole selection of the surrogate knapsack, which is then optimal. */
static void try_pack(struct contest *contest, struct cv_work *work)
{
    struct cv_work share = cv_work_share(work, work->left / 8);

    if (cv_fill_pack(&contest->trial, contest->take, &share)) {
        cv_fill_greedy(&contest->trial, &share);
        keep_trial(contest);
    }
    cv_work_return(work, &share);
}

static bool try_all(struct contest *contest, struct cv_work *work)
{
    void (*const ways[])(struct contest *, struct cv_work *) = { try_surrogate,
                                                                 try_improve, try_pack };

    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        ways[i](contest, work);
        if (contest->best.failed || contest->trial.failed || solved(contest))
            return !contest->best.failed && !contest->trial.failed;
    }
    return try_patterns(contest->instance, work, &contest->single, &contest->best,
                        &contest->bound);
}

/* Solve an instance; with an answer wanted or, if `out` is NULL, for the bound alone. */
static bool run(struct cv_instance *instance, const struct cv_knapsack *problem,
                struct cv_work *work, struct cv_arena *arena, double *out_bound,
                struct cv_knapsack_answer *out)
{
    struct contest contest = { .instance = instance };
    bool made;

    made = cv_instance_tighten(instance, work) &&
           cv_single_init(&contest.single, instance) &&
           CV_NEW(instance->arena, contest.take, instance->nsizes) &&
           cv_fill_init(&contest.best, instance) &&
           cv_fill_init(&contest.trial, instance) && try_all(&contest, work) &&
           (out == NULL || cv_fill_answer(&contest.best, problem, arena, out));
    *out_bound = contest.bound;
    cv_fill_done(&contest.best);
    cv_fill_done(&contest.trial);
    return made;
}

static bool solve(const struct cv_knapsack *problem, uint64_t work_units,
                  struct cv_arena *arena, struct cv_knapsack_answer *out)
{
    struct cv_work work = { work_units > 0 ? work_units : CV_KNAPSACK_WORK, 0 };
    struct cv_instance instance;
    struct cv_arena own;
    bool made;

    cv_arena_init(&own);
    made = cv_instance_make(problem, CV_FOR_ANSWERS, &own, &instance) &&
           run(&instance, problem, &work, arena, &out->upper_bound, out);
    if (made && instance.rounded) {
        /* The answer holds for the larger weights; the bound must for the smaller. */
        work.left += (work_units > 0 ? work_units : CV_KNAPSACK_WORK) / 2;
        cv_arena_reset(&own);
        made = cv_instance_make(problem, CV_FOR_BOUNDS, &own, &instance) &&
               run(&instance, problem, &work, arena, &out->upper_bound, NULL);
    }
    cv_arena_done(&own);
    out->work = work.spent;
    out->optimal = made && cv_reaches(out->profit, out->upper_bound);
    if (out->optimal || out->upper_bound < out->profit)
        out->upper_bound = out->profit;
    return made;
}

enum cleave_status cv_knapsack_solve(const struct cv_knapsack *problem, uint64_t work,
                                     struct cv_arena *arena,
                                     struct cv_knapsack_answer *out,
                                     struct cleave_error *err)
{
    struct cv_knapsack_answer answer = { .profit = 0 };
    uint64_t *counts;

    CV_TRY(cv_knapsack_check(problem, err));
    if (!CV_NEW(arena, counts, problem->nclasses) ||
        !solve(problem, work, arena, &answer))
        return cv_fail_memory(err, "the selection of items");
    if (!cv_knapsack_holds(problem, &answer, counts))
        return cv_fail(err, CLEAVE_EPOLICY, "a bin was filled beyond its capacity");
    *out = answer;
    return CLEAVE_OK;
}

enum cleave_status cv_knapsack_surrogate_lp(const struct cv_knapsack *problem,
                                            double *out_bound, struct cleave_error *err)
{
    struct cv_instance instance;
    struct cv_arena own;
    bool made;

    CV_TRY(cv_knapsack_check(problem, err));
    cv_arena_init(&own);
    made = cv_instance_make(problem, CV_AS_ONE_BIN, &own, &instance);
    if (made)
        *out_bound = cv_instance_surrogate_lp(&instance);
    cv_arena_done(&own);
    return made ? CLEAVE_OK : cv_fail_memory(err, "a bound");
}
