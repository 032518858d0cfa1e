/* load_dynamic_kinds.c -- cases of divisible loads that need a run or a bound.
 * SPDX-License-Identifier: MIT
 *
 * Policies run on the native engine; comm_f and comp_f list the factors by which the
 * k-th chunk sent takes longer than modelled. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/driver.h"
#include "kinds.h"
#include "load_inputs.h"
#include "model/load/bounds.h"
#include "policy/compound/head_tail.h"
#include "policy/compound/registry.h"
#include "sim/load/native.h"

enum { MOST_SETTINGS = 4 };

/* Parameters of a policy as text, from numbers of the case. */
struct settings {
    struct cleave_setting list[MOST_SETTINGS];
    char values[MOST_SETTINGS][32];
    size_t count;
};

static void add_setting(struct settings *settings, struct vector_case *c, const char *key,
                        const char *input)
{
    size_t i = settings->count;

    if (i == MOST_SETTINGS || !case_has(c, input))
        return;
    snprintf(settings->values[i], sizeof settings->values[i], "%.17g",
             case_number(c, input));
    settings->list[i] = (struct cleave_setting){ key, settings->values[i] };
    settings->count++;
}

/* The workers, sizes and makespan of a run, from its trace. */
static void expect_trace(struct vector_case *c, const struct cleave_trace *trace,
                         const struct cv_outcome *outcome)
{
    size_t count = cleave_trace_count(trace);
    struct cv_plan plan = { 0, cv_array(c->arena, count, sizeof(uint32_t)),
                            cv_array(c->arena, count, sizeof(double)) };

    if (plan.worker == NULL || plan.units == NULL) {
        case_fail(c, "out of memory");
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const struct cleave_entry *entry = cleave_trace_at(trace, i);

        if (!entry->is_order || entry->as.order.kind != CLEAVE_SEND)
            continue;
        plan.worker[plan.nchunks] = entry->as.order.worker;
        plan.units[plan.nchunks++] = entry->as.order.units;
    }
    expect_number(c, "makespan", outcome->makespan_s);
    expect_plan(c, &plan);
}

static bool drive(struct vector_case *c, const struct cv_planned *planned,
                  const struct cleave_platform *platform, struct cleave_trace *trace,
                  struct cv_outcome *out)
{
    struct cv_run run = { .platform = platform };
    struct cv_driver *driver = NULL;
    struct cleave_error err;
    bool ok;

    if (case_has(c, "comm_f"))
        run.noise.transfer.factor = case_numbers(c, "comm_f", &run.noise.transfer.n);
    if (case_has(c, "comp_f"))
        run.noise.compute.factor = case_numbers(c, "comp_f", &run.noise.compute.n);
    ok =
        case_ok(c,
                cv_driver_open(planned, &cv_engine_native, platform, NULL, &driver, &err),
                &err) &&
        case_ok(c, cv_driver_run(driver, &run, trace, out, &err), &err);
    cv_driver_close(driver);
    return ok;
}

/* Run the plan on the platform and compare; takes `planned` over. */
static void run_planned(struct vector_case *c, struct cv_planned *planned,
                        const struct cleave_platform *platform,
                        void (*look)(struct vector_case *c,
                                     const struct cv_planned *planned))
{
    struct cleave_trace *trace = NULL;
    struct cv_outcome outcome;
    struct cleave_error err;

    if (case_ok(c, cleave_trace_new(&trace, &err), &err) &&
        drive(c, planned, platform, trace, &outcome)) {
        expect_trace(c, trace, &outcome);
        if (look != NULL)
            look(c, planned);
    }
    cleave_trace_free(trace);
    cv_planned_done(planned);
}

static bool make_platform(struct vector_case *c, struct cleave_platform **out)
{
    struct case_platform given = case_platform(c);
    struct cleave_error err;

    return given.workers != NULL &&
           case_ok(c,
                   cleave_platform_new(CLEAVE_PORT_ONE, given.workers, given.nworkers,
                                       out, &err),
                   &err);
}

/* Run a policy on the platform of the case; `look` sees the planned state. */
static void run_policy(struct vector_case *c, const struct cleave_policy *policy,
                       const struct settings *settings,
                       void (*look)(struct vector_case *c,
                                    const struct cv_planned *planned))
{
    struct cleave_platform *platform = NULL;
    struct cv_planned planned;
    struct cleave_error err;
    struct cleave_view load = { .error =
                                    case_has(c, "error") ? case_number(c, "error") : 0 };

    load.units_total = case_number(c, "W");
    if (!make_platform(c, &platform))
        return;
    if (case_ok(c,
                cv_planned_init(&planned, policy, settings->list, settings->count,
                                platform, cleave_platform_workers(platform), &load, NULL,
                                NULL, &err),
                &err))
        run_planned(c, &planned, platform, look);
    cleave_platform_free(platform);
}

