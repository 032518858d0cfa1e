/* verb_compare_reduce.c -- cleave compare reduce. SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>
#include "cli/common/job_options.h"
#include "cli/common/output.h"
#include "cli/reduce/reduce_options.h"
#include "cli/reduce/reduce_rows.h"
#include "cli/reduce/reduce_show.h"
#include "io/json_out.h"
#include "report/terminal/table.h"

/* The options of all verbs about a reduction come first, as their tables expect. */
struct compare_options {
    struct cv_reduce_options reduce;
    struct cv_compare_output output;
};

#define FIELD(name) offsetof(struct compare_options, reduce.name)
#define OUTPUT(name) offsetof(struct compare_options, output.name)

/* clang-format off */
static const struct cv_option policy_options[] = {
    { .name = "--policies", .kind = CV_OPTION_TEXT, .argument = "A,B,...",
      .offset = FIELD(policies),
      .help = "The policies to compare, separated by commas. Default: all for "
              "reductions; those that do not apply are listed with the reason. One that "
              "is named must apply." },
    { .name = "--max-transfers", .kind = CV_OPTION_COUNT, .argument = "K",
      .offset = FIELD(max_transfers), .min = 1, .max = 4294967295.0,
      .help = "The same as --param max_transfers=K." },
    { .name = "--max-reducers", .kind = CV_OPTION_COUNT, .argument = "K",
      .offset = FIELD(max_reducers), .min = 1, .max = 4294967295.0,
      .help = "The same as --param max_reducers=K." },
    CV_ROW_PARAM_OF_ALL(FIELD),
    { .name = NULL },
};

static const struct cv_option sweep_options[] = {
    { .name = "--sweep", .kind = CV_OPTION_TEXT, .argument = "SWEEP",
      .offset = FIELD(sweep),
      .help = "Compare for many values of one thing: cv (of both laws, which must be "
              "gamma:MEAN,CV), transfer or compute (their means) or nodes. "
              "cv=0.01:10:log takes four values per factor of ten, cv=0.01:10:log:7 seven "
              "in all, nodes=16:256:16 goes in steps. One row per value, one column per "
              "policy." },
    { .name = NULL },
};

static const struct cv_option output_options[] = {
    { .name = "--json", .value = 1, .offset = FIELD(json),
      .help = "Write JSON: the rows, and what does not apply." },
    { .name = "--csv", .value = 1, .offset = FIELD(csv),
      .help = "Write comma-separated values, with a heading." },
    CV_COMPARE_OUTPUT_OPTIONS(OUTPUT),
    { .name = NULL },
};
/* clang-format on */

static const struct cv_option_group groups[] = {
    { "Reduction", cv_reduce_job_options },
    { "Policies", policy_options },
    { "Sweep", sweep_options },
    { "Runs", cv_reduce_trial_options },
    { "Output", output_options },
    { NULL, NULL },
};

/* --- JSON --------------------------------------------------------------------------- */

static void json_cells(struct cv_json *json, const struct cv_comparison *found,
                       size_t index)
{
    const struct cv_compare_cell *cells = cv_compare_cells(found, index);

    for (size_t p = 0; p < found->npolicies; p++) {
        if (cells[p].reason != NULL)
            continue;
        cv_field_object(json, NULL);
        cv_field_text(json, "policy", cells[p].policy->name);
        cv_field_stats(json, &cells[p].stats);
        cv_field_number(json, "over_bound",
                        cv_compare_over_bound(found, index, &cells[p]));
        cv_field_number(json, "over_best", cv_compare_over_best(found, index, &cells[p]));
        cv_json_end(json);
    }
}

