/* rounds.c -- several rounds with results, planned as a whole.
 * SPDX-License-Identifier: MIT
 *
 * All sends can go before all returns without loss, and results may return as late as the
 * end allows. So a plan is an order of sends and an order of returns: two words over the
 * workers, from which all sizes follow (model/rounds/rounds.h). Chunks grow while the
 * port sends and shrink while it returns; workers do not wait between their first and
 * last chunk. A search begins with round robin over prefixes of several orders; the plans
 * of fifo and lifo are candidates too, so that it is never worse than those if they are
 * quick (up to 12 workers, or without fixed costs). `effort=thorough` searches longer,
 * also starts from the orders of best-orders, and takes sizes from a linear program.
 *
 * Cost: an evaluation takes O(chunks) for words whose pivots are adjacent, whatever the
 * workers, and O(chunks workers + workers^3) for free ones, which are tried up to 64
 * workers. About 3 ms for 10 workers, 12 ms for 30, 1 s for 1,000; thorough 0.3 s for 10.
 *
 * Workers with separate ports (multi) are independent, and the plan is optimal
 * (model/rounds/rounds_link.h). Chunks that exceed a worker's memory are sent in parts.
 * If speeds change with time (profiles), sizes are for mean speeds until the end.
 *
 * The theorem, the closed form and the bound are proved in docs/theory/rounds.md. */
#include <math.h>
#include <string.h>
#include <cleave/policy.h>
#include "base/fail.h"
#include "model/platform/profile.h"
#include "model/rounds/rounds.h"
#include "model/rounds/rounds_links.h"
#include "policy/common/setup.h"
#include "policy/returns/round_trip.h"

/* --- workers with profiles ---------------------------------------------------------- */

/* For an end T, a worker counts with its mean speed until T, so that by T it does what
 * the integral of its profile allows. With the profiles themselves such a plan ends at
 * some other time; steps along a secant find the T for which both are equal. Sends to an
 * absent worker would block a shared port: they are delayed until the other sends before
 * its return are done. Results return in the order in which they are ready. If a worker
 * that leaves for ever would always leave work undone, the plan excludes it. The plan
 * with the earliest end under the profiles is taken; no optimum is promised. */

enum { DOUBLINGS = 60, HALVINGS = 50 };
enum { MOST_PLANS = 10, LARGE = 100, LARGE_PLANS = 3 };
/* A worker that is present for a smaller part of the time is excluded; accuracy of T. */
static const double LEAST = 1e-6, CLOSE = 1e-5;

struct varied {
    const struct cleave_view *view;
    enum cv_rounds_effort effort;
    struct cleave_setup *setup;
    double *ready_s, *port_s, *back_s; /* per worker */
    bool stay;                         /* exclude workers that leave for ever */
};

/* No worker waits for another one: one worker has both ways of a duplex port to itself. */
static bool own_links(const struct cleave_view *view)
{
    return view->port == CLEAVE_PORT_MULTI ||
           (view->port == CLEAVE_PORT_DUPLEX && view->nworkers == 1);
}

/* Sets when chunks are computed; returns when all are sent. */
static double compute_all(const struct varied *v, const struct cv_rounds_plan *plan,
                          double *ends_s)
{
    const struct cleave_view *view = v->view;
    const bool multi = own_links(view);

    for (uint32_t w = 0; w < view->nworkers; w++)
        v->ready_s[w] = v->port_s[w] = 0;
    for (uint32_t k = 0; k < plan->nchunks; k++) {
        const uint32_t w = plan->worker[k];
        const struct cleave_worker *worker = &view->workers[w];
        const struct cleave_profile *profile = &view->profiles[w];
        double *port_s = &v->port_s[multi ? w : 0];

        *port_s = cv_profile_arrival(profile, worker, *port_s, plan->units[k]);
        v->ready_s[w] = cv_profile_computed(profile, worker, fmax(v->ready_s[w], *port_s),
                                            plan->units[k]);
        ends_s[k] = v->ready_s[w];
    }
    return v->port_s[0];
}

static double return_all(const struct varied *v, const struct cv_rounds_plan *plan,
                         double sent_s, const double *ends_s)
{
    const struct cleave_view *view = v->view;
    const bool multi = own_links(view);
    double end_s = 0;

    for (uint32_t w = 0; w < view->nworkers; w++)
        v->back_s[w] = 0;
    if (view->port == CLEAVE_PORT_ONE)
        v->back_s[0] = sent_s;
    for (uint32_t i = 0; i < plan->nchunks; i++) {
        const uint32_t k = plan->back[i], w = plan->worker[k];
        const struct cleave_worker *worker = &view->workers[w];
        double *back_s = &v->back_s[multi ? w : 0];

        *back_s = fmax(*back_s, ends_s[k]);
        if (view->result_ratio > 0)
            *back_s =
                cv_profile_end(&view->profiles[w], *back_s + worker->return_latency_s,
                               view->result_ratio * plan->units[k] /
                                   worker->return_bandwidth_ups);
        end_s = fmax(end_s, *back_s);
    }
    return end_s;
}

