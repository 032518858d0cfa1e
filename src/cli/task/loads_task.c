/* loads_task.c -- the task loads: several divisible loads on one platform.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>
#include "cli/task/load_task.h"

/* clang-format off */
static const struct cv_option job_options[] = {
    CV_ROW_PLATFORM("", .required = true),
    CV_OPTION(0, "--jobs", TEXT, "FILE", jobs,
        "The loads, in YAML or JSON: 'loads:' with name and units of each, and if you like "
        "weight, release, compute (work of a unit, for all workers or a list) and transfer "
        "(size of a unit on a link). - reads standard input."),
    CV_OPTION(0, "--goal", TEXT, "GOAL", goal,
        "makespan: the end of the last load, the default; weighted: the sum of weight "
        "times end; stretch: the largest time from release to end, relative to the load "
        "alone."),
    CV_ROW_SEED,
};

static const struct cv_option policy_options[] = {
    CV_OPTION(0, "--policy", TEXT, "NAME", policy,
        "Which load gets what: plan, the default, online, johnson, smith, one-by-one, "
        "equal or apart."),
    CV_ROW_PARAM,
};

static const struct cv_option trial_options[] = {
    CV_ROW_RUNS(" with noise"),
    CV_OPTION(0, "--noise", TEXT, "KIND", noise,
        "Multiply the time of each transfer and each computation by a random factor of "
        "mean 1: gamma:CV with that coefficient of variation, normal:E with that standard "
        "deviation and never below 0.1, or none. Default none."),
    CV_ROW_THREADS,
};

static const struct cv_option plan_output[] = {
    CV_ROW_JSON("goal, value, bound, loads, phases, chunk_s and chunks."),
    CV_FLAG(0, "--explain", 1, explain,
        "Show each bound with its meaning, and the phases of the program."),
    CV_ROW_ALL_WORKERS,
    CV_ROW_GANTT,
    CV_ROW_WIDTH("the chart"),
    CV_ROW_TRACE("Write every event and order"),
};

static const struct cv_option simulate_output[] = {
    CV_ROW_JSON("policy, goal, runs, value, utilisation and bound."),
    CV_ROW_WIDTH("the chart"),
    CV_ROW_TRACE("Write every event and order of the first run"),
};

static const struct cv_option compared_policies[] = {
    CV_OPTION(0, "--policies", TEXT, "A,B,...", policies,
        "The policies to compare, separated by commas. Default: all for several loads."),
    CV_ROW_PARAM_OF_ALL,
};

static const struct cv_option sweep_options[] = {
    CV_OPTION(0, "--sweep", TEXT, "SWEEP", sweep,
        "Compare for many values of latency, bandwidth, speed or compute-latency of every "
        "worker, the same times a factor (latency-factor ..), or workers (the first N). "
        "latency=0:10:0.5 goes in steps, latency-factor=1:100:log takes four values per "
        "factor of ten."),
};

static const struct cv_option compare_output[] = {
    CV_ROW_JSON("goal, loads, bound, rows and not_applicable."),
    CV_ROW_PAGE,
};
/* clang-format on */

static const struct cv_option_rule rules[] = {
    { 0, "--jobs", CV_ONE_OF, "",
      "--jobs FILE is required, with 'loads: [{name: a, units: 100}]'" },
    CV_RULES_PAGE,
    { .options = NULL },
};

static int read_goal(const char *text, enum cleave_goal *out)
{
    for (*out = CLEAVE_GOAL_MAKESPAN; *out <= CLEAVE_GOAL_STRETCH; ++*out)
        if (text == NULL || strcmp(text, cv_goal_name(*out)) == 0)
            return CV_EXIT_DONE;
    return cv_refuse("--goal: expected makespan, weighted or stretch, got '%s'",
                     CV_ECHO(text));
}

