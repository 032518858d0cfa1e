/* reduced_load.c -- a load by any policy, and the reduction of its partials after it.
 * SPDX-License-Identifier: MIT */
#include "sim/reduce/reduced_load.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/compare.h"
#include "base/fail.h"
#include "model/platform/noise.h"
#include "model/ready/ready_tree.h"
#include "sim/load/forecast.h"
#include "sim/load/load_case.h"
#include "sim/many/monte_carlo.h"

double cv_joint_ready(const struct cv_joint_job *job, const struct cv_joint_plan *plan,
                      const struct cv_noise *noise, double *sent_s, double *ready_s)
{
    double free_s = 0, all_s = 0;

    for (uint32_t k = 0; k < plan->used; k++) {
        const uint32_t number = plan->order[k];
        const struct cleave_worker *worker = &job->load.workers[number];
        const double send_s = worker->latency_s + plan->sizes[k] / worker->bandwidth_ups;
        const double compute_s =
            worker->compute_latency_s + plan->sizes[k] / worker->speed_ups;

        if (job->load.multi)
            free_s = 0;
        free_s += send_s *
                  (noise == NULL ? 1 : cv_noise_factor(noise, CV_TRANSFER, number, 0, k));
        all_s = fmax(all_s, free_s);
        if (sent_s != NULL)
            sent_s[k] = free_s;
        ready_s[k] =
            free_s +
            compute_s *
                (noise == NULL ? 1 : cv_noise_factor(noise, CV_COMPUTE, number, 0, k));
    }
    return all_s;
}

/* When n partials have arrived at the master one after the other and are combined; the
 * first needs no combination. Sorts ready_s. A port that serves one message at a time
 * receives nothing before port_s, when all was sent. */
static double star_length(const struct cv_joint_job *job, double port_s, double *ready_s,
                          uint32_t n)
{
    double done_s = 0;

    qsort(ready_s, n, sizeof *ready_s, cv_compare_doubles);
    if (job->load.multi || job->duplex)
        port_s = 0;
    for (uint32_t k = 0; k < n; k++) {
        port_s = fmax(port_s, ready_s[k]) + job->costs.d;
        done_s = k == 0 ? port_s : fmax(done_s, port_s) + job->costs.c;
    }
    return done_s;
}

struct joint_runs {
    const struct cv_joint_job *job;
    const struct cv_joint_plan *plan;
    struct cv_noise noise;
};

static enum cleave_status run_joint(void *context, struct cv_run_thread *thread,
                                    uint32_t number, struct cv_run_result *result,
                                    struct cleave_error *err)
{
    const struct joint_runs *runs = context;
    const struct cv_joint_job *job = runs->job;
    const uint32_t n = runs->plan->used;
    struct cv_noise noise = runs->noise;
    struct cv_tree_run executed;
    double *ready_s, sent_s;

    cv_arena_reset(&thread->arena);
    if (!CV_NEW(&thread->arena, ready_s, n))
        return cv_fail_memory(err, "a run");
    noise.run = number;
    sent_s = cv_joint_ready(job, runs->plan, &noise, NULL, ready_s);
    result->chunks = n;
    if (job->at_master) {
        result->makespan_s = star_length(job, sent_s, ready_s, n);
        return CLEAVE_OK;
    }
    CV_TRY(cv_ready_execute(&(struct cv_ready_job){ n, ready_s, job->costs.d,
                                                    job->costs.c, job->costs.model },
                            runs->plan->parent, NULL, &thread->arena, &executed, err));
    result->makespan_s = executed.length_s;
    return CLEAVE_OK;
}

enum cleave_status cv_joint_simulate(const struct cv_joint_job *job,
                                     const struct cv_joint_plan *plan, uint64_t seed,
                                     const struct cleave_trial *trial,
                                     struct cleave_stats *out, struct cleave_error *err)
{
    struct joint_runs runs = { job, plan, { .drawn = trial->noise, .seed = seed } };

    return cv_monte_carlo_by(trial, run_joint, &runs, out, err);
}

/* --- a load by any policy, then the reduction of its partials ----------------------- */

static enum cleave_status tree_length(const struct cv_joint_job *joint,
                                      const double *ready_s, uint32_t n,
                                      struct cv_arena *arena, double *out_s,
                                      struct cleave_error *err)
{
    const struct cv_ready_job job = { n, ready_s, joint->costs.d, joint->costs.c,
                                      joint->costs.model };
    uint32_t *parent = cv_array(arena, n, sizeof *parent);
    struct cv_ready_planner *planner =
        cv_ready_planner_new(arena, n, cv_ready_is_exact(&job));
    struct cv_tree_run executed;

