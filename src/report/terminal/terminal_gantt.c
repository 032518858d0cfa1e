/* terminal_gantt.c -- a schedule as a small chart of text. SPDX-License-Identifier: MIT
 *
 * Each row adds up, for every cell, the time each activity takes in it. O(chunks +
 * rows x width). */
#include "report/terminal/terminal_gantt.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "base/arena.h"
#include "report/terminal/table.h"

enum { LEAST_WIDTH = 40, MOST_LABEL = 20 };

enum activity { IDLE, SEND, RECEIVE, EVEN, ODD, RETURN, ACTIVITIES };

struct mark {
    const char *utf8, *ascii, *colour;
};

static const struct mark marks[ACTIVITIES] = {
    [IDLE] = { " ", " ", "" },           [SEND] = { "\u2592", "=", "36" },
    [RECEIVE] = { "\u2591", "-", "36" }, [EVEN] = { "\u2588", "#", "32" },
    [ODD] = { "\u2593", "+", "34" },     [RETURN] = { "\u259a", "~", "33" },
};

struct chart {
    const struct cleave_schedule *schedule;
    const struct cleave_platform *platform;
    const struct cv_gantt_style *style;
    size_t label, columns;
    uint32_t nrows;      /* workers shown                                */
    uint32_t nused;      /* workers that get load                        */
    uint32_t *row_of;    /* worker -> row + 1, 0: not shown              */
    uint32_t *worker_of; /* row -> worker                                */
    uint32_t *chunks;    /* row -> chunks seen so far                    */
    double *cover;       /* [row][activity][column]; row 0 is the port   */
    bool returns;
};

static double *cover_of(const struct chart *chart, size_t row, enum activity activity)
{
    return chart->cover + (row * ACTIVITIES + activity) * chart->columns;
}

/* Add the span to the cells it touches, in parts of a cell. */
static void add_span(const struct chart *chart, size_t row, enum activity activity,
                     double start_s, double end_s)
{
    const double scale = (double)chart->columns / chart->schedule->makespan_s;
    double *cover = cover_of(chart, row, activity);
    const double from = fmax(0, start_s * scale);
    const double to = fmin((double)chart->columns, end_s * scale);

    for (size_t c = (size_t)from; (double)c < to; c++)
        cover[c] += fmin(to, (double)c + 1) - fmax(from, (double)c);
}

static void put_label(const struct chart *chart, const char *label, struct cv_text *out)
{
    size_t width = 0;

    cv_text_add(out, "  ");
    for (; *label != '\0'; label++) {
        const unsigned char byte = (unsigned char)*label;

        if ((byte & 0xc0) != 0x80 && width++ >= chart->label)
            break;
        cv_text_add(out, "%c", byte < 0x20 || byte == 0x7f ? '?' : (char)byte);
    }
    if (width < chart->label)
        cv_text_add(out, "%*s", (int)(chart->label - width), "");
    cv_text_add(out, " ");
}

static void put_mark(const struct chart *chart, enum activity activity,
                     enum activity *last, struct cv_text *out)
{
    const struct mark *mark = &marks[activity];

    if (chart->style->colour && activity != *last)
        cv_text_add(out, "\033[%sm", activity == IDLE ? "0" : mark->colour);
    *last = activity;
    cv_text_add(out, "%s", chart->style->utf8 ? mark->utf8 : mark->ascii);
}

/* What takes most of cell `column` of `row`. */
static enum activity cell_activity(const struct chart *chart, size_t row, size_t column)
{
    double busiest = 0, total = 0, part[ACTIVITIES] = { 0 };
    enum activity best = IDLE;

    for (int a = SEND; a < ACTIVITIES; a++) {
        part[a] = cover_of(chart, row, (enum activity)a)[column];
        total += part[a];
        if (part[a] > busiest) {
            busiest = part[a];
            best = (enum activity)a;
        }
    }
    /* A worker may receive while it computes: computing is what matters then. */
    if (part[EVEN] + part[ODD] >= 0.5)
        best = part[EVEN] >= part[ODD] ? EVEN : ODD;
    return total >= 0.5 ? best : IDLE;
}

static void put_row(const struct chart *chart, size_t row, const char *label,
                    struct cv_text *out)
{
    enum activity last = IDLE;
    size_t end = chart->columns;

    put_label(chart, label, out);
    while (end > 0 && cell_activity(chart, row, end - 1) == IDLE)
        end--;
    for (size_t c = 0; c < end; c++)
        put_mark(chart, cell_activity(chart, row, c), &last, out);
    if (chart->style->colour && last != IDLE)
        cv_text_add(out, "\033[0m");
    cv_text_add(out, "\n");
}

