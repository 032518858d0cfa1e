/* rounds_lp.c -- the best sizes for given orders of chunks. SPDX-License-Identifier: MIT
 *
 * For chunks i, j of one worker, j not before i: the sends up to i, the computations from i
 * to j and the returns from j on take at most the lifespan, and on a single port all messages
 * together. Most work subject to these rows is a linear program that begins feasible with
 * nothing. The work is concave in the lifespan, and the multipliers of the rows are its
 * slope, so that Newton's method finds the lifespan for a load, from below after its first
 * step. Where workers have little memory each size has a row of its own. */
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
    uint32_t *from, *to; /* of each row: chunks, in the order sent; or see below    */
    uint32_t *back;      /* chunk -> its place in the order of returning        */
    double *fixed_s;     /* of each row                                         */
    double *rows;        /* m x n, scaled                                       */
    double *own_s;
    struct cv_tableau tableau;
    double largest; /* scale of worth */
    double slope;   /* units per second more */
};

enum { PORT = UINT32_MAX, MEMORY = UINT32_MAX - 1 };

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
    part[2] = p->back[chunk] >= p->back[to];
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

/* Pairs of chunks of one worker; how many there are if `p` has no room for them yet. */
static uint32_t list_rows(struct program *p)
{
    uint32_t m = 0;

    for (uint32_t i = 0; i < p->n; i++)
        for (uint32_t j = i; j < p->n; j++) {
            if (p->plan->worker[j] != p->plan->worker[i])
                continue;
            if (p->from != NULL) {
                p->from[m] = i;
                p->to[m] = j;
            }
            m++;
        }
    if (p->rounds->returns.single) {
        if (p->from != NULL)
            p->from[m] = p->to[m] = PORT;
        m++;
    }
    for (uint32_t k = 0; p->rounds->memory != NULL && k < p->n; k++, m++)
        if (p->from != NULL) {
            p->from[m] = MEMORY;
            p->to[m] = k;
        }
    return m;
}

/* The most work in the lifespan, with units and slope; negative: it is too short. */
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

static bool set_up(struct program *p, struct cv_arena *arena)
{
    const size_t n = p->n, m = p->m = list_rows(p);

    p->from = cv_array(arena, m, sizeof *p->from);
    p->to = cv_array(arena, m, sizeof *p->to);
    p->back = cv_array(arena, n, sizeof *p->back);
    p->fixed_s = cv_array(arena, m, sizeof *p->fixed_s);
    p->rows = cv_array(arena, m, n * sizeof *p->rows);
    if (p->from == NULL || p->to == NULL || p->back == NULL || p->fixed_s == NULL ||
        p->rows == NULL || !CV_NEW(arena, p->own_s, n) ||
        !cv_tableau_init(&p->tableau, p->n, p->m, arena))
        return false;
    (void)list_rows(p);
    for (size_t k = 0; k < n; k++) {
        const struct cv_trip *t = trip_of(p, (uint32_t)k);

        p->back[p->plan->back[k]] = (uint32_t)k;
        p->own_s[k] = t->send_s + t->compute_s + t->back_s;
        p->largest = fmax(p->largest, 1 / p->own_s[k]);
    }
    set_rows(p);
    return true;
}

/* The sizes in `units`, scaled to the load, take the place of the plan's if they are better. */
static void consider(const struct program *p, struct cv_rounds_plan *plan, double *units,
                     double work, uint32_t *order, double *room)
{
    double end_s;

    for (uint32_t k = 0; k < p->n; k++) {
        units[k] *= p->rounds->load / work;
        order[k] = k;
    }
    end_s = cv_rounds_replay(&p->rounds->returns, plan->worker, units, order, plan->back,
                             p->n, room, room + p->n);
    if (!(end_s < plan->makespan_s))
        return;
    plan->makespan_s = end_s;
    memcpy(plan->units, units, p->n * sizeof *units);
}

/* What programs of these orders need. */
struct solving {
    struct program program;
    double *units, *room;
    uint32_t *order;
};

