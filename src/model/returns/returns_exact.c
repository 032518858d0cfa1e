/* returns_exact.c -- the best of all sets of workers and all pairs of orders.
 * SPDX-License-Identifier: MIT
 *
 * With two ports a best schedule is a vertex of the linear program of its workers and
 * orders, so all its rows are tight: the optimum is the largest work of a tight solution
 * without negative shares. With a single port all rows are tight, or all but one and the
 * port is full. So all sets and orders have to be gone through. Workers come in one after
 * the other, each at every pair of places or not at all; the inverse of the tight system
 * is bordered on the way, and for the last worker all pairs of places are priced at once.
 * That makes about (n - 1)!^2 small steps; a bound (returns_exact_level.c) cuts off what
 * cannot beat the schedule that the search has found. On a single port the bound is taken
 * for several values of the port: those near its value in that schedule.
 *
 * Equal workers are put in in one order only. Work is compared to about 1e-9 of it. Where
 * a pivot is too small to trust (possible only where return and send costs have unequal
 * ratios, or nodes are a million times faster than links) the orders below are solved one
 * by one. */
#include "model/returns/returns_exact_internal.h"

#include <math.h>

#include "base/fail.h"
#include "model/returns/returns_bounds.h"

/* What placing one worker is counted as. */
static const double level_steps = 1000;

/* --- all workers -------------------------------------------------------------------- */

/* The first place in the order of sending for worker x: behind its equal. No place at all
 * (CV_EXACT_MOST + 1) when that one stays out. */
static uint32_t first_place(const struct cv_exact *exact,
                            const struct cv_exact_level *level, uint32_t x)
{
    if (!exact->twin[x])
        return 0;
    for (uint32_t k = 0; k < level->m; k++)
        if (level->who[level->send[k]] == x - 1)
            return k + 1;
    return CV_EXACT_MOST + 1;
}

/* Worker x and all after it at all places. levels[0] is what there is so far. */
static void place_all(struct cv_exact *exact, struct cv_exact_level *levels, uint32_t x)
{
    const uint32_t first = first_place(exact, levels, x), m = levels->m;
    struct cv_exact_sums sums;

    cv_step_budget_spend(exact->returns->budget, level_steps);
    exact->stopped = exact->stopped || cv_step_budget_over(exact->returns->budget);
    if (exact->stopped)
        return;
    if (x + 1 == exact->n) {
        cv_exact_try_last(exact, levels, x, first);
        return;
    }
    if (!levels->direct)
        cv_exact_sum(exact, levels, &sums);
    for (uint32_t s = first; s <= m; s++)
        for (uint32_t f = 0; f <= m; f++) {
            cv_exact_insert(exact, levels, &sums, x, s, f, levels + 1);
            exact->trusted = exact->trusted && !levels[1].direct;
            if (cv_exact_hopeful(exact, levels + 1, x + 1)) {
                cv_exact_try_level(exact, levels + 1);
                place_all(exact, levels + 1, x + 1);
            }
        }
    if (cv_exact_hopeful(exact, levels, x + 1)) {
        levels[1] = levels[0];
        place_all(exact, levels + 1, x + 1);
    }
}

static void enumerate(struct cv_exact *exact, uint32_t first, double port_value)
{
    struct cv_exact_level levels[CV_EXACT_MOST + 1] = { 0 };
    struct cv_exact_level *root = &levels[0];

    root->port_value = port_value;
    root->worth = port_value * exact->lifespan_s;
    root->overload_s = -exact->lifespan_s;
    place_all(exact, levels, first);
}

/* later_most for one value of the port, from the last worker on. Each is an optimum of
 * its own; those of nearly all workers would cost too much. */
static void bound_later(struct cv_exact *exact, uint32_t value)
{
    double *later_most = exact->later_most[value];
    const double empty = exact->values[value] * exact->lifespan_s;

    exact->bounding = value;
    later_most[exact->n] = 0;
    for (uint32_t x = exact->n; x-- > 0;) {
        later_most[x] = INFINITY;
        if (x < 2)
            continue;
        exact->trusted = true;
        exact->max = empty * (1 + 1e-13);
        enumerate(exact, x, exact->values[value]);
        if (exact->trusted)
            later_most[x] = (exact->max - empty) * (1 + CV_EXACT_SAME);
    }
}

/* --- set up ------------------------------------------------------------------------- */

/* `port` counts what a unit takes on the port, else what it takes in all. */
static int by_cost(const struct cv_trip *a, const struct cv_trip *b, bool port)
{
    const double left[] = { a->send_s + a->back_s + (port ? 0 : a->compute_s),
                            a->send_s,
                            a->compute_s,
                            a->back_s,
                            a->send_fixed_s,
                            a->compute_fixed_s,
                            a->back_fixed_s };
    const double right[] = { b->send_s + b->back_s + (port ? 0 : b->compute_s),
                             b->send_s,
                             b->compute_s,
                             b->back_s,
                             b->send_fixed_s,
                             b->compute_fixed_s,
                             b->back_fixed_s };

    for (unsigned k = 0; k < sizeof left / sizeof *left; k++)
        if (left[k] != right[k])
            return left[k] < right[k] ? -1 : 1;
    return 0;
}

