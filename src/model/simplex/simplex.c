/* simplex.c -- the primal simplex method with bounded columns.
 * SPDX-License-Identifier: MIT
 *
 * The column with most gain moves, and of rows that stop it at the same place the one with
 * the largest pivot leaves, which keeps numbers good. After many steps without progress
 * both choices go to the lowest index (Bland), which cannot go in circles, until there is
 * some. */
#include "model/simplex/simplex.h"

#include <math.h>
#include <stddef.h>

/* Smaller gains do not count as progress. */
static const double progress = 1e-12;
enum {
    BLAND_TURNS = 20
}; /* stop after this many times `patience` steps without progress */

/* Decide between two rows that stop a column at the same place: is it row r? The column's
 * own limit goes before any row. */
static bool first_of(const struct cv_simplex *simplex, uint32_t r, uint32_t row,
                     bool bland)
{
    if (row == simplex->nrows)
        return false;
    return bland ? simplex->basic[r] < simplex->basic[row]
                 : fabs(simplex->column[r]) > fabs(simplex->column[row]);
}

/* The length of the step of column j. *out_row is the row that stops it, or the number of
 * rows when the column's own limit does. */
static double measure(const struct cv_simplex *simplex, uint32_t j, bool bland,
                      uint32_t *out_row)
{
    const double sense = simplex->state[j] == CV_AT_LOWER ? 1 : -1;
    const uint32_t m = simplex->nrows;
    double step = simplex->limit[j];
    uint32_t row = m;

    for (uint32_t r = 0; r < m; r++) {
        const double change = sense * simplex->column[r];
        double room = simplex->value[r];

        if (change < simplex->noise) {
            room = simplex->limit[simplex->basic[r]] - room;
            if (change > -simplex->noise || isinf(room))
                continue;
        }
        room = room > 0 ? room / fabs(change) : 0;
        if (room > step || (room == step && !first_of(simplex, r, row, bland)))
            continue;
        step = room;
        row = r;
    }
    *out_row = row;
    return step;
}

/* Move column j by `step`; it takes the place of the basic column of `row`, if that is one
 * of the rows. */
static void move(struct cv_simplex *simplex, uint32_t j, double step, uint32_t row)
{
    const bool up = simplex->state[j] == CV_AT_LOWER;
    const double sense = up ? 1 : -1;

    for (uint32_t r = 0; r < simplex->nrows; r++)
        simplex->value[r] -= sense * step * simplex->column[r];
    if (row == simplex->nrows) {
        simplex->state[j] = up ? CV_AT_UPPER : CV_AT_LOWER;
        return;
    }
    simplex->state[simplex->basic[row]] =
        sense * simplex->column[row] > 0 ? CV_AT_LOWER : CV_AT_UPPER;
    simplex->basic[row] = j;
    simplex->state[j] = CV_BASIC;
    simplex->value[row] = up ? step : simplex->limit[j] - step;
}

bool cv_simplex_run(struct cv_simplex *simplex, const struct cv_simplex_form *form,
                    void *context)
{
    uint64_t idle = 0;

    while (idle <= (uint64_t)BLAND_TURNS * simplex->patience) {
        const bool bland = idle > simplex->patience;
        double gain = 0, step;
        uint32_t row, out;
        const uint32_t j = form->choose(context, bland, &gain);

        if (j == UINT32_MAX)
            return true;
        if (!form->take(context, j))
            return false;
        step = measure(simplex, j, bland, &row);
        if (isinf(step))
            return false;
        idle = step * fabs(gain) > progress ? 0 : idle + 1;
        out = row < simplex->nrows ? simplex->basic[row] : j;
        move(simplex, j, step, row);
        if (row < simplex->nrows && !form->exchange(context, row, j, out))
            return false;
    }
    return false;
}

/* row -= factor * top. Four at once: most of the time of a run goes by here. */
static void subtract(double *restrict row, const double *restrict top, double factor,
                     uint32_t width)
{
    uint32_t i = 0;

    for (; i + 4 <= width; i += 4) {
        const double a = row[i] - factor * top[i];
        const double b = row[i + 1] - factor * top[i + 1];
        const double c = row[i + 2] - factor * top[i + 2];
        const double d = row[i + 3] - factor * top[i + 3];

        row[i] = a;
        row[i + 1] = b;
        row[i + 2] = c;
        row[i + 3] = d;
    }
    for (; i < width; i++)
        row[i] -= factor * top[i];
}

