/* streams_select_kinds.c -- cases of several data streams: knapsacks and clusters.
 * SPDX-License-Identifier: MIT */
#include "knapsack_plain.h"
#include "kinds.h"
#include "select/streams/stream_select.h"
#include "streams_inputs.h"

/* The workers of a published experiment: this many of each kind. */
enum { TABLE_ROWS = 10, TABLE_COUNT = 100 };

static const struct cleave_worker table[TABLE_ROWS] = {
    { 1, 1e-2, 1e6, 1e-2, 1e6, 1e-2 },      { 1e2, 1e-1, 1e7, 1e-3, 1e7, 1e-3 },
    { 10, 1e-3, 1e8, 1.5e-2, 1e8, 1.5e-2 }, { 1e3, 1e-2, 1e9, 1e-2, 1e9, 1e-2 },
    { 1, 1e-3, 1e6, 1e-2, 1e6, 1e-2 },      { 1e2, 1e-1, 1e7, 1e-3, 1e7, 1e-3 },
    { 10, 1e-4, 1e8, 1e-2, 1e8, 1e-2 },     { 1e3, 1e-2, 1e9, 1e-2, 1e9, 1e-2 },
    { 1, 1e-3, 1e6, 1e-3, 1e6, 1e-3 },      { 1e2, 1e-2, 1e7, 1e-2, 1e7, 1e-2 },
};

/* Fills a list of classes; those without profit are left out, for no knapsack takes
 * them. */
static void add_class(struct cv_knapsack *problem, struct cv_item_class *list,
                      double weight, double profit, double count)
{
    if (profit > 0 && count >= 1)
        list[problem->nclasses++] =
            (struct cv_item_class){ weight, profit, (uint32_t)count };
}

static bool start_problem(struct vector_case *c, size_t max, struct cv_knapsack *problem,
                          struct cv_item_class **out)
{
    *out = cv_array(c->arena, max, sizeof **out);
    *problem = (struct cv_knapsack){ .classes = *out,
                                     .nbins = case_count(c, "M"),
                                     .capacity = case_number(c, "cap") };
    if (*out == NULL)
        case_fail(c, "out of memory");
    return c->result == CASE_PASSED;
}

static void expect_knapsack(struct vector_case *c, const struct cv_knapsack *problem)
{
    uint64_t *counts = cv_array(c->arena, problem->nclasses, sizeof *counts);
    struct cv_knapsack_answer answer;
    struct cleave_error err;
    double bound;

    if (!case_ok(c, cv_knapsack_solve(problem, 0, c->arena, &answer, &err), &err))
        return;
    if (counts == NULL || !cv_knapsack_holds(problem, &answer, counts))
        case_fail(c, "expected an answer within the capacities, got more");
    expect_number(c, "optimum", answer.profit);
    if (case_ok(c, cv_knapsack_surrogate_lp(problem, &bound, &err), &err))
        expect_number(c, "surrogate_lp", bound);
}

static void run_small(struct vector_case *c)
{
    size_t n, nprofits;
    const double *weights = case_numbers(c, "weights", &n);
    const double *profits = case_numbers(c, "profits", &nprofits);
    struct cv_knapsack_answer greedy;
    struct cv_item_class *list;
    struct cv_knapsack problem;
    struct cleave_error err;
    double bound;
    bool exact;

    if (weights == NULL || profits == NULL || n != nprofits) {
        case_fail(c, "input: expected as many weights as profits");
        return;
    }
    if (!start_problem(c, n, &problem, &list))
        return;
    for (size_t i = 0; i < n; i++)
        add_class(&problem, list, weights[i], profits[i], 1);
    expect_knapsack(c, &problem);
    if (case_ok(c, knapsack_greedy(&problem, c->arena, &greedy, &err), &err))
        expect_number(c, "greedy", greedy.profit);
    if (case_ok(c, knapsack_surrogate_kp(&problem, 0, &bound, &exact, &err), &err)) {
        if (!exact)
            case_fail(c, "surrogate_kp: expected the optimum, got only a bound");
        expect_number(c, "surrogate_kp", bound);
    }
}

static double field_of(struct vector_case *c, const struct json *map, const char *name)
{
    const struct json *value = json_get(map, name);

    if (value == NULL || value->kind != JSON_NUMBER || !(value->number >= 0)) {
        case_fail(c, "input lcg.%s: expected a number of 0 or more", name);
        return 0;
    }
    return value->number;
}

