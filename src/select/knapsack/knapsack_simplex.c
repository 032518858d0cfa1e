/* knapsack_simplex.c -- primal simplex for the program over patterns.
 * SPDX-License-Identifier: MIT
 *
 * Bounded variables, the inverse of the basis in full: there are few rows. Columns enter
 * by largest reduced profit, or after many steps without progress by lowest index (Bland),
 * which cannot cycle. */
#include "select/knapsack/knapsack_master.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Reduced profits and pivots smaller than these are taken for rounding. */
static const double price_zero = 1e-9, pivot_zero = 1e-9;
enum { REFRESH = 60, PATIENCE = 200 };

bool cv_master_init(struct cv_master *master, const struct cv_instance *instance)
{
    const size_t m = (size_t)instance->nsizes + instance->ngroups;

    *master = (struct cv_master){ .instance = instance, .nrows = (uint32_t)m };
    master->nfixed = master->nrows + instance->nsegments;
    for (uint32_t i = 0; i < instance->nsegments; i++)
        master->scale = fmax(master->scale, instance->segments[i].profit);
    master->rhs = calloc(4 * m, sizeof *master->rhs);
    master->basic = calloc(m, sizeof *master->basic);
    master->inverse = calloc(m * m, sizeof *master->inverse);
    master->state = cv_grow(NULL, &master->state_capacity, master->nfixed, 1);
    if (master->rhs == NULL || master->basic == NULL || master->inverse == NULL ||
        master->state == NULL) {
        cv_master_done(master);
        return false;
    }
    master->value = master->rhs + m;
    master->dual = master->rhs + 2 * m;
    master->column = master->rhs + 3 * m;
    for (uint32_t g = 0; g < instance->ngroups; g++)
        master->rhs[instance->nsizes + g] = instance->groups[g].nbins;
    cv_master_reset(master);
    return true;
}

void cv_master_done(struct cv_master *master)
{
    free(master->count);
    free(master->group);
    free(master->limit);
    free(master->state);
    free(master->rhs);
    free(master->basic);
    free(master->inverse);
    *master = (struct cv_master){ .instance = NULL };
}

static bool grow(void **array, size_t *capacity, size_t needed, size_t size)
{
    void *grown = *array;

    if (*capacity < needed)
        grown = cv_grow(*array, capacity, needed, size);
    if (grown != NULL)
        *array = grown;
    return grown != NULL;
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

    if (!grow((void **)&master->count, &master->count_capacity, (n + 1) * width,
              sizeof *master->count) ||
        !grow((void **)&master->group, &master->group_capacity, n + 1,
              sizeof *master->group) ||
        !grow((void **)&master->limit, &master->limit_capacity, n + 1,
              sizeof *master->limit) ||
        !grow((void **)&master->state, &master->state_capacity, master->nfixed + n + 1,
              1))
        return false;
    memcpy(master->count + n * width, count, width * sizeof *count);
    master->group[n] = group;
    master->limit[n] = INFINITY;
    master->state[master->nfixed + n] = CV_AT_LOWER;
    master->npatterns++;
    return true;
}

