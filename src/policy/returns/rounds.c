/* rounds.c -- several rounds whose results come back, planned as a whole.
 * SPDX-License-Identifier: MIT
 *
 * All sends can go before all returns without loss, and results may come back as late as
 * the end allows. So a plan is an order of sends and an order of returns: two words over the
 * workers, from which all sizes follow (model/rounds/rounds.h). Chunks grow while the port
 * sends and shrink while it returns; nobody waits between the first chunk and the last. Round
 * robin over prefixes of several orders is where a search begins, and the plans of fifo and
 * lifo are candidates too, so that it is never worse than those where they are quick (up to 12
 * workers, or without fixed costs); `effort=thorough` searches longer, has the orders of
 * best-orders among its starts, and takes sizes from a linear program.
 *
 * Cost: an evaluation takes O(chunks) for words whose pivots stand together, whatever the
 * workers, and O(chunks workers + workers^3) for free ones, which up to 64 workers are tried.
 * About 3 ms for 10 workers, 12 ms for 30, 1 s for 1,000; thorough 0.3 s for 10.
 *
 * Workers behind ports of their own (multi) are independent, and the plan is the best of all
 * (model/rounds/rounds_link.h). Chunks that a worker has too little memory for are sent in
 * parts. Where speeds change with time (profiles) sizes are those for mean speeds until the
 * end (rounds_varied.h).
 *
 * The theorem, the closed form and the bound are proved in docs/theory/rounds.md. */
#include <string.h>

#include "model/rounds/rounds_links.h"
#include "policy/returns/round_trip.h"
#include "policy/returns/rounds_varied.h"

struct rounds {
    struct cv_static fixed;     /* first: the chunks, for heads of other policies */
    struct cv_rounds_plan plan; /* shared by all runs                       */
    double work;                /* units                                    */
    const char *effort;         /* as given                                 */
    uint32_t next_back;         /* place in plan.back                       */
    bool *ready;                /* per chunk: it is computed                */
};

static enum cleave_status read_effort(const char *text, enum cv_rounds_effort *out,
                                      struct cleave_error *err)
{
    *out = CV_ROUNDS_FAST;
    if (text == NULL || strcmp(text, "fast") == 0)
        return CLEAVE_OK;
    *out = CV_ROUNDS_THOROUGH;
    if (strcmp(text, "thorough") == 0)
        return CLEAVE_OK;
    return cv_fail(err, CLEAVE_EINPUT,
                   "policy 'rounds': parameter 'effort': expected fast or thorough, got "
                   "'%s'",
                   text);
}

/* Rounding aside the sizes sum up to the load; the largest takes what is missing. */
static void settle(struct cv_rounds_plan *plan, double load)
{
    uint32_t largest = 0;
    double sum = 0;

    for (uint32_t k = 0; k < plan->nchunks; k++) {
        sum += plan->units[k];
        if (plan->units[k] > plan->units[largest])
            largest = k;
    }
    plan->units[largest] += load - sum;
}

static enum cleave_status note_left_out(const struct rounds *rounds,
                                        const struct cleave_view *view,
                                        struct cleave_setup *setup,
                                        struct cleave_error *err)
{
    bool *served = cv_array(setup->arena, view->nworkers, sizeof *served);

    if (served == NULL)
        return cv_fail_memory(err, "the plan");
    for (uint32_t k = 0; k < rounds->plan.nchunks; k++)
        served[rounds->plan.worker[k]] = true;
    for (uint32_t i = 0; i < view->nworkers; i++)
        if (!served[i])
            cv_note_left_out(setup, i,
                             "no words were found in which it shortens the makespan: its "
                             "messages would cost the others more work than it could do "
                             "by %.6g s",
                             rounds->plan.makespan_s);
    return CLEAVE_OK;
}

