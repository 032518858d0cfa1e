/* figure_reduce_schedules.c -- small reductions, transfer by transfer.
 * SPDX-License-Identifier: MIT
 *
 * Canon and Antoniu, Figure 1: the shortest reduction of four elements when d = c.
 * Benoit, Canon and Marchal, Figures 1 and 2: a reduction of four values; the binomial
 * tree of order 3 beside the Fibonacci tree of order 4, both of eight nodes. d = c = 1
 * s. */
#include <math.h>
#include <stdio.h>

#include <cleave/reduce.h>
#include "model/reduce/reduce_tree.h"
#include "figures/common/figure_plot.h"

enum { MOST_NODES = 8 };
enum { TO, START, ARRIVES, COMBINED, COLUMNS };

/* Who sends to whom (-1: nobody), from when on, and when the receiver has combined it. */
struct schedule {
    uint32_t n;
    int64_t parent[MOST_NODES];
    double start_s[MOST_NODES], combined_s[MOST_NODES];
    double length_s;
};

/* The sender that begins first of those to `node` that begin after `after_s`. */
static int next_sender(const struct schedule *s, uint32_t node, double after_s)
{
    int next = -1;

    for (uint32_t i = 0; i < s->n; i++)
        if (s->parent[i] == (int64_t)node && s->start_s[i] > after_s &&
            (next < 0 || s->start_s[i] < s->start_s[next]))
            next = (int)i;
    return next;
}

static void combine(struct schedule *s)
{
    for (uint32_t node = 0; node < s->n; node++) {
        double after_s = -1, done_s = 0;
        int i;

        while ((i = next_sender(s, node, after_s)) >= 0) {
            after_s = s->start_s[i];
            done_s = s->combined_s[i] = fmax(done_s, s->start_s[i] + 1) + 1;
            s->length_s = fmax(s->length_s, done_s);
        }
    }
}

static enum cleave_status plan(const char *policy, const char *compute, uint32_t n,
                               struct schedule *out, struct cleave_error *err)
{
    const struct cleave_reduction job = {
        .nodes = n, .transfer = "1", .compute = compute, .policy = policy
    };
    struct cleave_tree *tree;

    *out = (struct schedule){ .n = n };
    CV_TRY(cleave_plan_reduce(&job, &tree, err));
    for (uint32_t i = 0; i < n; i++) {
        out->parent[i] = tree->parent[i];
        out->start_s[i] = tree->start_s[i];
    }
    combine(out);
    out->length_s = tree->length_s;
    cleave_tree_free(tree);
    return CLEAVE_OK;
}

static enum cleave_status fill(const struct schedule *s, const char *before,
                               struct cv_figure_result *result, struct cleave_error *err)
{
    static const char *const columns[COLUMNS] = { "sends to", "begins, s", "arrives, s",
                                                  "combined, s" };

    result->label = "node";
    result->columns = columns;
    result->ncolumns = COLUMNS;
    result->note = "Transfers and combinations take 1 s each.";
    for (uint32_t i = 0; i < s->n; i++) {
        double *values = cv_figure_row(result, "%s%u", before, i);

        if (values == NULL)
            return cv_fail_memory(err, "a figure");
        if (s->parent[i] < 0)
            continue;
        values[TO] = (double)s->parent[i];
        values[START] = s->start_s[i];
        values[ARRIVES] = s->start_s[i] + 1;
        values[COMBINED] = s->combined_s[i];
    }
    return CLEAVE_OK;
}

/* Two rows for each node that receives anything: its port and its processor. */
static enum cleave_status draw(const struct schedule *s, const char *title,
                               struct cv_figure_result *result, struct cleave_error *err)
{
    static const char *const kinds[] = { "transfer", "combination", NULL };
    const char **names = cv_array(&result->arena, (size_t)2 * s->n, sizeof *names);
    struct cv_figure_plot *plot;
    uint32_t row = 0;

