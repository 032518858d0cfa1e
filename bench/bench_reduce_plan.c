/* bench_reduce_plan.c -- how fast reduction trees are planned. SPDX-License-Identifier: MIT
 *
 * usage: bench_reduce_plan [NODES]     10 million unless told otherwise
 *
 * The greedy trees in linear time, with memory that was touched before and with new memory;
 * the same algorithm on a binary heap, which is what the two queues replace; execution of
 * a tree; the length alone. Least and median over the repeats, in ns per node. Times vary
 * with the machine; compare lines of one run. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_tools.h"
#include "model/reduce/greedy_tree.h"
#include "model/reduce/reduce_tree.h"

enum { REPEATS = 5 };

static void need(const void *memory)
{
    if (memory != NULL)
        return;
    fprintf(stderr, "bench_reduce_plan: out of memory\n");
    exit(1);
}

/* --- the same on a heap ----------------------------------------------------------------- */

struct entry {
    double s;
    uint32_t node;
};

static int before(struct entry a, struct entry b)
{
    return a.s < b.s || (a.s == b.s && a.node < b.node);
}

/* The chosen node stays at the top with a later time and sinks; the new node rises. */
static void plan_on_heap(struct cv_greedy_tree *tree, double d, double c,
                         struct entry *heap)
{
    const double step = d > c ? d : c;

    tree->parent[0] = CV_NO_NODE;
    tree->rev_s[0] = 0;
    heap[0] = (struct entry){ 0, 0 };
    for (uint32_t i = 1; i < tree->n; i++) {
        struct entry chosen = heap[0], fresh = { chosen.s + c + d, i };
        size_t at = 0;

        tree->parent[i] = chosen.node;
        tree->rev_s[i] = fresh.s;
        chosen.s += step;
        for (size_t child; (child = 2 * at + 1) < i; at = child) {
            if (child + 1 < i && before(heap[child + 1], heap[child]))
                child++;
            if (before(chosen, heap[child]))
                break;
            heap[at] = heap[child];
        }
        heap[at] = chosen;
        for (at = i; at > 0 && before(fresh, heap[(at - 1) / 2]); at = (at - 1) / 2)
            heap[at] = heap[(at - 1) / 2];
        heap[at] = fresh;
    }
    tree->length_s = tree->rev_s[tree->n - 1];
}

/* --- what is measured ------------------------------------------------------------------- */

struct bench {
    uint32_t n;
    double d, c;
    struct cv_greedy_limit limit;
    struct cv_greedy_tree tree;
    struct cv_arena arena;
    struct entry *heap;
    double *costs;
    double length_s;
};

static void run_greedy(struct bench *b)
{
    struct cleave_error err;

    check(cv_greedy_tree_plan(&b->tree, b->d, b->c, &b->limit, &err), &err);
    b->length_s = b->tree.length_s;
}

static void run_greedy_anew(struct bench *b)
{
    struct cv_greedy_tree tree;
    struct cleave_error err;
    struct cv_arena arena;

    cv_arena_init(&arena);
    need(cv_greedy_tree_room(&tree, &arena, b->n) ? &tree : NULL);
    check(cv_greedy_tree_plan(&tree, b->d, b->c, &b->limit, &err), &err);
    b->length_s = tree.length_s;
    cv_arena_done(&arena);
}

static void run_heap(struct bench *b)
{
    plan_on_heap(&b->tree, b->d, b->c, b->heap);
    b->length_s = b->tree.length_s;
}

static void run_execution(struct bench *b)
{
    const struct cv_tree_costs costs = { .transfer_s = b->d, .compute_s = b->c };
    struct cv_tree_run run;
    struct cleave_error err;

    cv_arena_reset(&b->arena);
    check(cv_tree_run(b->tree.parent, b->n, &costs, &b->arena, &run, &err), &err);
    b->length_s = run.length_s;
}

static void run_unequal(struct bench *b)
{
    struct cleave_error err;

    check(cv_greedy_unequal_plan(&b->tree, b->d, b->costs, &err), &err);
    b->length_s = b->tree.length_s;
}

static double measure(const char *what, void (*body)(struct bench *), struct bench *b)
{
    double times[REPEATS];

    body(b);
    for (int r = 0; r < REPEATS; r++) {
        const double begin = now_s();

        body(b);
        times[r] = 1e9 * (now_s() - begin) / b->n;
    }
    qsort(times, REPEATS, sizeof *times, ascending);
    printf("%-46s %8.2f %8.2f ns/node   length %.6g\n", what, times[0],
           times[REPEATS / 2], b->length_s);
    return times[REPEATS / 2];
}

static void bench_costs(struct bench *b, double d, double c)
{
    double queues, heap;
    char what[64];

    b->d = d;
    b->c = c;
    b->limit = (struct cv_greedy_limit){ 0, 0 };
    snprintf(what, sizeof what, "greedy, d = %g, c = %g, binary heap", d, c);
    heap = measure(what, run_heap, b);
    snprintf(what, sizeof what, "greedy, d = %g, c = %g, two queues", d, c);
    queues = measure(what, run_greedy, b);
    printf("%-46s %17.1f times faster (bar 5), bar 40 ns/node: %s\n", "", heap / queues,
           queues <= 40 && heap / queues >= 5 ? "passed" : "missed");
}

static void bench_length(void)
{
    const int turns = 2000;
    double begin = now_s(), sum = 0;

    for (int i = 0; i < turns; i++)
        sum += cv_reduce_length(UINT64_C(1000000000000000000) - (uint64_t)i, 3, 2);
    printf("%-46s %17.2f us each     length %.6g\n", "length alone, 10^18 elements",
           1e6 * (now_s() - begin) / turns, sum / turns);
}

int main(int argc, char **argv)
{
    struct bench b = { .n = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 10000000 };
    const uint32_t k = 1000;

    if (b.n < 2) {
        fprintf(stderr, "usage: bench_reduce_plan [NODES], 2 or more\n");
        return 2;
    }
    cv_arena_init(&b.arena);
    need(cv_greedy_tree_room(&b.tree, &b.arena, b.n) ? &b.tree : NULL);
    b.heap = malloc(b.n * sizeof *b.heap);
    b.costs = malloc(b.n * sizeof *b.costs);
    need(b.heap);
    need(b.costs);
    printf("%u nodes\n%-46s %8s %8s\n", b.n, "", "least", "median");
    bench_costs(&b, 1, 1);
    bench_costs(&b, 3, 2);
    bench_costs(&b, 0.1, 0.73);
    measure("greedy, two queues, memory included", run_greedy_anew, &b);
    b.limit.transfers = k;
    measure("greedy, 1000 transfers at a time", run_greedy, &b);
    b.limit = (struct cv_greedy_limit){ .reducers = k };
    measure("greedy, 1000 reducers", run_greedy, &b);
    for (uint32_t i = 0; i < b.n; i++)
        b.costs[i] = 0.5 + (double)(i * UINT32_C(2654435761) % 1000) / 1000;
    measure("greedy, unequal nodes (heap and sort)", run_unequal, &b);
    b.limit = (struct cv_greedy_limit){ 0, 0 };
    run_greedy(&b);
    {
        struct cv_arena kept = b.arena; /* holds the tree */

        cv_arena_init(&b.arena);
        measure("execution of the greedy tree", run_execution, &b);
        cv_arena_done(&b.arena);
        b.arena = kept;
    }
    bench_length();
    free(b.costs);
    free(b.heap);
    cv_arena_done(&b.arena);
    return 0;
}
