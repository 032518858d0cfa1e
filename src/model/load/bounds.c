/* bounds.c -- makespans no schedule can beat. SPDX-License-Identifier: MIT
 *
 * ideal: all workers compute from time 0, load / sum of speeds.
 * port:  every unit passes the port, which takes x / B, and neither a
 *        worker nor the port can use all the time: the least T for which the fractional
 *        knapsack 0 <= x_i <= S_i (T - alpha_i - beta_i), sum x_i / B_i <= T - least
 *        alpha - least beta (widest links first) holds the load.
 * start: no worker computes before its first chunk arrives.
 * price: prices on the port's time, bound_price.c; for unequal workers.
 * optimal: equal workers; `rounds` when the search for the optimum had
 *        to stop early and only a bound came of it.
 * With a port per worker (multi) links do not compete: instead of `port` there is `link`,
 * and every worker's own optimum is known, so `optimal` is, too.
 * Proofs, costs and how tight each is: docs/theory/bounds.md. */
#include "model/load/bounds.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cleave/platform.h>
#include "base/arena.h"
#include "base/bisect.h"
#include "base/compare.h"
#include "model/platform/platform_internal.h"

/* Most workers, not all equal, for which the best assignment is found exactly. */
enum { CV_START_EXACT = 128 };

/* --- optima that are known --------------------------------------------------------- */

/* Equal workers, one port. Read a schedule backwards from its end. An optimal one with as
 * few chunks as possible leaves no gap, and always fills the worker that has been empty
 * longest (docs/theory/bounds.md proves both): in time order it is round robin, over all workers
 * unless there are fewer chunks than workers. Counting chunks from the last one, i = 0,
 * chunk i computes for g_i seconds (start-up not counted), R = B / S:
 * 
 *     g_i = g_0 + sum over m < i of (beta + g_m / R)                i < n
 *     g_i = sum over i - n <= m < i of (beta + g_m / R)  - alpha    i >= n
 * 
 * so every g_i = slope_i g_0 + offset_i whatever the number K of chunks. K chunks hold
 * the load for one g_0 and then take g_0 + alpha + K beta + load / B. Scanning K with
 * running sums finds the best at a few nanoseconds per chunk. */

/* Chunks tried before the search stops: this many, and some per worker. */
static const double most_chunks = 32768, most_per_worker = 4;
/* A negative size this small counts as zero: the bound can only fall. */
static const double size_noise = 1e-9;

/* Sums over the chunks counted so far, from the end. */
struct sums {
    double slope, offset; /* g_i = slope g_0 + offset */
    double min;           /* least g_0 with all g_i >= 0 */
};

static void sums_add(struct sums *sums, double slope, double offset)
{
    sums->slope += slope;
    sums->offset += offset;
    sums->min = fmax(sums->min, -offset / slope);
}

static double tail(const struct cleave_worker *w, uint32_t n, double load, double chunks)
{
    const double port =
        w->compute_latency_s + chunks * w->latency_s + load / w->bandwidth_ups;
    double idle;

    if (chunks < n)
        return port;
    idle = chunks * w->compute_latency_s + w->latency_s * n * (n + 1.0) / 2;
    return fmax(port, (load / w->speed_ups + idle) / n);
}

double cv_bound_equal(const struct cleave_worker *worker, uint32_t nworkers, double load,
                      struct cv_arena *scratch, bool *out_exact)
{
    const double ratio = worker->speed_ups / worker->bandwidth_ups, n = nworkers;
    const double alpha = worker->compute_latency_s, beta = worker->latency_s;
    const double max = most_chunks + most_per_worker * n;
    struct sums sums = { 0, 0, 0 };
    struct sums *ring = cv_array(scratch, nworkers, sizeof *ring); /* n chunks ago */
    double best = INFINITY, rest;
    size_t at = 0;