static int open_job(struct cv_task_call *task)
{
    struct cv_task_options options = *task->options;
    struct cv_load_job *load = task->job;

    if (strcmp(options.jobs, "-") == 0 && strcmp(options.platform, "-") == 0)
        return cv_refuse("expected - for --jobs or for --platform, got both");
    options.load.units = 1; /* the loads have the amounts */
    CV_DO(read_goal(options.goal, &load->job.goal));
    CV_DO(cv_load_open(task, &options, load));
    CV_CALL(cv_loads_read(options.jobs, cleave_platform_nworkers(load->platform),
                          task->arena, &load->several, &err));
    load->job.load = 0;
    load->job.loads = load->several.items;
    load->job.nloads = load->several.count;
    load->units = 0;
    for (size_t k = 0; k < load->several.count; k++)
        load->units += load->several.items[k].units;
    return CV_EXIT_DONE;
}

static int plan(struct cv_task_call *task)
{
    struct cv_load_job *load = task->job;

    CV_CALL(cleave_plan_load(&load->job, &load->schedule, &err));
    CV_DO(cv_load_planned(task));
    for (size_t k = 0; k < load->several.count; k++)
        load->apart_s += load->schedule->alone_s[k];
    return CV_EXIT_DONE;
}

static double stretch_of(const struct cv_load_job *load, size_t k)
{
    const struct cleave_schedule *schedule = load->schedule;

    return (schedule->ends_s[k] - load->several.items[k].release_s) /
           schedule->alone_s[k];
}

static void add_headline(const struct cv_load_job *load, const struct cv_screen *screen,
                         struct cv_text *out)
{
    const struct cleave_schedule *schedule = load->schedule;
    const enum cleave_goal goal = load->job.goal;
    const double over = cv_over(schedule->value, schedule->bound.value_s);

    cv_text_add(out, "%s", CV_BOLD(screen));
    cv_load_words(load, schedule->load, out);
    cv_text_add(out, "%s\n", CV_PLAIN(screen));
    cv_policy_line(schedule->policy, schedule->picked, schedule->why, screen->width, out);
    cv_text_add(out, "%-9s %s%s, ", cv_goal_name(goal), CV_SHOW_NUMBER(schedule->value),
                cv_goal_unit(goal));
    if (over == 0)
        cv_text_add(out, "which no schedule can beat\n");
    else
        cv_text_add(out, "%.2f%% over the bound\n", 100 * over);
    cv_text_add(out, "bound     %s%s (%s)\n", CV_SHOW_NUMBER(schedule->bound.value_s),
                cv_goal_unit(goal), schedule->bound.name);
    if (goal != CLEAVE_GOAL_MAKESPAN)
        cv_text_add(out, "makespan  %s s\n", CV_SHOW_NUMBER(schedule->makespan_s));
    cv_text_add(out, "in turn   %s s at least, one load after the other\n",
                CV_SHOW_NUMBER(load->apart_s));
    cv_text_add(out, "used      %u workers, utilisation %.1f%%\n",
                cleave_platform_nworkers(load->platform), 100 * schedule->utilisation);
}

static void add_loads(const struct cv_load_job *load, const struct cv_screen *screen,
                      struct cv_text *out)
{
    const struct cleave_schedule *schedule = load->schedule;
    struct cv_table table;

    cv_table_init(&table, "load|~units|#weight|#release s|#ends s|#alone s|#stretch");
    for (size_t k = 0; k < load->several.count; k++) {
        const struct cleave_load *part = &load->several.items[k];

        cv_table_add(&table, "%s %g %g %g %g %g %g", part->name, part->units,
                     part->weight, part->release_s, schedule->ends_s[k],
                     schedule->alone_s[k], stretch_of(load, k));
    }
    cv_add_table(&table, screen, out);
}

static const struct cv_bound_meaning meanings[] = {
    { "alone", "every load as if it had the platform for itself" },
    { "fluid", "all loads in one fluid program, after every release" },
    { "phases", "the fluid program, for every order of ends" },
    { NULL, "a fluid program over intervals of time" },
};