static void run_self(struct vector_case *c)
{
    struct settings settings = { .count = 0 };

    add_setting(&settings, c, "chunk", "chunk");
    add_setting(&settings, c, "prefetch", "prefetch");
    run_policy(c, &cleave_policy_self, &settings, NULL);
}

static void run_shrinking(struct vector_case *c, const struct cleave_policy *policy)
{
    struct settings settings = { .count = 0 };

    add_setting(&settings, c, "least", "cmin");
    add_setting(&settings, c, "prefetch", "prefetch");
    run_policy(c, policy, &settings, NULL);
}

static void run_guided(struct vector_case *c)
{
    run_shrinking(c, &cleave_policy_guided);
}

static void run_factoring(struct vector_case *c)
{
    run_shrinking(c, &cleave_policy_factoring);
}

static void run_weighted_factoring(struct vector_case *c)
{
    run_shrinking(c, &cleave_policy_weighted_factoring);
}

/* States of rumr and rx begin with their two phases. */
static void look_at_phases(struct vector_case *c, const struct cv_planned *planned)
{
    const struct cv_head_tail *two = planned->state;

    expect_number(c, "W1", planned->view.units_total - two->tail);
    expect_number(c, "W2", two->tail);
    expect_number(c, "cmin", two->tail > 0 ? two->pull.min : NAN);
}

/* The vectors have one least chunk for all workers. */
static struct settings alike(void)
{
    return (struct settings){ .list = { { "alike", "1" } }, .count = 1 };
}

static void run_rumr(struct vector_case *c)
{
    struct settings settings = alike();

    add_setting(&settings, c, "max_rounds", "Mcap");
    add_setting(&settings, c, "prefetch", "prefetch");
    run_policy(c, &cleave_policy_rumr, &settings, look_at_phases);
}

static void run_rx(struct vector_case *c)
{
    struct settings settings = alike();

    add_setting(&settings, c, "kappa", "kappa");
    add_setting(&settings, c, "prefetch", "prefetch");
    run_policy(c, &cleave_policy_rx, &settings, look_at_phases);
}

static void run_sim(struct vector_case *c)
{
    struct cleave_platform *platform = NULL;
    struct cv_plan plan = { 0, NULL, NULL };
    struct cv_planned planned;
    struct cleave_error err;
    size_t nsizes = 0;
    double load = 0;

    plan.worker = case_counts(c, "plan_workers", &plan.nchunks);
    plan.units = case_numbers(c, "plan_sizes", &nsizes);
    if (plan.worker == NULL || plan.units == NULL || nsizes != plan.nchunks) {
        case_fail(c, "plan_workers and plan_sizes do not go together");
        return;
    }
    for (size_t i = 0; i < nsizes; i++)
        load += plan.units[i];
    if (!make_platform(c, &platform))
        return;
    if (case_ok(c, cv_planned_fixed(&planned, &plan, platform, load, &err), &err))
        run_planned(c, &planned, platform, NULL);
    cleave_platform_free(platform);
}

static double bound_named(const struct cleave_bound *bounds, size_t count,
                          const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(bounds[i].name, name) == 0)
            return bounds[i].value_s;
    return NAN;
}

static void run_bounds(struct vector_case *c)
{
    static const char *const names[] = { "ideal", "port", "start" };
    struct case_platform given = case_platform(c);
    struct cleave_bound bounds[CV_MAX_BOUNDS];
    size_t count, tightest;
    double any = 0;

    if (given.workers == NULL)
        return;
    count = cv_bounds(given.workers, given.nworkers, CLEAVE_PORT_ONE, case_number(c, "W"),
                      c->arena, bounds, &tightest);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        double value = bound_named(bounds, count, names[i]);

        expect_number(c, names[i], value);
        any = fmax(any, value);
    }
    /* `any` is the greatest of these three; the library knows tighter ones too. */
    expect_number(c, "any", any);
}

const struct case_kind load_dynamic_kinds[] = {
    { "sim", run_sim },
    { "self_scheduling", run_self },
    { "guided", run_guided },
    { "fac2", run_factoring },
    { "weighted_factoring", run_weighted_factoring },
    { "rumr", run_rumr },
    { "rx", run_rx },
    { "bounds", run_bounds },
    { NULL, NULL },
};
