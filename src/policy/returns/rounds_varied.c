/* rounds_varied.c -- rounds with results for workers whose speed changes, or who are away for a
 * while. SPDX-License-Identifier: MIT
 *
 * For an end T every worker is taken to be as fast all the time as its profile makes it on
 * average until then, so that by T it does what its integral says. The plan for such workers
 * comes to some end with the profiles themselves; T is right where both are the same, which
 * steps along a secant find. Sends to somebody who is away would hold up a shared port: they wait
 * until all others that are to be sent before somebody is back have gone. Results return in
 * the order in which they get ready. If somebody who leaves for good would always leave something
 * undone, it is planned without them. What counts is what a plan comes to, with the profiles;
 * no optimum is promised. */
#include "policy/returns/rounds_varied.h"

#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "model/platform/profile.h"
#include "model/rounds/rounds_links.h"

enum { DOUBLINGS = 60, HALVINGS = 50 };
enum { MOST_PLANS = 10, LARGE = 100, LARGE_PLANS = 3 };
/* Who is there for less of the time is left out; T is found so well. */
static const double LEAST = 1e-6, CLOSE = 1e-5;

struct varied {
    const struct cleave_view *view;
    enum cv_rounds_effort effort;
    struct cleave_setup *setup;
    double *ready_s, *port_s, *back_s; /* per worker */
    bool stay;                         /* only who does not leave for good takes part */
};

/* When the chunks are computed; returns when all is sent. */
static double compute_all(const struct varied *v, const struct cv_rounds_plan *plan,
                          double *ends_s)
{
    const struct cleave_view *view = v->view;
    const bool multi = view->port == CLEAVE_PORT_MULTI;

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

/* When the last result is back, on any kind of port. */
static double return_all(const struct varied *v, const struct cv_rounds_plan *plan,
                         double sent_s, const double *ends_s)
{
    const struct cleave_view *view = v->view;
    const bool multi = view->port == CLEAVE_PORT_MULTI;
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

/* Sort chunks by when they are computed: an insertion, as they nearly are. */
static void back_as_ready(struct cv_rounds_plan *plan, const double *ends_s)
{
    for (uint32_t i = 0; i < plan->nchunks; i++) {
        uint32_t at = i;

        for (; at > 0 && ends_s[plan->back[at - 1]] > ends_s[i]; at--)
            plan->back[at] = plan->back[at - 1];
        plan->back[at] = i;
    }
}

/* The chunk to send next at a time: the first whose worker is there, or of the first that is
 * back. UINT32_MAX: there are none left. */
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

/* Nobody waits for the message to a worker that is away. */
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

/* The plan for workers of their mean speeds until `until_s`, measured; its makespan is INFINITY when
 * there is none. */
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
    if (view->port == CLEAVE_PORT_MULTI)
        CV_TRY(cv_rounds_links(&instance, 0, arena, out, &work, err));
    else
        CV_TRY(cv_rounds_best(&instance, v->effort, view->seed, arena, out, err));
    for (uint32_t k = 0; k < out->nchunks; k++)
        out->worker[k] = whose[out->worker[k]];
    ends_s = cv_array(arena, out->nchunks, sizeof *ends_s);
    if (ends_s == NULL || (view->port != CLEAVE_PORT_MULTI && !put_off(v, out)))
        return cv_fail_memory(err, "the plan");
    work = compute_all(v, out, ends_s);
    back_as_ready(out, ends_s);
    out->makespan_s = return_all(v, out, work, ends_s);
    return CLEAVE_OK;
}

/* What all workers could compute by an end, latencies aside. */
static double done_by(const struct cleave_view *view, double until_s)
{
    double units = 0;

    for (uint32_t w = 0; w < view->nworkers; w++)
        units +=
            view->workers[w].speed_ups * cv_profile_work(&view->profiles[w], 0, until_s);
    return units;
}

/* When all could have computed as much as they could in `steady_s` without profiles: where to
 * look first. */
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

/* Where plans for T end at T, as far as some plans show. */
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

enum cleave_status cv_rounds_varied(const struct cleave_view *view,
                                    enum cv_rounds_effort effort,
                                    struct cleave_setup *setup,
                                    struct cv_rounds_plan *plan, struct cleave_error *err)
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
    if (isinf(plan->makespan_s)) /* whoever simulates it says why it does not end */
        plan->makespan_s = steady_s;
    return CLEAVE_OK;
}
