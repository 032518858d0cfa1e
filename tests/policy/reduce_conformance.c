/* reduce_conformance.c -- requirements on every reduction policy on every instance.
 * SPDX-License-Identifier: MIT
 *
 * Every partial is sent once, ports and processors are held by one activity at a time, no
 * node sends before it has combined all it received, times follow the costs, the order is
 * kept if promised, runs repeat and replay, lengths keep the bounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "engine/driver.h"
#include "engine/replay.h"
#include "model/reduce/reduce_tree.h"
#include "model/reduce/reduce_costs.h"
#include "sim/reduce/native_reduce.h"
#include "trace_check.h"

enum { MOST_NODES = 200 };

struct instance {
    const char *name;
    uint32_t nodes;
    double transfer, compute, cv; /* means; cv 0: equal, negative: small whole numbers */
};

static const struct instance instances[] = {
    { "one node", 1, 1, 1, 1 },
    { "two nodes", 2, 1, 1, 1 },
    { "three equal", 3, 1, 1, 0 },
    { "five, no compute", 5, 1, 0, 1 },
    { "seven, no transfer", 7, 0, 1, 1 },
    { "eight equal", 8, 2, 3, 0 },
    { "13 with ties", 13, 1, 1, -1 },
    { "33", 33, 1, 0.5, 0.3 },
    { "64", 64, 1, 1, 1 },
    { "64 wild", 64, 1, 0.1, 5 },
    { "100, slow compute", 100, 1, 10, 0.5 },
    { "200 with ties, no compute", 200, 1, 0, -1 },
    { "nothing costs anything", 20, 0, 0, 0 },
};

static double draw(const struct instance *instance, double mean, struct cv_random *random)
{
    if (mean == 0 || instance->cv == 0)
        return mean;
    if (instance->cv < 0)
        return floor(1 + 4 * cv_random_uniform(random));
    return mean * cv_random_gamma(random, instance->cv);
}

static struct cleave_costs *make_costs(const struct instance *instance)
{
    uint32_t n = instance->nodes;
    double *transfer = calloc((size_t)n * n, sizeof *transfer);
    double *compute = calloc(n, sizeof *compute);
    struct cleave_costs *costs = NULL;
    struct cv_random random;

    cv_random_at(&random, 77, n, 0, 0);
    for (size_t i = 0; i < (size_t)n * n; i++)
        transfer[i] = draw(instance, instance->transfer, &random);
    for (uint32_t i = 0; i < n; i++)
        compute[i] = draw(instance, instance->compute, &random);
    assert_int_equal(cleave_costs_new(n, transfer, compute, &costs, NULL), CLEAVE_OK);
    free(transfer);
    free(compute);
    return costs;
}

struct trial {
    const struct cleave_policy *policy;
    const struct instance *instance;
    const struct cleave_costs *costs;
};

#define MUST(trial, condition, ...)                                                      \
    do {                                                                                 \
        if (!(condition)) {                                                              \
            print_error("%s on '%s': ", (trial)->policy->name, (trial)->instance->name); \
            print_error(__VA_ARGS__);                                                    \
            print_error("\n");                                                           \
            fail();                                                                      \
        }                                                                                \
    } while (0)

/* State of a node in the judge. */
struct judged {
    double port_free_s, cpu_free_s;
    double arrived_s;  /* as a sender: when its partial arrived      */
    uint32_t received; /* partials on their way here or not combined */
    bool gone;
    char *inputs; /* the inputs it stands for, in order         */
};

static void judge_order(const struct trial *trial, const struct cleave_order *order,
                        struct judged *nodes, uint32_t *sent)
{
    if (order->kind != CLEAVE_COMBINE)
        return;
    MUST(trial, !nodes[order->peer].gone, "node %u sends twice", order->peer);
    MUST(trial, !nodes[order->worker].gone, "node %u receives after it has sent",
         order->worker);
    MUST(trial, nodes[order->peer].received == 0, "node %u sends before it is done",
         order->peer);
    nodes[order->peer].gone = true;
    nodes[order->worker].received++;
    (*sent)++;
}

