/* returns_kinds.c -- cases of one round whose results come back.
 * SPDX-License-Identifier: MIT
 *
 * These cases have no kind: each lists, under a name each, what several solvers give for
 * one instance. A listed value that is a map is compared field by field. */
#include <math.h>
#include <string.h>

#include "kinds.h"
#include "model/returns/returns.h"
#include "model/returns/returns_bounds.h"
#include "model/returns/returns_search.h"

struct scene {
    struct vector_case *c;
    struct cv_returns duplex, single;
    double *rho, *pi, delta, lifespan_s;
    double rel, opt_rel;
    uint32_t n;
    struct cv_round_trip best; /* on the duplex port; no units when not computed */
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
    if (s->c->result != CASE_PASSED || map == NULL || map->kind == JSON_NULL)
        return false;
    group->name = name;
    group->inner = *s->c;
    group->inner.out = map;
    memset(group->inner.compared, 0, sizeof group->inner.compared);
    if (map->kind != JSON_MAP)
        case_fail(s->c, "%s: expected a map", name);
    return map->kind == JSON_MAP;
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

static bool read_scene(struct vector_case *c, struct scene *s)
{
    const struct json *opt_rel = json_get(c->tol, "opt_rel");
    size_t n, nrho, npi;
    double *tau = case_numbers(c, "tau", &n);
    struct cv_trip *trips = cv_array(c->arena, n, sizeof *trips);

    *s = (struct scene){ .c = c, .rel = c->rel, .n = (uint32_t)n };
    s->rho = case_numbers(c, "rho", &nrho);
    s->pi = case_numbers(c, "pi", &npi);
    s->delta = case_number(c, "delta");
    s->lifespan_s = case_number(c, "L");
    s->opt_rel = opt_rel != NULL ? opt_rel->number : c->rel;
    if (c->result != CASE_PASSED)
        return false;
    if (trips == NULL || n == 0 || nrho != n || npi != n) {
        case_fail(c, "input: expected as many tau, rho and pi, at least one");
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct cleave_worker worker = { 1 / s->rho[i], 0, 1 / tau[i], 0,
                                              1 / tau[i],    0 };
        const struct cv_trip *made = cv_trips(&worker, 1, s->delta, s->pi[i], c->arena);

        if (made == NULL) {
            case_fail(c, "out of memory");
            return false;
        }
        /* Links as listed, not after two divisions: ties must stay ties. */
        trips[i] = *made;
        trips[i].send_s = tau[i];
        trips[i].back_s = s->delta * tau[i];
    }
    s->duplex = (struct cv_returns){ trips, s->n, false, NULL };
    s->single = (struct cv_returns){ trips, s->n, true, NULL };
    return true;
}

/* A listed order as numbers of workers, or NULL. */
static uint32_t *read_order(struct scene *s, const struct json *map, const char *name,
                            uint32_t *out_n)
{
    const struct json *list = json_get(map, name);
    uint32_t *order;

    if (list == NULL || list->kind != JSON_LIST)
        return NULL;
    order = cv_array(s->c->arena, list->count, sizeof *order);
    for (size_t k = 0; order != NULL && k < list->count; k++) {
        if (list->items[k].kind != JSON_NUMBER || !(list->items[k].number >= 0) ||
            list->items[k].number >= s->n)
            return NULL;
        order[k] = (uint32_t)list->items[k].number;
    }
    *out_n = (uint32_t)list->count;
    return order;
}

/* --- comparing schedules ------------------------------------------------------------ */

static void expect_units(struct scene *s, struct group *group, const double *units)
{
    struct vector_case *inner = &group->inner;
    const double rel = inner->rel;
    double largest = 0;

    for (uint32_t i = 0; i < s->n; i++)
        largest = fmax(largest, fabs(units[i]));
    inner->abs = rel * largest;
    inner->rel = 0;
    expect_numbers(inner, "w", units, s->n);
    inner->rel = rel;
    inner->abs = 0;
}

static void expect_work(struct group *group, const struct cv_round_trip *trip)
{
    expect_number(&group->inner, "W", trip->work);
}

static void expect_schedule(struct scene *s, struct group *group,
                            const struct cv_round_trip *trip)
{
    uint32_t *dropped = cv_array(s->c->arena, s->n, sizeof *dropped), count = 0;

    if (dropped == NULL) {
        case_fail(s->c, "out of memory");
        return;
    }
    for (uint32_t i = 0; i < s->n; i++)
        if (trip->units[i] == 0)
            dropped[count++] = i;
    expect_work(group, trip);
    expect_counts(&group->inner, "sigma", trip->send, trip->n);
    expect_counts(&group->inner, "phi", trip->back, trip->n);
    expect_units(s, group, trip->units);
    expect_counts(&group->inner, "dropped", dropped, count);
}

static bool fits_single(const struct scene *s, const struct cv_round_trip *trip)
{
    return cv_returns_port_s(&s->single, trip) <= s->lifespan_s * (1 + 1e-12);
}

/* --- given orders ------------------------------------------------------------------- */

static void check_tight(struct scene *s, struct group *group, const uint32_t *send,
                        const uint32_t *back, uint32_t n)
{
    struct cv_round_trip trip;
    struct cleave_error err;
    double largest = 0;
    bool positive = true;

    if (!case_ok(s->c,
                 cv_returns_tight(&s->duplex, send, back, n, s->lifespan_s, s->c->arena,
                                  &trip, &err),
                 &err))
        return;
    for (uint32_t i = 0; i < s->n; i++)
        largest = fmax(largest, fabs(trip.units[i]));
    for (uint32_t i = 0; i < s->n; i++)
        positive = positive && trip.units[i] >= -1e-12 * largest;
    expect_counts(&group->inner, "sigma", trip.send, trip.n);
    expect_counts(&group->inner, "phi", trip.back, trip.n);
    expect_units(s, group, trip.units);
    expect_work(group, &trip);
    expect_flag(&group->inner, "nonnegative", positive);
    expect_number(&group->inner, "port_load", cv_returns_port_s(&s->duplex, &trip));
    expect_flag(&group->inner, "fits_duplex", positive);
    expect_flag(&group->inner, "fits_single", positive && fits_single(s, &trip));
}

static bool solve_given(struct scene *s, const struct cv_returns *returns,
                        const uint32_t *send, const uint32_t *back, uint32_t n,
                        struct cv_round_trip *trip)
{
    struct cleave_error err;

