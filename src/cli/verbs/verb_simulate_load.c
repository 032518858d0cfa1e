/* verb_simulate_load.c -- cleave simulate load. SPDX-License-Identifier: MIT */
#include <math.h>
#include "cli/common/job_options.h"
#include "cli/load/plan_show.h"
#include "cli/load/load_options.h"
#include "cli/load/then_reduce.h"
#include "cli/common/output.h"
#include "io/json_out.h"
#include "report/terminal/table.h"

#define FIELD(name) offsetof(struct cv_load_options, name)

/* clang-format off */
static const struct cv_option output_options[] = {
    { .name = "--json", .value = 1, .offset = FIELD(json),
      .help = "Write JSON: policy, runs, makespan, utilisation and bound." },
    CV_ROW_WIDTH(FIELD, "the chart"),
    CV_ROW_TRACE(FIELD, "Write every event and order of the first run"),
    { .name = NULL },
};
/* clang-format on */

static const struct cv_option_group groups[] = {
    { "Job", cv_simulated_job_options },
    { "Policy", cv_policy_options },
    { "Runs", cv_trial_options },
    { "Output", output_options },
    { NULL, NULL },
};

static int show_json(const struct cleave_stats *stats, const char *policy,
                     const struct cv_load_options *values, const char *noise)
{
    struct cv_json json;

    cv_result_open(&json);
    cv_field_text(&json, "policy", policy);
    cv_field_text(&json, "picked", stats->picked);
    cv_field_load(&json, stats->load, values->lifespan_s, values->result_ratio);
    cv_field_count(&json, "runs", stats->runs);
    cv_field_count(&json, "seed", values->seed);
    cv_field_text(&json, "noise", noise);
    cv_field_text(&json, "engine", cv_engine_used(values->engine, &values->where));
    if (values->where.file != NULL)
        cv_field_text(&json, "topology", values->where.file);
    cv_field_times(&json, "makespan", stats);
    cv_field_number(&json, "utilisation", stats->utilisation);
    cv_field_number(&json, "chunks", stats->chunks);
    cv_field_bound(&json, "bound", &stats->bound);
    if (values->lifespan_s > 0)
        cv_field_number(&json, "over_bound", cv_over(stats->bound.value_s, stats->load));
    else
        cv_field_number(&json, "over_bound",
                        cv_over(stats->mean_s, stats->bound.value_s));
    return cv_result_close(&json);
}

static int show_text(const struct cleave_stats *stats, const char *policy,
                     const struct cv_load_options *values, const char *noise,
                     uint32_t nworkers)
{
    struct cv_screen screen = cv_screen_facts();
    struct cv_text text = { NULL, 0, 0, false };
    char number[CV_NUMBER_ROOM], runs[CV_COUNTED_ROOM];

    cv_screen_narrow(&screen, values->width);
    cv_text_add(&text, "%s%s of ", screen.colour ? "\033[1m" : "",
                cv_counted(stats->runs, "run", runs));
    cv_load_words(stats->load, values->lifespan_s, values->result_ratio, nworkers, &text);
    cv_text_add(&text, ", noise %s%s\n", noise, screen.colour ? "\033[0m" : "");
    cv_policy_line(policy, stats->picked, NULL, screen.width, &text);
    cv_engine_line(values->engine, &values->where, &text);
    if (values->lifespan_s > 0) {
        cv_text_add(&text, "work      %s units as planned\n",
                    cv_show_units(stats->load, number));
        cv_text_add(&text, "makespan  %s s on average\n",
                    cv_show_number(stats->mean_s, number));
        cv_text_add(&text, "bound     %s units (%s) for the costs as declared\n",
                    cv_show_number(stats->bound.value_s, number), stats->bound.name);
    } else {
        cv_text_add(&text, "makespan  %s s on average, %.2f%% over the bound\n",
                    cv_show_number(stats->mean_s, number),
                    100 * cv_over(stats->mean_s, stats->bound.value_s));
        cv_text_add(&text, "bound     %s s (%s) for the costs as declared\n",
                    cv_show_number(stats->bound.value_s, number), stats->bound.name);
    }
    cv_text_add(&text, "workers   %u, utilisation %.1f%%\n", nworkers,
                100 * stats->utilisation);
    cv_text_add(&text, "chunks    %s%s\n", cv_show_units(stats->chunks, number),
                stats->chunks == floor(stats->chunks) ? "" : " on average");
    cv_times_text(stats, &screen, &text);
    return cv_print_take(&text);
}