static void judge_transfer(const struct trial *trial, const struct cleave_event *event,
                           double end_s, struct judged *nodes)
{
    const struct cleave_costs *costs = trial->costs;
    struct judged *to = &nodes[event->worker];
    double cost = costs->transfer[(size_t)event->peer * costs->nodes + event->worker];

    MUST(trial, event->start_s >= to->port_free_s, "port of %u shared", event->worker);
    MUST(trial, near_enough(end_s, event->start_s + cost),
         "transfer %u to %u takes %g, not %g", event->peer, event->worker,
         end_s - event->start_s, cost);
    to->port_free_s = end_s;
    nodes[event->peer].arrived_s = end_s;
}

/* Fold names: joining neighbours in their order must give all names in order. */
static void fold(const struct trial *trial, struct judged *to, struct judged *from)
{
    bool before = strcmp(from->inputs, to->inputs) < 0;
    size_t size = strlen(to->inputs) + strlen(from->inputs) + 1;
    char *joined = malloc(size);

    (void)trial;
    snprintf(joined, size, "%s%s", before ? from->inputs : to->inputs,
             before ? to->inputs : from->inputs);
    free(to->inputs);
    to->inputs = joined;
}

static void judge_combination(const struct trial *trial, const struct cleave_event *event,
                              struct judged *nodes)
{
    struct judged *to = &nodes[event->worker], *from = &nodes[event->peer];
    double cost = trial->costs->compute[event->worker], start_s = event->start_s;

    if (!trial->policy->gets_arrivals) {
        /* Transfer and combination in one: the former ends where the latter begins. */
        double arrival_s =
            event->start_s +
            trial->costs
                ->transfer[(size_t)event->peer * trial->costs->nodes + event->worker];
        judge_transfer(trial, event, arrival_s, nodes);
        to->port_free_s = event->time_s;
        start_s = arrival_s;
    }
    MUST(trial, start_s >= from->arrived_s && start_s >= to->cpu_free_s,
         "node %u combines too early", event->worker);
    MUST(trial, near_enough(event->time_s, start_s + cost),
         "combination on %u takes %g, not %g", event->worker, event->time_s - start_s,
         cost);
    to->cpu_free_s = event->time_s;
    to->received--;
    fold(trial, to, from);
}

/* The root stands for all inputs, in their order where that is promised. */
static void judge_inputs(const struct trial *trial, const char *inputs,
                         const char *wanted, const struct cleave_tree *tree)
{
    if (inputs == NULL) {
        fail_msg("inputs lost");
        return;
    }
    MUST(trial, strlen(inputs) == strlen(wanted), "inputs lost");
    if (!trial->policy->keeps_order)
        return;
    MUST(trial, strcmp(inputs, wanted) == 0, "order not kept");
    MUST(trial, tree->keeps_order && tree->first != NULL, "intervals missing");
}

static void judge(const struct trial *trial, const struct cleave_trace *trace,
                  const struct cleave_tree *tree)
{
    uint32_t n = trial->costs->nodes, sent = 0, left = 0;
    struct judged *nodes = calloc(n + 1, sizeof *nodes);
    char wanted[5 * MOST_NODES + 1] = "", name[16];
    double last_s = 0;

    for (uint32_t i = 0; i < n; i++) {
        snprintf(name, sizeof name, "%04u,", i);
        nodes[i].inputs = strdup(name);
        assert_non_null(nodes[i].inputs);
        strcat(wanted, name);
    }
    for (size_t i = 0; i < cleave_trace_count(trace); i++) {
        const struct cleave_entry *entry = cleave_trace_at(trace, i);
        const struct cleave_event *event = &entry->as.event;

        if (entry->is_order) {
            judge_order(trial, &entry->as.order, nodes, &sent);
            continue;
        }
        MUST(trial, event->time_s >= last_s, "time goes back");
        last_s = event->time_s;
        if (event->kind == CLEAVE_ARRIVED)
            judge_transfer(trial, event, event->time_s, nodes);
        else if (event->kind == CLEAVE_COMBINED)
            judge_combination(trial, event, nodes);
    }
    MUST(trial, sent == n - 1, "%u of %u partials sent", sent, n - 1);
    for (uint32_t i = 0; i < n; i++)
        left += !nodes[i].gone;
    MUST(trial, left == 1 && !nodes[tree->root].gone, "%u nodes left", left);
    judge_inputs(trial, nodes[tree->root].inputs, wanted, tree);
    for (uint32_t i = 0; i < n; i++)
        free(nodes[i].inputs);
    free(nodes);
}

