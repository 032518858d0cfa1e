/* returns_subset.c -- whom to leave out of given orders, for many workers.
 * SPDX-License-Identifier: MIT
 *
 * The inverse of the matrix of a set answers at once what happens when one worker leaves
 * it or joins, and follows such a change in n^2 steps. Two starts, all workers with the
 * negative shares dropped one by one, and fastest links first with each kept that adds
 * work, are improved by one worker at a time, in n^3 steps a sweep, and for not too many
 * workers by exchanging one for another. */
#include "model/returns/returns_subset.h"

#include <math.h>
#include <string.h>

#include "model/returns/returns_internal.h"

enum {
    MOST_SWEEPS = 20,
    EXCHANGE_MOST = 128, /* exchanging costs n^4 steps a sweep */
};
static const double gain_noise = 1e-12;

struct subset {
    const struct cv_rows *rows;
    uint32_t *set, count;
    double *inverse;        /* n x n room, of the set in its order              */
    double *right;          /* per place                                        */
    double *shares, *trial; /* per place                                        */
    double *down, *across;  /* inverse times a new column, a new row times it   */
    double work;            /* of the set; -1 when a share is not positive      */
};

static double unit_at(const struct subset *s, uint32_t i, uint32_t j)
{
    return s->rows->units[(size_t)i * s->rows->n + j];
}

static double fixed_at(const struct subset *s, uint32_t i, uint32_t j)
{
    return s->rows->fixed == NULL ? 0 : s->rows->fixed[(size_t)i * s->rows->n + j];
}

static double *line(const struct subset *s, uint32_t i)
{
    return s->inverse + (size_t)i * s->rows->n;
}

/* Shares of the set for right sides. */
static void multiply(const struct subset *s, const double *right, double *shares)
{
    for (uint32_t i = 0; i < s->count; i++) {
        shares[i] = 0;
        for (uint32_t j = 0; j < s->count; j++)
            shares[i] += line(s, i)[j] * right[j];
    }
}

static double work_of(const double *shares, uint32_t count)
{
    double work = 0;

    for (uint32_t k = 0; k < count; k++) {
        if (!(shares[k] > 0))
            return -1;
        work += shares[k];
    }
    return work;
}

static void settle(struct subset *s)
{
    for (uint32_t k = 0; k < s->count; k++)
        s->right[k] = cv_rows_right(s->rows, s->set[k], s->set, s->count);
    multiply(s, s->right, s->shares);
    s->work = work_of(s->shares, s->count);
}

/* --- joining ------------------------------------------------------------------------ */

/* The pivot that a new column would have, with s->down and s->across filled. */
static double border(struct subset *s, uint32_t col)
{
    double pivot = unit_at(s, col, col);

    for (uint32_t i = 0; i < s->count; i++)
        s->down[i] = s->across[i] = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        const double row = unit_at(s, col, s->set[i]);

        for (uint32_t j = 0; j < s->count; j++) {
            s->down[i] += line(s, i)[j] * unit_at(s, s->set[j], col);
            s->across[j] += row * line(s, i)[j];
        }
        pivot -= row * s->down[i];
    }
    return pivot;
}

static bool usable(const struct subset *s, double pivot, uint32_t col)
{
    return fabs(pivot) > 1e-10 * unit_at(s, col, col);
}

/* The work with a column more, or -1. */
static double work_with(struct subset *s, uint32_t col)
{
    const double pivot = border(s, col);
    double own = s->rows->lifespan_s - fixed_at(s, col, col), work;

    if (!usable(s, pivot, col))
        return -1;
    for (uint32_t k = 0; k < s->count; k++)
        s->right[k] -= fixed_at(s, s->set[k], col);
    multiply(s, s->right, s->trial);
    for (uint32_t k = 0; k < s->count; k++) {
        s->right[k] += fixed_at(s, s->set[k], col);
        own -= fixed_at(s, col, s->set[k]) + unit_at(s, col, s->set[k]) * s->trial[k];
    }
    own /= pivot;
    for (uint32_t k = 0; k < s->count; k++)
        s->trial[k] -= s->down[k] * own;
    work = work_of(s->trial, s->count);
    return own > 0 && work >= 0 ? work + own : -1;
}

