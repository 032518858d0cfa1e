/* returns_bounds.c -- upper bounds on the work of schedules with results.
 * SPDX-License-Identifier: MIT
 *
 * Every bound is the bound of a simpler instance: one ratio of return to send cost, at
 * most 1, no fixed costs, workers by nondecreasing link time. In it, with h_k the most
 * link time that any schedule can spend on the k fastest links, a polymatroid gives the
 * prefix bound: sum over k of (h_k - h_(k-1)) / link_k. */
#include "model/returns/returns_bounds.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include "base/compare.h"
#include "model/returns/returns_internal.h"

/* --- the convex relaxation of a round with results, by interior point -------------- */

/* A primal-dual predictor-corrector method. Every row is about a prefix, so a step of
 * Newton's method is a control problem: the state after worker k is the change of
 * (P_k, Q_k), with Q_k = weight_1 p_1^2 + ... + weight_k p_k^2; the control is the
 * change of p_k; it moves the state by (1, 2 weight_k p_k). Dynamic programming from
 * the last worker to the first with a quadratic function of two numbers solves it in
 * O(n); the full matrix of the rows would take O(n^3).
 *
 * For any multipliers >= 0 the maximum of the Lagrangian over all p bounds the
 * problem. It is found the same way, with P_k alone as the state. Every iterate gives
 * such a bound and the least is the answer, so a bad iterate costs sharpness only. */

enum { MOST_ITERATIONS = 300 };
static const double gap_wanted = 2e-10; /* relative                                     */
static const double to_the_wall = 0.99; /* part of the way to where a variable is 0     */
static const double step_least = 1e-9;
static const double step_blocked = 3e-3; /* at most this far: step to the middle */
static const double miss_weight = 10;    /* weight of violated rows */

/* A constraint in slack form: its slack, its multiplier, and their changes. */
struct pair {
    double slack, price;
    double dslack, dprice;
    double aim; /* slack x price wanted, minus the present product */
};

/* The control at worker k as a function of the state before it. */
struct plan {
    double ka, kb, start; /* p_k changes by start - ka dP - kb dQ if rows are loose  */
    double all, turn, det;
    double r, q, across; /* prices of row and cap, for an unchanged state           */
};

/* One worker: its part of the point, of the rows, and of the quadratic function. */
struct stage {
    double gain, weight, cap;
    double p, sum, squares;    /* p_k, P_k, Q_k                                     */
    double prices;             /* prices of quadratic rows k, k + 1, ...: weighs p_k^2 */
    double steep;              /* derivative of row k by P_k                        */
    double off, off_cap;       /* errors of the rows: row + slack */
    double off_dual;           /* derivative of the Lagrangian by p_k               */
    double bend;               /* second order part of the change of row k          */
    double aim_off, aim_dual;  /* parts of off and off_dual that a step removes */
    struct pair row, top, low; /* quadratic row, cap, p_k >= 0                      */
    struct plan plan;
};

struct solver {
    struct stage *stages;
    uint32_t n;
    double pair;
    double unit; /* gains are divided by this */
};

/* A symmetric quadratic function of the state: its matrix and its linear part. */
struct form {
    double aa, ab, bb;
    double a, b;
};

static double fill_gains(struct solver *solver, const struct cv_convex *convex)
{
    double unit = 0, before = 0;

    for (uint32_t k = 0; k < convex->n; k++) {
        const struct cv_convex_worker *worker = &convex->workers[k];

        unit += (worker->cap - before) * worker->gain;
        before = worker->cap;
    }
    for (uint32_t k = 0; k < convex->n; k++) {
        const struct cv_convex_worker *worker = &convex->workers[k];

        solver->stages[k].gain = worker->gain / unit;
        solver->stages[k].weight = worker->weight;
        solver->stages[k].cap = worker->cap;
    }
    return unit;
}

/* p_k = c / weight_k meets all quadratic rows if c (1 + pair sum 1 / weight) <= 1. Half
 * of the smaller of that and the caps is well inside. */
