/* head_tail.c -- policies with a plan for most of the load and factoring for the rest:
 * rumr, rx, rounds-tail.
 * SPDX-License-Identifier: MIT */
#include "policy/compound/head_tail.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <cleave/run.h>
#include "model/platform/platform_internal.h"
#include "policy/compound/registry.h"

/* The members of the tail: workers of the plan for the whole load. */
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

/* Plan the head. Excluded workers were noted by find_members. */
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

/* A worker that starts later than the others need for the tail would delay them. Drop
 * such workers until all start before the common end T, the sum of S (T - start) over the
 * members being the tail. */
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

/* The minimum chunk of each worker covers the overhead of a chunk there. */
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
    /* Without latencies chunks would shrink without end. */
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

/* Plan all but `tail` units with `planner`, a plan fixed in advance, with these settings.
 * Sets members and minimum chunks of the tail. pull.prefetch and alike are set before. */
static enum cleave_status head_tail_plan(struct cv_head_tail *two, double tail,
                                         const struct cleave_policy *planner,
                                         const struct cleave_setting *settings,
                                         size_t nsettings, const struct cleave_view *view,
                                         struct cleave_setup *setup,
                                         struct cleave_error *err)
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

static enum cleave_status head_tail_start(void *state, const struct cleave_view *view,
                                          struct cleave_setup *setup,
                                          struct cleave_error *err)
{
    struct cv_head_tail *two = state;

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

/* As the port allows: all at once if links do not share it. */
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

static void head_tail_decide(void *state, const struct cleave_view *view,
                             const struct cleave_event *event,
                             struct cleave_orders *orders)
{
    struct cv_head_tail *two = state;

    cv_pull_note(&two->pull, view, event);
    give_head(two, view, event->time_s, orders);
    /* Without a tail the units left after the head are rounding. */
    if (two->tail > 0 && two->next == two->head.nchunks && !event->more)
        cv_pull_serve(&two->pull, two, view, event->time_s, tail_size, orders);
}

const struct cleave_policy *cv_best_planner(const struct cleave_view *view)
{
    if (view->port == CLEAVE_PORT_MULTI)
        return &cleave_policy_links;
    if (view->profiles == NULL && cv_workers_equal(view->workers, view->nworkers,
                                                   view->result_ratio > 0, NULL, NULL))
        return &cleave_policy_xmi_k;
    return &cleave_policy_umr_plus;
}

/* --- rumr: umr for the certain part, factoring for the rest ------------------------- */

/* With an expected error e of the declared costs, min(1, e) of the load goes to weighted
 * factoring, if that gives each worker at least the units that cover one chunk's
 * overhead, S (alpha + n beta) on average. The overhead of a worker is also its minimum
 * chunk, and a worker that starts later than the tail lasts gets none of it. (With alike
 * = 1 all have the mean as minimum chunk, our first reading: then all workers wait for
 * chunks of slow ones.) The tail levels the ends, so the last round of umr keeps its
 * size. With e = 0 it is umr.
 *
 * After Yang and Casanova, HPDC-12, 2003, in our reading: that text leaves details open.
 */

struct rumr {
    struct cv_head_tail two; /* first: see head_tail_start */
    uint32_t max_rounds;
};

static enum cleave_status rumr_plan(void *state, const struct cleave_view *view,
                                    struct cleave_setup *setup, struct cleave_error *err)
{
    struct rumr *rumr = state;
    double tail = fmin(1, view->error) * view->units_total;
    char max_rounds[16];
    struct cleave_setting settings[] = { { "max_rounds", max_rounds }, { "level", "0" } };

    snprintf(max_rounds, sizeof max_rounds, "%u", rumr->max_rounds);
    if (tail > 0) {
        CV_TRY(head_tail_plan(&rumr->two, tail, &cleave_policy_umr, settings, 2, view,
                              setup, err));
        if (tail / rumr->two.pull.nmembers >=
            cv_overhead_units(view, rumr->two.pull.member))
            return CLEAVE_OK;
    }
    return head_tail_plan(&rumr->two, 0, &cleave_policy_umr, settings, 1, view, setup,
                          err);
}

static const struct cleave_param rumr_params[] = {
    { "max_rounds", CLEAVE_PARAM_COUNT, offsetof(struct rumr, max_rounds), 60, 1, 100000,
      "most rounds of the umr part" },
    CV_PREFETCH_PARAM(struct rumr, two.pull, 1),
    { "alike", CLEAVE_PARAM_COUNT, offsetof(struct rumr, two.alike), 0, 0, 1,
      "1: one least chunk for all workers in the second phase, the mean over them" },
    { 0 },
};

const struct cleave_policy cleave_policy_rumr = {
    .name = "rumr",
    .summary = "umr for what the expected error leaves certain, then weighted factoring",
    .reference = "Yang and Casanova 2003",
    .sends_first = true,
    .state_size = sizeof(struct rumr),
    .params = rumr_params,
    .plan = rumr_plan,
    .start = head_tail_start,
    .decide = head_tail_decide,
};

/* --- rx: the best plan for the certain part, factoring for the rest ----------------- */

/* rumr with the planner of the platform for the head and min(1, kappa e) of the load for
 * the tail. (Sending the first tail chunk while the last head chunk is computed closes
 * the gap between the two, but commits too early: 1 to 3 % worse for errors of 0.1 to
 * 0.5.) */

struct rx {
    struct cv_head_tail two; /* first: see head_tail_start */
    double kappa;
};

static enum cleave_status rx_plan(void *state, const struct cleave_view *view,
                                  struct cleave_setup *setup, struct cleave_error *err)
{
    struct rx *rx = state;

