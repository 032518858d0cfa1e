/* returns_given.c -- the best shares for given orders. SPDX-License-Identifier: MIT
 *
 * Duplex. A worker that is left out has no row, so the choice is which rows to have.
 * In the best schedule of the smallest set that allows it all shares are positive, and
 * as a corner of its linear program all rows of that set are tight: so the best is the
 * best all-tight solution with positive shares, over all sets. Up to EXACT_MOST
 * workers all sets are tried. Without fixed costs returns_chain.c settles FIFO and
 * LIFO orders. Else sets change by one worker at a time.
 *
 * Single: returns_lp.c; LIFO always fits the port. */
#include "model/returns/returns_internal.h"

#include <math.h>
#include <string.h>
#include "model/returns/returns.h"

/* --- sets for many workers --------------------------------------------------------- */

/* The inverse of the matrix of a set shows the effect when one worker leaves or joins,
 * and is updated in n^2 steps. Two starts, all workers with the negative shares
 * dropped one by one, and fastest links first with each kept that adds work, are
 * improved by one worker at a time, in n^3 steps a sweep, and up to EXCHANGE_MOST
 * workers by exchanging one for another. */

enum {
    MOST_SWEEPS = 20,
    EXCHANGE_MOST = 128, /* exchanging costs n^4 steps a sweep */
};
static const double gain_noise = 1e-12;

struct subset {
    const struct cv_rows *rows;
    uint32_t *set, count;
    double *inverse;        /* n x n */
    double *right;          /* per place                                        */
    double *shares, *trial; /* per place                                        */
    double *down, *across;  /* inverse times a new column; a new row times inverse */
    double work;            /* work of the set; -1 if a share is not positive */
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

/* The pivot of a new column; sets s->down and s->across. */
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

static bool holds(const struct subset *s, uint32_t col, uint32_t *out_at)
{
    for (*out_at = 0; *out_at < s->count; ++*out_at)
        if (s->set[*out_at] == col)
            return true;
    return false;
}

/* All workers; then the most negative one leaves, until none is negative. */
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
        /* The newest is last; the former last took the free place. */
        old = (old + 1) % s->count;
    }
}

/* Rebuild the inverse: updates accumulate rounding errors. */
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

/* Solve for the shares again; workers that rounding made negative leave. */
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
    return CV_NEW(arena, s->set, n) && CV_NEW(arena, s->inverse, n * n) &&
           CV_NEW(arena, s->right, n) && CV_NEW(arena, s->shares, n) &&
           CV_NEW(arena, s->trial, 2 * n) && CV_NEW(arena, s->down, n) &&
           CV_NEW(arena, s->across, n);
}

