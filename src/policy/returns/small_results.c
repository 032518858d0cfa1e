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

/* With latencies who takes part is a search, again for each of some 40 lifespans: seconds for
 * a hundred workers, hours for a thousand. */
enum { LATENCIES_MOST = 128 };

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

static bool have_latencies(const struct cleave_view *view)
{
    for (uint32_t w = 0; w < view->nworkers; w++) {
        const struct cleave_worker *worker = &view->workers[w];

        if (worker->latency_s > 0 || worker->compute_latency_s > 0 ||
            (worker->return_latency_s > 0 && view->result_ratio > 0))
            return true;
    }
    return false;
}

static enum cleave_status small_results_plan(void *state, const struct cleave_view *view,
                                             struct cleave_setup *setup,
                                             struct cleave_error *err)
{
    const struct cv_returns_solver solver = { solve, NULL, false };

    if (view->nworkers > LATENCIES_MOST && have_latencies(view))
        return cv_fail(
            err, CLEAVE_EINPUT,
            "policy 'small-results' takes up to %d workers that have latencies, "
            "got %u; fifo, lifo and rounds take more",
            LATENCIES_MOST, view->nworkers);
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