static bool join(struct subset *s, uint32_t col)
{
    const double pivot = border(s, col);
    const uint32_t n = s->count;

    if (!usable(s, pivot, col))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j < n; j++)
            line(s, i)[j] += s->down[i] * s->across[j] / pivot;
        line(s, i)[n] = -s->down[i] / pivot;
    }
    for (uint32_t j = 0; j < n; j++)
        line(s, n)[j] = -s->across[j] / pivot;
    line(s, n)[n] = 1 / pivot;
    s->set[s->count++] = col;
    settle(s);
    return true;
}

/* --- leaving ------------------------------------------------------------------------ */

static bool may_leave(const struct subset *s, uint32_t at)
{
    return fabs(line(s, at)[at]) * unit_at(s, s->set[at], s->set[at]) > 1e-10;
}

static double work_without(struct subset *s, uint32_t at)
{
    const uint32_t col = s->set[at];
    double lost;

    if (!may_leave(s, at))
        return -1;
    if (s->rows->fixed == NULL) {
        memcpy(s->trial, s->shares, s->count * sizeof *s->trial);
    } else {
        for (uint32_t k = 0; k < s->count; k++)
            s->right[k] += fixed_at(s, s->set[k], col);
        multiply(s, s->right, s->trial);
        for (uint32_t k = 0; k < s->count; k++)
            s->right[k] -= fixed_at(s, s->set[k], col);
    }
    lost = s->trial[at] / line(s, at)[at];
    for (uint32_t k = 0; k < s->count; k++)
        s->trial[k] -= line(s, k)[at] * lost;
    s->trial[at] = s->trial[s->count - 1];
    return work_of(s->trial, s->count - 1);
}

static void leave(struct subset *s, uint32_t at)
{
    const uint32_t last = s->count - 1;
    const double pivot = line(s, at)[at];

    for (uint32_t i = 0; i < s->count; i++) {
        const double factor = line(s, i)[at] / pivot;

        for (uint32_t j = 0; i != at && j < s->count; j++)
            if (j != at)
                line(s, i)[j] -= factor * line(s, at)[j];
    }
    memcpy(line(s, at), line(s, last), s->count * sizeof(double));
    for (uint32_t i = 0; i < last; i++)
        line(s, i)[at] = line(s, i)[last];
    s->set[at] = s->set[last];
    s->count = last;
    settle(s);
}

/* --- starts and sweeps -------------------------------------------------------------- */

static bool holds(const struct subset *s, uint32_t col, uint32_t *out_at)
{
    for (*out_at = 0; *out_at < s->count; ++*out_at)
        if (s->set[*out_at] == col)
            return true;
    return false;
}

/* Everybody, then without the one that is furthest below nothing, until nobody is. */
static void start_with_all(struct subset *s)
{
    for (uint32_t k = 0; k < s->rows->n; k++)
        join(s, k);
    while (s->work < 0 && s->count > 0) {
        uint32_t worst = 0;
        double min = INFINITY;

        for (uint32_t k = 0; k < s->count; k++) {
            const double own = s->shares[k] * unit_at(s, s->set[k], s->set[k]);

            if (own < min && may_leave(s, k)) {
                min = own;
                worst = k;
            }
        }
        leave(s, worst);
    }
}

static void add_helpful(struct subset *s, const uint32_t *by_link)
{
    uint32_t at;

    for (uint32_t k = 0; k < s->rows->n; k++)
        if (!holds(s, by_link[k], &at) &&
            work_with(s, by_link[k]) > s->work * (1 + gain_noise))
            join(s, by_link[k]);
}

