/* returns_given.c -- the best shares for given orders. SPDX-License-Identifier: MIT
 *
 * Duplex. A worker that is left out has no row, so the choice is which rows to have. In
 * the best schedule of the smallest set that allows it all shares are positive, and as it
 * is a corner of its linear program all rows of that set are tight: so the best is the
 * best all-tight solution with positive shares, over all sets. Up to EXACT_MOST workers
 * all sets are tried. Without fixed costs FIFO and LIFO orders are settled by
 * returns_chain.c. Else sets are changed by one worker at a time (returns_subset.c).
 *
 * Single: returns_lp.c; LIFO always fits the port. */
#include "model/returns/returns.h"

#include <string.h>

#include "model/returns/returns_chain.h"
#include "model/returns/returns_lp.h"
#include "model/returns/returns_internal.h"
#include "model/returns/returns_subset.h"

enum { EXACT_MOST = 16 };

/* Without fixed costs: the set that is best for a FIFO or LIFO order. */
static bool chain_shares(const struct cv_returns *returns, enum cv_chain kind,
                         const uint32_t *send, uint32_t n, double lifespan_s,
                         double *units, struct cv_arena *arena)
{
    uint32_t *order = cv_array(arena, n, sizeof *order), kept;
    double *shares = cv_array(arena, n, sizeof *shares);
    bool *keep = cv_array(arena, n, sizeof *keep);

    if (order == NULL || shares == NULL || keep == NULL)
        return false;
    memcpy(order, send, n * sizeof *order);
    kept = cv_chain_prune(returns, kind, order, n, keep);
    cv_chain_tight(returns, kind, order, kept, lifespan_s, shares);
    for (uint32_t k = 0; k < kept; k++)
        units[order[k]] = shares[k];
    return true;
}

/* --- all sets ----------------------------------------------------------------------- */

/* All sets, those with the first workers earlier, so that of equal ones a large set is
 * found first. */
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
    units = cv_array(arena, returns->n, sizeof *units);
    if (units == NULL)
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
