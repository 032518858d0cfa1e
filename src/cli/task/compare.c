/* compare.c -- the flow of compare: several policies, for many values of one quantity.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/quantity.h"
#include "cli/task/task.h"
#include "report/page/html_compare.h"

bool cv_compare_is_sweep(const struct cv_comparison *found)
{
    return found->sweep.what != CV_SWEEP_NONE;
}

static struct cv_compare_cell *cells_of(const struct cv_comparison *found, size_t index)
{
    return found->cells + index * found->npolicies;
}

/* The mean time or, with a lifespan, the units; NAN if the policy does not apply. */
static double value_of(const struct cv_comparison *found,
                       const struct cv_compare_cell *cell)
{
    if (cell->reason != NULL)
        return NAN;
    return found->lives ? cell->stats.load : cell->stats.mean_s;
}

/* The best for a value of the sweep; NULL when no policy applies. */
static const struct cv_compare_cell *best_of(const struct cv_comparison *found,
                                             size_t index)
{
    const struct cv_compare_cell *cells = cells_of(found, index), *best = NULL;

    for (size_t p = 0; p < found->npolicies; p++) {
        const double value = value_of(found, &cells[p]);
        const double least = best != NULL ? value_of(found, best) : NAN;

        if (!isnan(value) &&
            (best == NULL || (found->lives ? value > least : value < least)))
            best = &cells[p];
    }
    return best;
}

static double over(const struct cv_comparison *found, const struct cv_compare_cell *cell,
                   double base)
{
    const double value = value_of(found, cell);

    return found->lives ? cv_over(base, value) : cv_over(value, base);
}

double cv_compare_over_bound(const struct cv_comparison *found, size_t index,
                             const struct cv_compare_cell *cell)
{
    return over(found, cell, found->bounds[index].value_s);
}

double cv_compare_over_best(const struct cv_comparison *found, size_t index,
                            const struct cv_compare_cell *cell)
{
    return over(found, cell, value_of(found, best_of(found, index)));
}

/* Best first, policies that do not apply last. */
static int by_value(const void *a, const void *b)
{
    const struct cv_compare_cell *left = a, *right = b;

    if ((left->reason == NULL) != (right->reason == NULL))
        return left->reason == NULL ? -1 : 1;
    /* With a lifespan loads differ: the more is done, the better. */
    if (left->reason == NULL && left->stats.load != right->stats.load)
        return left->stats.load > right->stats.load ? -1 : 1;
    if (left->reason == NULL && left->stats.mean_s != right->stats.mean_s)
        return left->stats.mean_s < right->stats.mean_s ? -1 : 1;
    return strcmp(left->policy->name, right->policy->name);
}

static int open_table(struct cv_task_call *task)
{
    struct cv_comparison *found = &task->found;

    CV_DO(cv_policies_choose(task->kind->kind, task->options->policies,
                             task->kind->example, task->arena, &found->policies,
                             &found->npolicies));
    found->cells = cv_need(task->arena, found->npolicies * found->sweep.count,
                           sizeof *found->cells, "the comparison");
    found->bounds =
        cv_need(task->arena, found->sweep.count, sizeof *found->bounds, "the comparison");
    found->runs = 1;
    found->lives = task->options->lifespan_s > 0;
    return CV_EXIT_DONE;
}

/* A policy that was named must apply, unless the budget of a sweep is too small. */
static int measure_cell(struct cv_task_call *task, size_t index,
                        struct cv_compare_cell *cell)
{
    struct cv_comparison *found = &task->found;
    struct cleave_error err = { .status = CLEAVE_OK };
    struct cv_progress progress;
    enum cleave_status status;
    char label[96];

