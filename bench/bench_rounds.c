/* bench_rounds.c -- several rounds with results: how good, and how fast, plans and bounds are.
 * SPDX-License-Identifier: MIT
 *
 * The grid: 10 workers of mean speed 1 and bandwidth 20, 2000 units, port one and duplex,
 * latencies of 0.1 and 1 s, ratios 0.25, 0.5 and 1, heterogeneity 1 and 4, seeds 1 to 8: 192
 * settings. For each: the fast and the thorough plan over the bound, and the fast one
 * over the best other policy with results that come back as they get ready. Then times:
 * CPU time of one core.
 *
 * --auto: the makespan of auto, on the grid and on 50 settings drawn at random (3 to 30
 * workers that differ by up to 30, latencies of 0.01 to 3 s, ratios 0.1 to 1.25, links
 * from ten times the needed width to half of it), over the best policy with messages in
 * turn, as in 0.1, and over the bound. Searches for orders of results take part in that
 * up to 12 workers.
 *
 * usage: bench_rounds [--policies (minutes more) | --auto (minutes) | --times] */
#include <math.h>
#include <string.h>

#include "base/random.h"
#include "bench_tools.h"
#include "model/bounds/load_bounds.h"
#include "model/platform/generate.h"
#include "model/rounds/rounds.h"

enum { SEEDS = 8, EXTRA = 50, ORDERS_MOST = 12, GRID = 192 };

