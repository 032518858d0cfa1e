/* comparison.c -- several policies, maybe for many values of one thing, and how to show
 * them. SPDX-License-Identifier: MIT */
#include "cli/compare/comparison.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/quantity.h"
#include "cli/common/output.h"
#include "io/json_out.h"
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
    return cv_print_error(CV_EXIT_USAGE, "no policy applies: %s", found->cells[0].reason);
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