static void check_policy(const struct trial *trial)
{
    struct cleave_trace *first = NULL, *again = NULL;
    struct cleave_reduction job = { .costs = trial->costs,
                                    .policy = trial->policy->name };
    struct cleave_tree *tree = NULL, *second = NULL;
    struct cleave_error err;

    assert_int_equal(cleave_trace_new(&first, NULL), CLEAVE_OK);
    assert_int_equal(cleave_trace_new(&again, NULL), CLEAVE_OK);
    job.trace = first;
    MUST(trial, cleave_plan_reduce(&job, &tree, &err) == CLEAVE_OK, "%s", err.text);
    judge(trial, first, tree);
    MUST(trial, tree->length_s >= tree->lower_bound_s * (1 - 1e-12),
         "length %g below bound %g", tree->length_s, tree->lower_bound_s);
    MUST(trial, tree->length_s <= tree->upper_bound_s * (1 + 1e-12),
         "length %g above bound %g", tree->length_s, tree->upper_bound_s);
    job.trace = again;
    MUST(trial, cleave_plan_reduce(&job, &second, &err) == CLEAVE_OK, "%s", err.text);
    MUST(trial, same_traces(first, again), "does not repeat itself");
    cleave_tree_free(tree);
    cleave_tree_free(second);
    cleave_trace_free(first);
    cleave_trace_free(again);
}

static void every_policy(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof instances / sizeof *instances; i++) {
        struct cleave_costs *costs = make_costs(&instances[i]);

        for (size_t p = 0; p < cleave_policy_count(); p++)
            if (cleave_policy_at(p)->task == CLEAVE_TASK_REDUCE)
                check_policy(
                    &(struct trial){ cleave_policy_at(p), &instances[i], costs });
        cleave_costs_free(costs);
    }
}

/* Replaying the recorded events must give the recorded orders. */
static void replay_repeats_the_orders(void **state)
{
    const struct instance *instance = &instances[8];
    struct cleave_costs *exact = make_costs(instance);
    struct cv_reduce_costs costs = { .nodes = instance->nodes, .exact = exact };
    const struct cleave_view view = { .nworkers = costs.nodes,
                                      .seed = 1,
                                      .transfer_s = cv_mean_transfer(&costs),
                                      .compute_s = cv_mean_compute(&costs) };

    (void)state;
    for (size_t p = 0; p < cleave_policy_count(); p++) {
        const struct cleave_policy *policy = cleave_policy_at(p);
        struct cleave_trace *recorded = NULL, *replayed = NULL;
        struct cv_driver *driver = NULL;
        struct cv_run run = { .number = 0 };
        struct cv_replay_source source;
        struct cv_outcome outcome;
        struct cv_planned planned;

        if (policy->task != CLEAVE_TASK_REDUCE)
            continue;
        assert_int_equal(cleave_trace_new(&recorded, NULL), CLEAVE_OK);
        assert_int_equal(cleave_trace_new(&replayed, NULL), CLEAVE_OK);
        assert_int_equal(cv_planned_reduce_view(&planned, policy, NULL, 0, &view, NULL),
                         CLEAVE_OK);
        assert_int_equal(cv_driver_open(&planned, cv_native_reduce_for(policy), NULL,
                                        &costs, &driver, NULL),
                         CLEAVE_OK);
        assert_int_equal(cv_driver_run(driver, &run, recorded, &outcome, NULL),
                         CLEAVE_OK);
        cv_driver_close(driver);
        source = (struct cv_replay_source){ recorded, costs.nodes, NULL };
        assert_int_equal(cv_driver_open(&planned, &cv_engine_replay, NULL, &source,
                                        &driver, NULL),
                         CLEAVE_OK);
        assert_int_equal(cv_driver_run(driver, &run, replayed, &outcome, NULL),
                         CLEAVE_OK);
        assert_true(same_traces(recorded, replayed));
        cv_driver_close(driver);
        cv_planned_done(&planned);
        cleave_trace_free(recorded);
        cleave_trace_free(replayed);
    }
    cleave_costs_free(exact);
}

