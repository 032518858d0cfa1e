/* verb_simulate_items.c -- cleave simulate items. SPDX-License-Identifier: MIT */
#include "cli/items/items_options.h"
#include "cli/common/output.h"
#include "cli/common/job_options.h"
#include "cli/load/plan_show.h"
#include "io/json_out.h"
#include "report/terminal/table.h"

#define FIELD(name) offsetof(struct cv_items_options, load.name)

/* clang-format off */
static const struct cv_option output_options[] = {
    { .name = "--json", .value = 1, .offset = FIELD(json),
      .help = "Write JSON: policy, items, runs, makespan, utilisation and bound." },
    CV_ROW_WIDTH(FIELD, "the chart"),
    CV_ROW_TRACE(FIELD, "Write every event and order of the first run"),
    { .name = NULL },
};
/* clang-format on */

static const struct cv_option_group groups[] = {
    { "Job", cv_items_job_options },
    { "Policy", cv_items_policy_options },
    { "Runs", cv_items_trial_options },
    { "Output", output_options },
    { NULL, NULL },
};

static const char *policy_of(const struct cv_items_options *values)
{
    return values->load.policy != NULL ? values->load.policy : "items";
}

static int show_json(const struct cleave_stats *stats, const struct cv_items_job *items,
                     const struct cv_items_options *values, const char *noise)
{
    struct cv_json json;

    cv_result_open(&json);
    cv_field_text(&json, "policy", policy_of(values));
    cv_field_count(&json, "items", items->items.count);
    cv_field_number(&json, "load", stats->load);
    cv_field_count(&json, "runs", stats->runs);
    cv_field_count(&json, "seed", values->load.seed);
    cv_field_text(&json, "noise", noise);
    cv_field_text(&json, "engine",
                  cv_engine_used(values->load.engine, &values->load.where));
    cv_field_times(&json, "makespan", stats);
    cv_field_number(&json, "utilisation", stats->utilisation);
    cv_field_bound(&json, "bound", &stats->bound);
    cv_field_number(&json, "over_bound", cv_over(stats->mean_s, stats->bound.value_s));
    return cv_result_close(&json);
}

static int show_text(const struct cleave_stats *stats, const struct cv_items_job *items,
                     const struct cv_items_options *values, const char *noise)
{
    struct cv_screen screen = cv_screen_facts();
    struct cv_text text = { NULL, 0, 0, false };
    char number[CV_NUMBER_ROOM], runs[CV_COUNTED_ROOM];

    cv_screen_narrow(&screen, values->load.width);
    cv_text_add(&text, "%s%s of ", screen.colour ? "\033[1m" : "",
                cv_counted(stats->runs, "run", runs));
    cv_items_words(items, &text);
    cv_text_add(&text, ", noise %s%s\n", noise, screen.colour ? "\033[0m" : "");
    cv_text_add(&text, "policy    %s\n", policy_of(values));
    cv_engine_line(values->load.engine, &values->load.where, &text);
    cv_text_add(&text, "makespan  %s s on average, %.2f%% over the bound\n",
                cv_show_number(stats->mean_s, number),
                100 * cv_over(stats->mean_s, stats->bound.value_s));
    cv_text_add(&text, "bound     %s s (%s) for sizes and costs as declared\n",
                cv_show_number(stats->bound.value_s, number), stats->bound.name);
    cv_text_add(&text, "workers   %u, utilisation %.1f%%\n",
                cleave_platform_nworkers(items->load.platform), 100 * stats->utilisation);
    cv_times_text(stats, &screen, &text);
    return cv_print_take(&text);
}

static int simulate(const struct cv_items_job *items,
                    const struct cv_items_options *values)
{
    struct cleave_trace *trace = items->load.job.trace;
    char noise[CV_NOISE_ROOM];
    struct cv_progress progress;
    struct cleave_trial trial;
    struct cleave_stats stats;
    struct cleave_error err;
    int status = cv_load_trial(&values->load, &trial, noise);
    enum cleave_status done;

    if (status != CV_EXIT_DONE)
        return status;
    cv_progress_init(&progress, "simulating", trial.runs);
    trial.progress = cv_progress_show;
    trial.context = &progress;
    done = cleave_simulate_load(&items->load.job, &trial, &stats, &err);
    cv_progress_done(&progress);
    if (done != CLEAVE_OK)
        return cv_print_status(&err);
    status = values->load.json ? show_json(&stats, items, values, noise)
                               : show_text(&stats, items, values, noise);
    if (status != CV_EXIT_DONE || trace == NULL)
        return status;
    status = cv_trace_add_facts(trace, &(struct cleave_trace_facts){
                                           .engine = cv_engine_used(values->load.engine,
                                                                    &values->load.where),
                                           .noise = noise,
                                           .bound = stats.bound });
    return status == CV_EXIT_DONE ? cv_save_trace(values->load.trace, &items->load,
                                                  policy_of(values), stats.load)
                                  : status;
}

static int run(const struct cv_call *call)
{
    const struct cv_items_options *values = call->values;
    struct cv_items_job items;
    int status = cv_items_job_open(values, call->arena, &items);

    if (status == CV_EXIT_DONE)
        status = cv_trace_call(items.load.job.trace, call);
    if (status == CV_EXIT_DONE)
        status = simulate(&items, values);
    cv_items_job_close(&items);
    return status;
}

const struct cv_verb cv_verb_simulate_items = {
    .name = "simulate items",
    .summary = "share out items many times whose sizes turn out wrong",
    .description =
        "Runs a policy many times on the platform while each item takes more or less "
        "time than its size says, and shows how the makespan is spread. The same policy "
        "code decides as in a plan and in a real run. With --param trust=0 it is not "
        "told what workers cost, and finds out.",
    .groups = groups,
    .examples = "cleave simulate items --sizes examples/files.txt --platform "
                "examples/two-kinds.yaml --noise gamma:0.5\n"
                "cleave simulate items --sizes examples/files.txt -p "
                "examples/two-kinds.yaml --error 0.2 --param trust=0 --runs 100",
    .presets = &cv_items_presets,
    .values_size = sizeof(struct cv_items_options),
    .run = run,
};