void cv_master_reset(struct cv_master *master)
{
    const uint32_t m = master->nrows;

    memset(master->state, CV_AT_LOWER, master->nfixed + master->npatterns);
    memset(master->inverse, 0, (size_t)m * m * sizeof *master->inverse);
    for (uint32_t r = 0; r < m; r++) {
        master->basic[r] = r;
        master->state[r] = CV_BASIC;
        master->inverse[(size_t)r * m + r] = 1;
        master->value[r] = master->rhs[r];
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

static double column_limit(const struct cv_master *master, uint32_t j)
{
    if (j < master->nrows)
        return INFINITY;
    if (j < master->nfixed)
        return master->instance->segments[j - master->nrows].count;
    return master->limit[j - master->nfixed];
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
        const double profit = column_profit(master, master->basic[r]);

        for (uint32_t i = 0; i < m && profit != 0; i++)
            master->dual[i] += profit * master->inverse[(size_t)r * m + i];
    }
}

/* The values of the basic columns from the right-hand side. */
static void find_values(struct cv_master *master)
{
    const uint32_t m = master->nrows, n = master->nfixed + master->npatterns;
    double *rest = master->column;

    memcpy(rest, master->rhs, m * sizeof *rest);
    for (uint32_t j = 0; j < n; j++)
        if (master->state[j] == CV_AT_UPPER)
            add_column(master, j, -column_limit(master, j), rest);
    for (uint32_t r = 0; r < m; r++) {
        double value = 0;

        for (uint32_t i = 0; i < m; i++)
            value += master->inverse[(size_t)r * m + i] * rest[i];
        master->value[r] = value;
    }
}

/* Make row `row` of the inverse, and of `column`, the unit one. */
static void eliminate(struct cv_master *master, uint32_t row)
{
    const uint32_t m = master->nrows;
    double *pivot_row = master->inverse + (size_t)row * m;
    const double pivot = master->column[row];

    for (uint32_t i = 0; i < m; i++)
        pivot_row[i] /= pivot;
    for (uint32_t r = 0; r < m; r++) {
        const double factor = master->column[r];
        double *other = master->inverse + (size_t)r * m;

        if (r == row || factor == 0)
            continue;
        for (uint32_t i = 0; i < m; i++)
            other[i] -= factor * pivot_row[i];
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
        master->column[r] = sum;
    }
}

/* Make the inverse anew, column by column of the basis, the largest pivots first in each;
 * false when the basis looks singular. */
static bool refresh(struct cv_master *master)
{
    const uint32_t m = master->nrows;
    uint32_t basis[CV_MASTER_ROWS];
    bool taken[CV_MASTER_ROWS] = { false };

    memcpy(basis, master->basic, m * sizeof *basis);
    memset(master->inverse, 0, (size_t)m * m * sizeof *master->inverse);
    for (uint32_t r = 0; r < m; r++)
        master->inverse[(size_t)r * m + r] = 1;
    for (uint32_t k = 0; k < m; k++) {
        uint32_t row = m;

        find_column(master, basis[k]);
        for (uint32_t r = 0; r < m; r++)
            if (!taken[r] &&
                (row == m || fabs(master->column[r]) > fabs(master->column[row])))
                row = r;
        if (fabs(master->column[row]) < pivot_zero)
            return false;
        eliminate(master, row);
        taken[row] = true;
        master->basic[row] = basis[k];
    }
    master->pivots = 0;
    find_values(master);
    return true;
}

/* The column to move: *out_gain is its reduced profit. UINT32_MAX: none gains. */
static uint32_t choose_column(const struct cv_master *master, bool first,
                              double *out_gain)
{
    const uint32_t n = master->nfixed + master->npatterns;
    uint32_t best = UINT32_MAX;
    double most = price_zero;

    for (uint32_t j = 0; j < n; j++) {
        double gain;

        if (master->state[j] == CV_BASIC || column_limit(master, j) <= 0)
            continue;
        gain = reduced_profit(master, j);
        if ((master->state[j] == CV_AT_LOWER ? gain : -gain) > most) {
            most = fabs(gain);
            best = j;
            *out_gain = gain;
            if (first)
                break;
        }
    }
    return best;
}

/* How far column j can move when row r limits it; `sense` is 1 upwards, -1 downwards. */
static double row_limit(const struct cv_master *master, uint32_t r, double sense)
{
    const double change = sense * master->column[r];
    double room;

    if (fabs(change) < pivot_zero)
        return INFINITY;
    if (change > 0)
        room = master->value[r] / change;
    else
        room = (column_limit(master, master->basic[r]) - master->value[r]) / -change;
    return room > 0 ? room : 0;
}

/* Move column j as far as it goes; returns the length of the step. */
static double move_column(struct cv_master *master, uint32_t j)
{
    const uint32_t m = master->nrows;
    const bool up = master->state[j] == CV_AT_LOWER;
    const double sense = up ? 1 : -1;
    double step = column_limit(master, j);
    uint32_t row = m;

    for (uint32_t r = 0; r < m; r++) {
        const double limit = row_limit(master, r, sense);

        if (limit < step - 1e-12 ||
            (row < m && limit <= step &&
             fabs(master->column[r]) > fabs(master->column[row]))) {
            step = limit < step ? limit : step;
            row = r;
        }
    }
    for (uint32_t r = 0; r < m; r++)
        master->value[r] -= sense * step * master->column[r];
    if (row == m) {
        master->state[j] = up ? CV_AT_UPPER : CV_AT_LOWER;
        return step;
    }
    master->state[master->basic[row]] =
        sense * master->column[row] > 0 ? CV_AT_LOWER : CV_AT_UPPER;
    master->basic[row] = j;
    master->state[j] = CV_BASIC;
    master->value[row] = up ? step : column_limit(master, j) - step;
    eliminate(master, row);
    master->pivots++;
    return step;
}

static void find_objective(struct cv_master *master)
{
    master->objective = 0;
    for (uint32_t r = 0; r < master->nrows; r++)
        master->objective += column_profit(master, master->basic[r]) * master->value[r];
    for (uint32_t j = master->nrows; j < master->nfixed; j++)
        if (master->state[j] == CV_AT_UPPER)
            master->objective += column_profit(master, j) * column_limit(master, j);
}

bool cv_master_solve(struct cv_master *master, struct cv_work *work)
{
    const uint64_t cost = (uint64_t)master->npatterns * master->instance->nsizes / 4 +
                          (uint64_t)master->nrows * master->nrows;
    unsigned idle = 0;
    bool solved = false;

    for (;;) {
        double gain = 0;
        uint32_t j;

        if (master->pivots >= REFRESH && !refresh(master)) {
            cv_master_reset(master);
            break;
        }
        find_duals(master);
        j = choose_column(master, idle > PATIENCE, &gain);
        solved = j == UINT32_MAX;
        if (solved || idle > 20 * PATIENCE || !cv_work_spend(work, cost))
            break;
        find_column(master, j);
        idle = move_column(master, j) * fabs(gain) > 1e-12 ? 0 : idle + 1;
    }
    find_objective(master);
    return solved;
}

void cv_master_values(const struct cv_master *master, double *values)
{
    for (uint32_t p = 0; p < master->npatterns; p++)
        values[p] =
            master->state[master->nfixed + p] == CV_AT_UPPER ? master->limit[p] : 0;
    for (uint32_t r = 0; r < master->nrows; r++)
        if (master->basic[r] >= master->nfixed)
            values[master->basic[r] - master->nfixed] =
                master->value[r] > 0 ? master->value[r] : 0;
}
