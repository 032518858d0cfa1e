/* items_task.c -- the task items: whole items, each done by one worker.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>
#include "cli/task/load_task.h"

/* The policy that a plan is compared with. */
static const char list_order[] = "items-list";

/* clang-format off */
static const struct cv_option job_options[] = {
    CV_OPTION(0, "--sizes", TEXT, "FILE", sizes,
        "The items, one per line: a size such as 2000 or 64k, in the units of the "
        "platform's speeds; or a name, a tab and a size; or, as du writes it, a size, a "
        "tab and a name. - reads standard input."),
    CV_OPTION(0, "--weight", COUNT, "COLUMN", weight,
        "Which column of that file has the sizes, from 1. Columns are separated by tabs.",
        .min = 1, .max = 64),
    CV_OPTION(0, "--costs", TEXT, "JOBLOG", costs,
        "Instead of --sizes: the run times in a job log of 'cleave run --joblog' or GNU "
        "parallel. If its host is a worker of the platform, cleave subtracts the start and "
        "converts the rest to units by its speed; else a second is a unit."),
    CV_ROW_PLATFORM("", .required = true),
    CV_OPTION(0, "--error", NUMBER, "E", error,
        "How far sizes and costs may be off, as a standard deviation relative to them: "
        "0.2 for 20%. Default 0.", .min = 0, .max = 10),
    CV_ROW_SEED,
};

static const struct cv_option policy_options[] = {
    CV_OPTION(0, "--policy", TEXT, "NAME", policy,
        "Order and workers of items: items, the default, or items-list."),
    CV_ROW_PARAM,
};

#define COST_LAW_HELP \
    "Each item takes its declared time multiplied by its own factor of mean 1, without " \
    "the start of the worker: gamma:CV and lognormal:CV have that coefficient of " \
    "variation, pareto:ALPHA has a long tail."

static const struct cv_option trial_options[] = {
    CV_ROW_RUNS(" with noise"),
    CV_OPTION(0, "--noise", TEXT, "KIND", noise,
        "Each item takes its declared time multiplied by a random factor of mean 1, the same "
        "on every worker: gamma:CV with that coefficient of variation, normal:E with that "
        "standard deviation and never below 0.1, or none. Default normal:E with the E of "
        "--error, and none without."),
    CV_OPTION(0, "--rates", TEXT, "NAME@N/TIME,...", rates,
        "The workers of this name together start at most N items in any window of this time: "
        "'api@60/min,*@5/s'; with w, as in '@900w/h', sizes add up to at most 900. '*' is all "
        "workers that are not named before. Native engine only."),
    CV_ROW_CONDITIONS,
    CV_ROW_THREADS,
    CV_OPTION(0, "--engine", TEXT, "NAME", engine,
        "Simulate with one of 'cleave engines'. Default native."),
};

static const struct cv_option plan_output[] = {
    CV_ROW_JSON("policy, makespan, bound, what the order of the list would take, every "
        "worker and every item."),
    CV_FLAG(0, "--items", 1, all_items,
        "List every item, in the order in which they are given out."),
    CV_FLAG(0, "--explain", 1, explain,
        "Explain each bound, and name the last worker and its items."),
    CV_ROW_ALL_WORKERS,
    CV_ROW_GANTT,
    CV_ROW_WIDTH("the chart"),
    CV_ROW_TRACE("Write every event and order"),
};

static const struct cv_option simulate_output[] = {
    CV_ROW_JSON("policy, items, runs, makespan, utilisation and bound."),
    CV_ROW_WIDTH("the chart"),
    CV_ROW_TRACE("Write every event and order of the first run"),
};

static const struct cv_option compared_policies[] = {
    CV_OPTION(0, "--policies", TEXT, "A,B,...", policies,
        "The policies to compare, separated by commas. Default: all for items."),
    CV_ROW_PARAM_OF_ALL,
};

static const struct cv_option compare_output[] = {
    CV_ROW_JSON("items, load, bound, rows and not_applicable."),
};
/* clang-format on */

static const struct cv_option_rule rules[] = {
    { 0, "--sizes", CV_EXCLUDES, "--costs", "expected --sizes or --costs, got both" },
    { 0, "--sizes --costs", CV_ONE_OF, "",
      "expected --sizes FILE, with a size on each line, or --costs JOBLOG" },
    CV_RULES_CONDITIONS,
    { 0, "--weight", CV_NEEDS, "--sizes", "--weight: --sizes FILE is required with it" },
    { .options = NULL },
};

