/* reduce_lane.c -- many runs of a reduction at the speed of the random numbers.
 * SPDX-License-Identifier: MIT */
#include "sim/reduce_lane.h"

#include <stdlib.h>
#include <string.h>

#include "engine/reduce_check.h"
#include "policy/orders.h"
#include "sim/reduce_core.h"

enum { LANES = 4 };

/* One run under way. */
struct lane {
    struct cv_reduce_core core;
    struct cv_arena arena; /* of the run             */
    void *state;           /* of the policy          */
    struct cleave_view view;
    struct cleave_orders orders;
    struct cleave_event event;
    struct cv_reduce_check check;
    struct cv_run_result *result; /* NULL: the lane is free */
    double length_s;
};

struct cv_reduce_lanes {
    const struct cv_planned *planned;
    struct lane lane[LANES];
};

enum cleave_status cv_reduce_lanes_open(const struct cv_planned *planned,
                                        const struct cv_reduce_costs *costs,
                                        struct cv_reduce_lanes **out,
                                        struct cleave_error *err)
{
    struct cv_reduce_lanes *lanes = calloc(1, sizeof *lanes);
    bool room = lanes != NULL;

    for (int i = 0; i < LANES && room; i++) {
        cv_arena_init(&lanes->lane[i].arena);
        room = cv_reduce_core_init(&lanes->lane[i].core, costs,
                                   !planned->policy->hears_arrivals);
    }
    if (!room) {
        cv_reduce_lanes_close(lanes);
        return cv_fail_memory(err, "the runs side by side");
    }
    lanes->planned = planned;
    *out = lanes;
    return CLEAVE_OK;
}

void cv_reduce_lanes_close(struct cv_reduce_lanes *lanes)
{
    if (lanes == NULL)
        return;
    for (int i = 0; i < LANES; i++) {
        cv_reduce_core_done(&lanes->lane[i].core);
        cv_arena_done(&lanes->lane[i].arena);
        free(lanes->lane[i].orders.items);
    }
    free(lanes);
}

static enum cleave_status refuse(const struct cleave_policy *policy,
                                 const struct cleave_order *order, const char *fault,
                                 struct cleave_error *err)
{
    return cv_fail(err, CLEAVE_EPOLICY, "policy '%s' let node %u send to node %u: %s",
                   policy->name, order->peer, order->worker, fault);
}

/* Ask the policy about the lane's event and do what it wants. */
static inline enum cleave_status decide(struct lane *lane, const struct cleave_policy *policy,
                                        struct cleave_error *err)
{
    lane->orders.count = 0;
    policy->decide(lane->state, &lane->view, &lane->event, &lane->orders);
    if (lane->orders.out_of_memory)
        return cv_fail_memory(err, "the orders of a policy");
    for (size_t i = 0; i < lane->orders.count; i++) {
        const struct cleave_order *order = &lane->orders.items[i];

        if (order->kind != CLEAVE_WAKE_AT) {
            const char *fault = cv_reduce_check_order(&lane->check, order);

            if (fault != NULL)
                return refuse(policy, order, fault, err);
        }
        if (!cv_reduce_core_submit(&lane->core, order))
            return cv_fail_memory(err, "the times to wake at");
    }
    return CLEAVE_OK;
}

static enum cleave_status begin(struct lane *lane, const struct cv_planned *planned,
                                uint32_t run, struct cv_run_result *result,
                                struct cleave_error *err)
{
    const struct cleave_policy *policy = planned->policy;
    struct cleave_setup setup = { .arena = &lane->arena };

    cv_arena_reset(&lane->arena);
    lane->state = cv_array(&lane->arena, 1, policy->state_size);
    lane->view = planned->view;
    lane->orders.units_left = &lane->view.units_left;
    lane->length_s = 0;
    lane->result = result;
    if (lane->state == NULL || !cv_reduce_check_init(&lane->check, &lane->arena,
                                                     planned->view.nworkers,
                                                     policy->keeps_order))
        return cv_fail_memory(err, "the state of a reduction");
    memcpy(lane->state, planned->state, policy->state_size);
    if (policy->start != NULL)
        CV_TRY(policy->start(lane->state, &lane->view, &setup, err));
    cv_reduce_core_begin(&lane->core, run);
    lane->event = (struct cleave_event){ .kind = CLEAVE_START };
    return decide(lane, policy, err);
}

static enum cleave_status finish(struct lane *lane, const struct cleave_policy *policy,
                                 struct cleave_error *err)
{
    uint32_t n = lane->view.nworkers;

    if (lane->check.sent + 1 < n)
        return cv_fail(err, CLEAVE_EPOLICY, "policy '%s' stopped with %u partials left",
                       policy->name, n - lane->check.sent);
    *lane->result = (struct cv_run_result){ lane->length_s, 0, n - 1 };
    lane->result = NULL;
    return CLEAVE_OK;
}

/* One event of a run, or its end. */
static inline enum cleave_status step(struct lane *lane, const struct cleave_policy *policy,
                                      struct cleave_error *err)
{
    if (!cv_reduce_core_wait(&lane->core, &lane->event))
        return finish(lane, policy, err);
    if (lane->event.kind == CLEAVE_COMBINED) {
        cv_reduce_check_combined(&lane->check, lane->event.worker);
        lane->length_s = lane->event.time_s;
    }
    return decide(lane, policy, err);
}

enum cleave_status cv_reduce_lanes_run(struct cv_reduce_lanes *lanes, uint64_t begin_run,
                                       uint64_t end_run, struct cv_run_result *results,
                                       struct cleave_error *err)
{
    const struct cleave_policy *policy = lanes->planned->policy;
    uint64_t next = begin_run;
    int active;

    for (int i = 0; i < LANES; i++)
        lanes->lane[i].result = NULL;
    do {
        active = 0;
        for (int i = 0; i < LANES; i++) {
            struct lane *lane = &lanes->lane[i];

            if (lane->result == NULL) {
                if (next == end_run)
                    continue;
                CV_TRY(begin(lane, lanes->planned, (uint32_t)next, &results[next - begin_run],
                             err));
                next++;
            }
            CV_TRY(step(lane, policy, err));
            active++;
        }
    } while (active > 0);
    return CLEAVE_OK;
}
