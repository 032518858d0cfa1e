/* rounds_kinds.c -- cases of several rounds whose results come back.
 * SPDX-License-Identifier: MIT
 *
 * A case lists, under a name each: the closed form of two words, the best sizes for given
 * orders, the best plan known, a bound, and the value of given prices. */
#include <math.h>
#include <string.h>

#include "kinds.h"
#include "model/rounds/rounds.h"
#include "model/rounds/rounds_internal.h"

struct scene {
    struct vector_case *c;
    struct cv_rounds rounds;
    double lp_rel, best_rel;
};

/* A listed map as a separate case. */
struct group {
    struct vector_case inner;
    const char *name;
};

static bool open_group(struct scene *s, const char *name, struct group *group)
{
    const struct json *map = json_get(s->c->out, name);

    expect_nothing(s->c, name);
    if (s->c->result != CASE_PASSED || map == NULL || map->kind != JSON_MAP)
        return false;
    group->name = name;
    group->inner = *s->c;
    group->inner.in = group->inner.out = map;
    memset(group->inner.compared, 0, sizeof group->inner.compared);
    return true;
}

static void close_group(struct scene *s, struct group *group)
{
    const struct vector_case *inner = &group->inner;

    if (inner->result != CASE_PASSED) {
        case_fail(s->c, "%s.%s", group->name, inner->text);
        return;
    }
    for (size_t i = 0; i < inner->out->count; i++)
        if (i >= CASE_MOST_FIELDS || !inner->compared[i])
            case_fail(s->c, "%s.%s: listed, but nothing computes it", group->name,
                      inner->out->keys[i]);
}

/* --- inputs ------------------------------------------------------------------------- */

static double tolerance(const struct vector_case *c, const char *name)
{
    const struct json *value = json_get(c->tol, name);

    return value != NULL ? value->number : c->rel;
}

/* Numbers per worker; unlisted numbers of the way back follow the other direction. */
static const double *per_worker(struct vector_case *c, const char *name,
                                const double *like, size_t n)
{
    size_t count = n;
    const double *numbers =
        like != NULL && !case_has(c, name) ? like : case_numbers(c, name, &count);

    if (c->result == CASE_PASSED && count != n)
        case_fail(c, "input: expected %zu numbers under '%s', got %zu", n, name, count);
    return numbers;
}

static bool read_scene(struct vector_case *c, struct scene *s)
{
    const struct json *port = json_get(c->in, "port");
    size_t n;
    const double *speed = case_numbers(c, "s", &n), *l = per_worker(c, "l", NULL, n);
    const double *b = per_worker(c, "b", NULL, n), *nl = per_worker(c, "n", NULL, n);
    const double *rb = per_worker(c, "rb", b, n), *rn = per_worker(c, "rn", nl, n);
    const double ratio = case_number(c, "ratio");
    struct cleave_worker *workers = cv_array(c->arena, n, sizeof *workers);

    *s = (struct scene){ .c = c,
                         .lp_rel = tolerance(c, "lp_rel"),
                         .best_rel = tolerance(c, "best_rel") };
    s->rounds.load = case_number(c, "load");
    if (c->result != CASE_PASSED)
        return false;
    if (workers == NULL || n == 0 || port == NULL || port->text == NULL) {
        case_fail(c, "input: expected workers and a port");
        return false;
    }
    for (size_t i = 0; i < n; i++)
        workers[i] = (struct cleave_worker){ speed[i], l[i], b[i], nl[i], rb[i], rn[i] };
    s->rounds.returns = (struct cv_returns){
        cv_trips(workers, (uint32_t)n, ratio, 0, c->arena),
        (uint32_t)n,
        strcmp(port->text, "one") == 0,
        NULL,
    };
    if (s->rounds.returns.trips == NULL)
        case_fail(c, "out of memory");
    return c->result == CASE_PASSED;
}

static uint32_t *copy_counts(struct vector_case *c, const char *name, uint32_t *out_n)
{
    size_t n;
    uint32_t *numbers = case_counts(c, name, &n);

    *out_n = (uint32_t)n;
    return numbers;
}