    return case_ok(s->c,
                   cv_returns_given(returns, send, back, n, s->lifespan_s, s->c->arena,
                                    trip, &err),
                   &err);
}

static void check_given(struct scene *s)
{
    const struct json *given = json_get(s->c->out, "given");
    uint32_t n = 0, m = 0, *send = read_order(s, given, "sigma", &n);
    uint32_t *back = read_order(s, given, "phi", &m);
    struct cv_round_trip trip;
    struct group group;

    if (given == NULL)
        return;
    if (send == NULL || back == NULL || n != m) {
        case_fail(s->c, "given: expected two orders of the same workers");
        return;
    }
    if (open_group(s, "given", &group)) {
        check_tight(s, &group, send, back, n);
        close_group(s, &group);
    }
    if (open_group(s, "given_best_duplex", &group) &&
        solve_given(s, &s->duplex, send, back, n, &trip)) {
        expect_schedule(s, &group, &trip);
        close_group(s, &group);
    }
    if (open_group(s, "given_best_single", &group) &&
        solve_given(s, &s->single, send, back, n, &trip)) {
        group.inner.rel = s->opt_rel;
        expect_work(&group, &trip);
        close_group(s, &group);
    }
}

/* --- FIFO, LIFO, small results ------------------------------------------------------ */

typedef enum cleave_status plain_solver(const struct cv_returns *returns,
                                        double lifespan_s, struct cv_arena *arena,
                                        struct cv_round_trip *out,
                                        struct cleave_error *err);

static void check_plain(struct scene *s, const char *name,
                        const struct cv_returns *returns, plain_solver *solve)
{
    struct cv_round_trip trip;
    struct cleave_error err;
    struct group group;

    if (!open_group(s, name, &group) ||
        !case_ok(s->c, solve(returns, s->lifespan_s, s->c->arena, &trip, &err), &err))
        return;
    expect_schedule(s, &group, &trip);
    expect_flag(&group.inner, "fits_single", fits_single(s, &trip));
    close_group(s, &group);
}

static void check_small(struct scene *s)
{
    double *keys = cv_array(s->c->arena, s->n, sizeof *keys);
    double *sorted = cv_array(s->c->arena, s->n, sizeof *sorted);
    struct cv_round_trip trip;
    struct cleave_error err;
    struct group group;

    if (!open_group(s, "small_delta", &group))
        return;
    if (keys == NULL || sorted == NULL) {
        case_fail(s->c, "out of memory");
        return;
    }
    if (!case_ok(s->c,
                 cv_returns_small(&s->duplex, s->lifespan_s, s->c->arena, &trip, keys,
                                  &err),
                 &err))
        return;
    for (uint32_t k = 0; k < trip.n; k++)
        sorted[k] = keys[trip.send[k]];
    expect_counts(&group.inner, "sigma", trip.send, trip.n);
    expect_counts(&group.inner, "phi", trip.back, trip.n);
    expect_numbers(&group.inner, "key_in_sigma_order", sorted, trip.n);
    close_group(s, &group);
}

/* --- optima and bounds -------------------------------------------------------------- */

static bool exact(struct scene *s, const struct cv_returns *returns,
                  struct cv_round_trip *trip)
{
    struct cleave_error err;

