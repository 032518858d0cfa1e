/* bench_learn.c -- policies without declared costs, compared with bounds.
 * SPDX-License-Identifier: MIT
 *
 * Five kinds of commands, start-ups from nothing to 5 s, loads from 0.1 s to an hour, 1 to
 * 64 workers, five ways in which speeds differ, files and streams, start-ups that vary,
 * commands that read a lot at once. The declared workers of a policy all look equal.
 * Printed is time / bound, mean and worst, over the cells whose bound is 10 ms or more,
 * and in how many cells it is more than 5 % worse than `learn` with chunks that are
 * closed at once.
 *
 *     bench_learn [POLICY[:KEY=VALUE]...]...       preset: learn
 *
 * BENCH_LEARN=quick takes an eighth of the grid or so; BENCH_LEARN=drawn start-ups, loads and
 * numbers of workers that are drawn, as many as are in the grid; BENCH_LEARN=other a grid of
 * others, on which no constant was chosen; BENCH_LEARN=cells, drawn-cells or other-cells prints every
 * cell as CSV instead. BENCH_SEED draws other start-ups where they vary, which each cell
 * has its own of. The policy `closed` is learn without open chunks. */
#include <string.h>

#include "base/random.h"
#include "engine/driver.h"
#include "learn_cells.h"
#include "policy/compound/registry.h"
#include "sim/load/native.h"
#include "sim/many/parallel.h"

enum { MOST_SETTINGS = 8, MOST_POLICIES = 16, MOST_CELLS = 20000 };

/* Shorter runs are skipped. */
static const double LEAST_S = 0.01;
static const double WORSE = 1.05;
/* Start-ups that vary: times e^-x to e^x. */
static const double SPREAD = 0.85;
/* As in real runs: the input of 10 ms is read at once, chunks take 5 % more or less time,
 * and policies get the time for which a command may pause. */
static const double GULP_S = 0.01, NOISE = 0.05, BURST_S = 0.02;
static const char CLOSED[] = "closed";

struct contender {
    const char *name;
    const struct cleave_policy *policy;
    struct cleave_setting settings[MOST_SETTINGS];
    size_t nsettings;
    double *ratios;  /* owned: by cell; NAN: below LEAST_S; INFINITY: it failed        */
    double *times_s; /* owned */
};

struct bench {
    uint64_t seed;
    struct cell *cells; /* owned */
    size_t ncells;
    struct contender contenders[MOST_POLICIES]; /* the first is `closed` */
    size_t ncontenders;
};

/* --- one cell --------------------------------------------------------------------------- */

/* The workers are declared without costs. */
static void declare(struct cleave_worker *workers, uint32_t n)
{
    for (uint32_t w = 0; w < n; w++)
        workers[w] = (struct cleave_worker){ .speed_ups = 1, .bandwidth_ups = INFINITY };
}

static enum cleave_status measure(const struct contender *contender,
                                  const struct cell *cell, uint64_t seed, double *out_s,
                                  struct cleave_error *err)
{
    struct cleave_platform *platform = platform_of(cell);
    struct cleave_worker declared[MOST_WORKERS];
    struct cv_command_model command;
    struct cv_run run = { .platform = platform,
                          .command = &command,
                          .units = BYTES * cell->load_s,
                          .hold = hold_of(cell),
                          .noise = { .seed = seed } };
    const struct cleave_view load = { .units_total = run.hold > 0 ? INFINITY : run.units,
                                      .real = true,
                                      .opens = contender->name != CLOSED,
                                      .ahead = ahead_of(cell),
                                      .hold = run.hold,
                                      .unequal = 30,
                                      .burst_s = cell->input == REAL ? BURST_S : 0,
                                      .varies = cell->input == REAL ? NOISE : 0,
                                      .seed = 1 };
    struct cv_driver *driver = NULL;
    struct cv_planned planned;
    struct cv_outcome outcome;
    enum cleave_status status;

    check(cv_command_find(kind_names[cell->kind], &command, err), err);
    command.pipe_ups = PIPE * BYTES;
    command.ahead = load.ahead;
    command.record = RECORD;
    command.start_spread = cell->input == NOISY ? SPREAD : 0;
    if (cell->input == REAL) {
        command.gulp_s = GULP_S;
        run.noise.drawn = (struct cleave_noise){ CLEAVE_NOISE_GAMMA, NOISE };
    }
    declare(declared, cell->workers);
    check(cv_planned_init(&planned, contender->policy, contender->settings,
                          contender->nsettings, platform, declared, &load, NULL, NULL,
                          err),
          err);
    check(cv_driver_open(&planned, &cv_engine_native_open, platform, NULL, &driver, err),
          err);
    status = cv_driver_run(driver, &run, NULL, &outcome, err);
    if (status == CLEAVE_OK)
        *out_s = outcome.makespan_s;
    cv_driver_close(driver);
    cv_planned_done(&planned);
    cleave_platform_free(platform);
    return status;
}

/* Each cell has a separate draw, equal for all policies: with one draw for all cells the
 * first start of the first worker decides most of the mean. */