static void begin(struct solver *solver)
{
    const double first = 1.0 / (3.0 * solver->n); /* slack x price; the sum of all is 1 */
    double sum = 0, room = INFINITY, c;

    for (uint32_t k = 0; k < solver->n; k++) {
        sum += 1 / solver->stages[k].weight;
        room = fmin(room, solver->stages[k].cap / sum);
    }
    c = 0.5 * fmin(1 / (1 + solver->pair * sum), room);
    sum = 0;
    for (uint32_t k = 0; k < solver->n; k++) {
        struct stage *stage = &solver->stages[k];

        stage->p = c / stage->weight;
        sum += stage->p;
        stage->row.slack = sum - c * sum - solver->pair * sum * sum;
        stage->top.slack = stage->cap - sum;
        stage->low.slack = stage->p;
        stage->row.price = first / stage->row.slack;
        stage->top.price = first / stage->top.slack;
        stage->low.price = first / stage->low.slack;
    }
}

/* Sums and residuals of the point. Returns the mean of slack x price. */
static double evaluate(struct solver *solver)
{
    double sum = 0, squares = 0, gap = 0, prices = 0, slope = 0;

    for (uint32_t k = 0; k < solver->n; k++) {
        struct stage *stage = &solver->stages[k];

        sum += stage->p;
        squares += stage->weight * stage->p * stage->p;
        stage->sum = sum;
        stage->squares = squares;
        stage->steep = 2 * solver->pair * sum - 1;
        stage->off = squares + solver->pair * sum * sum - sum + stage->row.slack;
        stage->off_cap = sum - stage->cap + stage->top.slack;
        gap += stage->row.slack * stage->row.price + stage->top.slack * stage->top.price +
               stage->p * stage->low.price;
    }
    for (uint32_t k = solver->n; k-- > 0;) {
        struct stage *stage = &solver->stages[k];

        prices += stage->row.price;
        slope += stage->row.price * stage->steep + stage->top.price;
        stage->prices = prices;
        stage->off_dual = slope + 2 * stage->weight * stage->p * prices - stage->gain -
                          stage->low.price;
    }
    return gap / (3.0 * solver->n);
}

/* The value of the point made feasible by shrinking it. */
static double reached(const struct solver *solver)
{
    double value = 0, shrink = 1;

    for (uint32_t k = 0; k < solver->n; k++) {
        const struct stage *stage = &solver->stages[k];
        const double load = stage->squares + solver->pair * stage->sum * stage->sum;

        value += stage->gain * stage->p;
        shrink = fmin(shrink, fmin(stage->cap / stage->sum, stage->sum / load));
    }
    return value * shrink;
}

/* The maximum of the Lagrangian. The value from worker k + 1 is value + slope P -
 * curve / 2 P^2 in P = P_k. */
static double dual(const struct solver *solver)
{
    double value = 0, slope = 0, curve = 0, prices = 0;

    for (uint32_t k = solver->n; k-- > 0;) {
        const struct stage *stage = &solver->stages[k];
        double own, pull, all;

        prices += stage->row.price;
        slope += stage->row.price - stage->top.price;
        curve += 2 * solver->pair * stage->row.price;
        value += stage->top.price * stage->cap;
        own = 2 * stage->weight * prices;
        pull = stage->gain + stage->low.price;
        all = own + curve;
        value += (pull + slope) * (pull + slope) / (2 * all);
        slope = (own * slope - curve * pull) / all;
        curve = own * curve / all;
    }
    return value;
}

/* Minimise over the change of p_k and maximise over the changes of the prices of its
 * row and cap; `form` changes from a function of the state after k to one of the state
 * before. Nearly tight rows stay rows, with give = slack / price, instead of stiff
 * squares: all squares are of moderate size, so that nothing is lost however small the
 * give. */