bool cv_rows_subset(const struct cv_rows *rows, double *shares, struct cv_arena *arena)
{
    const uint32_t n = rows->n;
    double *matrix = cv_array(arena, n, (size_t)2 * n * sizeof *matrix), best = 0;
    uint32_t *pivots, *by_link;
    struct subset s;

    if (!CV_NEW(arena, pivots, n) || !CV_NEW(arena, by_link, n) || matrix == NULL ||
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

enum { EXACT_MOST = 16 };

/* Without fixed costs: the set that is best for a FIFO or LIFO order. */
static bool chain_shares(const struct cv_returns *returns, enum cv_chain kind,
                         const uint32_t *send, uint32_t n, double lifespan_s,
                         double *units, struct cv_arena *arena)
{
    uint32_t *order, kept;
    double *shares;
    bool *keep;

    if (!CV_NEW(arena, order, n) || !CV_NEW(arena, shares, n) || !CV_NEW(arena, keep, n))
        return false;
    memcpy(order, send, n * sizeof *order);
    kept = cv_chain_prune(returns, kind, order, n, keep);
    cv_chain_tight(returns, kind, order, kept, lifespan_s, shares);
    for (uint32_t k = 0; k < kept; k++)
        units[order[k]] = shares[k];
    return true;
}

/* All sets, those with the first workers first: among equal ones a large set wins. */
static void try_all_sets(const struct cv_rows *rows, double *best_shares)
{
    double matrix[2 * EXACT_MOST * EXACT_MOST], vector[2 * EXACT_MOST];
    double shares[EXACT_MOST], best = 0;
    uint32_t set[EXACT_MOST], pivots[EXACT_MOST];

    for (uint32_t mask = (1u << rows->n) - 1; mask > 0; mask--) {
        uint32_t count = 0;
        double work = 0;
        bool positive = true;

        for (uint32_t k = 0; k < rows->n; k++)
            if ((mask >> k & 1) != 0)
                set[count++] = k;
        for (uint32_t k = 0; positive && k < count; k++)
            positive = cv_rows_right(rows, set[k], set, count) > 0;
        if (!positive || !cv_rows_tight(rows, set, count, matrix, vector, pivots, shares))
            continue;
        for (uint32_t k = 0; k < count; k++) {
            positive = positive && shares[k] > 0;
            work += shares[k];
        }
        if (!positive || !(work > best * (1 + 1e-13)))
            continue;
        best = work;
        memset(best_shares, 0, rows->n * sizeof *best_shares);
        for (uint32_t k = 0; k < count; k++)
            best_shares[set[k]] = shares[k];
    }
}

static bool row_shares(const struct cv_returns *returns, const uint32_t *send,
                       const uint32_t *back, uint32_t n, double lifespan_s, double *units,
                       bool *out_optimal, struct cv_arena *arena)
{
    double *shares = cv_array(arena, n, sizeof *shares);
    struct cv_rows rows;

    if (shares == NULL || !cv_rows_make(&rows, returns, send, back, n, lifespan_s, arena))
        return false;
    *out_optimal = true;
    if (returns->single) {
        if (!cv_rows_single(&rows, shares, out_optimal, arena))
            return false;
    } else if (n <= EXACT_MOST) {
        try_all_sets(&rows, shares);
    } else {
        *out_optimal = false;
        if (!cv_rows_subset(&rows, shares, arena))
            return false;
    }
    for (uint32_t k = 0; k < n; k++)
        units[send[k]] = shares[k];
    return true;
}

enum cleave_status cv_returns_given(const struct cv_returns *returns,
                                    const uint32_t *send, const uint32_t *back,
                                    uint32_t n, double lifespan_s, struct cv_arena *arena,
                                    struct cv_round_trip *out, struct cleave_error *err)
{
    double *units;
    enum cv_chain kind;
    bool chain, done, optimal = true;

    CV_TRY(cv_returns_check(returns, lifespan_s, err));
    CV_TRY(cv_returns_check_orders(returns, send, back, n, arena, err));
    if (!CV_NEW(arena, units, returns->n))
        return cv_fail_memory(err, "shares");
    chain = cv_orders_chain(send, back, n, &kind) &&
            (kind == CV_CHAIN_LIFO || n == 1 || !returns->single) &&
            cv_returns_linear(returns);
    if (chain)
        done = chain_shares(returns, kind, send, n, lifespan_s, units, arena);
    else
        done = row_shares(returns, send, back, n, lifespan_s, units, &optimal, arena);
    if (!done)
        return cv_fail_memory(err, "shares for given orders");
    CV_TRY(cv_returns_make(returns, send, back, n, units, lifespan_s, false, arena, out,
                           err));
    out->optimal = optimal;
    return CLEAVE_OK;
}

/* --- the return order when results are small --------------------------------------- */

/* Let y be the best shares if results took no time, fastest links first, and u the
 * dual solution: u_i is the work gained by one more second in row i. To first order
 * results cost the sum of u_i r_j y_j over all pairs with i not after j. Exchanging
 * neighbours shows that nonincreasing r y / u is best, Smith's rule read from the end. */

/* Shares without results, by worker: (R + s) y = R y of the previous worker. */
static void free_shares(const struct cv_returns *returns, const uint32_t *order,
                        double lifespan_s, double *y)
{
    double left = lifespan_s;

    for (uint32_t k = 0; k < returns->n; k++) {
        const struct cv_trip *t = &returns->trips[order[k]];

        y[order[k]] = left / (t->compute_s + t->send_s);
        left = t->compute_s * y[order[k]];
    }
}

/* The dual: (R + s) u + s (u of all later workers) = 1. With sorted links it is
 * positive; if rounding leaves nothing of it the share is negligible. */
static void free_duals(const struct cv_returns *returns, const uint32_t *order, double *u)
{
    double later = 0;

    for (uint32_t k = returns->n; k-- > 0;) {
        const struct cv_trip *t = &returns->trips[order[k]];
        const double rest = fmax(1 - t->send_s * later, 1e-300);

        u[order[k]] = rest / (t->compute_s + t->send_s);
        later += u[order[k]];
    }
}

enum cleave_status cv_returns_small(const struct cv_returns *returns, double lifespan_s,
                                    struct cv_arena *arena, struct cv_round_trip *out,
                                    double *keys, struct cleave_error *err)
{
    const uint32_t n = returns->n;
    uint32_t *send, *back, *place;
    double *y, *u, *rank, ratio;
    bool uniform;

    CV_TRY(cv_returns_check(returns, lifespan_s, err));
    uniform = cv_returns_uniform(returns, &ratio);
    if (!CV_NEW(arena, send, n) || !CV_NEW(arena, back, n) || !CV_NEW(arena, place, n) ||
        !CV_NEW(arena, y, n) || !CV_NEW(arena, u, n) || !CV_NEW(arena, rank, n))
        return cv_fail_memory(err, "order of small results");
    for (uint32_t i = 0; i < n; i++)
        rank[i] = returns->trips[i].send_s;
    if (!cv_returns_sort(rank, n, arena, send))
        return cv_fail_memory(err, "order of small results");
    free_shares(returns, send, lifespan_s, y);
    free_duals(returns, send, u);
    /* By place in the sending order, so that ties go to the worker sent to first. */
    for (uint32_t k = 0; k < n; k++) {
        const struct cv_trip *t = &returns->trips[send[k]];
        const double key = (uniform ? t->send_s : t->back_s) * y[send[k]] / u[send[k]];

        rank[k] = -key;
        if (keys != NULL)
            keys[send[k]] = key / lifespan_s;
    }
    if (!cv_returns_sort(rank, n, arena, place))
        return cv_fail_memory(err, "order of small results");
    for (uint32_t k = 0; k < n; k++)
        back[k] = send[place[k]];
    CV_TRY(cv_returns_given(returns, send, back, n, lifespan_s, arena, out, err));
    out->optimal = n <= 1;
    return CLEAVE_OK;
}
