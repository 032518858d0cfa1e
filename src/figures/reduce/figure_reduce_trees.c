/* figure_reduce_trees.c -- fixed reduction trees, transfer by transfer and against the
 * optimum. SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <cleave/reduce.h>
#include "figures/common/figure.h"
#include "model/reduce/reduce_tree.h"

/* --- small trees -------------------------------------------------------------------- */

/* Canon and Antoniu, Figure 1: the shortest reduction of four elements when d = c.
 * Benoit, Canon and Marchal, Figures 1 and 2: a reduction of four values; the binomial
 * tree of order 3 and the Fibonacci tree of order 4, both of eight nodes. d = c = 1
 * s. */

enum { MOST_NODES = 8 };
enum { TO, START, ARRIVES, COMBINED };

/* For each node its receiver (-1: none), the start of its transfer and the end of the
 * combination. */
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

static void plan(const char *policy, const char *compute, uint32_t n,
                 struct schedule *out)
{
    const struct cleave_reduction job = {
        .nodes = n, .transfer = "1", .compute = compute, .policy = policy
    };
    struct cleave_tree *tree;

    *out = (struct schedule){ .n = n };
    CV_MUST(cleave_plan_reduce(&job, &tree, err));
    for (uint32_t i = 0; i < n; i++) {
        out->parent[i] = tree->parent[i];
        out->start_s[i] = tree->start_s[i];
    }
    combine(out);
    out->length_s = tree->length_s;
    cleave_tree_free(tree);
}

static void fill_schedules(const struct schedule *s, const char *before,
                           struct cv_figure_result *result)
{
    cv_figure_table(result, "node", "sends to|begins, s|arrives, s|combined, s",
                    "Transfers and combinations take 1 s each.");
    for (uint32_t i = 0; i < s->n; i++) {
        double *values = cv_figure_row(result, "%s%u", before, i);

        if (s->parent[i] < 0)
            continue;
        values[TO] = (double)s->parent[i];
        values[START] = s->start_s[i];
        values[ARRIVES] = s->start_s[i] + 1;
        values[COMBINED] = s->combined_s[i];
    }
}

/* Two rows for each node that receives anything: its port and its processor. */
static void draw_schedules(const struct schedule *s, const char *title,
                           struct cv_figure_result *result)
{
    char rows[MOST_NODES * sizeof "0 receives|0 combines|"] = "";
    struct cv_figure_plot *plot;
    uint32_t row = 0;
    size_t used = 0;

    for (uint32_t node = 0; node < s->n; node++)
        if (next_sender(s, node, -1) >= 0)
            used += (size_t)snprintf(rows + used, sizeof rows - used,
                                     "%s%u receives|%u combines", used > 0 ? "|" : "",
                                     node, node);
    plot =
        CV_PLOT_ADD(result, .kind = CV_PLOT_BARS, .title = title, .x_label = "time (s)",
                    .bar_rows = rows, .kinds = "transfer|combination");
    for (uint32_t node = 0; node < s->n; node++) {
        int i = next_sender(s, node, -1);
        const uint32_t next_row = i < 0 ? row : row + 2;

        for (; i >= 0; i = next_sender(s, node, s->start_s[i])) {
            const double start_s = s->start_s[i], end_s = s->combined_s[i];
            char text[32];

            snprintf(text, sizeof text, "from %d", i);
            cv_plot_bar(plot,
                        &(struct cv_bar){ row, 0, start_s, start_s + 1, text, NULL });
            cv_plot_bar(plot,
                        &(struct cv_bar){ row + 1, 1, end_s - 1, end_s, NULL, NULL });
        }
        row = next_row;
    }
}

/* --- four elements, optimal --------------------------------------------------------- */

