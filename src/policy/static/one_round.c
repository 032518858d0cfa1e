/* one_round.c -- one chunk per worker: one-round, joint. SPDX-License-Identifier: MIT
 *
 * Fastest link first, all end together. Let D be the time from the arrival of the
 * previous chunk to the end, T for the first chunk. A worker that ends at T gets
 *
 *     units = (D - beta - alpha) / (1/B + 1/S),    next D = D - beta - units / B,
 *
 * so all sizes are affine in T, and their sum fixes T. A worker with a negative chunk
 * cannot help: its latencies alone end too late. The worker with the smallest chunk is
 * excluded and the sizes are computed again, O(workers) each time; on large platforms a
 * sixteenth of the workers may be excluded together. If speeds change with time
 * (profiles), the plan is that of varied_plan.c.
 *
 * O. Beaumont, A. Legrand and Y. Robert, Optimal algorithms for scheduling divisible
 * workloads on heterogeneous systems, 2002, for the order. */
#include "policy/static/one_round.h"

#include <math.h>
#include <string.h>
#include "base/fail.h"
#include "base/nth.h"
#include "model/joint/joint.h"
#include "model/platform/generate.h"
#include "policy/common/setup.h"
#include "policy/static/varied_plan.h"

/* With LARGE workers several may be excluded together. */
enum { LARGE = 1024, SHARE = 16 };

/* 1 / (1/B + 1/S), without overflow. */
static double rate_ups(const struct cleave_worker *worker)
{
    return worker->speed_ups / (1 + worker->speed_ups / worker->bandwidth_ups);
}

double cv_level(const struct cleave_worker *workers, const uint32_t *order, uint32_t n,
                double load, double *units)
{
    double slope = 1, offset = 0; /* D = slope T - offset            */
    double rate = 0, lost = 0;    /* sum of units = rate T - lost    */
    double end_s, left_s;

    for (uint32_t i = 0; i < n; i++) {
        const struct cleave_worker *worker = &workers[order[i]];
        const double share = rate_ups(worker), link = share / worker->bandwidth_ups;
        const double start_s = worker->latency_s + worker->compute_latency_s;

        rate += share * slope;
        lost += share * (offset + start_s);
        offset += worker->latency_s - link * (offset + start_s);
        slope -= link * slope;
    }
    end_s = left_s = (load + lost) / rate;
    for (uint32_t i = 0; i < n; i++) {
        const struct cleave_worker *worker = &workers[order[i]];

        units[i] =
            rate_ups(worker) * (left_s - worker->latency_s - worker->compute_latency_s);
        left_s -= worker->latency_s + units[i] / worker->bandwidth_ups;
    }
    return end_s;
}

/* Workers with this size or less are excluded: the smallest, or on a large platform the
 * largest among the smallest sixteenth; always negative. */
static double leaving_size(const double *units, uint32_t n, double *scratch)
{
    const uint32_t leaving = n > LARGE ? n / SHARE : 1;
    uint32_t negative = 0;
    double min = 0;

    for (uint32_t i = 0; i < n; i++) {
        if (units[i] < 0)
            scratch[negative++] = units[i];
        if (units[i] < min)
            min = units[i];
    }
    if (leaving <= 1 || negative <= 1)
        return min;
    return cv_nth(scratch, negative, (negative < leaving ? negative : leaving) - 1);
}

static uint32_t drop(uint32_t *order, const double *units, uint32_t n, double limit)
{
    uint32_t max = n > LARGE ? n : 1, kept = 0;

    for (uint32_t i = 0; i < n; i++) {
        if (units[i] <= limit && max > 0)
            max--;
        else
            order[kept++] = order[i];
    }
    return kept;
}

enum cleave_status cv_one_round_plan(const struct cleave_worker *workers,
                                     uint32_t nworkers, double load,
                                     struct cv_arena *arena, struct cv_one_round *out,
                                     struct cleave_error *err)
{
    uint32_t *order = cv_bandwidth_order(workers, nworkers, arena);
    double *units = cv_array(arena, nworkers, sizeof *units);
    double *scratch = cv_array(arena, nworkers, sizeof *scratch);
    uint32_t n = nworkers;
    double makespan_s;