/* Sort by time: an insertion, as the order is nearly right. */
static void back_as_ready(struct cv_rounds_plan *plan, const double *ends_s)
{
    for (uint32_t i = 0; i < plan->nchunks; i++) {
        uint32_t at = i;

        for (; at > 0 && ends_s[plan->back[at - 1]] > ends_s[i]; at--)
            plan->back[at] = plan->back[at - 1];
        plan->back[at] = i;
    }
}

/* The chunk to send next: the first one with a present worker, or else with the worker
 * that returns first. UINT32_MAX: none is left. */
static uint32_t next_chunk(const struct varied *v, const struct cv_rounds_plan *plan,
                           const bool *sent, uint32_t from, double time_s)
{
    uint32_t best = UINT32_MAX;
    double soonest_s = INFINITY;

    for (uint32_t k = from; k < plan->nchunks; k++) {
        const uint32_t w = plan->worker[k];
        const double latency_s = v->view->workers[w].latency_s;
        double back_s;

        if (sent[k])
            continue;
        back_s = cv_profile_back(&v->view->profiles[w], time_s + latency_s) - latency_s;
        if (back_s <= time_s * (1 + 1e-12))
            return k;
        if (best == UINT32_MAX || back_s < soonest_s) {
            best = k;
            soonest_s = back_s;
        }
    }
    return best;
}

/* Delay messages to absent workers. */
static bool put_off(const struct varied *v, struct cv_rounds_plan *plan)
{
    struct cv_arena *arena = v->setup->arena;
    const uint32_t n = plan->nchunks;
    bool *sent = cv_array(arena, n, sizeof *sent);
    uint32_t *worker = cv_array(arena, n, sizeof *worker), first = 0;
    double *units = cv_array(arena, n, sizeof *units), port_s = 0;

    if (sent == NULL || worker == NULL || units == NULL)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t k = next_chunk(v, plan, sent, first, port_s);

        sent[k] = true;
        while (first < n && sent[first])
            first++;
        worker[i] = plan->worker[k];
        units[i] = plan->units[k];
        port_s = cv_profile_arrival(&v->view->profiles[worker[i]],
                                    &v->view->workers[worker[i]], port_s, units[i]);
    }
    plan->worker = worker;
    plan->units = units;
    return true;
}

/* The plan for mean speeds until `until_s`, evaluated with the profiles; its makespan is
 * INFINITY if there is none. */
static enum cleave_status plan_until(const struct varied *v, double until_s,
                                     struct cv_rounds_plan *out, struct cleave_error *err)
{
    const struct cleave_view *view = v->view;
    struct cv_arena *arena = v->setup->arena;
    struct cleave_worker *workers = cv_array(arena, view->nworkers, sizeof *workers);
    uint32_t *whose = cv_array(arena, view->nworkers, sizeof *whose), n = 0;
    double *memory = cv_array(arena, view->nworkers, sizeof *memory), *ends_s, work;
    struct cv_rounds instance = { .load = view->units_total };

    if (workers == NULL || whose == NULL || memory == NULL)
        return cv_fail_memory(err, "the plan");
    out->makespan_s = INFINITY;
    for (uint32_t w = 0; w < view->nworkers; w++) {
        const struct cleave_profile *profile = &view->profiles[w];
        const double part = cv_profile_work(profile, 0, until_s) / until_s;

        if (!(part > LEAST) || (v->stay && cv_profile_leaves(profile)))
            continue;
        workers[n] = view->workers[w];
        workers[n].speed_ups *= part;
        workers[n].bandwidth_ups *= part;
        workers[n].return_bandwidth_ups *= part;
        memory[n] = view->memory != NULL ? view->memory[w] : INFINITY;
        whose[n++] = w;
    }
    if (n == 0)
        return CLEAVE_OK;
    instance.memory = view->memory != NULL ? memory : NULL;
    instance.returns = (struct cv_returns){
        .trips = cv_trips(workers, n, view->result_ratio, 0, arena),
        .n = n,
        .single = view->port == CLEAVE_PORT_ONE,
        .budget = v->setup->budget,
    };
    if (instance.returns.trips == NULL)
        return cv_fail_memory(err, "the plan");
    if (own_links(view))
        CV_TRY(cv_rounds_links(&instance, 0, arena, out, &work, err));
    else
        CV_TRY(cv_rounds_best(&instance, v->effort, view->seed, arena, out, err));
    for (uint32_t k = 0; k < out->nchunks; k++)
        out->worker[k] = whose[out->worker[k]];
    ends_s = cv_array(arena, out->nchunks, sizeof *ends_s);
    if (ends_s == NULL || (!own_links(view) && !put_off(v, out)))
        return cv_fail_memory(err, "the plan");
    work = compute_all(v, out, ends_s);
    back_as_ready(out, ends_s);
    out->makespan_s = return_all(v, out, work, ends_s);
    return CLEAVE_OK;
}

