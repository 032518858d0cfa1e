/* knapsack_master.c -- the program over patterns, solved.
 * SPDX-License-Identifier: MIT
 *
 * The inverse of the basis is kept in full: there are few rows and many new patterns. Every
 * exchange (simplex.c) leaves rounding errors, so the inverse is renewed now and then. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "select/knapsack/knapsack_internal.h"

enum { REFRESH = 60, PATIENCE = 200 };

static bool grow_columns(struct cv_master *master, size_t n)
{
    struct cv_simplex *simplex = &master->simplex;

    return CV_ROOM(simplex->state, &master->state_capacity, n) &&
           CV_ROOM(simplex->limit, &master->limit_capacity, n);
}

bool cv_master_init(struct cv_master *master, const struct cv_instance *instance)
{
    const size_t m = (size_t)instance->nsizes + 1;
    struct cv_simplex *simplex = &master->simplex;

    *master = (struct cv_master){ .instance = instance, .nrows = (uint32_t)m };
    master->nfixed = master->nrows + instance->nsegments;
    for (uint32_t i = 0; i < instance->nsegments; i++)
        master->scale = fmax(master->scale, instance->segments[i].profit);
    *simplex =
        (struct cv_simplex){ .nrows = (uint32_t)m, .noise = 1e-9, .patience = PATIENCE };
    if (!CV_NEW(instance->arena, master->rhs, 4 * m) ||
        !CV_NEW(instance->arena, master->inverse, m * m) ||
        !CV_NEW(instance->arena, simplex->basic, m) ||
        !grow_columns(master, master->nfixed)) {
        cv_master_done(master);
        return false;
    }
    simplex->value = master->rhs + m;
    master->dual = master->rhs + 2 * m;
    simplex->column = master->rhs + 3 * m;
    master->rhs[instance->nsizes] = instance->nbins;
    for (size_t r = 0; r < m; r++)
        simplex->limit[r] = INFINITY;
    for (uint32_t i = 0; i < instance->nsegments; i++)
        simplex->limit[m + i] = instance->segments[i].count;
    cv_master_reset(master);
    return true;
}

void cv_master_done(struct cv_master *master)
{
    free(master->count);
    free(master->values);
    free(master->simplex.state);
    free(master->simplex.limit);
    *master = (struct cv_master){ .instance = NULL };
}

void cv_master_add(struct cv_master *master, const uint32_t *count)
{
    const size_t width = master->instance->nsizes;

    for (uint32_t p = 0; p < master->npatterns; p++)
        if (memcmp(cv_master_pattern(master, p), count, width * sizeof *count) == 0)
            return;
    cv_master_append(master, count);
}

void cv_master_append(struct cv_master *master, const uint32_t *count)
{
    const size_t width = master->instance->nsizes;
    const uint32_t n = master->npatterns;

    master->failed = master->failed ||
                     !CV_ROOM(master->count, &master->count_capacity, (n + 1) * width) ||
                     !CV_ROOM(master->values, &master->values_capacity, n + 1) ||
                     !grow_columns(master, master->nfixed + (size_t)n + 1);
    if (master->failed)
        return;
    memcpy(master->count + n * width, count, width * sizeof *count);
    master->npatterns++;
    *cv_master_limit(master, n) = INFINITY;
    master->simplex.state[master->nfixed + n] = CV_AT_LOWER;
}

void cv_master_reset(struct cv_master *master)
{
    const uint32_t m = master->nrows;

    memset(master->simplex.state, CV_AT_LOWER, master->nfixed + master->npatterns);
    memset(master->inverse, 0, (size_t)m * m * sizeof *master->inverse);
    for (uint32_t r = 0; r < m; r++) {
        master->simplex.basic[r] = r;
        master->simplex.state[r] = CV_BASIC;
        master->inverse[(size_t)r * m + r] = 1;
        master->simplex.value[r] = master->rhs[r];
    }
    master->pivots = 0;
}

static double column_profit(const struct cv_master *master, uint32_t j)
{
    if (j < master->nrows || j >= master->nfixed)
        return 0;
    return master->instance->segments[j - master->nrows].profit / master->scale;
}

/* out += factor * column j. */
static void add_column(const struct cv_master *master, uint32_t j, double factor,
                       double *out)
{
    const uint32_t width = master->instance->nsizes;
    const uint32_t *count;

    if (j < master->nrows) {
        out[j] += factor;
        return;
    }
    if (j < master->nfixed) {
        out[master->instance->segments[j - master->nrows].size] += factor;
        return;
    }
    count = cv_master_pattern(master, j - master->nfixed);
    for (uint32_t s = 0; s < width; s++)
        out[s] -= factor * count[s];
    out[width] += factor;
}

static double reduced_profit(const struct cv_master *master, uint32_t j)
{
    const uint32_t width = master->instance->nsizes;
    const uint32_t *count;
    double profit;

    if (j < master->nrows)
        return -master->dual[j];
    if (j < master->nfixed)
        return column_profit(master, j) -
               master->dual[master->instance->segments[j - master->nrows].size];
    count = cv_master_pattern(master, j - master->nfixed);
    profit = -master->dual[width];
    for (uint32_t s = 0; s < width; s++)
        profit += master->dual[s] * count[s];
    return profit;
}

