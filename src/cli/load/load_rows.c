/* load_rows.c -- what several policies make of a load, for every value of a sweep.
 * SPDX-License-Identifier: MIT */
#include "cli/load/load_rows.h"

#include <stdio.h>
#include <string.h>
#include "cli/common/output.h"
#include "cli/common/job_options.h"
#include "sim/reduce/reduced_load.h"

/* Orders of returning mean nothing where nothing returns, and who thinks of a reduction
 * loses where none follows. NULL: it is in place. */
static const char *out_of_place(const struct cleave_policy *policy,
                                const struct cv_load_options *options,
                                double result_ratio)
{
    if (options->policies != NULL)
        return NULL;
    if (policy->minds_folds && options->then_reduce == NULL)
        return "it expects a reduction to follow: see --then-reduce";
    return result_ratio > 0 || !(policy->one_round && policy->orders_returns)
               ? NULL
               : "it orders the return of results: see --result-ratio";
}

/* One exact run, in the form of statistics. */
static enum cleave_status plan_once(const struct cleave_job *job,
                                    struct cleave_stats *out, struct cleave_error *err)
{
    struct cleave_schedule *schedule;
    const enum cleave_status status = cleave_plan_load(job, &schedule, err);

    if (status != CLEAVE_OK)
        return status;
    *out = (struct cleave_stats){ .runs = 1,
                                  .mean_s = schedule->makespan_s,
                                  .load = schedule->load,
                                  .utilisation = schedule->utilisation,
                                  .chunks = (double)schedule->nchunks,
                                  .bound = schedule->bound };
    /* Names of policies are static; the schedule's copy goes with it. */
    for (size_t i = 0; schedule->picked != NULL && i < cleave_policy_count(); i++) {
        if (strcmp(cleave_policy_at(i)->name, schedule->picked) == 0)
            out->picked = cleave_policy_at(i)->name;
    }
    cleave_schedule_free(schedule);
    return status;
}

/* The fastest plan for a budget. */
static enum cleave_status plan_paid(const struct cleave_job *job, double budget,
                                    struct cv_compare_cell *cell,
                                    struct cleave_error *err)
{
    const struct cleave_rental_terms terms = { .budget = budget };
    struct cleave_job part = *job;
    struct cleave_rental *rental;
    enum cleave_status status;

    CV_TRY(cleave_rent(job, &terms, &rental, err));
    part.platform = rental->platform;
    part.policy = rental->policy;
    part.settings = rental->settings;
    part.nsettings = rental->nsettings;
    status = plan_once(&part, &cell->stats, err);
    cell->stats.bound = rental->bound;
    cell->cost = rental->cost;
    cleave_rental_free(rental);
    return status;
}

static enum cleave_status run_cell(const struct cleave_job *job,
                                   const struct cv_joint_job *then,
                                   const struct cleave_trial *trial, const char *label,
                                   struct cleave_stats *out, struct cleave_error *err)
{
    const bool exact = trial->noise.kind == CLEAVE_NOISE_NONE;
    struct cleave_trial runs = *trial;
    struct cv_progress progress;
    enum cleave_status status;

    if (exact && then == NULL)
        return plan_once(job, out, err);
    if (exact)
        runs.runs = 1;
    cv_progress_init(&progress, label, runs.runs);
    runs.progress = cv_progress_show;
    runs.context = &progress;
    status = then == NULL ? cleave_simulate_load(job, &runs, out, err)
                          : cv_reduced_load(job, then, &runs, out, err);
    cv_progress_done(&progress);
    return status;
}

/* What holds for all of them: bounds of policies of one round say nothing about others, whose
 * bounds hold for them as well. */
static void find_bound(const struct cv_compare_cell *cells, size_t count, bool lives,
                       struct cleave_bound *out)
{
    bool several = false;

    *out = (struct cleave_bound){ NULL, 0 };
    for (size_t i = 0; i < count; i++)
        several = several || (cells[i].reason == NULL && !cells[i].policy->one_round);
    for (size_t i = 0; i < count; i++) {
        const struct cleave_bound *bound = &cells[i].stats.bound;

        if (cells[i].reason == NULL && !(several && cells[i].policy->one_round) &&
            (out->name == NULL ||
             (lives ? bound->value_s > out->value_s : bound->value_s < out->value_s)))
            *out = *bound;
    }
}

/* All policies for one value of the sweep. */
static int measure_value(const struct cv_load_options *options,
                         const struct cleave_job *job, const struct cv_joint_job *then,
                         const struct cleave_trial *trial, struct cv_arena *arena,
                         struct cv_comparison *out, size_t index)
{
    struct cv_compare_cell *cells = out->cells + index * out->npolicies;
    struct cleave_error err = { .status = CLEAVE_OK };