static void eliminate(const struct solver *solver, struct stage *stage, struct form *form)
{
    const struct pair *row = &stage->row, *top = &stage->top;
    const double move = 2 * stage->weight * stage->p;
    const double own = 2 * stage->weight * stage->prices + stage->low.price / stage->p;
    const double aa = form->aa + 2 * solver->pair * row->price;
    const double to_a = aa + form->ab * move, to_b = form->ab + form->bb * move;
    const double all = own + to_a + to_b * move, ka = to_a / all, kb = to_b / all;
    /* The state after k is (1 - ka, -kb; -move ka, 1 - move kb) x the state before. */
    const double m00 = 1 - ka, m01 = -kb, m10 = -move * ka, m11 = 1 - move * kb;
    const double t00 = aa * m00 + form->ab * m10, t01 = aa * m01 + form->ab * m11;
    const double t10 = form->ab * m00 + form->bb * m10;
    const double t11 = form->ab * m01 + form->bb * m11;
    const double linear =
        stage->aim_dual - stage->low.aim / stage->p + form->a + form->b * move;
    /* The row's slopes by state and control; the cap's are (1, 0) and 1. */
    const double turn = stage->steep + move, start = -linear / all;
    const double va = stage->steep - turn * ka, vb = 1 - turn * kb;
    const double give = row->slack / row->price, give_cap = top->slack / top->price;
    const double det = give * give_cap + (give + give_cap * turn * turn) / all;
    const double f = give_cap / det, g = give / det, h = 1 / (all * det);
    const double miss = stage->aim_off + row->aim / row->price;
    const double miss_cap = stage->off_cap + top->aim / top->price;
    const double r = f * (miss + turn * start), q = g * (miss_cap + start);
    const double across = h * (miss - turn * miss_cap);

    stage->plan = (struct plan){ ka, kb, start, all, turn, det, r, q, across };
    form->aa = m00 * t00 + m10 * t10 + own * ka * ka + f * va * va + g * m00 * m00 +
               h * move * move;
    form->ab =
        m00 * t01 + m10 * t11 + own * ka * kb + f * va * vb + g * m00 * m01 - h * move;
    form->bb = m01 * t01 + m11 * t11 + own * kb * kb + f * vb * vb + g * m01 * m01 + h;
    form->a += va * r + m00 * q - move * across - ka * linear;
    form->b += vb * r + m01 * q + across - kb * linear;
}

/* The changes of worker k for the state (sum, squares) before it. */
static void follow(struct stage *stage, double *sum, double *squares)
{
    const struct plan *plan = &stage->plan;
    const double move = 2 * stage->weight * stage->p, turn = plan->turn;
    const double drift = plan->ka * *sum + plan->kb * *squares;
    const double give = stage->row.slack / stage->row.price;
    const double give_cap = stage->top.slack / stage->top.price;
    const double across =
        plan->across + (*squares - move * *sum) / (plan->all * plan->det);
    const double row =
        plan->r + give_cap / plan->det * (stage->steep * *sum + *squares - turn * drift);
    const double top = plan->q + give / plan->det * (*sum - drift);

    stage->row.dprice = row + across;
    stage->top.dprice = top - turn * across;
    stage->low.dslack =
        plan->start - drift - (turn * stage->row.dprice + stage->top.dprice) / plan->all;
    *sum += stage->low.dslack;
    *squares += move * stage->low.dslack;
    stage->row.dslack = -stage->aim_off - *squares - stage->steep * *sum;
    stage->top.dslack = -stage->off_cap - *sum;
    stage->low.dprice =
        (stage->low.aim - stage->low.price * stage->low.dslack) / stage->p;
}

/* Newton's step for the aims. */
static void newton(struct solver *solver)
{
    struct form form = { 0 };
    double sum = 0, squares = 0, bend = 0;

    for (uint32_t k = solver->n; k-- > 0;)
        eliminate(solver, &solver->stages[k], &form);
    for (uint32_t k = 0; k < solver->n; k++) {
        struct stage *stage = &solver->stages[k];

        follow(stage, &sum, &squares);
        bend += stage->weight * stage->low.dslack * stage->low.dslack;
        stage->bend = bend + solver->pair * sum * sum;
    }
}

static double aim_of(const struct pair *pair, double target, double learned)
{
    return target - pair->slack * pair->price - learned * pair->dslack * pair->dprice;
}