    if (names == NULL)
        return cv_fail_memory(err, "a figure");
    CV_TRY(cv_plot_add(result,
                       &(struct cv_figure_plot){ .kind = CV_PLOT_BARS,
                                                 .title = title,
                                                 .x_label = "time (s)",
                                                 .row_names = names,
                                                 .kinds = kinds },
                       &plot, err));
    for (uint32_t node = 0; node < s->n; node++) {
        double after_s = -1;
        char text[32];
        int i = next_sender(s, node, after_s);

        if (i < 0)
            continue;
        snprintf(text, sizeof text, "%u receives", node);
        names[row] = cv_arena_text(&result->arena, text);
        snprintf(text, sizeof text, "%u combines", node);
        names[row + 1] = cv_arena_text(&result->arena, text);
        if (names[row] == NULL || names[row + 1] == NULL)
            return cv_fail_memory(err, "a figure");
        for (; i >= 0; i = next_sender(s, node, after_s)) {
            const double end_s = s->combined_s[i];

            after_s = s->start_s[i];
            snprintf(text, sizeof text, "from %d", i);
            CV_TRY(
                cv_plot_bar(result, plot,
                            &(struct cv_bar){ row, 0, after_s, after_s + 1, text, NULL },
                            err));
            CV_TRY(
                cv_plot_bar(result, plot,
                            &(struct cv_bar){ row + 1, 1, end_s - 1, end_s, NULL, NULL },
                            err));
        }
        row += 2;
    }
    plot->nrows = row;
    return CLEAVE_OK;
}

/* --- four elements, as short as can be ---------------------------------------------- */

static enum cleave_status make_example(const struct cv_figure_job *job,
                                       struct cv_figure_result *result,
                                       struct cleave_error *err)
{
    const struct cv_greedy_limit none = { 0, 0 };
    struct schedule s = { .n = 4 };
    struct cv_greedy_tree tree;
    const double *t = s.start_s;

    (void)job;
    if (!cv_greedy_tree_room(&tree, &result->arena, s.n))
        return cv_fail_memory(err, "a figure");
    CV_TRY(cv_greedy_tree_plan(&tree, 1, 1, &none, err));
    for (uint32_t i = 0; i < s.n; i++) {
        s.parent[i] = i == 0 ? -1 : (int64_t)tree.parent[i];
        s.start_s[i] = tree.start_s[i];
    }
    combine(&s);
    CV_TRY(fill(&s, "", result, err));
    CV_TRY(cv_figure_claim(result, t[3] == 0 && t[2] == 1 && t[1] == 2, err,
                           "transfers begin at t4 = 0, t3 = d and t2 = 2 d",
                           "at %g, %g and %g s (nodes here are numbered from 0)", t[3],
                           t[2], t[1]));
    CV_TRY(cv_figure_claim(result,
                           s.length_s == tree.length_s &&
                               s.length_s == cv_reduce_length(4, 1, 1),
                           err, "this is the shortest reduction of four elements",
                           "%g s, as the closed form says", s.length_s));
    CV_TRY(
        cv_figure_claim(result, t[3] == 1, err,
                        "Algorithm 2, line 14: transfer i begins at t_n - t_i + c",
                        "that would be %g, %g and %g s, against the caption, and end c "
                        "late; it is t_n - t_i",
                        t[3] + 1, t[2] + 1, t[1] + 1));
    return draw(&s, "The shortest reduction of four elements, d = c = 1 s", result, err);
}

const struct cv_figure cv_figure_reduce_example = {
    .title = "The shortest reduction of four elements when d = c",
    .source = "Canon and Antoniu, Scheduling associative reductions, Figure 1",
    .says = "Transfers begin at t4 = 0, t3 = d and t2 = 2 d.",
    .make = make_example,
};

/* --- four values, binomial ---------------------------------------------------------- */

static enum cleave_status make_four(const struct cv_figure_job *job,
                                    struct cv_figure_result *result,
                                    struct cleave_error *err)
{
    struct schedule s;

