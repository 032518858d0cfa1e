/* rounds_lp.c -- the best sizes for given orders of chunks. SPDX-License-Identifier: MIT
 *
 * For chunks i, j of one worker, j not before i: the sends up to i, the computations from i
 * to j and the returns from j take at most the lifespan, and so do all messages on a single
 * port. The most work subject to these rows is a linear program for which 0 is feasible. The
 * work is concave in the lifespan, and its slope is the sum of the multipliers, so that
 * Newton's method finds the lifespan for a load, from below after its first step. If workers
 * have little memory, each size has a row. */
#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "model/rounds/rounds.h"
#include "model/simplex/simplex.h"

enum { MOST_STEPS = 12 };
/* Larger programs take too long. */
enum { MOST_NUMBERS = 60000, PRICES_MOST = 25000 };

struct program {
    const struct cv_rounds *rounds;
    const struct cv_rounds_plan *plan;
    uint32_t n, m;       /* chunks, rows                                        */
    uint32_t *from, *to; /* per row: i and j, or one of the constants below    */
    uint32_t *back;      /* per chunk: its place in the order of returning      */
    double *fixed_s;     /* per row: latencies                                  */
    double *rows;        /* m x n, scaled                                       */
    double *own_s;
    struct cv_tableau tableau;
    double largest;       /* scale of worth */
    double slope;         /* units per second of lifespan */
    double *units, *room; /* the solution, and for replays */
};

enum { PORT = UINT32_MAX, MEMORY = UINT32_MAX - 1 };
/* A chunk whose return has no place in the order yet. */
#define NO_PLACE UINT32_MAX

static const struct cv_trip *trip_of(const struct program *p, uint32_t chunk)
{
    return &p->rounds->returns.trips[p->plan->worker[chunk]];
}

/* Whether the messages and the computation of a chunk are part of a row. */
static void parts_of(const struct program *p, uint32_t row, uint32_t chunk, bool part[3])
{
    const uint32_t from = p->from[row], to = p->to[row];

    if (from == PORT) {
        part[0] = part[2] = true;
        part[1] = false;
        return;
    }
    if (from == MEMORY) {
        part[0] = part[1] = part[2] = chunk == to;
        return;
    }
    part[0] = chunk <= from;
    part[1] =
        chunk >= from && chunk <= to && p->plan->worker[chunk] == p->plan->worker[from];
    /* Returns without a place come before those with one. */
    if (p->back[chunk] == NO_PLACE)
        part[2] = chunk >= to && p->back[to] == NO_PLACE &&
                  p->plan->worker[chunk] == p->plan->worker[to];
    else
        part[2] = p->back[to] == NO_PLACE || p->back[chunk] >= p->back[to];
}

static void set_rows(struct program *p)
{
    for (uint32_t i = 0; i < p->m; i++) {
        p->fixed_s[i] = 0;
        for (uint32_t k = 0; k < p->n; k++) {
            const struct cv_trip *t = trip_of(p, k);
            bool part[3];

            parts_of(p, i, k, part);
            p->rows[(size_t)i * p->n + k] =
                ((part[0] ? t->send_s : 0) + (part[1] ? t->compute_s : 0) +
                 (part[2] ? t->back_s : 0)) /
                p->own_s[k];
            p->fixed_s[i] += (part[0] ? t->send_fixed_s : 0) +
                             (part[1] ? t->compute_fixed_s : 0) +
                             (part[2] ? t->back_fixed_s : 0);
        }
    }
}

/* Only counts the rows if `p` has no memory for them yet. */
static void add_row(const struct program *p, uint32_t from, uint32_t to, uint32_t *m)
{
    if (p->from != NULL) {
        p->from[*m] = from;
        p->to[*m] = to;
    }
    (*m)++;
}

/* Pairs of chunks of one worker, the port, and chunks whose worker has a memory limit. */
static uint32_t list_rows(struct program *p)
{
    const double *memory = p->rounds->memory;
    uint32_t m = 0;

    for (uint32_t i = 0; i < p->n; i++)
        for (uint32_t j = i; j < p->n; j++)
            if (p->plan->worker[j] == p->plan->worker[i])
                add_row(p, i, j, &m);
    if (p->rounds->returns.single)
        add_row(p, PORT, PORT, &m);
    for (uint32_t k = 0; memory != NULL && k < p->n; k++)
        if (!isinf(memory[p->plan->worker[k]]))
            add_row(p, MEMORY, k, &m);
    return m;
}

