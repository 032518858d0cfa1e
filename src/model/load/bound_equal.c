/* bound_equal.c -- the optimum itself, where it is known.
 * SPDX-License-Identifier: MIT
 *
 * Equal workers, one port. Read a schedule backwards from its end. An optimal one with as
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
#include "model/load/bound_equal.h"

#include <math.h>

/* Chunks tried before the search gives up: this many, and some per worker. */
static const double most_chunks = 32768, most_per_worker = 4;
/* A size this little below zero is taken for zero: the bound can only fall. */
static const double size_noise = 1e-9;

/* Sums over the chunks counted so far, from the end. */
struct sums {
    double slope, offset; /* of g_i in g_0                 */
    double min;           /* g_0 from which on all g_i >= 0 */
};

static void sums_add(struct sums *sums, double slope, double offset)
{
    sums->slope += slope;
    sums->offset += offset;
    sums->min = fmax(sums->min, -offset / slope);
}

/* No schedule of `chunks` chunks or more ends before this. */
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

double cv_bound_alone(const struct cleave_worker *worker, double t, uint32_t most_tried,
                      double *out_slope, bool *out_exact)
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