static int show_json(const struct cv_comparison *found,
                     const struct cv_reduce_job *reduce,
                     const struct cv_reduce_options *values)
{
    const bool sweep = cv_compare_is_sweep(found);
    struct cv_json json;

    cv_result_open(&json);
    if (found->sweep.what != CV_SWEEP_NODES)
        cv_field_count(&json, "nodes", cv_reduce_nodes(reduce));
    cv_field_text(&json, "transfer", values->transfer);
    cv_field_text(&json, "compute", values->compute);
    cv_field_text(&json, "compute_model", reduce->costs != NULL ? NULL : values->model);
    if (values->ready != NULL) {
        cv_field_text(&json, "ready", values->ready);
        cv_field_text(&json, "ready_model", cv_ready_model_name(reduce->job.ready_model));
    }
    cv_field_count(&json, "runs", found->runs);
    cv_field_count(&json, "seed", values->seed);
    if (sweep)
        cv_field_text(&json, "sweep", found->sweep.name);
    else
        cv_field_number(&json, "lower_bound", found->bounds[0].value_s);
    cv_field_list(&json, "rows");
    for (size_t i = 0; i < found->sweep.count; i++) {
        if (sweep) {
            cv_field_object(&json, NULL);
            cv_field_number(&json, found->sweep.name, found->sweep.values[i]);
            cv_field_number(&json, "lower_bound", found->bounds[i].value_s);
            cv_field_list(&json, "policies");
        }
        json_cells(&json, found, i);
        if (sweep) {
            cv_json_end(&json);
            cv_compare_json_reasons(&json, found, i);
            cv_json_end(&json);
        }
    }
    cv_json_end(&json);
    if (!sweep)
        cv_compare_json_reasons(&json, found, 0);
    return cv_result_close(&json);
}

/* --- text --------------------------------------------------------------------------- */

static void add_rows(const struct cv_comparison *found, const struct cv_screen *screen,
                     struct cv_text *out)
{
    const bool varies = found->runs > 1;
    const struct cv_column columns[] = {
        { "policy", CV_COLUMN_TEXT },
        { varies ? "mean s" : "length s", CV_COLUMN_NUMBER },
        { "over bound", CV_COLUMN_OVER },
        { "over best", CV_COLUMN_OVER },
        { "std error", CV_COLUMN_NUMBER },
        { "90% below", CV_COLUMN_NUMBER },
    };
    struct cv_table table;

    cv_table_init(&table, columns, varies ? 6 : 4);
    for (size_t p = 0; p < found->npolicies; p++) {
        const struct cleave_stats *stats = &found->cells[p].stats;

        if (found->cells[p].reason != NULL)
            continue;
        cv_table_text(&table, found->cells[p].policy->name);
        cv_table_number(&table, stats->mean_s);
        cv_table_number(&table, cv_compare_over_bound(found, 0, &found->cells[p]));
        cv_table_number(&table, cv_compare_over_best(found, 0, &found->cells[p]));
        if (varies) {
            cv_table_number(&table, stats->stderr_s);
            cv_table_number(&table, stats->q90_s);
        }
    }
    cv_table_write(&table, screen->colour, screen->width, out);
    cv_table_done(&table);
}

static void add_text(const struct cv_comparison *found,
                     const struct cv_reduce_job *reduce, struct cv_text *out)
{
    const struct cv_screen screen = cv_screen_facts();
    char number[CV_NUMBER_ROOM], counted[CV_COUNTED_ROOM], before[96] = "";

    if (found->runs > 1)
        snprintf(before, sizeof before, "%s of each policy, ",
                 cv_counted(found->runs, "run", counted));
    if (cv_compare_is_sweep(found)) {
        cv_text_add(out, "%s%smean length in s for %zu values of %s%s\n\n",
                    screen.colour ? "\033[1m" : "", before, found->sweep.count,
                    found->sweep.name, screen.colour ? "\033[0m" : "");
        cv_compare_sweep_table(found, &screen, out);
    } else {
        cv_reduce_headline(reduce, before, &screen, out);
        cv_text_add(out, "bound     at least %s s%s\n\n",
                    cv_show_number(found->bounds[0].value_s, number),
                    found->runs > 1 ? " for costs at their means" : "");
        add_rows(found, &screen, out);
    }
    cv_compare_reasons(found, &screen, out);
}