static double cpu_s(void)
{
    struct timespec time;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

struct setting {
    enum cleave_port port;
    double latency, ratio, heterogeneity, load;
    uint64_t seed;
    uint32_t workers;
    double width; /* bandwidth over all speeds; 0: 2 */
};

/* Mean and worst of something. */
struct tally {
    double sum, worst;
    unsigned count;
};

static void add(struct tally *tally, double value)
{
    if (tally->count == 0 || value > tally->worst)
        tally->worst = value;
    tally->sum += value;
    tally->count++;
}

/* Setting number i of the grid: 16 after each other differ in workers only. */
static struct setting grid_setting(int i)
{
    static const double ratios[] = { 0.25, 0.5, 1 };
    const int kind = i / (2 * SEEDS);

    return (struct setting){
        .port = kind < 6 ? CLEAVE_PORT_ONE : CLEAVE_PORT_DUPLEX,
        .latency = kind % 6 < 3 ? 0.1 : 1,
        .ratio = ratios[kind % 3],
        .heterogeneity = i / SEEDS % 2 == 0 ? 1 : 4,
        .load = 2000,
        .seed = (uint64_t)(i % SEEDS) + 1,
        .workers = 10,
    };
}

static struct cleave_platform *build(const struct setting *setting)
{
    struct cv_generate wanted;
    struct cleave_platform *platform = NULL;
    struct cleave_error err;

    cv_generate_preset(&wanted);
    wanted.workers = setting->workers;
    wanted.bandwidth = (setting->width > 0 ? setting->width : 2) * setting->workers;
    wanted.heterogeneity = setting->heterogeneity;
    wanted.seed = setting->seed;
    wanted.compute_latency = wanted.latency = setting->latency;
    wanted.port = setting->port;
    check(cv_generate_platform(&wanted, &platform, &err), &err);
    return platform;
}

static struct cv_rounds instance(const struct setting *setting,
                                 const struct cleave_platform *platform,
                                 struct cv_arena *arena)
{
    return (struct cv_rounds){
        { cv_trips(cleave_platform_workers(platform), setting->workers, setting->ratio, 0,
                   arena),
          setting->workers, setting->port == CLEAVE_PORT_ONE, NULL },
        setting->load,
        NULL,
    };
}

static double plan(const struct cv_rounds *rounds, enum cv_rounds_effort effort,
                   double *out_cpu_s)
{
    struct cv_arena arena;
    struct cv_rounds_plan found;
    struct cleave_error err;
    const double begin_s = cpu_s();

    cv_arena_init(&arena);
    check(cv_rounds_best(rounds, effort, 1, &arena, &found, &err), &err);
    cv_arena_done(&arena);
    *out_cpu_s = cpu_s() - begin_s;
    return found.makespan_s;
}

/* The best bound that is printed. */
static double bound(const struct setting *setting, const struct cleave_platform *platform,
                    double *out_cpu_s)
{
    const struct cv_bound_query query = { .workers = cleave_platform_workers(platform),
                                          .nworkers = setting->workers,
                                          .port = setting->port,
                                          .load = setting->load,
                                          .result_ratio = setting->ratio };
    struct cleave_bound bounds[CV_MAX_BOUNDS];
    struct cv_arena arena;
    size_t tightest = 0;
    const double begin_s = cpu_s();

    cv_arena_init(&arena);
    if (cv_load_bounds(&query, &arena, bounds, &tightest) == 0)
        exit(1);
    cv_arena_done(&arena);
    *out_cpu_s = cpu_s() - begin_s;
    return bounds[tightest].value_s;
}

/* The best of all other policies, those aside that choose among others. */
static double best_policy(const struct setting *setting,
                          const struct cleave_platform *platform, const char **out_name)
{
    double best_s = INFINITY;

    for (size_t i = 0; i < cleave_policy_count(); i++) {
        const struct cleave_policy *policy = cleave_policy_at(i);
        struct cleave_job job = { .platform = platform,
                                  .load = setting->load,
                                  .result_ratio = setting->ratio,
                                  .in_turn = true,
                                  .own_policy = policy,
                                  .seed = 1 };
        struct cleave_schedule *schedule;

        if (policy->task != CLEAVE_TASK_LOAD || strncmp(policy->name, "rounds", 6) == 0 ||
            strcmp(policy->name, "auto") == 0)
            continue;
        if (setting->workers > ORDERS_MOST && policy->orders_returns && policy->one_round)
            continue; /* minutes */
        if (cleave_plan_load(&job, &schedule, NULL) != CLEAVE_OK)
            continue;
        if (schedule->makespan_s < best_s) {
            best_s = schedule->makespan_s;
            *out_name = policy->name;
        }
        cleave_schedule_free(schedule);
    }
    return best_s;
}

enum { FAST, THOROUGH, AGAINST, BOUND_CPU, FAST_CPU, THOROUGH_CPU, FIGURES };

static void measure(const struct setting *setting, bool policies,
                    struct tally tallies[FIGURES])
{
    struct cleave_platform *platform = build(setting);
    struct cv_arena arena;
    struct cv_rounds rounds;
    double fast_s, thorough_s, bound_s, best_s, cpu;
    const char *name = "";

    cv_arena_init(&arena);
    rounds = instance(setting, platform, &arena);
    fast_s = plan(&rounds, CV_ROUNDS_FAST, &cpu);
    add(&tallies[FAST_CPU], cpu);
    thorough_s = plan(&rounds, CV_ROUNDS_THOROUGH, &cpu);
    add(&tallies[THOROUGH_CPU], cpu);
    bound_s = bound(setting, platform, &cpu);
    add(&tallies[BOUND_CPU], cpu);
    add(&tallies[FAST], fast_s / bound_s - 1);
    add(&tallies[THOROUGH], thorough_s / bound_s - 1);
    if (policies) {
        best_s = best_policy(setting, platform, &name);
        add(&tallies[AGAINST], fast_s / best_s);
    }
    cv_arena_done(&arena);
    cleave_platform_free(platform);
}

static void print(const char *name, const struct tally tallies[FIGURES])
{
    printf("%s", name);
    for (int i = 0; i < FIGURES; i++)
        printf(",%.4f,%.4f",
               tallies[i].count > 0 ? tallies[i].sum / tallies[i].count : NAN,
               tallies[i].count > 0 ? tallies[i].worst : NAN);
    printf("\n");
    fflush(stdout);
}

/* --- auto ------------------------------------------------------------------------------- */

enum { AUTO_AGAINST, ROUNDS_AGAINST, AUTO_BOUND, AUTO_CPU, AUTO_FIGURES };

static void measure_auto(const struct setting *setting, struct tally tallies[])
{
    struct cleave_platform *platform = build(setting);
    const struct cleave_job job = { .platform = platform,
                                    .load = setting->load,
                                    .result_ratio = setting->ratio,
                                    .policy = "auto",
                                    .seed = 1 };
    struct cleave_schedule *schedule;
    struct cleave_error err;
    struct cv_arena arena;
    struct cv_rounds rounds;
    const char *name = "";
    double begin_s = cpu_s(), auto_s, best_s, ignored;

    check(cleave_plan_load(&job, &schedule, &err), &err);
    add(&tallies[AUTO_CPU], cpu_s() - begin_s);
    auto_s = schedule->makespan_s;
    add(&tallies[AUTO_BOUND], auto_s / schedule->bound.value_s - 1);
    cleave_schedule_free(schedule);
    cv_arena_init(&arena);
    rounds = instance(setting, platform, &arena);
    best_s = best_policy(setting, platform, &name);
    add(&tallies[ROUNDS_AGAINST], plan(&rounds, CV_ROUNDS_FAST, &ignored) / best_s);
    add(&tallies[AUTO_AGAINST], auto_s / best_s);
    if (auto_s > best_s)
        printf("# %u workers, %s, seed %llu: auto %.6g s, %s %.6g s\n", setting->workers,
               cleave_port_name(setting->port), (unsigned long long)setting->seed, auto_s,
               name, best_s);
    cv_arena_done(&arena);
    cleave_platform_free(platform);
}

static void print_auto(const char *name, const struct tally tallies[])
{
    printf("%s,%u", name, tallies[0].count);
    for (int i = 0; i < AUTO_FIGURES; i++)
        printf(",%.4f,%.4f", tallies[i].sum / tallies[i].count, tallies[i].worst);
    printf("\n");
    fflush(stdout);
}

static double scale(struct cv_random *random, double low, double high)
{
    return low * pow(high / low, cv_random_uniform(random));
}

/* 17, 8, 9 and 16 settings of 3, 5, 10 and 30 workers. */
static struct setting draw_extra(int number)
{
    struct cv_random random;
    struct setting setting = { .workers = number < 17   ? 3
                                          : number < 25 ? 5
                                          : number < 34 ? 10
                                                        : 30,
                               .seed = (uint64_t)number + 1 };

    cv_random_at(&random, 21, (uint32_t)number, 0, 0);
    setting.port =
        cv_random_uniform(&random) < 0.5 ? CLEAVE_PORT_ONE : CLEAVE_PORT_DUPLEX;
    setting.heterogeneity = scale(&random, 1.5, 30);
    setting.latency = scale(&random, 0.01, 3);
    setting.ratio = scale(&random, 0.1, 1.25);
    setting.width = 1 / scale(&random, 0.1, 2);
    setting.load = setting.workers * scale(&random, 20, 500);
    return setting;
}

static void bench_auto(void)
{
    struct tally all[AUTO_FIGURES] = { { 0 } }, extra[AUTO_FIGURES] = { { 0 } };

    printf(
        "settings,count,auto / best policy of 0.1,worst,rounds / best policy,worst,auto "
        "over bound,worst,auto s,worst\n");
    for (int number = 0; number < EXTRA; number++) {
        const struct setting setting = draw_extra(number);

        measure_auto(&setting, extra);
    }
    print_auto("extra", extra);
    for (int i = 0; i < GRID; i++) {
        const struct setting setting = grid_setting(i);

        measure_auto(&setting, all);
        if (i % (2 * SEEDS) == 2 * SEEDS - 1)
            print_auto("grid so far", all);
    }
    print_auto("grid", all);
}

static void grid(bool policies)
{
    struct tally all[FIGURES] = { { 0 } };

    printf("setting,fast over bound,worst,thorough over bound,worst,fast / best policy,"
           "worst,bound s,worst,fast s,worst,thorough s,worst\n");
    for (int first = 0; first < GRID; first += 2 * SEEDS) {
        const struct setting setting = grid_setting(first);
        struct tally some[FIGURES] = { { 0 } };
        char name[64];

        for (int i = first; i < first + 2 * SEEDS; i++) {
            const struct setting one = grid_setting(i);

            measure(&one, policies, some);
        }
        snprintf(name, sizeof name, "%s lat %g ratio %g", cleave_port_name(setting.port),
                 setting.latency, setting.ratio);
        print(name, some);
        for (int i = 0; i < FIGURES; i++) {
            if (some[i].count == 0)
                continue;
            all[i].sum += some[i].sum;
            all[i].count += some[i].count;
            all[i].worst = fmax(all[i].worst, some[i].worst);
        }
    }
    print("all", all);
}

static void times(void)
{
    static const uint32_t sizes[] = { 3, 10, 30, 100, 300, 1000 };

    printf("workers,port,fast s,bound s\n");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int port = CLEAVE_PORT_ONE; port <= CLEAVE_PORT_DUPLEX; port++) {
            const struct setting setting = { .port = (enum cleave_port)port,
                                             .latency = 0.1,
                                             .ratio = 0.5,
                                             .heterogeneity = 4,
                                             .load = 200.0 * sizes[i],
                                             .seed = 1,
                                             .workers = sizes[i] };
            struct cleave_platform *platform = build(&setting);
            struct cv_arena arena;
            struct cv_rounds rounds;
            double fast_cpu_s, bound_cpu_s;

            cv_arena_init(&arena);
            rounds = instance(&setting, platform, &arena);
            (void)plan(&rounds, CV_ROUNDS_FAST, &fast_cpu_s);
            (void)bound(&setting, platform, &bound_cpu_s);
            printf("%u,%s,%.5f,%.5f\n", sizes[i],
                   cleave_port_name((enum cleave_port)port), fast_cpu_s, bound_cpu_s);
            fflush(stdout);
            cv_arena_done(&arena);
            cleave_platform_free(platform);
        }
}

int main(int argc, char **argv)
{
    describe_machine();
    if (argc > 1 && strcmp(argv[1], "--auto") == 0) {
        bench_auto();
        return 0;
    }
    times();
    if (argc < 2 || strcmp(argv[1], "--times") != 0)
        grid(argc > 1 && strcmp(argv[1], "--policies") == 0);
    return 0;
}
