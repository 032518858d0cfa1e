/* head_tail.c -- a plan for most of the load, factoring for the rest.
 * SPDX-License-Identifier: MIT */
#include "policy/compound/head_tail.h"

#include <string.h>

/* Who takes part in the plan for all of the load. */
static enum cleave_status find_members(struct cv_head_tail *two,
                                       const struct cleave_policy *planner,
                                       const struct cleave_setting *settings,
                                       size_t nsettings, const struct cleave_view *view,
                                       struct cleave_setup *setup,
                                       struct cleave_error *err)
{
    bool *member = cv_array(setup->arena, view->nworkers, sizeof *member);
    struct cv_inner inner;

    if (member == NULL)
        return cv_fail_memory(err, "the workers of a plan");
    CV_TRY(cv_inner_plan(&inner, planner, settings, nsettings, view, setup, err));
    two->head = ((const struct cv_static *)inner.planned)->plan;
    for (size_t k = 0; k < two->head.nchunks; k++)
        member[two->head.worker[k]] = true;
    two->pull.member = member;
    return CLEAVE_OK;
}

/* The plan for what is not left to the tail. Who is left out was said above. */
static enum cleave_status plan_head(struct cv_head_tail *two,
                                    const struct cleave_policy *planner,
                                    const struct cleave_setting *settings,
                                    size_t nsettings, const struct cleave_view *view,
                                    struct cleave_setup *setup, struct cleave_error *err)
{
    struct cleave_view head_view = *view;
    struct cleave_setup quiet = *setup;
    struct cv_inner inner;

    quiet.notes = NULL;
    head_view.units_total = head_view.units_left = view->units_total - two->tail;
    CV_TRY(cv_inner_plan(&inner, planner, settings, nsettings, &head_view, &quiet, err));
    two->head = ((const struct cv_static *)inner.planned)->plan;
    return CLEAVE_OK;
}

static double start_s(const struct cleave_worker *worker)
{
    return worker->compute_latency_s + worker->latency_s;
}

/* A worker that takes longer to start than the others need for the tail would only be
 * waited for: drop those until everyone starts before all could end together, at T with
 * sum of S (T - start) = tail. */
static enum cleave_status drop_late(struct cv_head_tail *two,
                                    const struct cleave_view *view,
                                    struct cleave_setup *setup, struct cleave_error *err)
{
    bool *member = cv_array(setup->arena, view->nworkers, sizeof *member);
    uint32_t dropped = 1;

    if (member == NULL)
        return cv_fail_memory(err, "the workers of a tail");
    memcpy(member, two->pull.member, view->nworkers * sizeof *member);
    while (dropped > 0) {
        double speed = 0, work = two->tail;

        for (uint32_t w = 0; w < view->nworkers; w++)
            if (member[w]) {
                speed += view->workers[w].speed_ups;
                work += view->workers[w].speed_ups * start_s(&view->workers[w]);
            }
        dropped = 0;
        for (uint32_t w = 0; w < view->nworkers; w++)
            if (member[w] && start_s(&view->workers[w]) * speed > work * (1 + 1e-12)) {
                member[w] = false;
                dropped++;
            }
    }
    two->pull.member = member;
    return CLEAVE_OK;
}

/* What covers the overhead of one chunk: a worker that is slow, or slow to start, needs
 * another one than its neighbour. */
static enum cleave_status set_least(struct cv_head_tail *two,
                                    const struct cleave_view *view,
                                    struct cleave_setup *setup, struct cleave_error *err)
{
    const double overhead = cv_overhead_units(view, two->pull.member);
    const double any = cv_least_chunk(view) / two->mean_speed;
    double *min = cv_array(setup->arena, view->nworkers, sizeof *min);
    double port_s = 0;

    if (min == NULL)
        return cv_fail_memory(err, "the least chunks");
    /* Without latencies chunks would shrink for ever. */
    two->pull.min = overhead > 0 ? overhead : cv_least_chunk(view);
    if (two->alike)
        return CLEAVE_OK;
    for (uint32_t w = 0; w < view->nworkers; w++)
        if (two->pull.member[w])
            port_s += view->workers[w].latency_s;
    for (uint32_t w = 0; w < view->nworkers; w++) {
        const double lost_s = view->workers[w].compute_latency_s + port_s;

        min[w] = view->workers[w].speed_ups * (lost_s > 0 ? lost_s : any);
    }
    two->pull.least_each = min;
    return CLEAVE_OK;
}

enum cleave_status cv_head_tail_plan(struct cv_head_tail *two, double tail,
                                     const struct cleave_policy *planner,
                                     const struct cleave_setting *settings,
                                     size_t nsettings, const struct cleave_view *view,
                                     struct cleave_setup *setup, struct cleave_error *err)
{
    two->tail = tail;
    CV_TRY(find_members(two, planner, settings, nsettings, view, setup, err));
    if (tail >= view->units_total)
        two->head.nchunks = 0;
    else if (tail > 0)
        CV_TRY(plan_head(two, planner, settings, nsettings, view, setup, err));
    if (!two->alike)
        CV_TRY(drop_late(two, view, setup, err));
    two->mean_speed = cv_mean_speed(view, two->pull.member);
    CV_TRY(set_least(two, view, setup, err));
    return cv_pull_plan(&two->pull, view, setup, err);
}

enum cleave_status cv_head_tail_start(struct cv_head_tail *two,
                                      const struct cleave_view *view,
                                      struct cleave_setup *setup,
                                      struct cleave_error *err)
{
    CV_TRY(cv_pull_start(&two->pull, view, setup, err));
    for (size_t k = 0; k < two->head.nchunks; k++)
        two->pull.held_back[two->head.worker[k]]++;
    return CLEAVE_OK;
}

static double tail_size(void *state, const struct cleave_view *view, uint32_t worker)
{
    struct cv_head_tail *two = state;

    return cv_batch_next(&two->batch, view, two->pull.nmembers) *
           (view->workers[worker].speed_ups / two->mean_speed);
}

/* Hand out the head as the port allows: all at once where links do not share it. */
static void give_head(struct cv_head_tail *two, const struct cleave_view *view,
                      double now_s, struct cleave_orders *orders)
{
    while (!two->pull.port_busy && two->next < two->head.nchunks) {
        uint32_t worker = two->head.worker[two->next];

        cleave_order_send(orders, worker, two->head.units[two->next]);
        two->next++;
        cv_pull_given(&two->pull, view, worker, now_s);
    }
}

void cv_head_tail_decide(struct cv_head_tail *two, const struct cleave_view *view,
                         const struct cleave_event *event, struct cleave_orders *orders)
{
    cv_pull_note(&two->pull, view, event);
    give_head(two, view, event->time_s, orders);
    /* Without a tail what is left after the head is rounding. */
    if (two->tail > 0 && two->next == two->head.nchunks && !event->more)
        cv_pull_serve(&two->pull, two, view, event->time_s, tail_size, orders);
}