static enum cleave_status rounds_plan(void *state, const struct cleave_view *view,
                                      struct cleave_setup *setup,
                                      struct cleave_error *err)
{
    const struct cv_returns returns = cv_returns_of(view, setup);
    struct rounds *rounds = state;
    enum cv_rounds_effort effort;

    CV_TRY(read_effort(rounds->effort, &effort, err));
    if (returns.trips == NULL)
        return cv_fail_memory(err, "the plan");
    if (view->port == CLEAVE_PORT_MULTI) {
        CV_TRY(cv_rounds_links(&(struct cv_rounds){ returns, view->units_total,
                                                    view->memory },
                               view->lifespan_s, setup->arena, &rounds->plan,
                               &rounds->work, err));
    } else if (view->lifespan_s > 0) {
        CV_TRY(cv_rounds_for_lifespan(&returns, view->memory, view->lifespan_s, effort,
                                      view->seed, setup->arena, &rounds->plan,
                                      &rounds->work, err));
    } else {
        const struct cv_rounds instance = { returns, view->units_total, view->memory };

        CV_TRY(cv_rounds_best(&instance, effort, view->seed, setup->arena, &rounds->plan,
                              err));
        rounds->work = view->units_total;
    }
    if (view->profiles != NULL && !(view->lifespan_s > 0) && rounds->plan.nchunks > 0)
        CV_TRY(cv_rounds_varied(view, effort, setup, &rounds->plan, err));
    if (rounds->plan.nchunks > 0)
        settle(&rounds->plan, rounds->work);
    rounds->fixed.plan =
        (struct cv_plan){ rounds->plan.nchunks, rounds->plan.worker, rounds->plan.units };
    return note_left_out(rounds, view, setup, err);
}

static enum cleave_status rounds_start(void *state, const struct cleave_view *view,
                                       struct cleave_setup *setup,
                                       struct cleave_error *err)
{
    struct rounds *rounds = state;

    (void)view;
    rounds->next_back = 0;
    rounds->ready = cv_array(setup->arena, rounds->plan.nchunks, sizeof *rounds->ready);
    return rounds->ready != NULL ? CLEAVE_OK : cv_fail_memory(err, "the results");
}

static void rounds_decide(void *state, const struct cleave_view *view,
                          const struct cleave_event *event, struct cleave_orders *orders)
{
    struct rounds *rounds = state;
    const struct cv_rounds_plan *plan = &rounds->plan;

    if (event->kind == CLEAVE_START) {
        /* All at once: no result may come between two sends. */
        for (uint32_t k = 0; k < plan->nchunks; k++)
            cleave_order_send(orders, plan->worker[k], plan->units[k]);
    } else if (event->kind == CLEAVE_DONE && view->result_ratio > 0 &&
               view->port == CLEAVE_PORT_MULTI) {
        cleave_order_return(orders, event->worker, event->chunk);
    } else if (event->kind == CLEAVE_DONE && view->result_ratio > 0) {
        rounds->ready[event->chunk] = true;
        while (rounds->next_back < plan->nchunks &&
               rounds->ready[plan->back[rounds->next_back]]) {
            const uint32_t chunk = plan->back[rounds->next_back++];

            cleave_order_return(orders, plan->worker[chunk], chunk);
        }
    }
}

static double rounds_work(const void *state)
{
    return ((const struct rounds *)state)->work;
}

static const struct cleave_param rounds_params[] = {
    { "effort", CLEAVE_PARAM_TEXT, offsetof(struct rounds, effort), 0, 0, 0,
      "fast (milliseconds, as preset) or thorough (50 times as long)" },
    { 0 },
};

const struct cleave_policy cleave_policy_rounds = {
    .name = "rounds",
    .summary = "several rounds with results: the best orders of both ways found",
    .reference = "cleave",
    .orders_returns = true,
    .state_size = sizeof(struct rounds),
    .params = rounds_params,
    .plan = rounds_plan,
    .start = rounds_start,
    .decide = rounds_decide,
    .work = rounds_work,
};
