/* round_trip.c -- one chunk for each worker, and the results come back in a fixed order.
 * SPDX-License-Identifier: MIT */
#include "policy/returns/round_trip.h"

#include "model/returns/returns_bounds.h"

struct cv_returns cv_returns_of(const struct cleave_view *view,
                                struct cleave_setup *setup)
{
    return (struct cv_returns){
        .trips =
            cv_trips(view->workers, view->nworkers, view->result_ratio, 0, setup->arena),
        .n = view->nworkers,
        .single = view->port == CLEAVE_PORT_ONE,
        .budget = setup->budget,
    };
}

static void note_left_out(const struct cv_round_trip *trip,
                          const struct cleave_view *view, struct cleave_setup *setup)
{
    for (uint32_t i = 0; i < view->nworkers; i++)
        if (!(trip->units[i] > 0))
            cv_note_left_out(setup, i,
                             "its messages would cost the others more work than it could "
                             "do by %.6g s",
                             trip->lifespan_s);
}

/* Rounding aside the shares sum up to the load; the largest takes what is missing. */
static void settle(struct cv_round_trip *trip, double load)
{
    uint32_t largest = trip->send[0];
    double sum = 0;

    for (uint32_t k = 0; k < trip->n; k++) {
        sum += trip->units[trip->send[k]];
        if (trip->units[trip->send[k]] > trip->units[largest])
            largest = trip->send[k];
    }
    trip->units[largest] += load - sum;
    trip->work = load;
}

/* Which part of the work of the best schedule is certain before any is looked for. */
static enum cleave_status note_sure(const struct cv_returns *returns,
                                    struct cleave_setup *setup, struct cleave_error *err)
{
    struct cv_returns_ratios sure;

    if (setup->notes == NULL)
        return CLEAVE_OK;
    if (!cv_returns_ratios(returns, setup->arena, &sure))
        return cv_fail_memory(err, "what is certain");
    if (sure.best > 0) {
        cv_note_fact(setup, "sure_fifo", sure.fifo);
        cv_note_fact(setup, "sure_lifo", sure.lifo);
        cv_note_fact(setup, "sure_best", sure.best);
    }
    return CLEAVE_OK;
}

enum cleave_status cv_round_trip_plan(struct cv_round_trip_state *state,
                                      const struct cleave_view *view,
                                      const struct cv_returns_solver *solver,
                                      struct cleave_setup *setup,
                                      struct cleave_error *err)
{
    const struct cv_returns returns = cv_returns_of(view, setup);
    struct cv_round_trip *trip = &state->trip;

    if (returns.trips == NULL)
        return cv_fail_memory(err, "the plan");
    if (view->lifespan_s > 0) {
        CV_TRY(solver->solve(solver->context, &returns, view->lifespan_s, setup->arena,
                             trip, err));
    } else {
        CV_TRY(cv_returns_for_work(&returns, solver, view->units_total, setup->arena,
                                   trip, err));
        if (trip->n > 0)
            settle(trip, view->units_total);
    }
    note_left_out(trip, view, setup);
    return note_sure(&returns, setup, err);
}

enum cleave_status cv_round_trip_start(void *state, const struct cleave_view *view,
                                       struct cleave_setup *setup,
                                       struct cleave_error *err)
{
    struct cv_round_trip_state *round = state;

    round->next_back = 0;
    round->ready = cv_array(setup->arena, view->nworkers, sizeof *round->ready);
    return round->ready != NULL ? CLEAVE_OK : cv_fail_memory(err, "the results");
}

static void fetch_ready(struct cv_round_trip_state *round, struct cleave_orders *orders)
{
    const struct cv_round_trip *trip = &round->trip;

    while (round->next_back < trip->n && round->ready[trip->back[round->next_back]] > 0) {
        const uint32_t worker = trip->back[round->next_back++];

        cleave_order_return(orders, worker, round->ready[worker] - 1);
    }
}

void cv_round_trip_decide(void *state, const struct cleave_view *view,
                          const struct cleave_event *event, struct cleave_orders *orders)
{
    struct cv_round_trip_state *round = state;

    if (event->kind == CLEAVE_START) {
        /* All at once: no result may come between two sends. */
        for (uint32_t k = 0; k < round->trip.n; k++)
            cleave_order_send(orders, round->trip.send[k],
                              round->trip.units[round->trip.send[k]]);
    } else if (event->kind == CLEAVE_DONE && view->result_ratio > 0) {
        round->ready[event->worker] = event->chunk + 1;
        fetch_ready(round, orders);
    }
}

double cv_round_trip_work(const void *state)
{
    return ((const struct cv_round_trip_state *)state)->trip.work;
}
