/* returns_small.c -- the return order when results are small.
 * SPDX-License-Identifier: MIT
 *
 * Let y be the best shares if results took no time, fastest links first, and u the dual
 * solution: u_i is the work gained by one more second in row i. To first order results
 * take away the sum over i of u_i (returns from i on), that is, of u_i r_j y_j over all
 * pairs with i not after j. Exchanging neighbours shows that the least is by
 * nonincreasing r y / u, Smith's rule read from the end. */
#include "model/returns/returns.h"

#include <math.h>

#include "model/returns/returns_internal.h"

/* Shares without results, by worker: (R + s) y = R y of the one before. */
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

/* The dual: (R + s) u + s (u of all later ones) = 1. With links sorted it is positive;
 * where rounding leaves nothing of it a worker has nothing to do either. */
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
    uint32_t *send = cv_array(arena, n, sizeof *send);
    uint32_t *back = cv_array(arena, n, sizeof *back);
    uint32_t *place = cv_array(arena, n, sizeof *place);
    double *y = cv_array(arena, n, sizeof *y), *u = cv_array(arena, n, sizeof *u);
    double *rank = cv_array(arena, n, sizeof *rank), ratio;
    bool uniform;

    CV_TRY(cv_returns_check(returns, lifespan_s, err));
    uniform = cv_returns_uniform(returns, &ratio);
    for (uint32_t i = 0; rank != NULL && i < n; i++)
        rank[i] = returns->trips[i].send_s;
    if (send == NULL || back == NULL || place == NULL || y == NULL || u == NULL ||
        rank == NULL || !cv_returns_sort(rank, n, arena, send))
        return cv_fail_memory(err, "order of small results");
    free_shares(returns, send, lifespan_s, y);
    free_duals(returns, send, u);
    /* By place in the sending order, so that ties go to who is sent to first. */
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