/* The most work in the lifespan, with units and slope; negative: the lifespan is too short. */
static double solve(struct program *p, double lifespan_s, double *units)
{
    struct cv_tableau *tableau = &p->tableau;
    double work = 0;

    memcpy(tableau->matrix, p->rows, (size_t)p->m * p->n * sizeof *p->rows);
    for (uint32_t i = 0; i < p->m; i++) {
        tableau->simplex.value[i] = p->from[i] == MEMORY
                                        ? p->rounds->memory[p->plan->worker[p->to[i]]] *
                                              p->own_s[p->to[i]] / lifespan_s
                                        : 1 - p->fixed_s[i] / lifespan_s;
        if (tableau->simplex.value[i] < 0)
            return -1;
    }
    for (uint32_t j = 0; j < p->n; j++)
        tableau->worth[j] = 1 / p->own_s[j] / p->largest;
    if (!cv_tableau_run(tableau, units))
        return -1;
    p->slope = 0;
    for (uint32_t j = 0; j < p->n; j++) {
        if (tableau->outside[j] >= p->n && p->from[tableau->outside[j] - p->n] != MEMORY)
            p->slope -= tableau->worth[j] * p->largest;
        units[j] *= lifespan_s / p->own_s[j];
        work += units[j];
    }
    return work;
}

/* Memory for `m` rows. */
static bool make_room(struct program *p, size_t m, struct cv_arena *arena)
{
    const size_t n = p->n;

    if (!CV_NEW(arena, p->from, m) || !CV_NEW(arena, p->to, m) ||
        !CV_NEW(arena, p->back, n) || !CV_NEW(arena, p->fixed_s, m) ||
        !CV_NEW(arena, p->rows, m * n) || !CV_NEW(arena, p->own_s, n) ||
        !CV_NEW(arena, p->units, n) || !CV_NEW(arena, p->room, n + p->rounds->returns.n))
        return false;
    return cv_tableau_init(&p->tableau, p->n, (uint32_t)m, arena);
}

/* The rows of the order of sends; returns have no place yet. */
static void set_sends(struct program *p)
{
    p->m = list_rows(p);
    cv_tableau_resize(&p->tableau, p->n, p->m);
    p->largest = 0;
    for (uint32_t k = 0; k < p->n; k++) {
        const struct cv_trip *t = trip_of(p, k);

        p->back[k] = NO_PLACE;
        p->own_s[k] = t->send_s + t->compute_s + t->back_s;
        p->largest = fmax(p->largest, 1 / p->own_s[k]);
    }
}

static bool set_up(struct program *p, struct cv_arena *arena)
{
    if (!make_room(p, list_rows(p), arena))
        return false;
    set_sends(p);
    for (uint32_t k = 0; k < p->n; k++)
        p->back[p->plan->back[k]] = k;
    set_rows(p);
    return true;
}

/* Sizes for the load and their lifespan; false if it does not converge. */
static bool optimise(struct program *p, double *lifespan_s)
{
    const double load = p->rounds->load;

    if (isinf(*lifespan_s)) { /* no sizes yet: take equal sizes */
        for (uint32_t k = 0; k < p->n; k++)
            p->units[k] = load / p->n;
        *lifespan_s = cv_rounds_replay(&p->rounds->returns, p->plan, p->units, p->room);
    }
    for (int step = 0; step < MOST_STEPS; step++) {
        const double work = solve(p, *lifespan_s, p->units);

        if (!(work > 0) || !(p->slope > 0))
            return false;
        if (fabs(work - load) <= 1e-11 * load)
            return true;
        if (step == MOST_STEPS - 1)
            return fabs(work - load) <= 1e-6 * load;
        *lifespan_s += (load - work) / p->slope;
        for (uint32_t i = 0; i < p->m; i++) /* latencies alone take their time */
            if (p->from[i] != MEMORY)
                *lifespan_s = fmax(*lifespan_s, p->fixed_s[i] * (1 + 1e-12));
    }
    return false;
}

