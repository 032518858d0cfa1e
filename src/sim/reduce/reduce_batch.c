/* reduce_batch.c -- many runs of a reduction at the speed of the random numbers.
 * SPDX-License-Identifier: MIT */
#include "sim/reduce/reduce_batch.h"

#include <math.h>
#include <stdlib.h>

#include "policy/reduce/row_lane.h"
#include "sim/reduce/fixed_tree.h"
#include "sim/reduce/native_reduce.h"
#include "sim/reduce/row_lanes.h"

struct cv_reduce_lanes {
    bool is_fixed;
    struct cv_fixed_tree tree; /* if fixed                                 */
    struct cv_arena arena;     /* of the tree                              */
    struct cv_row_lanes *rows; /* owned; NULL if fixed or large            */
    struct cv_driver *driver;  /* owned: for what is left                  */
    uint64_t left;
};

enum cleave_status cv_reduce_lanes_open(const struct cv_planned *planned,
                                        const struct cv_reduce_costs *costs,
                                        struct cv_reduce_lanes **out,
                                        struct cleave_error *err)
{
    const struct cv_engine *engine = cv_native_reduce_for(planned->policy);
    struct cv_reduce_lanes *lanes = calloc(1, sizeof *lanes);
    enum cleave_status status;

    if (lanes == NULL)
        return cv_fail_memory(err, "the runs side by side");
    cv_arena_init(&lanes->arena);
    status = cv_driver_open(planned, engine, NULL, costs, &lanes->driver, err);
    if (status == CLEAVE_OK)
        status = cv_fixed_tree_init(&lanes->tree, planned->policy, planned->state,
                                    &planned->view, costs, &lanes->arena,
                                    &lanes->is_fixed, err);
    if (status == CLEAVE_OK && !lanes->is_fixed && costs->exact == NULL &&
        costs->nodes <= CV_LANE_NODES)
        status = cv_row_lanes_open(planned, costs, &lanes->rows, err);
    if (status != CLEAVE_OK)
        cv_reduce_lanes_close(lanes);
    else
        *out = lanes;
    return status;
}

void cv_reduce_lanes_close(struct cv_reduce_lanes *lanes)
{
    if (lanes == NULL)
        return;
    cv_row_lanes_close(lanes->rows);
    cv_driver_close(lanes->driver);
    cv_arena_done(&lanes->arena);
    free(lanes);
}

uint64_t cv_reduce_lanes_left(const struct cv_reduce_lanes *lanes)
{
    return lanes->left;
}

static enum cleave_status run_by_driver(struct cv_reduce_lanes *lanes, uint64_t number,
                                        struct cv_run_result *result,
                                        struct cleave_error *err)
{
    struct cv_run run = { .number = (uint32_t)number };
    struct cv_outcome outcome;

    CV_TRY(cv_driver_run(lanes->driver, &run, NULL, &outcome, err));
    *result = (struct cv_run_result){ outcome.makespan_s, 0, (double)outcome.chunks };
    lanes->left++;
    return CLEAVE_OK;
}

enum cleave_status cv_reduce_lanes_run(struct cv_reduce_lanes *lanes, uint64_t begin,
                                       uint64_t end, struct cv_run_result *results,
                                       struct cleave_error *err)
{
    for (uint64_t i = 0; i < end - begin; i++)
        results[i] = (struct cv_run_result){ NAN, 0, lanes->tree.nodes - 1 };
    if (lanes->is_fixed)
        for (uint64_t i = 0; i < end - begin; i++)
            results[i].makespan_s =
                cv_fixed_tree_run(&lanes->tree, (uint32_t)(begin + i));
    else if (lanes->rows != NULL)
        cv_row_lanes_run(lanes->rows, begin, end, results);
    for (uint64_t i = 0; i < end - begin; i++)
        if (isnan(results[i].makespan_s))
            CV_TRY(run_by_driver(lanes, begin + i, &results[i], err));
    return CLEAVE_OK;
}
