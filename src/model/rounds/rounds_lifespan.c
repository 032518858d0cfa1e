/* rounds_lifespan.c -- the most work in a lifespan, in several rounds.
 * SPDX-License-Identifier: MIT
 *
 * The makespan grows with the load, nearly along a line: loads are planned for until the
 * makespan is near the lifespan, at the wanted effort in the end. But plans come from a search,
 * which finds a better one for one load than for another, so that it may never be near. All
 * sizes of each plan are scaled so that it ends in time, to the last digits, and the plan
 * that does most then is taken. */
#include <math.h>

#include "base/fail.h"
#include "model/rounds/rounds.h"

enum { MOST_PLANS = 12, MOST_HALVES = 60 };
/* Near enough to scale. */
static const double NEAR = 1e-3;
/* Plans for much less are not worth scaling. */
static const double MOST_GROWTH = 2;
/* Less of what all workers could compute is nothing. */
static const double NOTHING = 1e-9;

/* The makespan of a plan with all sizes scaled. */
static double scaled_s(const struct cv_returns *returns,
                       const struct cv_rounds_plan *plan, double scale, double *units,
                       uint32_t *order, double *room)
{
    for (uint32_t k = 0; k < plan->nchunks; k++) {
        units[k] = plan->units[k] * scale;
        order[k] = k;
    }
    return cv_rounds_replay(returns, plan->worker, units, order, plan->back,
                            plan->nchunks, room, room + plan->nchunks);
}

/* Scale the plan by `most` or less, so that it ends by the lifespan; false: not even without
 * units. */
static bool fit(const struct cv_returns *returns, double lifespan_s, double max,
                struct cv_rounds_plan *plan, struct cv_arena *arena, double *out_scale)
{
    double *units = cv_array(arena, plan->nchunks, sizeof *units);
    double *room = cv_array(arena, (size_t)plan->nchunks + returns->n, sizeof *room);
    uint32_t *order = cv_array(arena, plan->nchunks, sizeof *order);
    double low = 0, high = max;

    if (units == NULL || room == NULL || order == NULL)
        return false;
    for (int i = 0; i < MOST_HALVES; i++) {
        const double middle = low + (high - low) / 2;

        if (scaled_s(returns, plan, middle, units, order, room) <= lifespan_s)
            low = middle;
        else
            high = middle;
    }
    plan->makespan_s = scaled_s(returns, plan, low, units, order, room);
    plan->units = units;
    *out_scale = low;
    return low > 0 && plan->makespan_s <= lifespan_s;
}

/* Two loads and when they end. */
struct bracket {
    double low, low_s, high, high_s;
};

/* The next load to plan for, on the line between both ends of the bracket. */
static double next_load(const struct bracket *bracket, double lifespan_s)
{
    double load;

    if (isinf(bracket->high))
        return 2 * bracket->low;
    load = bracket->low + (bracket->high - bracket->low) * (lifespan_s - bracket->low_s) /
                              (bracket->high_s - bracket->low_s);
    return fmax(load, bracket->low + 0.01 * (bracket->high - bracket->low));
}

/* What all sizes may be scaled by: no chunk outgrows the memory of its worker. */
static double room_to_grow(const struct cv_rounds *rounds,
                           const struct cv_rounds_plan *plan)
{
    double max = MOST_GROWTH;

    for (uint32_t k = 0; rounds->memory != NULL && k < plan->nchunks; k++)
        max = fmin(max, rounds->memory[plan->worker[k]] / plan->units[k]);
    return max;
}

/* Plans for a lifespan, and the one that does most in it. */
struct hunt {
    double lifespan_s, load; /* units */
    struct cv_arena *arena;
    struct cv_rounds_plan best;
};

/* The plan for a load, scaled to end in time, if it does more than the best so far. Its own
 * makespan is told. */
static enum cleave_status try_load(struct hunt *hunt, const struct cv_rounds *rounds,
                                   enum cv_rounds_effort effort, uint64_t seed,
                                   double *out_s, struct cleave_error *err)
{
    struct cv_rounds_plan plan;
    double scale = 0;

    CV_TRY(cv_rounds_best(rounds, effort, seed, hunt->arena, &plan, err));
    *out_s = plan.makespan_s;
    if (fit(&rounds->returns, hunt->lifespan_s, room_to_grow(rounds, &plan), &plan,
            hunt->arena, &scale) &&
        rounds->load * scale > hunt->load) {
        hunt->best = plan;
        hunt->load = rounds->load * scale;
    }
    return CLEAVE_OK;
}

enum cleave_status cv_rounds_for_lifespan(const struct cv_returns *returns,
                                          const double *memory, double lifespan_s,
                                          enum cv_rounds_effort effort, uint64_t seed,
                                          struct cv_arena *arena,
                                          struct cv_rounds_plan *out, double *out_load,
                                          struct cleave_error *err)
{
    struct hunt hunt = { .lifespan_s = lifespan_s, .arena = arena };
    struct bracket bracket = { 0, 0, INFINITY, INFINITY };
    struct cv_rounds rounds = { *returns, 0, memory };
    double min, end_s;

    for (uint32_t i = 0; i < returns->n; i++)
        rounds.load += lifespan_s / returns->trips[i].compute_s;
    min = NOTHING * rounds.load;
    for (int i = 0; i < MOST_PLANS && rounds.load > min; i++) {
        CV_TRY(try_load(&hunt, &rounds, CV_ROUNDS_FAST, seed, &end_s, err));
        if (fabs(end_s / lifespan_s - 1) < NEAR)
            break;
        if (end_s > lifespan_s) {
            bracket.high = rounds.load;
            bracket.high_s = end_s;
        } else {
            bracket.low = rounds.load;
            bracket.low_s = end_s;
        }
        rounds.load = next_load(&bracket, lifespan_s);
    }
    if (effort != CV_ROUNDS_FAST && hunt.load > min) {
        rounds.load = hunt.load;
        CV_TRY(try_load(&hunt, &rounds, effort, seed, &end_s, err));
    }
    *out = hunt.best;
    *out_load = hunt.load > min ? hunt.load : 0;
    if (!(hunt.load > min))
        out->nchunks = 0;
    return CLEAVE_OK;
}
