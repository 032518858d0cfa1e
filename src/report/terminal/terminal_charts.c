/* terminal_charts.c -- Gantt charts and reduction trees as text.
 * SPDX-License-Identifier: MIT
 *
 * Each row adds up, for every cell, the time that each activity takes in it. O(spans +
 * rows x width). */
#include "report/terminal/terminal_charts.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "base/arena.h"
#include "report/terminal/table.h"

enum { LEAST_WIDTH = 40, LEAST_CHART = 20, MOST_LABEL = 20 };
enum { STEP = 3 }; /* columns that a level of a tree is indented */

/* Several loads have a letter each, the eleventh that of the first. */
enum { LETTERS = 10 };
enum activity {
    IDLE,
    SEND,
    RECEIVE,
    EVEN,
    ODD,
    RETURN,
    LOAD,
    ACTIVITIES = LOAD + LETTERS
};

static const struct {
    const char *utf8, *ascii, *colour;
} marks[ACTIVITIES] = {
    [IDLE] = { " ", " ", "" },           [SEND] = { "\u2592", "=", "36" },
    [RECEIVE] = { "\u2591", "-", "36" }, [EVEN] = { "\u2588", "#", "32" },
    [ODD] = { "\u2593", "+", "34" },     [RETURN] = { "\u259a", "~", "33" },
    [LOAD] = { "A", "A", "32" },         [LOAD + 1] = { "B", "B", "34" },
    [LOAD + 2] = { "C", "C", "33" },     [LOAD + 3] = { "D", "D", "35" },
    [LOAD + 4] = { "E", "E", "31" },     [LOAD + 5] = { "F", "F", "92" },
    [LOAD + 6] = { "G", "G", "94" },     [LOAD + 7] = { "H", "H", "93" },
    [LOAD + 8] = { "I", "I", "95" },     [LOAD + 9] = { "J", "J", "91" },
};

/* Rows of cells, with a label before each row. */
struct chart {
    const struct cv_gantt_style *style;
    struct cv_text *out;
    size_t label, columns; /* columns of labels; of rows, 0: no chart           */
    double length_s;       /* that all columns stand for                        */
    double *cover;         /* [row][activity][column]: parts of a cell          */
    bool adds_up;          /* a cell is busy if all activities fill half of it,
                              else if one of them does                          */
};

/* Columns that rows may have: without two of margin, one after the label, one at the
 * right. */
static size_t columns_left(const struct chart *chart)
{
    const size_t width =
        chart->style->width > LEAST_WIDTH ? chart->style->width : LEAST_WIDTH;

    return width > chart->label + 4 ? width - chart->label - 4 : 0;
}

static bool make_cells(struct chart *chart, size_t rows, struct cv_arena *arena)
{
    chart->cover =
        cv_array(arena, rows * ACTIVITIES * chart->columns, sizeof *chart->cover);
    return chart->cover != NULL;
}

static double *cover_of(const struct chart *chart, size_t row, int activity)
{
    return chart->cover + (row * ACTIVITIES + (size_t)activity) * chart->columns;
}

/* Add the span to the cells it touches, in parts of a cell. */
static void add_span(const struct chart *chart, size_t row, enum activity activity,
                     double start_s, double end_s)
{
    const double scale = (double)chart->columns / chart->length_s;
    double *cover = cover_of(chart, row, (int)activity);
    const double from = fmax(0, start_s * scale);
    const double to = fmin((double)chart->columns, end_s * scale);

    for (size_t c = (size_t)from; (double)c < to; c++)
        cover[c] += fmin(to, (double)c + 1) - fmax(from, (double)c);
}

/* The activity that takes most of a cell. Computing counts before receiving at the
 * same time. */
static enum activity cell_activity(const struct chart *chart, size_t row, size_t column)
{
    double total = 0, computing = 0, part[ACTIVITIES] = { 0 };
    int best = IDLE, busiest = EVEN;

    for (int a = SEND; a < ACTIVITIES; a++) {
        part[a] = cover_of(chart, row, a)[column];
        total += part[a];
        if (part[a] > part[best])
            best = a;
    }
    for (int a = EVEN; a < ACTIVITIES; a++) {
        if (a == RETURN)
            continue;
        computing += part[a];
        if (part[a] > part[busiest])
            busiest = a;
    }
    if (computing >= 0.5)
        return (enum activity)busiest;
    return (chart->adds_up ? total : part[best]) >= 0.5 ? (enum activity)best : IDLE;
}