void cv_simplex_eliminate(double *matrix, uint32_t nrows, uint32_t width,
                          const double *column, uint32_t row)
{
    double *top = matrix + (size_t)row * width;
    const double pivot = column[row];

    for (uint32_t i = 0; i < width; i++)
        top[i] /= pivot;
    for (uint32_t r = 0; r < nrows; r++)
        if (r != row && column[r] != 0)
            subtract(matrix + (size_t)r * width, top, column[r], width);
}

static uint32_t choose(void *context, bool bland, double *out_gain)
{
    struct cv_tableau *t = context;
    uint32_t best = UINT32_MAX;
    double max = t->simplex.noise;

    for (uint32_t j = 0; j < t->n; j++) {
        if (!(t->worth[j] > max) || (bland && t->outside[j] > best))
            continue;
        if (!bland)
            max = t->worth[j];
        t->chosen = j;
        best = t->outside[j];
        *out_gain = t->worth[j];
    }
    return best;
}

static bool take(void *context, uint32_t j)
{
    struct cv_tableau *t = context;

    (void)j;
    for (uint32_t i = 0; i < t->m; i++)
        t->simplex.column[i] = t->matrix[(size_t)i * t->n + t->chosen];
    return true;
}

static bool exchange(void *context, uint32_t row, uint32_t in, uint32_t out)
{
    struct cv_tableau *t = context;
    const uint32_t n = t->n, col = t->chosen;
    const double *column = t->simplex.column, *top = t->matrix + (size_t)row * n;
    const double pivot = column[row], worth = t->worth[col];

    (void)in;
    cv_simplex_eliminate(t->matrix, t->m, n, column, row);
    for (uint32_t j = 0; j < n; j++)
        t->worth[j] -= worth * top[j];
    for (uint32_t i = 0; i < t->m; i++)
        t->matrix[(size_t)i * n + col] = (i == row ? 1 : -column[i]) / pivot;
    t->worth[col] = -worth / pivot;
    t->outside[col] = out;
    return true;
}

void cv_tableau_resize(struct cv_tableau *tableau, uint32_t n, uint32_t m)
{
    tableau->n = n;
    tableau->m = m;
    tableau->simplex.nrows = m;
    tableau->simplex.patience = 20 * (n + 10);
}

/* In few pieces: many programs are so small that asking for room is felt. */
bool cv_tableau_init(struct cv_tableau *tableau, uint32_t n, uint32_t m,
                     struct cv_arena *arena)
{
    const size_t columns = (size_t)n + m, cells = (size_t)m * n;
    struct cv_simplex *simplex = &tableau->simplex;
    double *room;
    uint32_t *numbers;
    unsigned char *state;

    if (!CV_NEW(arena, room, cells + n + columns + 2 * (size_t)m) ||
        !CV_NEW(arena, numbers, columns) || !CV_NEW(arena, state, columns))
        return false;
    *tableau = (struct cv_tableau){ .matrix = room,
                                    .worth = room + cells,
                                    .outside = numbers,
                                    .simplex = { .noise = 1e-11,
                                                 .state = state,
                                                 .limit = room + cells + n,
                                                 .basic = numbers + n } };
    simplex->value = simplex->limit + columns;
    simplex->column = simplex->value + m;
    cv_tableau_resize(tableau, n, m);
    for (size_t j = 0; j < columns; j++)
        simplex->limit[j] = INFINITY;
    return true;
}

bool cv_tableau_run(struct cv_tableau *tableau, double *values)
{
    static const struct cv_simplex_form form = { choose, take, exchange };
    struct cv_simplex *simplex = &tableau->simplex;

    for (uint32_t i = 0; i < tableau->m; i++) {
        simplex->basic[i] = tableau->n + i;
        simplex->state[tableau->n + i] = CV_BASIC;
    }
    for (uint32_t j = 0; j < tableau->n; j++) {
        tableau->outside[j] = j;
        simplex->state[j] = CV_AT_LOWER;
        if (values != NULL)
            values[j] = 0;
    }
    if (!cv_simplex_run(simplex, &form, tableau))
        return false;
    for (uint32_t i = 0; values != NULL && i < tableau->m; i++)
        if (simplex->basic[i] < tableau->n)
            values[simplex->basic[i]] = fmax(0, simplex->value[i]);
    return true;
}