    if (ring == NULL)
        return -1;
    for (double chunks = 1;; chunks++) {
        const struct sums before = sums;
        double last;

        if (chunks <= n)
            sums_add(&sums, 1 + ratio * sums.slope,
                     (chunks - 1) * beta + ratio * sums.offset);
        else
            sums_add(&sums, ratio * (sums.slope - ring[at].slope),
                     n * beta - alpha + ratio * (sums.offset - ring[at].offset));
        ring[at] = before;
        at = at + 1 < nworkers ? at + 1 : 0;
        last = (load / worker->speed_ups - sums.offset) / sums.slope;
        if (last >= sums.min * (1 - size_noise))
            best =
                fmin(best, last + alpha + chunks * beta + load / worker->bandwidth_ups);
        rest = tail(worker, nworkers, load, chunks + 1);
        if (rest >= best * (1 - 1e-12) || chunks >= max || !(sums.slope < 1e280))
            break;
    }
    *out_exact = rest >= best * (1 - 1e-12) && alpha + beta > 0;
    return fmin(best, rest);
}

/* The most units that one worker with its own link can have computed by time t;
 * *out_slope is its growth. At most `most_chunks` chunks are tried; the effect of more is
 * then estimated from above and *out_exact cleared. */
static double cv_bound_alone(const struct cleave_worker *worker, double t,
                             uint32_t most_tried, double *out_slope, bool *out_exact)
{
    const double speed = worker->speed_ups, ratio = speed / worker->bandwidth_ups;
    const double alpha = worker->compute_latency_s, beta = worker->latency_s;
    struct sums sums = { 0, 0, 0 };
    double slope = 1, offset = 0, best = 0;

    *out_slope = 0;
    for (uint32_t chunks = 1;; chunks++) {
        double last, units, rest;

        sums_add(&sums, slope, offset);
        slope *= ratio;
        offset = beta - alpha + ratio * offset;
        last =
            (t - alpha - chunks * beta - ratio * sums.offset) / (1 + ratio * sums.slope);
        units = speed * (sums.slope * last + sums.offset);
        if (last >= sums.min * (1 - size_noise) && units > best) {
            best = units;
            *out_slope = speed * sums.slope / (1 + ratio * sums.slope);
        }
        rest = fmin(speed * (t - beta - (chunks + 1.0) * alpha),
                    worker->bandwidth_ups * (t - alpha - (chunks + 1.0) * beta));
        if (rest <= best * (1 + 1e-12))
            return best;
        if (chunks >= most_tried || !(sums.slope < 1e280) || !(slope > 0)) {
            *out_exact = false;
            *out_slope = fmin(speed, worker->bandwidth_ups);
            return rest;
        }
    }
}

/* A time at which one worker alone could have done the load; with `sent`, whatever the
 * bound. */
static double late_enough(const struct cleave_worker *workers, uint32_t n, double load,
                          bool sent)
{
    double best = INFINITY;

    for (uint32_t i = 0; i < n; i++) {
        const struct cleave_worker *w = &workers[i];

        best = fmin(best, w->latency_s + w->compute_latency_s + load / w->speed_ups +
                              (sent ? load / w->bandwidth_ups : 0));
    }
    return best;
}

/* --- no worker computes before a chunk has arrived --------------------------------- */

/* Before the k-th worker to be served can begin, k messages have passed the port. Their
 * start-ups alone take P_k, the sum of the k smallest latencies, and the worker's own is
 * among them. So worker i in place k computes no more than
 *     S_i max(0, T - alpha_i - max(P_k, beta_i))
 * units, and the load is no more than the best assignment of workers to places gives.
 * 
 * That best sum is a maximum of linear functions of T, hence convex, so Newton's method
 * arrives at the least T from above after a few assignments (Hungarian method, n^3). For
 * many workers any dual solution of the assignment gives a bound that is a little weaker;
 * the one used here is optimal when own latencies do not matter, and costs n log n. */

