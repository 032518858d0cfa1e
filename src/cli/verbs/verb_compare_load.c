/* verb_compare_load.c -- cleave compare load. SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>
#include "cli/compare/comparison.h"
#include "cli/common/job_options.h"
#include "cli/load/plan_show.h"
#include "cli/load/load_options.h"
#include "cli/load/then_reduce.h"
#include "cli/load/load_rows.h"
#include "cli/common/output.h"
#include "io/json_out.h"
#include "report/terminal/table.h"

/* The options of all verbs about a load come first, as their tables expect. */
struct compare_options {
    struct cv_load_options load;
    const char *sweep;
    struct cv_compare_output output;
    int csv;
};

#define FIELD(name) offsetof(struct compare_options, load.name)
#define OWN(name) offsetof(struct compare_options, name)
#define OUTPUT(name) OWN(output.name)

/* clang-format off */
static const struct cv_option policy_options[] = {
    { .name = "--policies", .kind = CV_OPTION_TEXT, .argument = "A,B,...",
      .offset = FIELD(policies),
      .help = "The policies to compare, separated by commas. Default: all; those that do "
              "not apply are listed with the reason. One that is named must apply." },
    { .name = "--rounds", .kind = CV_OPTION_COUNT, .argument = "M",
      .offset = FIELD(rounds),
      .min = 1, .max = 1e9,
      .help = "The same as --param rounds=M: compares the policies that have this "
              "parameter." },
    CV_ROW_PARAM_OF_ALL(FIELD),
    { .name = NULL },
};

static const struct cv_option sweep_options[] = {
    { .name = "--sweep", .kind = CV_OPTION_TEXT, .argument = "SWEEP",
      .offset = OWN(sweep),
      .help = "Compare for many values of one thing: latency, bandwidth, speed or "
              "compute-latency of every worker, the same times a factor "
              "(latency-factor ..), workers (the first so many), load, result-ratio, "
              "error, or budget: the fastest plan that costs so much at most, time against "
              "money. latency=0:10:0.5 goes in steps, load=1:1000:log takes four values "
              "per factor of ten, load=1:1000:log:7 seven in all." },
    { .name = NULL },
};

static const struct cv_option output_options[] = {
    { .name = "--json", .value = 1, .offset = FIELD(json),
      .help = "Write JSON: load, bound, rows and not_applicable." },
    { .name = "--csv", .value = 1, .offset = OWN(csv),
      .help = "Write comma-separated values, with a heading." },
    CV_COMPARE_OUTPUT_OPTIONS(OUTPUT),
    { .name = NULL },
};
/* clang-format on */

static const struct cv_option_group groups[] = {
    { "Job", cv_simulated_job_options }, { "Policies", policy_options },
    { "Sweep", sweep_options },          { "Runs", cv_trial_options },
    { "Output", output_options },        { NULL, NULL },
};

/* --- JSON --------------------------------------------------------------------------- */

static void json_cells(struct cv_json *json, const struct cv_comparison *found,
                       size_t index)
{
    const struct cv_compare_cell *cells = cv_compare_cells(found, index);

    for (size_t p = 0; p < found->npolicies; p++) {
        const struct cleave_stats *stats = &cells[p].stats;

        if (cells[p].reason != NULL)
            continue;
        cv_field_object(json, NULL);
        cv_field_text(json, "policy", cells[p].policy->name);
        cv_field_text(json, "picked", stats->picked);
        if (found->lives)
            cv_field_number(json, "work", stats->load);
        if (found->noisy)
            cv_field_times(json, "makespan", stats);
        else
            cv_field_number(json, "makespan", stats->mean_s);
        cv_field_number(json, "over_bound",
                        cv_compare_over_bound(found, index, &cells[p]));
        cv_field_number(json, "over_best", cv_compare_over_best(found, index, &cells[p]));
        if (found->sweep.what == CV_SWEEP_BUDGET)
            cv_field_number(json, "cost", cells[p].cost);
        cv_field_number(json, "utilisation", stats->utilisation);
        cv_field_number(json, "chunks", stats->chunks);
        cv_json_end(json);
    }
}