static void make_example(struct cv_figure_result *result)
{
    const struct cv_greedy_limit none = { 0, 0 };
    struct schedule s = { .n = 4 };
    struct cv_greedy_tree tree;
    const double *t = s.start_s;

    if (!cv_greedy_tree_room(&tree, &result->arena, s.n))
        cv_figure_no_memory("a figure");
    CV_MUST(cv_greedy_tree_plan(&tree, 1, 1, &none, err));
    for (uint32_t i = 0; i < s.n; i++) {
        s.parent[i] = i == 0 ? -1 : (int64_t)tree.parent[i];
        s.start_s[i] = tree.start_s[i];
    }
    combine(&s);
    fill_schedules(&s, "", result);
    cv_figure_claim(result, t[3] == 0 && t[2] == 1 && t[1] == 2,
                    "transfers begin at t4 = 0, t3 = d and t2 = 2 d",
                    "at %g, %g and %g s (nodes here are numbered from 0)", t[3], t[2],
                    t[1]);
    cv_figure_claim(result,
                    s.length_s == tree.length_s &&
                        s.length_s == cv_reduce_length(4, 1, 1),
                    "this is the shortest reduction of four elements",
                    "%g s, as the closed form says", s.length_s);
    cv_figure_claim(result, t[3] == 1,
                    "Algorithm 2, line 14: transfer i begins at t_n - t_i + c",
                    "that would be %g, %g and %g s, against the caption, and end c "
                    "late; it is t_n - t_i",
                    t[3] + 1, t[2] + 1, t[1] + 1);
    draw_schedules(&s, "The shortest reduction of four elements, d = c = 1 s", result);
}

const struct cv_figure cv_figure_reduce_example = {
    .title = "The shortest reduction of four elements when d = c",
    .source = "Canon and Antoniu, Scheduling associative reductions, Figure 1",
    .says = "Transfers begin at t4 = 0, t3 = d and t2 = 2 d.",
    .make = make_example,
};

/* --- four values, binomial ---------------------------------------------------------- */