static struct cv_rounds_words read_words(struct vector_case *c)
{
    struct cv_rounds_words words;

    words.send = copy_counts(c, "send_word", &words.nsend);
    words.back = copy_counts(c, "return_word", &words.nback);
    return words;
}

/* --- what is listed ------------------------------------------------------------------- */

static void check_closed_form(struct scene *s)
{
    struct cv_closed_form form, best;
    struct cleave_error err;
    struct cv_rounds_words words;
    struct group group;
    struct vector_case *inner = &group.inner;

    if (!open_group(s, "closed_form", &group))
        return;
    words = read_words(inner);
    expect_nothing(inner, "send_word");
    expect_nothing(inner, "return_word");
    if (inner->result == CASE_PASSED &&
        case_ok(inner,
                cv_rounds_evaluate(&s->rounds, &words, true, inner->arena, &form, &err),
                &err)) {
        inner->abs = inner->rel * s->rounds.load;
        expect_counts(inner, "worker", form.worker, form.nchunks);
        expect_numbers(inner, "units", form.units, form.nchunks);
        expect_number(inner, "T", form.closed_s);
        expect_number(inner, "port_time", form.port_s);
        expect_flag(inner, "nonnegative", form.nonnegative);
        if (form.nonnegative) {
            expect_counts(inner, "send_order", form.send_order, form.nchunks);
            expect_counts(inner, "return_order", form.back_order, form.nchunks);
            expect_number(inner, "simulated", form.makespan_s);
        }
        if (json_get(inner->out, "evaluate") != NULL &&
            case_ok(inner,
                    cv_rounds_evaluate(&s->rounds, &words, false, inner->arena, &best,
                                       &err),
                    &err))
            expect_number(inner, "evaluate", best.makespan_s);
    }
    close_group(s, &group);
}

/* A plan of chunks in the order sent, from chunks and orders as listed. */
static bool read_plan(struct vector_case *c, struct cv_rounds_plan *plan)
{
    uint32_t n, m, k;
    const uint32_t *worker = copy_counts(c, "worker", &plan->nchunks);
    const uint32_t *send = copy_counts(c, "send_order", &n);
    const uint32_t *back = copy_counts(c, "return_order", &m);
    uint32_t *number = cv_array(c->arena, plan->nchunks, sizeof *number);

    plan->worker = cv_array(c->arena, plan->nchunks, sizeof *plan->worker);
    plan->units = cv_array(c->arena, plan->nchunks, sizeof *plan->units);
    plan->back = cv_array(c->arena, plan->nchunks, sizeof *plan->back);
    plan->makespan_s = INFINITY;
    if (c->result != CASE_PASSED || n != plan->nchunks || m != n || number == NULL ||
        plan->worker == NULL || plan->units == NULL || plan->back == NULL) {
        case_fail(c, "expected two orders of as many chunks");
        return false;
    }
    for (k = 0; k < n; k++) {
        number[send[k]] = k;
        plan->worker[k] = worker[send[k]];
    }
    for (k = 0; k < n; k++)
        plan->back[k] = number[back[k]];
    return true;
}

static void check_lp(struct scene *s)
{
    const struct json *mixed, *optimum;
    struct cv_rounds_plan plan;
    struct cleave_error err;
    struct group group;
    struct vector_case *inner = &group.inner;

    if (!open_group(s, "lp", &group))
        return;
    expect_nothing(inner, "worker");
    expect_nothing(inner, "send_order");
    expect_nothing(inner, "return_order");
    inner->rel = s->lp_rel;
    if (read_plan(inner, &plan) &&
        case_ok(inner, cv_rounds_lp(&s->rounds, &plan, inner->arena, &err), &err))
        expect_number(inner, "optimum", plan.makespan_s);
    /* Results between sends never help: what that comes to is no less. */
    mixed = json_get(inner->out, "interleaved");
    optimum = json_get(mixed, "optimum");
    if (optimum != NULL && !(plan.makespan_s <= optimum->number * (1 + s->lp_rel)))
        case_fail(inner, "interleaved: %.17g is less than %.17g", optimum->number,
                  plan.makespan_s);
    expect_nothing(inner, "interleaved");
    close_group(s, &group);
}

