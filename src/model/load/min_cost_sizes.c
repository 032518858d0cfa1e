/* min_cost_sizes.c -- the cheapest sizes of chunks that are sent in a given order.
 * SPDX-License-Identifier: MIT
 *
 * A worker is paid for from the begin of the first message to it until it ends. With the
 * time f that it ends before the deadline D as a variable, every chunk i has a row
 *
 *     (sends up to i) + (computations of that worker from i on) + f <= D,
 *
 * nothing is a feasible beginning, and money is D less f less the sends before the first of
 * each worker, times its cost: linear. Paid with `price` per unit done, the most gain is
 * found by the simplex method. The price is where the work passes the load: between the
 * work done for too little and that for too much, the next price is the one at which both
 * gain the same, until nothing between them gains more; then the load is a mixture of the
 * two, which is feasible as both are, and costs least of all sizes for this order, by the
 * duality of linear programs. Proof and use: docs/theory/money.md. */
#include "model/load/min_cost_sizes.h"

#include <math.h>
#include <string.h>

#include "model/simplex/tableau.h"

enum { PRICES_MOST = 60 };

struct program {
    const struct cv_min_cost_plan *thrift;
    const struct cv_plan *plan;
    uint32_t n, nused; /* chunks, workers that have some                   */
    uint32_t *slot;    /* worker -> its number among those; UINT32_MAX: none */
    uint32_t *first;   /* of each such worker: its first chunk             */
    double *rows, *fixed_s;
    double *saved; /* money that a unit of each column saves           */
    double due;    /* money for nothing: all latencies                 */
    double deadline_s;
    struct cv_tableau tableau;
};

struct answer {
    double *values; /* units of chunks, and times before the deadline */
    double work, money;
};

static bool before(const struct program *p, uint32_t chunk, uint32_t other)
{
    return chunk < other && (p->thrift->port != CLEAVE_PORT_MULTI ||
                             p->plan->worker[chunk] == p->plan->worker[other]);
}

static void set_row(struct program *p, uint32_t i)
{
    const uint32_t columns = p->n + p->nused, w = p->plan->worker[i];
    double *row = p->rows + (size_t)i * columns;

    p->fixed_s[i] = 0;
    for (uint32_t k = 0; k < p->n; k++) {
        const struct cleave_worker *worker = &p->thrift->workers[p->plan->worker[k]];

        row[k] = 0;
        if (k == i || before(p, k, i)) {
            row[k] += 1 / worker->bandwidth_ups;
            p->fixed_s[i] += worker->latency_s;
        }
        if (k >= i && p->plan->worker[k] == w) {
            row[k] += 1 / worker->speed_ups;
            p->fixed_s[i] += worker->compute_latency_s;
        }
    }
    row[p->n + p->slot[w]] = 1;
}

static void set_money(struct program *p)
{
    const struct cv_min_cost_plan *thrift = p->thrift;

    p->due = 0;
    for (uint32_t u = 0; u < p->nused; u++) {
        const uint32_t first = p->first[u];
        const double cost = thrift->costs[p->plan->worker[first]];

        p->due += cost * p->deadline_s;
        p->saved[p->n + u] = cost;
        for (uint32_t k = 0; k < first; k++) {
            const struct cleave_worker *worker = &thrift->workers[p->plan->worker[k]];

            if (!before(p, k, first))
                continue;
            p->due -= cost * worker->latency_s;
            p->saved[k] += cost / worker->bandwidth_ups;
        }
    }
}

static bool set_up(struct program *p, struct cv_arena *arena)
{
    const uint32_t n = p->n;
    uint32_t columns;

    p->slot = cv_array(arena, p->thrift->nworkers, sizeof *p->slot);
    p->first = cv_array(arena, n, sizeof *p->first);
    if (p->slot == NULL || p->first == NULL)
        return false;
    for (uint32_t w = 0; w < p->thrift->nworkers; w++)
        p->slot[w] = UINT32_MAX;
    for (uint32_t k = 0; k < n; k++) {
        if (p->slot[p->plan->worker[k]] != UINT32_MAX)
            continue;
        p->first[p->nused] = k;
        p->slot[p->plan->worker[k]] = p->nused++;
    }
    columns = n + p->nused;
    p->rows = cv_array(arena, n, columns * sizeof *p->rows);
    p->fixed_s = cv_array(arena, n, sizeof *p->fixed_s);
    p->saved = cv_array(arena, columns, sizeof *p->saved);
    if (p->rows == NULL || p->fixed_s == NULL || p->saved == NULL ||
        !cv_tableau_init(&p->tableau, columns, n, arena))
        return false;
    for (uint32_t i = 0; i < n; i++)
        set_row(p, i);
    set_money(p);
    return true;
}