static int show_page(const struct cv_comparison *found, const struct cv_call *call,
                     const struct cv_reduce_job *reduce)
{
    const struct compare_options *values = call->values;
    const struct cv_reduce_options *options = &values->reduce;
    struct cv_text title = { NULL, 0, 0, false }, facts = { NULL, 0, 0, false };
    char counted[CV_COUNTED_ROOM];
    int status;

    if (found->sweep.what == CV_SWEEP_NODES)
        cv_text_add(&title, "Policies for a reduction, by nodes");
    else
        cv_text_add(&title, "A reduction of %s",
                    cv_counted(cv_reduce_nodes(reduce), "node", counted));
    if (found->noisy)
        cv_text_add(&facts, "%s of each policy", cv_counted(found->runs, "run", counted));
    else
        cv_text_add(&facts, "one exact run of each policy");
    if (options->transfer != NULL)
        cv_text_add(&facts, ", transfer %s", options->transfer);
    if (options->compute != NULL)
        cv_text_add(&facts, ", compute %s", options->compute);
    if (found->noisy)
        cv_text_add(&facts, ", seed %llu", (unsigned long long)options->seed);
    if (title.failed || facts.failed)
        status = cv_no_memory("the page");
    else
        status =
            cv_compare_page(found, &values->output,
                            &(struct cv_compare_words){
                                .title = title.bytes,
                                .measure = found->noisy ? "mean length, s" : "length, s",
                                .facts = facts.bytes },
                            call);
    cv_text_done(&title);
    cv_text_done(&facts);
    return status;
}

static int show(const struct cv_comparison *found, const struct cv_reduce_job *reduce,
                const struct cv_call *call)
{
    const struct compare_options *values = call->values;
    struct cv_text text = { NULL, 0, 0, false };

    if (values->output.page != NULL)
        return show_page(found, call, reduce);
    if (values->reduce.json)
        return show_json(found, reduce, &values->reduce);
    if (values->reduce.csv)
        cv_compare_csv(found, &text);
    else
        add_text(found, reduce, &text);
    return cv_print_take(&text);
}

/* What cannot go together. */
static int check(const struct compare_options *values)
{
    const struct cv_reduce_options *options = &values->reduce;

    if (options->json && options->csv)
        return cv_refuse("--json and --csv cannot both be written");
    if (values->output.page != NULL && (options->json || options->csv))
        return cv_refuse("--output writes a page: leave out --json and --csv");
    if (options->sweep != NULL && options->costs != NULL)
        return cv_refuse("--sweep: the costs of a file do not vary; leave out --costs");
    if (options->where.file != NULL && options->sweep != NULL &&
        strncmp(options->sweep, "compute=", 8) != 0)
        return cv_refuse("--sweep: on a topology only compute can vary");
    if (options->sweep != NULL && options->ready != NULL)
        return cv_refuse("--sweep: compares without ready times; leave out --ready");
    if (options->runs > 1 && options->costs != NULL && options->ready == NULL)
        return cv_refuse("--runs: the costs of a file do not vary, so that all runs are "
                         "the same; leave out --runs");
    return cv_engine_check(options->engine);
}

static int run(const struct cv_call *call)
{
    const struct compare_options *values = call->values;
    struct cv_comparison found = { .cells = NULL };
    struct cv_reduce_job reduce = { .costs = NULL };
    int status = check(values);

    if (status == CV_EXIT_DONE)
        status = cv_sweep_read(values->reduce.sweep, CLEAVE_TASK_REDUCE, call->arena,
                               &found.sweep);
    if (status == CV_EXIT_DONE)
        status =
            cv_reduce_job_open(&values->reduce, found.sweep.name, call->arena, &reduce);
    if (status == CV_EXIT_DONE)
        status = cv_reduce_measure(&values->reduce, &reduce, call->arena, &found);
    if (status == CV_EXIT_DONE)
        status = show(&found, &reduce, call);
    cv_reduce_job_close(&reduce);
    return status;
}

/* As cv_reduce_presets. */
static const struct compare_options presets = {
    .reduce = { .remote = 1, .model = "fresh", .seed = 1, .tree = 1 },
};
const struct cv_verb cv_verb_compare_reduce = {
    .name = "compare reduce",
    .summary = "several policies for one reduction, in one table",
    .description =
        "Gives the same reduction to several policies and lists them by length, with how "
        "far each is over what no tree can beat and over the best of them. When costs "
        "vary each policy makes many runs and all meet the same costs; exact costs need "
        "one. With --sweep the costs or the number of nodes take many values.",
    .groups = groups,
    .examples =
        "cleave compare reduce --nodes 64 --transfer gamma:1,0.5 --compute gamma:1,0.5\n"
        "cleave compare reduce --costs examples/costs.json\n"
        "cleave compare reduce -N 64 -d gamma:1,1 -c 0 --sweep cv=0.01:10:log:7 --runs "
        "200",
    .presets = &presets,
    .values_size = sizeof(struct compare_options),
    .run = run,
};
