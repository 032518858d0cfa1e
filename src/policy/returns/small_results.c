/* small_results.c -- one round; the return order that is best when results are small.
 * SPDX-License-Identifier: MIT
 *
 * With y the shares as if results took no time and u the worth of a second more for each
 * worker, returns cost sum u_i (sum of tau_k y_k over those that return from i on) to first
 * order: one machine, weighted completion times, read backwards. So sending goes by
 * nondecreasing tau and returning by nonincreasing tau y / u, which is exact as delta goes
 * to 0 and a good guess above. O(n log n) for the orders; the shares are the best for them.
 *
 * O. Beaumont, A. L. Rosenberg, Link-heterogeneity vs. node-heterogeneity in clusters,
 * 2010, in the direction proved in docs/theory/returns.md. */
#include "policy/returns/round_trip.h"

struct small_results {
    struct cv_round_trip_state round;
};

static enum cleave_status solve(void *context, const struct cv_returns *returns,
                                double lifespan_s, struct cv_arena *arena,
                                struct cv_round_trip *out, struct cleave_error *err)
{
    (void)context;
    return cv_returns_small(returns, lifespan_s, arena, out, NULL, err);
}

static enum cleave_status small_results_plan(void *state, const struct cleave_view *view,
                                             struct cleave_setup *setup,
                                             struct cleave_error *err)
{
    const struct cv_returns_solver solver = { solve, NULL, false };

    return cv_round_trip_plan(&((struct small_results *)state)->round, view, &solver,
                              setup, err);
}

const struct cleave_policy cleave_policy_small_results = {
    .name = "small-results",
    .summary = "one round, returning in the order that is best when results are small",
    .reference = "Beaumont and Rosenberg 2010",
    .needs = CLEAVE_NEEDS_SHARED_PORT,
    .one_round = true,
    .orders_returns = true,
    .state_size = sizeof(struct small_results),
    .plan = small_results_plan,
    .start = cv_round_trip_start,
    .decide = cv_round_trip_decide,
    .work = cv_round_trip_work,
};
