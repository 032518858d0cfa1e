/* varied_plan.c -- plans for workers with profiles: changing speeds and absences.
 * SPDX-License-Identifier: MIT
 *
 * For an end T, chunks are handed out from the beginning: the next one goes to the worker
 * that becomes idle first (or returns first), and its k-th chunk computes for first *
 * growth^k seconds; if little would be left until T, it ends exactly at T. Times follow
 * from the integrals of the profiles. So all end together, and bisection finds the
 * earliest T for which the units U(T) are the load. Rounds grow as in umr; a grid of
 * `first` and `growth` is tried, from many small chunks to one for each worker. O(chunks
 * log workers) for each T; some hundred of them: 5 ms for 10 workers. No optimum is
 * promised. Results are not planned for. */
#include "policy/static/varied_plan.h"

#include <math.h>

#include "base/fail.h"
#include "base/heap.h"
#include "model/platform/profile.h"

enum { HALVINGS = 9, MOST_STEPS = 60, MOST_SOLVES = 60, MOST_EACH = 24, LARGE = 200 };

static const double growths[] = { 1, 1.25, 1.6, 2.2, 4 };
/* A chunk is the last one if the time left after it is less than this fraction of its own
 * time. */
static const double REST = 0.5;
/* Relative gain of a better T; accuracy of T. */
static const double GAIN = 1e-6, CLOSE = 1e-13;
/* Part of the work before an absence that is certainly done. */
static const double SAFE = 1 - 1e-9;
/* Part of the load that is complete except for rounding. */
static const double ENOUGH = 1 - 1e-12;
/* Nanoseconds to hand out a chunk, and the last one of a worker. */
static const double chunk_steps = 60, last_steps = 500;

/* How chunks begin and grow. */
struct shape {
    double first_s, growth;
};

/* A worker that may be given more, and when all its chunks are done. */
struct idle {
    double from_s, bandwidth_ups;
    uint32_t worker;
};

static bool is_before(const struct idle *a, const struct idle *b)
{
    if (a->from_s != b->from_s)
        return a->from_s < b->from_s;
    if (a->bandwidth_ups != b->bandwidth_ups)
        return a->bandwidth_ups > b->bandwidth_ups;
    return a->worker < b->worker;
}

CV_HEAP(idle, struct idle, is_before)

struct fill {
    const struct cleave_view *view;
    double *ready, *port, *next_s; /* per worker */
    struct idle *idle;             /* heap */
    size_t nidle;
    struct cv_plan plan; /* with space for `room` chunks */
    size_t room;
    bool one_round;
    struct cv_step_budget *budget; /* NULL: no limit */
};

static double send_end(const struct cleave_view *view, uint32_t w, double begin_s,
                       double units)
{
    return cv_profile_arrival(&view->profiles[w], &view->workers[w], begin_s, units);
}

static double compute_end(const struct cleave_view *view, uint32_t w, double begin_s,
                          double units)
{
    return cv_profile_computed(&view->profiles[w], &view->workers[w], begin_s, units);
}

/* Units that a worker computes from begin_s, its start-up included, to end_s. */
static double units_between(const struct cleave_view *view, uint32_t w, double begin_s,
                            double end_s)
{
    const double from_s = begin_s + view->workers[w].compute_latency_s;

    return from_s < end_s ? view->workers[w].speed_ups *
                                cv_profile_work(&view->profiles[w], from_s, end_s)
                          : 0;
}

/* When the last worker ends, without results: cv_plan_makespan with the profiles of the
 * view. `ready` and `port` have a double per worker. */
static double makespan_of(const struct cleave_view *view, const struct cv_plan *plan,
                          double *ready, double *port)
{
    const bool multi = view->port == CLEAVE_PORT_MULTI;
    double end_s = 0;

    for (uint32_t w = 0; w < view->nworkers; w++)
        ready[w] = port[w] = 0;
    for (size_t k = 0; k < plan->nchunks; k++) {
        const uint32_t w = plan->worker[k];
        double *free_s = &port[multi ? w : 0];

        *free_s = send_end(view, w, *free_s, plan->units[k]);
        ready[w] = compute_end(view, w, fmax(ready[w], *free_s), plan->units[k]);
        end_s = fmax(end_s, ready[w]);
    }
    return end_s;
}
/* An absent worker needs nothing before it returns. */
static void push(struct fill *fill, uint32_t w)
{
    const struct idle idle = {
        cv_profile_back(&fill->view->profiles[w], fill->ready[w]),
        fill->view->workers[w].bandwidth_ups,
        w,
    };

    idle_push(fill->idle, fill->nidle++, idle);
}
/* --- sizes -------------------------------------------------------------------------- */