    if (order == NULL || units == NULL || scratch == NULL)
        return cv_fail_memory(err, "the plan");
    for (;;) {
        double limit;

        makespan_s = cv_level(workers, order, n, load, units);
        limit = leaving_size(units, n, scratch);
        if (!(limit < 0) || n == 1)
            break;
        n = drop(order, units, n, limit);
    }
    if (!cv_plan_init(&out->plan, arena, n))
        return cv_fail_memory(err, "the plan");
    memcpy(out->plan.worker, order, n * sizeof *order);
    memcpy(out->plan.units, units, n * sizeof *units);
    cv_plan_settle(&out->plan, load);
    out->makespan_s = makespan_s;
    return CLEAVE_OK;
}

static enum cleave_status one_round_plan(void *state, const struct cleave_view *view,
                                         struct cleave_setup *setup,
                                         struct cleave_error *err)
{
    struct cv_static *fixed = state;
    bool *served = cv_array(setup->arena, view->nworkers, sizeof *served);
    struct cv_one_round plan = { 0 };

    if (served == NULL)
        return cv_fail_memory(err, "the plan");
    CV_TRY(cv_one_round_plan(view->workers, view->nworkers, view->units_total,
                             setup->arena, &plan, err));
    if (view->profiles != NULL)
        CV_TRY(cv_varied_plan(view, true, &plan.plan, setup, &plan.plan, &plan.makespan_s,
                              err));
    for (size_t k = 0; k < plan.plan.nchunks; k++)
        served[plan.plan.worker[k]] = true;
    for (uint32_t i = 0; i < view->nworkers; i++)
        if (!served[i])
            cv_note_left_out(setup, i,
                             "its chunk would be negative: after the faster links it "
                             "could not start and end by %.6g s",
                             plan.makespan_s);
    fixed->plan = plan.plan;
    return cv_static_index(fixed, view, setup, err);
}

const struct cleave_policy cleave_policy_one_round = {
    .name = "one-round",
    .summary = "one chunk per worker, fastest link first, all ending together",
    .reference = "Beaumont, Legrand and Robert 2002",
    .uses_profiles = true,
    .sends_first = true,
    .state_size = sizeof(struct cv_static),
    .plan = one_round_plan,
    .decide = cv_static_decide,
};

/* --- joint: for results that are reduced one after the other ------------------------ */

/* Partials come to the master, a transfer of `transfer` s each, and are combined there,
 * two of them in `compute` s, `folders` combinations at a time. If all are ready together
 * they wait for each other; so a worker that receives early gets less, ends early and is
 * reduced while the other workers compute. Chunk k must end its tail q before the end T
 * (joint.h):
 *
 *     units = (T - q - beta - alpha - r) / (1/B + 1/S),   r: the port is free
 *
 * and the number of workers minimises T. If the workers that made the results also reduce
 * them (MPI), the tails come from a tree among them, a transfer and a combination for
 * each edge, which overlap depending on `model`. With both costs 0 the plan equals the
 * plan of one-round. The makespan of a plan covers the chunks alone. docs/theory/joint.md
 * has the proofs. */

struct joint_round {
    struct cv_static fixed;
    double transfer_s, compute_s;
    uint32_t folders, tree, model;
};

static enum cleave_status take_plan(struct joint_round *joint,
                                    const struct cv_joint_plan *plan,
                                    const struct cleave_view *view,
                                    struct cleave_setup *setup, struct cleave_error *err)
{
    bool *served = cv_array(setup->arena, view->nworkers, sizeof *served);

