/* then_reduce_runs.c -- many runs of a load whose results are reduced, by the plan for both
 * or by a policy that plans the load alone. SPDX-License-Identifier: MIT */
#include "cli/common/counted.h"
#include "cli/common/output.h"
#include "cli/common/progress.h"
#include "cli/common/times_text.h"
#include "cli/load/load_json.h"
#include "cli/load/then_reduce.h"
#include "io/json_out.h"
#include "report/terminal/table.h"
#include "sim/reduce/reduced_load.h"

/* --- the plan --------------------------------------------------------------------------- */

static void json_runs(struct cv_json *json, const struct cleave_stats *stats,
                      const struct cv_load_options *options, const char *noise)
{
    cv_field_count(json, "runs", stats->runs);
    cv_field_count(json, "seed", options->seed);
    cv_field_text(json, "noise", noise);
    cv_field_times(json, "times", stats);
}

static int runs_of_plan(const struct cv_then_reduce *joint,
                        const struct cv_load_options *options,
                        const struct cleave_trial *trial, const char *noise)
{
    const struct cv_screen screen = cv_screen_facts();
    struct cv_text text = { NULL, 0, 0, false };
    char number[CV_NUMBER_ROOM];
    struct cleave_stats stats;
    struct cleave_error err;
    struct cv_json json;

    if (cv_joint_simulate(&joint->job, &joint->plan, options->seed, trial, &stats,
                          &err) != CLEAVE_OK)
        return cv_print_status(&err);
    if (options->json) {
        cv_then_reduce_json(&json, joint, options);
        json_runs(&json, &stats, options, noise);
        return cv_result_close(&json);
    }
    cv_then_reduce_head(joint, options, &screen, &text);
    cv_text_add(&text, "makespan  %s s on average, noise %s\n",
                cv_show_number(stats.mean_s, number), noise);
    cv_text_add(&text, "planned   %s s\n", cv_show_number(joint->plan.end_s, number));
    cv_then_reduce_gain(joint, &text);
    cv_times_text(&stats, &screen, &text);
    return cv_print_take(&text);
}

/* --- a policy --------------------------------------------------------------------------- */

/* What a policy came to: with costs as declared, and in many runs. */
struct policy_runs {
    const struct cv_load_options *options;
    const char *noise;
    struct cleave_stats exact, many;
};

static int policy_json(const struct cv_then_reduce *joint, const struct policy_runs *runs)
{
    const double makespan_s = runs->exact.mean_s;
    struct cv_json json;

    cv_result_open(&json);
    cv_field_text(&json, "policy", runs->options->policy);
    cv_field_text(&json, "picked", runs->exact.picked);
    cv_field_number(&json, "load", runs->options->load.units);
    cv_field_then_reduce(&json, joint);
    cv_field_number(&json, "makespan", makespan_s);
    cv_field_bound(&json, "bound", &runs->exact.bound);
    cv_field_number(&json, "over_bound", cv_over(makespan_s, runs->exact.bound.value_s));
    cv_field_number(&json, "joint", joint->plan.end_s);
    cv_field_number(&json, "over_joint", makespan_s / joint->plan.end_s - 1);
    cv_field_apart(&json, joint, makespan_s);
    json_runs(&json, &runs->many, runs->options, runs->noise);
    cv_field_number(&json, "utilisation", runs->many.utilisation);
    cv_field_number(&json, "chunks", runs->many.chunks);
    return cv_result_close(&json);
}

