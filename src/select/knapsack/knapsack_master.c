/* knapsack_master.c -- the program over patterns, solved.
 * SPDX-License-Identifier: MIT
 *
 * The inverse of the basis is kept in full: there are few rows, and patterns come and come.
 * simplex.c says what to do with it. Every exchange leaves rounding errors behind, so now
 * and then it is made anew. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "select/knapsack/knapsack_master.h"

enum { REFRESH = 60, PATIENCE = 200 };

static bool grow_columns(struct cv_master *master, size_t n)
{
    struct cv_simplex *simplex = &master->simplex;

    return CV_ROOM(simplex->state, &master->state_capacity, n) &&
           CV_ROOM(simplex->limit, &master->limit_capacity, n);
}

bool cv_master_init(struct cv_master *master, const struct cv_instance *instance)
{
    const size_t m = (size_t)instance->nsizes + instance->ngroups;
    struct cv_simplex *simplex = &master->simplex;

    *master = (struct cv_master){ .instance = instance, .nrows = (uint32_t)m };
    master->nfixed = master->nrows + instance->nsegments;
    for (uint32_t i = 0; i < instance->nsegments; i++)
        master->scale = fmax(master->scale, instance->segments[i].profit);
    master->rhs = calloc(4 * m, sizeof *master->rhs);
    master->inverse = calloc(m * m, sizeof *master->inverse);
    *simplex = (struct cv_simplex){ .nrows = (uint32_t)m,
                                    .noise = 1e-9,
                                    .patience = PATIENCE,
                                    .basic = calloc(m, sizeof *simplex->basic) };
    if (master->rhs == NULL || master->inverse == NULL || simplex->basic == NULL ||
        !grow_columns(master, master->nfixed)) {
        cv_master_done(master);
        return false;
    }
    simplex->value = master->rhs + m;
    master->dual = master->rhs + 2 * m;
    simplex->column = master->rhs + 3 * m;
    for (uint32_t g = 0; g < instance->ngroups; g++)
        master->rhs[instance->nsizes + g] = instance->groups[g].nbins;
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
    free(master->group);
    free(master->simplex.state);
    free(master->simplex.limit);
    free(master->simplex.basic);
    free(master->rhs);
    free(master->inverse);
    *master = (struct cv_master){ .instance = NULL };
}

bool cv_master_add(struct cv_master *master, uint32_t group, const uint32_t *count)
{
    const size_t width = master->instance->nsizes;

    for (uint32_t p = 0; p < master->npatterns; p++)
        if (master->group[p] == group &&
            memcmp(cv_master_pattern(master, p), count, width * sizeof *count) == 0)
            return true;
    return cv_master_append(master, group, count);
}

bool cv_master_append(struct cv_master *master, uint32_t group, const uint32_t *count)
{
    const size_t width = master->instance->nsizes;
    const uint32_t n = master->npatterns;

    if (!CV_ROOM(master->count, &master->count_capacity, (n + 1) * width) ||
        !CV_ROOM(master->group, &master->group_capacity, n + 1) ||
        !grow_columns(master, master->nfixed + (size_t)n + 1))
        return false;
    memcpy(master->count + n * width, count, width * sizeof *count);
    master->group[n] = group;
    master->npatterns++;
    *cv_master_limit(master, n) = INFINITY;
    master->simplex.state[master->nfixed + n] = CV_AT_LOWER;
    return true;
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

/* --- columns ------------------------------------------------------------------------ */

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
    out[width + master->group[j - master->nfixed]] += factor;
}

/* What a unit of column j adds to the profit at the duals. */
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
    profit = -master->dual[width + master->group[j - master->nfixed]];
    for (uint32_t s = 0; s < width; s++)
        profit += master->dual[s] * count[s];
    return profit;
}

/* --- steps -------------------------------------------------------------------------- */

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

/* Make the inverse anew, column by column of the basis, the largest pivots first in each;
 * false when the basis looks singular. */
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

void cv_master_values(const struct cv_master *master, double *values)
{
    for (uint32_t p = 0; p < master->npatterns; p++)
        values[p] = master->simplex.state[master->nfixed + p] == CV_AT_UPPER
                        ? *cv_master_limit(master, p)
                        : 0;
    for (uint32_t r = 0; r < master->nrows; r++)
        if (master->simplex.basic[r] >= master->nfixed)
            values[master->simplex.basic[r] - master->nfixed] =
                master->simplex.value[r] > 0 ? master->simplex.value[r] : 0;
}

/* --- the patterns that linear programming asks for --------------------------------- */

/* Column generation (Gilmore and Gomory, Operations Research 9, 1961): the duals of the
 * program over the patterns known so far are the worth of an item in a bin; the pattern of
 * most worth is a single knapsack. With any worths u >= 0,
 * 
 *     sum_i count_i max(0, profit_i - u_i) + sum_g bins_g max_{patterns of g} u a
 * 
 * is an upper bound, far better than the surrogate one when bins hold few items. */

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

/* Look for a pattern worth more than the dual of its group, and add it. */
static bool price_group(struct cv_generator *generator, uint32_t group, double tolerance,
                        bool *added)
{
    const struct cv_instance *instance = generator->instance;
    const double *dual = generator->master.dual;
    struct cv_single *single = &generator->single;
    struct cv_single_result result;
    cv_wide rest = instance->groups[group].capacity;
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