    if (served == NULL || !cv_plan_init(&joint->fixed.plan, setup->arena, plan->used))
        return cv_fail_memory(err, "the plan");
    memcpy(joint->fixed.plan.worker, plan->order, plan->used * sizeof *plan->order);
    memcpy(joint->fixed.plan.units, plan->sizes, plan->used * sizeof *plan->sizes);
    cv_plan_settle(&joint->fixed.plan, view->units_total);
    for (uint32_t k = 0; k < plan->used; k++)
        served[plan->order[k]] = true;
    for (uint32_t i = 0; i < view->nworkers; i++)
        if (!served[i] && isinf(plan->with_s[i]))
            cv_note_left_out(setup, i, "a chunk for it would end too late");
        else if (!served[i])
            cv_note_left_out(setup, i,
                             "with it the end of the reduction would come after %.6g s, "
                             "not %.6g s",
                             plan->with_s[i], plan->end_s);
    return cv_static_index(&joint->fixed, view, setup, err);
}

/* Sizes for unknown costs would be useless: a fold that seems longer than the whole work
 * would leave all work to one worker. */
static enum cleave_status check_costs(const struct joint_round *joint,
                                      const struct cleave_view *view,
                                      struct cleave_error *err)
{
    if (!view->real || !(joint->transfer_s + joint->compute_s > 0))
        return CLEAVE_OK;
    for (uint32_t w = 0; w < view->nworkers; w++)
        if (cv_is_nominal(&view->workers[w]))
            return cv_fail(err, CLEAVE_EINPUT,
                           "joint: expected workers whose costs are known, from a "
                           "platform file; learn finds them out, and what folds take");
    return CLEAVE_OK;
}

static enum cleave_status joint_plan(void *state, const struct cleave_view *view,
                                     struct cleave_setup *setup, struct cleave_error *err)
{
    struct joint_round *joint = state;
    const struct cv_joint_job job = {
        .load = { view->workers, view->units_total, view->port == CLEAVE_PORT_MULTI },
        .nworkers = view->nworkers,
        .order = cv_bandwidth_order(view->workers, view->nworkers, setup->arena),
        .costs = { .d = joint->transfer_s,
                   .c = joint->compute_s,
                   .model = (enum cleave_ready_model)joint->model },
        .at_master = joint->tree == 0 && !view->folds_apart,
        .folders = joint->folders > 0 ? joint->folders : view->folders,
        .duplex = view->port == CLEAVE_PORT_DUPLEX,
    };
    struct cv_joint_plan plan;

    if (job.order == NULL)
        return cv_fail_memory(err, "the plan");
    CV_TRY(check_costs(joint, view, err));
    CV_TRY(cv_joint_plan(&job, setup->arena, &plan, err));
    return take_plan(joint, &plan, view, setup, err);
}

static const struct cleave_param joint_params[] = {
    { "transfer", CLEAVE_PARAM_REAL, offsetof(struct joint_round, transfer_s), 0, 0, 1e9,
      "seconds that a result takes to the master" },
    { "compute", CLEAVE_PARAM_REAL, offsetof(struct joint_round, compute_s), 0, 0, 1e9,
      "seconds that two results take to be reduced there" },
    { "folders", CLEAVE_PARAM_COUNT, offsetof(struct joint_round, folders), 0, 0, 1e6,
      "how many are reduced at a time; 0: as many as the run says, else one" },
    { "tree", CLEAVE_PARAM_COUNT, offsetof(struct joint_round, tree), 0, 0, 1,
      "1: reduced among the workers, along a tree; real runs that do so need not say "
      "it" },
    { "model", CLEAVE_PARAM_COUNT, offsetof(struct joint_round, model), 0, 0, 2,
      "along a tree, before its own is ready a worker does nothing (0), receives (1), or "
      "does nothing and later one thing at a time (2)" },
    { 0 },
};

const struct cleave_policy cleave_policy_joint = {
    .name = "joint",
    .summary = "one chunk per worker, for results that are reduced one after the other",
    .reference = "cleave",
    .minds_folds = true,
    .sends_first = true,
    .params = joint_params,
    .state_size = sizeof(struct joint_round),
    .plan = joint_plan,
    .decide = cv_static_decide,
};