static void put_mark(const struct chart *chart, enum activity activity,
                     enum activity *last)
{
    if (chart->style->colour && activity != *last)
        cv_text_add(chart->out, "\033[%sm",
                    activity == IDLE ? "0" : marks[activity].colour);
    *last = activity;
    cv_text_add(chart->out, "%s",
                chart->style->utf8 ? marks[activity].utf8 : marks[activity].ascii);
}

static void put_cells(const struct chart *chart, size_t row)
{
    enum activity last = IDLE;
    size_t end = chart->columns;

    while (end > 0 && cell_activity(chart, row, end - 1) == IDLE)
        end--;
    for (size_t c = 0; c < end; c++)
        put_mark(chart, cell_activity(chart, row, c), &last);
    if (chart->style->colour && last != IDLE)
        cv_text_add(chart->out, "\033[0m");
    cv_text_add(chart->out, "\n");
}

static void put_axis(const struct chart *chart)
{
    char end[CV_NUMBER_ROOM + 2], number[CV_NUMBER_ROOM];

    snprintf(end, sizeof end, "%s s", cv_show_number(chart->length_s, number));
    cv_text_add(chart->out, "  %*s 0%*s\n", (int)chart->label, "",
                (int)chart->columns - 1, end);
}

/* The meaning of marks, without activities that have no text. Lines are broken at
 * `width`. */
static void put_legend(const struct chart *chart, const char *const texts[ACTIVITIES],
                       size_t width)
{
    const size_t indent = chart->label + 3;
    size_t at = indent;

    cv_text_add(chart->out, "  %*s ", (int)chart->label, "");
    for (int a = SEND; a < ACTIVITIES; a++) {
        enum activity last = IDLE;
        const bool joined = a == ODD;

        if (texts[a] == NULL)
            continue;
        if (at > indent && !joined && at + 4 + strlen(texts[a]) >= width) {
            cv_text_add(chart->out, "\n  %*s ", (int)chart->label, "");
            at = indent;
        } else if (at > indent && !joined) {
            cv_text_add(chart->out, "   ");
            at += 3;
        }
        put_mark(chart, (enum activity)a, &last);
        cv_text_add(chart->out, "%s%s", chart->style->colour ? "\033[0m" : "", texts[a]);
        at += 1 + strlen(texts[a]);
    }
    cv_text_add(chart->out, "\n");
}

/* --- Gantt charts ------------------------------------------------------------------- */

struct gantt {
    struct chart chart; /* row 0 is the port */
    const struct cleave_schedule *schedule;
    const struct cleave_platform *platform;
    uint32_t nrows;      /* workers shown                                */
    uint32_t nused;      /* workers that get load                        */
    uint32_t *row_of;    /* worker -> row, 0: not shown                  */
    uint32_t *worker_of; /* row - 1 -> worker                            */
    uint32_t *chunks;    /* row - 1 -> chunks seen so far                */
    bool returns;
};

static void put_row(const struct gantt *gantt, size_t row, const char *label)
{
    struct cv_text *out = gantt->chart.out;
    size_t width = 0;

    cv_text_add(out, "  ");
    for (; *label != '\0'; label++) {
        const unsigned char byte = (unsigned char)*label;

        if ((byte & 0xc0) != 0x80 && width++ >= gantt->chart.label)
            break;
        cv_text_add(out, "%c", byte < 0x20 || byte == 0x7f ? '?' : (char)byte);
    }
    if (width < gantt->chart.label)
        cv_text_add(out, "%*s", (int)(gantt->chart.label - width), "");
    cv_text_add(out, " ");
    put_cells(&gantt->chart, row);
}

/* Which workers are shown, and how wide their names are. */
static bool choose_rows(struct gantt *gantt, struct cv_arena *arena)
{
    const struct cleave_schedule *schedule = gantt->schedule;
    const uint32_t nworkers = cleave_platform_nworkers(gantt->platform);
    const uint32_t max = gantt->chart.style->rows;

    gantt->row_of = cv_array(arena, nworkers, sizeof *gantt->row_of);
    gantt->worker_of = cv_array(arena, max, sizeof *gantt->worker_of);
    gantt->chunks = cv_array(arena, max, sizeof *gantt->chunks);
    if (gantt->row_of == NULL || gantt->worker_of == NULL || gantt->chunks == NULL)
        return false;
    for (size_t k = 0; k < schedule->nchunks; k++)
        gantt->row_of[schedule->chunks[k].worker] = 1;
    gantt->chart.label = strlen("port");
    for (uint32_t w = 0; w < nworkers; w++) {
        size_t width;

        if (gantt->row_of[w] == 0)
            continue;
        gantt->row_of[w] = 0;
        if (gantt->nused++ >= max)
            continue;
        gantt->worker_of[gantt->nrows++] = w;
        gantt->row_of[w] = gantt->nrows;
        width = cv_shown_width(cleave_platform_worker_name(gantt->platform, w));
        if (width > gantt->chart.label)
            gantt->chart.label = width < MOST_LABEL ? width : MOST_LABEL;
    }
    gantt->chart.columns = columns_left(&gantt->chart);
    return make_cells(&gantt->chart, (size_t)gantt->nrows + 1, arena);
}