    if (cv_compare_is_sweep(found))
        snprintf(label, sizeof label, "%s=%g %s", found->sweep.name,
                 found->sweep.values[index], cell->policy->name);
    else
        snprintf(label, sizeof label, "%s", cell->policy->name);
    cv_progress_init(&progress, label, task->trial.runs);
    task->trial.progress = cv_progress_show;
    task->trial.context = &progress;
    status = task->kind->compared->measure_cell(task, index, cell, &err);
    cv_progress_done(&progress);
    if (status == CLEAVE_OK)
        return CV_EXIT_DONE;
    if (status != CLEAVE_EINPUT ||
        (task->options->policies != NULL && found->sweep.what != CV_SWEEP_BUDGET))
        return cv_print_status(&err);
    cell->reason = cv_fields_text(err.text, task->arena);
    return cell->reason != NULL ? CV_EXIT_DONE : cv_no_memory("the comparison");
}

static int measure_value(struct cv_task_call *task, size_t index)
{
    struct cv_compare_cell *cells = cells_of(&task->found, index);

    CV_DO(task->kind->compared->apply(task, index));
    for (size_t p = 0; p < task->found.npolicies; p++) {
        cells[p].policy = task->found.policies[p];
        CV_DO(measure_cell(task, index, &cells[p]));
    }
    if (task->kind->compared->end_value != NULL)
        task->kind->compared->end_value(task, index);
    return CV_EXIT_DONE;
}

static int check_any(const struct cv_comparison *found)
{
    for (size_t i = 0; i < found->npolicies * found->sweep.count; i++)
        if (found->cells[i].reason == NULL)
            return CV_EXIT_DONE;
    return cv_refuse("no policy applies: %s", found->cells[0].reason);
}

static int measure(struct cv_task_call *task)
{
    struct cv_comparison *found = &task->found;

    CV_DO(open_table(task));
    for (size_t i = 0; i < found->sweep.count; i++)
        CV_DO(measure_value(task, i));
    CV_DO(check_any(found));
    if (!cv_compare_is_sweep(found))
        qsort(found->cells, found->npolicies, sizeof *found->cells, by_value);
    return CV_EXIT_DONE;
}

/* One row per value, one column per policy. */
static void add_sweep(const struct cv_comparison *found, const struct cv_screen *screen,
                      struct cv_text *out)
{
    const size_t n =
        found->npolicies + 2 < CV_TABLE_COLUMNS ? found->npolicies : CV_TABLE_COLUMNS - 2;
    struct cv_text columns = { NULL, 0, 0, false };
    char number[CV_NUMBER_SIZE];
    struct cv_table table;

    cv_text_add(&columns, "%s", found->sweep.name);
    for (size_t p = 0; p < n; p++)
        cv_text_add(&columns, "|#%s", found->policies[p]->name);
    cv_text_add(&columns, "|best");
    cv_table_init(&table, columns.failed ? "" : columns.bytes);
    cv_text_end(&columns, out);
    for (size_t i = 0; i < found->sweep.count; i++) {
        const struct cv_compare_cell *best = best_of(found, i);

        snprintf(number, sizeof number, "%.5g", found->sweep.values[i]);
        cv_table_add(&table, "%s", number);
        for (size_t p = 0; p < n; p++)
            cv_table_add(&table, "%g", value_of(found, &cells_of(found, i)[p]));
        cv_table_add(&table, "%s", best != NULL ? best->policy->name : "-");
    }
    cv_add_table(&table, screen, out);
}

/* One row per policy. Columns of a spread are shown if costs vary. */
static void add_rows(const struct cv_task_call *task, const struct cv_screen *screen,
                     struct cv_text *out)
{
    const struct cv_comparison *found = &task->found;
    const bool spread = found->noisy && found->runs >= task->kind->compared->spread_from;
    const bool loads = task->kind->kind == CLEAVE_TASK_LOADS;
    const bool chunks = loads || task->kind->kind == CLEAVE_TASK_LOAD;
    const bool utilisation = task->kind->kind != CLEAVE_TASK_REDUCE;
    const bool lives = found->lives;
    struct cv_table table;
    char columns[128];

