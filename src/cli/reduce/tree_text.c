/* tree_text.c -- a reduction tree as text for people. SPDX-License-Identifier: MIT */
#include "cli/reduce/tree_text.h"

#include <math.h>
#include <string.h>
#include "cli/common/counted.h"
#include "cli/reduce/ready_options.h"
#include "report/terminal/table.h"
#include "report/terminal/terminal_charts.h"

void cv_reduce_headline(const struct cv_reduce_job *reduce, const char *before,
                        const struct cv_screen *screen, struct cv_text *out)
{
    char counted[CV_COUNTED_ROOM], transfer[CV_ECHO_ROOM], compute[CV_ECHO_ROOM];

    cv_text_add(out, "%s%s%s", screen->colour ? "\033[1m" : "", before,
                cv_counted(cv_reduce_nodes(reduce), "node", counted));
    if (reduce->costs != NULL)
        cv_text_add(out, ", costs from a file");
    else
        cv_text_add(out, ", transfer %s, compute %s",
                    cv_echo(reduce->job.transfer, transfer),
                    cv_echo(reduce->job.compute, compute));
    if (reduce->job.ready != NULL)
        cv_text_add(out, ", ready %s (%s)", cv_echo(reduce->job.ready, transfer),
                    cv_ready_model_name(reduce->job.ready_model));
    else if (reduce->job.ready_s != NULL)
        cv_text_add(out, ", ready at times from a file (%s)",
                    cv_ready_model_name(reduce->job.ready_model));
    cv_text_add(out, "%s\n", screen->colour ? "\033[0m" : "");
}

static bool is_limited(const struct cleave_reduction *job)
{
    for (size_t i = 0; i < job->nsettings; i++) {
        if (strncmp(job->settings[i].key, "max_", 4) == 0)
            return true;
    }
    return false;
}

static void add_length(const struct cleave_tree *tree, const struct cv_reduce_job *reduce,
                       struct cv_text *out)
{
    const bool equal_costs = reduce->costs == NULL;
    const double over = cv_over(tree->length_s, tree->optimum_s);
    char number[CV_NUMBER_ROOM];

    cv_text_add(out, "length    %s s", cv_show_number(tree->length_s, number));
    if (equal_costs && !isnan(tree->optimum_s)) {
        if (over <= 0)
            cv_text_add(out, ", which no tree can beat");
        else
            cv_text_add(out, ", %.2f%% over the optimum of %s s%s", 100 * over,
                        cv_show_number(tree->optimum_s, number),
                        is_limited(&reduce->job) ? " without limits" : "");
    }
    cv_text_add(out, "\n");
    if (!equal_costs && !isnan(tree->optimum_s))
        cv_text_add(out, "optimum   %s s if all costs were equal to their means\n",
                    cv_show_number(tree->optimum_s, number));
    if (!isnan(tree->lower_bound_s))
        cv_text_add(out, "bounds    at least %s s",
                    cv_show_number(tree->lower_bound_s, number));
    if (!isnan(tree->lower_bound_s) && !isnan(tree->upper_bound_s))
        cv_text_add(out, ", at most %s s", cv_show_number(tree->upper_bound_s, number));
    if (!isnan(tree->lower_bound_s))
        cv_text_add(out, "\n");
}

/* How many nodes receive how often, and how far down the tree goes. */
struct shape {
    uint32_t *received; /* per node            */
    uint32_t *nodes;    /* by partials received */
    uint32_t *depth;    /* per node, from 1 at the root; 0: not known yet */
    uint32_t max, deepest, receivers;
};

static void find_depth(const struct cleave_tree *tree, struct shape *shape, uint32_t node)
{
    uint32_t up = node, steps = 0;

    for (; up != tree->root && shape->depth[up] == 0; up = (uint32_t)tree->parent[up])
        steps++;
    if (up == tree->root)
        shape->depth[up] = 1;
    steps += shape->depth[up];
    if (steps > shape->deepest)
        shape->deepest = steps;
    for (; shape->depth[node] == 0; node = (uint32_t)tree->parent[node])
        shape->depth[node] = steps--;
}