/* Aim at slack x price = target, with `learned` (0 to 1) of the terms of second order
 * of the last step. */
static void aim(struct solver *solver, double target, double learned)
{
    double sum = 0, prices = 0, slope = 0;

    for (uint32_t k = 0; k < solver->n; k++)
        sum += solver->stages[k].low.dslack;
    for (uint32_t k = solver->n; k-- > 0;) {
        struct stage *stage = &solver->stages[k];

        prices += stage->row.dprice;
        slope += 2 * solver->pair * stage->row.dprice * sum;
        sum -= stage->low.dslack;
        stage->aim_dual =
            stage->off_dual +
            learned * (slope + 2 * stage->weight * stage->low.dslack * prices);
        stage->aim_off = stage->off + learned * stage->bend;
        stage->row.aim = aim_of(&stage->row, target, learned);
        stage->top.aim = aim_of(&stage->top, target, learned);
        stage->low.aim = aim_of(&stage->low, target, learned);
    }
}

/* The longest step, at most `step`, that leaves slack and price >= 0. */
static double room_of(const struct pair *pair, double step)
{
    if (pair->dslack < 0)
        step = fmin(step, -pair->slack / pair->dslack);
    if (pair->dprice < 0)
        step = fmin(step, -pair->price / pair->dprice);
    return step;
}

static double longest(const struct solver *solver, double max)
{
    for (uint32_t k = 0; k < solver->n; k++) {
        max = room_of(&solver->stages[k].row, max);
        max = room_of(&solver->stages[k].top, max);
        max = room_of(&solver->stages[k].low, max);
    }
    return max;
}

static void move_pair(struct pair *pair, double step)
{
    pair->slack += step * pair->dslack;
    pair->price += step * pair->dprice;
}

static double product_after(const struct pair *pair, double step)
{
    struct pair after = *pair;

    move_pair(&after, step);
    return after.slack * after.price;
}

static double gap_after(const struct solver *solver, double step)
{
    double gap = 0;

    for (uint32_t k = 0; k < solver->n; k++)
        gap += product_after(&solver->stages[k].row, step) +
               product_after(&solver->stages[k].top, step) +
               product_after(&solver->stages[k].low, step);
    return gap / (3.0 * solver->n);
}

static double to_make(const struct solver *solver)
{
    return fmin(1, to_the_wall * longest(solver, 1 / to_the_wall));
}

/* The effect of the rows that are not met on the value, spread over all. */
static double missing(const struct solver *solver)
{
    double sum = 0;

    for (uint32_t k = 0; k < solver->n; k++)
        sum += solver->stages[k].row.price * fabs(solver->stages[k].off);
    return sum / (3.0 * solver->n);
}

/* A predictor step, which is not made, and a corrector step; if that is blocked, one
 * towards the middle. Returns its length. */
static double iterate(struct solver *solver, double gap)
{
    const double miss = miss_weight * missing(solver);
    double step, left, target;

    aim(solver, 0, 0);
    newton(solver);
    step = longest(solver, 1);
    left = gap_after(solver, step) / gap;
    /* Prices must not settle before the rows are met. */
    target = fmax(left * left * left * gap, (1 - step) * miss);
    aim(solver, target, 1);
    newton(solver);
    step = to_make(solver);
    if (!(step > step_blocked)) {
        aim(solver, fmax(0.5 * gap, miss), 0);
        newton(solver);
        step = to_make(solver);
    }
    if (!(step > 0))
        return 0;
    for (uint32_t k = 0; k < solver->n; k++) {
        struct stage *stage = &solver->stages[k];

        move_pair(&stage->row, step);
        move_pair(&stage->top, step);
        move_pair(&stage->low, step);
        stage->p = stage->low.slack;
    }
    return step;
}

double cv_convex_bound(const struct cv_convex *convex, struct cv_arena *scratch,
                       struct cv_convex_report *out)
{
    struct solver solver = { .n = convex->n, .pair = convex->pair };
    struct cv_convex_report report = { .bound = INFINITY };
    double step = 1;