    return head_tail_plan(&rx->two, fmin(1, rx->kappa * view->error) * view->units_total,
                          cv_best_planner(view), NULL, 0, view, setup, err);
}

static const struct cleave_param rx_params[] = {
    { "kappa", CLEAVE_PARAM_REAL, offsetof(struct rx, kappa), 1, 0, 100,
      "share of the load kept for the tail, as a multiple of the expected error" },
    CV_PREFETCH_PARAM(struct rx, two.pull, 1),
    { "alike", CLEAVE_PARAM_COUNT, offsetof(struct rx, two.alike), 0, 0, 1,
      "1: one least chunk for all workers in the tail, the mean over them" },
    { 0 },
};

const struct cleave_policy cleave_policy_rx = {
    .name = "rx",
    .summary = "the best plan for the certain part, then factoring",
    .reference = "cleave",
    .uses_profiles = true,
    .sends_first = true,
    .state_size = sizeof(struct rx),
    .params = rx_params,
    .plan = rx_plan,
    .start = head_tail_start,
    .decide = head_tail_decide,
};

/* --- rounds-tail: rounds for the certain part, factoring for the rest --------------- */

/* The plan of `rounds` for all but a tail of the load: chunks are sent in its order,
 * whatever happens, and results return when they are ready, after waiting sends. A
 * simulation with the expected error chooses the tail: 0, 0.1, 0.2, 0.3 or 0.5 of the
 * load. Without a forecast it is half the error, at most 0.3. */

enum { TRIALS = 10 };

struct rounds_tail {
    struct cv_head_tail two; /* first: see head_tail_start */
    double tail;             /* part of the load; negative: choose it */
};

#define TAIL_PARAM(preset)                                                            \
    {                                                                                 \
        "tail", CLEAVE_PARAM_REAL, offsetof(struct rounds_tail, tail), preset, -1, 1, \
            "part of the load that is not planned; -1: by simulation with the "       \
            "expected error"                                                          \
    }
#define PREFETCH CV_PREFETCH_PARAM(struct rounds_tail, two.pull, 1)

static enum cleave_status find_tail(const struct cleave_view *view,
                                    struct cleave_setup *setup, double *out,
                                    struct cleave_error *err)
{
    static const double tails[] = { 0, 0.1, 0.2, 0.3, 0.5 };
    double best_s = INFINITY;

    /* kept if a limit ends the search early */
    *out = fmin(0.3, 0.5 * view->error);
    if (!(view->error > 0) || setup->forecast == NULL)
        return CLEAVE_OK;
    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
        const struct cleave_param params[] = { TAIL_PARAM(tails[i]), PREFETCH, { 0 } };
        struct cleave_policy candidate = cleave_policy_rounds_tail;
        enum cleave_status status;
        double mean_s;

        candidate.params = params;
        status = cleave_setup_forecast(setup, &candidate, view, TRIALS, &mean_s, err);
        if (status == CLEAVE_EPOLICY && cv_step_budget_over(setup->budget))
            break;
        CV_TRY(status);
        if (mean_s < best_s) {
            best_s = mean_s;
            *out = tails[i];
        }
    }
    return CLEAVE_OK;
}

static enum cleave_status tail_plan(void *state, const struct cleave_view *view,
                                    struct cleave_setup *setup, struct cleave_error *err)
{
    struct rounds_tail *rounds = state;
    double tail = rounds->tail;

    if (tail < 0)
        CV_TRY(find_tail(view, setup, &tail, err));
    return head_tail_plan(&rounds->two, tail * view->units_total, &cleave_policy_rounds,
                          NULL, 0, view, setup, err);
}

static const struct cleave_param tail_params[] = { TAIL_PARAM(-1), PREFETCH, { 0 } };

const struct cleave_policy cleave_policy_rounds_tail = {
    .name = "rounds-tail",
    .summary = "rounds for the certain part, then factoring; results as they get ready",
    .reference = "cleave",
    .needs = CLEAVE_NEEDS_SHARED_PORT,
    .sends_first = true,
    .state_size = sizeof(struct rounds_tail),
    .params = tail_params,
    .plan = tail_plan,
    .start = head_tail_start,
    .decide = head_tail_decide,
};