static void find_duals(struct cv_master *master)
{
    const uint32_t m = master->nrows;

    memset(master->dual, 0, m * sizeof *master->dual);
    for (uint32_t r = 0; r < m; r++) {
        const double profit = column_profit(master, master->simplex.basic[r]);

        for (uint32_t i = 0; i < m && profit != 0; i++)
            master->dual[i] += profit * master->inverse[(size_t)r * m + i];
    }
}

/* The values of the basic columns from the right-hand side. */
static void find_values(struct cv_master *master)
{
    const uint32_t m = master->nrows, n = master->nfixed + master->npatterns;
    double *rest = master->simplex.column;

    memcpy(rest, master->rhs, m * sizeof *rest);
    for (uint32_t j = 0; j < n; j++)
        if (master->simplex.state[j] == CV_AT_UPPER)
            add_column(master, j, -master->simplex.limit[j], rest);
    for (uint32_t r = 0; r < m; r++) {
        double value = 0;

        for (uint32_t i = 0; i < m; i++)
            value += master->inverse[(size_t)r * m + i] * rest[i];
        master->simplex.value[r] = value;
    }
}

/* column = inverse * column j. */
static void find_column(struct cv_master *master, uint32_t j)
{
    const uint32_t m = master->nrows;
    double entry[CV_MASTER_ROWS] = { 0 };

    add_column(master, j, 1, entry);
    for (uint32_t r = 0; r < m; r++) {
        double sum = 0;

        for (uint32_t i = 0; i < m; i++)
            sum += master->inverse[(size_t)r * m + i] * entry[i];
        master->simplex.column[r] = sum;
    }
}

/* Renew the inverse, column by column of the basis, the largest pivots first in each; false when
 * the basis looks singular. */
static bool refresh(struct cv_master *master)
{
    const uint32_t m = master->nrows;
    uint32_t basis[CV_MASTER_ROWS];
    bool taken[CV_MASTER_ROWS] = { false };

    memcpy(basis, master->simplex.basic, m * sizeof *basis);
    memset(master->inverse, 0, (size_t)m * m * sizeof *master->inverse);
    for (uint32_t r = 0; r < m; r++)
        master->inverse[(size_t)r * m + r] = 1;
    for (uint32_t k = 0; k < m; k++) {
        uint32_t row = m;

        find_column(master, basis[k]);
        for (uint32_t r = 0; r < m; r++)
            if (!taken[r] && (row == m || fabs(master->simplex.column[r]) >
                                              fabs(master->simplex.column[row])))
                row = r;
        if (fabs(master->simplex.column[row]) < master->simplex.noise)
            return false;
        cv_simplex_eliminate(master->inverse, m, m, master->simplex.column, row);
        taken[row] = true;
        master->simplex.basic[row] = basis[k];
    }
    master->pivots = 0;
    find_values(master);
    return true;
}

static void find_objective(struct cv_master *master)
{
    master->objective = 0;
    for (uint32_t r = 0; r < master->nrows; r++)
        master->objective +=
            column_profit(master, master->simplex.basic[r]) * master->simplex.value[r];
    for (uint32_t j = master->nrows; j < master->nfixed; j++)
        if (master->simplex.state[j] == CV_AT_UPPER)
            master->objective += column_profit(master, j) * master->simplex.limit[j];
}

static uint32_t choose(void *context, bool bland, double *out_gain)
{
    const struct cv_master *master = context;
    const struct cv_simplex *simplex = &master->simplex;
    const uint32_t n = master->nfixed + master->npatterns;
    uint32_t best = UINT32_MAX;
    double max = simplex->noise;

    find_duals(context);
    for (uint32_t j = 0; j < n; j++) {
        double gain;

        if (simplex->state[j] == CV_BASIC || simplex->limit[j] <= 0)
            continue;
        gain = reduced_profit(master, j);
        if (!((simplex->state[j] == CV_AT_LOWER ? gain : -gain) > max))
            continue;
        max = fabs(gain);
        best = j;
        *out_gain = gain;
        if (bland)
            break;
    }
    return best;
}

static bool take(void *context, uint32_t j)
{
    struct cv_master *master = context;
    const uint64_t cost = (uint64_t)master->npatterns * master->instance->nsizes / 4 +
                          (uint64_t)master->nrows * master->nrows;

    if (!cv_work_spend(master->work, cost))
        return false;
    find_column(master, j);
    return true;
}

static bool exchange(void *context, uint32_t row, uint32_t in, uint32_t out)
{
    struct cv_master *master = context;

    (void)in;
    (void)out;
    cv_simplex_eliminate(master->inverse, master->nrows, master->nrows,
                         master->simplex.column, row);
    if (++master->pivots < REFRESH || refresh(master))
        return true;
    cv_master_reset(master);
    return false;
}