static uint64_t seed_of(const struct bench *bench, size_t cell)
{
    return bench->seed * MOST_CELLS + cell;
}

static enum cleave_status some_cells(void *context, unsigned thread, uint64_t begin,
                                     uint64_t end, struct cleave_error *err)
{
    struct bench *bench = context;

    (void)thread;
    for (uint64_t i = begin; i < end; i++) {
        const struct cell *cell = &bench->cells[i % bench->ncells];
        struct contender *contender = &bench->contenders[i / bench->ncells];
        const double bound_s = bound_of(cell);
        double took_s = INFINITY;

        contender->ratios[i % bench->ncells] = NAN;
        if (bound_s < LEAST_S)
            continue;
        if (measure(contender, cell, seed_of(bench, i % bench->ncells), &took_s, err) !=
            CLEAVE_OK)
            fprintf(stderr, "bench: %s: %s, %s, %s, l=%g, W=%g, %u workers: %s\n",
                    contender->name, kind_names[cell->kind], input_names[cell->input],
                    speed_names[cell->speeds], cell->latency_s, cell->load_s,
                    cell->workers, err->text);
        contender->times_s[i % bench->ncells] = took_s;
        contender->ratios[i % bench->ncells] = took_s / bound_s;
    }
    return CLEAVE_OK;
}

/* --- tables ----------------------------------------------------------------------------- */

/* Mean and worst over the cells of a kind, an input and speeds, each -1 for all. */
static void add_figures(const struct bench *bench, const struct contender *contender,
                        int kind, int input, int speeds)
{
    double sum = 0, worst = 0;
    size_t count = 0;

    for (size_t i = 0; i < bench->ncells; i++) {
        const struct cell *cell = &bench->cells[i];
        const double ratio = contender->ratios[i];

        if (isnan(ratio) || cell->input != input || (kind >= 0 && cell->kind != kind) ||
            (speeds >= 0 && cell->speeds != speeds))
            continue;
        sum += ratio;
        worst = fmax(worst, ratio);
        count++;
    }
    printf("  %5.2f /%6.2f", count > 0 ? sum / (double)count : 0, worst);
}

static void print_table(const struct bench *bench, int input, int speeds)
{
    printf("\n%s, %s\n%-16s", input_names[input],
           speeds < 0 ? "all speeds" : speed_names[speeds], "mean / worst");
    for (int k = 0; k < KINDS; k++)
        printf("  %13s", kind_names[k]);
    printf("  %13s\n", "all");
    for (size_t c = 0; c < bench->ncontenders; c++) {
        printf("%-16s", bench->contenders[c].name);
        for (int k = 0; k < KINDS; k++)
            add_figures(bench, &bench->contenders[c], k, input, speeds);
        add_figures(bench, &bench->contenders[c], -1, input, speeds);
        printf("\n");
    }
}

static void count_worse(const struct bench *bench, const struct contender *contender,
                        int input)
{
    const struct contender *closed = &bench->contenders[0];

    printf("%-16s  %-20s", contender->name, input_names[input]);
    for (int k = 0; k < KINDS; k++) {
        size_t worse = 0, all = 0;
        double max = 1;

        for (size_t i = 0; i < bench->ncells; i++) {
            const double times = contender->ratios[i] / closed->ratios[i];

            if (isnan(times) || bench->cells[i].kind != k ||
                bench->cells[i].input != input)
                continue;
            all++;
            worse += times > WORSE;
            max = fmax(max, times);
        }
        printf("  %3zu of %-3zu %5.2f", worse, all, max);
    }
    printf("\n");
}

static void print_tables(const struct bench *bench)
{
    for (int input = 0; input < INPUTS; input++)
        for (int speeds = -1; speeds < (input == A_FILE ? SPEEDS : 0); speeds++)
            print_table(bench, input, speeds);
    printf("\ncells more than 5 %% worse than closed chunks, and the most times as long\n"
           "%-38s",
           "");
    for (int k = 0; k < KINDS; k++)
        printf("  %16s", kind_names[k]);
    printf("\n");
    for (size_t c = 1; c < bench->ncontenders; c++)
        for (int input = 0; input < INPUTS; input++)
            count_worse(bench, &bench->contenders[c], input);
}

static void print_cells(const struct bench *bench)
{
    printf("policy,kind,input,speeds,latency_s,load_s,workers,time_s,ratio,of_closed\n");
    for (size_t c = 0; c < bench->ncontenders; c++)
        for (size_t i = 0; i < bench->ncells; i++) {
            const struct cell *cell = &bench->cells[i];
            const struct contender *contender = &bench->contenders[c];

            if (!isnan(contender->ratios[i]))
                printf("%s,%s,\"%s\",%s,%g,%g,%u,%.6g,%.4f,%.4f\n", contender->name,
                       kind_names[cell->kind], input_names[cell->input],
                       speed_names[cell->speeds], cell->latency_s, cell->load_s,
                       cell->workers, contender->times_s[i], contender->ratios[i],
                       contender->ratios[i] / bench->contenders[0].ratios[i]);
        }
}

/* --- the grid --------------------------------------------------------------------------- */

