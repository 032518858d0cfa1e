/* reduce_kinds.c -- cases of reductions whose tree is fixed in advance.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kinds.h"
#include "model/reduce/reduce_tree.h"
#include "model/reduce/reduce_bounds.h"
#include "reduce_printed.h"

/* Numbers of elements may exceed what a node is counted by. */
static uint64_t case_elements(struct vector_case *c)
{
    const double n = case_number(c, "n");

    if (!(n >= 1 && n < 18446744073709551616.0 && n == floor(n))) {
        case_fail(c, "input n: expected a whole number, 1 or more, got %g", n);
        return 1;
    }
    return n <= 9007199254740992.0 ? (uint64_t)n
                                   : strtoull(json_get(c->in, "n")->text, NULL, 10);
}

static bool plan_greedy(struct vector_case *c, uint32_t n, struct cv_greedy_limit limit,
                        struct cv_greedy_tree *tree)
{
    const double d = case_number(c, "d"), compute = case_number(c, "c");
    struct cleave_error err;

    if (c->result != CASE_PASSED)
        return false;
    if (!cv_greedy_tree_room(tree, c->arena, n)) {
        case_fail(c, "out of memory");
        return false;
    }
    return case_ok(c, cv_greedy_tree_plan(tree, d, compute, &limit, &err), &err);
}

static double sum_of(const double *numbers, uint32_t n)
{
    double sum = 0;

    for (uint32_t i = 0; i < n; i++)
        if (!isnan(numbers[i]))
            sum += numbers[i];
    return sum;
}

/* --- parents: -1 for the root ------------------------------------------------------------ */

