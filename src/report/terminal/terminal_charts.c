/* terminal_charts.c -- a schedule as a small chart of text. SPDX-License-Identifier: MIT
 *
 * Each row adds up, for every cell, the time each activity takes in it. O(chunks +
 * rows x width). */
#include "report/terminal/terminal_charts.h"

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

/* --- a reduction tree and what its nodes do, as text ------------------------------- */

/* For a few dozen nodes: who comes below whom is found by looking at all of them. */

enum {
    TREE_LEAST_WIDTH = 40,
    LEAST_CHART = 20,
    STEP = 3 /* columns a level is indented */
};

enum tree_activity {
    TREE_IDLE,
    TREE_SEND,
    TREE_RECEIVE,
    TREE_EVEN,
    TREE_ODD,
    TREE_ACTIVITIES
};

struct tree_mark {
    const char *utf8, *ascii, *colour;
};

static const struct tree_mark marks_tree[TREE_ACTIVITIES] = {
    [TREE_IDLE] = { " ", " ", "" },           [TREE_SEND] = { "\u2592", "=", "36" },
    [TREE_RECEIVE] = { "\u2591", "-", "36" }, [TREE_EVEN] = { "\u2588", "#", "32" },
    [TREE_ODD] = { "\u2593", "+", "34" },
};

struct drawing {
    const struct cleave_tree *tree;
    const struct cv_gantt_style *style;
    size_t label, columns; /* columns 0: no chart                        */
    uint32_t *received;    /* per node: combinations drawn so far        */
    bool *arrived;         /* per node: its transfer was drawn           */
    bool joined;           /* some transfer came as one with its combination */
    double *cover;         /* [node][activity][column], in parts of a cell */
    struct cv_text stem;   /* what stands before the node that is drawn  */
    struct cv_text *out;
};

static double *cover_of_tree(const struct drawing *drawing, uint32_t node,
                             enum tree_activity tree_activity)
{
    return drawing->cover +
           ((size_t)node * TREE_ACTIVITIES + tree_activity) * drawing->columns;
}

static void add_span_tree(const struct drawing *drawing, uint32_t node,
                          enum tree_activity tree_activity,
                          const struct cleave_event *event)
{
    const double scale = (double)drawing->columns / drawing->tree->length_s;
    double *cover = cover_of_tree(drawing, node, tree_activity);
    const double from = fmax(0, event->start_s * scale);
    const double to = fmin((double)drawing->columns, event->time_s * scale);

    for (size_t c = (size_t)from; (double)c < to; c++)
        cover[c] += fmin(to, (double)c + 1) - fmax(from, (double)c);
}

static void add_event(struct drawing *drawing, const struct cleave_event *event)
{
    const uint32_t turn = drawing->received[event->worker];

    if (event->kind == CLEAVE_ARRIVED) {
        add_span_tree(drawing, event->peer, TREE_SEND, event);
        add_span_tree(drawing, event->worker, TREE_RECEIVE, event);
        drawing->arrived[event->peer] = true;
    } else if (event->kind == CLEAVE_COMBINED) {
        add_span_tree(drawing, event->worker, turn % 2 == 0 ? TREE_EVEN : TREE_ODD,
                      event);
        drawing->received[event->worker]++;
        /* Transfer and combination may come as one. */
        if (!drawing->arrived[event->peer]) {
            add_span_tree(drawing, event->peer, TREE_SEND, event);
            drawing->joined = true;
        }
    }
}

/* What takes most of a cell; combining counts before receiving. */
static enum tree_activity cell_activity_tree(const struct drawing *drawing, uint32_t node,
                                             size_t column)
{
    double part[TREE_ACTIVITIES] = { 0 };

    for (int a = TREE_SEND; a < TREE_ACTIVITIES; a++)
        part[a] = cover_of_tree(drawing, node, (enum tree_activity)a)[column];
    if (part[TREE_EVEN] + part[TREE_ODD] >= 0.5)
        return part[TREE_EVEN] >= part[TREE_ODD] ? TREE_EVEN : TREE_ODD;
    if (part[TREE_SEND] >= 0.5)
        return TREE_SEND;
    return part[TREE_RECEIVE] >= 0.5 ? TREE_RECEIVE : TREE_IDLE;
}

static void put_mark_tree(const struct drawing *drawing, enum tree_activity tree_activity,
                          enum tree_activity *last)
{
    if (drawing->style->colour && tree_activity != *last)
        cv_text_add(drawing->out, "\033[%sm",
                    tree_activity == TREE_IDLE ? "0" : marks_tree[tree_activity].colour);
    *last = tree_activity;
    cv_text_add(drawing->out, "%s",
                drawing->style->utf8 ? marks_tree[tree_activity].utf8
                                     : marks_tree[tree_activity].ascii);
}

static void put_cells(const struct drawing *drawing, uint32_t node)
{
    size_t end = drawing->columns;
    enum tree_activity last = TREE_IDLE;

    while (end > 0 && cell_activity_tree(drawing, node, end - 1) == TREE_IDLE)
        end--;
    for (size_t c = 0; c < end; c++)
        put_mark_tree(drawing, cell_activity_tree(drawing, node, c), &last);
    if (drawing->style->colour && last != TREE_IDLE)
        cv_text_add(drawing->out, "\033[0m");
}

static void put_node(const struct drawing *drawing, uint32_t node, const char *branch)
{
    const char *stem = drawing->stem.bytes != NULL ? drawing->stem.bytes : "";
    char label[16], number[CV_NUMBER_ROOM];
    size_t width;

    snprintf(label, sizeof label, "%u", node);
    width = cv_shown_width(stem) + cv_shown_width(branch) + cv_shown_width(label);
    cv_text_add(drawing->out, "  %s%s%s", stem, branch, label);
    if (drawing->columns > 0) {
        cv_text_add(drawing->out, "%*s ",
                    (int)(width < drawing->label ? drawing->label - width : 0), "");
        put_cells(drawing, node);
    } else if (node != drawing->tree->root) {
        cv_text_add(drawing->out, " at %s s",
                    cv_show_number(drawing->tree->start_s[node], number));
    }
    cv_text_add(drawing->out, "\n");
}

