/* bound_start.c -- nobody computes before something has arrived.
 * SPDX-License-Identifier: MIT
 *
 * Before the k-th worker to be served can begin, k messages have passed the port. Their
 * start-ups alone take P_k, the sum of the k smallest latencies, and the worker's own is
 * among them. So worker i in place k computes no more than
 *     S_i max(0, T - alpha_i - max(P_k, beta_i))
 * units, and the load is no more than the best assignment of workers to places gives.
 *
 * That best sum is a maximum of linear functions of T, hence convex, so Newton's method
 * arrives at the least T from above after a few assignments (Hungarian method, n^3). For
 * many workers any dual solution of the assignment gives a bound that is a little weaker;
 * the one used here is optimal when own latencies do not matter, and costs n log n. */
#include "model/load/bound_start.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/bisect.h"
#include "base/compare.h"

struct start {
    uint32_t n;
    const struct cleave_worker *workers; /* borrowed                               */
    double *place;      /* place[k]: sum of the k smallest latencies, k from 1       */
    double *price;      /* dual value of a place                                     */
    uint32_t *by_speed; /* fastest first                                             */
    double *dual;       /* what a worker in its best place loses, as units           */
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

struct speed_rank {
    double speed;
    uint32_t worker;
};

CV_ORDER_DOWN_BY(compare_ranks, struct speed_rank, speed, worker)

static bool start_init(struct start *start, struct cv_arena *scratch)
{
    const uint32_t n = start->n;
    struct speed_rank *rank = cv_array(scratch, n, sizeof *rank);

    start->place = cv_array(scratch, (size_t)n + 1, sizeof *start->place);
    start->price = cv_array(scratch, (size_t)n + 2, sizeof *start->price);
    start->dual = cv_array(scratch, n, sizeof *start->dual);
    start->by_speed = cv_array(scratch, n, sizeof *start->by_speed);
    if (rank == NULL || start->place == NULL || start->price == NULL ||
        start->dual == NULL || start->by_speed == NULL)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        start->place[i + 1] = start->workers[i].latency_s;
        rank[i] = (struct speed_rank){ start->workers[i].speed_ups, i };
    }
    qsort(start->place + 1, n, sizeof *start->place, cv_compare_doubles);
    for (uint32_t k = 2; k <= n; k++)
        start->place[k] += start->place[k - 1];
    qsort(rank, n, sizeof *rank, compare_ranks);
    for (uint32_t k = 0; k < n; k++)
        start->by_speed[k] = rank[k].worker;
    return true;
}

/* Own latencies forgotten, compute latencies made equal: the fastest goes first. The sum
 * is the largest of n linear functions of T, so the least T is the least of n roots. */
static double start_plain(const struct start *start, double least_alpha)
{
    double speed = 0, lost = start->load, best = INFINITY;

    for (uint32_t k = 1; k <= start->n; k++) {
        const double s = start->workers[start->by_speed[k - 1]].speed_ups;

        speed += s;
        lost += s * (least_alpha + start->place[k]);
        best = fmin(best, lost / speed);
    }
    return best;
}

/* Prices of the places that are optimal for the plain problem at time T: between one
 * place and the next the price falls by the speed of who stands there. */
static void start_prices(struct start *start, double horizon)
{
    start->price[start->n] = 0;
    for (uint32_t k = start->n; k > 1; k--) {
        const double s = start->workers[start->by_speed[k - 1]].speed_ups;
        const double later = fmin(start->place[k], horizon);
        const double sooner = fmin(start->place[k - 1], horizon);

        start->price[k - 1] = start->price[k] + s * (later - sooner);
    }
}

/* How many places begin no later than t; the first one always does for t = beta_i. */
static uint32_t places_until(const struct start *start, double t)
{
    uint32_t places;

    CV_BISECT(places, start->n, i, start->place[i + 1] <= t);
    return places > 0 ? places : 1;
}

/* The most that the worker of rank r (from 1) gains over S (T - alpha), over places. */
static double best_place(const struct start *start, uint32_t r, uint32_t used)
{
    const struct cleave_worker *w = &start->workers[start->by_speed[r - 1]];
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
            const struct cleave_worker *w = &start->workers[start->by_speed[k]];
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

    h->row = cv_array(scratch, size, sizeof *h->row);
    h->column = cv_array(scratch, size, sizeof *h->column);
    h->min = cv_array(scratch, size, sizeof *h->min);
    h->match = cv_array(scratch, size, sizeof *h->match);
    h->way = cv_array(scratch, size, sizeof *h->way);
    h->done = cv_array(scratch, size, sizeof *h->done);
    return h->row != NULL && h->column != NULL && h->min != NULL && h->match != NULL &&
           h->way != NULL && h->done != NULL;
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
        hungarian_add(h, start, start->by_speed[i] + 1, t);
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

/* One worker alone reaches the load at this time, so the sum does too. */
static double start_alone(const struct start *start)
{
    double best = INFINITY;

    for (uint32_t i = 0; i < start->n; i++) {
        const struct cleave_worker *w = &start->workers[i];

        best =
            fmin(best, w->latency_s + w->compute_latency_s + start->load / w->speed_ups);
    }
    return best;
}

double cv_bound_start(const struct cleave_worker *workers, uint32_t nworkers, double load,
                      struct cv_arena *scratch)
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
    t = fmin(newton_step(&hungarian, &start, weak), start_alone(&start));
    for (int step = 0; step < 64; step++) {
        next = newton_step(&hungarian, &start, t);
        if (!(next < t))
            break;
        t = next;
    }
    return fmax(t, weak);
}