/* Solve the program of a plan of at most `max` numbers; *out_solved: false if it is larger or
 * does not converge. */
static enum cleave_status solve_plan(struct program *p, const struct cv_rounds *rounds,
                                     const struct cv_rounds_plan *plan, size_t max,
                                     double *lifespan_s, bool *out_solved,
                                     struct cv_arena *arena, struct cleave_error *err)
{
    *p = (struct program){ .rounds = rounds, .plan = plan, .n = plan->nchunks };
    *lifespan_s = plan->makespan_s;
    *out_solved = false;
    if (p->n > CV_ROUNDS_LP_MOST || (size_t)list_rows(p) * p->n > max)
        return CLEAVE_OK;
    if (!set_up(p, arena))
        return cv_fail_memory(err, "the sizes of chunks");
    *out_solved = optimise(p, lifespan_s);
    return CLEAVE_OK;
}

enum cleave_status cv_rounds_lp(const struct cv_rounds *rounds,
                                struct cv_rounds_plan *plan, struct cv_arena *arena,
                                struct cleave_error *err)
{
    double lifespan_s, work = 0, end_s;
    struct program p;
    bool solved;

    CV_TRY(solve_plan(&p, rounds, plan, MOST_NUMBERS, &lifespan_s, &solved, arena, err));
    if (!solved)
        return CLEAVE_OK;
    for (uint32_t k = 0; k < plan->nchunks; k++)
        work += p.units[k];
    for (uint32_t k = 0; k < plan->nchunks; k++)
        p.units[k] *= rounds->load / work;
    end_s = cv_rounds_replay(&rounds->returns, plan, p.units, p.room);
    if (end_s < plan->makespan_s) {
        plan->makespan_s = end_s;
        memcpy(plan->units, p.units, plan->nchunks * sizeof *p.units);
    }
    return CLEAVE_OK;
}

enum cleave_status cv_rounds_lp_prices(const struct cv_rounds *rounds,
                                       struct cv_rounds_plan *plan, double *send,
                                       double *back, bool *out_known,
                                       struct cv_arena *arena, struct cleave_error *err)
{
    double lifespan_s;
    struct program p;

    CV_TRY(solve_plan(&p, rounds, plan, PRICES_MOST, &lifespan_s, out_known, arena, err));
    if (!*out_known)
        return CLEAVE_OK;
    for (uint32_t k = 0; k < plan->nchunks; k++) {
        send[k] = back[k] = 0;
        for (uint32_t j = 0; j < plan->nchunks; j++) {
            const double price = p.tableau.worth[j] * p.largest;
            bool part[3];

            if (p.tableau.outside[j] < plan->nchunks)
                continue;
            parts_of(&p, p.tableau.outside[j] - plan->nchunks, k, part);
            send[k] -= part[0] ? price : 0;
            back[k] -= part[2] ? price : 0;
        }
    }
    memcpy(plan->units, p.units, plan->nchunks * sizeof *p.units);
    plan->makespan_s = lifespan_s;
    return CLEAVE_OK;
}

/* --- every order of few chunks ------------------------------------------------------ */

/* The order of all sends is given, and then returns get their places, the last return first. A
 * chunk without a place returns before all that have one, and before the later chunks of its
 * worker: with these alone behind it, the program of a node bounds the work of all orders below
 * the node, in the time of the best plan so far. */

struct every {
    const struct cv_rounds *rounds;
    struct program program;
    struct cv_rounds_plan *best; /* the best plan so far */
    double load;                 /* units of the best plan */
    bool lasts; /* most work in the time of the plan, not its load sooner */
    struct cv_arena *arena;
    struct cleave_error *err;
};

/* A gain that is more than rounding. */
static const double GAIN = 1 + 1e-9;

static bool are_equal(const struct cv_trip *a, const struct cv_trip *b)
{
    return a->send_s == b->send_s && a->compute_s == b->compute_s &&
           a->back_s == b->back_s && a->send_fixed_s == b->send_fixed_s &&
           a->compute_fixed_s == b->compute_fixed_s && a->back_fixed_s == b->back_fixed_s;
}