    snprintf(columns, sizeof columns, "policy|#%s|^%s|^%s%s%s%s",
             lives    ? "units"
             : spread ? (loads ? "mean" : "mean s")
                      : task->kind->compared->time,
             lives ? "to bound" : "over bound", lives ? "to best" : "over best",
             chunks ? "|+chunks" : "", utilisation ? "|%utilisation" : "",
             spread ? "|#std error|#90% below" : "");
    cv_table_init(&table, columns);
    for (size_t p = 0; p < found->npolicies; p++) {
        const struct cv_compare_cell *cell = &found->cells[p];
        const struct cleave_stats *stats = &cell->stats;
        char name[96];

        if (cell->reason != NULL)
            continue;
        snprintf(name, sizeof name, "%s%s%s", cell->policy->name,
                 stats->picked != NULL ? ": " : "",
                 stats->picked != NULL ? stats->picked : "");
        cv_table_add(&table, "%s %g %g %g", name, value_of(found, cell),
                     cv_compare_over_bound(found, 0, cell),
                     cv_compare_over_best(found, 0, cell));
        if (chunks)
            cv_table_add(&table, "%g", stats->chunks);
        if (utilisation)
            cv_table_add(&table, "%g", stats->utilisation);
        if (spread)
            cv_table_add(&table, "%g %g", stats->stderr_s, stats->q90_s);
    }
    cv_add_table(&table, screen, out);
}

/* Policies that do not apply, with the reason at the first value. */
static void add_reasons(const struct cv_comparison *found, const struct cv_screen *screen,
                        struct cv_text *out)
{
    struct cv_table table;

    cv_table_init(&table, "does not apply|why");
    for (size_t p = 0; p < found->npolicies; p++)
        if (found->cells[p].reason != NULL)
            cv_table_add(&table, "%s %s", found->cells[p].policy->name,
                         found->cells[p].reason);
    if (table.ncells > 0)
        cv_add_table(&table, screen, out);
    else
        cv_table_done(&table);
}

static void add_text(struct cv_task_call *task, struct cv_text *out)
{
    const struct cv_screen screen = cv_screen_facts();
    const struct cv_comparison *found = &task->found;

    cv_text_add(out, "%s", CV_BOLD(&screen));
    task->kind->compared->headline(task, out);
    cv_text_add(out, "%s\n", CV_PLAIN(&screen));
    if (cv_compare_is_sweep(found)) {
        add_sweep(found, &screen, out);
    } else {
        task->kind->compared->bounds(task, &screen, out);
        add_rows(task, &screen, out);
    }
    add_reasons(found, &screen, out);
}

static void csv_number(struct cv_text *out, double value)
{
    char number[CV_NUMBER_SIZE];

    cv_text_add(out, ",%s", isnan(value) ? "" : cv_number_full(value, number));
}

static void csv_rows(const struct cv_comparison *found, struct cv_text *out)
{
    cv_text_add(out, "policy,%s,over_bound,over_best,stddev,stderr,q10,median,q90\n",
                found->lives ? "work" : "mean");
    for (size_t p = 0; p < found->npolicies; p++) {
        const struct cv_compare_cell *cell = &found->cells[p];
        const struct cleave_stats *stats = &cell->stats;
        const bool known = stats->runs != 1 || stats->q90_s > 0;

        if (cell->reason != NULL)
            continue;
        cv_text_add(out, "%s", cell->policy->name);
        csv_number(out, value_of(found, cell));
        csv_number(out, cv_compare_over_bound(found, 0, cell));
        csv_number(out, cv_compare_over_best(found, 0, cell));
        csv_number(out, stats->stddev_s);
        csv_number(out, stats->stderr_s);
        csv_number(out, known ? stats->q10_s : stats->mean_s);
        csv_number(out, known ? stats->median_s : stats->mean_s);
        csv_number(out, known ? stats->q90_s : stats->mean_s);
        cv_text_add(out, "\n");
    }
}