static double best_of(struct scene *s, struct vector_case *inner,
                      enum cv_rounds_effort effort)
{
    struct cv_rounds_plan plan;
    struct cleave_error err;

    return case_ok(inner,
                   cv_rounds_best(&s->rounds, effort, 1, inner->arena, &plan, &err), &err)
               ? plan.makespan_s
               : NAN;
}

static void check_best(struct scene *s)
{
    struct cv_closed_form form;
    struct cleave_error err;
    struct cv_rounds_words words;
    struct group group;
    struct vector_case *inner = &group.inner;

    if (!open_group(s, "best", &group))
        return;
    words = read_words(inner);
    expect_nothing(inner, "send_word");
    expect_nothing(inner, "return_word");
    inner->rel = s->best_rel;
    if (inner->result == CASE_PASSED &&
        case_ok(inner,
                cv_rounds_evaluate(&s->rounds, &words, false, inner->arena, &form, &err),
                &err))
        expect_at_most(inner, "closed_form_at_most", form.makespan_s);
    expect_at_most(inner, "makespan_at_most", best_of(s, inner, CV_ROUNDS_THOROUGH));
    expect_at_most(inner, "fast_at_most", best_of(s, inner, CV_ROUNDS_FAST));
    close_group(s, &group);
}

/* A good bound is near the listed one; a valid bound is not beaten by the best known
 * plan. */
static void check_bound(struct scene *s)
{
    const struct json *best = json_get(json_get(s->c->out, "best"), "makespan_at_most");
    const double bound_s = cv_rounds_bound(&s->rounds, s->c->arena);
    struct group group;

    if (!open_group(s, "bound", &group))
        return;
    expect_at_least(&group.inner, "value", bound_s / 0.99);
    expect_nothing(&group.inner, "makespan_at_least");
    expect_nothing(&group.inner, "gap");
    if (best != NULL && !(bound_s <= best->number * (1 + s->lp_rel)))
        case_fail(&group.inner, "value: %.17g is above a plan that ends at %.17g",
                  bound_s, best->number);
    close_group(s, &group);
}

static void check_prices(struct scene *s)
{
    struct cv_price_steps tariff;
    struct cv_kinds kinds;
    struct group group;
    struct vector_case *inner = &group.inner;
    size_t nedges, nsend, nback;
    const double *edges, *send, *back;
    struct cv_port_use use;

    if (!open_group(s, "prices", &group))
        return;
    edges = case_numbers(inner, "edges", &nedges);
    send = case_numbers(inner, "send", &nsend);
    back = case_numbers(inner, "back", &nback);
    expect_nothing(inner, "edges");
    expect_nothing(inner, "send");
    expect_nothing(inner, "back");
    if (inner->result == CASE_PASSED && nsend + 1 == nedges && nback == nsend &&
        cv_price_steps_init(&tariff, (uint32_t)nsend, inner->arena) &&
        cv_port_use_init(&use, (uint32_t)nsend, inner->arena) &&
        cv_kinds_init(&kinds, &s->rounds.returns, NULL, inner->arena)) {
        tariff.cells = (uint32_t)nsend;
        memcpy(tariff.edge, edges, nedges * sizeof *edges);
        memcpy(tariff.send, send, nsend * sizeof *send);
        memcpy(tariff.back, back, nback * sizeof *back);
        cv_price_steps_sum(&tariff);
        inner->abs = inner->rel * s->rounds.load;
        expect_at_most(inner, "lagrangian_at_most",
                       cv_rounds_lagrangian(&s->rounds, &kinds, &tariff, &use) -
                           inner->abs);
    }
    close_group(s, &group);
}

static void run_rounds(struct vector_case *c)
{
    struct scene s;

    if (!read_scene(c, &s))
        return;
    check_closed_form(&s);
    check_lp(&s);
    check_best(&s);
    check_bound(&s);
    check_prices(&s);
}

const struct case_kind rounds_kinds[] = { { "", run_rounds }, { NULL, NULL } };
