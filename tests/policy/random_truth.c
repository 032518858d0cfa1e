/* random_truth.c -- plans of every kind on random platforms: no bound is beaten, and a plan that is
 * called optimal is not beaten either. SPDX-License-Identifier: MIT
 *
 * The kind follows from the number: stars, results, profiles, memory, lifespans, trees, items, several
 * loads and streams. Opponents of a plan are all policies and random lists of chunks or items near
 * the best plan, which follow no policy. A bound on one round counts for policies of one round. A
 * plan of streams is compared with a simulation of as4dr.
 *
 * CLEAVE_GAPS=FILE appends a line per platform: its kind, the best plan over its bound less 1 (for
 * streams: what was planned over what was simulated), and whether it is called optimal.
 * `make check-truth` (PLATFORMS=10000, FIRST=17) tries many and sums up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cleave/run.h>
#include <cleave/policy.h>
#include <cleave/stream_plan.h>
#include "base/random.h"
#include "sim/load/forecast.h"

enum { PLATFORMS = 54, MOST_WORKERS = 7, MOST_PARTS = 60, LISTS = 60 };

/* Rounding of times, and of units by a lifespan. */
static const double ROUNDING = 1e-9, UNITS_ROUNDING = 1e-6;

enum kind {
    STAR,
    RESULTS,
    PROFILES,
    MEMORY,
    LIFESPAN,
    TREE,
    ITEMS,
    LOADS,
    STREAMS,
    KINDS
};
static const char *const kind_names[] = { "star",   "results",  "profiles",
                                          "memory", "lifespan", "tree",
                                          "items",  "loads",    "streams" };

/* The value of a plan, less is better, and what is said of it. */
struct claim {
    double value, bound;
    bool optimal, one_round;
};

struct scene {
    uint32_t number;
    enum kind kind;
    struct cv_random random;
    struct cleave_platform *platform;
    uint32_t n;
    struct cleave_job job;
    char text[8192];
    double sizes[MOST_WORKERS * 3], compute[3 * MOST_WORKERS];
    struct cleave_load loads[3];
    struct claim
        bounds[2]; /* the tightest bounds seen, and best plans: any rounds, one round */
    struct claim optimum[2]; /* plans that are called optimal; value INFINITY: none */
    /* The best list of chunks. */
    uint32_t worker[MOST_PARTS], nparts;
    double part[MOST_PARTS];
    unsigned faults;
};

static double between(struct scene *s, double low, double high)
{
    return low + (high - low) * cv_random_uniform(&s->random);
}

static double scale(struct scene *s, double low, double high)
{
    return exp(between(s, log(low), log(high)));
}

static uint32_t below(struct scene *s, uint32_t n)
{
    return (uint32_t)(cv_random_uniform(&s->random) * n);
}

static void fault(struct scene *s, const char *who, const char *what, double value,
                  double limit)
{
    fprintf(stderr,
            "platform %u (%s): %s: %.17g, %s %.17g\nload %.17g, lifespan %.17g, ratio "
            "%.17g\n%s",
            s->number, kind_names[s->kind], who, value, what, limit, s->job.load,
            s->job.lifespan_s, s->job.result_ratio, s->text);
    s->faults++;
}

/* --- instances ---------------------------------------------------------------------- */