bool cv_master_solve(struct cv_master *master, struct cv_work *work)
{
    static const struct cv_simplex_form form = { choose, take, exchange };
    bool solved;

    master->work = work;
    solved = cv_simplex_run(&master->simplex, &form, master);
    find_objective(master);
    return solved;
}

void cv_master_values(struct cv_master *master)
{
    double *values = master->values;

    for (uint32_t p = 0; p < master->npatterns; p++)
        values[p] = master->simplex.state[master->nfixed + p] == CV_AT_UPPER
                        ? *cv_master_limit(master, p)
                        : 0;
    for (uint32_t r = 0; r < master->nrows; r++)
        if (master->simplex.basic[r] >= master->nfixed)
            values[master->simplex.basic[r] - master->nfixed] =
                master->simplex.value[r] > 0 ? master->simplex.value[r] : 0;
}

/* --- patterns on demand ---------------------------------------------------------------------- */

/* Column generation (Gilmore and Gomory, Operations Research 9, 1961): the duals of the program
 * over the patterns known so far are the worth of an item in a bin; the pattern of most worth
 * is a single knapsack. With any worths u >= 0,
 *
 *     sum_i count_i max(0, profit_i - u_i) + bins max_{patterns} u a
 *
 * is an upper bound, far better than the surrogate one when bins hold few items. */

bool cv_generator_init(struct cv_generator *generator, const struct cv_instance *instance,
                       struct cv_single *single, struct cv_work *work)
{
    *generator =
        (struct cv_generator){ .instance = instance, .single = single, .work = work };
    cv_random_at(&generator->random, 1, instance->nsizes, instance->nbins, 0);
    return CV_NEW(instance->arena, generator->count, instance->nsizes) &&
           CV_NEW(instance->arena, generator->open, instance->nbins) &&
           cv_fill_init(&generator->trial, instance) &&
           cv_master_init(&generator->master, instance);
}

void cv_generator_done(struct cv_generator *generator)
{
    cv_fill_done(&generator->trial);
    cv_master_done(&generator->master);
}

uint32_t cv_generator_left(const struct cv_generator *generator, uint32_t size)
{
    return generator->instance->sizes[size].count - generator->trial.used[size];
}

void cv_generator_complete(struct cv_generator *generator, cv_wide rest)
{
    for (uint32_t s = 0; s < generator->instance->nsizes; s++) {
        const cv_wide weight = generator->instance->sizes[s].weight;
        const uint32_t more =
            cv_wide_times(rest, weight,
                          cv_generator_left(generator, s) - generator->count[s]);

        generator->count[s] += more;
        rest -= weight * more;
    }
}

/* Look for a pattern worth more than the dual of a bin, and add it. */
static void price(struct cv_generator *generator, double tolerance)
{
    const struct cv_instance *instance = generator->instance;
    const double *dual = generator->master.dual;
    struct cv_single *single = generator->single;
    struct cv_single_result result;
    cv_wide rest = instance->capacity;

    single->nitems = 0;
    for (uint32_t s = 0; s < instance->nsizes; s++)
        if (dual[s] > 1e-12 && cv_generator_left(generator, s) > 0)
            single->items[single->nitems++] =
                (struct cv_single_item){ instance->sizes[s].weight, dual[s],
                                         cv_generator_left(generator, s), s };
    cv_single_sort(single);
    single->capacity = rest;
    single->floor = fmax(dual[instance->nsizes], 0);
    single->tolerance = tolerance;
    single->max = generator->price;
    result = cv_single_solve(single, generator->work);
    generator->upper = result.upper;
    if (result.value < 0)
        return;
    memset(generator->count, 0, instance->nsizes * sizeof *generator->count);
    for (uint32_t i = 0; i < single->nitems; i++) {
        generator->count[single->items[i].tag] = single->best[i];
        rest -= single->items[i].weight * single->best[i];
    }
    cv_generator_complete(generator, rest);
    cv_master_add(&generator->master, generator->count);
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
    bound += generator->upper * master->rhs[instance->nsizes];
    return bound * master->scale;
}

void cv_generate(struct cv_generator *generator, unsigned rounds, double best,
                 double *bound)
{
    struct cv_master *master = &generator->master;

    for (unsigned round = 0; round < rounds && generator->work->left > 0; round++) {
        const uint32_t known = master->npatterns;
        double tolerance, min;

        generator->priced = false;
        if (!cv_master_solve(master, generator->work))
            return;
        min = fmax(master->objective, best / master->scale);
        tolerance =
            1e-3 * (*bound / master->scale - min) / (generator->instance->nbins + 1.0);
        tolerance = fmax(tolerance, 1e-10);
        if (master->rhs[generator->instance->nsizes] > 0)
            price(generator, tolerance);
        generator->priced = true;
        *bound = fmin(*bound, cv_instance_round(generator->instance,
                                                cv_generator_bound(generator)));
        if (master->npatterns == known || cv_reaches(best, *bound))
            break;
    }
}
