/* returns_system.c -- the rows of two given orders as a matrix, and its solution.
 * SPDX-License-Identifier: MIT
 *
 * When all shares are positive every row is a sum of positive terms, so that elimination
 * with row pivots leaves an error of a few roundings of the lifespan in each row. */
#include "model/returns/returns_system.h"

#include <math.h>
#include <string.h>

#include "model/returns/returns_chain.h"
#include "model/returns/returns_internal.h"

bool cv_rows_make(struct cv_rows *rows, const struct cv_returns *returns,
                  const uint32_t *send, const uint32_t *back, uint32_t n,
                  double lifespan_s, struct cv_arena *arena)
{
    uint32_t *place = cv_array(arena, returns->n, sizeof *place);
    const bool linear = cv_returns_linear(returns);

    *rows = (struct cv_rows){ returns, send, back, n, lifespan_s, NULL, NULL, NULL };
    rows->units = cv_array(arena, n, n * sizeof *rows->units);
    rows->fixed = linear ? NULL : cv_array(arena, n, n * sizeof *rows->fixed);
    rows->place = cv_array(arena, n, sizeof *rows->place);
    if (place == NULL || rows->units == NULL || rows->place == NULL ||
        (!linear && rows->fixed == NULL))
        return false;
    for (uint32_t k = 0; k < n; k++)
        place[back[k]] = k;
    for (uint32_t k = 0; k < n; k++)
        rows->place[k] = place[send[k]];
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < n; j++) {
            const struct cv_trip *t = &returns->trips[send[j]];
            const bool sent = j <= i, returned = rows->place[j] >= rows->place[i];
            const size_t at = (size_t)i * n + j;

            rows->units[at] = (sent ? t->send_s : 0) + (i == j ? t->compute_s : 0) +
                              (returned ? t->back_s : 0);
            if (!linear)
                rows->fixed[at] = (sent ? t->send_fixed_s : 0) +
                                  (i == j ? t->compute_fixed_s : 0) +
                                  (returned ? t->back_fixed_s : 0);
        }
    return true;
}

double cv_rows_right(const struct cv_rows *rows, uint32_t i, const uint32_t *set,
                     uint32_t count)
{
    double right = rows->lifespan_s;

    for (uint32_t k = 0; rows->fixed != NULL && k < count; k++)
        right -= rows->fixed[(size_t)i * rows->n + set[k]];
    return right;
}

bool cv_lu_factor(double *matrix, uint32_t n, uint32_t *pivots)
{
    for (uint32_t k = 0; k < n; k++) {
        double *top = matrix + (size_t)k * n, largest = 0;
        uint32_t pivot = k;

        for (uint32_t i = k; i < n; i++)
            if (fabs(matrix[(size_t)i * n + k]) > largest) {
                largest = fabs(matrix[(size_t)i * n + k]);
                pivot = i;
            }
        if (!(largest > 0) || !isfinite(largest))
            return false;
        pivots[k] = pivot;
        for (uint32_t j = 0; pivot != k && j < n; j++) {
            const double kept = top[j];

            top[j] = matrix[(size_t)pivot * n + j];
            matrix[(size_t)pivot * n + j] = kept;
        }
        for (uint32_t i = k + 1; i < n; i++) {
            double *row = matrix + (size_t)i * n;
            const double factor = row[k] / top[k];

            row[k] = factor;
            for (uint32_t j = k + 1; j < n; j++)
                row[j] -= factor * top[j];
        }
    }
    return true;
}

void cv_lu_solve(const double *matrix, uint32_t n, const uint32_t *pivots, double *vector)
{
    for (uint32_t k = 0; k < n; k++) {
        const double kept = vector[pivots[k]];

        vector[pivots[k]] = vector[k];
        vector[k] = kept;
    }
    for (uint32_t i = 1; i < n; i++)
        for (uint32_t j = 0; j < i; j++)
            vector[i] -= matrix[(size_t)i * n + j] * vector[j];
    for (uint32_t i = n; i-- > 0;) {
        for (uint32_t j = i + 1; j < n; j++)
            vector[i] -= matrix[(size_t)i * n + j] * vector[j];
        vector[i] /= matrix[(size_t)i * n + i];
    }
}