    if (!CV_NEW(scratch, solver.stages, convex->n))
        return NAN;
    solver.unit = fill_gains(&solver, convex);
    begin(&solver);
    while (report.iterations < MOST_ITERATIONS && step > step_least) {
        const double gap = evaluate(&solver);

        report.reached = fmax(report.reached, reached(&solver));
        report.bound = fmin(report.bound, dual(&solver));
        if (!(report.bound - report.reached > gap_wanted * report.bound) || !(gap > 0))
            break;
        step = iterate(&solver, gap);
        report.iterations++;
    }
    report.reached *= solver.unit;
    report.bound *= solver.unit;
    if (out != NULL)
        *out = report;
    return report.bound;
}

/* --- the bounds -------------------------------------------------------------------- */

/* Common ratios to try if ratios differ. */
enum { MOST_RATIOS = 9 };
static const double ratios_alike = 1e-9;

/* The instance without fixed costs. */
struct linear {
    const struct cv_trip *trips;
    uint32_t n;
    double lifespan_s; /* left for all rows                                          */
    double port_s;     /* left for a single port; INFINITY when there is none        */
    bool spread;       /* the other costs include the fixed costs */
};

/* A worker of the simpler instance: seconds per unit. */
struct link {
    double link_s, compute_s;
};

struct simple {
    struct link *links; /* by nondecreasing link_s                                   */
    uint32_t n;
    double ratio; /* a return takes ratio x link_s, 0 <= ratio <= 1                  */
    double lifespan_s;
    double max; /* limit for the sum of all link times, as a fraction of the lifespan */
};

struct prefix {
    double left; /* product of (R + ratio link) / (R + link): 1 at first             */
    double sent; /* (1 - left) / (1 - ratio), also for ratio 1 */
    double h;    /* sent / (1 + ratio sent): most link time, as a part of L           */
    double work; /* polymatroid bound, as a part of L                                */
};

CV_ORDER_BY_TWO(by_link, struct link, link_s, compute_s)

/* The most that a worker can do in the lifespan, alone. */
static double alone(const struct cv_trip *trip, double lifespan_s)
{
    return (lifespan_s - cv_trip_once_s(trip)) / cv_trip_unit_s(trip);
}

/* A worker that takes part pays its fixed costs and does no more than it could alone:
 * so each unit takes at least this much more. */
static struct cv_trip spread(const struct cv_trip *trip, double lifespan_s)
{
    const double max = alone(trip, lifespan_s);

    return (struct cv_trip){ .send_s = trip->send_s + trip->send_fixed_s / max,
                             .compute_s = trip->compute_s + trip->compute_fixed_s / max,
                             .back_s = trip->back_s + trip->back_fixed_s / max };
}

/* Remove fixed costs, and workers whose own leave them no time: spread them over the
 * units, or take the least sum of one worker from the lifespan of all. False when
 * memory is short. */
static bool make_linear(const struct cv_returns *returns, double lifespan_s, bool spreads,
                        struct cv_arena *scratch, struct linear *out)
{
    double min = INFINITY, least_port = INFINITY;
    struct cv_trip *trips;

    if (cv_returns_linear(returns)) {
        *out = (struct linear){ returns->trips, returns->n, lifespan_s,
                                returns->single ? lifespan_s : INFINITY, false };
        return true;
    }
    if (!CV_NEW(scratch, trips, returns->n))
        return false;
    *out = (struct linear){ trips, 0, 0, INFINITY, spreads };
    for (uint32_t i = 0; i < returns->n; i++) {
        const struct cv_trip *trip = &returns->trips[i];

        if (!(alone(trip, lifespan_s) > 0))
            continue;
        min = fmin(min, cv_trip_once_s(trip));
        least_port = fmin(least_port, trip->send_fixed_s + trip->back_fixed_s);
        trips[out->n++] = spreads ? spread(trip, lifespan_s) : *trip;
    }
    if (out->n == 0)
        return true;
    out->lifespan_s = lifespan_s - (spreads ? 0 : min);
    if (returns->single)
        out->port_s = lifespan_s - (spreads ? 0 : least_port);
    return true;
}