static void put_legend(const struct chart *chart, struct cv_text *out)
{
    static const struct {
        enum activity activity;
        const char *text;
    } entries[] = {
        { SEND, " port sending" },
        { RECEIVE, " receiving" },
        { EVEN, "" },
        { ODD, " computing, chunks alternate" },
        { RETURN, " returning" },
    };
    const size_t indent = chart->label + 3;
    enum activity last = IDLE;
    size_t at = indent;

    cv_text_add(out, "  %*s ", (int)chart->label, "");
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        const size_t width = 1 + strlen(entries[i].text);
        const bool joined = entries[i].activity == ODD;

        if (entries[i].activity == RETURN && !chart->returns)
            continue;
        if (at > indent && !joined && at + 3 + width >= chart->style->width) {
            cv_text_add(out, "\n  %*s ", (int)chart->label, "");
            at = indent;
        } else if (at > indent && !joined) {
            cv_text_add(out, "   ");
            at += 3;
        }
        put_mark(chart, entries[i].activity, &last, out);
        if (chart->style->colour)
            cv_text_add(out, "\033[0m");
        last = IDLE;
        cv_text_add(out, "%s", entries[i].text);
        at += width;
    }
    cv_text_add(out, "\n");
}

static void put_axis(const struct chart *chart, struct cv_text *out)
{
    char end[CV_NUMBER_ROOM + 2], number[CV_NUMBER_ROOM];

    snprintf(end, sizeof end, "%s s",
             cv_show_number(chart->schedule->makespan_s, number));
    put_label(chart, "", out);
    cv_text_add(out, "0%*s\n", (int)chart->columns - 1, end);
}

/* Which workers are shown, and how wide their names are. */
static bool choose_rows(struct chart *chart, struct cv_arena *arena)
{
    const struct cleave_schedule *schedule = chart->schedule;
    const uint32_t nworkers = cleave_platform_nworkers(chart->platform);
    const uint32_t max = chart->style->rows;

    chart->row_of = cv_array(arena, nworkers, sizeof *chart->row_of);
    chart->worker_of = cv_array(arena, max, sizeof *chart->worker_of);
    chart->chunks = cv_array(arena, max, sizeof *chart->chunks);
    if (chart->row_of == NULL || chart->worker_of == NULL || chart->chunks == NULL)
        return false;
    for (size_t k = 0; k < schedule->nchunks; k++)
        chart->row_of[schedule->chunks[k].worker] = 1;
    chart->label = strlen("port");
    for (uint32_t w = 0; w < nworkers; w++) {
        size_t width;

        if (chart->row_of[w] == 0)
            continue;
        chart->row_of[w] = 0;
        if (chart->nused++ >= max)
            continue;
        chart->worker_of[chart->nrows++] = w;
        chart->row_of[w] = chart->nrows;
        width = cv_shown_width(cleave_platform_worker_name(chart->platform, w));
        if (width > chart->label)
            chart->label = width < MOST_LABEL ? width : MOST_LABEL;
    }
    return true;
}

static void add_chunk(struct chart *chart, const struct cleave_chunk *chunk)
{
    const uint32_t row = chart->row_of[chunk->worker];

    add_span(chart, 0, SEND, chunk->send_start_s, chunk->send_end_s);
    if (!isnan(chunk->return_start_s)) {
        chart->returns = true;
        add_span(chart, 0, RETURN, chunk->return_start_s, chunk->return_end_s);
    }
    if (row == 0)
        return;
    add_span(chart, row, RECEIVE, chunk->send_start_s, chunk->send_end_s);
    add_span(chart, row, chart->chunks[row - 1]++ % 2 == 0 ? EVEN : ODD,
             chunk->compute_start_s, chunk->compute_end_s);
    if (!isnan(chunk->return_start_s))
        add_span(chart, row, RETURN, chunk->return_start_s, chunk->return_end_s);
}

static void put_rows(const struct chart *chart, struct cv_text *out)
{
    put_row(chart, 0, "port", out);
    for (uint32_t row = 1; row <= chart->nrows; row++)
        put_row(chart, row,
                cleave_platform_worker_name(chart->platform, chart->worker_of[row - 1]),
                out);
    put_axis(chart, out);
    if (chart->nused > chart->nrows)
        cv_text_add(out, "  (%u more workers are not drawn)\n",
                    chart->nused - chart->nrows);
    put_legend(chart, out);
}

void cv_terminal_gantt(const struct cleave_schedule *schedule,
                       const struct cleave_platform *platform,
                       const struct cv_gantt_style *style, struct cv_text *out)
{
    struct chart chart = { .schedule = schedule, .platform = platform, .style = style };
    const unsigned width = style->width > LEAST_WIDTH ? style->width : LEAST_WIDTH;
    struct cv_arena arena;

    if (schedule->nchunks == 0 || !(schedule->makespan_s > 0))
        return;
    cv_arena_init(&arena);
    if (choose_rows(&chart, &arena)) {
        /* Two columns of margin, one after the label, one kept free at the right. */
        chart.columns = width - chart.label - 4;
        chart.cover =
            cv_array(&arena, (size_t)(chart.nrows + 1) * ACTIVITIES * chart.columns,
                     sizeof *chart.cover);
    }
    if (chart.cover != NULL) {
        for (size_t k = 0; k < schedule->nchunks; k++)
            add_chunk(&chart, &schedule->chunks[k]);
        put_rows(&chart, out);
    } else {
        out->failed = true;
    }
    cv_arena_done(&arena);
}
