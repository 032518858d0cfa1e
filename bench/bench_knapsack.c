/* bench_knapsack.c -- how fast, and how well, streams' machines are selected.
 * SPDX-License-Identifier: MIT
 *
 * Each line: the instance, the CPU time of a solve (least and median over the repeats,
 * without the first one), profit, upper bound, the gap between them and whether the
 * optimum is proved. For random instances, the result of CBC after some seconds on the
 * usual formulation (how many items of a class go into a bin) is printed too, if the
 * program `cbc` is installed.
 *
 * usage: bench_knapsack [SECONDS for CBC, default 60; 0: leave it out] */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/random.h"
#include "bench_tools.h"
#include "select/knapsack/knapsack.h"

enum { REPEATS = 5, TABLE = 10 };

static double cpu_s(void)
{
    struct timespec time;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Returns the profit. */
static double solve_line(const char *what, const struct cv_knapsack *problem, double bar)
{
    struct cv_knapsack_answer answer;
    struct cleave_error err;
    struct cv_arena arena;
    double times[REPEATS] = { 0 };

    cv_arena_init(&arena);
    for (int r = -1; r < REPEATS; r++) {
        double begin;

        cv_arena_reset(&arena);
        begin = cpu_s();
        check(cv_knapsack_solve(problem, 0, &arena, &answer, &err), &err);
        if (r >= 0)
            times[r] = cpu_s() - begin;
    }
    qsort(times, REPEATS, sizeof *times, ascending);
    printf("%-34s %9.3f %9.3f ms  bar %6.0f ms  %14.3f %14.3f  gap %7.1e%s\n", what,
           1e3 * times[0], 1e3 * times[REPEATS / 2], 1e3 * bar, answer.profit,
           answer.upper_bound,
           (answer.upper_bound - answer.profit) / fmax(answer.upper_bound, 1e-300),
           answer.optimal ? "  optimum" : "");
    fflush(stdout);
    cv_arena_done(&arena);
    return answer.profit;
}

/* --- the table of the streams paper ------------------------------------------------- */

/* Speed, compute latency, bandwidth and latency (the same both ways) of its ten sets. */
static const double table[TABLE][4] = {
    { 1e0, 1e-2, 1e6, 1e-2 }, { 1e2, 1e-1, 1e7, 1e-3 }, { 1e1, 1e-3, 1e8, 1.5e-2 },
    { 1e3, 1e-2, 1e9, 1e-2 }, { 1e0, 1e-3, 1e6, 1e-2 }, { 1e2, 1e-1, 1e7, 1e-3 },
    { 1e1, 1e-4, 1e8, 1e-2 }, { 1e3, 1e-2, 1e9, 1e-2 }, { 1e0, 1e-3, 1e6, 1e-3 },
    { 1e2, 1e-2, 1e7, 1e-2 },
};

/* Classes for rounds of `period` seconds, results as large as the data, halves of equal
 * size: weights are either the port times of each (own) or the largest for all (ring).
 * Returns the capacity. */
static double table_classes(double period, uint32_t workers, bool own,
                            struct cv_item_class *classes)
{
    double longest = 0, max = 0, min = INFINITY;

    for (uint32_t k = 0; k < TABLE; k++) {
        const double *set = table[k];
        const double load = set[0] * (period - 2 * set[1]);
        const double half = set[3] + 0.5 * load / set[2];

        classes[k] = (struct cv_item_class){ 2 * half, (1 - 2 * set[1] / period) * set[0],
                                             workers / TABLE };
        longest = fmax(longest, 2 * half);
        max = fmax(max, half);
        min = fmin(min, half);
    }
    for (uint32_t k = 0; k < TABLE && !own; k++)
        classes[k].weight = longest;
    return own ? period - (max - min) : period;
}

static void bench_table(uint32_t workers, double period, uint32_t streams, bool own,
                        double bar)
{
    struct cv_item_class classes[TABLE];
    struct cv_knapsack problem = { classes, TABLE, streams, 0 };
    char what[64];

    problem.capacity = table_classes(period, workers, own, classes);
    snprintf(what, sizeof what, "table, %s, %u x %u, period %g", own ? "own" : "ring",
             (unsigned)workers, (unsigned)streams, period);
    solve_line(what, &problem, bar);
}

/* --- random instances, with CBC beside ------------------------------------------------ */

static bool have_cbc(void)
{
    return system("command -v cbc >/dev/null 2>&1") == 0; /* NOLINT(cert-env33-c) */
}

static void write_program(FILE *file, const struct cv_knapsack *problem)
{
    fprintf(file, "Maximize\n obj:");
    for (uint32_t c = 0; c < problem->nclasses; c++)
        for (uint32_t b = 0; b < problem->nbins; b++)
            fprintf(file, " + %.17g x%u_%u\n", problem->classes[c].profit, (unsigned)c,
                    (unsigned)b);
    fprintf(file, "Subject To\n");
    for (uint32_t c = 0; c < problem->nclasses; c++) {
        fprintf(file, " c%u:", (unsigned)c);
        for (uint32_t b = 0; b < problem->nbins; b++)
            fprintf(file, " + x%u_%u\n", (unsigned)c, (unsigned)b);
        fprintf(file, " <= %u\n", (unsigned)problem->classes[c].count);
    }
    for (uint32_t b = 0; b < problem->nbins; b++) {
        fprintf(file, " b%u:", (unsigned)b);
        for (uint32_t c = 0; c < problem->nclasses; c++)
            fprintf(file, " + %.17g x%u_%u\n", problem->classes[c].weight, (unsigned)c,
                    (unsigned)b);
        fprintf(file, " <= %.17g\n", problem->capacity);
    }
    fprintf(file, "General\n");
    for (uint32_t c = 0; c < problem->nclasses; c++)
        for (uint32_t b = 0; b < problem->nbins; b++)
            fprintf(file, " x%u_%u\n", (unsigned)c, (unsigned)b);
    fprintf(file, "End\n");
}

/* Run CBC on the program in a file and print its result. */
static void run_cbc(const char *path, unsigned seconds, double ours)
{
    char command[256], line[256];
    double value = NAN, bound = NAN;
    FILE *output;

    snprintf(command, sizeof command, "cbc %s sec %u ratio 0 allow 0 solve 2>&1", path,
             seconds);
    output = popen(command, "r"); /* NOLINT(cert-env33-c) */
    if (output == NULL)
        return;
    while (fgets(line, sizeof line, output) != NULL) {
        const char *colon = strchr(line, ':');

        if (colon != NULL && strncmp(line, "Objective value", 15) == 0)
            value = fabs(strtod(colon + 1, NULL));
        if (colon != NULL && strncmp(line, "Upper bound", 11) == 0)
            bound = strtod(colon + 1, NULL);
    }
    pclose(output);
    printf("%-34s %23u ms %21.3f %14.3f  ours is %+.1e better\n", "    cbc",
           1000 * seconds, value, isnan(bound) ? value : bound, (ours - value) / value);
    fflush(stdout);
}

static void bench_random(bool correlated, uint32_t streams, unsigned seconds)
{
    struct cv_item_class classes[TABLE];
    struct cv_knapsack problem = { classes, TABLE, streams, 0 };
    char what[64], path[] = "/tmp/bench_knapsack.XXXXXX.lp";
    struct cv_random random;
    double total = 0, profit;
    int number;
    FILE *file;

    cv_random_at(&random, 1, streams, correlated, 0);
    for (uint32_t k = 0; k < TABLE; k++) {
        classes[k].weight = 0.002 + 0.028 * cv_random_uniform(&random);
        classes[k].profit = pow(10, 3 * cv_random_uniform(&random));
        if (correlated)
            classes[k].profit =
                classes[k].weight * (80 + 40 * cv_random_uniform(&random));
        classes[k].count = 100;
        total += 100 * classes[k].weight;
    }
    problem.capacity = 0.5 * total / streams;
    snprintf(what, sizeof what, "random%s, 1000 x %u", correlated ? ", correlated" : "",
             (unsigned)streams);
    profit = solve_line(what, &problem, 1);
    if (seconds == 0)
        return;
    number = mkstemps(path, 3);
    file = number < 0 ? NULL : fdopen(number, "w");
    if (file == NULL)
        return;
    write_program(file, &problem);
    fclose(file);
    run_cbc(path, seconds, profit);
    remove(path);
}

/* Every machine different. */
static void bench_different(uint32_t workers, uint32_t streams)
{
    struct cv_item_class *classes = malloc(workers * sizeof *classes);
    struct cv_knapsack problem = { classes, workers, streams, 0 };
    struct cv_random random;
    double total = 0;
    char what[64];

    if (classes == NULL)
        exit(1);
    cv_random_at(&random, 2, workers, streams, 0);
    for (uint32_t i = 0; i < workers; i++) {
        classes[i].weight = 0.002 + 0.028 * cv_random_uniform(&random);
        classes[i].profit = pow(10, 3 * cv_random_uniform(&random));
        classes[i].count = 1;
        total += classes[i].weight;
    }
    problem.capacity = 0.5 * total / streams;
    snprintf(what, sizeof what, "all different, %u x %u", (unsigned)workers,
             (unsigned)streams);
    solve_line(what, &problem, 5);
    free(classes);
}

int main(int argc, char **argv)
{
    static const uint32_t streams[] = { 10, 50, 100 };
    unsigned seconds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 60;

    describe_machine();
    if (seconds > 0 && !have_cbc()) {
        printf("cbc is not installed: nothing to compare with (Debian: coinor-cbc)\n");
        seconds = 0;
    }
    printf("%-34s %9s %9s\n", "machines x streams", "least", "median");
    for (int own = 0; own < 2; own++) {
        bench_table(1000, 1, 10, own, own ? 1 : 0.1);
        bench_table(1000, 0.3, 100, own, 0.1);
        bench_table(10000, 1, 100, own, 1);
        bench_table(100000, 10, 100, own, 5);
        bench_table(100000, 1, 1000, own, 5);
    }
    for (int correlated = 0; correlated < 2; correlated++)
        for (size_t i = 0; i < sizeof streams / sizeof *streams; i++)
            bench_random(correlated, streams[i], seconds);
    bench_different(1000, 10);
    bench_different(1000, 100);
    bench_different(100000, 100);
    return 0;
}
