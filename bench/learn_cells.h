/* learn_cells.h -- the grid of bench_learn.c: cells, their platforms, what bounds them.
 * SPDX-License-Identifier: MIT
 *
 * The unit of input is a byte, a worker of speed 1 does 10 MB/s, and W is in seconds of
 * such a worker. A pipe carries 200 times as much, and 4 to 64 KiB are ahead in it. Records
 * have 100 bytes. */
#ifndef LEARN_CELLS_H
#define LEARN_CELLS_H
#include <math.h>

#include "bench_tools.h"
#include "engine/simulated_command.h"
#include "model/platform/platform_internal.h"

enum { KINDS = 5, SPEEDS = 5, INPUTS = 4, MOST_WORKERS = 64, MOST_STEPS = 2 };

static const char *const kind_names[KINDS] = { "stream", "count", "slurp", "late",
                                               "mix" };
static const char *const speed_names[SPEEDS] = { "equal", "4:1", "30:1", "changing",
                                                 "one stops" };
static const char *const input_names[INPUTS] = { "file", "stream", "file, start-ups vary",
                                                 "file, as real runs" };
enum { EQUAL, FOUR, THIRTY, CHANGING, STOPS };
enum { A_FILE, A_STREAM, NOISY, REAL };

static const double BYTES = 1e7;  /* that a worker of speed 1 does in a second */
static const double PIPE = 200;   /* times that speed */
static const double RECORD = 100; /* bytes that are not divided */
/* A worker that stops does next to nothing, not nothing: rates are positive. */
static const double STOPPED = 1e-9;

struct cell {
    int kind, input, speeds;
    double latency_s, load_s; /* start-up; W */
    uint32_t workers;
};

static inline double ahead_of(const struct cell *cell)
{
    if (cell->input == REAL)
        return 4096;
    return BYTES *
           fmin(0.0065536, fmax(cell->load_s / cell->workers / MOST_WORKERS, 4e-4));
}

static inline double hold_of(const struct cell *cell)
{
    return cell->input == A_STREAM ? BYTES * fmax(3.2 * cell->workers, 4.8) : 0;
}

static inline double speed_of(const struct cell *cell, uint32_t worker)
{
    const bool odd = worker % 2 == 1;

    if (cell->workers == 1)
        return 1;
    if (cell->speeds == FOUR)
        return odd ? 0.4 : 1.6;
    if (cell->speeds == THIRTY)
        return odd ? 2.0 / 31 : 60.0 / 31;
    return 1;
}

/* How the speed of a worker changes; returns the number of steps. */
static inline uint32_t steps_of(const struct cell *cell, uint32_t worker,
                                struct cleave_step steps[MOST_STEPS])
{
    const double whole_s = cell->latency_s + cell->load_s / cell->workers;
    const bool odd = worker % 2 == 1;

    if (cell->speeds == CHANGING) {
        steps[0] = odd ? (struct cleave_step){ 0.6 * whole_s, 1.5 }
                       : (struct cleave_step){ 0.4 * whole_s, 0.25 };
        return 1;
    }
    if (cell->speeds == STOPS && worker == cell->workers / 2) {
        steps[0] = (struct cleave_step){ 0.3 * whole_s, STOPPED };
        steps[1] = (struct cleave_step){ 0.8 * whole_s, 1 };
        return 2;
    }
    return 0;
}

/* The true workers; links take no time. */
static inline struct cleave_platform *platform_of(const struct cell *cell)
{
    struct cleave_worker kinds[MOST_WORKERS];
    struct cv_group groups[MOST_WORKERS];
    struct cleave_step steps[MOST_WORKERS][MOST_STEPS];
    char names[MOST_WORKERS][8];
    struct cleave_platform *platform = NULL;
    struct cleave_error err;

    for (uint32_t w = 0; w < cell->workers; w++) {
        const uint32_t nsteps = steps_of(cell, w, steps[w]);

        snprintf(names[w], sizeof names[w], "w%u", (unsigned)w);
        kinds[w] = (struct cleave_worker){ .speed_ups = BYTES * speed_of(cell, w),
                                           .compute_latency_s = cell->latency_s,
                                           .bandwidth_ups = 1e300,
                                           .return_bandwidth_ups = 1e300 };
        groups[w] = (struct cv_group){ .name = names[w],
                                       .count = 1,
                                       .steps = nsteps > 0 ? steps[w] : NULL,
                                       .nsteps = nsteps };
    }
    check(cv_platform_build(CLEAVE_PORT_MULTI, kinds, groups, cell->workers, &platform,
                            NULL, &err),
          &err);
    for (uint32_t w = 0; w < cell->workers; w++)
        platform->workers[w].bandwidth_ups = INFINITY;
    return platform;
}

/* --- what no policy can beat ------------------------------------------------------------ */

/* Units of W that a worker has done by `end_s` if it works after its start-up. */
static inline double done_by(const struct cell *cell, uint32_t worker, double end_s)
{
    struct cleave_step steps[MOST_STEPS];
    const uint32_t nsteps = steps_of(cell, worker, steps);
    double now = cell->latency_s, factor = 1, sum = 0;

    for (uint32_t k = 0; k <= nsteps && now < end_s; k++) {
        const double till = k < nsteps ? fmin(end_s, steps[k].from_s) : end_s;

        if (till > now) {
            sum += (till - now) / (1 / PIPE + 1 / (speed_of(cell, worker) * factor));
            now = till;
        }
        if (k < nsteps)
            factor = steps[k].factor;
    }
    return sum;
}

static inline bool suffices(const struct cell *cell, double end_s)
{
    double sum = 0;

    for (uint32_t w = 0; w < cell->workers; w++)
        sum += done_by(cell, w, end_s);
    return sum >= cell->load_s;
}

/* Every worker starts at least once: the least T by which they can have done W. */
static inline double file_bound(const struct cell *cell)
{
    double low = 0, high = 1;

    while (!suffices(cell, high)) {
        low = high;
        high *= 2;
    }
    for (int k = 0; k < 100; k++) {
        const double middle = low + (high - low) / 2;

        *(suffices(cell, middle) ? &high : &low) = middle;
    }
    return high;
}

/* At most `hold` units of a stream are in use. A chunk of n units holds them for l + n/s,
 * and n/(l + n/s) is concave in n, so no more is done in a second than by chunks that are
 * always as large as n = s (sqrt(l/m) - l)+, for the m with which they add up to hold. */
static inline double stream_rate(const struct cell *cell)
{
    const double hold = hold_of(cell) / BYTES, l = cell->latency_s;
    double low = 1e-12, high = 1e12, rate = 0;

    for (int k = 0; k < 200; k++) {
        const double m = sqrt(low * high);
        double sum = 0;

        rate = 0;
        for (uint32_t w = 0; w < cell->workers; w++) {
            const double s = speed_of(cell, w), n = fmax(0, s * (sqrt(l / m) - l));

            sum += n;
            rate += n > 0 ? n / (l + n / s) : 0;
        }
        *(sum > hold ? &low : &high) = m;
    }
    return rate;
}

/* In seconds. Start-ups that vary count with their middle value. */
static inline double bound_of(const struct cell *cell)
{
    const double bound = file_bound(cell);
    struct cleave_step steps[MOST_STEPS];

    if (cell->input != A_STREAM || !(cell->latency_s > 0) ||
        !(cell->load_s > hold_of(cell) / BYTES) || steps_of(cell, 0, steps) > 0)
        return bound;
    return fmax(bound, cell->load_s / stream_rate(cell));
}

#endif