/* Lower the costs of all workers to a common ratio of return to send cost, from 0 to
 * INFINITY. Read forwards a worker has min(send, back / ratio), backwards, with the
 * inverse ratio, min(back, send / inverse). `links` has room for all. */
static struct simple simplify(const struct linear *linear, double ratio,
                              struct link *links)
{
    const bool forwards = ratio <= 1;
    struct simple simple = { links, linear->n, forwards ? ratio : 1 / ratio,
                             linear->lifespan_s, INFINITY };

    for (uint32_t i = 0; i < linear->n; i++) {
        const struct cv_trip *trip = &linear->trips[i];
        const double out_s = forwards ? trip->send_s : trip->back_s;
        const double home_s = forwards ? trip->back_s : trip->send_s;

        links[i].link_s = simple.ratio > 0 ? fmin(out_s, home_s / simple.ratio) : out_s;
        links[i].compute_s = trip->compute_s;
    }
    if (linear->port_s < INFINITY)
        simple.max = linear->port_s / linear->lifespan_s / (1 + simple.ratio);
    qsort(links, linear->n, sizeof *links, by_link);
    return simple;
}

/* Take one more link. Nothing here is a difference of nearly equal numbers. */
static void extend(const struct simple *simple, const struct link *link,
                   struct prefix *prefix)
{
    const double ratio = simple->ratio, both = link->compute_s + link->link_s;
    const double more = prefix->left / both, before = prefix->h;
    const double sent = prefix->sent + more * link->link_s;

    if (before < simple->max) {
        const double gain = more / ((1 + ratio * sent) * (1 + ratio * prefix->sent));

        prefix->h = sent / (1 + ratio * sent);
        if (prefix->h > simple->max) {
            prefix->h = simple->max;
            prefix->work += fmin(gain, (simple->max - before) / link->link_s);
        } else {
            prefix->work += gain;
        }
    }
    prefix->sent = sent;
    prefix->left *= (link->compute_s + ratio * link->link_s) / both;
}

/* The prefix bound of the simpler instance. */
static double prefix_bound(const struct simple *simple)
{
    struct prefix prefix = { .left = 1 };

    for (uint32_t k = 0; k < simple->n; k++)
        extend(simple, &simple->links[k], &prefix);
    return prefix.work * simple->lifespan_s;
}

/* Fill `ratios` with common ratios to try, none twice; 0 when memory is short. */
static uint32_t choose_ratios(const struct linear *linear, struct cv_arena *scratch,
                              double *ratios)
{
    double *all = cv_array(scratch, linear->n, sizeof *all);
    uint32_t count = 0;

    if (all == NULL)
        return 0;
    for (uint32_t i = 0; i < linear->n; i++)
        all[i] = linear->trips[i].back_s / linear->trips[i].send_s;
    qsort(all, linear->n, sizeof *all, cv_compare_doubles);
    for (uint32_t i = 0; i < MOST_RATIOS; i++) {
        const uint64_t at = (uint64_t)(linear->n - 1) * i / (MOST_RATIOS - 1);

        if (i == 0 || all[at] - ratios[count - 1] > ratios_alike * all[at])
            ratios[count++] = all[at];
    }
    return count;
}

/* Most work if no worker does more than it could alone, while their sends, their
 * returns, or on a single port both, take no longer than the time: a fractional
 * knapsack, cheapest first. `links` has room for all. */
static double knapsack(const struct linear *linear, bool sends, bool returns,
                       struct link *links)
{
    double room = sends && returns ? linear->port_s : linear->lifespan_s, work = 0;

    for (uint32_t i = 0; i < linear->n; i++) {
        const struct cv_trip *trip = &linear->trips[i];

        links[i].link_s = (sends ? trip->send_s : 0) + (returns ? trip->back_s : 0);
        links[i].compute_s =
            trip->compute_s + (sends ? 0 : trip->send_s) + (returns ? 0 : trip->back_s);
    }
    qsort(links, linear->n, sizeof *links, by_link);
    for (uint32_t i = 0; i < linear->n && room > 0; i++) {
        const double max = linear->lifespan_s / (links[i].link_s + links[i].compute_s);
        const double takes = max * links[i].link_s;

        work += takes > room ? room / links[i].link_s : max;
        room -= takes;
    }
    return work;
}