static double end_with(const struct fill *fill, uint32_t w, double port_s, double units)
{
    return compute_end(fill->view, w,
                       fmax(fill->ready[w], send_end(fill->view, w, port_s, units)),
                       units);
}

/* The most units, up to `max`, that end by T. */
static double last_chunk(const struct fill *fill, uint32_t w, double port_s, double max,
                         double end_s)
{
    double low = 0, high = max;

    if (end_with(fill, w, port_s, max) <= end_s)
        return max;
    for (int i = 0; i < MOST_SOLVES && high - low > 1e-15 * high; i++) {
        const double middle = low + (high - low) / 2;

        if (end_with(fill, w, port_s, middle) <= end_s)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Units of the next chunk of a worker; *out_last: it is the last one. */
static double size_of(const struct fill *fill, uint32_t w, double port_s, double end_s,
                      bool *out_last)
{
    const struct cleave_view *view = fill->view;
    const struct cleave_profile *profile = &view->profiles[w];
    const double begin_s =
        fmax(fill->ready[w],
             cv_profile_back(profile, port_s + view->workers[w].latency_s));
    const double from_s = begin_s + view->workers[w].compute_latency_s;
    const double max = units_between(view, w, begin_s, end_s);
    double units;

    *out_last = true;
    if (!(max > 0))
        return 0;
    if (!fill->one_round && from_s + (1 + REST) * fill->next_s[w] < end_s) {
        units = units_between(view, w, begin_s, from_s + fill->next_s[w]);
        if (units > 0 && end_with(fill, w, port_s, units) < end_s) {
            *out_last = false;
            return units;
        }
    }
    /* Work that is unfinished when a worker leaves for ever is lost: stay below it. */
    return last_chunk(fill, w, port_s, max, end_s) *
           (cv_profile_leaves(profile) ? SAFE : 1);
}

/* Hand out chunks that end by T, up to the load; returns their units. */
static double hand_out(struct fill *fill, const struct shape *shape, double end_s)
{
    const struct cleave_view *view = fill->view;
    const bool multi = view->port == CLEAVE_PORT_MULTI;
    const double load = view->units_total;
    double left = load;

    fill->plan.nchunks = fill->nidle = 0;
    for (uint32_t w = 0; w < view->nworkers; w++) {
        fill->ready[w] = fill->port[w] = 0;
        fill->next_s[w] = shape->first_s;
        push(fill, w);
    }
    while (fill->nidle > 0 && left > 0 && fill->plan.nchunks < fill->room) {
        const uint32_t w = idle_pop(fill->idle, fill->nidle--).worker;
        double *port = &fill->port[multi ? w : 0];
        bool last;
        double units = fmin(left, size_of(fill, w, *port, end_s, &last));

        if (view->memory != NULL && units > view->memory[w]) {
            units = view->memory[w];
            last = false;
        }

        if (!(units > 1e-13 * load))
            continue;
        *port = send_end(view, w, *port, units);
        fill->ready[w] = compute_end(view, w, fmax(fill->ready[w], *port), units);
        fill->next_s[w] *= shape->growth;
        fill->plan.worker[fill->plan.nchunks] = w;
        fill->plan.units[fill->plan.nchunks++] = units;
        left -= units;
        if (!last)
            push(fill, w);
    }
    cv_step_budget_spend(fill->budget, chunk_steps * (double)fill->plan.nchunks +
                                           last_steps * view->nworkers);
    return load - fmax(0, left);
}

static bool does_it(struct fill *fill, const struct shape *shape, double end_s)
{
    return hand_out(fill, shape, end_s) >= fill->view->units_total * ENOUGH;
}

/* --- the search --------------------------------------------------------------------- */

/* A time at which some worker alone has done it, or after which nothing changes. */
static double late_enough(const struct fill *fill)
{
    const struct cleave_view *view = fill->view;
    double best_s = INFINITY, last_s = 0;

    for (uint32_t w = 0; w < view->nworkers; w++)
        best_s =
            fmin(best_s, compute_end(view, w, send_end(view, w, 0, view->units_total),
                                     view->units_total));
    for (uint32_t w = 0; w < view->nworkers; w++)
        if (view->profiles[w].nsteps > 0)
            last_s = fmax(last_s,
                          view->profiles[w].steps[view->profiles[w].nsteps - 1].from_s);
    return isinf(best_s) ? last_s : best_s;
}

/* Try a shape; keep it if all can end sooner than *end_s, which is then set. Secant steps
 * from below the root, with bisection now and then. */
static bool try_shape(struct fill *fill, const struct shape *shape, double *end_s)
{
    const double load = fill->view->units_total;
    double low = 0, low_units = 0, high = *end_s * (1 - GAIN), slope = load / high;

    if (!does_it(fill, shape, high))
        return false;
    for (int i = 1; i < MOST_STEPS && high - low > CLOSE * high; i++) {
        double guess = low + 1.0001 * (load - low_units) / slope, units;

        if (i % 4 == 0 || !(guess > low && guess < high))
            guess = low + (high - low) / 2;
        units = hand_out(fill, shape, guess);
        if (units >= load * ENOUGH) {
            high = guess;
            continue;
        }
        if (units > low_units)
            slope = (units - low_units) / (guess - low);
        low = guess;
        low_units = units;
    }
    *end_s = high;
    return true;
}

static struct shape best_shape(struct fill *fill, double *end_s)
{
    struct shape best = { *end_s, 1 };
    const int halvings = fill->one_round                ? 0
                         : fill->view->nworkers > LARGE ? 4
                                                        : HALVINGS;
    const double longest_s = *end_s;

    for (int i = 0; i <= halvings; i++)
        for (size_t g = 0; g < sizeof growths / sizeof *growths; g++) {
            const struct shape shape = { ldexp(longest_s, -i), growths[g] };

            if (i == 0 && g > 0)
                break; /* one chunk for each */
            if (i > 0 && cv_step_budget_over(fill->budget))
                return best;
            if (try_shape(fill, &shape, end_s))
                best = shape;
        }
    for (double factor = 1.3; factor > 1.02 && !fill->one_round; factor = sqrt(factor)) {
        const struct shape tries[] = { { best.first_s * factor, best.growth },
                                       { best.first_s / factor, best.growth },
                                       { best.first_s, best.growth * factor },
                                       { best.first_s, fmax(1, best.growth / factor) } };

        for (size_t i = 0; i < sizeof tries / sizeof *tries; i++)
            if (!cv_step_budget_over(fill->budget) && try_shape(fill, &tries[i], end_s))
                best = tries[i];
    }
    return best;
}

static bool grow_array(struct fill *fill, struct cv_arena *arena)
{
    const uint32_t n = fill->view->nworkers;

    fill->ready = cv_array(arena, n, sizeof *fill->ready);
    fill->port = cv_array(arena, n, sizeof *fill->port);
    fill->next_s = cv_array(arena, n, sizeof *fill->next_s);
    fill->idle = cv_array(arena, n, sizeof *fill->idle);
    fill->room = 64 + (size_t)n * MOST_EACH; /* more are rarely worth their search */
    return fill->ready != NULL && fill->port != NULL && fill->next_s != NULL &&
           fill->idle != NULL && cv_plan_init(&fill->plan, arena, fill->room);
}

enum cleave_status cv_varied_plan(const struct cleave_view *view, bool one_round,
                                  const struct cv_plan *other, struct cleave_setup *setup,
                                  struct cv_plan *out, double *out_s,
                                  struct cleave_error *err)
{
    struct fill fill = { .view = view, .one_round = one_round, .budget = setup->budget };
    struct shape best;
    double end_s, other_s = INFINITY;

    if (!grow_array(&fill, setup->arena))
        return cv_fail_memory(err, "a plan");
    if (other != NULL)
        other_s = makespan_of(view, other, fill.ready, fill.port);
    end_s = late_enough(&fill) * (1 + 2 * GAIN);
    best = best_shape(&fill, &end_s);
    if (!does_it(&fill, &best, end_s) && isinf(other_s))
        return cv_fail(err, CLEAVE_EINPUT,
                       "no plan was found for %g units while workers are present: "
                       "expected less, or longer times",
                       view->units_total);
    cv_plan_settle(&fill.plan, view->units_total);
    *out_s = makespan_of(view, &fill.plan, fill.ready, fill.port);
    *out = fill.plan;
    if (other != NULL && other_s <= *out_s) {
        *out = *other;
        *out_s = other_s;
    }
    return CLEAVE_OK;
}