static void add_chunk(struct gantt *gantt, const struct cleave_chunk *chunk)
{
    const struct chart *chart = &gantt->chart;
    const uint32_t row = gantt->row_of[chunk->worker];
    const enum activity load = (enum activity)(LOAD + chunk->item % LETTERS);

    add_span(chart, 0, SEND, chunk->send_start_s, chunk->send_end_s);
    if (row > 0) {
        add_span(chart, row, RECEIVE, chunk->send_start_s, chunk->send_end_s);
        add_span(chart, row,
                 chart->style->nloads > 0            ? load
                 : gantt->chunks[row - 1]++ % 2 == 0 ? EVEN
                                                     : ODD,
                 chunk->compute_start_s, chunk->compute_end_s);
    }
    if (isnan(chunk->return_start_s))
        return;
    gantt->returns = true;
    add_span(chart, 0, RETURN, chunk->return_start_s, chunk->return_end_s);
    if (row > 0)
        add_span(chart, row, RETURN, chunk->return_start_s, chunk->return_end_s);
}

static void put_gantt(const struct gantt *gantt)
{
    const struct cv_gantt_style *style = gantt->chart.style;
    char names[LETTERS][64];
    const char *texts[ACTIVITIES] = {
        [SEND] = " port sending",
        [RECEIVE] = " receiving",
        [EVEN] = "",
        [ODD] = " computing, chunks alternate",
        [RETURN] = gantt->returns ? " returning" : NULL,
    };

    if (style->nloads > 0)
        texts[EVEN] = texts[ODD] = NULL;
    for (size_t k = 0; k < style->nloads && k < LETTERS; k++) {
        snprintf(names[k], sizeof names[k], " %s", style->loads[k].name);
        texts[LOAD + k] = names[k];
    }

    put_row(gantt, 0, "port");
    for (uint32_t row = 1; row <= gantt->nrows; row++)
        put_row(gantt, row,
                cleave_platform_worker_name(gantt->platform, gantt->worker_of[row - 1]));
    put_axis(&gantt->chart);
    if (gantt->nused > gantt->nrows)
        cv_text_add(gantt->chart.out, "  (%u more workers are not drawn)\n",
                    gantt->nused - gantt->nrows);
    put_legend(&gantt->chart, texts, gantt->chart.style->width);
}

void cv_terminal_gantt(const struct cleave_schedule *schedule,
                       const struct cleave_platform *platform,
                       const struct cv_gantt_style *style, struct cv_text *out)
{
    struct gantt gantt = { .chart = { .style = style,
                                      .out = out,
                                      .length_s = schedule->makespan_s,
                                      .adds_up = true },
                           .schedule = schedule,
                           .platform = platform };
    struct cv_arena arena;

    if (schedule->nchunks == 0 || !(schedule->makespan_s > 0))
        return;
    cv_arena_init(&arena);
    if (choose_rows(&gantt, &arena)) {
        for (size_t k = 0; k < schedule->nchunks; k++)
            add_chunk(&gantt, &schedule->chunks[k]);
        put_gantt(&gantt);
    } else {
        out->failed = true;
    }
    cv_arena_done(&arena);
}

/* --- reduction trees ---------------------------------------------------------------- */

/* For a few dozen nodes: the senders of a node are found by looking at all nodes. */
struct tree {
    struct chart chart; /* a row per node */
    const struct cleave_tree *tree;
    uint32_t *received;  /* per node: combinations drawn so far             */
    bool *arrived;       /* per node: its transfer was drawn                */
    bool joined;         /* a transfer came as one with its combination     */
    struct cv_text stem; /* text before the node that is drawn              */
};