/* Units that all workers could compute until then, without latencies. */
static double done_by(const struct cleave_view *view, double until_s)
{
    double units = 0;

    for (uint32_t w = 0; w < view->nworkers; w++)
        units +=
            view->workers[w].speed_ups * cv_profile_work(&view->profiles[w], 0, until_s);
    return units;
}

/* The first T: when all could have computed as much as without profiles in `steady_s`. */
static double first_guess(const struct cleave_view *view, double steady_s)
{
    double all = 0, low = 0, high = steady_s;

    for (uint32_t w = 0; w < view->nworkers; w++)
        all += view->workers[w].speed_ups * steady_s;
    for (int i = 0; i < DOUBLINGS && done_by(view, high) < all; i++)
        high *= 2;
    for (int i = 0; i < HALVINGS; i++) {
        const double middle = low + (high - low) / 2;

        if (done_by(view, middle) < all)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* The T for which the plan for T ends at T, within some plans. */
static enum cleave_status find_end(const struct varied *v, double until_s,
                                   struct cv_rounds_plan *best, struct cleave_error *err)
{
    const int max = v->view->nworkers > LARGE ? LARGE_PLANS : MOST_PLANS;
    double before_s = NAN, late_before_s = NAN;

    for (int i = 0; i < max && !(i > 0 && cv_step_budget_over(v->setup->budget)); i++) {
        struct cv_rounds_plan plan;
        double late_s, next_s;

        CV_TRY(plan_until(v, until_s, &plan, err));
        if (plan.makespan_s < best->makespan_s)
            *best = plan;
        late_s = plan.makespan_s - until_s;
        if (fabs(late_s) <= CLOSE * until_s)
            break;
        next_s = until_s - late_s * (until_s - before_s) / (late_s - late_before_s);
        if (!(next_s > 0.2 * until_s && next_s < 5 * until_s))
            next_s = isfinite(late_s) ? plan.makespan_s : 2 * until_s;
        before_s = until_s;
        late_before_s = late_s;
        until_s = next_s;
    }
    return CLEAVE_OK;
}

/* A plan for a view with profiles. `plan` was made without them and stays if no better
 * one is found; its makespan is set to its end under the profiles. */
static enum cleave_status rounds_varied(const struct cleave_view *view,
                                        enum cv_rounds_effort effort,
                                        struct cleave_setup *setup,
                                        struct cv_rounds_plan *plan,
                                        struct cleave_error *err)
{
    const uint32_t n = view->nworkers;
    struct varied v = { .view = view,
                        .effort = effort,
                        .setup = setup,
                        .ready_s = cv_array(setup->arena, n, sizeof(double)),
                        .port_s = cv_array(setup->arena, n, sizeof(double)),
                        .back_s = cv_array(setup->arena, n, sizeof(double)) };
    double *ends_s = cv_array(setup->arena, plan->nchunks, sizeof *ends_s);
    const double steady_s = plan->makespan_s;
    double sent_s, until_s;

    if (v.ready_s == NULL || v.port_s == NULL || v.back_s == NULL || ends_s == NULL)
        return cv_fail_memory(err, "the plan");
    sent_s = compute_all(&v, plan, ends_s);
    plan->makespan_s = return_all(&v, plan, sent_s, ends_s);
    until_s = first_guess(view, steady_s);
    CV_TRY(find_end(&v, until_s, plan, err));
    v.stay = true;
    if (isinf(plan->makespan_s))
        CV_TRY(find_end(&v, until_s, plan, err));
    if (isinf(plan->makespan_s)) /* the simulation will report why it does not end */
        plan->makespan_s = steady_s;
    return CLEAVE_OK;
}

/* --- the policy --------------------------------------------------------------------- */

struct rounds {
    struct cv_static fixed;     /* first: the chunks, for policies with this head */
    struct cv_rounds_plan plan; /* shared by all runs                       */
    double work;                /* units                                    */
    const char *effort;
    uint32_t next_back; /* index in plan.back */
    bool *ready;        /* per chunk */
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

/* The sizes sum up to the load except for rounding, which the largest chunk takes. */
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
                             "no order of chunks was found in which it shortens the "
                             "makespan: its messages would cost the others more work "
                             "than it could do by %.6g s",
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
    if (own_links(view)) {
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
        CV_TRY(rounds_varied(view, effort, setup, &rounds->plan, err));
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
    } else if (event->kind == CLEAVE_DONE && view->result_ratio > 0 && own_links(view)) {
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
