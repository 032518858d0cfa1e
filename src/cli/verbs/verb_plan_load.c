/* verb_plan_load.c -- cleave plan load. SPDX-License-Identifier: MIT */
#include "cli/load/plan_show.h"
#include "cli/load/load_options.h"
#include "cli/common/output.h"
#include "cli/common/job_options.h"
#include "cli/load/then_reduce.h"

#define FIELD(name) offsetof(struct cv_load_options, name)

/* clang-format off */
static const struct cv_option output_options[] = {
    { .name = "--json", .value = 1, .offset = FIELD(json),
      .help = "Write JSON: policy, makespan, bound, every chunk and who is left out." },
    { .name = "--chunks", .value = 1, .offset = FIELD(all_chunks),
      .help = "List every chunk instead of a summary of the rounds." },
    CV_ROW_ALL_WORKERS(FIELD),
    CV_ROW_GANTT(FIELD),
    CV_ROW_WIDTH(FIELD, "the chart"),
    CV_ROW_TRACE(FIELD, "Write every event and order"),
    { .name = NULL },
};
/* clang-format on */

static const struct cv_option_group groups[] = {
    { "Job", cv_job_options },
    { "Price", cv_price_options },
    { "Policy", cv_policy_options },
    { "Output", output_options },
    { NULL, NULL },
};

static int show_plan(const struct cv_load_job *load, const struct cv_price *price,
                     const struct cv_load_options *values)
{
    const struct cv_screen screen = cv_screen_facts();
    struct cleave_schedule *schedule;
    struct cv_text text = { NULL, 0, 0, false };
    struct cleave_error err;
    int status;

    if (cleave_plan_load(&load->job, &schedule, &err) != CLEAVE_OK)
        return cv_print_status(&err);
    if (price != NULL)
        cv_price_judge(price, schedule);
    if (values->json) {
        status = cv_plan_json(schedule, load->platform, price, values->seed);
    } else {
        cv_plan_text(schedule, load->platform, price, values, &screen, &text);
        status = cv_print_take(&text);
    }
    if (status == CV_EXIT_DONE)
        status = cv_save_plan(values->trace, load, schedule);
    cleave_schedule_free(schedule);
    return status;
}

/* With --deadline or --budget: look for workers first, then plan for these. */
static int show_priced(const struct cv_load_job *load,
                       const struct cv_load_options *values)
{
    struct cv_load_job part = *load;
    struct cv_price price;
    int status = cv_price_open(values, load, &price);

    if (status != CV_EXIT_DONE)
        return status;
    part.platform = price.rental->platform;
    part.job.platform = price.rental->platform;
    part.job.policy = price.rental->policy;
    part.job.settings = price.rental->settings;
    part.job.nsettings = price.rental->nsettings;
    status = show_plan(&part, &price, values);
    cleave_rental_free(price.rental);
    return status;
}

static int run(const struct cv_call *call)
{
    const struct cv_load_options *values = call->values;
    struct cv_then_reduce joint;
    struct cv_load_job load;
    int status = cv_load_job_open(values, call->arena, &load);

    if (status == CV_EXIT_DONE && values->then_reduce != NULL) {
        status = cv_then_reduce_open(values, &load, CV_THEN_PLAN, call->arena, &joint);
        if (status == CV_EXIT_DONE)
            status = cv_then_reduce_show(&joint, values, load.platform);
        cv_load_job_close(&load);
        return status;
    }
    if (status == CV_EXIT_DONE)
        status = cv_trace_call(load.job.trace, call);
    if (status == CV_EXIT_DONE)
        status = values->deadline_s >= 0 || values->budget >= 0
                     ? show_priced(&load, values)
                     : show_plan(&load, NULL, values);
    cv_load_job_close(&load);
    return status;
}

const struct cv_verb cv_verb_plan_load = {
    .name = "plan load",
    .summary = "split a load over workers: what to send to whom, and when",
    .description =
        "Computes who gets how much of a load and in what order it is sent, so that the "
        "last worker ends, or the last result is back (--result-ratio), as early as the "
        "policy can make it; or, with --lifespan, how much can be done by then. Shows "
        "the result beside a bound that no schedule can beat, what every worker does, "
        "and why a worker is left out. Costs are taken as the platform file declares "
        "them; 'cleave simulate load' shows what happens when they vary. With --deadline "
        "or --budget it looks for the workers that are worth their price.",
    .groups = groups,
    .examples = "cleave plan load --platform examples/unequal.yaml --load 2000\n"
                "cleave plan load -p examples/unequal.yaml -l 2000 --policy umr --rounds "
                "3 --json\n"
                "cleave plan load -p examples/unequal.yaml -l 2000 --then-reduce "
                "transfer=2,compute=1\n"
                "cleave plan load -p examples/priced.yaml -l 2000 --deadline 1min\n"
                "cleave plan load -p examples/unequal.yaml --lifespan 2min "
                "--result-ratio 0.5 --policy best-orders",
    .presets = &cv_load_presets,
    .values_size = sizeof(struct cv_load_options),
    .run = run,
};