static void json_sweep(struct cv_json *json, const struct cv_comparison *found)
{
    cv_field_list(json, "rows");
    for (size_t i = 0; i < found->sweep.count; i++) {
        cv_field_object(json, NULL);
        cv_field_number(json, found->sweep.name, found->sweep.values[i]);
        cv_field_bound(json, "bound", &found->bounds[i]);
        cv_field_list(json, "policies");
        json_cells(json, found, i);
        cv_json_end(json);
        cv_compare_json_reasons(json, found, i);
        cv_json_end(json);
    }
    cv_json_end(json);
}

/* What is compared, before how: with a reduction the plan for both comes first. */
static void json_job(struct cv_json *json, const struct cv_comparison *found,
                     const struct cv_load_options *values,
                     const struct cv_then_reduce *joint)
{
    if (joint != NULL && !cv_compare_is_sweep(found)) {
        cv_then_reduce_json(json, joint, values);
        return;
    }
    cv_result_open(json);
    if (found->lives)
        cv_field_number(json, "lifespan", values->lifespan_s);
    else if (found->sweep.what != CV_SWEEP_LOAD)
        cv_field_number(json, "load", values->load.units);
    if (joint != NULL)
        cv_field_then_reduce(json, joint);
    if (values->result_ratio > 0 && found->sweep.what != CV_SWEEP_RESULT_RATIO)
        cv_field_number(json, "result_ratio", values->result_ratio);
}

static int show_json(const struct cv_comparison *found,
                     const struct cv_load_options *values,
                     const struct cv_then_reduce *joint, const char *noise)
{
    struct cv_json json;

    json_job(&json, found, values, joint);
    cv_field_count(&json, "runs", found->runs);
    cv_field_count(&json, "seed", values->seed);
    if (found->sweep.what != CV_SWEEP_ERROR)
        cv_field_text(&json, "noise", noise);
    if (cv_compare_is_sweep(found)) {
        cv_field_text(&json, "sweep", found->sweep.name);
        json_sweep(&json, found);
        return cv_result_close(&json);
    }
    cv_field_bound(&json, joint != NULL ? "load_bound" : "bound", &found->bounds[0]);
    cv_field_list(&json, "rows");
    json_cells(&json, found, 0);
    cv_json_end(&json);
    cv_compare_json_reasons(&json, found, 0);
    return cv_result_close(&json);
}

/* --- text --------------------------------------------------------------------------- */

