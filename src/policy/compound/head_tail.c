/* head_tail.c -- a plan for most of the load, factoring for the rest.
 * SPDX-License-Identifier: MIT */
#include "policy/compound/head_tail.h"

/* Plan the head and mark who takes part in it. */
static enum cleave_status plan_head(struct cv_head_tail *two,
                                    const struct cleave_policy *planner,
                                    const struct cleave_setting *settings,
                                    size_t nsettings, const struct cleave_view *view,
                                    struct cleave_setup *setup, struct cleave_error *err)
{
    struct cleave_view head_view = *view;
    bool *member = cv_array(setup->arena, view->nworkers, sizeof *member);
    struct cv_inner inner;

    if (member == NULL)
        return cv_fail_memory(err, "the workers of a plan");
    head_view.units_total = head_view.units_left = view->units_total - two->tail;
    CV_TRY(cv_inner_plan(&inner, planner, settings, nsettings, &head_view, setup, err));
    two->head = ((const struct cv_static *)inner.planned)->plan;
    for (size_t k = 0; k < two->head.nchunks; k++)
        member[two->head.worker[k]] = true;
    two->pull.member = member;
    return CLEAVE_OK;
}

enum cleave_status cv_head_tail_plan(struct cv_head_tail *two, double tail,
                                     const struct cleave_policy *planner,
                                     const struct cleave_setting *settings,
                                     size_t nsettings, const struct cleave_view *view,
                                     struct cleave_setup *setup, struct cleave_error *err)
{
    double overhead;

    two->tail = tail;
    two->head.nchunks = 0;
    two->pull.member = NULL;
    if (tail < view->units_total)
        CV_TRY(plan_head(two, planner, settings, nsettings, view, setup, err));
    two->mean_speed = cv_mean_speed(view, two->pull.member);
    overhead = cv_overhead_units(view, two->pull.member);
    /* Without latencies chunks would shrink for ever. */
    two->pull.least = overhead > 0 ? overhead : cv_least_chunk(view);
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