    /* The most workers take long: what fits a single port is best there as well. */
    if (returns->single && s->n >= CV_EXACT_MOST && s->best.units != NULL &&
        fits_single(s, &s->best)) {
        *trip = s->best;
        return true;
    }
    return case_ok(s->c,
                   cv_returns_exact(returns, s->lifespan_s, s->c->arena, trip, &err),
                   &err);
}

/* If other orders or shares are as good, the listed ones must still be as good. */
static void check_listed_orders(struct scene *s, struct group *group,
                                const struct cv_returns *returns)
{
    uint32_t n = 0, m = 0, *send = read_order(s, group->inner.out, "sigma", &n);
    uint32_t *back = read_order(s, group->inner.out, "phi", &m);
    struct cv_round_trip trip;

    if (send == NULL || back == NULL || n != m)
        case_fail(s->c, "%s: expected two orders of the same workers", group->name);
    else if (solve_given(s, returns, send, back, n, &trip))
        expect_work(group, &trip);
    expect_nothing(&group->inner, "sigma");
    expect_nothing(&group->inner, "phi");
    expect_nothing(&group->inner, "w");
    expect_nothing(&group->inner, "dropped");
}

/* Returns the optimum, or 0 when it is not listed. */
static double check_optimum(struct scene *s, const char *name,
                            const struct cv_returns *returns)
{
    const struct json *unique;
    struct cv_round_trip trip;
    struct group group;

    if (!open_group(s, name, &group) || !exact(s, returns, &trip))
        return 0;
    if (!returns->single)
        s->best = trip;
    unique = json_get(group.inner.out, "unique");
    group.inner.rel = s->opt_rel;
    expect_work(&group, &trip);
    if (unique != NULL && unique->flag)
        expect_schedule(s, &group, &trip);
    else
        check_listed_orders(s, &group, returns);
    expect_nothing(&group.inner, "unique");
    expect_nothing(&group.inner, "ties_found");
    close_group(s, &group);
    return trip.work;
}

/* The convex bound is at most the listed one, and never below a feasible value. */
static void check_bound(struct scene *s, const char *name,
                        const struct cv_returns *returns, double reached)
{
    const double bound = cv_returns_bound_convex(returns, s->lifespan_s, s->c->arena);

    s->c->rel = s->opt_rel;
    expect_at_most(s->c, name, bound);
    s->c->rel = s->rel;
    if (!(bound >= reached * (1 - s->rel)))
        case_fail(s->c, "%s: expected at least the %.17g that is reached, got %.17g",
                  name, reached, bound);
}

static void check_optima(struct scene *s)
{
    const struct cv_search_effort effort = { .starts = 5, .kicks = 30, .seed = 1 };
    double duplex = check_optimum(s, "opt_duplex", &s->duplex);
    const double single = check_optimum(s, "opt_single", &s->single);
    struct cv_round_trip trip;
    struct cleave_error err;

    if (json_get(s->c->out, "opt_duplex_at_least") != NULL &&
        case_ok(s->c,
                cv_returns_search(&s->duplex, s->lifespan_s, &effort, s->c->arena, &trip,
                                  &err),
                &err)) {
        duplex = trip.work;
        expect_at_least(s->c, "opt_duplex_at_least", duplex);
    }
    check_bound(s, "opt_duplex_at_most", &s->duplex, duplex);
    check_bound(s, "opt_single_at_most", &s->single, single);
    expect_flag(s->c, "lifo_proved_optimal",
                cv_returns_lifo_proved(&s->duplex, s->c->arena));
}

static void check_bounds(struct scene *s)
{
    struct cv_arena *arena = s->c->arena;
    struct group group;

    if (!open_group(s, "bounds", &group))
        return;
    group.inner.rel = s->opt_rel;
    expect_number(&group.inner, "no_returns",
                  cv_returns_bound_free(&s->duplex, s->lifespan_s, arena));
    expect_number(&group.inner, "polymatroid_duplex",
                  cv_returns_bound_prefix(&s->duplex, s->lifespan_s, arena));
    expect_number(&group.inner, "polymatroid_single",
                  cv_returns_bound_prefix(&s->single, s->lifespan_s, arena));
    close_group(s, &group);
}

/* --- least time --------------------------------------------------------------------- */

/* A solver without a context: the context points to the function. */
static enum cleave_status call_plain(void *context, const struct cv_returns *returns,
                                     double lifespan_s, struct cv_arena *arena,
                                     struct cv_round_trip *out, struct cleave_error *err)
{
    plain_solver *const *solve = context;

    return (*solve)(returns, lifespan_s, arena, out, err);
}

/* The optimum that was found, for another lifespan: there are no fixed costs. */
static enum cleave_status call_best(void *context, const struct cv_returns *returns,
                                    double lifespan_s, struct cv_arena *arena,
                                    struct cv_round_trip *out, struct cleave_error *err)
{
    const struct scene *s = context;