/* 2 x 2 matrices of numbers modulo a prime do not commute: the product along the tree is
 * the product in order. */
struct matrix {
    uint64_t m[4];
};

static struct matrix times(struct matrix a, struct matrix b)
{
    const uint64_t prime = 1000003;

    return (struct matrix){ { (a.m[0] * b.m[0] + a.m[1] * b.m[2]) % prime,
                              (a.m[0] * b.m[1] + a.m[1] * b.m[3]) % prime,
                              (a.m[2] * b.m[0] + a.m[3] * b.m[2]) % prime,
                              (a.m[2] * b.m[1] + a.m[3] * b.m[3]) % prime } };
}

static void matrices_fold_in_order(void **state)
{
    enum { N = 40 };
    static const char *const policies[] = { "binomial", "fibonacci", "ordered-tree-dyn",
                                            "ordered-adapt", "greedy" };
    static const struct cleave_setting ordered = { "ordered", "1" };

    (void)state;
    for (size_t p = 0; p < sizeof policies / sizeof *policies; p++) {
        struct cleave_trace *trace = NULL;
        struct cleave_reduction job = { .nodes = N,
                                        .transfer = "gamma:1,0.8",
                                        .compute = "gamma:1,0.8",
                                        .policy = policies[p],
                                        .settings = &ordered,
                                        .nsettings = strcmp(policies[p], "greedy") == 0 };
        struct cleave_trial trial = { .runs = 1 };
        struct matrix value[N], wanted = { { 1, 0, 0, 1 } };
        uint32_t first[N], root = 0;
        struct cleave_stats stats;

        for (uint32_t i = 0; i < N; i++) {
            value[i] = (struct matrix){ { 1, i % 3, 7 * (i % 5) + 1, i + 2 } };
            first[i] = i;
            wanted = times(wanted, value[i]);
        }
        assert_int_equal(cleave_trace_new(&trace, NULL), CLEAVE_OK);
        job.trace = trace;
        assert_int_equal(cleave_simulate_reduce(&job, &trial, &stats, NULL), CLEAVE_OK);
        for (size_t i = 0; i < cleave_trace_count(trace); i++) {
            const struct cleave_entry *entry = cleave_trace_at(trace, i);
            uint32_t to = entry->as.event.worker, from = entry->as.event.peer;

            if (entry->is_order || entry->as.event.kind != CLEAVE_COMBINED)
                continue;
            root = to;
            value[to] = first[from] < first[to] ? times(value[from], value[to])
                                                : times(value[to], value[from]);
            if (first[from] < first[to])
                first[to] = first[from];
        }
        for (int k = 0; k < 4; k++)
            assert_true(value[root].m[k] == wanted.m[k]);
        cleave_trace_free(trace);
    }
}