struct start {
    uint32_t n;
    const struct cleave_worker *workers; /* borrowed                               */
    double *place; /* place[k]: sum of the k smallest latencies, k from 1       */
    double *price; /* dual value of a place                                     */
    struct cv_ranked *by_speed; /* fastest first */
    double *dual;               /* loss of a worker in its best place, in units */
    double load;
};

static bool alike(const struct cleave_worker *workers, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++) {
        if (workers[i].speed_ups != workers[0].speed_ups ||
            workers[i].compute_latency_s != workers[0].compute_latency_s ||
            workers[i].latency_s != workers[0].latency_s)
            return false;
    }
    return true;
}

static bool start_init(struct start *start, struct cv_arena *scratch)
{
    const uint32_t n = start->n;

    if (!CV_NEW(scratch, start->place, (size_t)n + 1) ||
        !CV_NEW(scratch, start->price, (size_t)n + 2) ||
        !CV_NEW(scratch, start->dual, n) || !CV_NEW(scratch, start->by_speed, n))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        start->place[i + 1] = start->workers[i].latency_s;
        start->by_speed[i] = (struct cv_ranked){ start->workers[i].speed_ups, i };
    }
    qsort(start->place + 1, n, sizeof *start->place, cv_compare_doubles);
    for (uint32_t k = 2; k <= n; k++)
        start->place[k] += start->place[k - 1];
    qsort(start->by_speed, n, sizeof *start->by_speed, cv_rank_down);
    return true;
}

/* Without own latencies and with equal compute latencies the fastest worker is first. The
 * sum is the largest of n linear functions of T, so the least T is the least of n
 * roots. */
static double start_plain(const struct start *start, double least_alpha)
{
    double speed = 0, lost = start->load, best = INFINITY;

    for (uint32_t k = 1; k <= start->n; k++) {
        const double s = start->by_speed[k - 1].value;

        speed += s;
        lost += s * (least_alpha + start->place[k]);
        best = fmin(best, lost / speed);
    }
    return best;
}

/* Prices of places that are optimal for the plain problem at time T: from one place to
 * the next the price falls by the speed of the worker there. */
static void start_prices(struct start *start, double horizon)
{
    start->price[start->n] = 0;
    for (uint32_t k = start->n; k > 1; k--) {
        const double s = start->by_speed[k - 1].value;
        const double later = fmin(start->place[k], horizon);
        const double sooner = fmin(start->place[k - 1], horizon);

        start->price[k - 1] = start->price[k] + s * (later - sooner);
    }
}

/* Number of places that begin by t; at least one for t = beta_i. */
static uint32_t places_until(const struct start *start, double t)
{
    uint32_t places;

    CV_BISECT(places, start->n, i, start->place[i + 1] <= t);
    return places > 0 ? places : 1;
}

/* The most that the worker of rank r (from 1) gains over S (T - alpha), over places. */
static double best_place(const struct start *start, uint32_t r, uint32_t used)
{
    const struct cleave_worker *w = &start->workers[start->by_speed[r - 1].index];
    const uint32_t early = places_until(start, w->latency_s);
    const uint32_t tries[3] = { early + 1, r < used ? r : used, r < used ? r : used + 1 };
    double best = -w->speed_ups * w->latency_s - start->price[early];

    for (int i = 0; i < 3; i++) {
        const uint32_t k = tries[i];

        if (k > early && k <= start->n)
            best = fmax(best, -w->speed_ups * start->place[k] - start->price[k]);
    }
    return best;
}

/* The dual bound for the prices set before: least T with sum of prices + sum of gains
 * >= load. Newton on a convex function. */
static double start_dual(struct start *start, double horizon, double from)
{
    const uint32_t used = places_until(start, horizon);
    double prices = 0, t = from;

    for (uint32_t k = 1; k <= start->n; k++) {
        prices += start->price[k];
        start->dual[k - 1] = best_place(start, k, used);
    }
    for (int step = 0; step < 64; step++) {
        double units = prices, speed = 0, next;

        for (uint32_t k = 0; k < start->n; k++) {
            const struct cleave_worker *w = &start->workers[start->by_speed[k].index];
            const double gain =
                w->speed_ups * (t - w->compute_latency_s) + start->dual[k];

            if (gain > 0) {
                units += gain;
                speed += w->speed_ups;
            }
        }
        if (speed == 0)
            break;
        next = t + (start->load - units) / speed;
        if (step > 0 && !(next < t))
            break;
        t = next;
    }
    return t;
}

