/* load_kinds.c -- cases of divisible loads whose plan is fixed in advance.
 * SPDX-License-Identifier: MIT */
#include "kinds.h"
#include "load_inputs.h"
#include "lp_order.h"
#include "model/load/plan.h"
#include "policy/static/xmi.h"
#include "policy/static/one_round.h"
#include "policy/static/umr.h"
#include "policy/static/umr_plus.h"

static void expect_xmi(struct vector_case *c, const struct cv_xmi *got)
{
    expect_flag(c, "feasible", got->feasible);
    expect_count(c, "n", got->workers);
    expect_number(c, "g0", got->last_s);
    expect_number(c, "makespan", got->makespan_s);
    expect_plan(c, &got->plan);
}

typedef enum cleave_status plan_equal(const struct cleave_worker *worker, uint32_t n,
                                      double load, uint32_t rounds,
                                      struct cv_arena *arena, struct cv_xmi *out,
                                      struct cleave_error *err);

static void run_equal(struct vector_case *c, plan_equal *plan)
{
    const struct case_platform p = case_platform(c);
    const double load = case_number(c, "W");
    const uint32_t rounds = case_count(c, "M");
    struct cleave_error err;
    struct cv_xmi got;

    if (p.workers != NULL && c->result == CASE_PASSED &&
        case_ok(c, plan(p.workers, p.nworkers, load, rounds, c->arena, &got, &err), &err))
        expect_xmi(c, &got);
}

static void run_xmi_fixed(struct vector_case *c)
{
    run_equal(c, cv_xmi_fixed);
}

static void run_xmi(struct vector_case *c)
{
    run_equal(c, cv_xmi_plan);
}

static void run_mi(struct vector_case *c)
{
    run_equal(c, cv_mi_plan);
}

static void run_single_round(struct vector_case *c)
{
    const struct case_platform p = case_platform(c);
    const double load = case_number(c, "W");
    struct cleave_error err;
    struct cv_one_round got;

    if (p.workers == NULL || c->result != CASE_PASSED ||
        !case_ok(c, cv_one_round_plan(p.workers, p.nworkers, load, c->arena, &got, &err),
                 &err))
        return;
    expect_number(c, "makespan", got.makespan_s);
    expect_plan(c, &got.plan);
}

static bool run_umr(struct vector_case *c, struct case_platform *p, struct cv_umr *got)
{
    struct cleave_error err;
    double load;
    uint32_t cap;

    *p = case_platform(c);
    load = case_number(c, "W");
    cap = case_count(c, "Mcap");
    if (p->workers == NULL || c->result != CASE_PASSED ||
        !case_ok(c,
                 cv_umr_plan(p->workers, p->nworkers, load, cap, 0, c->arena, got, &err),
                 &err))
        return false;
    expect_count(c, "M", got->rounds);
    expect_number(c, "M_real", got->real_rounds);
    expect_number(c, "Ex", got->expected_s);
    expect_number(c, "predicted", got->predicted_s);
    expect_number(c, "makespan", got->makespan_s);
    return true;
}

static void run_umr_homog(struct vector_case *c)
{
    struct case_platform p;
    struct cv_umr got;
    double *chunks;

    if (!run_umr(c, &p, &got))
        return;
    expect_count(c, "n", got.workers);
    chunks = cv_array(c->arena, got.rounds, sizeof *chunks);
    if (chunks == NULL) {
        case_fail(c, "out of memory");
        return;
    }
    for (uint32_t j = 0; j < got.rounds; j++)
        chunks[j] =
            p.workers->speed_ups * (got.round_s[j] - p.workers->compute_latency_s);
    expect_numbers(c, "chunks", chunks, got.rounds);
    if (got.plan.nchunks == (size_t)got.workers * got.rounds)
        expect_numbers(c, "last", got.plan.units + (got.rounds - 1) * (size_t)got.workers,
                       got.workers);
    expect_plan(c, &got.plan);
}

static void run_umr_het(struct vector_case *c)
{
    struct case_platform p;
    struct cv_umr got;

    if (!run_umr(c, &p, &got))
        return;
    expect_counts(c, "selected", got.order, got.workers);
    expect_number(c, "theta", got.theta);
    expect_number(c, "eta", got.eta);
    expect_numbers(c, "t", got.round_s, got.rounds);
    expect_plan(c, &got.plan);
}

/* The makespan is the contract: other numbers of workers or chunks may reach it too. So
 * a plan is compared only if it has the numbers listed. */