/* Items from a linear congruential generator: weight, then profit. */
static void generate(struct vector_case *c, const struct json *lcg)
{
    const uint32_t n = (uint32_t)field_of(c, lcg, "n");
    const uint64_t low = (uint64_t)field_of(c, lcg, "wlo");
    const uint64_t high = (uint64_t)field_of(c, lcg, "whi");
    const uint64_t max = (uint64_t)field_of(c, lcg, "phi");
    uint64_t x = (uint64_t)field_of(c, lcg, "seed"), draws[2];
    struct cv_item_class *list;
    struct cv_knapsack problem;

    if (!start_problem(c, n, &problem, &list))
        return;
    if (high < low || max == 0) {
        case_fail(c, "input lcg: expected wlo <= whi and a positive phi");
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        for (int k = 0; k < 2; k++) {
            x = (UINT64_C(1103515245) * x + 12345) % (UINT64_C(1) << 31);
            draws[k] = x >> 8;
        }
        add_class(&problem, list, (double)(low + draws[0] % (high - low + 1)),
                  (double)(1 + draws[1] % max), 1);
    }
    expect_knapsack(c, &problem);
}

static void run_large(struct vector_case *c)
{
    const struct json *classes = json_get(c->in, "classes");
    struct cv_item_class *list;
    struct cv_knapsack problem;

    if (case_has(c, "lcg")) {
        generate(c, json_get(c->in, "lcg"));
        return;
    }
    if (classes == NULL || classes->kind != JSON_LIST) {
        case_fail(c, "input classes: expected a list");
        return;
    }
    if (!start_problem(c, classes->count, &problem, &list))
        return;
    for (size_t i = 0; i < classes->count; i++) {
        const struct json *row = &classes->items[i];

        if (row->kind != JSON_LIST || row->count != 3) {
            case_fail(c, "input classes[%zu]: expected weight, profit and count", i);
            return;
        }
        add_class(&problem, list, row->items[0].number, row->items[1].number,
                  row->items[2].number);
    }
    expect_knapsack(c, &problem);
}

static double *repeated(struct vector_case *c, const char *name, uint32_t n)
{
    double *list = case_room(c, n);

    for (uint32_t i = 0; list != NULL && i < n; i++)
        list[i] = case_number(c, name);
    return list;
}

static void expect_choices(struct vector_case *c, struct cv_stream_task *task)
{
    struct cv_stream_choice choice;
    struct cleave_error err;

    task->weights = CV_SELECT_RING;
    if (!case_ok(c, cv_stream_select(task, c->arena, &choice, &err), &err))
        return;
    if (!choice.optimal)
        case_fail(c, "optimum_ring: expected a proof, got only a bound");
    expect_number(c, "optimum_ring", choice.throughput);
    expect_count(c, "selected_ring", choice.selected);
    task->weights = CV_SELECT_OWN;
    if (!case_ok(c, cv_stream_select(task, c->arena, &choice, &err), &err))
        return;
    for (uint32_t m = 0; m < choice.nstreams; m++)
        if (!(choice.delay_sum[m] <= task->ring.tau_s * (1 + 1e-12)))
            case_fail(c, "expected delays within the round, got %.17g s",
                      choice.delay_sum[m]);
    expect_at_least(c, "own_at_least", choice.throughput);
    expect_at_most(c, "own_at_most", choice.throughput);
}

static void run_table1(struct vector_case *c)
{
    enum { N = TABLE_ROWS * TABLE_COUNT };
    struct cleave_worker *workers = cv_array(c->arena, N, sizeof *workers);
    struct cv_stream_task task = { .nstreams = case_count(c, "M") };
    double *tight = case_room(c, N);
    const struct cv_stream_times *times;

    if (workers == NULL || tight == NULL) {
        case_fail(c, "out of memory");
        return;
    }
    for (uint32_t w = 0; w < N; w++)
        workers[w] = table[w / TABLE_COUNT];
    task.ring = (struct cv_stream_ring){
        .workers = workers,
        .n = N,
        .tau_s = case_number(c, "tau"),
        .result_ratio = case_number(c, "rho"),
        .theta = repeated(c, "theta", N),
        .margin = repeated(c, "lam", N),
    };
    times = cv_ring_times(&task.ring, c->arena);
    if (times == NULL || c->result != CASE_PASSED)
        return;
    cv_ring_tight_delays(&task.ring, times, tight);
    expect_number(c, "dring", tight[0]);
    expect_choices(c, &task);
}

const struct case_kind streams_select_kinds[] = {
    { "mkp_small", run_small },
    { "mkp_large", run_large },
    { "mkp_table1", run_table1 },
    { NULL, NULL },
};