static int policy_text(const struct cv_then_reduce *joint, const struct policy_runs *runs)
{
    const struct cv_screen screen = cv_screen_facts();
    const double over = runs->exact.mean_s / joint->plan.end_s - 1;
    struct cv_text text = { NULL, 0, 0, false };
    char number[CV_NUMBER_ROOM], joint_s[CV_NUMBER_ROOM];

    cv_then_reduce_head(joint, runs->options, &screen, &text);
    cv_policy_line(runs->options->policy, runs->exact.picked, NULL, screen.width, &text);
    cv_text_add(&text, "makespan  %s s on average, noise %s\n",
                cv_show_number(runs->many.mean_s, number), runs->noise);
    cv_text_add(&text, "planned   %s s, %.2f%% %s than planned as one, %s s\n",
                cv_show_number(runs->exact.mean_s, number),
                100 * (over < 0 ? -over : over), over < 0 ? "shorter" : "longer",
                cv_show_number(joint->plan.end_s, joint_s));
    cv_text_add(&text, "bound     %s s (%s%s)\n",
                cv_show_number(runs->exact.bound.value_s, number), runs->exact.bound.name,
                joint->job.at_master ? ", and one transfer" : "");
    cv_then_reduce_apart(joint, &text);
    cv_text_add(&text, "\nutilisation %.1f%%\n", 100 * runs->many.utilisation);
    cv_times_text(&runs->many, &screen, &text);
    return cv_print_take(&text);
}

static int runs_of_policy(const struct cv_then_reduce *joint,
                          const struct cv_load_options *options,
                          const struct cv_load_job *load,
                          const struct cleave_trial *wanted, const char *noise)
{
    static const struct cleave_trial once = { .runs = 1 };
    struct policy_runs runs = { .options = options, .noise = noise };
    struct cleave_trial trial = *wanted;
    struct cv_progress progress;
    struct cleave_error err;
    enum cleave_status done =
        cv_reduced_load(&load->job, &joint->job, &once, &runs.exact, &err);

    if (done == CLEAVE_OK) {
        cv_progress_init(&progress, "simulating", trial.runs);
        trial.progress = cv_progress_show;
        trial.context = &progress;
        done = cv_reduced_load(&load->job, &joint->job, &trial, &runs.many, &err);
        cv_progress_done(&progress);
    }
    if (done != CLEAVE_OK)
        return cv_print_status(&err);
    return options->json ? policy_json(joint, &runs) : policy_text(joint, &runs);
}

int cv_then_reduce_simulate(const struct cv_then_reduce *joint,
                            const struct cv_load_options *options,
                            const struct cv_load_job *load)
{
    char noise[CV_NOISE_ROOM];
    struct cleave_trial trial;
    const int status = cv_load_trial(options, &trial, noise);

    if (status != CV_EXIT_DONE)
        return status;
    return options->policy == NULL ? runs_of_plan(joint, options, &trial, noise)
                                   : runs_of_policy(joint, options, load, &trial, noise);
}

/* --- plans side by side ----------------------------------------------------------------- */

void cv_then_reduce_plans(const struct cv_then_reduce *joint,
                          const struct cv_screen *screen, struct cv_text *out)
{
    static const struct cv_column columns[] = {
        { "plan", CV_COLUMN_TEXT },       { "makespan s", CV_COLUMN_NUMBER },
        { "over bound", CV_COLUMN_OVER }, { "over joint", CV_COLUMN_OVER },
        { "workers", CV_COLUMN_COUNT },
    };
    const struct {
        const char *name;
        double end_s;
        uint32_t used;
    } rows[] = {
        { "joint", joint->plan.end_s, joint->plan.used },
        { "apart, best number of workers", joint->apart_s, joint->apart_used },
        { "apart, all workers", joint->apart_all_s, joint->apart_all_used },
    };
    char number[CV_NUMBER_ROOM];
    struct cv_table table;

    cv_text_add(out, "bound     %s s (one round and its reduction)\n\n",
                cv_show_number(joint->bound_s, number));
    cv_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cv_table_text(&table, rows[i].name);
        cv_table_number(&table, rows[i].end_s);
        cv_table_number(&table, rows[i].end_s / joint->bound_s - 1);
        cv_table_number(&table, rows[i].end_s / joint->plan.end_s - 1);
        cv_table_number(&table, rows[i].used);
    }
    cv_table_write(&table, screen->colour, screen->width, out);
    cv_table_done(&table);
}