static int simulate(const struct cv_load_job *load, const struct cv_load_options *values)
{
    const char *policy = values->policy != NULL ? values->policy : "auto";
    char noise[CV_NOISE_ROOM];
    struct cv_progress progress;
    struct cleave_trial trial;
    struct cleave_stats stats;
    struct cleave_error err;
    int status = cv_load_trial(values, &trial, noise);
    enum cleave_status done;

    if (status != CV_EXIT_DONE)
        return status;
    cv_progress_init(&progress, "simulating", trial.runs);
    trial.progress = cv_progress_show;
    trial.context = &progress;
    done = cleave_simulate_load(&load->job, &trial, &stats, &err);
    cv_progress_done(&progress);
    if (done != CLEAVE_OK)
        return cv_print_status(&err);
    status = values->json ? show_json(&stats, policy, values, noise)
                          : show_text(&stats, policy, values, noise,
                                      cleave_platform_nworkers(load->platform));
    if (status == CV_EXIT_DONE && load->job.trace != NULL)
        status = cv_trace_add_facts(load->job.trace,
                                    &(struct cleave_trace_facts){
                                        .engine = cv_engine_used(values->engine,
                                                                 &values->where),
                                        .noise = noise,
                                        .lifespan_s = values->lifespan_s,
                                        .bound = stats.bound });
    if (status == CV_EXIT_DONE && load->job.trace != NULL)
        status = cv_trace_plan_facts(load->job.trace, &load->job);
    if (status == CV_EXIT_DONE && load->job.trace != NULL)
        status = cv_save_trace(values->trace, load, policy, stats.load);
    return status;
}

static int run(const struct cv_call *call)
{
    const struct cv_load_options *values = call->values;
    struct cv_then_reduce joint;
    struct cv_load_job load;
    int status = cv_load_job_open(values, call->arena, &load);

    if (status == CV_EXIT_DONE && values->then_reduce != NULL) {
        status = cv_then_reduce_open(values, &load, CV_THEN_POLICY, call->arena, &joint);
        if (status == CV_EXIT_DONE)
            status = cv_then_reduce_simulate(&joint, values, &load);
        cv_load_job_close(&load);
        return status;
    }
    if (status == CV_EXIT_DONE)
        status = cv_trace_call(load.job.trace, call);
    if (status == CV_EXIT_DONE)
        status = simulate(&load, values);
    cv_load_job_close(&load);
    return status;
}

const struct cv_verb cv_verb_simulate_load = {
    .name = "simulate load",
    .summary = "run a policy many times with costs that vary",
    .description = "Runs a policy many times on the platform while each transfer and "
                   "each computation takes more or less time than declared, and shows "
                   "how the makespan is spread. The same policy code decides as in a "
                   "plan. All policies meet the same random factors for the same seed, "
                   "and the result does not depend on the number of threads.",
    .groups = groups,
    .examples =
        "cleave simulate load --platform examples/unequal.yaml --load 2000 --error 0.2\n"
        "cleave simulate load -p examples/unequal.yaml -l 2000 --policy factoring "
        "--noise gamma:0.3\n"
        "cleave simulate load --topology examples/two-sites.xml --worker-hosts "
        "east-1,west-0,west-1 -l 1000 -n 1",
    .presets = &cv_load_presets,
    .values_size = sizeof(struct cv_load_options),
    .run = run,
};
