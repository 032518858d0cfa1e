/* figure.c -- tables, claims and panels of figures. SPDX-License-Identifier: MIT */
#include "figures/common/figure.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sim/many/parallel.h"

void cv_figure_make(const struct cv_figure *figure, const struct cv_figure_job *job,
                    struct cv_figure_result *result)
{
    memset(result, 0, sizeof *result);
    cv_arena_init(&result->arena);
    result->job = job;
    result->last_claim = &result->claims;
    result->last_plot = &result->plots;
    figure->make(result);
}

void cv_figure_progress(const struct cv_figure_job *job, uint64_t done, uint64_t total)
{
    job->progress->total = total;
    cv_progress_show(job->progress, done);
}

void cv_figure_no_memory(const char *what)
{
    exit(cv_no_memory(what));
}

void cv_figure_must(enum cleave_status status, const struct cleave_error *err)
{
    if (status == CLEAVE_OK)
        return;
    (void)cv_print_status(err);
    exit(status == CLEAVE_EENGINE ? CV_EXIT_ENGINE : CV_EXIT_FAILED);
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
    struct cv_arena arena;
    struct cv_turn turn = { begin, thread, &arena };

    (void)err;
    cv_arena_init(&arena);
    for (; turn.number < end; turn.number++) {
        loop->body(loop->context, &turn);
        cv_arena_reset(&arena);
    }
    cv_arena_done(&arena);
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
    return cv_need(&result->arena, count, size, "a figure");
}

static char *copy_text(struct cv_figure_result *result, const char *text)
{
    return cv_need_text(&result->arena, text, "a figure");
}

/* The parts of a text with '|' between. */
static const char **split(struct cv_figure_result *result, const char *text,
                          size_t *count)
{
    char *rest = copy_text(result, text);
    const char **parts = cv_figure_alloc(result, strlen(text) / 2 + 1, sizeof *parts);

    for (*count = 0; rest != NULL;)
        parts[(*count)++] = strsep(&rest, "|");
    return parts;
}

void cv_figure_table(struct cv_figure_result *result, const char *label,
                     const char *columns, const char *note)
{
    result->label = label;
    result->columns = split(result, columns, &result->ncolumns);
    result->note = note;
}

static struct cv_figure_row *add_row(struct cv_figure_result *result)
{
    struct cv_figure_row *rows = result->rows;

    if (result->nrows == result->room) {
        result->room = result->room > 0 ? 2 * result->room : 16;
        result->rows = cv_figure_alloc(result, result->room, sizeof *rows);
        if (rows != NULL)
            memcpy(result->rows, rows, result->nrows * sizeof *rows);
    }
    return &result->rows[result->nrows++];
}

double *cv_figure_row(struct cv_figure_result *result, const char *label, ...)
{
    struct cv_figure_row *row = add_row(result);
    char text[128];
    va_list arguments;

    va_start(arguments, label);
    vsnprintf(text, sizeof text, label, arguments);
    va_end(arguments);
    row->label = copy_text(result, text);
    row->values = cv_figure_alloc(result, result->ncolumns, sizeof *row->values);
    for (size_t i = 0; i < result->ncolumns; i++)
        row->values[i] = NAN;
    row->file_only = result->file_only;
    return row->values;
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

struct cv_figure_series *cv_plot_series(struct cv_figure_plot *plot, const char *name,
                                        size_t n, bool ribbon)
{
    struct cv_figure_series *series = cv_figure_alloc(plot->result, 1, sizeof *series);
    double *values = cv_figure_alloc(plot->result, n, (ribbon ? 4 : 2) * sizeof *values);

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

/* A column as a curve. Rows without a number at the start of their label are skipped, unless
 * the panel has x or shows labels. */
static void add_curve(struct cv_figure_plot *plot, const struct cv_curve *curve)
{
    struct cv_figure_series *series =
        cv_plot_series(plot, curve->name, plot->nrows, false);

    series->line = curve->line;
    series->n = 0;
    for (size_t i = 0; i < plot->nrows; i++) {
        const struct cv_figure_row *row = &plot->result->rows[plot->first_row + i];
        char *end;
        double x = strtod(row->label, &end);

        if (plot->labels || plot->x != NULL)
            x = plot->labels ? (double)i : plot->x[i];
        else if (end == row->label)
            continue;
        series->x[series->n] = x + curve->shift;
        series->y[series->n++] = row->values[curve->column];
    }
}

/* Tics are named by labels of rows, headings of columns or rows of bars. */
static void find_names(struct cv_figure_plot *plot)
{
    struct cv_figure_result *result = plot->result;
    const char **labels = cv_figure_alloc(result, plot->nrows, sizeof *labels);

    if (plot->kinds != NULL)
        plot->kind_names = split(result, plot->kinds, &plot->nkinds);
    if (plot->kind == CV_PLOT_BARS) {
        plot->y_names = split(result, plot->bar_rows, &plot->nrows);
        return;
    }
    for (size_t i = 0; i < plot->nrows; i++)
        labels[i] = result->rows[plot->first_row + i].label + plot->cut;
    if (plot->labels)
        plot->x_names = labels;
    if (plot->kind != CV_PLOT_MAP)
        return;
    plot->y_names = labels;
    plot->x_names = cv_figure_alloc(result, plot->ncolumns, sizeof *plot->x_names);
    for (size_t i = 0; i < plot->ncolumns; i++) {
        const char *space = strchr(result->columns[i], ' ');

        plot->x_names[i] = space != NULL ? space + 1 : result->columns[i];
    }
}

struct cv_figure_plot *cv_plot_add(struct cv_figure_result *result,
                                   const struct cv_figure_plot *plot)
{
    const enum cv_line line = result->nrows > 100 ? CV_LINE_STEPS : CV_LINE_MARKED;
    struct cv_figure_plot *added = cv_figure_alloc(result, 1, sizeof *added);

    *added = *plot;
    added->result = result;
    added->last_series = &added->series;
    added->last_bar = &added->bars;
    *result->last_plot = added;
    result->last_plot = &added->next;
    if (plot->nrows == 0)
        added->nrows = result->nrows;
    find_names(added);
    for (size_t i = 0; i < plot->ncurves; i++) {
        const size_t column = plot->first_curve + i;

        add_curve(added,
                  plot->curves != NULL
                      ? &plot->curves[i]
                      : &(struct cv_curve){ result->columns[column], column, line, 0 });
    }
    return added;
}

void cv_plot_row(struct cv_figure_plot *plot, const char *name, const double *row,
                 size_t count, const double *x)
{
    struct cv_figure_series *series =
        cv_plot_series(plot, copy_text(plot->result, name), count, false);

    memcpy(series->x, x, count * sizeof *x);
    memcpy(series->y, row, count * sizeof *row);
}

void cv_plot_bar(struct cv_figure_plot *plot, const struct cv_bar *bar)
{
    struct cv_bar *made = cv_figure_alloc(plot->result, 1, sizeof *made);

    *made = *bar;
    made->next = NULL;
    if (bar->text != NULL)
        made->text = copy_text(plot->result, bar->text);
    *plot->last_bar = made;
    plot->last_bar = &made->next;
}
