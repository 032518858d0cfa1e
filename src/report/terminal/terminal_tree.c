/* terminal_tree.c -- a reduction tree and what its nodes do, as text.
 * SPDX-License-Identifier: MIT
 *
 * For a few dozen nodes: who comes below whom is found by looking at all of them. */
#include "report/terminal/terminal_tree.h"

#include <math.h>
#include <stdio.h>
#include "base/arena.h"
#include "report/terminal/table.h"

enum { LEAST_WIDTH = 40, LEAST_CHART = 20, STEP = 3 /* columns a level is indented */ };

enum activity { IDLE, SEND, RECEIVE, EVEN, ODD, ACTIVITIES };

struct mark {
    const char *utf8, *ascii, *colour;
};

static const struct mark marks[ACTIVITIES] = {
    [IDLE] = { " ", " ", "" },           [SEND] = { "\u2592", "=", "36" },
    [RECEIVE] = { "\u2591", "-", "36" }, [EVEN] = { "\u2588", "#", "32" },
    [ODD] = { "\u2593", "+", "34" },
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

static double *cover_of(const struct drawing *drawing, uint32_t node,
                        enum activity activity)
{
    return drawing->cover + ((size_t)node * ACTIVITIES + activity) * drawing->columns;
}

static void add_span(const struct drawing *drawing, uint32_t node, enum activity activity,
                     const struct cleave_event *event)
{
    const double scale = (double)drawing->columns / drawing->tree->length_s;
    double *cover = cover_of(drawing, node, activity);
    const double from = fmax(0, event->start_s * scale);
    const double to = fmin((double)drawing->columns, event->time_s * scale);

    for (size_t c = (size_t)from; (double)c < to; c++)
        cover[c] += fmin(to, (double)c + 1) - fmax(from, (double)c);
}

static void add_event(struct drawing *drawing, const struct cleave_event *event)
{
    const uint32_t turn = drawing->received[event->worker];

    if (event->kind == CLEAVE_ARRIVED) {
        add_span(drawing, event->peer, SEND, event);
        add_span(drawing, event->worker, RECEIVE, event);
        drawing->arrived[event->peer] = true;
    } else if (event->kind == CLEAVE_COMBINED) {
        add_span(drawing, event->worker, turn % 2 == 0 ? EVEN : ODD, event);
        drawing->received[event->worker]++;
        /* Transfer and combination may come as one. */
        if (!drawing->arrived[event->peer]) {
            add_span(drawing, event->peer, SEND, event);
            drawing->joined = true;
        }
    }
}

/* What takes most of a cell; combining counts before receiving. */
static enum activity cell_activity(const struct drawing *drawing, uint32_t node,
                                   size_t column)
{
    double part[ACTIVITIES] = { 0 };

    for (int a = SEND; a < ACTIVITIES; a++)
        part[a] = cover_of(drawing, node, (enum activity)a)[column];
    if (part[EVEN] + part[ODD] >= 0.5)
        return part[EVEN] >= part[ODD] ? EVEN : ODD;
    if (part[SEND] >= 0.5)
        return SEND;
    return part[RECEIVE] >= 0.5 ? RECEIVE : IDLE;
}

static void put_mark(const struct drawing *drawing, enum activity activity,
                     enum activity *last)
{
    if (drawing->style->colour && activity != *last)
        cv_text_add(drawing->out, "\033[%sm",
                    activity == IDLE ? "0" : marks[activity].colour);
    *last = activity;
    cv_text_add(drawing->out, "%s",
                drawing->style->utf8 ? marks[activity].utf8 : marks[activity].ascii);
}

static void put_cells(const struct drawing *drawing, uint32_t node)
{
    size_t end = drawing->columns;
    enum activity last = IDLE;

    while (end > 0 && cell_activity(drawing, node, end - 1) == IDLE)
        end--;
    for (size_t c = 0; c < end; c++)
        put_mark(drawing, cell_activity(drawing, node, c), &last);
    if (drawing->style->colour && last != IDLE)
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

static void put_legend(const struct drawing *drawing)
{
    static const char *const texts[ACTIVITIES] = {
        [SEND] = " sending",
        [RECEIVE] = " receiving",
        [EVEN] = "",
        [ODD] = " combining, partials alternate",
    };
    char end[CV_NUMBER_ROOM + 2], number[CV_NUMBER_ROOM];

    snprintf(end, sizeof end, "%s s", cv_show_number(drawing->tree->length_s, number));
    cv_text_add(drawing->out, "  %*s 0%*s\n  %*s ", (int)drawing->label, "",
                (int)drawing->columns - 1, end, (int)drawing->label, "");
    for (int a = SEND; a < ACTIVITIES; a++) {
        enum activity last = IDLE;

        if (a == RECEIVE && drawing->joined)
            continue;
        cv_text_add(drawing->out, "%s", a == SEND || a == ODD ? "" : "   ");
        put_mark(drawing, (enum activity)a, &last);
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
    drawing->cover = cv_array(arena, (size_t)n * ACTIVITIES * drawing->columns,
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
    const size_t width = style->width > LEAST_WIDTH ? style->width : LEAST_WIDTH;
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
            put_legend(&drawing);
    }
    out->failed = out->failed || drawing.stem.failed;
    cv_text_done(&drawing.stem);
    cv_arena_done(&arena);
}
