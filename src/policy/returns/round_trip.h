/* round_trip.h -- one chunk for each worker, and the results come back in a fixed order.
 * SPDX-License-Identifier: MIT
 *
 * What fifo, lifo, orders, small-results and best-orders have in common: a solver of
 * model/returns/returns.h makes the plan, sends follow each other without a pause, and results are
 * asked for in the planned order, each as soon as it and those before it are ready. */
#ifndef CV_ROUND_TRIP_POLICY_H
#define CV_ROUND_TRIP_POLICY_H
#include "model/returns/returns.h"
#include "policy/common/setup.h"

/* Put this first in the state. */
struct cv_round_trip_state {
    struct cv_round_trip trip; /* shared by all runs                              */
    uint32_t next_back;        /* place in trip.back                              */
    uint64_t *ready;           /* worker -> its chunk + 1 once computed           */
};

/* The instance of a view; NULL trips when memory is short. */
struct cv_returns cv_returns_of(const struct cleave_view *view,
                                struct cleave_setup *setup);

/* Plan for the load or the lifespan in the view and note who is left out. */
enum cleave_status cv_round_trip_plan(struct cv_round_trip_state *state,
                                      const struct cleave_view *view,
                                      const struct cv_returns_solver *solver,
                                      struct cleave_setup *setup,
                                      struct cleave_error *err);

/* Hooks of such a policy. */
enum cleave_status cv_round_trip_start(void *state, const struct cleave_view *view,
                                       struct cleave_setup *setup,
                                       struct cleave_error *err);
void cv_round_trip_decide(void *state, const struct cleave_view *view,
                          const struct cleave_event *event, struct cleave_orders *orders);
double cv_round_trip_work(const void *state);

#endif