/* The engine executes the greedy tree in exactly the planned time. */
static void greedy_takes_the_planned_time(void **state)
{
    static const double pairs[][2] = { { 1, 1 }, { 3, 2 }, { 1, 0 }, { 0, 1 }, { 1, 4 } };
    static const char *const keys[] = { NULL, "max_transfers", "max_reducers" };

    (void)state;
    for (uint32_t n = 1; n <= 70; n += n < 12 ? 1 : 9)
        for (size_t pair = 0; pair < 5; pair++)
            for (size_t key = 0; key < 3; key++)
                for (uint32_t k = 1; k <= (key == 0 ? 1 : n); k += 1 + k / 3) {
                    char d[16], c[16], limit[16];
                    struct cleave_setting setting = { keys[key], limit };
                    struct cleave_reduction job = { .nodes = n,
                                                    .transfer = d,
                                                    .compute = c,
                                                    .settings = &setting,
                                                    .nsettings = key > 0 };
                    struct cleave_tree *tree = NULL;
                    struct cv_arena arena;
                    struct cv_greedy_tree planned;
                    struct cv_greedy_limit limits = { key == 1 ? k : 0,
                                                      key == 2 ? k : 0 };

                    snprintf(d, sizeof d, "%g", pairs[pair][0]);
                    snprintf(c, sizeof c, "%g", pairs[pair][1]);
                    snprintf(limit, sizeof limit, "%u", k);
                    cv_arena_init(&arena);
                    assert_true(cv_greedy_tree_room(&planned, &arena, n));
                    assert_int_equal(cv_greedy_tree_plan(&planned, pairs[pair][0],
                                                         pairs[pair][1], &limits, NULL),
                                     CLEAVE_OK);
                    assert_int_equal(cleave_plan_reduce(&job, &tree, NULL), CLEAVE_OK);
                    assert_true(tree->length_s == planned.length_s);
                    cleave_tree_free(tree);
                    cv_arena_done(&arena);
                }
}

/* When only combining costs differ, nodes are inserted by increasing cost: the tree takes
 * what the planner says, and less than one made for the mean cost. */
static void greedy_knows_unequal_nodes(void **state)
{
    enum { N = 30 };
    double transfer[N * N], compute[N], by_mean = 0, by_cost = 0;
    struct cv_random random;

    (void)state;
    for (uint32_t round = 0; round < 20; round++) {
        struct cleave_costs *exact = NULL;
        struct cleave_reduction job = { .policy = "greedy" };
        struct cleave_tree *tree = NULL;
        struct cv_greedy_tree mean_tree;
        struct cv_tree_run run;
        struct cv_arena arena;
        double sum = 0;

        cv_random_at(&random, 5, round, 0, 0);
        for (uint32_t i = 0; i < N * N; i++)
            transfer[i] = 1;
        for (uint32_t i = 0; i < N; i++)
            sum += compute[i] = cv_random_gamma(&random, 0.8);
        assert_int_equal(cleave_costs_new(N, transfer, compute, &exact, NULL), CLEAVE_OK);
        job.costs = exact;
        assert_int_equal(cleave_plan_reduce(&job, &tree, NULL), CLEAVE_OK);
        cv_arena_init(&arena);
        assert_true(cv_greedy_tree_room(&mean_tree, &arena, N));
        assert_int_equal(cv_greedy_tree_plan(&mean_tree, 1, sum / N,
                                             &(struct cv_greedy_limit){ 0, 0 }, NULL),
                         CLEAVE_OK);
        assert_int_equal(cv_tree_run(mean_tree.parent, N,
                                     &(struct cv_tree_costs){ .transfer_s = 1,
                                                              .compute = compute },
                                     &arena, &run, NULL),
                         CLEAVE_OK);
        by_mean += run.length_s;
        by_cost += tree->length_s;
        assert_true(tree->length_s <= run.length_s * (1 + 1e-12));
        cv_arena_done(&arena);
        cleave_tree_free(tree);
        cleave_costs_free(exact);
    }
    assert_true(by_cost < 0.8 * by_mean);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_policy),
        cmocka_unit_test(replay_repeats_the_orders),
        cmocka_unit_test(matrices_fold_in_order),
        cmocka_unit_test(greedy_takes_the_planned_time),
        cmocka_unit_test(greedy_knows_unequal_nodes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
