/* verb_compare_reduce.c -- cleave compare reduce. SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include "base/quantity.h"
#include "cli/engines.h"
#include "cli/json_fields.h"
#include "cli/output.h"
#include "cli/plan_text.h"
#include "cli/reduce_json.h"
#include "cli/reduce_options.h"
#include "cli/reduce_rows.h"
#include "cli/tree_text.h"
#include "report/table.h"

#define FIELD(name) offsetof(struct cv_reduce_options, name)

/* clang-format off */
static const struct cv_option policy_options[] = {
    { .name = "--policies", .kind = CV_OPTION_TEXT, .argument = "A,B,...",
      .offset = FIELD(policies),
      .help = "The policies to compare, separated by commas. Default: all for "
              "reductions; those that do not apply are listed with the reason. One that "
              "is named must apply." },
    { .name = "--max-transfers", .kind = CV_OPTION_COUNT, .argument = "K",
      .offset = FIELD(max_transfers), .least = 1, .most = 4294967295.0,
      .help = "The same as --param max_transfers=K." },
    { .name = "--max-reducers", .kind = CV_OPTION_COUNT, .argument = "K",
      .offset = FIELD(max_reducers), .least = 1, .most = 4294967295.0,
      .help = "The same as --param max_reducers=K." },
    { .name = "--param", .kind = CV_OPTION_REPEAT, .argument = "KEY=VALUE",
      .offset = FIELD(params),
      .help = "Set a parameter of all policies; those without it do not apply. May be "
              "given several times." },
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

static bool is_sweep(const struct cv_reduce_table *found)
{
    return found->sweep.what != CV_SWEEP_NONE;
}

/* The shortest for a value of the sweep; NULL when nothing applies. */
static const struct cv_reduce_cell *best_of(const struct cv_reduce_table *found,
                                            size_t index)
{
    const struct cv_reduce_cell *cells = found->cells + index * found->npolicies;
    const struct cv_reduce_cell *best = NULL;

    for (size_t p = 0; p < found->npolicies; p++) {
        if (cells[p].reason == NULL &&
            (best == NULL || cells[p].stats.mean_s < best->stats.mean_s))
            best = &cells[p];
    }
    return best;
}

static double mean_of(const struct cv_reduce_cell *cell)
{
    return cell->reason == NULL ? cell->stats.mean_s : NAN;
}

/* --- JSON --------------------------------------------------------------------------- */

static void json_cells(struct cv_json *json, const struct cv_reduce_table *found,
                       size_t index)
{
    const struct cv_reduce_cell *cells = found->cells + index * found->npolicies;
    const struct cv_reduce_cell *best = best_of(found, index);

    for (size_t p = 0; p < found->npolicies; p++) {
        if (cells[p].reason != NULL)
            continue;
        cv_field_object(json, NULL);
        cv_field_text(json, "policy", cells[p].policy->name);
        cv_field_stats(json, &cells[p].stats);
        cv_field_number(json, "over_bound",
                        cv_over(cells[p].stats.mean_s, found->bounds_s[index]));
        cv_field_number(json, "over_best",
                        cv_over(cells[p].stats.mean_s, best->stats.mean_s));
        cv_json_end(json);
    }
}

static void json_reasons(struct cv_json *json, const struct cv_reduce_table *found,
                         size_t index)
{
    const struct cv_reduce_cell *cells = found->cells + index * found->npolicies;

    for (size_t p = 0; p < found->npolicies; p++) {
        if (cells[p].reason == NULL)
            continue;
        cv_field_line(json, NULL);
        cv_field_text(json, "policy", cells[p].policy->name);
        cv_field_text(json, "reason", cells[p].reason);
        cv_json_end(json);
    }
}

static int show_json(const struct cv_reduce_table *found,
                     const struct cv_reduce_job *reduce,
                     const struct cv_reduce_options *values)
{
    const bool sweep = is_sweep(found);
    struct cv_json json;

    cv_result_open(&json);
    if (found->sweep.what != CV_SWEEP_NODES)
        cv_field_count(&json, "nodes", cv_reduce_nodes(reduce));
    cv_field_text(&json, "transfer", values->transfer);
    cv_field_text(&json, "compute", values->compute);
    cv_field_text(&json, "compute_model", reduce->costs != NULL ? NULL : values->model);
    cv_field_count(&json, "runs", found->runs);
    cv_field_count(&json, "seed", values->seed);
    if (sweep)
        cv_field_text(&json, "sweep", found->sweep.name);
    else
        cv_field_number(&json, "lower_bound", found->bounds_s[0]);
    cv_field_list(&json, "rows");
    for (size_t i = 0; i < found->sweep.count; i++) {
        if (sweep) {
            cv_field_object(&json, NULL);
            cv_field_number(&json, found->sweep.name, found->sweep.values[i]);
            cv_field_number(&json, "lower_bound", found->bounds_s[i]);
            cv_field_list(&json, "policies");
        }
        json_cells(&json, found, i);
        if (sweep) {
            cv_json_end(&json);
            cv_field_list(&json, "not_applicable");
            json_reasons(&json, found, i);
            cv_json_end(&json);
            cv_json_end(&json);
        }
    }
    cv_json_end(&json);
    if (!sweep) {
        cv_field_list(&json, "not_applicable");
        json_reasons(&json, found, 0);
        cv_json_end(&json);
    }
    return cv_result_close(&json);
}

/* --- CSV ---------------------------------------------------------------------------- */

static void csv_number(struct cv_text *out, double value)
{
    char number[CV_NUMBER_SIZE];

    cv_text_add(out, ",%s", isnan(value) ? "" : cv_number_full(value, number));
}

static void csv_rows(const struct cv_reduce_table *found, struct cv_text *out)
{
    const double best = best_of(found, 0)->stats.mean_s;

    cv_text_add(out, "policy,mean,over_bound,over_best,stddev,stderr,q10,median,q90\n");
    for (size_t p = 0; p < found->npolicies; p++) {
        const struct cleave_stats *stats = &found->cells[p].stats;

        if (found->cells[p].reason != NULL)
            continue;
        cv_text_add(out, "%s", found->cells[p].policy->name);
        csv_number(out, stats->mean_s);
        csv_number(out, cv_over(stats->mean_s, found->bounds_s[0]));
        csv_number(out, cv_over(stats->mean_s, best));
        csv_number(out, stats->stddev_s);
        csv_number(out, stats->stderr_s);
        csv_number(out, stats->q10_s);
        csv_number(out, stats->median_s);
        csv_number(out, stats->q90_s);
        cv_text_add(out, "\n");
    }
}

/* A row per value; the means of all policies, then the standard errors. */
static void csv_sweep(const struct cv_reduce_table *found, struct cv_text *out)
{
    char number[CV_NUMBER_SIZE];

    cv_text_add(out, "%s,lower_bound", found->sweep.name);
    for (size_t p = 0; p < found->npolicies; p++)
        cv_text_add(out, ",%s", found->policies[p]->name);
    for (size_t p = 0; p < found->npolicies; p++)
        cv_text_add(out, ",%s_stderr", found->policies[p]->name);
    cv_text_add(out, "\n");
    for (size_t i = 0; i < found->sweep.count; i++) {
        const struct cv_reduce_cell *cells = found->cells + i * found->npolicies;

        cv_text_add(out, "%s", cv_number_short(found->sweep.values[i], number));
        csv_number(out, found->bounds_s[i]);
        for (size_t p = 0; p < found->npolicies; p++)
            csv_number(out, mean_of(&cells[p]));
        for (size_t p = 0; p < found->npolicies; p++)
            csv_number(out, cells[p].reason == NULL ? cells[p].stats.stderr_s : NAN);
        cv_text_add(out, "\n");
    }
}

/* --- text --------------------------------------------------------------------------- */

static void add_rows(const struct cv_reduce_table *found, const struct cv_screen *screen,
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
    const double best = best_of(found, 0)->stats.mean_s;
    struct cv_table table;

    cv_table_init(&table, columns, varies ? 6 : 4);
    for (size_t p = 0; p < found->npolicies; p++) {
        const struct cleave_stats *stats = &found->cells[p].stats;

        if (found->cells[p].reason != NULL)
            continue;
        cv_table_text(&table, found->cells[p].policy->name);
        cv_table_number(&table, stats->mean_s);
        cv_table_number(&table, cv_over(stats->mean_s, found->bounds_s[0]));
        cv_table_number(&table, cv_over(stats->mean_s, best));
        if (varies) {
            cv_table_number(&table, stats->stderr_s);
            cv_table_number(&table, stats->q90_s);
        }
    }
    cv_table_write(&table, screen->colour, screen->width, out);
    cv_table_done(&table);
}

static void add_sweep(const struct cv_reduce_table *found, const struct cv_screen *screen,
                      struct cv_text *out)
{
    struct cv_column columns[CV_TABLE_COLUMNS];
    const size_t n =
        found->npolicies + 2 < CV_TABLE_COLUMNS ? found->npolicies : CV_TABLE_COLUMNS - 2;
    char number[CV_NUMBER_SIZE];
    struct cv_table table;

    columns[0] = (struct cv_column){ found->sweep.name, CV_COLUMN_TEXT };
    for (size_t p = 0; p < n; p++)
        columns[p + 1] = (struct cv_column){ found->policies[p]->name, CV_COLUMN_NUMBER };
    columns[n + 1] = (struct cv_column){ "best", CV_COLUMN_TEXT };
    cv_table_init(&table, columns, n + 2);
    for (size_t i = 0; i < found->sweep.count; i++) {
        const struct cv_reduce_cell *best = best_of(found, i);

        snprintf(number, sizeof number, "%.5g", found->sweep.values[i]);
        cv_table_text(&table, number);
        for (size_t p = 0; p < n; p++)
            cv_table_number(&table, mean_of(&found->cells[i * found->npolicies + p]));
        cv_table_text(&table, best != NULL ? best->policy->name : "-");
    }
    cv_table_write(&table, screen->colour, screen->width, out);
    cv_table_done(&table);
}

/* Those that never apply, with the reason at the first value. */
static void add_reasons(const struct cv_reduce_table *found,
                        const struct cv_screen *screen, struct cv_text *out)
{
    static const struct cv_column columns[] = {
        { "does not apply", CV_COLUMN_TEXT },
        { "why", CV_COLUMN_TEXT },
    };
    struct cv_table table;

    cv_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (size_t p = 0; p < found->npolicies; p++) {
        if (found->cells[p].reason == NULL)
            continue;
        cv_table_text(&table, found->cells[p].policy->name);
        cv_table_text(&table, found->cells[p].reason);
    }
    if (table.ncells > 0) {
        cv_text_add(out, "\n");
        cv_table_write(&table, screen->colour, screen->width, out);
    }
    cv_table_done(&table);
}

static void add_text(const struct cv_reduce_table *found,
                     const struct cv_reduce_job *reduce, struct cv_text *out)
{
    const struct cv_screen screen = cv_screen_facts();
    char number[CV_NUMBER_ROOM], counted[CV_COUNTED_ROOM], before[96] = "";

    if (found->runs > 1)
        snprintf(before, sizeof before, "%s of each policy, ",
                 cv_counted(found->runs, "run", counted));
    if (is_sweep(found)) {
        cv_text_add(out, "%s%smean length in s for %zu values of %s%s\n\n",
                    screen.colour ? "\033[1m" : "", before, found->sweep.count,
                    found->sweep.name, screen.colour ? "\033[0m" : "");
        add_sweep(found, &screen, out);
    } else {
        cv_reduce_headline(reduce, before, &screen, out);
        cv_text_add(out, "bound     at least %s s%s\n\n",
                    cv_show_number(found->bounds_s[0], number),
                    found->runs > 1 ? " for costs at their means" : "");
        add_rows(found, &screen, out);
    }
    add_reasons(found, &screen, out);
}

static int show(const struct cv_reduce_table *found, const struct cv_reduce_job *reduce,
                const struct cv_reduce_options *values)
{
    struct cv_text text = { NULL, 0, 0, false };

    if (values->json)
        return show_json(found, reduce, values);
    if (!values->csv)
        add_text(found, reduce, &text);
    else if (is_sweep(found))
        csv_sweep(found, &text);
    else
        csv_rows(found, &text);
    return cv_print_take(&text);
}

static int run(const struct cv_call *call)
{
    const struct cv_reduce_options *values = call->values;
    struct cv_reduce_table found = { .cells = NULL };
    struct cv_reduce_job reduce = { .costs = NULL };
    int status;

    if (values->json && values->csv)
        return cv_complain(CV_EXIT_USAGE, "--json and --csv cannot both be written");
    if (values->sweep != NULL && values->costs != NULL)
        return cv_complain(CV_EXIT_USAGE,
                           "--sweep: the costs of a file do not vary; leave out --costs");
    if (values->runs > 1 && values->costs != NULL)
        return cv_complain(CV_EXIT_USAGE,
                           "--runs: the costs of a file do not vary, so that "
                           "all runs are the same; leave out --runs");
    status = cv_engine_check(values->engine);
    if (status == CV_EXIT_DONE)
        status = cv_sweep_read(values->sweep, call->arena, &found.sweep);
    if (status == CV_EXIT_DONE)
        status = cv_reduce_job_open(values, found.sweep.name, call->arena, &reduce);
    if (status == CV_EXIT_DONE)
        status = cv_reduce_measure(values, &reduce, call->arena, &found);
    if (status == CV_EXIT_DONE)
        status = show(&found, &reduce, values);
    cv_reduce_job_close(&reduce);
    return status;
}

const struct cv_verb cv_verb_compare_reduce = {
    .name = "compare reduce",
    .summary = "several policies for one reduction, in one table",
    .description =
        "Gives the same reduction to several policies and lists them by length, with how "
        "far each is over what no tree can beat and over the best of them. When costs "
        "vary "
        "each policy makes many runs and all meet the same costs; exact costs need one. "
        "With --sweep the costs or the number of nodes take many values.",
    .groups = groups,
    .examples = "cleave compare reduce --nodes 64 --transfer gamma:1,0.5 --compute "
                "gamma:1,0.5\n"
                "cleave compare reduce --costs examples/costs.json\n"
                "cleave compare reduce -N 64 -d gamma:1,1 -c 0 --sweep cv=0.01:10:log:7 "
                "--runs 200",
    .presets = &cv_reduce_presets,
    .values_size = sizeof(struct cv_reduce_options),
    .run = run,
};
