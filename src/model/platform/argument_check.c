/* argument_check.c -- checks of the arguments of plans and simulations.
 * SPDX-License-Identifier: MIT */
#include "model/platform/argument_check.h"

#include <stdio.h>

#include "base/argument.h"

/* The largest spread for which factors are drawn, as in texts. */
static const double SPREAD_MOST = 100;

enum cleave_status cv_check_settings(const struct cleave_setting *settings, size_t count,
                                     const char *field, struct cleave_error *err)
{
    char member[64];

    if (count > 0)
        CV_EXPECT_POINTER(settings, err, field);
    for (size_t i = 0; i < count; i++) {
        snprintf(member, sizeof member, "%s[%zu].%s", field, i,
                 settings[i].key == NULL ? "key" : "value");
        CV_EXPECT(settings[i].key != NULL && settings[i].value != NULL, err, member,
                  "a text, got NULL");
    }
    return CLEAVE_OK;
}

enum cleave_status cv_check_simgrid(const struct cleave_simgrid *where,
                                    struct cleave_error *err)
{
    if (where == NULL)
        return CLEAVE_OK;
    CV_EXPECT_SIZE(where->unit_bytes, err, "simgrid.unit_bytes");
    CV_EXPECT_SIZE(where->unit_flops, err, "simgrid.unit_flops");
    CV_EXPECT_SIZE(where->partial_bytes, err, "simgrid.partial_bytes");
    for (uint32_t i = 0; where->workers != NULL && i < where->nworkers; i++)
        CV_EXPECT_POINTER(where->workers[i], err, "simgrid.workers");
    return CLEAVE_OK;
}

enum cleave_status cv_check_job(const struct cleave_job *job, struct cleave_error *err)
{
    CV_EXPECT_POINTER(job, err, "job");
    CV_EXPECT_POINTER(job->platform, err, "platform");
    CV_EXPECT_SIZE(job->error, err, "error");
    CV_TRY(cv_check_simgrid(job->simgrid, err));
    return cv_check_settings(job->settings, job->nsettings, "settings", err);
}

enum cleave_status cv_check_trial(const struct cleave_trial *trial,
                                  struct cleave_error *err)
{
    const struct cleave_conditions *conditions;

    CV_EXPECT_POINTER(trial, err, "trial");
    CV_EXPECT_ENUM(trial->noise.kind, CLEAVE_NOISE_NORMAL + 1, err, "noise.kind");
    if (trial->noise.kind != CLEAVE_NOISE_NONE)
        CV_EXPECT(trial->noise.spread >= 1e-12 && trial->noise.spread <= SPREAD_MOST, err,
                  "noise.spread", "a number from 1e-12 to %g, got %g", SPREAD_MOST,
                  trial->noise.spread);
    conditions = &trial->conditions;
    CV_EXPECT_SIZE(conditions->stalls.every_s, err, "conditions.stalls.every_s");
    CV_EXPECT_SIZE(conditions->stalls.length_s, err, "conditions.stalls.length_s");
    CV_EXPECT_SIZE(conditions->timeout_s, err, "conditions.timeout_s");
    CV_EXPECT_ENUM(conditions->costs.kind, CLEAVE_COST_PARETO + 1, err,
                   "conditions.costs.kind");
    if (conditions->costs.kind != CLEAVE_COST_EVEN) {
        CV_EXPECT(conditions->costs.spread <= SPREAD_MOST &&
                      conditions->costs.spread >
                          (conditions->costs.kind == CLEAVE_COST_PARETO ? 1 : 0),
                  err, "conditions.costs.spread", "a number up to %g, got %g",
                  SPREAD_MOST, conditions->costs.spread);
        CV_EXPECT_ABOVE(conditions->costs.record, err, "conditions.costs.record");
    }
    if (conditions->nhangs > 0)
        CV_EXPECT_POINTER(conditions->hangs, err, "conditions.hangs");
    return CLEAVE_OK;
}

enum cleave_status cv_check_reduction(const struct cleave_reduction *job,
                                      struct cleave_error *err)
{
    CV_EXPECT_POINTER(job, err, "job");
    if (job->costs == NULL) {
        CV_EXPECT_POINTER(job->transfer, err, "transfer");
        CV_EXPECT_POINTER(job->compute, err, "compute");
        CV_EXPECT(job->nodes <= CLEAVE_MAX_WORKERS, err, "nodes", "at most %u, got %u",
                  CLEAVE_MAX_WORKERS, job->nodes);
    }
    CV_EXPECT_ENUM(job->model, CLEAVE_COMPUTE_FIXED + 1, err, "model");
    CV_EXPECT_ENUM(job->ready_model, CLEAVE_READY_MERGE + 1, err, "ready_model");
    CV_TRY(cv_check_simgrid(job->simgrid, err));
    return cv_check_settings(job->settings, job->nsettings, "settings", err);
}

enum cleave_status cv_check_stream_job(const struct cleave_stream_job *job,
                                       struct cleave_error *err)
{
    CV_EXPECT_POINTER(job, err, "job");
    CV_EXPECT_POINTER(job->platform, err, "platform");
    CV_EXPECT_SIZE(job->result_ratio, err, "result_ratio");
    CV_EXPECT_SIZE(job->window_from_s, err, "window_from_s");
    CV_EXPECT_SIZE(job->window_to_s, err, "window_to_s");
    for (uint32_t s = 0; job->streams != NULL && s < job->nstreams; s++)
        if (job->streams[s].nworkers > 0)
            CV_EXPECT_POINTER(job->streams[s].workers, err, "streams.workers");
    CV_TRY(cv_check_simgrid(job->simgrid, err));
    return cv_check_settings(job->settings, job->nsettings, "settings", err);
}

enum cleave_status cv_check_stream_task(const struct cleave_stream_task *task,
                                        struct cleave_error *err)
{
    CV_EXPECT_POINTER(task, err, "task");
    CV_EXPECT_POINTER(task->platform, err, "platform");
    CV_EXPECT(task->nstreams <= CLEAVE_MAX_WORKERS, err, "nstreams", "at most %u, got %u",
              CLEAVE_MAX_WORKERS, task->nstreams);
    CV_EXPECT_ENUM(task->weights, CLEAVE_WEIGHTS_RING + 1, err, "weights");
    CV_EXPECT_ENUM(task->shares, CLEAVE_SHARES_ANY + 1, err, "shares");
    return CLEAVE_OK;
}