static void draw_platform(struct scene *s, double load)
{
    static const char *const ports[] = { "one", "duplex", "multi" };
    const uint32_t port = s->kind == RESULTS ? below(s, 2) : below(s, 3);
    const double spread = below(s, 4) == 0 ? 1 : scale(s, 1.2, 10);
    const double link = scale(s, 0.5, 20) * s->n,
                 start = below(s, 4) == 0 ? 0 : scale(s, 0.003, 2);
    struct cleave_error err;
    size_t at =
        (size_t)snprintf(s->text, sizeof s->text, "port: %s\nworkers:\n", ports[port]);

    for (uint32_t w = 0; w < s->n; w++) {
        const double speed = scale(s, 1, spread), time_s = load / s->n;

        at += (size_t)
            snprintf(s->text + at, sizeof s->text - at,
                     "  - { name: w%u, speed: %.17g, compute_latency: %.17g, bandwidth: "
                     "%.17g, latency: %.17g",
                     w, speed, start * scale(s, 1, spread), link * scale(s, 1, spread),
                     start * scale(s, 0.1, 1));
        if (s->kind == TREE && w > 0 && below(s, 3) > 0)
            at += (size_t)snprintf(s->text + at, sizeof s->text - at, ", via: w%u",
                                   below(s, w));
        if (s->kind == PROFILES && below(s, 2) == 0)
            at += (size_t)snprintf(s->text + at, sizeof s->text - at,
                                   ", profile: [[%.17g, %.17g], [%.17g, %.17g]]",
                                   time_s * between(s, 0, 0.5), between(s, 0, 1),
                                   time_s * between(s, 0.5, 1), between(s, 0.2, 1.2));
        if (s->kind == MEMORY)
            at += (size_t)snprintf(s->text + at, sizeof s->text - at, ", memory: %.17g",
                                   load / s->n * scale(s, 0.1, 1));
        at += (size_t)snprintf(s->text + at, sizeof s->text - at, " }\n");
    }
    if (cleave_platform_parse("drawn", s->text, at, &s->platform, &err) != CLEAVE_OK)
        fail_msg("%s: %s", err.field, err.text);
}

static void draw_loads(struct scene *s)
{
    for (uint32_t k = 0; k < 3; k++) {
        for (uint32_t w = 0; w < s->n; w++)
            s->compute[k * s->n + w] = scale(s, 0.5, 2);
        s->loads[k] = (struct cleave_load){ .name = "k",
                                            .units = scale(s, 10, 300),
                                            .weight = scale(s, 0.5, 3),
                                            .release_s = below(s, 2) * between(s, 0, 20),
                                            .compute = &s->compute[(size_t)k * s->n],
                                            .transfer = scale(s, 0.2, 3) };
    }
    s->job.loads = s->loads;
    s->job.nloads = 3;
    s->job.goal = (enum cleave_goal)below(s, 3);
    s->job.load = 0;
}

static void draw(struct scene *s, uint32_t number)
{
    *s = (struct scene){ .number = number, .kind = number % KINDS };
    cv_random_at(&s->random, 90, number, 0, 0);
    s->n = 1 + below(s, s->kind == ITEMS ? 3 : MOST_WORKERS);
    for (int i = 0; i < 2; i++)
        s->optimum[i].value = s->bounds[i].value = INFINITY;
    s->job.load = scale(s, 5, 300) * s->n;
    s->job.seed = 1;
    draw_platform(s, s->job.load);
    s->job.platform = s->platform;
    if (s->kind == RESULTS ||
        (s->kind >= PROFILES && s->kind <= LIFESPAN && below(s, 2) == 0))
        s->job.result_ratio = scale(s, 0.05, 1.5);
    if (s->kind == LIFESPAN) {
        s->job.lifespan_s = s->job.load / s->n * between(s, 0.5, 2) + 2;
        s->job.load = 0;
    } else if (s->kind == ITEMS) {
        s->job.nitems = 1 + below(s, s->n * 3);
        for (uint64_t i = 0; i < s->job.nitems; i++)
            s->sizes[i] = scale(s, 1, 20);
        s->job.sizes = s->sizes;
        s->job.load = 0;
    } else if (s->kind == LOADS) {
        draw_loads(s);
    }
}

/* --- claims, and opponents ---------------------------------------------------------- */

/* With a lifespan the time of a unit. */
static double value_of(const struct scene *s, const struct cleave_schedule *schedule)
{
    return s->kind == LIFESPAN ? 1 / schedule->load : schedule->value;
}

