/* comparison.c -- several policies, maybe for many values of one thing, and how to show
 * them. SPDX-License-Identifier: MIT */
#include "cli/compare/comparison.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/quantity.h"
#include "cli/common/job_options.h"
#include "cli/common/output.h"
#include "io/json_out.h"
#include "report/page/html_compare.h"
#include "report/terminal/table.h"

bool cv_compare_is_sweep(const struct cv_comparison *found)
{
    return found->sweep.what != CV_SWEEP_NONE;
}

const struct cv_compare_cell *cv_compare_cells(const struct cv_comparison *found,
                                               size_t index)
{
    return found->cells + index * found->npolicies;
}

double cv_compare_value(const struct cv_comparison *found,
                        const struct cv_compare_cell *cell)
{
    if (cell->reason != NULL)
        return NAN;
    return found->lives ? cell->stats.load : cell->stats.mean_s;
}

/* The best for a value of the sweep; NULL when nothing applies. */
static const struct cv_compare_cell *best_of(const struct cv_comparison *found,
                                             size_t index)
{
    const struct cv_compare_cell *cells = cv_compare_cells(found, index), *best = NULL;

    for (size_t p = 0; p < found->npolicies; p++) {
        const double value = cv_compare_value(found, &cells[p]);
        const double min = best != NULL ? cv_compare_value(found, best) : NAN;

        if (!isnan(value) && (best == NULL || (found->lives ? value > min : value < min)))
            best = &cells[p];
    }
    return best;
}

static double over(const struct cv_comparison *found, double value, double base)
{
    return found->lives ? cv_over(base, value) : cv_over(value, base);
}

double cv_compare_over_bound(const struct cv_comparison *found, size_t index,
                             const struct cv_compare_cell *cell)
{
    return over(found, cv_compare_value(found, cell), found->bounds[index].value_s);
}

double cv_compare_over_best(const struct cv_comparison *found, size_t index,
                            const struct cv_compare_cell *cell)
{
    return over(found, cv_compare_value(found, cell),
                cv_compare_value(found, best_of(found, index)));
}

static int by_time(const void *a, const void *b)
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

void cv_compare_sort(struct cv_comparison *found)
{
    qsort(found->cells, found->npolicies, sizeof *found->cells, by_time);
}

int cv_compare_any(const struct cv_comparison *found)
{
    for (size_t i = 0; i < found->npolicies * found->sweep.count; i++)
        if (found->cells[i].reason == NULL)
            return CV_EXIT_DONE;
    return cv_refuse("no policy applies: %s", found->cells[0].reason);
}

/* --- text --------------------------------------------------------------------------- */

void cv_compare_sweep_table(const struct cv_comparison *found,
                            const struct cv_screen *screen, struct cv_text *out)
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
        const struct cv_compare_cell *cells = cv_compare_cells(found, i);
        const struct cv_compare_cell *best = best_of(found, i);

        snprintf(number, sizeof number, "%.5g", found->sweep.values[i]);
        cv_table_text(&table, number);
        for (size_t p = 0; p < n; p++)
            cv_table_number(&table, cv_compare_value(found, &cells[p]));
        cv_table_text(&table, best != NULL ? best->policy->name : "-");
    }
    cv_table_write(&table, screen->colour, screen->width, out);
    cv_table_done(&table);
}

void cv_compare_reasons(const struct cv_comparison *found, const struct cv_screen *screen,
                        struct cv_text *out)
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

/* --- CSV ---------------------------------------------------------------------------- */

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
        csv_number(out, cv_compare_value(found, cell));
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

/* A row per value; what is compared for all policies, then the standard errors. */
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
        const struct cv_compare_cell *cells = cv_compare_cells(found, i);

        cv_text_add(out, "%s", cv_number_short(found->sweep.values[i], number));
        csv_number(out, found->bounds[i].value_s);
        for (size_t p = 0; p < found->npolicies; p++)
            csv_number(out, cv_compare_value(found, &cells[p]));
        for (size_t p = 0; p < found->npolicies; p++)
            csv_number(out, cells[p].reason == NULL ? cells[p].stats.stderr_s : NAN);
        cv_text_add(out, "\n");
    }
}

void cv_compare_csv(const struct cv_comparison *found, struct cv_text *out)
{
    if (cv_compare_is_sweep(found))
        csv_sweep(found, out);
    else
        csv_rows(found, out);
}

