/* verb_compare_load.c -- cleave compare load. SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cleave/policy.h>
#include "cli/json_fields.h"
#include "cli/load_json.h"
#include "cli/load_options.h"
#include "cli/output.h"
#include "cli/plan_text.h"
#include "cli/progress.h"
#include "cli/settings.h"
#include "report/table.h"

#define FIELD(name) offsetof(struct cv_load_options, name)

/* clang-format off */
static const struct cv_option policy_options[] = {
    { .name = "--policies", .kind = CV_OPTION_TEXT, .argument = "A,B,...",
      .offset = FIELD(policies),
      .help = "The policies to compare, separated by commas. Default: all; those that do "
              "not apply are listed with the reason. One that is named must apply." },
    { .name = "--rounds", .kind = CV_OPTION_COUNT, .argument = "M",
      .offset = FIELD(rounds),
      .least = 1, .most = 1e9,
      .help = "The same as --param rounds=M: compares the policies that have this "
              "parameter." },
    { .name = "--param", .kind = CV_OPTION_REPEAT, .argument = "KEY=VALUE",
      .offset = FIELD(params),
      .help = "Set a parameter of all policies; those without it do not apply. May be "
              "given several times." },
    { .name = NULL },
};

static const struct cv_option output_options[] = {
    { .name = "--json", .value = 1, .offset = FIELD(json),
      .help = "Write JSON: load, bound, rows and not_applicable." },
    { .name = NULL },
};
/* clang-format on */

static const struct cv_option_group groups[] = {
    { "Job", cv_job_options },
    { "Policies", policy_options },
    { "Runs", cv_trial_options },
    { "Output", output_options },
    { NULL, NULL },
};

struct row {
    const struct cleave_policy *policy;
    const char *reason;        /* why it does not apply; NULL: it does. Arena-owned */
    struct cleave_stats stats; /* a single run has only its mean                    */
};

struct comparison {
    struct row *rows; /* by time; those that do not apply last */
    size_t nrows, napplicable;
    bool noisy;
    bool lives;                /* as much as ends within a lifespan                 */
    struct cleave_bound bound; /* holds for all rows                                */
    char noise[CV_NOISE_ROOM];
};

/* Orders of returning mean nothing where nothing returns. */
static bool is_about(const struct cleave_policy *policy,
                     const struct cv_load_options *values)
{
    return values->policies != NULL || values->result_ratio > 0 ||
           !(policy->one_round && policy->orders_returns);
}

/* Fill rows with the policies of a list, or all. */
static int choose(const struct cv_load_options *values, struct cv_arena *arena,
                  struct comparison *out)
{
    const struct cleave_policy **policies;
    size_t count;
    const int status = cv_policies_choose(CLEAVE_TASK_LOAD, values->policies, "umr,xmi",
                                          arena, &policies, &count);

