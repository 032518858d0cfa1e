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

/* --- a split and the reduction of its results, executed with costs that vary ------- */

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

/* When n partials that are ready at these times, which are sorted, have come to the master
 * one after the other and are combined; the first needs no combination. A port that serves
 * one at a time takes none before port_s, when it has sent all. */
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

struct shared {
    const struct cv_joint_job *job;
    const struct cv_joint_plan *plan;
    struct cv_noise noise;
    struct cv_arena *arenas; /* per thread */
};

static enum cleave_status run_one(const struct shared *shared, struct cv_arena *arena,
                                  uint32_t run, double *out, struct cleave_error *err)
{
    const struct cv_joint_job *job = shared->job;
    const uint32_t n = shared->plan->used;
    struct cv_noise noise = shared->noise;
    struct cv_ready_run executed;
    double *ready_s, sent_s;

    cv_arena_reset(arena);
    ready_s = cv_array(arena, n, sizeof *ready_s);
    if (ready_s == NULL)
        return cv_fail_memory(err, "a run");
    noise.run = run;
    sent_s = cv_joint_ready(job, shared->plan, &noise, NULL, ready_s);
    if (job->at_master) {
        *out = star_length(job, sent_s, ready_s, n);
        return CLEAVE_OK;
    }
    CV_TRY(cv_ready_execute(&(struct cv_ready_job){ n, ready_s, job->costs.d,
                                                    job->costs.c, job->costs.model },
                            shared->plan->parent, NULL, arena, &executed, err));
    *out = executed.length_s;
    return CLEAVE_OK;
}

static enum cleave_status some_runs(void *context, unsigned thread, uint64_t begin,
                                    uint64_t end, struct cv_run_result *results,
                                    struct cleave_error *err)
{
    const struct shared *shared = context;

    for (uint64_t i = begin; i < end; i++) {
        double length_s = 0;

        CV_TRY(run_one(shared, &shared->arenas[thread], (uint32_t)i, &length_s, err));
        results[i - begin] =
            (struct cv_run_result){ length_s, 0, (double)shared->plan->used };
    }
    return CLEAVE_OK;
}

enum cleave_status cv_joint_simulate(const struct cv_joint_job *job,
                                     const struct cv_joint_plan *plan, uint64_t seed,
                                     const struct cleave_trial *trial,
                                     struct cleave_stats *out, struct cleave_error *err)
{
    const unsigned threads = cv_monte_carlo_threads(trial);
    struct shared shared = { job,
                             plan,
                             { .drawn = trial->noise, .seed = seed },
                             calloc(threads, sizeof(struct cv_arena)) };
    enum cleave_status status;

    if (shared.arenas == NULL)
        return cv_fail_memory(err, "the threads");
    for (unsigned i = 0; i < threads; i++)
        cv_arena_init(&shared.arenas[i]);
    status = cv_monte_carlo_by(trial, some_runs, &shared, out, err);
    for (unsigned i = 0; i < threads; i++)
        cv_arena_done(&shared.arenas[i]);
    free(shared.arenas);
    return status;
}

/* --- a load by any policy, and the reduction of its partials after it -------------- */

/* What a thread needs for its runs. */
struct lane {
    struct cv_driver *driver; /* owned; NULL: not opened yet */
    struct cv_arena arena;
};

struct load_shared {
    const struct cv_planned *planned;
    const struct cv_engine *engine;
    const struct cv_joint_job *joint;
    struct cv_run first;
    struct lane *lanes; /* per thread */
};

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
    struct cv_ready_run executed;

    if (parent == NULL || planner == NULL)
        return cv_fail_memory(err, "a tree");
    cv_ready_tree(planner, &job, CV_NO_NODE, parent);
    CV_TRY(cv_ready_execute(&job, parent, NULL, arena, &executed, err));
    *out_s = executed.length_s;
    return CLEAVE_OK;
}

/* When all partials of the last run are one. */
static enum cleave_status reduce(const struct load_shared *load_shared, struct lane *lane,
                                 double sent_s, double *out_s, struct cleave_error *err)
{
    const uint32_t nworkers = load_shared->planned->view.nworkers;
    const double *done_s = cv_driver_done_s(lane->driver);
    double *ready_s;
    uint32_t n = 0;

    cv_arena_reset(&lane->arena);
    ready_s = cv_array(&lane->arena, nworkers, sizeof *ready_s);
    if (ready_s == NULL)
        return cv_fail_memory(err, "a run");
    for (uint32_t w = 0; w < nworkers; w++)
        if (done_s[w] > 0)
            ready_s[n++] = done_s[w];
    if (!load_shared->joint->at_master && n > 0)
        return tree_length(load_shared->joint, ready_s, n, &lane->arena, out_s, err);
    *out_s = star_length(load_shared->joint, sent_s, ready_s, n);
    return CLEAVE_OK;
}