static void add_explanation(const struct cv_load_job *load,
                            const struct cv_screen *screen, struct cv_text *out)
{
    const struct cleave_schedule *schedule = load->schedule;
    const size_t count = load->several.count;
    struct cv_table table;

    cv_bounds_explain(schedule, "bound|#value|meaning", meanings, screen, out);
    if (schedule->nphases == 0)
        return;
    cv_table_init(&table, "+phase|#until s|load|~units");
    for (size_t j = 0; j < schedule->nphases; j++)
        for (size_t k = 0; k < count; k++) {
            double units = 0;

            for (uint32_t i = 0; i < cleave_platform_nworkers(load->platform); i++)
                units += schedule->phases[j].quota[i * count + k];
            if (units > 0)
                cv_table_add(&table, "%g %g %s %g", (double)j + 1,
                             schedule->phases[j].until_s, load->several.items[k].name,
                             units);
        }
    cv_add_table(&table, screen, out);
}

static void plan_text(struct cv_task_call *task, struct cv_screen *screen,
                      struct cv_text *out)
{
    const struct cv_load_job *load = task->job;

    add_headline(load, screen, out);
    add_loads(load, screen, out);
    cv_schedule_workers(load, task->options->all_workers, screen, out);
    if (task->options->explain)
        add_explanation(load, screen, out);
    cv_schedule_chart(task, screen, out);
}

static void json_loads(struct cv_json *json, const struct cv_load_job *load)
{
    const struct cleave_schedule *schedule = load->schedule;
    const uint32_t nworkers = cleave_platform_nworkers(load->platform);

    cv_field_list(json, "loads");
    for (size_t k = 0; k < load->several.count; k++) {
        const struct cleave_load *part = &load->several.items[k];

        cv_json_object(json);
        cv_fields(json, "name %s, ends %g, alone %g, stretch %g, weight %g, release %g",
                  part->name, schedule->ends_s[k], schedule->alone_s[k],
                  stretch_of(load, k), part->weight, part->release_s);
        cv_field_list(json, "units");
        for (uint32_t i = 0; i < nworkers; i++) {
            double units = 0;

            for (size_t c = 0; c < schedule->nchunks; c++)
                if (schedule->chunks[c].worker == i && schedule->chunks[c].item == k)
                    units += schedule->chunks[c].units;
            cv_json_number(json, units);
        }
        cv_json_end(json);
        cv_json_end(json);
    }
    cv_json_end(json);
}

static void json_phases(struct cv_json *json, const struct cv_load_job *load)
{
    const struct cleave_schedule *schedule = load->schedule;

    cv_field_list(json, "phases");
    for (size_t j = 0; j < schedule->nphases; j++) {
        const double *quota = schedule->phases[j].quota;

        cv_json_object(json);
        cv_field_number(json, "until", schedule->phases[j].until_s);
        cv_field_list(json, "quota");
        for (uint32_t i = 0; i < cleave_platform_nworkers(load->platform); i++) {
            cv_json_list(json);
            for (size_t k = 0; k < load->several.count; k++)
                cv_json_number(json, *quota++);
            cv_json_end(json);
        }
        cv_json_end(json);
        cv_json_end(json);
    }
    cv_json_end(json);
}

