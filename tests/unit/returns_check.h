/* returns_check.h -- the best round with results by trying everything, apart from the
 * library. SPDX-License-Identifier: MIT */
#ifndef RETURNS_CHECK_H
#define RETURNS_CHECK_H
#include "returns_cluster.h"

enum { MOST_BRUTE = 6 };

/* Solve n rows of n + 1 numbers; false when there is no one solution. */
static inline bool eliminate(double rows[][MOST_WORKERS + 1], uint32_t n, double *x)
{
    for (uint32_t k = 0; k < n; k++) {
        uint32_t pivot = k;

        for (uint32_t i = k + 1; i < n; i++)
            if (fabs(rows[i][k]) > fabs(rows[pivot][k]))
                pivot = i;
        if (fabs(rows[pivot][k]) < 1e-300)
            return false;
        for (uint32_t j = k; j <= n; j++) {
            const double kept = rows[k][j];

            rows[k][j] = rows[pivot][j];
            rows[pivot][j] = kept;
        }
        for (uint32_t i = 0; i < n; i++) {
            const double factor = rows[i][k] / rows[k][k];

            for (uint32_t j = k; i != k && j <= n; j++)
                rows[i][j] -= factor * rows[k][j];
        }
    }
    for (uint32_t k = 0; k < n; k++)
        x[k] = rows[k][n] / rows[k][k];
    return true;
}

/* The row of worker send[i] over the workers of two orders; the last entry is what fixed
 * costs leave of the lifespan. i = n is the port. */
static inline void write_row(const struct cv_returns *returns, const uint32_t *send,
                             const uint32_t *back, uint32_t n, double lifespan_s,
                             uint32_t i, double *row)
{
    uint32_t place[MOST_WORKERS];

    for (uint32_t k = 0; k < n; k++)
        place[back[k]] = k;
    row[n] = lifespan_s;
    for (uint32_t j = 0; j < n; j++) {
        const struct cv_trip *t = &returns->trips[send[j]];
        const bool sent = i == n || j <= i;
        const bool returned = i == n || place[send[j]] >= place[send[i]];

        row[j] = (sent ? t->send_s : 0) + (i == j ? t->compute_s : 0) +
                 (returned ? t->back_s : 0);
        row[n] -= (sent ? t->send_fixed_s : 0) + (i == j ? t->compute_fixed_s : 0) +
                  (returned ? t->back_fixed_s : 0);
    }
}

/* Shares by place in `send` with all rows tight, or with the port's in place of row
 * `idle` if idle < n. */
static inline bool plain_shares(const struct cv_returns *returns, const uint32_t *send,
                                const uint32_t *back, uint32_t n, double lifespan_s,
                                uint32_t idle, double *shares)
{
    double rows[MOST_WORKERS][MOST_WORKERS + 1];

    for (uint32_t i = 0; i < n; i++)
        write_row(returns, send, back, n, lifespan_s, i == idle ? n : i, rows[i]);
    return eliminate(rows, n, shares);
}

/* Work of these workers in these orders, all of them busy; -1 if that does not go. On a
 * single port one of them may wait, with the port full. */
static inline double brute_set(const struct cv_returns *returns, const uint32_t *send,
                               const uint32_t *back, uint32_t n, double lifespan_s)
{
    const double slack = 1e-11 * lifespan_s;
    double best = -1;

    for (uint32_t idle = returns->single ? 0 : n; idle <= n; idle++) {
        double shares[MOST_WORKERS], row[MOST_WORKERS + 1], work = 0;
        bool fine = plain_shares(returns, send, back, n, lifespan_s, idle, shares);

        for (uint32_t k = 0; fine && k < n; k++) {
            fine = shares[k] > 0;
            work += shares[k];
        }
        for (uint32_t i = 0; fine && returns->single && i <= n; i++) {
            double sum = 0;

            write_row(returns, send, back, n, lifespan_s, i, row);
            for (uint32_t k = 0; k < n; k++)
                sum += row[k] * shares[k];
            fine = sum <= row[n] + slack;
        }
        if (fine && work > best)
            best = work;
    }
    return best;
}

/* The best for given orders over all sets of their workers. */
static inline double brute_given(const struct cv_returns *returns, const uint32_t *send,
                                 const uint32_t *back, uint32_t n, double lifespan_s)
{
    double best = 0;

    for (uint32_t mask = 1; mask < 1u << n; mask++) {
        uint32_t some_send[MOST_WORKERS], some_back[MOST_WORKERS], m = 0, l = 0;

        for (uint32_t k = 0; k < n; k++) {
            if ((mask >> send[k] & 1) != 0)
                some_send[m++] = send[k];
            if ((mask >> back[k] & 1) != 0)
                some_back[l++] = back[k];
        }
        best = fmax(best, brute_set(returns, some_send, some_back, m, lifespan_s));
    }
    return best;
}

/* The next order in the dictionary; false after the last. */
static inline bool next_order(uint32_t *order, uint32_t n)
{
    uint32_t k = n - 1, l = k, kept;

    if (n < 2)
        return false;
    while (k > 0 && order[k - 1] >= order[k])
        k--;
    if (k == 0)
        return false;
    while (order[l] <= order[k - 1])
        l--;
    kept = order[k - 1];
    order[k - 1] = order[l];
    order[l] = kept;
    for (uint32_t a = k, b = n - 1; a < b; a++, b--) {
        kept = order[a];
        order[a] = order[b];
        order[b] = kept;
    }
    return true;
}

enum shape { ANY_ORDERS, SAME_ORDERS, REVERSED_ORDERS };

/* The best over all sets and all orders (of a shape). */
static inline double brute_best(const struct cv_returns *returns, double lifespan_s,
                                enum shape shape)
{
    double best = 0;

    for (uint32_t mask = 1; mask < 1u << returns->n; mask++) {
        uint32_t send[MOST_BRUTE], back[MOST_BRUTE], first[MOST_BRUTE] = { 0 }, n = 0;

        for (uint32_t i = 0; i < returns->n; i++)
            if ((mask >> i & 1) != 0)
                first[n++] = i;
        memcpy(send, first, n * sizeof *send);
        do {
            memcpy(back, shape == ANY_ORDERS ? first : send, n * sizeof *back);
            for (uint32_t k = 0; shape == REVERSED_ORDERS && k < n; k++)
                back[k] = send[n - 1 - k];
            do
                best = fmax(best, brute_set(returns, send, back, n, lifespan_s));
            while (shape == ANY_ORDERS && next_order(back, n));
        } while (next_order(send, n));
    }
    return best;
}

#endif