    if (status != CV_EXIT_DONE)
        return status;
    out->rows = cv_array(arena, count, sizeof *out->rows);
    if (out->rows == NULL)
        return cv_complain(CV_EXIT_FAILED, "out of memory for the comparison");
    for (; out->nrows < count; out->nrows++) {
        out->rows[out->nrows].policy = policies[out->nrows];
        if (!is_about(policies[out->nrows], values))
            out->rows[out->nrows].reason =
                "it orders the return of results: see --result-ratio";
    }
    return CV_EXIT_DONE;
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

static int by_time(const void *a, const void *b)
{
    const struct row *left = a, *right = b;

    if ((left->reason == NULL) != (right->reason == NULL))
        return left->reason == NULL ? -1 : 1;
    /* With a lifespan loads differ: the more is done, the better. */
    if (left->reason == NULL && left->stats.load != right->stats.load)
        return left->stats.load > right->stats.load ? -1 : 1;
    if (left->reason == NULL && left->stats.mean_s != right->stats.mean_s)
        return left->stats.mean_s < right->stats.mean_s ? -1 : 1;
    return strcmp(left->policy->name, right->policy->name);
}

/* What holds for all of them: bounds of policies of one round say nothing about others. */
static void find_bound(struct comparison *found, bool lives)
{
    found->bound = found->rows[0].stats.bound;
    for (size_t i = 1; i < found->napplicable; i++) {
        const struct cleave_bound *bound = &found->rows[i].stats.bound;

        if (lives ? bound->value_s > found->bound.value_s
                  : bound->value_s < found->bound.value_s)
            found->bound = *bound;
    }
}

/* How far a row is from the best, or from the bound. */
static double over_best(const struct comparison *found, const struct cleave_stats *stats)
{
    const struct cleave_stats *best = &found->rows[0].stats;

    return found->lives ? cv_over(best->load, stats->load)
                        : cv_over(stats->mean_s, best->mean_s);
}

static double over_bound(const struct comparison *found, const struct cleave_stats *stats)
{
    return found->lives ? cv_over(found->bound.value_s, stats->load)
                        : cv_over(stats->mean_s, found->bound.value_s);
}

/* Run every policy. One that was named must apply; of all, at least one must. */
static int measure(const struct cv_load_job *load, const struct cleave_trial *trial,
                   bool named, struct cv_arena *arena, struct comparison *out)
{
    struct cleave_error err = { .status = CLEAVE_OK };

    for (size_t i = 0; i < out->nrows; i++) {
        struct row *row = &out->rows[i];
        struct cleave_job job = load->job;
        struct cleave_trial runs = *trial;
        struct cv_progress progress;
        enum cleave_status status;

        if (row->reason != NULL)
            continue;
        job.policy = row->policy->name;
        cv_progress_init(&progress, row->policy->name, runs.runs);
        runs.progress = cv_progress_show;
        runs.context = &progress;
        status = out->noisy ? cleave_simulate_load(&job, &runs, &row->stats, &err)
                            : plan_once(&job, &row->stats, &err);
        cv_progress_done(&progress);
        if (status == CLEAVE_OK) {
            out->napplicable++;
            continue;
        }
        if (named || status != CLEAVE_EINPUT)
            return cv_complain_error(&err);
        row->reason = cv_arena_text(arena, err.text);
        if (row->reason == NULL)
            return cv_complain(CV_EXIT_FAILED, "out of memory for the comparison");
    }
    if (out->napplicable == 0)
        return cv_complain(CV_EXIT_USAGE, "no policy applies: %s", out->rows[0].reason);
    qsort(out->rows, out->nrows, sizeof *out->rows, by_time);
    find_bound(out, load->job.lifespan_s > 0);
    return CV_EXIT_DONE;
}

static int show_json(const struct comparison *found, const struct cv_load_options *values)
{
    const struct cleave_bound *bound = &found->bound;
    struct cv_json json;

    cv_result_open(&json);
    if (found->lives)
        cv_field_number(&json, "lifespan", values->lifespan_s);
    else
        cv_field_number(&json, "load", values->load);
    if (values->result_ratio > 0)
        cv_field_number(&json, "result_ratio", values->result_ratio);
    cv_field_count(&json, "runs", found->noisy ? values->runs : 1);
    cv_field_count(&json, "seed", values->seed);
    cv_field_text(&json, "noise", found->noise);
    cv_field_bound(&json, "bound", bound);
    cv_field_list(&json, "rows");
    for (size_t i = 0; i < found->napplicable; i++) {
        const struct cleave_stats *stats = &found->rows[i].stats;

        cv_field_object(&json, NULL);
        cv_field_text(&json, "policy", found->rows[i].policy->name);
        cv_field_text(&json, "picked", stats->picked);
        if (found->lives)
            cv_field_number(&json, "work", stats->load);
        if (found->noisy)
            cv_field_times(&json, "makespan", stats);
        else
            cv_field_number(&json, "makespan", stats->mean_s);
        cv_field_number(&json, "over_bound", over_bound(found, stats));
        cv_field_number(&json, "over_best", over_best(found, stats));
        cv_field_number(&json, "utilisation", stats->utilisation);
        cv_field_number(&json, "chunks", stats->chunks);
        cv_json_end(&json);
    }
    cv_json_end(&json);
    cv_field_list(&json, "not_applicable");
    for (size_t i = found->napplicable; i < found->nrows; i++) {
        cv_field_line(&json, NULL);
        cv_field_text(&json, "policy", found->rows[i].policy->name);
        cv_field_text(&json, "reason", found->rows[i].reason);
        cv_json_end(&json);
    }
    cv_json_end(&json);
    return cv_result_close(&json);
}

static void add_rows(const struct comparison *found, const struct cv_screen *screen,
                     struct cv_text *out)
{
    const struct cv_column columns[] = {
        { "policy", CV_COLUMN_TEXT },
        { found->lives   ? "units"
          : found->noisy ? "mean s"
                         : "time s",
          CV_COLUMN_NUMBER },
        { found->lives ? "to bound" : "over bound", CV_COLUMN_OVER },
        { found->lives ? "to best" : "over best", CV_COLUMN_OVER },
        { "chunks", CV_COLUMN_COUNT },
        { "utilisation", CV_COLUMN_PERCENT },
        { "std error", CV_COLUMN_NUMBER },
        { "90% below", CV_COLUMN_NUMBER },
    };
    struct cv_table table;

