/* bench_rounds.c -- several rounds with results: how good, and how fast, plans and bounds are.
 * SPDX-License-Identifier: MIT
 *
 * The grid: 10 workers of mean speed 1 and bandwidth 20, 2000 units, port one and duplex,
 * latencies of 0.1 and 1 s, ratios 0.25, 0.5 and 1, heterogeneity 1 and 4, seeds 1 to 8: 192
 * settings. Of each: the fast and the thorough plan over the bound, and the fast one over the
 * best other policy with results that come back as they get ready. Then times: CPU time of one
 * core.
 *
 * usage: bench_rounds [--policies (minutes more) | --times] */
#include <math.h>
#include <string.h>

#include "bench_tools.h"
#include "model/bounds/load_bounds.h"
#include "model/platform/generate.h"
#include "model/rounds/rounds.h"
#include "model/rounds/rounds_bound.h"

enum { SEEDS = 8 };

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

static struct cleave_platform *build(const struct setting *setting)
{
    struct cv_generate wanted;
    struct cleave_platform *platform = NULL;
    struct cleave_error err;

    cv_generate_preset(&wanted);
    wanted.workers = setting->workers;
    wanted.bandwidth = 2 * setting->workers;
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
    check(cv_rounds_best(rounds, effort, 1, &arena, &found, NULL, &err), &err);
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
            strcmp(policy->name, "auto") == 0 || strcmp(policy->name, "portfolio") == 0)
            continue;
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

static void grid(bool policies)
{
    static const double latencies[] = { 0.1, 1 }, ratios[] = { 0.25, 0.5, 1 },
                        heterogeneities[] = { 1, 4 };
    struct tally all[FIGURES] = { { 0 } };

    printf("setting,fast over bound,worst,thorough over bound,worst,fast / best policy,"
           "worst,bound s,worst,fast s,worst,thorough s,worst\n");
    for (int port = CLEAVE_PORT_ONE; port <= CLEAVE_PORT_DUPLEX; port++)
        for (int l = 0; l < 2; l++)
            for (int r = 0; r < 3; r++) {
                struct tally some[FIGURES] = { { 0 } };
                char name[64];

                for (int h = 0; h < 2; h++)
                    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
                        const struct setting setting = {
                            (enum cleave_port)port,
                            latencies[l],
                            ratios[r],
                            heterogeneities[h],
                            2000,
                            seed,
                            10,
                        };

                        measure(&setting, policies, some);
                    }
                snprintf(name, sizeof name, "%s lat %g ratio %g",
                         cleave_port_name((enum cleave_port)port), latencies[l],
                         ratios[r]);
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
            const struct setting setting = { (enum cleave_port)port, 0.1, 0.5,     4,
                                             200.0 * sizes[i],       1,   sizes[i] };
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
    times();
    if (argc < 2 || strcmp(argv[1], "--times") != 0)
        grid(argc > 1 && strcmp(argv[1], "--policies") == 0);
    return 0;
}