/* One out for one in. */
static void exchange(struct subset *s)
{
    for (uint32_t turn = 0, old = 0; turn < s->rows->n; turn++) {
        const uint32_t col = s->set[old];
        double best = s->work * (1 + gain_noise);
        uint32_t at, other = UINT32_MAX;

        if (s->count == 0 || !may_leave(s, old))
            return;
        leave(s, old);
        for (uint32_t k = 0; k < s->rows->n; k++) {
            double work;

            if (k == col || holds(s, k, &at))
                continue;
            work = work_with(s, k);
            if (work > best) {
                best = work;
                other = k;
            }
        }
        if (!join(s, other == UINT32_MAX ? col : other))
            return;
        /* The newest is last, the last of before took the place of the one that left. */
        old = (old + 1) % s->count;
    }
}

/* The inverse made anew: changes gather rounding errors. */
static void renew(struct subset *s)
{
    const uint32_t count = s->count;

    s->count = 0;
    s->work = 0;
    for (uint32_t k = 0; k < count; k++)
        join(s, s->set[k]);
}

static void improve(struct subset *s, const uint32_t *by_link)
{
    for (int sweep = 0; sweep < MOST_SWEEPS; sweep++) {
        const double before = s->work;

        add_helpful(s, by_link);
        for (uint32_t at = s->count; at-- > 0;)
            if (at < s->count && work_without(s, at) > s->work * (1 + gain_noise))
                leave(s, at);
        if (s->rows->n <= EXCHANGE_MOST)
            exchange(s);
        renew(s);
        if (!(s->work > before * (1 + gain_noise)))
            return;
    }
}

/* The set's shares, solved afresh; those that rounding made negative leave. */
static double fresh(struct subset *s, double *matrix, uint32_t *pivots)
{
    while (s->count > 0) {
        uint32_t worst = 0;

        if (cv_rows_tight(s->rows, s->set, s->count, matrix, s->trial, pivots,
                          s->shares)) {
            const double work = work_of(s->shares, s->count);

            if (work >= 0)
                return work;
            for (uint32_t k = 1; k < s->count; k++)
                if (s->shares[k] < s->shares[worst])
                    worst = k;
        }
        s->set[worst] = s->set[--s->count];
    }
    return 0;
}

static bool grow_array(struct subset *s, const struct cv_rows *rows,
                       struct cv_arena *arena)
{
    const size_t n = rows->n;

    *s = (struct subset){ .rows = rows };
    s->set = cv_array(arena, n, sizeof *s->set);
    s->inverse = cv_array(arena, n, n * sizeof *s->inverse);
    s->right = cv_array(arena, n, sizeof *s->right);
    s->shares = cv_array(arena, n, sizeof *s->shares);
    s->trial = cv_array(arena, n, 2 * sizeof *s->trial);
    s->down = cv_array(arena, n, sizeof *s->down);
    s->across = cv_array(arena, n, sizeof *s->across);
    return s->set != NULL && s->inverse != NULL && s->right != NULL &&
           s->shares != NULL && s->trial != NULL && s->down != NULL && s->across != NULL;
}

bool cv_rows_subset(const struct cv_rows *rows, double *shares, struct cv_arena *arena)
{
    const uint32_t n = rows->n;
    double *matrix = cv_array(arena, n, (size_t)2 * n * sizeof *matrix), best = 0;
    uint32_t *pivots = cv_array(arena, n, sizeof *pivots);
    uint32_t *by_link = cv_array(arena, n, sizeof *by_link);
    struct subset s;

    if (matrix == NULL || pivots == NULL || by_link == NULL ||
        !grow_array(&s, rows, arena))
        return false;
    for (uint32_t k = 0; k < n; k++)
        s.right[k] = rows->returns->trips[rows->send[k]].send_s;
    if (!cv_returns_sort(s.right, n, arena, by_link))
        return false;
    for (int start = 0; start < 2; start++) {
        double work;

        s.count = 0;
        s.work = 0;
        if (start == 0)
            start_with_all(&s);
        improve(&s, by_link);
        work = fresh(&s, matrix, pivots);
        if (!(work > best))
            continue;
        best = work;
        memset(shares, 0, n * sizeof *shares);
        for (uint32_t k = 0; k < s.count; k++)
            shares[s.set[k]] = s.shares[k];
    }
    return true;
}
