/* figure.c -- the tables that figures are made of.
 * SPDX-License-Identifier: MIT */
#include "figures/common/figure.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum cleave_status cv_figure_make(const struct cv_figure *figure,
                                  const struct cv_figure_job *job,
                                  struct cv_figure_result *result,
                                  struct cleave_error *err)
{
    enum cleave_status status;

    memset(result, 0, sizeof *result);
    cv_arena_init(&result->arena);
    result->last_row = &result->rows;
    result->last_claim = &result->claims;
    result->last_plot = &result->plots;
    status = figure->make(job, result, err);
    if (status != CLEAVE_OK)
        cv_figure_done(result);
    return status;
}

void cv_figure_done(struct cv_figure_result *result)
{
    if (result != NULL)
        cv_arena_done(&result->arena);
}

static double *add_row(struct cv_figure_result *result, bool file_only,
                       const char *format, va_list arguments)
{
    struct cv_figure_row *row = cv_array(&result->arena, 1, sizeof *row);
    char label[128];

    if (row == NULL)
        return NULL;
    vsnprintf(label, sizeof label, format, arguments);
    row->label = cv_arena_text(&result->arena, label);
    row->values = cv_array(&result->arena, result->ncolumns, sizeof *row->values);
    if (row->label == NULL || row->values == NULL)
        return NULL;
    for (size_t i = 0; i < result->ncolumns; i++)
        row->values[i] = NAN;
    row->file_only = file_only;
    *result->last_row = row;
    result->last_row = &row->next;
    return row->values;
}

double *cv_figure_row(struct cv_figure_result *result, const char *label, ...)
{
    va_list arguments;
    double *values;

    va_start(arguments, label);
    values = add_row(result, false, label, arguments);
    va_end(arguments);
    return values;
}

double *cv_figure_file_row(struct cv_figure_result *result, const char *label, ...)
{
    va_list arguments;
    double *values;

    va_start(arguments, label);
    values = add_row(result, true, label, arguments);
    va_end(arguments);
    return values;
}

enum cleave_status cv_figure_claim(struct cv_figure_result *result, bool holds,
                                   struct cleave_error *err, const char *claim,
                                   const char *numbers, ...)
{
    struct cv_claim *made = cv_array(&result->arena, 1, sizeof *made);
    char text[400];
    va_list arguments;

    va_start(arguments, numbers);
    vsnprintf(text, sizeof text, numbers, arguments);
    va_end(arguments);
    if (made == NULL)
        return cv_fail_memory(err, "a claim");
    made->claim = claim;
    made->numbers = cv_arena_text(&result->arena, text);
    made->holds = holds;
    if (made->numbers == NULL)
        return cv_fail_memory(err, "a claim");
    *result->last_claim = made;
    result->last_claim = &made->next;
    return CLEAVE_OK;
}

/* --- putting panels together ------------------------------------------------------- */

static enum cleave_status no_memory(struct cleave_error *err)
{
    return cv_fail_memory(err, "a figure");
}

enum cleave_status cv_plot_add(struct cv_figure_result *result,
                               const struct cv_figure_plot *wanted,
                               struct cv_figure_plot **out, struct cleave_error *err)
{
    struct cv_figure_plot *plot = cv_array(&result->arena, 1, sizeof *plot);

    if (plot == NULL)
        return no_memory(err);
    *plot = *wanted;
    plot->last_series = &plot->series;
    plot->last_bar = &plot->bars;
    *result->last_plot = plot;
    result->last_plot = &plot->next;
    *out = plot;
    return CLEAVE_OK;
}

enum cleave_status cv_plot_series(struct cv_figure_result *result,
                                  struct cv_figure_plot *plot, const char *name, size_t n,
                                  bool ribbon, struct cv_figure_series **out,
                                  struct cleave_error *err)
{
    struct cv_figure_series *series = cv_array(&result->arena, 1, sizeof *series);
    double *values = cv_array(&result->arena, n, (ribbon ? 4 : 2) * sizeof *values);

    if (series == NULL || values == NULL)
        return no_memory(err);
    series->name = name;
    series->n = n;
    series->x = values;
    series->y = values + n;
    if (ribbon) {
        series->low = values + 2 * n;
        series->high = values + 3 * n;
    }
    *plot->last_series = series;
    plot->last_series = &series->next;
    *out = series;
    return CLEAVE_OK;
}

static size_t count_rows(const struct cv_figure_result *result)
{
    size_t n = 0;

    for (const struct cv_figure_row *row = result->rows; row != NULL; row = row->next)
        n++;
    return n;
}

enum cleave_status cv_plot_columns(struct cv_figure_result *result,
                                   struct cv_figure_plot *plot, size_t first,
                                   size_t count, struct cleave_error *err)
{
    const size_t nrows = count_rows(result);

    for (size_t i = first; i < first + count; i++) {
        struct cv_figure_series *series;
        size_t n = 0;

        CV_TRY(
            cv_plot_series(result, plot, result->columns[i], nrows, false, &series, err));
        for (const struct cv_figure_row *row = result->rows; row != NULL;
             row = row->next) {
            char *end;
            const double x = strtod(row->label, &end);

            if (end == row->label)
                continue;
            series->x[n] = x;
            series->y[n++] = row->values[i];
        }
        series->n = n;
        if (nrows > 100)
            series->line = CV_LINE_STEPS;
    }
    return CLEAVE_OK;
}

enum cleave_status cv_plot_row(struct cv_figure_result *result,
                               struct cv_figure_plot *plot, const char *name,
                               const double *row, size_t count, const double *x,
                               struct cleave_error *err)
{
    const char *copy = cv_arena_text(&result->arena, name);
    struct cv_figure_series *series;

    if (copy == NULL)
        return no_memory(err);
    CV_TRY(cv_plot_series(result, plot, copy, count, false, &series, err));
    memcpy(series->x, x, count * sizeof *x);
    memcpy(series->y, row, count * sizeof *row);
    return CLEAVE_OK;
}

enum cleave_status cv_plot_map(struct cv_figure_result *result,
                               struct cv_figure_plot *plot, size_t count, size_t skip,
                               size_t nrows, size_t cut, struct cleave_error *err)
{
    const char **names = cv_array(&result->arena, nrows, sizeof *names);
    double *cells = cv_array(&result->arena, nrows * count, sizeof *cells);
    size_t at = 0;

    if (names == NULL || cells == NULL)
        return no_memory(err);
    for (const struct cv_figure_row *row = result->rows; row != NULL; row = row->next) {
        if (skip > 0) {
            skip--;
            continue;
        }
        if (at == nrows)
            break;
        names[at] = strlen(row->label) > cut ? row->label + cut : row->label;
        memcpy(cells + at * count, row->values, count * sizeof *cells);
        at++;
    }
    plot->row_names = names;
    plot->nrows = at;
    plot->ncolumns = count;
    plot->cells = cells;
    if (plot->column_names == NULL)
        plot->column_names = result->columns;
    return CLEAVE_OK;
}

enum cleave_status cv_plot_bar(struct cv_figure_result *result,
                               struct cv_figure_plot *plot, const struct cv_bar *bar,
                               struct cleave_error *err)
{
    struct cv_bar *made = cv_array(&result->arena, 1, sizeof *made);

    if (made == NULL)
        return no_memory(err);
    *made = *bar;
    made->next = NULL;
    if (bar->text != NULL) {
        made->text = cv_arena_text(&result->arena, bar->text);
        if (made->text == NULL)
            return no_memory(err);
    }
    *plot->last_bar = made;
    plot->last_bar = &made->next;
    return CLEAVE_OK;
}