static bool prepare(struct solving *s, const struct cv_rounds *rounds,
                    const struct cv_rounds_plan *plan, struct cv_arena *arena)
{
    const uint32_t n = plan->nchunks;

    s->program = (struct program){ .rounds = rounds, .plan = plan, .n = n };
    s->units = cv_array(arena, n, sizeof *s->units);
    s->order = cv_array(arena, n, sizeof *s->order);
    s->room = cv_array(arena, (size_t)n + rounds->returns.n, sizeof *s->room);
    for (uint32_t k = 0; s->order != NULL && k < n; k++)
        s->order[k] = k;
    return s->units != NULL && s->order != NULL && s->room != NULL &&
           set_up(&s->program, arena);
}

/* Sizes for the load, and the lifespan that they take; false if it does not converge. */
static bool optimise(struct solving *s, double *lifespan_s)
{
    struct program *p = &s->program;
    const double load = p->rounds->load;

    if (isinf(*lifespan_s)) { /* no sizes yet: those of equal ones */
        for (uint32_t k = 0; k < p->n; k++)
            s->units[k] = load / p->n;
        *lifespan_s =
            cv_rounds_replay(&p->rounds->returns, p->plan->worker, s->units, s->order,
                             p->plan->back, p->n, s->room, s->room + p->n);
    }
    for (int step = 0; step < MOST_STEPS; step++) {
        const double work = solve(p, *lifespan_s, s->units);

        if (!(work > 0) || !(p->slope > 0))
            return false;
        if (fabs(work - load) <= 1e-11 * load)
            return true;
        if (step == MOST_STEPS - 1)
            return fabs(work - load) <= 1e-6 * load;
        *lifespan_s += (load - work) / p->slope;
        for (uint32_t i = 0; i < p->m; i++) /* nothing at all needs its time, too */
            if (p->from[i] != MEMORY)
                *lifespan_s = fmax(*lifespan_s, p->fixed_s[i] * (1 + 1e-12));
    }
    return false;
}

static bool is_small(const struct cv_rounds *rounds, const struct cv_rounds_plan *plan,
                     size_t max)
{
    struct program p = { .rounds = rounds, .plan = plan, .n = plan->nchunks };

    return p.n <= CV_ROUNDS_LP_MOST && (size_t)list_rows(&p) * p.n <= max;
}

enum cleave_status cv_rounds_lp(const struct cv_rounds *rounds,
                                struct cv_rounds_plan *plan, struct cv_arena *arena,
                                struct cleave_error *err)
{
    double lifespan_s = plan->makespan_s, work = 0;
    struct solving s;

    if (!is_small(rounds, plan, MOST_NUMBERS))
        return CLEAVE_OK;
    if (!prepare(&s, rounds, plan, arena))
        return cv_fail_memory(err, "the sizes of chunks");
    if (!optimise(&s, &lifespan_s))
        return CLEAVE_OK;
    for (uint32_t k = 0; k < plan->nchunks; k++)
        work += s.units[k];
    consider(&s.program, plan, s.units, work, s.order, s.room);
    return CLEAVE_OK;
}

enum cleave_status cv_rounds_lp_prices(const struct cv_rounds *rounds,
                                       struct cv_rounds_plan *plan, double *send,
                                       double *back, bool *out_known,
                                       struct cv_arena *arena, struct cleave_error *err)
{
    double lifespan_s = plan->makespan_s;
    struct solving s;

    *out_known = false;
    if (!is_small(rounds, plan, PRICES_MOST))
        return CLEAVE_OK;
    if (!prepare(&s, rounds, plan, arena))
        return cv_fail_memory(err, "prices");
    if (!optimise(&s, &lifespan_s))
        return CLEAVE_OK;
    for (uint32_t k = 0; k < plan->nchunks; k++) {
        send[k] = back[k] = 0;
        for (uint32_t j = 0; j < plan->nchunks; j++) {
            bool part[3];

            if (s.program.tableau.outside[j] < plan->nchunks)
                continue;
            parts_of(&s.program, s.program.tableau.outside[j] - plan->nchunks, k, part);
            send[k] -= part[0] ? s.program.tableau.worth[j] * s.program.largest : 0;
            back[k] -= part[2] ? s.program.tableau.worth[j] * s.program.largest : 0;
        }
    }
    memcpy(plan->units, s.units, plan->nchunks * sizeof *s.units);
    plan->makespan_s = lifespan_s;
    *out_known = true;
    return CLEAVE_OK;
}