static double gain(const struct start *start, uint32_t i, uint32_t k, double t)
{
    const struct cleave_worker *w = &start->workers[i];

    return w->speed_ups *
           fmax(0, t - w->compute_latency_s - fmax(start->place[k], w->latency_s));
}

struct hungarian {
    double *row, *column, *min; /* potentials; least reduced cost of a column */
    uint32_t *match, *way;      /* worker of a place, from 1; 0 = free        */
    bool *done;
};

/* Add worker `i` (from 1) to the matching along a shortest augmenting path. */
static void hungarian_add(struct hungarian *h, const struct start *start, uint32_t i,
                          double t)
{
    const uint32_t n = start->n;
    uint32_t at = 0;

    for (uint32_t k = 0; k <= n; k++) {
        h->min[k] = INFINITY;
        h->done[k] = false;
    }
    h->match[0] = i;
    do {
        const uint32_t row = h->match[at];
        uint32_t next = 0;
        double delta = INFINITY;

        h->done[at] = true;
        for (uint32_t k = 1; k <= n; k++) {
            double reduced;

            if (h->done[k])
                continue;
            reduced = -gain(start, row - 1, k, t) - h->row[row] - h->column[k];
            if (reduced < h->min[k]) {
                h->min[k] = reduced;
                h->way[k] = at;
            }
            if (h->min[k] < delta) {
                delta = h->min[k];
                next = k;
            }
        }
        for (uint32_t k = 0; k <= n; k++) {
            if (h->done[k]) {
                h->row[h->match[k]] += delta;
                h->column[k] -= delta;
            } else {
                h->min[k] -= delta;
            }
        }
        at = next;
    } while (h->match[at] != 0);
    while (at != 0) {
        const uint32_t before = h->way[at];

        h->match[at] = h->match[before];
        at = before;
    }
}

static bool hungarian_init(struct hungarian *h, uint32_t n, struct cv_arena *scratch)
{
    const size_t size = (size_t)n + 1;

    return CV_NEW(scratch, h->row, size) && CV_NEW(scratch, h->column, size) &&
           CV_NEW(scratch, h->min, size) && CV_NEW(scratch, h->match, size) &&
           CV_NEW(scratch, h->way, size) && CV_NEW(scratch, h->done, size);
}

/* One Newton step: the best assignment at t, and when it would reach the load. */
static double newton_step(struct hungarian *h, const struct start *start, double t)
{
    double speed = 0, lost = start->load;

    for (uint32_t k = 0; k <= start->n; k++) {
        h->row[k] = 0;
        h->column[k] = 0;
        h->match[k] = 0;
    }
    for (uint32_t i = 0; i < start->n; i++)
        hungarian_add(h, start, start->by_speed[i].index + 1, t);
    for (uint32_t k = 1; k <= start->n; k++) {
        const struct cleave_worker *w = &start->workers[h->match[k] - 1];
        const double begin = w->compute_latency_s + fmax(start->place[k], w->latency_s);

        if (t > begin) {
            speed += w->speed_ups;
            lost += w->speed_ups * begin;
        }
    }
    return speed > 0 ? lost / speed : INFINITY;
}

/* The least T at which workers, given the best places in the order of first messages,
 * could compute `load` units; see docs/theory/bounds.md. Returns a negative number when memory
 * is short. */
