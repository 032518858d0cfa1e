/* figure.c -- tables, claims and panels of figures. SPDX-License-Identifier: MIT */
#include "figures/common/figure.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdlib.h>
#include <string.h>
#include "sim/many/parallel.h"

void cv_figure_make(const struct cv_figure *figure, const struct cv_figure_job *job,
                    struct cv_figure_result *result)
{
    memset(result, 0, sizeof *result);
    cv_arena_init(&result->arena);
    result->job = job;
    result->last_row = &result->rows;
    result->last_claim = &result->claims;
    result->last_plot = &result->plots;
    figure->make(result);
}

void cv_figure_done(struct cv_figure_result *result)
{
    if (result != NULL)
        cv_arena_done(&result->arena);
}

void cv_figure_progress(const struct cv_figure_job *job, uint64_t done, uint64_t total)
{
    if (job->progress != NULL)
        job->progress(job->context, done, total);
}

void cv_figure_must(enum cleave_status status, const struct cleave_error *err)
{
    char line[sizeof *err + 64];

    if (status == CLEAVE_OK)
        return;
    cleave_error_format(err, line, sizeof line);
    fprintf(stderr, "cleave: %s\n", line);
    exit(status == CLEAVE_EENGINE ? 3 : 1);
}

struct loop {
    const struct cv_figure_job *job;
    uint64_t total;
    cv_figure_body *body;
    void *context;
};

static enum cleave_status run_turns(void *context, unsigned thread, uint64_t begin,
                                    uint64_t end, struct cleave_error *err)
{
    const struct loop *loop = context;

    (void)err;
    loop->body(loop->context, thread, begin, end);
    return CLEAVE_OK;
}

static void report_turns(void *context, uint64_t done)
{
    const struct loop *loop = context;

    cv_figure_progress(loop->job, done, loop->total);
}

void cv_figure_parallel(const struct cv_figure_job *job, uint64_t count, uint64_t block,
                        cv_figure_body *body, void *context)
{
    struct loop loop = { job, count, body, context };

    CV_MUST(cv_parallel_run(&(struct cv_parallel){ .count = count,
                                                   .block = block,
                                                   .threads = job->threads,
                                                   .body = run_turns,
                                                   .context = &loop,
                                                   .progress = report_turns,
                                                   .progress_context = &loop },
                            err));
}

void *cv_figure_alloc(struct cv_figure_result *result, size_t count, size_t size)
{
    void *memory = cv_array(&result->arena, count, size);

    if (memory == NULL)
        CV_MUST(cv_fail_memory(err, "a figure"));
    return memory;
}

static const char *copy_text(struct cv_figure_result *result, const char *text)
{
    const size_t size = strlen(text) + 1;

    return memcpy(cv_figure_alloc(result, size, 1), text, size);
}

void cv_figure_table(struct cv_figure_result *result, const char *label,
                     const char *const *columns, size_t ncolumns, const char *note)
{
    result->label = label;
    result->columns = columns;
    result->ncolumns = ncolumns;
    result->note = note;
}

static double *add_row(struct cv_figure_result *result, bool file_only,
                       const char *format, va_list arguments)
{
    struct cv_figure_row *row = cv_figure_alloc(result, 1, sizeof *row);
    char label[128];

    vsnprintf(label, sizeof label, format, arguments);
    row->label = copy_text(result, label);
    row->values = cv_figure_alloc(result, result->ncolumns, sizeof *row->values);
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

void cv_figure_claim(struct cv_figure_result *result, bool holds, const char *claim,
                     const char *numbers, ...)
{
    struct cv_claim *made = cv_figure_alloc(result, 1, sizeof *made);
    char text[400];
    va_list arguments;

    va_start(arguments, numbers);
    vsnprintf(text, sizeof text, numbers, arguments);
    va_end(arguments);
    *made = (struct cv_claim){ claim, copy_text(result, text), holds, NULL };
    *result->last_claim = made;
    result->last_claim = &made->next;
}

struct cv_figure_plot *cv_plot_add(struct cv_figure_result *result,
                                   const struct cv_figure_plot *plot)
{
    struct cv_figure_plot *added = cv_figure_alloc(result, 1, sizeof *added);

    *added = *plot;
    added->last_series = &added->series;
    added->last_bar = &added->bars;
    *result->last_plot = added;
    result->last_plot = &added->next;
    return added;
}

struct cv_figure_series *cv_plot_series(struct cv_figure_result *result,
                                        struct cv_figure_plot *plot, const char *name,
                                        size_t n, bool ribbon)
{
    struct cv_figure_series *series = cv_figure_alloc(result, 1, sizeof *series);
    double *values = cv_figure_alloc(result, n, (ribbon ? 4 : 2) * sizeof *values);

    *series =
        (struct cv_figure_series){ .name = name, .n = n, .x = values, .y = values + n };
    if (ribbon) {
        series->low = values + 2 * n;
        series->high = values + 3 * n;
    }
    *plot->last_series = series;
    plot->last_series = &series->next;
    return series;
}

void cv_plot_columns(struct cv_figure_result *result, struct cv_figure_plot *plot,
                     size_t first, size_t count)
{
    size_t nrows = 0;

    for (const struct cv_figure_row *row = result->rows; row != NULL; row = row->next)
        nrows++;
    for (size_t i = first; i < first + count; i++) {
        struct cv_figure_series *series =
            cv_plot_series(result, plot, result->columns[i], nrows, false);

        series->n = 0;
        for (const struct cv_figure_row *row = result->rows; row != NULL;
             row = row->next) {
            char *end;
            const double x = strtod(row->label, &end);

            if (end == row->label)
                continue;
            series->x[series->n] = x;
            series->y[series->n++] = row->values[i];
        }
        if (nrows > 100)
            series->line = CV_LINE_STEPS;
    }
}

void cv_plot_row(struct cv_figure_result *result, struct cv_figure_plot *plot,
                 const char *name, const double *row, size_t count, const double *x)
{
    struct cv_figure_series *series =
        cv_plot_series(result, plot, copy_text(result, name), count, false);

    memcpy(series->x, x, count * sizeof *x);
    memcpy(series->y, row, count * sizeof *row);
}

void cv_plot_map(struct cv_figure_result *result, struct cv_figure_plot *plot,
                 size_t count, size_t skip, size_t nrows, size_t cut)
{
    const char **names = cv_figure_alloc(result, nrows, sizeof *names);
    double *cells = cv_figure_alloc(result, nrows * count, sizeof *cells);
    const struct cv_figure_row *row = result->rows;
    size_t at = 0;

    for (; skip > 0 && row != NULL; skip--)
        row = row->next;
    for (; at < nrows && row != NULL; at++, row = row->next) {
        names[at] = strlen(row->label) > cut ? row->label + cut : row->label;
        memcpy(cells + at * count, row->values, count * sizeof *cells);
    }
    plot->row_names = names;
    plot->nrows = at;
    plot->ncolumns = count;
    plot->cells = cells;
    if (plot->column_names == NULL)
        plot->column_names = result->columns;
}

void cv_plot_bar(struct cv_figure_result *result, struct cv_figure_plot *plot,
                 const struct cv_bar *bar)
{
    struct cv_bar *made = cv_figure_alloc(result, 1, sizeof *made);

    *made = *bar;
    made->next = NULL;
    if (bar->text != NULL)
        made->text = copy_text(result, bar->text);
    *plot->last_bar = made;
    plot->last_bar = &made->next;
}
