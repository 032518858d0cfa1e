/* bench_returns.c -- one round with results: how fast, and how good, orders are found.
 * SPDX-License-Identifier: MIT
 *
 * Times are CPU time of one core. Instances are random from a fixed seed, so all but the
 * times are the same everywhere. Gaps are relative to the optimum, or to an upper bound:
 * the gap to the optimum is smaller.
 *
 * usage: bench_returns [--all (minutes more) | --given (linear programs only)] */
#include <math.h>
#include <string.h>

#include "bench_tools.h"
#include "base/random.h"
#include "model/returns/returns_bounds.h"
#include "model/returns/returns_search.h"

static double cpu_s(void)
{
    struct timespec time;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static double between(struct cv_random *random, double low, double high)
{
    return low + (high - low) * cv_random_uniform(random);
}

/* Between low and high, every order of magnitude as likely as another. */
static double scale(struct cv_random *random, double low, double high)
{
    return exp(between(random, log(low), log(high)));
}

static double pick(struct cv_random *random, const double *from, unsigned n)
{
    const unsigned k = (unsigned)between(random, 0, n);

    return from[k < n ? k : n - 1];
}

/* One third each: links over three decades, nearly alike, in two groups up to 100 times
 * apart. Nodes are equal or over two decades. `near_full`: the port is about as busy as
 * the workers, where orders matter most; else nodes are from faster than their links to
 * a thousand times slower. */
static void make_trips(struct cv_trip *trips, uint32_t n, uint32_t number, bool near_full)
{
    static const double ratios[] = { 0.01, 0.1, 0.3, 0.5, 0.9, 1, -1 };
    static const double few_ratios[] = { 0.1, 0.5, 1 };
    struct cv_random random;
    unsigned links;
    double ratio, apart, slow, middle = 0;
    bool equal;

    cv_random_at(&random, 2010, number, n, near_full);
    links = number % 3;
    ratio = near_full ? pick(&random, few_ratios, 3) : pick(&random, ratios, 7);
    ratio = ratio < 0 ? cv_random_uniform(&random) : ratio;
    apart = scale(&random, 1, 100);
    slow = near_full ? n * scale(&random, 0.1, 10) : scale(&random, 0.03, 1000);
    equal = cv_random_uniform(&random) < 0.5;
    memset(trips, 0, n * sizeof *trips);
    for (uint32_t i = 0; i < n; i++) {
        trips[i].send_s =
            links == 0 ? scale(&random, 0.0316, 31.6) : between(&random, 0.5, 1.5);
        if (links == 2 && cv_random_uniform(&random) < 0.5)
            trips[i].send_s *= apart;
        trips[i].back_s = ratio * trips[i].send_s;
        middle += log(trips[i].send_s) / n;
    }
    for (uint32_t i = 0; i < n; i++)
        trips[i].compute_s = slow * exp(middle) * (equal ? 1 : scale(&random, 0.1, 10));
}

/* --- closed forms ----------------------------------------------------------------- */

static void bench_plain(uint32_t n)
{
    struct cv_trip *trips = malloc(n * sizeof *trips);
    const struct cv_returns returns = { trips, n, false, NULL };
    struct cv_round_trip fifo, lifo;
    struct cv_arena arena;
    struct cleave_error err;
    double begin, middle, end;

    if (trips == NULL)
        exit(1);
    make_trips(trips, n, 1, true);
    cv_arena_init(&arena);
    begin = cpu_s();
    check(cv_returns_fifo(&returns, 1, &arena, &fifo, &err), &err);
    middle = cpu_s();
    check(cv_returns_lifo(&returns, 1, &arena, &lifo, &err), &err);
    end = cpu_s();
    printf("%-40s fifo %8.3f s   lifo %8.3f s   bar 1 s\n", "10^6 workers",
           middle - begin, end - middle);
    cv_arena_done(&arena);
    free(trips);
}

/* --- gaps ------------------------------------------------------------------------- */

struct gaps {
    double sum, worst, plain_sum, search_s, other_s;
    unsigned cases, optimal;
};

/* One instance; the gap is to the optimum, or to the convex bound. */
static void add_case(struct gaps *gaps, uint32_t n, uint32_t number, bool single,
                     bool exact)
{
    struct cv_trip *trips = malloc(n * sizeof *trips);
    const struct cv_returns returns = { trips, n, single, NULL };
    struct cv_round_trip found, best, fifo, lifo;
    struct cv_arena arena;
    struct cleave_error err;
    double begin, middle, max, gap;

    if (trips == NULL)
        exit(1);
    make_trips(trips, n, number, !exact);
    cv_arena_init(&arena);
    begin = cpu_s();
    check(cv_returns_search(&returns, 1, NULL, &arena, &found, &err), &err);
    middle = cpu_s();
    if (exact) {
        check(cv_returns_exact(&returns, 1, &arena, &best, &err), &err);
        max = best.work;
    } else {
        max = cv_returns_bound_convex(&returns, 1, &arena);
    }
    gaps->other_s += cpu_s() - middle;
    gaps->search_s += middle - begin;
    check(cv_returns_fifo(&returns, 1, &arena, &fifo, &err), &err);
    check(cv_returns_lifo(&returns, 1, &arena, &lifo, &err), &err);
    gap = 1 - found.work / max;
    gaps->sum += gap;
    gaps->plain_sum += 1 - fmax(fifo.work, lifo.work) / max;
    gaps->worst = fmax(gaps->worst, gap);
    gaps->optimal += gap < 1e-9;
    gaps->cases++;
    cv_arena_done(&arena);
    free(trips);
}

static void gaps_line(const char *what, bool single, const struct gaps *gaps)
{
    printf("%-40s %-6s %5u cases  mean %9.2e  worst %9.2e  plain %8.2e  search %9.3g s",
           what, single ? "single" : "duplex", gaps->cases, gaps->sum / gaps->cases,
           gaps->worst, gaps->plain_sum / gaps->cases, gaps->search_s / gaps->cases);
}

/* Against the optimum, 2 to 6 workers. */
static void bench_quality(bool single, unsigned cases)
{
    struct gaps gaps = { 0 };

    for (uint32_t number = 0; number < cases; number++)
        add_case(&gaps, 2 + number % 5, number, single, true);
    gaps_line("search to optimum, n = 2 .. 6", single, &gaps);
    printf("  optimal %.1f %%  bars: mean 1e-4, worst 1e-2\n",
           100.0 * gaps.optimal / gaps.cases);
}

/* Against the convex bound. */
static void bench_bound(uint32_t n, bool single, unsigned cases, double bar_s)
{
    struct gaps gaps = { 0 };
    char what[64];

    for (uint32_t number = 0; number < cases; number++)
        add_case(&gaps, n, number, single, false);
    snprintf(what, sizeof what, "search to convex bound, n = %u", n);
    gaps_line(what, single, &gaps);
    if (bar_s > 0)
        printf("  bar %g s", bar_s);
    printf("  bound %.2g s\n", gaps.other_s / gaps.cases);
}

static void bench_exact(uint32_t n, bool single, unsigned cases, double bar_s)
{
    double sum = 0, worst = 0;
    char what[64];

    for (uint32_t number = 0; number < cases; number++) {
        struct gaps gaps = { 0 };

        add_case(&gaps, n, number, single, true);
        sum += gaps.other_s;
        worst = fmax(worst, gaps.other_s);
    }
    snprintf(what, sizeof what, "proved optimum, n = %u", n);
    printf("%-40s %-6s %5u cases  mean %9.3g s  worst %9.3g s  bar %g s\n", what,
           single ? "single" : "duplex", cases, sum / cases, worst, bar_s);
}

/* --- given orders on a single port: linear programs ------------------------------- */

/* Random orders, independent for sending and returning. */
static void make_orders(uint32_t n, uint32_t number, uint32_t *send, uint32_t *back)
{
    struct cv_random random;

    cv_random_at(&random, 2011, number, n, 0);
    for (uint32_t i = 0; i < n; i++)
        send[i] = back[i] = i;
    for (uint32_t i = n; i-- > 1;) {
        const uint32_t a = (uint32_t)between(&random, 0, i + 1);
        const uint32_t b = (uint32_t)between(&random, 0, i + 1);
        const uint32_t sent = send[i], returned = back[i];

        send[i] = send[a];
        send[a] = sent;
        back[i] = back[b];
        back[b] = returned;
    }
}

/* Seconds of one case, the least of a few runs; *work is added to. With fixed costs
 * programs are solved for many sets of workers. */
static double given_s(uint32_t n, uint32_t number, bool fixed, double *work)
{
    enum { REPEATS = 5 };
    struct cv_trip *trips = malloc(n * sizeof *trips);
    uint32_t *orders = malloc((size_t)2 * n * sizeof *orders);
    const struct cv_returns returns = { trips, n, true, NULL };
    struct cv_round_trip found;
    struct cv_arena arena;
    struct cleave_error err;
    double min = INFINITY;

    if (trips == NULL || orders == NULL)
        exit(1);
    make_trips(trips, n, number, true);
    make_orders(n, number, orders, orders + n);
    for (uint32_t i = 0; i < n && fixed; i++) {
        trips[i].send_fixed_s = 0.01 / n;
        trips[i].compute_fixed_s = 0.1;
    }
    cv_arena_init(&arena);
    for (int r = 0; r < REPEATS; r++) {
        double begin;

        cv_arena_reset(&arena);
        begin = cpu_s();
        check(cv_returns_given(&returns, orders, orders + n, n, 1, &arena, &found, &err),
              &err);
        min = fmin(min, cpu_s() - begin);
    }
    *work += found.work;
    cv_arena_done(&arena);
    free(orders);
    free(trips);
    return min;
}

static void bench_given(uint32_t n, bool fixed, unsigned cases)
{
    double sum = 0, worst = 0, work = 0;
    char what[64];

    for (uint32_t number = 0; number < cases; number++) {
        const double min = given_s(n, number, fixed, &work);

        sum += min;
        worst = fmax(worst, min);
    }
    snprintf(what, sizeof what, "given orders%s, n = %u", fixed ? ", fixed costs" : "",
             n);
    printf("%-40s %-6s %5u cases  mean %9.3g s  worst %9.3g s  work %.15g\n", what,
           "single", cases, sum / cases, worst, work);
}

int main(int argc, char **argv)
{
    const bool all = argc > 1 && strcmp(argv[1], "--all") == 0;

    describe_machine();
    bench_given(6, false, 300);
    bench_given(30, false, 60);
    bench_given(100, false, 24);
    bench_given(400, false, 3);
    bench_given(10, true, 30);
    bench_given(40, true, 3);
    if (argc > 1 && strcmp(argv[1], "--given") == 0)
        return 0;
    bench_plain(1000000);
    for (unsigned single = 0; single < 2; single++) {
        bench_quality(single == 1, 1000);
        bench_exact(7, single == 1, 9, 10);
        if (all)
            bench_exact(8, single == 1, 3, 60);
        bench_bound(10, single == 1, 48, 0);
        bench_bound(30, single == 1, 24, 0);
        bench_bound(100, single == 1, 6, 2);
        bench_bound(400, single == 1, 3, 60);
    }
    return 0;
}