static void add_cells(struct bench *bench, double latency_s, double load_s,
                      uint32_t workers)
{
    for (int kind = 0; kind < KINDS; kind++)
        for (int input = 0; input < INPUTS; input++)
            for (int speeds = 0; speeds < SPEEDS; speeds++)
                bench->cells[bench->ncells++] =
                    (struct cell){ kind, input, speeds, latency_s, load_s, workers };
}

enum { LATENCIES = 6, LOADS = 5, NUMBERS = 5 };

struct grid {
    double latencies_s[LATENCIES], loads_s[LOADS];
    uint32_t workers[NUMBERS];
};

/* The grid of the notes, and one between. */
static const struct grid usual = { { 0, 0.001, 0.03, 0.3, 1, 5 },
                                   { 0.1, 1, 10, 100, 3600 },
                                   { 1, 2, 4, 16, 64 } };
static const struct grid other = { { 0, 0.003, 0.02, 0.15, 0.6, 2.5 },
                                   { 0.3, 2, 25, 200, 1500 },
                                   { 1, 3, 6, 12, 24 } };

static void make_grid(struct bench *bench, const struct grid *grid, bool quick)
{
    bench->cells = calloc(MOST_CELLS, sizeof *bench->cells);
    if (bench->cells == NULL)
        exit(1);
    for (size_t l = 0; l < LATENCIES; l++)
        for (size_t w = 0; w < LOADS; w++)
            for (size_t n = 0; n < NUMBERS; n++)
                if (!quick || (l % 2 == 0 && w % 2 == 1 && n % 2 == 1))
                    add_cells(bench, grid->latencies_s[l], grid->loads_s[w],
                              grid->workers[n]);
}

/* As many, anywhere between: what holds for the grid alone was made for it. */
static void draw_cells(struct bench *bench)
{
    enum { DRAWN = 150 };
    struct cv_random random;

    bench->cells = calloc(MOST_CELLS, sizeof *bench->cells);
    if (bench->cells == NULL)
        exit(1);
    for (uint32_t i = 0; i < DRAWN; i++) {
        double latency_s, load_s;

        cv_random_at(&random, 1, i, 0, 0);
        latency_s = 1e-4 * pow(1e5, cv_random_uniform(&random));
        load_s = 0.1 * pow(36000, cv_random_uniform(&random));
        add_cells(bench, latency_s, load_s,
                  (uint32_t)(2 * pow(32, cv_random_uniform(&random))));
    }
}

/* "learn:growth=3:parts=4"; the text is cut into pieces. */
static void add_contender(struct bench *bench, char *text)
{
    struct contender *contender = &bench->contenders[bench->ncontenders++];
    struct cleave_error err;
    char *rest = text, *word = strsep(&rest, ":");

    if (word == NULL) /* there is always one */
        return;
    contender->name = strcmp(word, CLOSED) == 0 ? CLOSED : word;
    check(cv_policy_choose(&(struct cv_policy_request){ .task = CLEAVE_TASK_LOAD,
                                                        .name = contender->name == CLOSED
                                                                    ? "learn"
                                                                    : word },
                           &contender->policy, &err),
          &err);
    while ((word = strsep(&rest, ":")) != NULL && contender->nsettings < MOST_SETTINGS) {
        struct cleave_setting *setting = &contender->settings[contender->nsettings++];

        setting->key = strsep(&word, "=");
        setting->value = word != NULL ? word : "";
    }
    contender->ratios = calloc(bench->ncells, sizeof *contender->ratios);
    contender->times_s = calloc(bench->ncells, sizeof *contender->times_s);
    if (contender->ratios == NULL || contender->times_s == NULL)
        exit(1);
}

int main(int argc, char **argv)
{
    static struct bench bench;
    static char closed[] = "closed", learn[] = "learn";
    const char *request = getenv("BENCH_LEARN"), *how = request != NULL ? request : "";
    const char *seed = getenv("BENCH_SEED");
    const double begin_s = now_s();
    struct cv_parallel loop = { .block = 8, .body = some_cells, .context = &bench };
    struct cleave_error err;

    if (argc > MOST_POLICIES - 1)
        return 2;
    bench.seed = seed != NULL ? strtoull(seed, NULL, 10) : 1;
    if (strncmp(how, "drawn", 5) == 0)
        draw_cells(&bench);
    else
        make_grid(&bench, strncmp(how, "other", 5) == 0 ? &other : &usual,
                  strcmp(how, "quick") == 0);
    add_contender(&bench, closed);
    for (int i = 1; i < argc; i++)
        add_contender(&bench, argv[i]);
    if (argc == 1)
        add_contender(&bench, learn);
    loop.count = bench.ncontenders * bench.ncells;
    check(cv_parallel_run(&loop, &err), &err);
    if (strstr(how, "cells") != NULL) {
        print_cells(&bench);
    } else {
        describe_machine();
        print_tables(&bench);
        printf("\n%zu cells, %.1f s\n", bench.ncells, now_s() - begin_s);
    }
    for (size_t c = 0; c < bench.ncontenders; c++) {
        free(bench.contenders[c].ratios);
        free(bench.contenders[c].times_s);
    }
    free(bench.cells);
    return 0;
}