    cv_table_init(&table, columns, found->noisy ? 8 : 6);
    for (size_t i = 0; i < found->napplicable; i++) {
        const struct cleave_stats *stats = &found->rows[i].stats;
        char name[96];

        snprintf(name, sizeof name, "%s%s%s", found->rows[i].policy->name,
                 stats->picked != NULL ? ": " : "",
                 stats->picked != NULL ? stats->picked : "");
        cv_table_text(&table, name);
        cv_table_number(&table, found->lives ? stats->load : stats->mean_s);
        cv_table_number(&table, over_bound(found, stats));
        cv_table_number(&table, over_best(found, stats));
        cv_table_number(&table, stats->chunks);
        cv_table_number(&table, stats->utilisation);
        if (found->noisy) {
            cv_table_number(&table, stats->stderr_s);
            cv_table_number(&table, stats->q90_s);
        }
    }
    cv_table_write(&table, screen->colour, screen->width, out);
    cv_table_done(&table);
}

static int show_text(const struct comparison *found, const struct cv_load_options *values,
                     uint32_t nworkers)
{
    static const struct cv_column columns[] = {
        { "does not apply", CV_COLUMN_TEXT },
        { "why", CV_COLUMN_TEXT },
    };
    const struct cleave_bound *bound = &found->bound;
    const struct cv_screen screen = cv_screen_facts();
    struct cv_text text = { NULL, 0, 0, false };
    char number[CV_NUMBER_ROOM], counted[CV_COUNTED_ROOM];
    struct cv_table table;

    cv_text_add(&text, "%s", screen.colour ? "\033[1m" : "");
    cv_load_words(values->load, values->lifespan_s, values->result_ratio, nworkers,
                  &text);
    if (found->noisy)
        cv_text_add(&text, ", %s of each policy, noise %s",
                    cv_counted(values->runs, "run", counted), found->noise);
    cv_text_add(&text, "%s\nbound     %s %s (%s)\n\n", screen.colour ? "\033[0m" : "",
                cv_show_number(bound->value_s, number), found->lives ? "units" : "s",
                bound->name);
    add_rows(found, &screen, &text);
    cv_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = found->napplicable; i < found->nrows; i++) {
        cv_table_text(&table, found->rows[i].policy->name);
        cv_table_text(&table, found->rows[i].reason);
    }
    if (table.ncells > 0) {
        cv_text_add(&text, "\n");
        cv_table_write(&table, screen.colour, screen.width, &text);
    }
    cv_table_done(&table);
    return cv_print_take(&text);
}

static int run(const struct cv_call *call)
{
    const struct cv_load_options *values = call->values;
    struct comparison found = { .rows = NULL };
    struct cv_load_job load = { .platform = NULL };
    struct cleave_trial trial;
    int status = choose(values, call->arena, &found);

    if (status == CV_EXIT_DONE)
        status = cv_load_trial(values, &trial, found.noise);
    if (status == CV_EXIT_DONE)
        status = cv_load_job_open(values, call->arena, &load);
    if (status == CV_EXIT_DONE) {
        found.lives = values->lifespan_s > 0;
        found.noisy = trial.noise.kind != CLEAVE_NOISE_NONE;
        status = measure(&load, &trial, values->policies != NULL, call->arena, &found);
    }
    if (status == CV_EXIT_DONE)
        status = values->json
                     ? show_json(&found, values)
                     : show_text(&found, values, cleave_platform_nworkers(load.platform));
    cv_load_job_close(&load);
    return status;
}

const struct cv_verb cv_verb_compare_load = {
    .name = "compare load",
    .summary = "several policies on one platform, in one table",
    .description =
        "Gives the same load, or with --lifespan the same time, to several policies and "
        "lists the best first, with how far each is from the bound that no schedule can "
        "beat and from the best of them. Policies about the order of results take part "
        "when there are any (--result-ratio). With "
        "--error or --noise each policy makes many runs and all meet the same random "
        "factors; without, one exact run each.",
    .groups = groups,
    .examples =
        "cleave compare load --platform examples/unequal.yaml --load 2000\n"
        "cleave compare load -p examples/unequal.yaml -l 2000 --policies umr,factoring "
        "--error 0.3",
    .presets = &cv_load_presets,
    .values_size = sizeof(struct cv_load_options),
    .run = run,
};
