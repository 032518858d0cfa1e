/* joint_round.c -- one chunk per worker, for results that are reduced one after the other.
 * SPDX-License-Identifier: MIT
 *
 * Partials come to the master, a transfer of `transfer` s each, and are combined there, two
 * of them in `compute` s, `folders` combinations at a time. If all are ready together they
 * wait for each other; so who is sent to first gets less, ends early and is reduced while
 * the others compute. Chunk k must end its tail q before the end T (joint.h):
 *
 *     units = (T - q - beta - alpha - r) / (1/B + 1/S),   r: the port is free
 *
 * and the number of workers is the one for which T is least. Where results are reduced by
 * the workers that made them (MPI), the tails are those of a tree among them, a transfer and
 * a combination for each edge, which overlap unless `model` says otherwise. With both costs
 * 0 the plan is that of one-round. The makespan of a plan is that of the chunks alone. O(n^2)
 * for n workers. docs/theory/joint.md has the proofs. */
#include <string.h>

#include "base/fail.h"
#include "model/joint/joint.h"
#include "model/platform/generate.h"
#include "policy/common/bandwidth_order.h"
#include "policy/common/setup.h"

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
        if (!served[i])
            cv_note_left_out(setup, i,
                             "with its result to be reduced, too, the end would come "
                             "after %.6g s",
                             plan->end_s);
    return cv_static_index(&joint->fixed, view, setup, err);
}

/* Of costs that nobody has said the sizes would be of no use: of a fold that takes longer than
 * what workers are thought to take, all for one of them. */
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