static double bound_start(const struct cleave_worker *workers, uint32_t nworkers,
                          double load, struct cv_arena *scratch)
{
    struct start start = { .n = nworkers, .workers = workers, .load = load };
    struct hungarian hungarian;
    double least_alpha = INFINITY, weak, t, next;

    if (!start_init(&start, scratch))
        return -1;
    for (uint32_t i = 0; i < nworkers; i++)
        least_alpha = fmin(least_alpha, workers[i].compute_latency_s);
    weak = start_plain(&start, least_alpha);
    if (nworkers == 1 || alike(workers, nworkers))
        return weak;
    start_prices(&start, weak - least_alpha);
    weak = fmax(weak, start_dual(&start, weak - least_alpha, weak));
    if (nworkers > CV_START_EXACT)
        return weak;
    if (!hungarian_init(&hungarian, nworkers, scratch))
        return -1;
    /* From below, the first step of Newton's method lands above; from there it falls. */
    t = fmin(newton_step(&hungarian, &start, weak),
             late_enough(workers, nworkers, load, false));
    for (int step = 0; step < 64; step++) {
        next = newton_step(&hungarian, &start, t);
        if (!(next < t))
            break;
        t = next;
    }
    return fmax(t, weak);
}

/* No bound is tighter than this one, rounding aside. */
static const char optimal[] = "optimal";

/* Units that can be computed by time t, and how fast they grow with t. */
struct volume {
    double units, slope;
};

struct knapsack {
    const struct cleave_worker *workers;
    const struct cv_ranked *order; /* widest link first */
    uint32_t n;
    double alpha, beta;   /* the least of each */
    uint32_t most_chunks; /* tried per worker, alone_volume */
    bool *exact;          /* cleared when more could matter */
};

static struct volume knapsack_volume(const struct knapsack *sack, double t)
{
    struct volume volume = { 0, 0 };
    double room = t - sack->alpha - sack->beta, room_slope = 1;

    for (uint32_t k = 0; k < sack->n && room > 0; k++) {
        const struct cleave_worker *w = &sack->workers[sack->order[k].index];
        const double time = t - w->compute_latency_s - w->latency_s;
        const double units = w->speed_ups * time;

        if (time <= 0)
            continue;
        if (units >= room * w->bandwidth_ups) {
            volume.units += room * w->bandwidth_ups;
            volume.slope += room_slope * w->bandwidth_ups;
            break;
        }
        volume.units += units;
        volume.slope += w->speed_ups;
        room -= units / w->bandwidth_ups;
        room_slope -= w->speed_ups / w->bandwidth_ups;
    }
    return volume;
}

static struct volume link_volume(const struct knapsack *sack, double t)
{
    struct volume volume = { 0, 0 };

    for (uint32_t i = 0; i < sack->n; i++) {
        const struct cleave_worker *w = &sack->workers[i];
        const double time = t - w->compute_latency_s - w->latency_s;

        if (time > 0) {
            volume.units += fmin(w->speed_ups, w->bandwidth_ups) * time;
            volume.slope += fmin(w->speed_ups, w->bandwidth_ups);
        }
    }
    return volume;
}

static struct volume alone_volume(const struct knapsack *sack, double t)
{
    struct volume volume = { 0, 0 }, one = { 0, 0 };

    for (uint32_t i = 0; i < sack->n; i++) {
        if (i == 0 || !cv_workers_equal(&sack->workers[i - 1], 2, false, NULL, NULL))
            one.units = cv_bound_alone(&sack->workers[i], t, sack->most_chunks,
                                       &one.slope, sack->exact);
        volume.units += one.units;
        volume.slope += one.slope;
    }
    return volume;
}

/* The least t at which an increasing, piecewise linear volume reaches the load: Newton's
 * method inside a bracket, halved now and then because the volume is neither convex nor
 * concave and Newton's method alone can run in circles. */
static double volume_root(struct volume (*volume)(const struct knapsack *, double),
                          const struct knapsack *sack, double load, double low,
                          double high)
{
    double t = high;

    for (int step = 1; step < 400 && high - low > 1e-15 * high; step++) {
        const struct volume at = volume(sack, t);
        const double next = t + (load - at.units) / at.slope;

        if (fabs(next - t) <= 1e-15 * t)
            break;
        if (at.units >= load)
            high = t;
        else
            low = t;
        t = next > low && next < high && step % 4 != 0 ? next : low + (high - low) / 2;
    }
    return t;
}