/* The sender to `parent` that comes behind `after`, which is `nodes` for the first;
 * `nodes` when there is none. */
static uint32_t next_sender(const struct cleave_tree *tree, uint32_t parent,
                            uint32_t after)
{
    uint32_t best = tree->nodes;

    for (uint32_t i = 0; i < tree->nodes; i++) {
        if (tree->parent[i] != (int64_t)parent)
            continue;
        if (after < tree->nodes &&
            (tree->start_s[i] < tree->start_s[after] ||
             (i <= after && tree->start_s[i] == tree->start_s[after])))
            continue;
        if (best == tree->nodes || tree->start_s[i] < tree->start_s[best])
            best = i;
    }
    return best;
}

static void put_tree(struct drawing *drawing, uint32_t node, const char *branch,
                     const char *below)
{
    const bool utf8 = drawing->style->utf8;
    const size_t length = drawing->stem.length;
    uint32_t child, next;

    put_node(drawing, node, branch);
    cv_text_add(&drawing->stem, "%s", below);
    for (child = next_sender(drawing->tree, node, drawing->tree->nodes);
         child < drawing->tree->nodes; child = next) {
        next = next_sender(drawing->tree, node, child);
        if (next < drawing->tree->nodes)
            put_tree(drawing, child, utf8 ? "\u251c\u2500 " : "|- ",
                     utf8 ? "\u2502  " : "|  ");
        else
            put_tree(drawing, child, utf8 ? "\u2514\u2500 " : "`- ", "   ");
    }
    if (drawing->stem.bytes != NULL) {
        drawing->stem.length = length;
        drawing->stem.bytes[length] = '\0';
    }
}

/* Columns of the widest label. */
static size_t widest_label(const struct cleave_tree *tree)
{
    size_t widest = 0;

    for (uint32_t i = 0; i < tree->nodes; i++) {
        size_t width = (size_t)snprintf(NULL, 0, "%u", i);

        for (int64_t up = tree->parent[i]; up >= 0; up = tree->parent[up])
            width += STEP;
        widest = width > widest ? width : widest;
    }
    return widest;
}

static void put_legend_tree(const struct drawing *drawing)
{
    static const char *const texts[TREE_ACTIVITIES] = {
        [TREE_SEND] = " sending",
        [TREE_RECEIVE] = " receiving",
        [TREE_EVEN] = "",
        [TREE_ODD] = " combining, partials alternate",
    };
    char end[CV_NUMBER_ROOM + 2], number[CV_NUMBER_ROOM];

    snprintf(end, sizeof end, "%s s", cv_show_number(drawing->tree->length_s, number));
    cv_text_add(drawing->out, "  %*s 0%*s\n  %*s ", (int)drawing->label, "",
                (int)drawing->columns - 1, end, (int)drawing->label, "");
    for (int a = TREE_SEND; a < TREE_ACTIVITIES; a++) {
        enum tree_activity last = TREE_IDLE;

        if (a == TREE_RECEIVE && drawing->joined)
            continue;
        cv_text_add(drawing->out, "%s", a == TREE_SEND || a == TREE_ODD ? "" : "   ");
        put_mark_tree(drawing, (enum tree_activity)a, &last);
        cv_text_add(drawing->out, "%s%s", drawing->style->colour ? "\033[0m" : "",
                    texts[a]);
    }
    cv_text_add(drawing->out, "\n");
}

static bool make_chart(struct drawing *drawing, const struct cleave_trace *trace,
                       struct cv_arena *arena)
{
    const uint32_t n = drawing->tree->nodes;

    drawing->received = cv_array(arena, n, sizeof *drawing->received);
    drawing->arrived = cv_array(arena, n, sizeof *drawing->arrived);
    drawing->cover = cv_array(arena, (size_t)n * TREE_ACTIVITIES * drawing->columns,
                              sizeof *drawing->cover);
    if (drawing->received == NULL || drawing->arrived == NULL || drawing->cover == NULL)
        return false;
    for (size_t i = 0; i < cleave_trace_count(trace); i++) {
        const struct cleave_entry *entry = cleave_trace_at(trace, i);

        if (!entry->is_order)
            add_event(drawing, &entry->as.event);
    }
    return true;
}

void cv_terminal_tree(const struct cleave_tree *tree, const struct cleave_trace *trace,
                      const struct cv_gantt_style *style, struct cv_text *out)
{
    struct drawing drawing = { .tree = tree, .style = style, .out = out };
    const size_t width =
        style->width > TREE_LEAST_WIDTH ? style->width : TREE_LEAST_WIDTH;
    struct cv_arena arena;

    if (tree->nodes > style->rows || tree->nodes < 2)
        return;
    cv_arena_init(&arena);
    drawing.label = widest_label(tree);
    /* Two columns of margin, one after the label, one kept free at the right. */
    if (tree->length_s > 0 && drawing.label + 4 + LEAST_CHART <= width)
        drawing.columns = width - drawing.label - 4;
    if (drawing.columns > 0 && !make_chart(&drawing, trace, &arena)) {
        out->failed = true;
    } else {
        put_tree(&drawing, tree->root, "", "");
        if (drawing.columns > 0)
            put_legend_tree(&drawing);
    }
    out->failed = out->failed || drawing.stem.failed;
    cv_text_done(&drawing.stem);
    cv_arena_done(&arena);
}