static void run_xmik(struct vector_case *c)
{
    const struct case_platform p = case_platform(c);
    const double load = case_number(c, "W");
    const uint32_t cap = case_count(c, "Kcap");
    const struct json *n = json_get(c->out, "n"), *k = json_get(c->out, "K");
    struct cleave_error err;
    struct cv_xmi_k got;

    if (p.workers == NULL || c->result != CASE_PASSED ||
        !case_ok(c, cv_xmi_k_plan(p.workers, p.nworkers, load, cap, c->arena, &got, &err),
                 &err))
        return;
    expect_number(c, "makespan", got.makespan_s);
    expect_nothing(c, "n");
    expect_nothing(c, "K");
    if (n != NULL && k != NULL && n->number == got.workers &&
        k->number == (double)got.chunks) {
        expect_plan(c, &got.plan);
    } else {
        expect_nothing(c, "workers");
        expect_nothing(c, "sizes");
    }
}

static uint32_t *case_order(struct vector_case *c, const struct case_platform *p,
                            size_t *n)
{
    uint32_t *seq = case_counts(c, "seq", n);

    for (size_t i = 0; i < *n; i++)
        if (seq[i] >= p->nworkers) {
            case_fail(c, "input seq[%zu]: expected a worker, got %u", i, seq[i]);
            return NULL;
        }
    return seq;
}

static void run_vertex(struct vector_case *c)
{
    const struct case_platform p = case_platform(c);
    const double load = case_number(c, "W");
    size_t n;
    const uint32_t *seq = case_order(c, &p, &n);
    double *units = cv_array(c->arena, n, sizeof *units);
    double *multipliers = cv_array(c->arena, n, sizeof *multipliers);
    struct cv_vertex_workspace room;
    bool feasible, positive;
    double makespan_s;

    if (p.workers == NULL || seq == NULL || units == NULL || multipliers == NULL ||
        !cv_vertex_room_init(&room, c->arena, n, p.nworkers)) {
        case_fail(c, "input: expected a platform and an order");
        return;
    }
    makespan_s = cv_vertex_solve(p.workers, load, seq, n, &room, units, &feasible);
    positive = cv_vertex_multipliers(p.workers, seq, n, &room, multipliers);
    expect_flag(c, "feasible", feasible);
    expect_flag(c, "optimal", feasible && positive);
    expect_number(c, "makespan", makespan_s);
    expect_numbers(c, "sizes", units, n);
    expect_numbers(c, "multipliers", multipliers, n);
}

static void run_plan_plus(struct vector_case *c)
{
    const struct case_platform p = case_platform(c);
    const double load = case_number(c, "W");
    const uint32_t cap = case_count(c, "Kcap");
    double *ready = cv_array(c->arena, p.nworkers, sizeof *ready);
    struct cleave_error err;
    struct cv_umr_plus got;
    double makespan_s;

    if (p.workers == NULL || ready == NULL || c->result != CASE_PASSED ||
        !case_ok(c,
                 cv_umr_plus_plan(p.workers, p.nworkers, load, cap,
                                  cv_umr_plus_effort(p.nworkers), c->arena, &got, &err),
                 &err))
        return;
    makespan_s = cv_plan_makespan(p.workers, p.nworkers, &got.plan, ready);
    expect_at_most(c, "makespan_at_most", makespan_s);
    expect_at_least(c, "makespan_at_least", makespan_s);
    expect_nothing(c, "periodic_makespan");
    expect_nothing(c, "umr_makespan");
}

static void run_lp_fixed_order(struct vector_case *c)
{
    const struct case_platform p = case_platform(c);
    const double load = case_number(c, "W");
    size_t n;
    const uint32_t *seq = case_order(c, &p, &n);

    if (!lp_order_available()) {
        case_skip(c, "needs CLP, which this program was built without");
        return;
    }
    if (p.workers == NULL || seq == NULL) {
        case_fail(c, "input: expected a platform and an order");
        return;
    }
    expect_number(c, "optimum", lp_order_optimum(p.workers, load, seq, n, NULL));
}

const struct case_kind load_kinds[] = {
    { "xmi_fixed", run_xmi_fixed },
    { "xmi", run_xmi },
    { "mi", run_mi },
    { "single_round", run_single_round },
    { "umr_homog", run_umr_homog },
    { "umr_het", run_umr_het },
    { "xmik", run_xmik },
    { "vertex", run_vertex },
    { "plan_plus", run_plan_plus },
    { "lp_fixed_order", run_lp_fixed_order },
    { NULL, NULL },
};