static int open_job(struct cv_task_call *task)
{
    struct cv_task_options options = *task->options;
    struct cv_load_job *load = task->job;

    if (options.sizes != NULL && strcmp(options.sizes, "-") == 0 &&
        strcmp(options.platform, "-") == 0)
        return cv_refuse("expected - for the sizes or for the platform, got both");
    options.load.units = 1; /* the items have the amount */
    CV_DO(cv_load_open(task, &options, load));
    CV_CALL(options.sizes != NULL ? cv_sizes_read(options.sizes, options.weight,
                                                  task->arena, &load->items, &err)
                                  : cv_sizes_read_log(options.costs, load->platform,
                                                      task->arena, &load->items, &err));
    load->job.load = 0;
    load->job.sizes = load->items.sizes;
    load->job.nitems = load->items.count;
    load->units = 0;
    for (uint64_t i = 0; i < load->items.count; i++)
        load->units += load->items.sizes[i];
    return CV_EXIT_DONE;
}

static int plan(struct cv_task_call *task)
{
    struct cv_load_job *load = task->job;
    struct cleave_job listed = load->job;
    struct cleave_schedule *schedule;

    CV_CALL(cleave_plan_load(&load->job, &load->schedule, &err));
    CV_DO(cv_load_planned(task));
    load->list_order_s = NAN;
    if (strcmp(load->schedule->policy, list_order) == 0)
        return CV_EXIT_DONE;
    listed.policy = list_order;
    listed.settings = NULL;
    listed.nsettings = 0;
    listed.trace = NULL;
    CV_CALL(cleave_plan_load(&listed, &schedule, &err));
    load->list_order_s = schedule->makespan_s;
    cleave_schedule_free(schedule);
    return CV_EXIT_DONE;
}

static void add_workers(const struct cv_load_job *load, bool all,
                        const struct cv_screen *screen, struct cv_text *out)
{
    enum { WORKERS_SHOWN = 20 };
    const struct cleave_schedule *schedule = load->schedule;
    const uint32_t nworkers = cleave_platform_nworkers(load->platform);
    const uint32_t shown = all || nworkers < WORKERS_SHOWN ? nworkers : WORKERS_SHOWN;
    struct cv_table table;

    cv_table_init(&table, "worker|+items|~units|%share|~largest|%busy|#ends s");
    for (uint32_t w = 0; w < shown; w++) {
        const struct cv_worker_sum *sum = &load->sums[w];

        cv_table_add(&table, "%s %g %g %g %g %g %g",
                     cleave_platform_worker_name(load->platform, w), (double)sum->chunks,
                     sum->units, schedule->load > 0 ? sum->units / schedule->load : 0,
                     sum->largest,
                     schedule->makespan_s > 0 ? sum->busy_s / schedule->makespan_s : 0,
                     sum->last_s);
    }
    cv_add_table(&table, screen, out);
    cv_add_hidden(nworkers - shown, "more worker", out);
}

static void add_items(const struct cv_load_job *load, const struct cv_screen *screen,
                      struct cv_text *out)
{
    const char **names = load->items.names;
    struct cv_table table;

    cv_table_init(&table, "+item|~units|worker|#starts s|#ends s|name");
    table.ncolumns -= names != NULL ? 0 : 1;
    for (size_t k = 0; k < load->schedule->nchunks; k++) {
        const struct cleave_chunk *chunk = &load->schedule->chunks[k];

        cv_table_add(&table, "%g %g %s %g %g", (double)chunk->item + 1, chunk->units,
                     cleave_platform_worker_name(load->platform, chunk->worker),
                     chunk->compute_start_s, chunk->compute_end_s);
        if (names != NULL)
            cv_table_add(&table, "%s",
                         names[chunk->item] != NULL ? names[chunk->item] : "");
    }
    cv_add_table(&table, screen, out);
}

static const struct cv_bound_meaning meanings[] = {
    { "preemptive", "if items could be interrupted and moved: the k largest on the k "
                    "fastest workers, all on all, with a start each" },
    { "longest", "some worker has to do the largest item" },
    { "port", "all items pass the master's port, one after the other" },
    { "assignment", "if items could be divided between those workers that could do "
                    "the whole of them in time" },
    { NULL, "" },
};