static enum cleave_status one_run(const struct load_shared *load_shared,
                                  struct lane *lane, uint64_t number,
                                  struct cv_run_result *result, struct cleave_error *err)
{
    const uint32_t nworkers = load_shared->planned->view.nworkers;
    struct cv_run run = load_shared->first;
    struct cv_outcome outcome;
    double end_s = 0;

    run.number = run.noise.run = (uint32_t)number;
    CV_TRY(cv_driver_run(lane->driver, &run, NULL, &outcome, err));
    CV_TRY(reduce(load_shared, lane, outcome.sent_s, &end_s, err));
    *result = (struct cv_run_result){ end_s, 0, (double)outcome.chunks };
    if (end_s > 0)
        result->utilisation = outcome.busy_s / (end_s * nworkers);
    return CLEAVE_OK;
}

static enum cleave_status load_some_runs(void *context, unsigned thread, uint64_t begin,
                                         uint64_t end, struct cv_run_result *results,
                                         struct cleave_error *err)
{
    const struct load_shared *load_shared = context;
    struct lane *lane = &load_shared->lanes[thread];

    if (lane->driver == NULL)
        CV_TRY(cv_driver_open(load_shared->planned, load_shared->engine,
                              load_shared->first.platform, NULL, &lane->driver, err));
    for (uint64_t i = begin; i < end; i++)
        CV_TRY(one_run(load_shared, lane, i, &results[i - begin], err));
    return CLEAVE_OK;
}

static enum cleave_status all_runs(struct load_shared *load_shared,
                                   const struct cleave_trial *trial,
                                   struct cleave_stats *out, struct cleave_error *err)
{
    const unsigned threads = cv_monte_carlo_threads(trial);
    enum cleave_status status;

    load_shared->lanes = calloc(threads, sizeof *load_shared->lanes);
    if (load_shared->lanes == NULL)
        return cv_fail_memory(err, "the threads");
    for (unsigned i = 0; i < threads; i++)
        cv_arena_init(&load_shared->lanes[i].arena);
    status = cv_monte_carlo_by(trial, load_some_runs, load_shared, out, err);
    for (unsigned i = 0; i < threads; i++) {
        cv_driver_close(load_shared->lanes[i].driver);
        cv_arena_done(&load_shared->lanes[i].arena);
    }
    free(load_shared->lanes);
    return status;
}

static enum cleave_status simulate(const struct cv_load_case *load_case,
                                   const struct cleave_job *job,
                                   const struct cv_joint_job *joint,
                                   const struct cleave_trial *trial,
                                   struct cleave_stats *out, struct cleave_error *err)
{
    struct cv_planned planned;
    struct load_shared load_shared = { .planned = &planned,
                                       .engine = cv_load_case_engine(load_case, NULL),
                                       .joint = joint,
                                       .first = cv_load_case_run(load_case) };
    struct cleave_bound bounds[CV_MAX_BOUNDS];
    struct cleave_stats stats;
    enum cleave_status status;
    size_t tightest = 0;

    load_shared.first.noise.drawn = trial->noise;
    load_shared.first.noise.seed = job->seed;
    CV_TRY(cv_load_case_plan(load_case, job, &planned, err));
    status = all_runs(&load_shared, trial, &stats, err);
    if (status == CLEAVE_OK &&
        cv_load_case_bounds(load_case, &planned, &planned.arena, bounds, &tightest) == 0)
        status = cv_fail_memory(err, "the bounds");
    if (status == CLEAVE_OK) {
        stats.load = cv_load_case_units(load_case, &planned);
        stats.bound = bounds[tightest];
        stats.bound.value_s += joint->at_master ? joint->costs.d : 0;
        stats.picked = planned.notes.picked;
        *out = stats;
    }
    cv_planned_done(&planned);
    return status;
}

/* --- what those are told who mind ------------------------------------------------------- */

enum { TOLD = 3, NUMBER_ROOM = 32 };

static bool has(const struct cleave_job *job, const char *key)
{
    for (size_t i = 0; i < job->nsettings; i++)
        if (strcmp(job->settings[i].key, key) == 0)
            return true;
    return false;
}

/* The job's settings, and those about the reduction that nobody has set. */
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
    char numbers[TOLD][NUMBER_ROOM];
    enum cleave_status status = cv_load_case_open(&load_case, job, err);

    if (status == CLEAVE_OK && load_case.policy->minds_folds) {
        status = tell(job, joint, numbers, &settings, &told.nsettings, err);
        told.settings = settings;
    }
    load_case.load.folders = joint->at_master ? 1 : 0;
    load_case.load.folds_apart = !joint->at_master;
    if (status == CLEAVE_OK)
        status = simulate(&load_case, &told, joint, trial, out, err);
    cv_load_case_close(&load_case);
    free(settings);
    return status;
}