void cv_compare_json_reasons(struct cv_json *json, const struct cv_comparison *found,
                             size_t index)
{
    const struct cv_compare_cell *cells = cv_compare_cells(found, index);

    cv_field_list(json, "not_applicable");
    for (size_t p = 0; p < found->npolicies; p++) {
        if (cells[p].reason == NULL)
            continue;
        cv_field_line(json, NULL);
        cv_field_text(json, "policy", cells[p].policy->name);
        cv_field_text(json, "reason", cells[p].reason);
        cv_json_end(json);
    }
    cv_json_end(json);
}

/* --- a comparison as a page -------------------------------------------------------- */

/* Whether a policy applies to any value. */
static bool applies(const struct cv_comparison *found, size_t policy)
{
    for (size_t i = 0; i < found->sweep.count; i++)
        if (cv_compare_cells(found, i)[policy].reason == NULL)
            return true;
    return false;
}

/* One policy over all values; false when memory is short. */
static bool make_curve(const struct cv_comparison *found, size_t policy,
                       struct cv_arena *arena, struct cv_compare_curve *out)
{
    const size_t n = found->sweep.count;
    double *value = cv_array(arena, n, sizeof *value);
    double *low = cv_array(arena, n, sizeof *low);
    double *high = cv_array(arena, n, sizeof *high);
    double *over = cv_array(arena, n, sizeof *over);

    if (value == NULL || low == NULL || high == NULL || over == NULL)
        return false;
    for (size_t i = 0; i < n; i++) {
        const struct cv_compare_cell *cell = &cv_compare_cells(found, i)[policy];

        value[i] = cv_compare_value(found, cell);
        over[i] = isnan(value[i]) ? NAN : 100 * cv_compare_over_bound(found, i, cell);
        /* Without noise at this value there is one run and no spread. */
        low[i] = cell->stats.runs > 1 ? cell->stats.q10_s : value[i];
        high[i] = cell->stats.runs > 1 ? cell->stats.q90_s : value[i];
        out->name = cell->policy->name;
        if (cell->reason != NULL)
            out->reason = cell->reason;
    }
    out->value = value;
    out->over = over;
    out->low = found->runs > 1 && !found->lives ? low : NULL;
    out->high = out->low != NULL ? high : NULL;
    return true;
}

static bool make_curves(const struct cv_comparison *found, struct cv_arena *arena,
                        struct cv_compare_sheet *data)
{
    struct cv_compare_curve *curves = cv_array(arena, found->npolicies, sizeof *curves);
    double *bound = cv_array(arena, found->sweep.count, sizeof *bound);

    if (curves == NULL || bound == NULL)
        return false;
    for (size_t i = 0; i < found->sweep.count; i++)
        bound[i] = found->bounds[i].name != NULL ? found->bounds[i].value_s : NAN;
    for (int turn = 0; turn < 2; turn++) {
        for (size_t p = 0; p < found->npolicies; p++) {
            if (applies(found, p) != (turn == 0))
                continue;
            if (!make_curve(found, p, arena, &curves[data->ncurves++]))
                return false;
            data->napplicable += turn == 0;
        }
    }
    data->curves = curves;
    data->bound = bound;
    return true;
}

static int write_page(const struct cv_compare_sheet *data,
                      const struct cv_compare_output *output)
{
    struct cv_output_file out;
    const int status = cv_output_open(&out, "--output", output->page,
                                      output->force ? 0 : CV_NEW_FILE_ONLY);

    if (status != CV_EXIT_DONE)
        return status;
    cv_compare_write(data, out.file);
    return cv_output_close(&out, false);
}

int cv_compare_page(const struct cv_comparison *found,
                    const struct cv_compare_output *output,
                    const struct cv_compare_words *words, const struct cv_call *call)
{
    const bool sweep = cv_compare_is_sweep(found);
    struct cv_compare_sheet data = { .title = words->title,
                                     .measure = words->measure,
                                     .facts = words->facts,
                                     .what = sweep ? found->sweep.name : NULL,
                                     .unit = cv_sweep_unit(&found->sweep),
                                     .at = found->sweep.values,
                                     .nvalues = found->sweep.count,
                                     .by_factors = found->sweep.by_factors,
                                     .more_is_better = found->lives,
                                     .bound_name = found->bounds[0].name != NULL
                                                       ? found->bounds[0].name
                                                       : "not known" };
    struct cv_text command = { NULL, 0, 0, false };
    int status = CV_EXIT_DONE;

    cv_command_line(call, &command);
    data.command = command.bytes;
    if (command.failed || !make_curves(found, call->arena, &data))
        status = cv_no_memory("the page");
    else
        status = write_page(&data, output);
    cv_text_done(&command);
    return status;
}