/* The worker and the item that end last. */
static void add_last(const struct cv_load_job *load, struct cv_text *out)
{
    const struct cleave_schedule *schedule = load->schedule;
    const struct cleave_chunk *last = &schedule->chunks[0];

    for (size_t k = 1; k < schedule->nchunks; k++)
        if (schedule->chunks[k].compute_end_s > last->compute_end_s)
            last = &schedule->chunks[k];
    cv_text_add(out,
                "\nThe last to end is %s, with item %llu of %s units, which it began "
                "after %s s.\n",
                cleave_platform_worker_name(load->platform, last->worker),
                (unsigned long long)last->item + 1, CV_SHOW_UNITS(last->units),
                CV_SHOW_NUMBER(last->compute_start_s));
}

static void plan_text(struct cv_task_call *task, struct cv_screen *screen,
                      struct cv_text *out)
{
    const struct cv_task_options *options = task->options;
    const struct cv_load_job *load = task->job;

    cv_schedule_headline(load, screen, out);
    add_workers(load, options->all_workers, screen, out);
    if (options->explain) {
        cv_bounds_explain(load->schedule, "bound|#s|meaning", meanings, screen, out);
        add_last(load, out);
    }
    if (options->all_items)
        add_items(load, screen, out);
    cv_schedule_chart(task, screen, out);
}

/* clang-format off */
const struct cv_task_kind cv_task_items = {
    .kind = CLEAVE_TASK_ITEMS,
    .example = "items,items-list",
    .job_size = sizeof(struct cv_load_job),
    .open = open_job,
    .close = cv_load_close,
    .planned = &(const struct cv_task_part){ plan, cv_schedule_json, plan_text },
    .simulated = &cv_load_simulated,
    .compared = &cv_load_compared,
    .plan = {
        .name = "plan items",
        .summary = "share out indivisible items: worker and start of each",
        .description =
            "Items have sizes and are done by one worker each: files, jobs of an earlier "
            "log. Computes a worker and a start for each so that the last worker ends as "
            "early as the policy can make it, next to a lower bound for every schedule and "
            "the time in list order. An item takes a worker its compute_latency plus its "
            "size divided by its speed, as the platform file declares them; 'cleave simulate "
            "items' shows the effect of wrong sizes.",
        .groups = CV_GROUPS(CV_GROUP("Job", job_options),
                            CV_GROUP("Policy", policy_options),
                            CV_GROUP("Output", plan_output)),
        .examples =
            "cleave plan items --sizes examples/files.txt --platform "
            "examples/two-kinds.yaml\n"
            "du -b *.log | cleave plan items --sizes - -p examples/two-kinds.yaml --explain\n"
            "cleave plan items --costs examples/jobs.log -p examples/two-kinds.yaml --json",
        CV_TASK_VERB(cv_task_plan),
    },
    .simulate = {
        .name = "simulate items",
        .summary = "share out items many times whose sizes turn out wrong",
        .description =
            "Runs a policy many times on the platform while each item takes more or less "
            "time than its size says, and shows how the makespan is spread. The same policy "
            "code decides as in a plan and in a real run. With --param trust=0 it is not "
            "told what workers cost, and finds out.",
        .groups = CV_GROUPS(CV_GROUP("Job", job_options),
                            CV_GROUP("Policy", policy_options),
                            CV_GROUP("Runs", trial_options),
                            CV_GROUP("Output", simulate_output)),
        .examples = "cleave simulate items --sizes examples/files.txt --platform "
                    "examples/two-kinds.yaml --noise gamma:0.5\n"
                    "cleave simulate items --sizes examples/files.txt -p "
                    "examples/two-kinds.yaml --error 0.2 --param trust=0 --runs 100",
        CV_TASK_VERB(cv_task_simulate),
    },
    .compare = {
        .name = "compare items",
        .summary = "longest first and the order of the list, in one table",
        .description =
            "Gives the same items to several policies and lists the best first, with how far "
            "each is from the bound that no schedule can beat and from the best of them. "
            "With --error or --noise each policy makes many runs, and items turn out the "
            "same for all; without, one exact run each.",
        .groups = CV_GROUPS(CV_GROUP("Job", job_options),
                            CV_GROUP("Policies", compared_policies),
                            CV_GROUP("Runs", trial_options),
                            CV_GROUP("Output", compare_output)),
        .examples = "cleave compare items --sizes examples/files.txt --platform "
                    "examples/two-kinds.yaml\n"
                    "cleave compare items --sizes examples/files.txt -p "
                    "examples/two-kinds.yaml --noise gamma:0.5 --runs 200",
        CV_TASK_VERB(cv_task_compare),
    },
};
/* clang-format on */
