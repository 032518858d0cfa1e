/* joint_runs.c -- a split and the reduction of its results, executed with costs that vary.
 * SPDX-License-Identifier: MIT */
#include "sim/reduce/joint_runs.h"

#include <math.h>
#include <stdlib.h>

#include "base/compare.h"
#include "base/fail.h"
#include "model/platform/noise.h"
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

double cv_star_length(const struct cv_joint_job *job, double port_s, double *ready_s,
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
        *out = cv_star_length(job, sent_s, ready_s, n);
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