static void plan_json(struct cv_task_call *task, struct cv_json *json)
{
    const struct cv_load_job *load = task->job;
    const struct cleave_schedule *schedule = load->schedule;

    cv_fields(json, "policy %s, picked %s, why %s, goal %s, value %g", schedule->policy,
              schedule->picked, schedule->why, cv_goal_name(load->job.goal),
              schedule->value);
    cv_field_bound(json, "bound", &schedule->bound);
    cv_fields(json,
              "over_bound %g, optimal %d, seed %llu, makespan %g, in_turn %g, "
              "utilisation %g",
              cv_over(schedule->value, schedule->bound.value_s), schedule->optimal,
              (unsigned long long)task->options->seed, schedule->makespan_s,
              load->apart_s, schedule->utilisation);
    for (size_t f = 0; f < schedule->nfacts; f++)
        cv_field_number(json, schedule->facts[f].name, schedule->facts[f].value);
    cv_field_list(json, "bounds");
    for (size_t b = 0; b < schedule->nbounds; b++)
        cv_field_bound(json, NULL, &schedule->bounds[b]);
    cv_json_end(json);
    json_loads(json, load);
    json_phases(json, load);
    cv_field_list(json, "chunks");
    for (size_t c = 0; c < schedule->nchunks; c++)
        cv_field_chunk(json, &schedule->chunks[c], load);
    cv_json_end(json);
}

/* clang-format off */
const struct cv_task_kind cv_task_loads = {
    .kind = CLEAVE_TASK_LOADS,
    .example = "plan,smith",
    .job_size = sizeof(struct cv_load_job),
    .open = open_job,
    .close = cv_load_close,
    .planned = &(const struct cv_task_part){ plan, plan_json, plan_text },
    .simulated = &cv_load_simulated,
    .compared = &cv_loads_compared,
    .plan = {
        .name = "plan loads",
        .summary = "share a platform among several loads",
        .description =
            "Each load has units, and costs of a unit on workers and links. Computes how "
            "much of each load each worker gets, and when, so that the last load ends early, "
            "or the sum of weighted ends or the largest stretch is small (--goal). Loads that "
            "wait for links, mixed with loads that wait for workers, may take half the time of "
            "one load after the other. Shows the result next to a bound that no schedule "
            "can beat.",
        .groups = CV_GROUPS(CV_GROUP("Job", job_options),
                            CV_GROUP("Policy", policy_options),
                            CV_GROUP("Output", plan_output)),
        .examples =
            "cleave plan loads --platform examples/equal.yaml --jobs examples/loads.yaml\n"
            "cleave plan loads -p examples/equal.yaml --jobs examples/loads.yaml --goal "
            "weighted --explain",
        CV_TASK_VERB(cv_task_plan),
    },
    .simulate = {
        .name = "simulate loads",
        .summary = "share a platform among several loads with costs that vary",
        .description =
            "Runs a policy many times while each transfer and each computation takes more or "
            "less time than declared, and shows how the value of the goal is spread. The "
            "same policy code decides as in a plan; online does not know a load before its "
            "release.",
        .groups = CV_GROUPS(CV_GROUP("Job", job_options),
                            CV_GROUP("Policy", policy_options),
                            CV_GROUP("Runs", trial_options),
                            CV_GROUP("Output", simulate_output)),
        .examples = "cleave simulate loads --platform examples/equal.yaml --jobs "
                    "examples/loads.yaml --noise gamma:0.3",
        CV_TASK_VERB(cv_task_simulate),
    },
    .compare = {
        .name = "compare loads",
        .summary = "ways to share a platform among loads, in one table",
        .description =
            "Gives the same loads to several policies and lists the best first, with how far "
            "each is from the bound that no schedule can beat and from the best of them: a "
            "plan, the same on line, and what people do today. With --noise each policy makes "
            "many runs; without, one exact run each.",
        .groups = CV_GROUPS(CV_GROUP("Job", job_options),
                            CV_GROUP("Policies", compared_policies),
                            CV_GROUP("Sweep", sweep_options),
                            CV_GROUP("Runs", trial_options),
                            CV_GROUP("Output", compare_output)),
        .examples = "cleave compare loads --platform examples/equal.yaml --jobs "
                    "examples/loads.yaml\n"
                    "cleave compare loads -p examples/equal.yaml --jobs "
                    "examples/loads.yaml --goal stretch --sweep latency=0:2:0.5 -o "
                    "loads.html",
        CV_TASK_VERB(cv_task_compare),
    },
};
/* clang-format on */
