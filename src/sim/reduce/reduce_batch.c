/* reduce_batch.c -- many runs of a reduction at the speed of the random numbers.
 * SPDX-License-Identifier: MIT */
#include "sim/reduce/reduce_batch.h"

#include <math.h>
#include <stdlib.h>

#include "policy/reduce/row_lane.h"
#include "sim/reduce/fixed_tree.h"
#include "sim/reduce/native_reduce.h"
#include "sim/reduce/row_lanes.h"

struct cv_reduce_batch {
    bool is_fixed;
    struct cv_fixed_tree tree;           /* if fixed                                 */
    struct cv_arena arena;               /* of the tree                              */
    struct cv_row_lanes *rows;           /* owned; NULL if fixed or large            */
    struct cv_driver *driver;            /* owned: for what is left                  */
    const struct cv_reduce_costs *costs; /* borrowed                       */
    double *ready_s;                     /* in the arena: of a run         */
    uint64_t left;
};

/* One thing at a time, for a policy that hears of arrivals, and a plan for the times of
 * every run: the driver does that. */
static bool needs_driver(const struct cv_planned *planned,
                         const struct cv_reduce_costs *costs)
{
    const struct cv_policy_inner *inner = planned->policy->inner;

    if (inner != NULL &&
        (inner->by_driver ||
         ((inner->knows_ready || inner->ready_by_driver) && costs->has_ready)))
        return true;
    return costs->has_ready && costs->ready_model == CLEAVE_READY_MERGE &&
           planned->policy->gets_arrivals;
}

enum cleave_status cv_reduce_batch_open(const struct cv_planned *planned,
                                        const struct cv_reduce_costs *costs,
                                        struct cv_reduce_batch **out,
                                        struct cleave_error *err)
{
    const struct cv_engine *engine = cv_native_reduce_for(planned->policy);
    struct cv_reduce_batch *batch = calloc(1, sizeof *batch);
    enum cleave_status status;

    if (batch == NULL)
        return cv_fail_memory(err, "the runs side by side");
    cv_arena_init(&batch->arena);
    batch->costs = costs;
    if (costs->has_ready) {
        batch->ready_s = cv_array(&batch->arena, costs->nodes, sizeof(double));
        if (batch->ready_s == NULL) {
            cv_reduce_batch_close(batch);
            return cv_fail_memory(err, "the ready times");
        }
    }
    status = cv_driver_open(planned, engine, NULL, costs, &batch->driver, err);
    if (status == CLEAVE_OK)
        status = cv_fixed_tree_init(&batch->tree, planned->policy, planned->state,
                                    &planned->view, costs, &batch->arena,
                                    &batch->is_fixed, err);
    if (status == CLEAVE_OK && !batch->is_fixed && costs->exact == NULL &&
        costs->nodes <= CV_LANE_NODES && !needs_driver(planned, costs))
        status = cv_row_lanes_open(planned, costs, &batch->rows, err);
    if (status != CLEAVE_OK)
        cv_reduce_batch_close(batch);
    else
        *out = batch;
    return status;
}

void cv_reduce_batch_close(struct cv_reduce_batch *batch)
{
    if (batch == NULL)
        return;
    cv_row_lanes_close(batch->rows);
    cv_driver_close(batch->driver);
    cv_arena_done(&batch->arena);
    free(batch);
}

uint64_t cv_reduce_batch_left(const struct cv_reduce_batch *batch)
{
    return batch->left;
}

static enum cleave_status run_by_driver(struct cv_reduce_batch *batch, uint64_t number,
                                        struct cv_run_result *result,
                                        struct cleave_error *err)
{
    struct cv_run run = { .number = (uint32_t)number,
                          .ready_s = batch->ready_s,
                          .ready_model = batch->costs->ready_model };
    struct cv_outcome outcome;

    for (uint32_t i = 0; batch->ready_s != NULL && i < batch->costs->nodes; i++)
        batch->ready_s[i] = cv_ready_time(batch->costs, run.number, i);
    CV_TRY(cv_driver_run(batch->driver, &run, NULL, &outcome, err));
    *result = (struct cv_run_result){ outcome.makespan_s, 0, (double)outcome.chunks };
    batch->left++;
    return CLEAVE_OK;
}

enum cleave_status cv_reduce_batch_run(struct cv_reduce_batch *batch, uint64_t begin,
                                       uint64_t end, struct cv_run_result *results,
                                       struct cleave_error *err)
{
    for (uint64_t i = 0; i < end - begin; i++)
        results[i] = (struct cv_run_result){ NAN, 0, batch->tree.nodes - 1 };
    if (batch->is_fixed)
        for (uint64_t i = 0; i < end - begin; i++)
            results[i].makespan_s =
                cv_fixed_tree_run(&batch->tree, (uint32_t)(begin + i));
    else if (batch->rows != NULL)
        cv_row_lanes_run(batch->rows, begin, end, results);
    for (uint64_t i = 0; i < end - begin; i++)
        if (isnan(results[i].makespan_s))
            CV_TRY(run_by_driver(batch, begin + i, &results[i], err));
    return CLEAVE_OK;
}