enum strength { FREE, PREFIX, CONVEX };

/* The convex bound of the simpler instance; INFINITY if its numbers are out of range. */
static double convex_bound(const struct simple *simple, struct cv_arena *scratch)
{
    struct cv_convex_worker *workers = cv_array(scratch, simple->n, sizeof *workers);
    const struct cv_convex convex = { workers, simple->n, (1 + simple->ratio) / 2 };
    struct prefix prefix = { .left = 1 };

    if (workers == NULL)
        return NAN;
    for (uint32_t k = 0; k < simple->n; k++) {
        const struct link *link = &simple->links[k];
        struct cv_convex_worker *worker = &workers[k];

        extend(simple, link, &prefix);
        worker->gain = 1 / link->link_s;
        worker->weight = link->compute_s / link->link_s + convex.pair;
        worker->cap = prefix.h;
        if (!isnormal(worker->gain) || !isnormal(worker->weight) ||
            !isnormal(worker->cap))
            return INFINITY;
    }
    return cv_convex_bound(&convex, scratch, NULL) * simple->lifespan_s;
}

/* The least bound over the common ratios. */
static double bound_linear(const struct linear *linear, enum strength strength,
                           struct cv_arena *scratch)
{
    double ratios[MOST_RATIOS] = { 0, INFINITY }, bound = INFINITY;
    struct link *links = cv_array(scratch, linear->n, sizeof *links);
    const uint32_t count = strength == FREE ? 2 : choose_ratios(linear, scratch, ratios);

    if (links == NULL || count == 0)
        return NAN;
    for (uint32_t i = 0; i < count; i++) {
        struct simple simple = simplify(linear, ratios[i], links);

        if (strength == FREE)
            simple.max = INFINITY;
        bound = fmin(bound, prefix_bound(&simple));
        if (strength == CONVEX) {
            struct cv_arena room; /* scratch for one ratio */
            double convex;

            cv_arena_init(&room);
            convex = convex_bound(&simple, &room);
            cv_arena_done(&room);
            if (isnan(convex))
                return NAN;
            bound = fmin(bound, convex);
        }
    }
    if (strength != FREE && (linear->spread || count > 1)) {
        bound = fmin(bound, knapsack(linear, true, false, links));
        bound = fmin(bound, knapsack(linear, false, true, links));
        if (linear->port_s < INFINITY)
            bound = fmin(bound, knapsack(linear, true, true, links));
    }
    return bound;
}

static double bound_of(const struct cv_returns *returns, double lifespan_s,
                       enum strength strength, struct cv_arena *scratch)
{
    const int ways = cv_returns_linear(returns) ? 1 : 2;
    double bound = INFINITY;

    for (int way = 0; way < ways; way++) {
        struct linear linear;
        double own;

        if (!make_linear(returns, lifespan_s, way == 1, scratch, &linear))
            return NAN;
        if (linear.n == 0)
            return 0;
        own = bound_linear(&linear, strength, scratch);
        if (isnan(own))
            return NAN;
        bound = fmin(bound, own);
    }
    return bound;
}

double cv_returns_bound_free(const struct cv_returns *returns, double lifespan_s,
                             struct cv_arena *scratch)
{
    return bound_of(returns, lifespan_s, FREE, scratch);
}

double cv_returns_bound_prefix(const struct cv_returns *returns, double lifespan_s,
                               struct cv_arena *scratch)
{
    return bound_of(returns, lifespan_s, PREFIX, scratch);
}

double cv_returns_bound_convex(const struct cv_returns *returns, double lifespan_s,
                               struct cv_arena *scratch)
{
    return bound_of(returns, lifespan_s, returns->n > CV_CONVEX_MOST ? PREFIX : CONVEX,
                    scratch);
}

