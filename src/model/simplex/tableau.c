/* tableau.c -- a linear program kept as a tableau. SPDX-License-Identifier: MIT */
#include "model/simplex/tableau.h"

#include <math.h>

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
    double *room = cv_array(arena, cells + n + columns + 2 * (size_t)m, sizeof *room);
    uint32_t *numbers = cv_array(arena, columns, sizeof *numbers);
    unsigned char *state = cv_array(arena, columns, sizeof *state);

    if (room == NULL || numbers == NULL || state == NULL)
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