/* Cheap workers first: then those left to place can do little, and bounds are close. */
static void sort_workers(struct cv_exact *exact)
{
    const struct cv_trip *trips = exact->returns->trips;
    const bool port = exact->port_full;

    for (uint32_t k = 0; k < exact->n; k++) {
        uint32_t at = k;

        for (; at > 0 && by_cost(&trips[exact->worker[at - 1]], &trips[k], port) > 0;
             at--)
            exact->worker[at] = exact->worker[at - 1];
        exact->worker[at] = k;
    }
    for (uint32_t k = 0; k < exact->n; k++) {
        exact->trips[k] = trips[exact->worker[k]];
        exact->twin[k] =
            k > 0 && by_cost(&exact->trips[k - 1], &exact->trips[k], port) == 0;
    }
}

/* Values of the port for which to take bounds: in the best schedule, and around it. */
static void set_values(struct cv_exact *exact, const struct cv_round_trip *trip)
{
    static const double times[] = { 1, 0, 0.5, 0.75, 0.9, 0.97, 1.03, 1.1, 1.25, 1.5, 2 };
    double value = 0;

    exact->nvalues = 1;
    if (!exact->returns->single)
        return;
    if (cv_inverse_load(&exact->check, trip->send, trip->back, trip->n) &&
        exact->check.score > 0)
        value = exact->check.port_value;
    exact->port_full = value > 0;
    /* The port has room in the best schedule: still it may keep others from being it. */
    if (!(value > 0))
        value = 0.3 * trip->work / trip->lifespan_s;
    exact->nvalues = sizeof times / sizeof *times;
    for (uint32_t v = 0; v < exact->nvalues; v++)
        exact->values[v] = times[v] * value;
}

/* A bound says that nothing is better. */
static bool proved_already(const struct cv_returns *returns,
                           const struct cv_round_trip *trip, struct cv_arena *scratch)
{
    const double enough = trip->work * (1 + CV_EXACT_SAME);

    return returns->n == 1 ||
           cv_returns_bound_prefix(returns, trip->lifespan_s, scratch) <= enough ||
           (cv_returns_linear(returns) &&
            cv_returns_bound_convex(returns, trip->lifespan_s, scratch) <= enough);
}

static enum cleave_status search_all(struct cv_exact *exact,
                                     const struct cv_round_trip *found,
                                     struct cv_arena *scratch, struct cv_arena *arena,
                                     struct cv_round_trip *out, struct cleave_error *err)
{
    if (!cv_inverse_init(&exact->check, exact->returns, exact->lifespan_s, scratch) ||
        !cv_inverse_init(&exact->best, exact->returns, exact->lifespan_s, scratch))
        return cv_fail_memory(err, "exact orders");
    set_values(exact, found);
    sort_workers(exact);
    exact->noise = 1e-9 * found->work;
    for (uint32_t v = exact->nvalues; v-- > 0;)
        bound_later(exact, v);
    exact->max = found->work * (1 + CV_EXACT_SAME);
    exact->keep = true;
    exact->single = exact->returns->single;
    enumerate(exact, 0, exact->values[0]);
    if (!exact->improved || !cv_inverse_polish(&exact->best))
        return CLEAVE_OK;
    return cv_inverse_result(&exact->best, arena, out, err);
}

enum cleave_status cv_returns_exact(const struct cv_returns *returns, double lifespan_s,
                                    struct cv_arena *arena, struct cv_round_trip *out,
                                    struct cleave_error *err)
{
    struct cv_exact exact = { .returns = returns, .lifespan_s = lifespan_s };
    struct cv_round_trip found;
    struct cv_arena scratch;
    enum cleave_status status = CLEAVE_OK;

    if (returns->n > CV_EXACT_MOST)
        return cv_fail(err, CLEAVE_EINPUT,
                       "exact orders: expected at most %d workers, got %u", CV_EXACT_MOST,
                       returns->n);
    CV_TRY(cv_returns_search(returns, lifespan_s, NULL, arena, &found, err));
    exact.n = returns->n;
    cv_arena_init(&scratch);
    if (found.n > 0 && !proved_already(returns, &found, &scratch))
        status = search_all(&exact, &found, &scratch, arena, &found, err);
    cv_arena_done(&scratch);
    if (status != CLEAVE_OK)
        return status;
    found.optimal = !exact.stopped;
    *out = found;
    return CLEAVE_OK;
}