static void expect_parent(struct vector_case *c, const uint32_t *parent, uint32_t n)
{
    double *numbers = cv_array(c->arena, n, sizeof *numbers);

    if (numbers == NULL) {
        case_fail(c, "out of memory");
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        numbers[i] = parent[i] == CV_NO_NODE ? -1 : (double)parent[i];
    expect_numbers(c, "parent", numbers, n);
}

static uint32_t *read_parent(struct vector_case *c, const struct json *list)
{
    uint32_t *parent;

    if (list == NULL || list->kind != JSON_LIST)
        return NULL;
    parent = cv_array(c->arena, list->count, sizeof *parent);
    for (size_t i = 0; parent != NULL && i < list->count; i++) {
        const double number = list->items[i].number;

        if (list->items[i].kind != JSON_NUMBER || number < -1 || number >= UINT32_MAX ||
            number != floor(number))
            return NULL;
        parent[i] = number < 0 ? CV_NO_NODE : (uint32_t)number;
    }
    return parent;
}

/* If several nodes were equally good, any of the trees is right: the parents are not
 * compared, and the execution is the listed tree's. */
static const uint32_t *settle_parent(struct vector_case *c, const uint32_t *parent,
                                     uint32_t n)
{
    const struct json *free_of_ties = json_get(c->out, "parent_tie_free");
    const struct json *listed = json_get(c->out, "parent");
    const uint32_t *other;

    expect_nothing(c, "parent_tie_free");
    if (free_of_ties == NULL || free_of_ties->flag) {
        expect_parent(c, parent, n);
        return parent;
    }
    expect_nothing(c, "parent");
    other = read_parent(c, listed);
    return other != NULL && listed->count == n ? other : parent;
}

static bool run_tree(struct vector_case *c, const uint32_t *parent, uint32_t n,
                     struct cv_tree_run *run)
{
    const struct cv_tree_costs costs = { .transfer_s = case_number(c, "d"),
                                         .compute_s = case_number(c, "c") };
    struct cleave_error err;

    return c->result == CASE_PASSED &&
           case_ok(c, cv_tree_run(parent, n, &costs, c->arena, run, &err), &err);
}

/* --- greedy trees ------------------------------------------------------------------------- */

static void expect_greedy(struct vector_case *c, struct cv_greedy_limit limit)
{
    const uint32_t n = case_count(c, "n");
    struct cv_greedy_tree tree;
    struct cv_tree_run run;
    const uint32_t *parent;

    if (!plan_greedy(c, n, limit, &tree))
        return;
    expect_number(c, "length", tree.length_s);
    expect_numbers(c, "rev", tree.rev_s, n);
    /* The plan must agree with its execution. */
    if (run_tree(c, tree.parent, n, &run) &&
        fabs(run.length_s - tree.length_s) > 1e-12 * tree.length_s)
        case_fail(c, "length: planned %.17g, executed %.17g", tree.length_s,
                  run.length_s);
    parent = settle_parent(c, tree.parent, n);
    if (!run_tree(c, parent, n, &run))
        return;
    expect_numbers(c, "forward_ready", run.ready_s, n);
    expect_numbers(c, "forward_start", run.start_s, n);
}

static void run_alg1(struct vector_case *c)
{
    expect_greedy(c, (struct cv_greedy_limit){ 0, 0 });
}

static void run_alg2(struct vector_case *c)
{
    const uint32_t n = case_count(c, "n");
    const struct cv_greedy_limit limit = { .transfers = case_count(c, "K") };
    struct cv_greedy_tree tree;

    if (!plan_greedy(c, n, limit, &tree))
        return;
    expect_number(c, "length", tree.length_s);
    expect_numbers(c, "start", tree.start_s, n);
    (void)settle_parent(c, tree.parent, n);
}

static void run_alg3(struct vector_case *c)
{
    expect_greedy(c, (struct cv_greedy_limit){ .reducers = case_count(c, "K") });
}

static void run_length(struct vector_case *c)
{
    const uint64_t n = case_elements(c);
    struct cv_greedy_tree tree;

    expect_number(c, "length",
                  cv_reduce_length(n, case_number(c, "d"), case_number(c, "c")));
    if (json_get(c->out, "sum_rev") == NULL || n >= UINT32_MAX ||
        !plan_greedy(c, (uint32_t)n, (struct cv_greedy_limit){ 0, 0 }, &tree))
        return;
    expect_number(c, "length", tree.length_s);
    expect_number(c, "sum_rev", sum_of(tree.rev_s, tree.n));
}

static void run_big_limited(struct vector_case *c)
{
    const uint32_t n = case_count(c, "n"), k = case_count(c, "K");
    struct cv_greedy_tree tree;

    if (plan_greedy(c, n, (struct cv_greedy_limit){ .transfers = k }, &tree)) {
        expect_number(c, "alg2_length", tree.length_s);
        expect_number(c, "alg2_sum_start", sum_of(tree.start_s, n));
    }
    if (plan_greedy(c, n, (struct cv_greedy_limit){ .reducers = k }, &tree)) {
        expect_number(c, "alg3_length", tree.length_s);
        expect_number(c, "alg3_sum_rev", sum_of(tree.rev_s, n));
    }
}

static void run_forward(struct vector_case *c)
{
    const struct json *list = json_get(c->in, "parent");
    const uint32_t *parent = read_parent(c, list);
    struct cleave_error err;
    struct cv_tree_run run;
    uint32_t *layout;

    if (parent == NULL) {
        case_fail(c, "input parent: expected a list of whole numbers, -1 or more");
        return;
    }
    if (!run_tree(c, parent, (uint32_t)list->count, &run) ||
        !case_ok(c, cv_tree_layout(&run, c->arena, &layout, &err), &err))
        return;
    expect_numbers(c, "ready", run.ready_s, run.n);
    expect_numbers(c, "start", run.start_s, run.n);
    expect_number(c, "length", run.length_s);
    expect_counts(c, "layout", layout, run.n);
}

/* --- strategies ----------------------------------------------------------------------------- */

static double strategy_length(struct vector_case *c, enum cv_strategy which,
                              enum cv_ties ties, uint32_t n, double d, double compute)
{
    struct cleave_error err;
    double length = 0;

    case_ok(c, cv_strategy_length(which, ties, n, d, compute, c->arena, &length, &err),
            &err);
    return length;
}

static void run_strategy(struct vector_case *c)
{
    const struct json *name = json_get(c->in, "which");
    const uint32_t n = case_count(c, "n");
    const double d = case_number(c, "d"), compute = case_number(c, "c");
    enum cv_strategy which = CV_STRATEGY_BINOMIAL;

    if (name != NULL && name->text != NULL && strcmp(name->text, "fibonacci") == 0)
        which = CV_STRATEGY_FIBONACCI;
    else if (name == NULL || name->text == NULL || strcmp(name->text, "binomial") != 0)
        case_fail(c, "input which: expected binomial or fibonacci");
    if (c->result != CASE_PASSED)
        return;
    expect_number(c, "length_ties_low",
                  strategy_length(c, which, CV_TIES_LOW, n, d, compute));
    expect_number(c, "length_ties_high",
                  strategy_length(c, which, CV_TIES_HIGH, n, d, compute));
    expect_number(c, "optimum", cv_reduce_length(n, d, compute));
}

/* "p/q" or "p", by its two parts. */
static bool read_fraction(const struct json *value, double *p, double *q)
{
    char *end;

    if (value == NULL || value->text == NULL)
        return false;
    *p = strtod(value->text, &end);
    *q = 1;
    if (end != value->text && *end == '/')
        *q = strtod(end + 1, &end);
    return *end == '\0' && *q > 0;
}

/* Ratios of lengths that are integers, compared exactly. The binomial strategy is taken
 * at d = c, the Fibonacci strategy without computation. */
static void expect_ratios(struct vector_case *c, const char *name, enum cv_strategy which,
                          enum cv_ties ties, const uint32_t *n, size_t count)
{
    const double compute = which == CV_STRATEGY_BINOMIAL ? 1 : 0;
    const struct json *want = json_get(c->out, name);

    if (want == NULL)
        return;
    expect_nothing(c, name);
    if (want->kind != JSON_LIST || want->count != count)
        case_fail(c, "%s: expected %zu entries, got %zu", name, want->count, count);
    for (size_t i = 0; c->result == CASE_PASSED && i < count; i++) {
        const double got = strategy_length(c, which, ties, n[i], 1, compute);
        const double min = cv_reduce_length(n[i], 1, compute);
        double p, q;

        if (!read_fraction(&want->items[i], &p, &q) || got * q != p * min)
            case_fail(c, "%s[%zu]: expected %s, got %g/%g", name, i, want->items[i].text,
                      got, min);
    }
}

static void run_fig2(struct vector_case *c)
{
    size_t count;
    const uint32_t *n = case_counts(c, "n", &count);

    expect_ratios(c, "binomial_low", CV_STRATEGY_BINOMIAL, CV_TIES_LOW, n, count);
    expect_ratios(c, "binomial_high", CV_STRATEGY_BINOMIAL, CV_TIES_HIGH, n, count);
    expect_ratios(c, "fibonacci_low", CV_STRATEGY_FIBONACCI, CV_TIES_LOW, n, count);
    expect_ratios(c, "fibonacci_high", CV_STRATEGY_FIBONACCI, CV_TIES_HIGH, n, count);
}

/* --- bounds, exponential costs ---------------------------------------------------------------- */

static void run_bounds(struct vector_case *c)
{
    const uint32_t n = case_count(c, "n"), k = case_count(c, "K");
    const double d = case_number(c, "d"), compute = case_number(c, "c");
    const struct cv_greedy_limit limits[] = { { 0, 0 }, { k, 0 }, { 0, k } };
    const char *const names[] = { "alg1_length", "alg2_length", "alg3_length" };
    struct cv_greedy_tree tree;

    if (n < 1 || k < 1)
        case_fail(c, "input: expected n and K of 1 or more, got %u and %u", n, k);
    if (c->result != CASE_PASSED)
        return;
    expect_number(c, "lemma5_lower", cv_reduce_lower(n, d, compute));
    expect_number(c, "prop6_upper", cv_reduce_upper(n, d, compute));
    expect_number(c, "prop8_as_printed", reduce_upper_printed(n, d, compute, k));
    expect_number(c, "prop8_corrected", cv_reduce_upper_limited(n, d, compute, k));
    for (size_t i = 0; i < 3; i++)
        if (plan_greedy(c, n, limits[i], &tree))
            expect_number(c, names[i], tree.length_s);
}

static void expect_fraction(struct vector_case *c, const char *name, double got)
{
    const struct json *want = json_get(c->out, name);
    double p, q;

    if (want == NULL || want->kind == JSON_NUMBER) {
        expect_number(c, name, got);
        return;
    }
    expect_nothing(c, name);
    if (!read_fraction(want, &p, &q) || !(fabs(got - p / q) <= c->abs + c->rel * p / q))
        case_fail(c, "%s: expected %s, got %.17g", name, want->text, got);
}

static void run_markov(struct vector_case *c)
{
    struct cleave_error err;
    struct cv_markov got;

    if (!case_ok(c,
                 cv_markov_transfers(case_count(c, "n"), case_number(c, "lambda_d"), &got,
                                     &err),
                 &err))
        return;
    expect_fraction(c, "mean", got.mean_s);
    expect_fraction(c, "var", got.variance);
    expect_number(c, "mean_float", got.mean_s);
    expect_number(c, "var_float", got.variance);
}

static void run_markov_computation(struct vector_case *c)
{
    const struct json *model = json_get(c->in, "c_model");
    struct cleave_error err;
    struct cv_markov got;

    if (model != NULL && (model->text == NULL || strcmp(model->text, "fresh") != 0)) {
        case_skip(c, "costs fixed per node have no closed form");
        return;
    }
    if (!case_ok(c,
                 cv_markov_both(case_count(c, "n"), case_number(c, "lambda_d"),
                                case_number(c, "lambda_c"), &got, &err),
                 &err))
        return;
    expect_fraction(c, "mean", got.mean_s);
    expect_fraction(c, "var", got.variance);
}

const struct case_kind reduce_kinds[] = {
    { "alg1", run_alg1 },
    { "alg2", run_alg2 },
    { "alg3", run_alg3 },
    { "length", run_length },
    { "big_limited", run_big_limited },
    { "forward", run_forward },
    { "strategy", run_strategy },
    { "bounds", run_bounds },
    { "fig2", run_fig2 },
    { "markov", run_markov },
    { "markov_computation", run_markov_computation },
    { NULL, NULL },
};