/* The instance of the theory: one ratio, no fixed costs. False if there is none, with
 * *out_short when memory was short. */
static bool as_in_theory(const struct cv_returns *returns, struct cv_arena *scratch,
                         struct simple *out, bool *out_short)
{
    struct linear linear;
    struct link *links;
    double ratio;

    *out_short = false;
    if (returns->n == 0 || !cv_returns_linear(returns) ||
        !cv_returns_uniform(returns, &ratio))
        return false;
    links = cv_array(scratch, returns->n, sizeof *links);
    *out_short = links == NULL || !make_linear(returns, 1, false, scratch, &linear);
    if (*out_short)
        return false;
    *out = simplify(&linear, ratio, links);
    return true;
}

/* LIFO meets every quadratic prefix row with equality. Multipliers for which it solves
 * the relaxation follow from the last row back; with g_i = R_i / (R_i + (1 + ratio)
 * link_i) and N_i the sum of the multipliers from i times g_1 ... g_(i-1),
 *
 *     N_i = 1 / link_i - 1 / link_(i+1) + g_(i+1) N_(i+1),
 *
 * and they are all >= 0 if g_i N_i >= N_(i+1). The ratio may be above 1: reading
 * schedules backwards changes nothing here. */
bool cv_returns_lifo_proved(const struct cv_returns *returns, struct cv_arena *scratch)
{
    struct simple simple;
    double sum, margin;
    bool out_of_memory;

    if (!as_in_theory(returns, scratch, &simple, &out_of_memory))
        return false;
    margin = 1 + 16 * DBL_EPSILON * simple.n; /* against rounding */
    sum = 1 / simple.links[simple.n - 1].link_s;
    for (uint32_t i = simple.n - 1; i-- > 0;) {
        const struct link *here = &simple.links[i], *next = here + 1;
        const double both = 1 + simple.ratio;
        const double g = here->compute_s / (here->compute_s + both * here->link_s);
        const double g_next = next->compute_s / (next->compute_s + both * next->link_s);
        const double before = sum;

        sum = (next->link_s - here->link_s) / here->link_s / next->link_s + g_next * sum;
        if (!(g * sum >= before * margin))
            return false;
    }
    return true;
}

/* LIFO against the prefix bound, prefix by prefix: with F = 1 - (1 - ratio) sent the
 * former is at least (1 - F^((1 + ratio) / (1 - ratio))) / (1 + ratio), the latter is
 * h. The quotient falls with `sent`, on a single port until sent = 1. */
static double lifo_ratio(const struct simple *simple, double sent)
{
    const double ratio = simple->ratio, rest = 1 - ratio;
    const double u = simple->max < INFINITY ? fmin(sent, 1) : sent;
    const double log_left = rest > 0 ? log1p(-fmin(1, rest * u)) / rest : -u;

    return -expm1((1 + ratio) * log_left) * (1 + ratio * u) / ((1 + ratio) * u);
}

bool cv_returns_ratios(const struct cv_returns *returns, struct cv_arena *scratch,
                       struct cv_returns_ratios *out)
{
    struct prefix prefix = { .left = 1 }, bare = { .left = 1 };
    struct simple simple, no_returns;
    bool out_of_memory;

    *out = (struct cv_returns_ratios){ 0 };
    if (!as_in_theory(returns, scratch, &simple, &out_of_memory))
        return !out_of_memory;
    no_returns = simple;
    no_returns.ratio = 0;
    for (uint32_t k = 0; k < simple.n; k++) {
        extend(&simple, &simple.links[k], &prefix);
        extend(&no_returns, &simple.links[k], &bare);
    }
    /* Without returns all stop computing at once; then the results return. */
    out->fifo = 1 / (1 + simple.ratio * bare.sent);
    out->lifo = fmax(out->fifo, lifo_ratio(&simple, prefix.sent));
    out->best = out->lifo;
    if (!returns->single && simple.ratio <= 0.5)
        out->best = fmax(out->best, 2 / (2 + simple.ratio));
    return true;
}
