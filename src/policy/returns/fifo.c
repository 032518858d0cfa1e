/* fifo.c -- one round; first served, first to return its result.
 * SPDX-License-Identifier: MIT
 *
 * Nobody is idle between receiving and returning, so neighbours in the order share
 *
 *     (R_k + tau_k) w_k = (R_{k-1} + delta tau_{k-1}) w_{k-1},
 *
 * where R is the time to compute a unit, tau to send it and delta tau to return its result.
 * Fastest links first (slowest when delta > 1) is the best order, whatever the speeds, and
 * the best set of workers is a prefix of it: worker m is worth using as long as the work
 * done without it stays below L / (delta tau_m). A master that handles one message at a
 * time stops earlier, with the share that fills its port. O(n log n); latencies are part
 * of the plan, but then orders and set are only the best that improvement finds.
 *
 * O. Beaumont, A. L. Rosenberg, Link-heterogeneity vs. node-heterogeneity in clusters,
 * 2010, with the set and the single port as in docs/theory/returns.md. */
#include "policy/returns/round_trip.h"

struct fifo {
    struct cv_round_trip_state round;
};

static enum cleave_status solve(void *context, const struct cv_returns *returns,
                                double lifespan_s, struct cv_arena *arena,
                                struct cv_round_trip *out, struct cleave_error *err)
{
    (void)context;
    return cv_returns_fifo(returns, lifespan_s, arena, out, err);
}

static enum cleave_status fifo_plan(void *state, const struct cleave_view *view,
                                    struct cleave_setup *setup, struct cleave_error *err)
{
    const struct cv_returns_solver solver = { solve, NULL, false };
    struct fifo *fifo = state;

    CV_TRY(cv_round_trip_plan(&fifo->round, view, &solver, setup, err));
    if (fifo->round.trip.optimal)
        cleave_setup_proved(setup, "schedules that return in the order of sending",
                            false);
    return CLEAVE_OK;
}

const struct cleave_policy cleave_policy_fifo = {
    .name = "fifo",
    .summary = "one round with results, returned in the order of sending",
    .reference = "Beaumont and Rosenberg 2010",
    .needs = CLEAVE_NEEDS_SHARED_PORT,
    .one_round = true,
    .orders_returns = true,
    .state_size = sizeof(struct fifo),
    .plan = fifo_plan,
    .start = cv_round_trip_start,
    .decide = cv_round_trip_decide,
    .work = cv_round_trip_work,
};
