/* reduce_rows.c -- what several policies make of a reduction, for every value of a sweep.
 * SPDX-License-Identifier: MIT */
#include "cli/reduce/reduce_rows.h"

#include <stdio.h>
#include "cli/common/output.h"
#include "cli/common/job_options.h"

/* One exact run, in the form of statistics. */
static enum cleave_status plan_once(const struct cleave_reduction *job,
                                    struct cleave_stats *out, struct cleave_error *err)
{
    struct cleave_tree *tree;
    const enum cleave_status status = cleave_plan_reduce(job, &tree, err);

    if (status != CLEAVE_OK)
        return status;
    *out = cv_stats_of_one(tree->length_s);
    cleave_tree_free(tree);
    return CLEAVE_OK;
}

static enum cleave_status run_cell(const struct cleave_reduction *job, bool exact,
                                   const struct cv_reduce_options *options,
                                   const char *label, struct cleave_stats *out,
                                   struct cleave_error *err)
{
    struct cleave_trial trial = { .runs =
                                      options->runs > 0 ? options->runs : CV_REDUCE_RUNS,
                                  .threads = (unsigned)options->threads };
    struct cv_progress progress;
    enum cleave_status status;

    if (exact)
        return plan_once(job, out, err);
    cv_progress_init(&progress, label, trial.runs);
    trial.progress = cv_progress_show;
    trial.context = &progress;
    status = cleave_simulate_reduce(job, &trial, out, err);
    cv_progress_done(&progress);
    return status;
}

/* All policies for one value. */
static int measure_value(const struct cv_reduce_options *options,
                         const struct cleave_reduction *job, struct cv_arena *arena,
                         struct cv_comparison *table, size_t index)
{
    struct cv_compare_cell *cells = table->cells + index * table->npolicies;
    const bool exact = cv_reduce_exact(job);
    struct cleave_error err = { .status = CLEAVE_OK };
    char label[96];
    int status = cv_reduce_bound(job, &table->bounds[index].value_s);

    table->bounds[index].name = "costs at their means";
    for (size_t p = 0; p < table->npolicies && status == CV_EXIT_DONE; p++) {
        struct cleave_reduction one = *job;
        enum cleave_status done;

        cells[p].policy = table->policies[p];
        one.policy = table->policies[p]->name;
        if (table->sweep.what == CV_SWEEP_NONE)
            snprintf(label, sizeof label, "%s", one.policy);
        else
            snprintf(label, sizeof label, "%s=%g %s", table->sweep.name,
                     table->sweep.values[index], one.policy);
        done = run_cell(&one, exact, options, label, &cells[p].stats, &err);
        if (done == CLEAVE_OK)
            continue;
        if (options->policies != NULL || done != CLEAVE_EINPUT)
            return cv_print_status(&err);
        cells[p].reason = cv_arena_text(arena, err.text);
        if (cells[p].reason == NULL)
            status = cv_no_memory("the comparison");
    }
    if (!exact) {
        table->runs = options->runs > 0 ? options->runs : CV_REDUCE_RUNS;
        table->noisy = true;
    }
    return status;
}

static int open_table(const struct cv_reduce_options *options, struct cv_arena *arena,
                      struct cv_comparison *out)
{
    const int status =
        cv_policies_choose(CLEAVE_TASK_REDUCE, options->policies, "greedy,tree-dyn",
                           arena, &out->policies, &out->npolicies);

    if (status != CV_EXIT_DONE)
        return status;
    out->cells = cv_array(arena, out->npolicies * out->sweep.count, sizeof *out->cells);
    out->bounds = cv_array(arena, out->sweep.count, sizeof *out->bounds);
    out->runs = 1;
    if (out->cells == NULL || out->bounds == NULL)
        return cv_no_memory("the comparison");
    return CV_EXIT_DONE;
}

int cv_reduce_measure(const struct cv_reduce_options *options,
                      const struct cv_reduce_job *reduce, struct cv_arena *arena,
                      struct cv_comparison *out)
{
    int status = open_table(options, arena, out);

    for (size_t i = 0; i < out->sweep.count && status == CV_EXIT_DONE; i++) {
        struct cleave_reduction job = reduce->job;

        status = cv_sweep_apply(&out->sweep, i, arena, &job);
        if (status == CV_EXIT_DONE)
            status = measure_value(options, &job, arena, out, i);
    }
    if (status != CV_EXIT_DONE)
        return status;
    status = cv_compare_any(out);
    if (status == CV_EXIT_DONE && !cv_compare_is_sweep(out))
        cv_compare_sort(out);
    return status;
}
