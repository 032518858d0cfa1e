/* figure.c -- the tables that figures are made of.
 * SPDX-License-Identifier: MIT */
#include "figures/common/figure.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
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