/* Columns are scaled so that each worker's own time is 1: costs that differ by many
 * orders of magnitude do not mislead the choice of pivots. */
bool cv_rows_tight(const struct cv_rows *rows, const uint32_t *set, uint32_t count,
                   double *matrix, double *vector, uint32_t *pivots, double *shares)
{
    double *kept = matrix + (size_t)count * count, *rest = vector + count;

    for (uint32_t i = 0; i < count; i++) {
        const double *row = rows->units + (size_t)set[i] * rows->n;

        for (uint32_t j = 0; j < count; j++)
            matrix[(size_t)i * count + j] =
                row[set[j]] / rows->units[(size_t)set[j] * rows->n + set[j]];
        vector[i] = cv_rows_right(rows, set[i], set, count);
    }
    memcpy(kept, matrix, (size_t)count * count * sizeof *matrix);
    memcpy(rest, vector, count * sizeof *vector);
    if (!cv_lu_factor(matrix, count, pivots))
        return false;
    cv_lu_solve(matrix, count, pivots, vector);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = 0; j < count; j++)
            rest[i] -= kept[(size_t)i * count + j] * vector[j];
    cv_lu_solve(matrix, count, pivots, rest);
    for (uint32_t i = 0; i < count; i++) {
        shares[i] =
            (vector[i] + rest[i]) / rows->units[(size_t)set[i] * rows->n + set[i]];
        if (!isfinite(shares[i]))
            return false;
    }
    return true;
}

/* --- nobody idle -------------------------------------------------------------------- */

static bool all_tight(const struct cv_returns *returns, const uint32_t *send,
                      const uint32_t *back, uint32_t n, double lifespan_s,
                      struct cv_arena *arena, double *shares, bool *out_memory)
{
    double *matrix = cv_array(arena, n, (size_t)2 * n * sizeof *matrix);
    double *vector = cv_array(arena, n, 2 * sizeof *vector);
    uint32_t *pivots = cv_array(arena, n, sizeof *pivots);
    uint32_t *set = cv_array(arena, n, sizeof *set);
    struct cv_rows rows;

    *out_memory = matrix != NULL && vector != NULL && pivots != NULL && set != NULL &&
                  cv_rows_make(&rows, returns, send, back, n, lifespan_s, arena);
    if (!*out_memory)
        return false;
    for (uint32_t k = 0; k < n; k++)
        set[k] = k;
    return cv_rows_tight(&rows, set, n, matrix, vector, pivots, shares);
}

enum cleave_status cv_returns_tight(const struct cv_returns *returns,
                                    const uint32_t *send, const uint32_t *back,
                                    uint32_t n, double lifespan_s, struct cv_arena *arena,
                                    struct cv_round_trip *out, struct cleave_error *err)
{
    double *shares, *units;
    enum cv_chain kind;
    bool memory = true, solved = true;

    CV_TRY(cv_returns_check(returns, lifespan_s, err));
    CV_TRY(cv_returns_check_orders(returns, send, back, n, arena, err));
    shares = cv_array(arena, n, sizeof *shares);
    units = cv_array(arena, returns->n, sizeof *units);
    if (shares == NULL || units == NULL)
        return cv_fail_memory(err, "shares");
    if (cv_orders_chain(send, back, n, &kind))
        cv_chain_tight(returns, kind, send, n, lifespan_s, shares);
    else
        solved = all_tight(returns, send, back, n, lifespan_s, arena, shares, &memory);
    if (!memory)
        return cv_fail_memory(err, "rows of the workers");
    for (uint32_t k = 0; k < n; k++) {
        solved = solved && isfinite(shares[k]);
        units[send[k]] = shares[k];
    }
    if (!solved)
        return cv_fail(err, CLEAVE_EINPUT,
                       "these orders leave the shares open when nobody is idle");
    return cv_returns_make(returns, send, back, n, units, lifespan_s, true, arena, out,
                           err);
}