static void note(struct scene *s, const struct cleave_policy *policy, const char *who,
                 const struct cleave_schedule *schedule)
{
    const bool one = policy != NULL && policy->one_round && s->job.result_ratio > 0;
    const double value = value_of(s, schedule);
    const double bound =
        s->kind == LIFESPAN ? 1 / schedule->bound.value_s : schedule->bound.value_s;
    const double rounding = s->kind == LIFESPAN ? UNITS_ROUNDING : ROUNDING;

    if (value < bound * (1 - rounding))
        fault(s, who, "beats its bound", value, bound);
    s->bounds[one].bound = fmax(s->bounds[one].bound, bound);
    s->bounds[one].value = fmin(s->bounds[one].value, value);
    if (schedule->optimal)
        s->optimum[one].value = fmin(s->optimum[one].value, value);
    s->bounds[one].optimal |= schedule->optimal;
    if (value > s->bounds[0].value * (1 + rounding) || schedule->nchunks > MOST_PARTS)
        return;
    s->nparts = (uint32_t)schedule->nchunks;
    for (uint32_t k = 0; k < s->nparts; k++) {
        s->worker[k] = schedule->chunks[k].worker;
        s->part[k] = schedule->chunks[k].units;
    }
}

/* Plan and run without bounds, which take longest. Whether nothing ended sooner. */
static bool try_job(struct scene *s, const struct cleave_job *job)
{
    struct cv_load_case load_case;
    struct cv_planned planned;
    struct cleave_error err;
    double end_s = INFINITY;

    if (cv_load_case_open(&load_case, job, &err) != CLEAVE_OK)
        fail_msg("platform %u: %s", s->number, err.text);
    if (cv_load_case_plan(&load_case, job, &planned, &err) == CLEAVE_OK) {
        const struct cv_run run = cv_load_case_run(&load_case, NULL);

        if (cv_planned_run_once(&planned, cv_load_case_engine(&run, NULL), &run, &end_s,
                                &err) != CLEAVE_OK)
            end_s = INFINITY;
        cv_planned_done(&planned);
    }
    cv_load_case_close(&load_case);
    if (!(end_s < s->bounds[0].value))
        return false;
    s->bounds[0].value = end_s;
    return true;
}

/* Policies that search get a short limit. */
static void try_policy(struct scene *s, const struct cleave_policy *policy)
{
    static const struct cleave_setting limit = { "limit", "0.05" };
    struct cleave_job job = s->job;
    struct cleave_schedule *schedule;
    struct cleave_error err;

    if ((strcmp(policy->name, "best-orders") == 0 && s->n > 4) ||
        (s->kind == LIFESPAN && policy->work == NULL))
        return; /* takes long */
    job.policy = policy->name;
    if (strcmp(policy->name, "auto") == 0) {
        job.settings = &limit;
        job.nsettings = 1;
    } else if (s->kind <= TREE && s->kind != LIFESPAN &&
               !(policy->one_round && s->job.result_ratio > 0)) {
        (void)try_job(s, &job); /* auto has the same bound */
        return;
    }
    if (cleave_plan_load(&job, &schedule, &err) != CLEAVE_OK)
        return; /* unsuitable for such a load */
    note(s, policy, policy->name, schedule);
    cleave_schedule_free(schedule);
}

/* A random change of the best list: chunks grow, shrink, split, move or leave. */
static uint32_t change(struct scene *s, uint32_t *worker, double *part)
{
    uint32_t n = s->nparts;

    memcpy(worker, s->worker, n * sizeof *worker);
    memcpy(part, s->part, n * sizeof *part);
    for (uint32_t i = 0; i < 1 + below(s, 3); i++) {
        const uint32_t at = below(s, n), other = below(s, n), how = below(s, 5);

        if (how == 0)
            worker[at] = below(s, s->n);
        else if (how == 1 && n + 1 < MOST_PARTS) {
            worker[n] = worker[at];
            part[n++] = part[at] /= 2;
        } else if (how == 2 && n > 1) {
            worker[at] = worker[n - 1];
            part[at] = part[n - 1];
            n--;
        } else if (how == 3) {
            const uint32_t w = worker[at];
            const double x = part[at];

            worker[at] = worker[other];
            part[at] = part[other];
            worker[other] = w;
            part[other] = x;
        } else {
            part[at] *= scale(s, 0.8, 1.25);
        }
    }
    return n;
}