/* The most gain when a unit of work is paid with `price`; INFINITY: the most work. */
static bool solve(struct program *p, double price, struct answer *out)
{
    struct cv_tableau *tableau = &p->tableau;
    const uint32_t columns = p->n + p->nused;
    double largest = 0;

    memcpy(tableau->matrix, p->rows, (size_t)p->n * columns * sizeof *p->rows);
    for (uint32_t j = 0; j < columns; j++) {
        tableau->worth[j] =
            isinf(price) ? (j < p->n ? 1 : 0) : p->saved[j] + (j < p->n ? price : 0);
        largest = fmax(largest, tableau->worth[j]);
    }
    for (uint32_t j = 0; j < columns && largest > 0; j++)
        tableau->worth[j] /= largest;
    for (uint32_t i = 0; i < p->n; i++) {
        tableau->simplex.value[i] = p->deadline_s - p->fixed_s[i];
        if (tableau->simplex.value[i] < 0)
            return false;
    }
    if (!cv_tableau_run(tableau, out->values))
        return false;
    out->work = 0;
    out->money = p->due;
    for (uint32_t j = 0; j < columns; j++) {
        out->work += j < p->n ? out->values[j] : 0;
        out->money -= p->saved[j] * out->values[j];
    }
    return true;
}

/* The cheapest values for the load in low->values; false: there are none. */
static bool find_price(struct program *p, struct answer *low, struct answer *high,
                       struct answer *middle)
{
    const double load = p->thrift->load;
    double part, min = 0;

    /* Work may be worth something without pay, because dear workers begin later. */
    for (uint32_t k = 0; k < p->n; k++)
        min = fmin(min, -p->saved[k]);
    if (!solve(p, INFINITY, high) || high->work < load * (1 - 1e-12) ||
        !solve(p, min, low))
        return false;
    for (int step = 0; step < PRICES_MOST && low->work < load && high->work > load;
         step++) {
        const double price = (high->money - low->money) / (high->work - low->work);
        struct answer kept;

        if (!solve(p, price, middle))
            return false;
        if (price * middle->work - middle->money <=
            price * low->work - low->money +
                1e-12 * (fabs(price * load) + fabs(low->money)))
            break;
        kept = *middle;
        if (middle->work < load) {
            *middle = *low;
            *low = kept;
        } else {
            *middle = *high;
            *high = kept;
        }
    }
    part = low->work >= load ? 0 : fmin(1, (load - low->work) / (high->work - low->work));
    for (uint32_t j = 0; j < p->n + p->nused; j++)
        low->values[j] += part * (high->values[j] - low->values[j]);
    return true;
}

/* Sizes for the chunks of the plan as they are; INFINITY: too slow, NAN: no memory. */
static double size_once(const struct cv_min_cost_plan *thrift, double deadline_s,
                        struct cv_plan *plan, struct cv_arena *arena)
{
    struct program p = { .thrift = thrift,
                         .plan = plan,
                         .n = (uint32_t)plan->nchunks,
                         .deadline_s = deadline_s };
    struct answer answers[3];
    double money;

    if (!set_up(&p, arena))
        return NAN;
    for (int i = 0; i < 3; i++) {
        answers[i].values = cv_array(arena, p.n + p.nused, sizeof *answers[i].values);
        if (answers[i].values == NULL)
            return NAN;
    }
    if (!find_price(&p, &answers[0], &answers[1], &answers[2]))
        return INFINITY;
    money = p.due;
    for (uint32_t j = 0; j < p.n + p.nused; j++)
        money -= p.saved[j] * answers[0].values[j];
    memcpy(plan->units, answers[0].values, p.n * sizeof *plan->units);
    return money;
}

double cv_min_cost_sizes(const struct cv_min_cost_plan *thrift, double deadline_s,
                         struct cv_plan *plan, struct cv_arena *arena)
{
    double best = INFINITY;

    while (plan->nchunks > 0 && plan->nchunks <= CV_THRIFT_MOST) {
        struct cv_plan shorter;
        size_t kept = 0;
        double money;

        if (!cv_plan_init(&shorter, arena, plan->nchunks))
            return NAN;
        for (size_t k = 0; k < plan->nchunks; k++)
            if (isinf(best) || plan->units[k] > 1e-9 * thrift->load) {
                shorter.worker[kept] = plan->worker[k];
                shorter.units[kept++] = plan->units[k];
            }
        if (!isinf(best) && kept == plan->nchunks)
            break;
        shorter.nchunks = kept;
        money = size_once(thrift, deadline_s, &shorter, arena);
        if (isnan(money))
            return money;
        if (!(money < best))
            break;
        best = money;
        *plan = shorter;
    }
    if (!isinf(best))
        cv_plan_settle(plan, thrift->load);
    return best;
}