    for (size_t p = 0; p < out->npolicies; p++) {
        struct cleave_job one = *job;
        enum cleave_status status;
        char label[96];

        cells[p].policy = out->policies[p];
        one.policy = out->policies[p]->name;
        cells[p].reason = out_of_place(out->policies[p], options, job->result_ratio);
        if (cells[p].reason != NULL)
            continue;
        if (cv_compare_is_sweep(out))
            snprintf(label, sizeof label, "%s=%g %s", out->sweep.name,
                     out->sweep.values[index], one.policy);
        else
            snprintf(label, sizeof label, "%s", one.policy);
        status = out->sweep.what == CV_SWEEP_BUDGET
                     ? plan_paid(&one, out->sweep.values[index], &cells[p], &err)
                     : run_cell(&one, then, trial, label, &cells[p].stats, &err);
        if (status == CLEAVE_OK)
            continue;
        if (status != CLEAVE_EINPUT ||
            (options->policies != NULL && out->sweep.what != CV_SWEEP_BUDGET))
            return cv_print_status(&err);
        cells[p].reason = cv_arena_text(arena, err.text);
        if (cells[p].reason == NULL)
            return cv_no_memory("the comparison");
    }
    find_bound(cells, out->npolicies, out->lives, &out->bounds[index]);
    return CV_EXIT_DONE;
}

/* The job for a value of the sweep; its platform is *out_platform if that is not NULL. */
static int make_job(const struct cv_comparison *found, size_t index,
                    struct cv_load_options *options, struct cleave_job *job,
                    struct cv_arena *arena, struct cleave_platform **out_platform)
{
    const double value = found->sweep.values[index];
    int status = CV_EXIT_DONE;

    if (found->sweep.what == CV_SWEEP_LOAD)
        job->load = value;
    else if (found->sweep.what == CV_SWEEP_RESULT_RATIO)
        job->result_ratio = value;
    else if (found->sweep.what == CV_SWEEP_ERROR)
        job->error = options->error = value;
    else if (cv_sweep_is_platform(&found->sweep))
        status =
            cv_sweep_platform(&found->sweep, index, job->platform, arena, out_platform);
    if (*out_platform != NULL)
        job->platform = *out_platform;
    return status;
}

static int open_table(const struct cv_load_options *options, bool items,
                      struct cv_arena *arena, struct cv_comparison *out)
{
    const int status =
        items
            ? cv_policies_choose(CLEAVE_TASK_ITEMS, options->policies, "items,items-list",
                                 arena, &out->policies, &out->npolicies)
            : cv_policies_choose(CLEAVE_TASK_LOAD, options->policies, "umr,xmi", arena,
                                 &out->policies, &out->npolicies);

    if (status != CV_EXIT_DONE)
        return status;
    out->cells = cv_array(arena, out->npolicies * out->sweep.count, sizeof *out->cells);
    out->bounds = cv_array(arena, out->sweep.count, sizeof *out->bounds);
    out->runs = 1;
    out->lives = options->lifespan_s > 0;
    if (out->cells == NULL || out->bounds == NULL)
        return cv_no_memory("the comparison");
    return CV_EXIT_DONE;
}

int cv_load_measure(const struct cv_load_options *options, const struct cv_load_job *load,
                    const struct cv_joint_job *then, struct cv_arena *arena,
                    struct cv_comparison *out, char out_noise[CV_NOISE_ROOM])
{
    int status = open_table(options, load->job.sizes != NULL, arena, out);

    for (size_t i = 0; i < out->sweep.count && status == CV_EXIT_DONE; i++) {
        struct cleave_platform *platform = NULL;
        struct cv_load_options changed = *options;
        struct cleave_job job = load->job;
        struct cleave_trial trial = { .runs = 0 };

        status = make_job(out, i, &changed, &job, arena, &platform);
        if (status == CV_EXIT_DONE)
            status = cv_load_trial(&changed, &trial, out_noise);
        if (status == CV_EXIT_DONE && trial.noise.kind != CLEAVE_NOISE_NONE) {
            out->runs = trial.runs;
            out->noisy = true;
        }
        if (status == CV_EXIT_DONE)
            status = measure_value(options, &job, then, &trial, arena, out, i);
        cleave_platform_free(platform);
    }
    if (status == CV_EXIT_DONE)
        status = cv_compare_any(out);
    if (status == CV_EXIT_DONE && !cv_compare_is_sweep(out))
        cv_compare_sort(out);
    return status;
}