static void try_list(struct scene *s)
{
    uint32_t worker[MOST_PARTS];
    double part[MOST_PARTS];
    const uint32_t n = change(s, worker, part);
    char list[MOST_PARTS * 40];
    const struct cleave_setting order = { "chunk-order", list };
    struct cleave_job job = s->job;
    size_t at = 0;

    for (uint32_t k = 0; k < n; k++)
        at += (size_t)snprintf(list + at, sizeof list - at, "%s%u:%.17g",
                               k > 0 ? "," : "", worker[k], part[k]);
    job.policy = "chunks";
    job.settings = &order;
    job.nsettings = 1;
    if (try_job(s, &job)) {
        s->nparts = n;
        memcpy(s->worker, worker, n * sizeof *worker);
        memcpy(s->part, part, n * sizeof *part);
    }
}

/* Items in a random order, each to a random worker, all asked for at the start. */
struct given_items {
    uint64_t seed;
};

static void give_items(void *state, const struct cleave_view *view,
                       const struct cleave_event *event, struct cleave_orders *orders)
{
    const struct given_items *given = state;
    struct cv_random random;
    uint64_t order[MOST_WORKERS * 3];

    if (event->kind != CLEAVE_START)
        return;
    cv_random_at(&random, 91, (uint32_t)given->seed, 0, 0);
    for (uint64_t i = 0; i < view->nitems; i++) {
        const uint64_t j = (uint64_t)(cv_random_uniform(&random) * (double)(i + 1));

        order[i] = order[j];
        order[j] = i;
    }
    for (uint64_t i = 0; i < view->nitems; i++)
        cleave_order_item(orders, (uint32_t)(cv_random_uniform(&random) * view->nworkers),
                          order[i]);
}

static void try_items(struct scene *s, uint32_t number)
{
    static const struct cleave_param params[] = {
        { "seed", CLEAVE_PARAM_REAL, 0, 0, 0, 1e9, "of the order" }, { 0 }
    };
    static const struct cleave_policy given = { .name = "given-items",
                                                .task = CLEAVE_TASK_ITEMS,
                                                .state_size = sizeof(struct given_items),
                                                .params = params,
                                                .decide = give_items };
    char text[20];
    const struct cleave_setting seed = { "seed", text };
    struct cleave_job job = s->job;

    snprintf(text, sizeof text, "%u", s->number * LISTS + number);
    job.own_policy = &given;
    job.settings = &seed;
    job.nsettings = 1;
    (void)try_job(s, &job);
}

static void check_claims(struct scene *s)
{
    const double rounding = s->kind == LIFESPAN ? UNITS_ROUNDING : ROUNDING;

    for (int one = 0; one < 2; one++) {
        const double best =
            one == 0 ? fmin(s->bounds[0].value, INFINITY) : s->bounds[1].value;

        if (s->bounds[one].value < s->bounds[one].bound * (1 - rounding))
            fault(s, "the best plan", "beats a bound", s->bounds[one].value,
                  s->bounds[one].bound);
        if (s->optimum[one].value > best * (1 + rounding) &&
            isfinite(s->optimum[one].value))
            fault(s, "called optimal", "beaten by", s->optimum[one].value, best);
    }
    if (s->bounds[1].value < s->bounds[0].bound * (1 - rounding))
        fault(s, "one round", "beats the bound for any rounds", s->bounds[1].value,
              s->bounds[0].bound);
}

/* --- streams ------------------------------------------------------------------------ */

enum { ROUNDS = 400 };
/* A finite simulation begins and ends with partial rounds. */
static const double SIMULATED = 0.02;

