/* lifo.c -- one round; first served, last to return its result.
 * SPDX-License-Identifier: MIT
 *
 * Nobody is idle between receiving and returning, so neighbours in the order share
 *
 *     (R_k + (1 + delta) tau_k) w_k = R_{k-1} w_{k-1},
 *
 * where R is the time to compute a unit, tau to send it and delta tau to return its result.
 * Fastest links first is the best order, every worker is of use, and the schedule fits a
 * master that handles one message at a time. O(n log n); latencies are part of the plan,
 * but then orders and set are only the best that improvement finds. Where a certificate
 * shows that no schedule of one round does better, the plan says so.
 *
 * O. Beaumont, A. L. Rosenberg, Link-heterogeneity vs. node-heterogeneity in clusters,
 * 2010; the certificate is proved in docs/theory/returns.md. */
#include "model/returns/returns_bounds.h"
#include "policy/returns/round_trip.h"

struct lifo {
    struct cv_round_trip_state round;
};

static enum cleave_status solve(void *context, const struct cv_returns *returns,
                                double lifespan_s, struct cv_arena *arena,
                                struct cv_round_trip *out, struct cleave_error *err)
{
    (void)context;
    return cv_returns_lifo(returns, lifespan_s, arena, out, err);
}

static enum cleave_status lifo_plan(void *state, const struct cleave_view *view,
                                    struct cleave_setup *setup, struct cleave_error *err)
{
    const struct cv_returns_solver solver = { solve, NULL, false };
    const struct cv_returns returns = cv_returns_of(view, setup);
    struct lifo *lifo = state;

    CV_TRY(cv_round_trip_plan(&lifo->round, view, &solver, setup, err));
    if (returns.trips != NULL && cv_returns_lifo_proved(&returns, setup->arena))
        cleave_setup_proved(setup, "all schedules of one round", true);
    else if (lifo->round.trip.optimal)
        cleave_setup_proved(setup,
                            "schedules that return in the reverse order of sending",
                            false);
    return CLEAVE_OK;
}

const struct cleave_policy cleave_policy_lifo = {
    .name = "lifo",
    .summary = "one round with results, returned in the reverse order of sending",
    .reference = "Beaumont and Rosenberg 2010",
    .needs = CLEAVE_NEEDS_SHARED_PORT,
    .one_round = true,
    .orders_returns = true,
    .state_size = sizeof(struct lifo),
    .plan = lifo_plan,
    .start = cv_round_trip_start,
    .decide = cv_round_trip_decide,
    .work = cv_round_trip_work,
};