    (void)job;
    CV_TRY(plan("binomial", "1", 4, &s, err));
    CV_TRY(fill(&s, "", result, err));
    CV_TRY(cv_figure_claim(result,
                           s.parent[1] == 0 && s.parent[2] == 0 && s.parent[3] == 2 &&
                               s.start_s[1] < s.start_s[2],
                           err, "P0 receives the value of P1, then what P2 has combined",
                           "1 to 0 at %g s, 3 to 2 at %g s, 2 to 0 at %g s; %g s in all",
                           s.start_s[1], s.start_s[3], s.start_s[2], s.length_s));
    return draw(&s, "Four values, binomial tree, d = c = 1 s", result, err);
}

const struct cv_figure cv_figure_reduce_four = {
    .title = "A reduction of four values and its tree",
    .source = "Benoit, Canon and Marchal, Non-clairvoyant reduction algorithms, Figure 1",
    .says = "P0 receives the initial value of P1, then a partially reduced value of P2.",
    .make = make_four,
};

/* --- eight nodes, both trees -------------------------------------------------------- */

/* Whether the nodes below 5 and those from 5 on are joined by one transfer alone, from 5
 * to 0 and last. */
static bool two_smaller_trees(const struct schedule *s)
{
    bool apart = s->parent[5] == 0;

    for (uint32_t i = 1; i < s->n; i++)
        if (i != 5)
            apart &= (s->parent[i] < 5) == (i < 5) && s->start_s[i] < s->start_s[5];
    return apart;
}

static enum cleave_status make_eight(const struct cv_figure_job *job,
                                     struct cv_figure_result *result,
                                     struct cleave_error *err)
{
    struct schedule binomial, fibonacci, free_binomial;

    (void)job;
    CV_TRY(plan("binomial", "1", 8, &binomial, err));
    CV_TRY(plan("fibonacci", "1", 8, &fibonacci, err));
    CV_TRY(plan("binomial", "0", 8, &free_binomial, err));
    CV_TRY(fill(&binomial, "binomial ", result, err));
    CV_TRY(fill(&fibonacci, "fibonacci ", result, err));
    CV_TRY(cv_figure_claim(
        result,
        cv_strategy_full_size(CV_STRATEGY_BINOMIAL, 3) == 8 &&
            cv_strategy_full_size(CV_STRATEGY_FIBONACCI, 4) == 8,
        err, "a binomial tree of order 3 and a Fibonacci tree of order 4 have 8 nodes",
        "2^3 = %u and F(6) = %u",
        (unsigned)cv_strategy_full_size(CV_STRATEGY_BINOMIAL, 3),
        (unsigned)cv_strategy_full_size(CV_STRATEGY_FIBONACCI, 4)));
    CV_TRY(
        cv_figure_claim(result, two_smaller_trees(&fibonacci), err,
                        "order 4 is made of orders 3 and 2, whose roots are joined last",
                        "nodes 0 to 4 and 5 to 7; 5 sends to 0 at %g s",
                        fibonacci.start_s[5]));
    CV_TRY(cv_figure_claim(result, fibonacci.length_s == cv_reduce_length(8, 1, 1), err,
                           "the Fibonacci tree is optimal when c = d",
                           "%g s, the optimum; the binomial tree takes %g s",
                           fibonacci.length_s, binomial.length_s));
    CV_TRY(cv_figure_claim(result, free_binomial.length_s == cv_reduce_length(8, 1, 0),
                           err, "the binomial tree is optimal when c = 0",
                           "%g s, the optimum", free_binomial.length_s));
    CV_TRY(draw(&binomial, "Binomial, order 3, d = c = 1 s", result, err));
    return draw(&fibonacci, "Fibonacci, order 4, d = c = 1 s", result, err);
}

const struct cv_figure cv_figure_reduce_eight = {
    .title = "Binomial tree of order 3 and Fibonacci tree of order 4, eight nodes each",
    .source = "Benoit, Canon and Marchal, Non-clairvoyant reduction algorithms, Figure 2",
    .says =
        "Both trees have eight nodes; the Fibonacci tree is made of those of orders 3 "
        "and 2. Each is optimal: binomial for c = 0, Fibonacci for c = d.",
    .make = make_eight,
};
