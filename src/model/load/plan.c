/* plan.c -- a list of chunks fixed in advance, and how long it takes.
 * SPDX-License-Identifier: MIT */
#include "model/load/plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/compare.h"
#include "model/simplex/simplex.h"

size_t cv_chunk_cap(uint32_t nworkers)
{
    const size_t quick = (size_t)1 << 20, min = 2000;
    size_t cap = (size_t)nworkers * 64;

    if (cap > quick)
        cap = (size_t)nworkers * 8 > quick ? (size_t)nworkers * 8 : quick;
    return cap < min ? min : cap > CV_MAX_CHUNKS ? CV_MAX_CHUNKS : cap;
}

bool cv_plan_init(struct cv_plan *plan, struct cv_arena *arena, size_t nchunks)
{
    uint32_t *worker;
    double *units;

    if (nchunks > CV_MAX_CHUNKS)
        return false;
    if (!CV_NEW(arena, worker, nchunks) || !CV_NEW(arena, units, nchunks))
        return false;
    *plan = (struct cv_plan){ .nchunks = nchunks, .worker = worker, .units = units };
    return true;
}

double cv_plan_makespan(const struct cleave_worker *workers, uint32_t nworkers,
                        const struct cv_plan *plan, double *ready)
{
    double port = 0, makespan = 0;

    for (uint32_t i = 0; i < nworkers; i++)
        ready[i] = 0;
    for (size_t k = 0; k < plan->nchunks; k++) {
        const uint32_t w = plan->worker[k];
        const struct cleave_worker *worker = &workers[w];
        double end;

        port += worker->latency_s + plan->units[k] / worker->bandwidth_ups;
        end = (ready[w] > port ? ready[w] : port) + worker->compute_latency_s +
              plan->units[k] / worker->speed_ups;
        ready[w] = end;
        if (end > makespan)
            makespan = end;
    }
    return makespan;
}

static bool none_above_zero(const struct cv_plan *plan)
{
    for (size_t k = 0; k < plan->nchunks; k++)
        if (plan->units[k] > 0)
            return false;
    return true;
}

void cv_plan_settle(struct cv_plan *plan, double load)
{
    size_t kept = 0, largest = 0;
    double others = 0;

    if (plan->nchunks > 0 && none_above_zero(plan))
        plan->units[0] = load;
    for (size_t k = 0; k < plan->nchunks; k++) {
        if (!(plan->units[k] > 0))
            continue;
        plan->worker[kept] = plan->worker[k];
        plan->units[kept] = plan->units[k];
        if (plan->units[kept] > plan->units[largest])
            largest = kept;
        kept++;
    }
    plan->nchunks = kept;
    for (size_t k = 0; k < kept; k++)
        if (k != largest)
            others += plan->units[k];
    if (kept > 0 && others < load)
        plan->units[largest] = load - others;
}

/* --- sizes for a given send order that leave no gap and end all together ----------- */

/* Let D_k be the time from the arrival of chunk k to the end. With no gap anywhere chunk
 * k computes from its arrival to that of the worker's next chunk k', or to the end:
 * 
 *     alpha + units_k / S = D_k - D_k'        (D_k' = 0 for the last chunk of a worker)
 *     D_(k-1)             = D_k + beta + units_k / B
 * 
 * and D of the last chunk is the unknown x. All slopes are positive, by induction.
 * 
 * The linear program of an order is: least T with arrival_k + (computing of chunk k and
 * all later chunks of its worker) <= T for every k. Its dual asks for y >= 0, sum y = 1,
 * and Y_l / B + Z_l / S = z for every chunk l, where Y_l sums y from l on and Z_l sums y
 * over the worker's chunks up to l. Subtracting that equation for two successive chunks
 * of a worker gives y_l = (S / B) (sum of y from the one before up to l); a first chunk
 * has y_l = S (z - Y_l / B). So y is affine in z, and sum y = 1 fixes z. */

/* Sizes this small against the load are rounding errors of a zero. */
static const double size_noise = 1e-13;
/* Sizes that miss the load by more than this part of it are what cancellation left. */
static const double sum_noise = 1e-9;

bool cv_vertex_room_init(struct cv_vertex_workspace *room, struct cv_arena *arena,
                         size_t chunks, uint32_t nworkers)
{
    return CV_NEW(arena, room->size, chunks) && CV_NEW(arena, room->lead, nworkers);
}

static double give_up(size_t n, double *units, bool *out_feasible)
{
    for (size_t k = 0; k < n; k++)
        units[k] = 0;
    *out_feasible = false;
    return INFINITY;
}