    if (parent == NULL || planner == NULL)
        return cv_fail_memory(err, "a tree");
    cv_ready_tree(planner, &job, CV_NO_NODE, parent);
    CV_TRY(cv_ready_execute(&job, parent, NULL, arena, &executed, err));
    *out_s = executed.length_s;
    return CLEAVE_OK;
}

struct reduction {
    const struct cv_joint_job *joint;
    uint32_t nworkers;
};

/* When all partials of a run are one. */
static enum cleave_status reduce(void *context, struct cv_run_thread *thread,
                                 const struct cv_outcome *outcome, double *out_s,
                                 struct cleave_error *err)
{
    const struct reduction *reduction = context;
    const double *done_s = cv_driver_done_s(thread->driver);
    double *ready_s;
    uint32_t n = 0;

    cv_arena_reset(&thread->arena);
    if (!CV_NEW(&thread->arena, ready_s, reduction->nworkers))
        return cv_fail_memory(err, "a run");
    for (uint32_t w = 0; w < reduction->nworkers; w++)
        if (done_s[w] > 0)
            ready_s[n++] = done_s[w];
    if (!reduction->joint->at_master && n > 0)
        return tree_length(reduction->joint, ready_s, n, &thread->arena, out_s, err);
    *out_s = star_length(reduction->joint, outcome->sent_s, ready_s, n);
    return CLEAVE_OK;
}

/* --- costs for policies that consider the reduction --------------------------------- */

enum { TOLD = 3, NUMBER_ROOM = 32 };

static bool has(const struct cleave_job *job, const char *key)
{
    for (size_t i = 0; i < job->nsettings; i++)
        if (strcmp(job->settings[i].key, key) == 0)
            return true;
    return false;
}

/* The job's settings, and the costs of the reduction unless they are set. */
static enum cleave_status tell(const struct cleave_job *job,
                               const struct cv_joint_job *joint,
                               char (*numbers)[NUMBER_ROOM], struct cleave_setting **out,
                               size_t *out_count, struct cleave_error *err)
{
    static const char *const keys[TOLD] = { "transfer", "compute", "model" };
    struct cleave_setting *all = calloc(job->nsettings + TOLD, sizeof *all);

    if (all == NULL)
        return cv_fail_memory(err, "the settings");
    snprintf(numbers[0], NUMBER_ROOM, "%.17g", joint->costs.d);
    snprintf(numbers[1], NUMBER_ROOM, "%.17g", joint->costs.c);
    snprintf(numbers[2], NUMBER_ROOM, "%d", (int)joint->costs.model);
    for (size_t i = 0; i < job->nsettings; i++)
        all[i] = job->settings[i];
    *out_count = job->nsettings;
    for (int i = 0; i < TOLD; i++)
        if (!has(job, keys[i]))
            all[(*out_count)++] = (struct cleave_setting){ keys[i], numbers[i] };
    *out = all;
    return CLEAVE_OK;
}

enum cleave_status cv_reduced_load(const struct cleave_job *job,
                                   const struct cv_joint_job *joint,
                                   const struct cleave_trial *trial,
                                   struct cleave_stats *out, struct cleave_error *err)
{
    struct cleave_job told = *job;
    struct cleave_setting *settings = NULL;
    struct cv_load_case load_case;
    struct reduction reduction = { joint, cleave_platform_nworkers(job->platform) };
    const struct cv_after_run after = { reduce, &reduction };
    char numbers[TOLD][NUMBER_ROOM];
    enum cleave_status status = cv_load_case_open(&load_case, job, err);

    if (status == CLEAVE_OK && load_case.policy->minds_folds) {
        status = tell(job, joint, numbers, &settings, &told.nsettings, err);
        told.settings = settings;
    }
    told.trace = NULL;
    told.simgrid = NULL;
    load_case.load.folders = joint->at_master ? 1 : 0;
    load_case.load.folds_apart = !joint->at_master;
    CV_THEN(status, cv_load_case_simulate(&load_case, &told, trial, &after, out, err));
    if (status == CLEAVE_OK)
        out->bound.value_s += joint->at_master ? joint->costs.d : 0;
    cv_load_case_close(&load_case);
    free(settings);
    return status;
}