    if (s->best.units == NULL)
        return cv_returns_exact(returns, lifespan_s, arena, out, err);
    return cv_returns_given(returns, s->best.send, s->best.back, s->best.n, lifespan_s,
                            arena, out, err);
}

static void check_time(struct scene *s, struct group *group, const char *name,
                       struct cv_returns_solver solver, double work)
{
    struct cv_round_trip trip;
    struct cleave_error err;

    if (json_get(group->inner.out, name) != NULL &&
        case_ok(s->c,
                cv_returns_for_work(&s->duplex, &solver, work, s->c->arena, &trip, &err),
                &err))
        expect_number(&group->inner, name, trip.lifespan_s);
}

static void check_makespan(struct scene *s)
{
    plain_solver *lifo = cv_returns_lifo, *fifo = cv_returns_fifo;
    const struct json *work;
    struct group group;

    if (!open_group(s, "makespan", &group))
        return;
    work = json_get(group.inner.out, "work");
    expect_nothing(&group.inner, "work");
    if (work == NULL || work->kind != JSON_NUMBER) {
        case_fail(s->c, "makespan.work: expected a number");
        return;
    }
    check_time(s, &group, "lifo", (struct cv_returns_solver){ call_plain, &lifo, false },
               work->number);
    check_time(s, &group, "fifo_pruned",
               (struct cv_returns_solver){ call_plain, &fifo, false }, work->number);
    group.inner.rel = s->opt_rel;
    check_time(s, &group, "opt_duplex", (struct cv_returns_solver){ call_best, s, true },
               work->number);
    close_group(s, &group);
}

/* --- two facts of the theory -------------------------------------------------------- */

static double listed_number(const struct json *map, const char *name, size_t at)
{
    const struct json *value = json_get(map, name);

    if (value != NULL && value->kind == JSON_LIST && at < value->count)
        value = &value->items[at];
    return value != NULL && value->kind == JSON_NUMBER ? value->number : NAN;
}

static void check_interchanged(struct scene *s)
{
    double *send = cv_array(s->c->arena, s->n, sizeof *send), ratio = NAN;
    struct cv_returns turned;
    struct cleave_error err;
    struct group group;

    if (!open_group(s, "interchanged", &group) ||
        !case_ok(s->c, cv_returns_interchange(&s->duplex, s->c->arena, &turned, &err),
                 &err))
        return;
    for (uint32_t i = 0; send != NULL && i < s->n; i++) {
        const struct json *map = group.inner.out;
        const double compute_s =
            listed_number(map, "rho", i) +
            (1 + listed_number(map, "delta", 0)) * listed_number(map, "pi", i);

        send[i] = turned.trips[i].send_s;
        if (!(fabs(turned.trips[i].compute_s - compute_s) <= s->rel * compute_s))
            case_fail(s->c, "interchanged: expected %.17g s of computing, got %.17g",
                      compute_s, turned.trips[i].compute_s);
    }
    if (send == NULL || !cv_returns_uniform(&turned, &ratio)) {
        case_fail(s->c, "interchanged: expected one ratio of results to load");
        return;
    }
    expect_numbers(&group.inner, "tau", send, s->n);
    expect_number(&group.inner, "delta", ratio);
    expect_number(&group.inner, "L", s->lifespan_s);
    expect_nothing(&group.inner, "rho");
    expect_nothing(&group.inner, "pi");
    close_group(s, &group);
}

static void run_returns(struct vector_case *c)
{
    struct scene s;
    double *compute;

    if (!read_scene(c, &s))
        return;
    compute = cv_array(c->arena, s.n, sizeof *compute);
    if (compute == NULL) {
        case_fail(c, "out of memory");
        return;
    }
    for (uint32_t i = 0; i < s.n; i++)
        compute[i] = s.duplex.trips[i].compute_s;
    expect_numbers(c, "R", compute, s.n);
    check_given(&s);
    check_plain(&s, "lifo", &s.duplex, cv_returns_lifo);
    check_plain(&s, "fifo_all", &s.duplex, cv_returns_fifo_all);
    check_plain(&s, "fifo_pruned", &s.duplex, cv_returns_fifo);
    check_plain(&s, "fifo_single", &s.single, cv_returns_fifo);
    check_small(&s);
    check_interchanged(&s);
    if (s.n == 2)
        expect_number(c, "n2_crossover_for_tau2",
                      cv_returns_crossover(compute[0], s.delta,
                                           s.duplex.trips[1].send_s));
    check_bounds(&s);
    check_optima(&s);
    check_makespan(&s);
}

const struct case_kind returns_kinds[] = {
    { "", run_returns },
    { NULL, NULL },
};