static void make_four(struct cv_figure_result *result)
{
    struct schedule s;

    plan("binomial", "1", 4, &s);
    fill_schedules(&s, "", result);
    cv_figure_claim(result,
                    s.parent[1] == 0 && s.parent[2] == 0 && s.parent[3] == 2 &&
                        s.start_s[1] < s.start_s[2],
                    "P0 receives the value of P1, then what P2 has combined",
                    "1 to 0 at %g s, 3 to 2 at %g s, 2 to 0 at %g s; %g s in all",
                    s.start_s[1], s.start_s[3], s.start_s[2], s.length_s);
    draw_schedules(&s, "Four values, binomial tree, d = c = 1 s", result);
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

static void make_eight(struct cv_figure_result *result)
{
    struct schedule binomial, fibonacci, free_binomial;

    plan("binomial", "1", 8, &binomial);
    plan("fibonacci", "1", 8, &fibonacci);
    plan("binomial", "0", 8, &free_binomial);
    fill_schedules(&binomial, "binomial ", result);
    fill_schedules(&fibonacci, "fibonacci ", result);
    cv_figure_claim(
        result,
        cv_strategy_full_size(CV_STRATEGY_BINOMIAL, 3) == 8 &&
            cv_strategy_full_size(CV_STRATEGY_FIBONACCI, 4) == 8,
        "a binomial tree of order 3 and a Fibonacci tree of order 4 have 8 nodes",
        "2^3 = %u and F(6) = %u",
        (unsigned)cv_strategy_full_size(CV_STRATEGY_BINOMIAL, 3),
        (unsigned)cv_strategy_full_size(CV_STRATEGY_FIBONACCI, 4));
    cv_figure_claim(result, two_smaller_trees(&fibonacci),
                    "order 4 is made of orders 3 and 2, whose roots are joined last",
                    "nodes 0 to 4 and 5 to 7; 5 sends to 0 at %g s",
                    fibonacci.start_s[5]);
    cv_figure_claim(result, fibonacci.length_s == cv_reduce_length(8, 1, 1),
                    "the Fibonacci tree is optimal when c = d",
                    "%g s, the optimum; the binomial tree takes %g s", fibonacci.length_s,
                    binomial.length_s);
    cv_figure_claim(result, free_binomial.length_s == cv_reduce_length(8, 1, 0),
                    "the binomial tree is optimal when c = 0", "%g s, the optimum",
                    free_binomial.length_s);
    draw_schedules(&binomial, "Binomial, order 3, d = c = 1 s", result);
    draw_schedules(&fibonacci, "Fibonacci, order 4, d = c = 1 s", result);
}

const struct cv_figure cv_figure_reduce_eight = {
    .title = "Binomial tree of order 3 and Fibonacci tree of order 4, eight nodes each",
    .source = "Benoit, Canon and Marchal, Non-clairvoyant reduction algorithms, Figure 2",
    .says = "Both trees have eight nodes; the Fibonacci tree joins the trees of orders 3 "
            "and 2. Each is optimal: binomial for c = 0, Fibonacci for c = d.",
    .make = make_eight,
};

/* --- length over the optimum -------------------------------------------------------- */

/* Canon and Antoniu, Scheduling associative reductions, Figure 2: length over the optimum
 * for 2 to 10,000 elements, for the worst case of each tree: the binomial tree with equal
 * costs, the Fibonacci tree if one of the costs is 0. The paper does not give the order
 * of equal nodes; both are shown. */

enum { CURVES = 4, SHOWN = 13 };

static const struct {
    enum cv_strategy which;
    enum cv_ties ties;
    double d, c;
} curves[CURVES] = {
    { CV_STRATEGY_BINOMIAL, CV_TIES_LOW, 1, 1 },
    { CV_STRATEGY_BINOMIAL, CV_TIES_HIGH, 1, 1 },
    { CV_STRATEGY_FIBONACCI, CV_TIES_LOW, 1, 0 },
    { CV_STRATEGY_FIBONACCI, CV_TIES_HIGH, 1, 0 },
};

static const uint32_t shown[SHOWN] = { 3,   4,   5,    8,    16,   32,   64,
                                       128, 256, 1024, 4096, 8192, 10000 };

static void one_number(void *context, const struct cv_turn *turn)
{
    const struct cv_figure_result *result = context;
    const uint64_t n = turn->number + 2;

    for (int i = 0; i < CURVES; i++) {
        double length;

        CV_MUST(cv_strategy_length(curves[i].which, curves[i].ties, (uint32_t)n,
                                   curves[i].d, curves[i].c, turn->arena, &length, err));
        result->rows[turn->number].values[i] =
            length / cv_reduce_length(n, curves[i].d, curves[i].c);
    }
}

static void judge(struct cv_figure_result *result)
{
    double max[CURVES] = { 0 }, mean[CURVES] = { 0 };

    for (size_t n = 0; n < result->nrows; n++)
        for (int i = 0; i < CURVES; i++) {
            max[i] = fmax(max[i], result->rows[n].values[i]);
            mean[i] += result->rows[n].values[i] / (double)result->nrows;
        }
    cv_figure_claim(result, max[0] <= 2 && max[1] <= 2,
                    "the binomial tree takes at most twice the optimum",
                    "at most %.4f and %.4f, on average %.4f and %.4f (ties low, "
                    "high); the limit is %.4f",
                    max[0], max[1], mean[0], mean[1],
                    cv_strategy_ratio_limit(CV_STRATEGY_BINOMIAL, 1, 1));
    cv_figure_claim(result, max[2] <= 2 && max[3] <= 2,
                    "the Fibonacci tree takes at most twice the optimum",
                    "at most %.4f and %.4f, on average %.4f and %.4f (ties low, "
                    "high); the limit is %.4f",
                    max[2], max[3], mean[2], mean[3],
                    cv_strategy_ratio_limit(CV_STRATEGY_FIBONACCI, 1, 0));
}

/* All numbers of elements are in the file, some are shown. Thousands of them zigzag: one panel
 * a tree. */
static void make(struct cv_figure_result *result)
{
    static const char *const titles[2] = { "Binomial tree, d = c",
                                           "Fibonacci tree, c = 0" };
    const uint32_t max = result->job->quick ? 1024 : 10000;
    int next = 0;

    cv_figure_table(
        result, "elements", "binomial, low|binomial, high|fibonacci, low|fibonacci, high",
        "Length over the optimum; of equal nodes the lowest or the highest goes "
        "first. All numbers of elements are in the CSV file.");
    for (uint32_t n = 2; n <= max; n++) {
        result->file_only = next == SHOWN || n != shown[next];
        next += !result->file_only;
        cv_figure_row(result, "%u", n);
    }
    cv_figure_parallel(result->job, max - 1, 16, one_number, result);
    for (size_t p = 0; p < 2; p++)
        CV_PLOT_ADD(result, .title = titles[p], .x_label = "elements",
                    .y_label = "length over the optimum", .log_x = true, .y_from = 0.98,
                    .y_to = 1.55, .first_curve = 2 * p, .ncurves = 2);
    judge(result);
}

const struct cv_figure cv_figure_reduce_strategy = {
    .title = "Binomial and Fibonacci trees over the optimum",
    .source =
        "Canon and Antoniu, Scheduling associative reductions, Figure 2, Theorems 18 "
        "and 19",
    .says = "Both simple trees take at most twice the optimum, for 2 to 10,000 elements "
            "and the costs that are conjectured to be the worst for each.",
    .make = make,
};