static bool find_shape(const struct cleave_tree *tree, struct cv_arena *arena,
                       struct shape *shape)
{
    const uint32_t n = tree->nodes;

    shape->received = cv_array(arena, n, sizeof *shape->received);
    shape->depth = cv_array(arena, n, sizeof *shape->depth);
    if (shape->received == NULL || shape->depth == NULL)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t *received;

        find_depth(tree, shape, i);
        if (tree->parent[i] < 0)
            continue;
        received = &shape->received[tree->parent[i]];
        shape->receivers += (*received)++ == 0;
        shape->max = *received > shape->max ? *received : shape->max;
    }
    shape->nodes = cv_array(arena, (size_t)shape->max + 1, sizeof *shape->nodes);
    for (uint32_t i = 0; shape->nodes != NULL && i < n; i++)
        shape->nodes[shape->received[i]]++;
    return shape->nodes != NULL;
}

/* For trees that are too large to draw. */
static void add_receivers(const struct shape *shape, uint32_t n,
                          const struct cv_screen *screen, struct cv_text *out)
{
    static const struct cv_column columns[] = {
        { "partials received", CV_COLUMN_COUNT },
        { "nodes", CV_COLUMN_COUNT },
        { "share", CV_COLUMN_PERCENT },
    };
    enum { SHOWN = 12 };
    struct cv_table table;
    uint32_t shown = 0, rows = 0;

    cv_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (uint32_t k = 0; k <= shape->max && rows < SHOWN; k++) {
        if (shape->nodes[k] == 0)
            continue;
        cv_table_number(&table, k);
        cv_table_number(&table, shape->nodes[k]);
        cv_table_number(&table, (double)shape->nodes[k] / n);
        shown += shape->nodes[k];
        rows++;
    }
    cv_text_add(out, "\n");
    cv_table_write(&table, screen->colour, screen->width, out);
    cv_table_done(&table);
    if (shown < n)
        cv_text_add(out, "  and %u that receive more, at most %u\n", n - shown,
                    shape->max);
}

static void add_shape(const struct cleave_tree *tree, bool table,
                      const struct cv_screen *screen, struct cv_text *out)
{
    char partials[CV_COUNTED_ROOM], levels[CV_COUNTED_ROOM], nodes[CV_COUNTED_ROOM];
    struct shape shape = { .received = NULL };
    struct cv_arena arena;

    cv_arena_init(&arena);
    if (find_shape(tree, &arena, &shape)) {
        cv_text_add(out, "root      node %u, which receives %s\n", tree->root,
                    cv_counted(shape.received[tree->root], "partial", partials));
        cv_text_add(out, "tree      %s, %s receive%s",
                    cv_counted(shape.deepest, "level", levels),
                    cv_counted(shape.receivers, "node", nodes),
                    shape.receivers == 1 ? "s" : "");
        cv_text_add(out, "%s\n", tree->keeps_order ? ", order is kept" : "");
        if (table)
            add_receivers(&shape, tree->nodes, screen, out);
    } else {
        out->failed = true;
    }
    cv_arena_done(&arena);
}

void cv_tree_text(const struct cleave_tree *tree, const struct cv_reduce_job *reduce,
                  const struct cleave_trace *trace, const char *explanation,
                  const struct cv_screen *screen, struct cv_text *out)
{
    const struct cv_gantt_style style = { screen->width, CV_TREE_DRAWN, screen->utf8,
                                          screen->colour };

    cv_reduce_headline(reduce, "", screen, out);
    cv_policy_line(tree->policy, NULL, NULL, screen->width, out);
    add_length(tree, reduce, out);
    add_shape(tree, tree->nodes > CV_TREE_DRAWN, screen, out);
    if (explanation != NULL) {
        cv_text_add(out, "\n");
        cv_wrap(out, explanation, 0, 0, screen->width);
        cv_text_add(out, "\n");
    }
    if (trace != NULL && tree->nodes > 1 && tree->nodes <= CV_TREE_DRAWN) {
        cv_text_add(out, "\n");
        cv_terminal_tree(tree, trace, &style, out);
    }
}