/* A row per value: the bound, the values of all policies, then their standard errors. */
static void csv_sweep(const struct cv_comparison *found, struct cv_text *out)
{
    char number[CV_NUMBER_SIZE];

    cv_text_add(out, "%s,%s", found->sweep.name,
                found->lives ? "upper_bound" : "lower_bound");
    for (size_t p = 0; p < found->npolicies; p++)
        cv_text_add(out, ",%s", found->policies[p]->name);
    for (size_t p = 0; p < found->npolicies; p++)
        cv_text_add(out, ",%s_stderr", found->policies[p]->name);
    cv_text_add(out, "\n");
    for (size_t i = 0; i < found->sweep.count; i++) {
        const struct cv_compare_cell *cells = cells_of(found, i);

        cv_text_add(out, "%s", cv_number_short(found->sweep.values[i], number));
        csv_number(out, found->bounds[i].value_s);
        for (size_t p = 0; p < found->npolicies; p++)
            csv_number(out, value_of(found, &cells[p]));
        for (size_t p = 0; p < found->npolicies; p++)
            csv_number(out, cells[p].reason == NULL ? cells[p].stats.stderr_s : NAN);
        cv_text_add(out, "\n");
    }
}

/* The cells of one value in the list that is open, which is ended, and "not_applicable". */
static void json_cells(struct cv_task_call *task, struct cv_json *json, size_t index)
{
    const struct cv_compare_cell *cells = cells_of(&task->found, index);

    for (size_t p = 0; p < task->found.npolicies; p++) {
        if (cells[p].reason != NULL)
            continue;
        cv_field_object(json, NULL);
        cv_field_text(json, "policy", cells[p].policy->name);
        task->kind->compared->json_cell(task, json, index, &cells[p]);
        cv_json_end(json);
    }
    cv_json_end(json);
    cv_field_list(json, "not_applicable");
    for (size_t p = 0; p < task->found.npolicies; p++)
        if (cells[p].reason != NULL)
            cv_field_reason(json, "policy", cells[p].policy->name, cells[p].reason);
    cv_json_end(json);
}

static int show_json(struct cv_task_call *task)
{
    const struct cv_sweep *sweep = &task->found.sweep;
    const bool swept = cv_compare_is_sweep(&task->found);
    struct cv_json json;

    cv_result_open(&json);
    task->kind->compared->json_head(task, &json);
    if (swept)
        cv_field_text(&json, "sweep", sweep->name);
    else
        task->kind->compared->json_bound(task, &json, 0);
    cv_field_list(&json, "rows");
    for (size_t i = 0; i < sweep->count && swept; i++) {
        cv_field_object(&json, NULL);
        cv_field_number(&json, sweep->name, sweep->values[i]);
        task->kind->compared->json_bound(task, &json, i);
        cv_field_list(&json, "policies");
        json_cells(task, &json, i);
        cv_json_end(&json);
    }
    if (swept)
        cv_json_end(&json);
    else
        json_cells(task, &json, 0);
    return cv_result_close(&json);
}

static bool applies(const struct cv_comparison *found, size_t policy)
{
    for (size_t i = 0; i < found->sweep.count; i++)
        if (cells_of(found, i)[policy].reason == NULL)
            return true;
    return false;
}

/* One policy over all values. */
static void make_curve(const struct cv_comparison *found, size_t policy,
                       struct cv_arena *arena, struct cv_compare_curve *out)
{
    const size_t n = found->sweep.count;
    double *value = cv_need(arena, 4 * n, sizeof *value, "the page");
    double *low = value + n, *high = low + n, *part = high + n;