static bool bound_port(const struct cleave_worker *workers, uint32_t n, double load,
                       struct cv_arena *scratch, bool multi, double *out)
{
    struct cv_ranked *order = cv_array(scratch, n, sizeof *order);
    struct knapsack sack = {
        .workers = workers, .order = order, .n = n, .alpha = INFINITY, .beta = INFINITY
    };

    if (order == NULL)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        order[i] = (struct cv_ranked){ workers[i].bandwidth_ups, i };
        sack.alpha = fmin(sack.alpha, workers[i].compute_latency_s);
        sack.beta = fmin(sack.beta, workers[i].latency_s);
    }
    qsort(order, n, sizeof *order, cv_rank_down);
    *out = volume_root(multi ? link_volume : knapsack_volume, &sack, load,
                       sack.alpha + sack.beta, late_enough(workers, n, load, true));
    return true;
}

/* Any workers with a port each: every one does the most it can alone. */
static double bound_alone(const struct cleave_worker *workers, uint32_t n, double load,
                          double min, bool *out_exact)
{
    const uint32_t max = (uint32_t)fmax(32, fmin(4096, 1e6 / n));
    const struct knapsack sack = {
        .workers = workers, .n = n, .most_chunks = max, .exact = out_exact
    };

    *out_exact = true;
    return volume_root(alone_volume, &sack, load, min,
                       late_enough(workers, n, load, true));
}

static double bound_ideal(const struct cleave_worker *workers, uint32_t n, double load)
{
    double speed = 0;

    for (uint32_t i = 0; i < n; i++)
        speed += workers[i].speed_ups;
    return load / speed;
}

/* The three bounds that only one port gives. */
static size_t bounds_one_port(const struct cleave_worker *workers, uint32_t n,
                              double load, struct cv_arena *scratch,
                              struct cleave_bound *out)
{
    bool exact = false;
    size_t count = 0;
    double value = bound_start(workers, n, load, scratch);

    if (value < 0)
        return 0;
    out[count++] = (struct cleave_bound){ "start", value };
    if (cv_workers_equal(workers, n, false, NULL, NULL)) {
        value = cv_bound_equal(workers, n, load, scratch, &exact);
        out[count++] = (struct cleave_bound){ exact ? optimal : "rounds", value };
    } else {
        value = cv_bound_price(workers, n, load, scratch);
        if (value > 0)
            out[count++] = (struct cleave_bound){ "price", value };
    }
    return value < 0 ? 0 : count;
}

size_t cv_bounds(const struct cleave_worker *workers, uint32_t nworkers,
                 enum cleave_port port, double load, struct cv_arena *scratch,
                 struct cleave_bound out[CV_MAX_BOUNDS], size_t *out_tightest)
{
    const bool multi = port == CLEAVE_PORT_MULTI;
    size_t count = 0, more;

    out[count++] = (struct cleave_bound){ "ideal", bound_ideal(workers, nworkers, load) };
    if (!bound_port(workers, nworkers, load, scratch, multi, &out[count].value_s))
        return 0;
    out[count++].name = multi ? "link" : "port";
    if (multi) {
        bool exact;

        out[count].value_s =
            bound_alone(workers, nworkers, load, out[count - 1].value_s, &exact);
        out[count++].name = exact ? optimal : "rounds";
    } else {
        more = bounds_one_port(workers, nworkers, load, scratch, out + count);
        if (more == 0)
            return 0;
        count += more;
    }
    *out_tightest = 0;
    for (size_t i = 1; i < count; i++) {
        if (out[i].value_s > out[*out_tightest].value_s ||
            strcmp(out[i].name, optimal) == 0)
            *out_tightest = i;
    }
    return count;
}