/* The plan over the simulation, less 1; NAN: no worker can serve. */
static double try_streams(struct scene *s)
{
    struct cleave_stream_task task = { .platform = s->platform,
                                       .nstreams = 1,
                                       .period_s = 10,
                                       .result_ratio = below(s, 2) * between(s, 0, 1) };
    char period[32];
    const struct cleave_setting tau = { "period", period };
    struct cleave_streams_result *result = NULL;
    struct cleave_stream_plan *plan = NULL;
    struct cleave_stream_job job;
    struct cleave_error err;
    double gap = NAN;

    if (cleave_plan_streams(&task, &plan, &err) != CLEAVE_OK)
        fail_msg("platform %u: %s", s->number, err.text);
    snprintf(period, sizeof period, "%.17g", plan->period_s);
    job = (struct cleave_stream_job){ .platform = s->platform,
                                      .streams = plan->clusters,
                                      .nstreams = 1,
                                      .horizon_s = ROUNDS * plan->period_s,
                                      .window_from_s = ROUNDS / 4.0 * plan->period_s,
                                      .window_to_s = ROUNDS * plan->period_s,
                                      .result_ratio = task.result_ratio,
                                      .settings = &tau,
                                      .nsettings = 1,
                                      .threads = 1 };
    if (plan->selected > 0) {
        if (cleave_simulate_streams(&job, &result, &err) != CLEAVE_OK)
            fail_msg("platform %u: %s", s->number, err.text);
        gap = plan->throughput_ups / result->window.throughput_ups - 1;
        if (result->window.throughput_ups > plan->upper_bound_ups * (1 + SIMULATED))
            fault(s, "as4dr", "beats the bound", result->window.throughput_ups,
                  plan->upper_bound_ups);
        if (gap > SIMULATED)
            fault(s, "planned", "simulated", plan->throughput_ups,
                  result->window.throughput_ups);
        s->bounds[0].optimal = plan->optimal;
    }
    cleave_streams_result_free(result);
    cleave_stream_plan_free(plan);
    return gap;
}

/* --- the test ----------------------------------------------------------------------- */

static double try_loads(struct scene *s)
{
    const enum cleave_task task = s->kind == ITEMS   ? CLEAVE_TASK_ITEMS
                                  : s->kind == LOADS ? CLEAVE_TASK_LOADS
                                                     : CLEAVE_TASK_LOAD;

    for (size_t p = 0; p < cleave_policy_count(); p++)
        if (cleave_policy_at(p)->task == task)
            try_policy(s, cleave_policy_at(p));
    for (uint32_t i = 0; i < LISTS && task != CLEAVE_TASK_LOADS; i++) {
        if (task == CLEAVE_TASK_ITEMS)
            try_items(s, i);
        else if (s->nparts > 0 && s->kind != LIFESPAN)
            try_list(s);
    }
    check_claims(s);
    return s->bounds[0].value / s->bounds[0].bound - 1;
}

static unsigned try_platform(uint32_t number, FILE *gaps)
{
    struct scene s;
    double gap;

    draw(&s, number);
    gap = s.kind == STREAMS ? try_streams(&s) : try_loads(&s);
    if (gaps != NULL && isfinite(gap))
        fprintf(gaps, "%s %.9g %d\n", kind_names[s.kind], gap, s.bounds[0].optimal);
    cleave_platform_free(s.platform);
    return s.faults;
}

static uint32_t setting(const char *name, uint32_t preset)
{
    const char *text = getenv(name);

    return text != NULL ? (uint32_t)strtoul(text, NULL, 10) : preset;
}

static void bounds_and_optima_hold(void **state)
{
    const uint32_t first = setting("CLEAVE_FIRST_PLATFORM", 0);
    const uint32_t count = setting("CLEAVE_PLATFORMS", PLATFORMS);
    FILE *gaps = getenv("CLEAVE_GAPS") != NULL ? fopen(getenv("CLEAVE_GAPS"), "a") : NULL;
    unsigned faults = 0;

    (void)state;
    if (gaps != NULL)
        setvbuf(gaps, NULL, _IOLBF, 0);
    for (uint32_t i = 0; i < count; i++)
        faults += try_platform(first + i, gaps);
    if (gaps != NULL)
        fclose(gaps);
    if (faults > 0)
        fail_msg("%u faults on platforms %u to %u", faults, first, first + count - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(bounds_and_optima_hold) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