static void add_event(struct tree *tree, const struct cleave_event *event)
{
    const struct chart *chart = &tree->chart;
    const double start_s = event->start_s, end_s = event->time_s;

    if (event->kind == CLEAVE_ARRIVED) {
        add_span(chart, event->peer, SEND, start_s, end_s);
        add_span(chart, event->worker, RECEIVE, start_s, end_s);
        tree->arrived[event->peer] = true;
    } else if (event->kind == CLEAVE_COMBINED) {
        add_span(chart, event->worker,
                 tree->received[event->worker]++ % 2 == 0 ? EVEN : ODD, start_s, end_s);
        /* Transfer and combination may come as one. */
        if (!tree->arrived[event->peer]) {
            add_span(chart, event->peer, SEND, start_s, end_s);
            tree->joined = true;
        }
    }
}

static void put_node(const struct tree *tree, uint32_t node, const char *branch)
{
    const char *stem = tree->stem.bytes != NULL ? tree->stem.bytes : "";
    const struct chart *chart = &tree->chart;
    char label[16], number[CV_NUMBER_ROOM];
    size_t width;

    snprintf(label, sizeof label, "%u", node);
    width = cv_shown_width(stem) + cv_shown_width(branch) + cv_shown_width(label);
    cv_text_add(chart->out, "  %s%s%s", stem, branch, label);
    if (chart->columns > 0) {
        cv_text_add(chart->out, "%*s ",
                    (int)(width < chart->label ? chart->label - width : 0), "");
        put_cells(chart, node);
        return;
    }
    if (node != tree->tree->root)
        cv_text_add(chart->out, " at %s s",
                    cv_show_number(tree->tree->start_s[node], number));
    cv_text_add(chart->out, "\n");
}

/* The sender to `parent` after `after`, by start time and number. `nodes` stands for
 * none, as `after` and as a result. */
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

static void put_tree(struct tree *tree, uint32_t node, const char *branch,
                     const char *below)
{
    const bool utf8 = tree->chart.style->utf8;
    const size_t length = tree->stem.length;
    const uint32_t nodes = tree->tree->nodes;
    uint32_t child, next;

    put_node(tree, node, branch);
    cv_text_add(&tree->stem, "%s", below);
    for (child = next_sender(tree->tree, node, nodes); child < nodes; child = next) {
        next = next_sender(tree->tree, node, child);
        if (next < nodes)
            put_tree(tree, child, utf8 ? "\u251c\u2500 " : "|- ",
                     utf8 ? "\u2502  " : "|  ");
        else
            put_tree(tree, child, utf8 ? "\u2514\u2500 " : "`- ", "   ");
    }
    if (tree->stem.bytes != NULL) {
        tree->stem.length = length;
        tree->stem.bytes[length] = '\0';
    }
}

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

static bool make_chart(struct tree *tree, const struct cleave_trace *trace,
                       struct cv_arena *arena)
{
    const uint32_t n = tree->tree->nodes;

    tree->received = cv_array(arena, n, sizeof *tree->received);
    tree->arrived = cv_array(arena, n, sizeof *tree->arrived);
    if (tree->received == NULL || tree->arrived == NULL ||
        !make_cells(&tree->chart, n, arena))
        return false;
    for (size_t i = 0; i < cleave_trace_count(trace); i++) {
        const struct cleave_entry *entry = cleave_trace_at(trace, i);

        if (!entry->is_order)
            add_event(tree, &entry->as.event);
    }
    return true;
}

void cv_terminal_tree(const struct cleave_tree *tree, const struct cleave_trace *trace,
                      const struct cv_gantt_style *style, struct cv_text *out)
{
    struct tree drawn = { .chart = { .style = style,
                                     .out = out,
                                     .label = widest_label(tree),
                                     .length_s = tree->length_s },
                          .tree = tree };
    const size_t columns = columns_left(&drawn.chart);
    struct cv_arena arena;

    if (tree->nodes > style->rows || tree->nodes < 2)
        return;
    cv_arena_init(&arena);
    if (tree->length_s > 0 && columns >= LEAST_CHART)
        drawn.chart.columns = columns;
    if (drawn.chart.columns > 0 && !make_chart(&drawn, trace, &arena)) {
        out->failed = true;
    } else {
        put_tree(&drawn, tree->root, "", "");
        if (drawn.chart.columns > 0) {
            const char *const texts[ACTIVITIES] = {
                [SEND] = " sending",
                [RECEIVE] = drawn.joined ? NULL : " receiving",
                [EVEN] = "",
                [ODD] = " combining, partials alternate",
            };

            put_axis(&drawn.chart);
            put_legend(&drawn.chart, texts, SIZE_MAX);
        }
    }
    out->failed = out->failed || drawn.stem.failed;
    cv_text_done(&drawn.stem);
    cv_arena_done(&arena);
}