    for (size_t i = 0; i < n; i++) {
        const struct cv_compare_cell *cell = &cells_of(found, i)[policy];

        value[i] = value_of(found, cell);
        part[i] = isnan(value[i]) ? NAN : 100 * cv_compare_over_bound(found, i, cell);
        /* Without noise at this value there is one run and no spread. */
        low[i] = cell->stats.runs > 1 ? cell->stats.q10_s : value[i];
        high[i] = cell->stats.runs > 1 ? cell->stats.q90_s : value[i];
        out->name = cell->policy->name;
        if (cell->reason != NULL)
            out->reason = cell->reason;
    }
    out->value = value;
    out->over = part;
    out->low = found->runs > 1 && !found->lives ? low : NULL;
    out->high = out->low != NULL ? high : NULL;
}

static void make_curves(const struct cv_comparison *found, struct cv_arena *arena,
                        struct cv_compare_sheet *data)
{
    struct cv_compare_curve *curves =
        cv_need(arena, found->npolicies, sizeof *curves, "the page");
    double *bound = cv_need(arena, found->sweep.count, sizeof *bound, "the page");

    for (size_t i = 0; i < found->sweep.count; i++)
        bound[i] = found->bounds[i].name != NULL ? found->bounds[i].value_s : NAN;
    for (int turn = 0; turn < 2; turn++) {
        for (size_t p = 0; p < found->npolicies; p++) {
            if (applies(found, p) != (turn == 0))
                continue;
            make_curve(found, p, arena, &curves[data->ncurves++]);
            data->napplicable += turn == 0;
        }
    }
    data->curves = curves;
    data->bound = bound;
}

static int write_page(const struct cv_compare_sheet *data,
                      const struct cv_task_options *options)
{
    struct cv_output_file out;

    CV_DO(cv_output_open(&out, "--output", options->page,
                         options->force ? 0 : CV_NEW_FILE_ONLY));
    cv_compare_write(data, out.file);
    return cv_output_close(&out, false);
}

static int show_page(struct cv_task_call *task)
{
    const struct cv_comparison *found = &task->found;
    struct cv_text title = { NULL, 0, 0, false }, facts = title, command = title;
    char measure[64];
    struct cv_compare_sheet data = {
        .measure = measure,
        .what = cv_compare_is_sweep(found) ? found->sweep.name : NULL,
        .unit = cv_sweep_unit(&found->sweep),
        .at = found->sweep.values,
        .nvalues = found->sweep.count,
        .by_factors = found->sweep.by_factors,
        .more_is_better = found->lives,
        .bound_name = found->bounds[0].name != NULL ? found->bounds[0].name : "not known"
    };
    int status;

    if (found->lives)
        snprintf(measure, sizeof measure, "units done");
    else
        snprintf(measure, sizeof measure, "%s%s", found->noisy ? "mean " : "",
                 task->kind->compared->measure);
    task->kind->compared->page(task, &title, &facts);
    cv_command_line(task->call, &command);
    data.title = title.bytes;
    data.facts = facts.bytes;
    data.command = command.bytes;
    make_curves(found, task->arena, &data);
    if (title.failed || facts.failed || command.failed)
        status = cv_no_memory("the page");
    else
        status = write_page(&data, task->options);
    cv_text_done(&title);
    cv_text_done(&facts);
    cv_text_done(&command);
    return status;
}

static int compare(struct cv_task_call *task)
{
    const struct cv_task_options *options = task->options;
    struct cv_text text = { NULL, 0, 0, false };

    if (task->kind->compared->check != NULL)
        CV_DO(task->kind->compared->check(options));
    CV_DO(
        cv_sweep_read(options->sweep, task->kind->kind, task->arena, &task->found.sweep));
    CV_DO(task->kind->open(task));
    CV_DO(measure(task));
    if (options->page != NULL)
        return show_page(task);
    if (options->json)
        return show_json(task);
    if (!options->csv)
        add_text(task, &text);
    else if (cv_compare_is_sweep(&task->found))
        csv_sweep(&task->found, &text);
    else
        csv_rows(&task->found, &text);
    return cv_print_take(&text);
}

int cv_task_compare(const struct cv_call *call)
{
    return cv_task_run(call, offsetof(struct cv_task_kind, compare), compare);
}