static void add_rows(const struct cv_comparison *found, const struct cv_screen *screen,
                     struct cv_text *out)
{
    const bool noisy = found->noisy;
    const struct cv_column columns[] = {
        { "policy", CV_COLUMN_TEXT },
        { found->lives ? "units"
          : noisy      ? "mean s"
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

    cv_table_init(&table, columns, noisy ? 8 : 6);
    for (size_t i = 0; i < found->npolicies; i++) {
        const struct cv_compare_cell *cell = &found->cells[i];
        const struct cleave_stats *stats = &cell->stats;
        char name[96];

        if (cell->reason != NULL)
            continue;
        snprintf(name, sizeof name, "%s%s%s", cell->policy->name,
                 stats->picked != NULL ? ": " : "",
                 stats->picked != NULL ? stats->picked : "");
        cv_table_text(&table, name);
        cv_table_number(&table, cv_compare_value(found, cell));
        cv_table_number(&table, cv_compare_over_bound(found, 0, cell));
        cv_table_number(&table, cv_compare_over_best(found, 0, cell));
        cv_table_number(&table, stats->chunks);
        cv_table_number(&table, stats->utilisation);
        if (noisy) {
            cv_table_number(&table, stats->stderr_s);
            cv_table_number(&table, stats->q90_s);
        }
    }
    cv_table_write(&table, screen->colour, screen->width, out);
    cv_table_done(&table);
}

/* "2000 units on 9 workers, 200 runs of each policy, noise normal:0.2" */
static void add_headline(const struct cv_comparison *found,
                         const struct cv_load_options *values,
                         const struct cv_then_reduce *joint, const char *noise,
                         uint32_t nworkers, struct cv_text *out)
{
    char counted[CV_COUNTED_ROOM];

    cv_load_words(values->load.units, values->lifespan_s, values->result_ratio, nworkers,
                  out);
    if (joint != NULL)
        cv_then_reduce_words(joint, out);
    if (found->noisy)
        cv_text_add(out, ", %s of each policy, noise %s",
                    cv_counted(found->runs, "run", counted), noise);
}

static void add_text(const struct cv_comparison *found,
                     const struct cv_load_options *values,
                     const struct cv_then_reduce *joint, const char *noise,
                     uint32_t nworkers, struct cv_text *out)
{
    const struct cleave_bound *bound = &found->bounds[0];
    const struct cv_screen screen = cv_screen_facts();
    char number[CV_NUMBER_ROOM];

    cv_text_add(out, "%s", screen.colour ? "\033[1m" : "");
    if (cv_compare_is_sweep(found)) {
        cv_text_add(out, "%s for %zu values of %s",
                    found->lives   ? "units done"
                    : found->noisy ? "mean makespan in s"
                                   : "makespan in s",
                    found->sweep.count, found->sweep.name);
        cv_text_add(out, "%s\n\n", screen.colour ? "\033[0m" : "");
        cv_compare_sweep_table(found, &screen, out);
    } else {
        add_headline(found, values, joint, noise, nworkers, out);
        cv_text_add(out, "%s\n", screen.colour ? "\033[0m" : "");
        if (joint != NULL)
            cv_then_reduce_plans(joint, &screen, out);
        cv_text_add(out, "%s     %s %s (%s)\n\n", joint != NULL ? "\nload " : "bound",
                    cv_show_number(bound->value_s, number), found->lives ? "units" : "s",
                    bound->name);
        add_rows(found, &screen, out);
    }
    cv_compare_reasons(found, &screen, out);
}

/* --- the page ----------------------------------------------------------------------- */

static int show_page(const struct cv_comparison *found, const struct cv_call *call,
                     const struct cv_then_reduce *joint, const char *noise,
                     uint32_t nworkers)
{
    const struct compare_options *values = call->values;
    struct cv_text title = { NULL, 0, 0, false }, facts = { NULL, 0, 0, false };
    char counted[CV_COUNTED_ROOM];
    int status;

    if (found->sweep.what == CV_SWEEP_LOAD || found->sweep.what == CV_SWEEP_WORKERS)
        cv_text_add(&title, "Policies for a load, by %s", found->sweep.name);
    else
        cv_load_words(values->load.load.units, values->load.lifespan_s,
                      values->load.result_ratio, nworkers, &title);
    if (joint != NULL)
        cv_then_reduce_words(joint, &title);
    if (found->noisy)
        cv_text_add(&facts, "%s of each policy, noise %s, seed %llu",
                    cv_counted(found->runs, "run", counted),
                    found->sweep.what == CV_SWEEP_ERROR ? "normal with that error"
                                                        : noise,
                    (unsigned long long)values->load.seed);
    else
        cv_text_add(&facts, "one exact run of each policy, costs as declared");
    if (title.failed || facts.failed)
        status = cv_no_memory("the page");
    else
        status = cv_compare_page(found, &values->output,
                                 &(struct cv_compare_words){
                                     .title = title.bytes,
                                     .measure = found->lives   ? "units done"
                                                : found->noisy ? "mean makespan, s"
                                                               : "makespan, s",
                                     .facts = facts.bytes },
                                 call);
    cv_text_done(&title);
    cv_text_done(&facts);
    return status;
}

static int show(const struct cv_comparison *found, const struct cv_call *call,
                const struct cv_then_reduce *joint, const char *noise, uint32_t nworkers)
{
    const struct compare_options *values = call->values;
    struct cv_text text = { NULL, 0, 0, false };

    if (values->output.page != NULL)
        return show_page(found, call, joint, noise, nworkers);
    if (values->load.json)
        return show_json(found, &values->load, joint, noise);
    if (values->csv)
        cv_compare_csv(found, &text);
    else
        add_text(found, &values->load, joint, noise, nworkers, &text);
    return cv_print_take(&text);
}

/* The sweep, and a load for the job to begin with if that is what varies. */
static int read_sweep(const struct compare_options *values, struct cv_arena *arena,
                      struct cv_load_options *job, struct cv_sweep *out)
{
    const int status = cv_sweep_read(values->sweep, CLEAVE_TASK_LOAD, arena, out);

    if (status != CV_EXIT_DONE || out->what != CV_SWEEP_LOAD)
        return status;
    if (job->lifespan_s > 0)
        return cv_refuse("--sweep: with --lifespan there is no load");
    job->load.units = out->values[0];
    return status;
}

static bool sweeps(const struct compare_options *values, const char *what)
{
    const size_t length = strlen(what);

    return values->sweep != NULL && strncmp(values->sweep, what, length) == 0 &&
           values->sweep[length] == '=';
}

/* Options that do not go together. */
static int check_options(const struct compare_options *values)
{
    const struct cv_load_options *options = &values->load;

    if (options->json && values->csv)
        return cv_refuse("--json and --csv cannot both be written");
    if (values->output.page != NULL && (options->json || values->csv))
        return cv_refuse("--output writes a page: leave out --json and --csv");
    if (options->where.file != NULL && values->sweep != NULL && !sweeps(values, "load") &&
        !sweeps(values, "result-ratio"))
        return cv_refuse("--sweep: on a topology only load and result-ratio can vary");
    if ((options->noise != NULL || options->error > 0 || options->lifespan_s > 0) &&
        sweeps(values, "budget"))
        return cv_refuse("--sweep: a budget is for exact plans of a load; leave out "
                         "--noise, --error and --lifespan");
    if (options->noise != NULL && sweeps(values, "error"))
        return cv_refuse("--sweep: error and --noise cannot both say how costs vary");
    if (options->then_reduce != NULL &&
        (sweeps(values, "budget") || sweeps(values, "result-ratio")))
        return cv_refuse(
            "--then-reduce does not go with a --sweep of budget or result-ratio");
    return CV_EXIT_DONE;
}

static int run(const struct cv_call *call)
{
    const struct compare_options *values = call->values;
    struct cv_load_options options = values->load;
    struct cv_comparison found = { .cells = NULL };
    struct cv_load_job load = { .platform = NULL };
    const bool reduced = options.then_reduce != NULL;
    struct cv_then_reduce joint;
    char noise[CV_NOISE_ROOM];
    int status;

    status = check_options(values);
    if (status != CV_EXIT_DONE)
        return status;
    status = read_sweep(values, call->arena, &options, &found.sweep);
    if (status == CV_EXIT_DONE)
        status = cv_load_job_open(&options, call->arena, &load);
    if (status == CV_EXIT_DONE)
        status = reduced ? cv_then_reduce_open(&options, &load, CV_THEN_POLICIES,
                                               call->arena, &joint)
                         : CV_EXIT_DONE;
    if (status == CV_EXIT_DONE)
        status = cv_load_measure(&options, &load, reduced ? &joint.job : NULL,
                                 call->arena, &found, noise);
    if (status == CV_EXIT_DONE)
        status = show(&found, call, reduced ? &joint : NULL, noise,
                      cleave_platform_nworkers(load.platform));
    cv_load_job_close(&load);
    return status;
}

/* As cv_load_presets. */
static const struct compare_options presets = {
    .load = { .seed = 1, .runs = 1000, .gantt = 1 },
};

const struct cv_verb cv_verb_compare_load = {
    .name = "compare load",
    .summary = "several policies on one platform, in one table",
    .description =
        "Gives the same load, or with --lifespan the same time, to several policies and "
        "lists the best first, with how far each is from the bound that no schedule can "
        "beat and from the best of them. Policies about the order of results take part "
        "when there are any (--result-ratio). With --error or --noise each policy makes "
        "many runs and all meet the same random factors; without, one exact run each. "
        "With --sweep it does so for many values of one thing, and with --output it "
        "draws the result.",
    .groups = groups,
    .examples = "cleave compare load --platform examples/unequal.yaml --load 2000\n"
                "cleave compare load -p examples/unequal.yaml -l 2000 --policies "
                "umr,factoring --error 0.3\n"
                "cleave compare load -p examples/unequal.yaml -l 2000 --sweep "
                "latency=0:2:0.5 -o latency.html\n"
                "cleave compare load -p examples/priced.yaml -l 2000 --policies "
                "auto,umr-plus --sweep budget=6:24:3",
    .presets = &presets,
    .values_size = sizeof(struct compare_options),
    .run = run,
};
