/* returns_convex.c -- the convex relaxation of a round with results, by interior point.
 * SPDX-License-Identifier: MIT
 *
 * A primal-dual predictor-corrector method. Every row speaks of a prefix, so a step of
 * Newton's method is a control problem: the state after worker k is the change of
 * (P_k, Q_k), with Q_k = weight_1 p_1^2 + ... + weight_k p_k^2; the control is the change
 * of p_k; it moves the state by (1, 2 weight_k p_k). Dynamic programming from the last
 * worker to the first with a quadratic function of two numbers solves it in O(n), where
 * the matrix of the rows, which is full, would take O(n^3).
 *
 * For any multipliers >= 0 the maximum of the Lagrangian over all p bounds the problem.
 * It is found the same way, with P_k alone as the state; every iterate gives such a
 * bound and the least is the answer, so an iteration that goes astray costs sharpness
 * only. */
#include "model/returns/returns_convex.h"

#include <math.h>

enum { MOST_ITERATIONS = 300 };
static const double gap_wanted = 2e-10; /* relative                                     */
static const double to_the_wall = 0.99; /* part of the way to where a variable is 0     */
static const double step_least = 1e-9;
static const double step_blocked = 3e-3; /* at most this far: try towards the middle    */
static const double miss_weight =
    10; /* of rows not met, against products not yet small */

/* A constraint in slack form: its slack, its multiplier, and their changes. */
struct pair {
    double slack, price;
    double dslack, dprice;
    double aim; /* slack x price wanted, less what it is */
};

/* What to do at worker k, as a function of the state before it. */
struct plan {
    double ka, kb, start; /* p_k changes by start - ka dP - kb dQ if rows are loose  */
    double all, turn, det;
    double r, q, across; /* prices of row and cap, for an unchanged state           */
};

/* One worker: its part of the point, of the rows, and of the quadratic function. */
struct stage {
    double gain, weight, cap;
    double p, sum, squares;    /* p_k, P_k, Q_k                                     */
    double prices;             /* of quadratic rows k, k + 1, ...: weighs p_k^2     */
    double steep;              /* derivative of row k by P_k                        */
    double off, off_cap;       /* by how much the rows miss: row + slack            */
    double off_dual;           /* derivative of the Lagrangian by p_k               */
    double bend;               /* second order part of the change of row k          */
    double aim_off, aim_dual;  /* what a step shall take away of off, off_dual      */
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
 * of that, or of what the caps allow, is well inside. */
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

/* The maximum of the Lagrangian. Going back, what is to be had from worker k + 1 on is
 * value + slope P - curve / 2 P^2 in P = P_k. */
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

/* Minimise over the change of p_k and maximise over those of the prices of its row and
 * cap; `form` changes from a function of the state after k to one of the state before.
 * Nearly tight rows are kept as rows, with give = slack / price, instead of being added
 * as stiff squares: all is put together from squares of moderate size, so that nothing
 * is lost however small the give. */
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

/* The changes of worker k for the state (sum, squares) that those before it lead to. */
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

/* Newton's step for the aims: changes of all slacks and prices. */
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

/* Aim at slack x price = target, counting `learned` (0 to 1) of what the last step left
 * out: terms of second order. */
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

/* By how much the rows that are not met could change the value, spread over all. */
static double missing(const struct solver *solver)
{
    double sum = 0;

    for (uint32_t k = 0; k < solver->n; k++)
        sum += solver->stages[k].row.price * fabs(solver->stages[k].off);
    return sum / (3.0 * solver->n);
}

/* A predictor step, which is not made, and a corrector step; where that is blocked, one
 * towards the middle. Returns how far it went. */
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

    solver.stages = cv_array(scratch, convex->n, sizeof *solver.stages);
    if (solver.stages == NULL)
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
