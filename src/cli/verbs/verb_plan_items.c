/* verb_plan_items.c -- cleave plan items. SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>
#include "cli/items/items_options.h"
#include "cli/items/items_text.h"
#include "cli/common/job_options.h"
#include "cli/common/output.h"

#define FIELD(name) offsetof(struct cv_items_options, load.name)
#define OWN(name) offsetof(struct cv_items_options, name)

/* What it is compared with. */
static const char list_order[] = "items-list";

/* clang-format off */
static const struct cv_option output_options[] = {
    { .name = "--json", .value = 1, .offset = FIELD(json),
      .help = "Write JSON: policy, makespan, bound, what the order of the list would take, "
              "every worker and every item." },
    { .name = "--items", .value = 1, .offset = OWN(all_items),
      .help = "List every item, in the order in which they are given out." },
    { .name = "--explain", .value = 1, .offset = OWN(explain),
      .help = "Say what each bound is about, and who is last with what." },
    CV_ROW_ALL_WORKERS(FIELD),
    CV_ROW_GANTT(FIELD),
    CV_ROW_WIDTH(FIELD, "the chart"),
    CV_ROW_TRACE(FIELD, "Write every event and order"),
    { .name = NULL },
};
/* clang-format on */

static const struct cv_option_group groups[] = {
    { "Job", cv_items_job_options },
    { "Policy", cv_items_policy_options },
    { "Output", output_options },
    { NULL, NULL },
};

/* What the order of the list would take. */
static int plan_listed(const struct cv_items_job *items, double *out_s)
{
    struct cleave_job job = items->load.job;
    struct cleave_schedule *schedule;
    struct cleave_error err;

    job.policy = list_order;
    job.settings = NULL;
    job.nsettings = 0;
    job.trace = NULL;
    if (cleave_plan_load(&job, &schedule, &err) != CLEAVE_OK)
        return cv_print_status(&err);
    *out_s = schedule->makespan_s;
    cleave_schedule_free(schedule);
    return CV_EXIT_DONE;
}

static int show_plan(const struct cv_items_job *items,
                     const struct cv_items_options *values)
{
    const struct cv_screen screen = cv_screen_facts();
    struct cv_items_plan plan = { .items = items, .listed_s = NAN };
    struct cleave_schedule *schedule;
    struct cv_text text = { NULL, 0, 0, false };
    struct cleave_error err;
    int status = CV_EXIT_DONE;

    if (cleave_plan_load(&items->load.job, &schedule, &err) != CLEAVE_OK)
        return cv_print_status(&err);
    plan.schedule = schedule;
    if (strcmp(schedule->policy, list_order) != 0)
        status = plan_listed(items, &plan.listed_s);
    if (status == CV_EXIT_DONE && values->load.json) {
        status = cv_items_json(&plan, values->load.seed);
    } else if (status == CV_EXIT_DONE) {
        cv_items_text(&plan, values, &screen, &text);
        status = cv_print_take(&text);
    }
    if (status == CV_EXIT_DONE)
        status = cv_save_plan(values->load.trace, &items->load, schedule);
    cleave_schedule_free(schedule);
    return status;
}

static int run(const struct cv_call *call)
{
    const struct cv_items_options *values = call->values;
    struct cv_items_job items;
    int status = cv_items_job_open(values, call->arena, &items);

    if (status == CV_EXIT_DONE)
        status = cv_trace_call(items.load.job.trace, call);
    if (status == CV_EXIT_DONE)
        status = show_plan(&items, values);
    cv_items_job_close(&items);
    return status;
}

const struct cv_verb cv_verb_plan_items = {
    .name = "plan items",
    .summary = "share out whole items: who does which, and when",
    .description =
        "Items have sizes and are done by one worker each: files, jobs of an earlier "
        "log. Computes who does which of them so that the last worker ends as early as "
        "the policy can make it, beside a bound that no schedule can beat and what the "
        "order of the list would take. An item takes a worker its compute_latency and "
        "its size by its speed, as the platform file declares them; 'cleave simulate "
        "items' shows what happens when sizes are wrong.",
    .groups = groups,
    .examples =
        "cleave plan items --sizes examples/files.txt --platform "
        "examples/two-kinds.yaml\n"
        "du -b *.log | cleave plan items --sizes - -p examples/two-kinds.yaml --explain\n"
        "cleave plan items --costs examples/jobs.log -p examples/two-kinds.yaml --json",
    .presets = &cv_items_presets,
    .values_size = sizeof(struct cv_items_options),
    .run = run,
};