/* Whether some worker comes before an equal one of a lower number. */
static bool is_repeated(const struct cv_rounds *rounds, const uint32_t *word, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t w = 0; w < word[k]; w++) {
            uint32_t at = 0;

            if (!are_equal(&rounds->returns.trips[w], &rounds->returns.trips[word[k]]) ||
                (rounds->memory != NULL && rounds->memory[w] != rounds->memory[word[k]]))
                continue;
            while (at < k && word[at] != w)
                at++;
            if (at == k)
                return true;
        }
    return false;
}

/* All returns have their places, and the program does more than the best plan. */
static enum cleave_status keep_better(struct every *every, double work)
{
    const struct program *p = &every->program;
    const double scale = every->lasts ? 1 : every->load / work;
    struct cv_rounds_plan plan;

    if (!cv_rounds_plan_init(&plan, p->n, every->arena))
        return cv_fail_memory(every->err, "the order of chunks");
    for (uint32_t k = 0; k < p->n; k++) {
        plan.worker[k] = p->plan->worker[k];
        plan.units[k] = p->units[k] * scale;
        plan.back[p->back[k]] = k;
    }
    plan.makespan_s =
        cv_rounds_replay(&every->rounds->returns, &plan, plan.units, p->room);
    if (every->lasts) {
        plan.makespan_s = every->best->makespan_s;
        every->load = work;
    } else {
        CV_TRY(cv_rounds_lp(every->rounds, &plan, every->arena, every->err));
        if (!(plan.makespan_s * GAIN < every->best->makespan_s))
            return CLEAVE_OK;
    }
    *every->best = plan;
    return CLEAVE_OK;
}

/* Give places to the `left` first returns. */
static enum cleave_status place_returns(struct every *every, uint32_t left)
{
    struct program *p = &every->program;
    double work;

    set_rows(p);
    cv_step_budget_spend(every->rounds->returns.budget, 8.0 * p->m * p->n);
    work = solve(p, every->best->makespan_s, p->units);
    if (!(work > every->load * GAIN))
        return CLEAVE_OK;
    if (left == 0)
        return keep_better(every, work);
    for (uint32_t k = p->n, later; k-- > 0;) {
        for (later = k + 1; later < p->n; later++)
            if (p->plan->worker[later] == p->plan->worker[k] &&
                p->back[later] == NO_PLACE)
                break;
        if (p->back[k] != NO_PLACE || later < p->n)
            continue;
        p->back[k] = left - 1;
        CV_TRY(place_returns(every, left - 1));
        p->back[k] = NO_PLACE;
    }
    return CLEAVE_OK;
}

/* All orders of `n` chunks. */
static enum cleave_status try_orders(struct every *every, uint32_t n)
{
    const uint32_t nworkers = every->rounds->returns.n;
    struct cv_rounds_plan plan;
    uint32_t at = 0;

    every->program = (struct program){ .rounds = every->rounds, .plan = &plan, .n = n };
    if (!cv_rounds_plan_init(&plan, n, every->arena) ||
        !make_room(&every->program, (size_t)n * (n + 1) / 2 + 1 + n, every->arena))
        return cv_fail_memory(every->err, "the orders of chunks");
    while (at < n && !cv_step_budget_over(every->rounds->returns.budget)) {
        if (!is_repeated(every->rounds, plan.worker, n)) {
            set_sends(&every->program);
            CV_TRY(place_returns(every, n));
        }
        for (at = 0; at < n && ++plan.worker[at] == nworkers; at++)
            plan.worker[at] = 0;
    }
    return CLEAVE_OK;
}

enum cleave_status cv_rounds_every_order(const struct cv_rounds *rounds, bool lasts,
                                         struct cv_arena *arena,
                                         struct cv_rounds_plan *plan, double *load,
                                         struct cleave_error *err)
{
    struct every every = { .rounds = rounds,
                           .best = plan,
                           .load = *load,
                           .lasts = lasts,
                           .arena = arena,
                           .err = err };

    if (rounds->returns.n > CV_EVERY_WORKERS)
        return CLEAVE_OK;
    for (uint32_t n = 1; n <= CV_EVERY_CHUNKS; n++)
        CV_TRY(try_orders(&every, n));
    *load = every.load;
    return CLEAVE_OK;
}
