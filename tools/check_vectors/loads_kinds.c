/* loads_kinds.c -- cases of several loads on one platform. SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>
#include <cleave/run.h>
#include "io/loads_file.h"
#include "model/loads/loads.h"

#include "kinds.h"

/* The files of a case. */
struct inputs {
    struct cleave_platform *platform; /* owned */
    struct cv_loads_list list;
    struct cleave_view view;
    struct cv_loads loads;
    double *units;
};

static bool read_inputs(struct vector_case *c, struct inputs *in)
{
    const struct json *platform = json_get(c->in, "platform");
    const struct json *loads = json_get(c->in, "loads");
    struct cleave_error err;

    *in = (struct inputs){ .platform = NULL };
    if (platform == NULL || platform->text == NULL || loads == NULL ||
        loads->text == NULL) {
        case_fail(c, "inputs: expected the texts of two files");
        return false;
    }
    if (!case_ok(c,
                 cleave_platform_parse("platform", platform->text, strlen(platform->text),
                                       &in->platform, &err),
                 &err) ||
        !case_ok(c,
                 cv_loads_parse("loads", loads->text, strlen(loads->text),
                                cleave_platform_nworkers(in->platform), c->arena,
                                &in->list, &err),
                 &err))
        return false;
    in->view = (struct cleave_view){ .workers = cleave_platform_workers(in->platform),
                                     .nworkers = cleave_platform_nworkers(in->platform),
                                     .port = cleave_platform_port(in->platform),
                                     .loads = in->list.items,
                                     .nloads = in->list.count };
    in->units = cv_array(c->arena, in->list.count, sizeof *in->units);
    for (size_t k = 0; in->units != NULL && k < in->list.count; k++)
        in->units[k] = in->list.items[k].units;
    if (in->units != NULL && cv_loads_init(&in->loads, &in->view, in->units, c->arena))
        return true;
    case_fail(c, "out of memory");
    return false;
}

static struct cv_fluid *fluid_of(struct vector_case *c, const struct inputs *in,
                                 uint32_t intervals, bool releases)
{
    struct cv_fluid *fluid = NULL;

    if (!cv_fluid_init(&in->loads, intervals, releases, c->arena, &fluid) ||
        fluid == NULL)
        case_fail(c, "no room for the program");
    return fluid;
}

static void run_fluid(struct vector_case *c)
{
    struct cv_phases phases;
    struct inputs in;
    struct cv_fluid *fluid;
    uint32_t pairs = 0;
    double apart_s = 0;

    if (read_inputs(c, &in) && (fluid = fluid_of(c, &in, 1, false)) != NULL &&
        cv_phases_init(&phases, &in.loads, 1, c->arena)) {
        expect_number(c, "together", cv_fluid_makespan(fluid, &in.loads, false, &phases));
        for (size_t x = 0; x < (size_t)in.loads.n * in.loads.count; x++)
            pairs += phases.quota[x] > 1e-9 * in.units[x % in.loads.count];
        expect_at_most(c, "pairs_at_most", pairs);
        for (uint32_t k = 0; k < in.loads.count; k++) {
            double *only = cv_array(c->arena, in.loads.count, sizeof *only);

            only[k] = in.units[k];
            in.loads.units = only;
            apart_s += cv_fluid_makespan(fluid, &in.loads, false, NULL);
        }
        expect_number(c, "apart", apart_s);
    }
    cleave_platform_free(in.platform);
}

static double order_value(struct vector_case *c, const struct inputs *in,
                          const uint32_t *order)
{
    struct cv_fluid *fluid = fluid_of(c, in, in->loads.count, false);

    return fluid == NULL ? NAN : cv_fluid_order(fluid, &in->loads, order, false, NULL);
}

static void run_order(struct vector_case *c)
{
    size_t count;
    const uint32_t *order = case_counts(c, "order", &count);
    struct inputs in;

    if (read_inputs(c, &in))
        expect_number(c, "wC", order_value(c, &in, order));
    cleave_platform_free(in.platform);
}