double cv_vertex_solve(const struct cleave_worker *workers, double load,
                       const uint32_t *seq, size_t n, struct cv_vertex_workspace *room,
                       double *units, bool *out_feasible)
{
    struct cv_affine ahead = { 0, 1 }, sum = { 0, 0 };
    double x, makespan, total;

    for (size_t k = 0; k < n; k++)
        room->lead[seq[k]] = (struct cv_affine){ 0, 0 };
    for (size_t k = n; k-- > 0;)
        room->size[k] =
            cv_vertex_step(&workers[seq[k]], &room->lead[seq[k]], &ahead, &sum);
    x = (load - sum.offset) / sum.slope;
    makespan = ahead.offset + ahead.slope * x;
    if (n == 0 || !isfinite(x) || !isfinite(makespan))
        return give_up(n, units, out_feasible);
    *out_feasible = true;
    total = 0;
    for (size_t k = 0; k < n; k++) {
        units[k] = room->size[k].offset + room->size[k].slope * x;
        if (units[k] < 0 && units[k] >= -size_noise * load)
            units[k] = 0;
        if (units[k] < 0)
            *out_feasible = false;
        total += units[k];
    }
    if (fabs(total - load) > sum_noise * load)
        return give_up(n, units, out_feasible);
    return makespan;
}

bool cv_vertex_multipliers(const struct cleave_worker *workers, const uint32_t *seq,
                           size_t n, struct cv_vertex_workspace *room, double *multiplier)
{
    struct cv_affine before = { 0, 0 }; /* sum of y up to here, in z */
    bool nonnegative = true;
    double z;

    /* lead: the sum up to, without, the worker's chunk before; NaN when there is none. */
    for (size_t k = 0; k < n; k++)
        room->lead[seq[k]] = (struct cv_affine){ NAN, NAN };
    for (size_t k = 0; k < n; k++) {
        const struct cleave_worker *worker = &workers[seq[k]];
        const double ratio = worker->speed_ups / worker->bandwidth_ups;
        struct cv_affine *lead = &room->lead[seq[k]], *y = &room->size[k];

        if (isnan(lead->offset)) {
            y->offset = ratio * (before.offset - 1);
            y->slope = worker->speed_ups + ratio * before.slope;
        } else {
            y->offset = ratio * (before.offset - lead->offset);
            y->slope = ratio * (before.slope - lead->slope);
        }
        *lead = before;
        before.offset += y->offset;
        before.slope += y->slope;
    }
    z = (1 - before.offset) / before.slope;
    for (size_t k = 0; k < n; k++) {
        multiplier[k] = room->size[k].offset + room->size[k].slope * z;
        if (!(multiplier[k] >= 0))
            nonnegative = false;
    }
    return nonnegative;
}

/* --- share out a last load so that all workers end together ------------------------ */

/* Taken in the order in which they can begin, k workers can do
 * sum speed (t - begin) by time t. They are joined one by one while their common end is after the begin of the next. */

CV_ORDER_BY(by_begin, struct cv_water_fill_workspace, begin_s)

/* The end is kept relative to the first begin, for accuracy at late times. */
static double common_end(const struct cv_water_fill_workspace *basins, uint32_t n,
                         double load)
{
    double speed = 0, weighted = 0, end = 0;

    for (uint32_t i = 0; i < n; i++) {
        const double begin = basins[i].begin_s - basins[0].begin_s;

        if (i > 0 && end <= begin)
            break;
        speed += basins[i].speed_ups;
        weighted += basins[i].speed_ups * begin;
        end = (load + weighted) / speed;
    }
    return basins[0].begin_s + end;
}

bool cv_water_fill(struct cv_water_fill_workspace *basins, const double *ready_s,
                   const double *overhead_s, const double *speed_ups, uint32_t n,
                   double load, double *out_share, double *out_end)
{
    uint32_t used = 0;

    for (uint32_t w = 0; w < n; w++)
        if (speed_ups[w] > 0)
            basins[used++] = (struct cv_water_fill_workspace){ ready_s[w] + overhead_s[w],
                                                               speed_ups[w] };
    if (used == 0)
        return false;
    qsort(basins, used, sizeof *basins, by_begin);
    *out_end = common_end(basins, used, load);
    for (uint32_t w = 0; w < n; w++)
        out_share[w] =
            speed_ups[w] > 0
                ? speed_ups[w] * fmax(0, *out_end - (ready_s[w] + overhead_s[w]))
                : 0;
    return true;
}

/* --- the cheapest sizes of chunks that are sent in a given order ------------------- */

/* A worker is paid for from the begin of the first message to it until it ends. With the
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

enum { PRICES_MOST = 60 };

struct program {
    const struct cv_min_cost_plan *thrift;
    const struct cv_plan *plan;
    uint32_t n, nused; /* chunks, workers that have some                   */
    uint32_t *slot;    /* worker -> its number among those; UINT32_MAX: none */
    uint32_t *first;   /* first chunk of each such worker */
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

    if (!CV_NEW(arena, p->slot, p->thrift->nworkers) || !CV_NEW(arena, p->first, n))
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
    if (p->rows == NULL || !CV_NEW(arena, p->fixed_s, n) ||
        !CV_NEW(arena, p->saved, columns) ||
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

/* Sizes for the present chunks of the plan; INFINITY: too slow, NAN: no memory. */
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
        if (!CV_NEW(arena, answers[i].values, p.n + p.nused))
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