/* The closed forms of docs/theory/loads.md against the programs. */
static void run_two(struct vector_case *c)
{
    static const uint32_t link_first[] = { 0, 1 }, workers_first[] = { 1, 0 };
    const double a1 = case_number(c, "a1"), b1 = case_number(c, "b1"),
                 a2 = case_number(c, "a2"), b2 = case_number(c, "b2"),
                 w1 = case_number(c, "w1"), w2 = case_number(c, "w2");
    const double theta = fmin(1, (a1 - b1) / (b2 - a2));
    const double both_s = a1 + theta * a2, last_s = fmax(a1 + a2, b1 + b2);
    struct cv_fluid *fluid;
    struct inputs in;

    expect_number(c, "theta", theta);
    expect_number(c, "apart", fmax(a1, b1) + fmax(a2, b2));
    expect_number(c, "wC_link_first", w1 * a1 + w2 * (a1 + b2));
    expect_number(c, "wC_mixed", w1 * both_s + w2 * (both_s + (1 - theta) * b2));
    expect_number(c, "wC_cpu_first", w2 * b2 + w1 * last_s);
    if (read_inputs(c, &in) && (fluid = fluid_of(c, &in, 1, false)) != NULL) {
        expect_number(c, "together", cv_fluid_makespan(fluid, &in.loads, false, NULL));
        expect_number(c, "wC",
                      fmin(order_value(c, &in, link_first),
                           order_value(c, &in, workers_first)));
    }
    cleave_platform_free(in.platform);
}

/* The bound with this name, or the tightest. */
static double bound_of(struct vector_case *c, struct inputs *in, enum cleave_goal goal,
                       const char *name)
{
    struct cleave_bound bounds[CV_MAX_LOADS_BOUNDS];
    size_t tightest,
        count = cv_loads_bounds(&in->loads, goal, c->arena, bounds, &tightest);

    if (count == 0)
        case_fail(c, "out of memory");
    for (size_t i = 0; name != NULL && i < count; i++)
        if (strcmp(bounds[i].name, name) == 0)
            return bounds[i].value_s;
    return count == 0 ? NAN : bounds[tightest].value_s;
}

/* A goal, and the names of its numbers in a case. */
static const struct goal {
    enum cleave_goal goal;
    const char *bound, *at_least, *none_above, *at_most;
} goals[] = {
    { CLEAVE_GOAL_MAKESPAN, "makespan", "", "", "makespan_at_most" },
    { CLEAVE_GOAL_WEIGHTED, "wC", "wC_at_least", "", "wC_at_most" },
    { CLEAVE_GOAL_STRETCH, "", "stretch_at_least", "no_stretch_above",
      "stretch_at_most" },
};

/* The bound, and the plan that is next to it. */
static void run_goal(struct vector_case *c, struct inputs *in, const struct goal *goal)
{
    const struct cleave_job job = { .platform = in->platform,
                                    .loads = in->list.items,
                                    .nloads = in->list.count,
                                    .goal = goal->goal,
                                    .seed = 1 };
    const double bound = bound_of(c, in, goal->goal, NULL);
    struct cleave_schedule *schedule = NULL;
    struct cleave_error err;

    expect_number(c, goal->bound, bound);
    expect_at_least(c, goal->at_least, bound);
    expect_at_most(c, goal->none_above, bound);
    expect_numbers(c, "alone", in->loads.alone_s, in->loads.count);
    if (!case_ok(c, cleave_plan_load(&job, &schedule, &err), &err))
        return;
    expect_at_most(c, goal->at_most, schedule->value);
    if (schedule->value < bound * (1 - 1e-9))
        case_fail(c, "a plan is better than its bound: %.17g and %.17g", schedule->value,
                  bound);
    cleave_schedule_free(schedule);
}

static void run_bound(struct vector_case *c)
{
    struct inputs in;

    for (size_t g = 0; g < sizeof goals / sizeof *goals; g++) {
        if (read_inputs(c, &in))
            run_goal(c, &in, &goals[g]);
        cleave_platform_free(in.platform);
    }
}

const struct case_kind loads_kinds[] = {
    { "loads-fluid", run_fluid },
    { "loads-order", run_order },
    { "loads-two", run_two },
    { "loads-bound", run_bound },
    { NULL, NULL },
};
