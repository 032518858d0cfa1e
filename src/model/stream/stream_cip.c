/* stream_cip.c -- the shortest round in which a master can serve all its workers.
 * SPDX-License-Identifier: MIT
 *
 * In steady rounds of load x the bounds of theta are, with S, B, b the speed and the
 * bandwidths out and back, g and h their latencies, r = ratio / b:
 *
 *     (x/B + g - f) / (x (1/S + 1/B))        <= theta    first round
 *     (x/S + f - g - h) / (x (1/S + r + 1/B)) >= theta   part one in time
 *     (x (1/S - 1/B) + 2f - 2g - h) / (x r)   >= theta   part two in time
 *
 * The denominators are multiples of x, so "the window is not empty" is a set of linear
 * inequalities in x, that is in tau = x/S + 2f. */
#include "model/stream/stream_cip.h"

#include <math.h>

#include "base/fail.h"

/* A time as a function of tau. */
struct line {
    double value, slope;
};

static struct line add(struct line a, struct line b)
{
    return (struct line){ a.value + b.value, a.slope + b.slope };
}

/* To the right of tau the steeper of two equal ones is the greater. */
static struct line greater(struct line a, struct line b)
{
    if (a.value != b.value)
        return a.value > b.value ? a : b;
    return a.slope > b.slope ? a : b;
}

struct lines {
    struct line send, first, second; /* all data; result of part one and of part two */
};

static struct lines lines_at(const struct cv_stream_ring *ring, uint32_t w, double tau_s)
{
    const struct cleave_worker *worker = &ring->workers[w];
    const double theta = cv_ring_theta(ring, w), ratio = ring->result_ratio;
    const struct cv_stream_times times =
        cv_stream_times(worker, theta, ratio, cv_stream_load(worker, tau_s));
    const double back = ratio * worker->speed_ups / worker->return_bandwidth_ups;

    return (struct lines){
        { cv_send_time(&times), worker->speed_ups / worker->bandwidth_ups },
        { times.return_first_s, theta * back },
        { times.return_second_s, (1 - theta) * back },
    };
}

/* The sum of the delays, less tau. */
static struct line excess(const struct cv_stream_ring *ring, double tau_s)
{
    struct line sum = { 0, 0 };
    struct lines before;

    if (ring->n == 0)
        return (struct line){ -tau_s, -1 };
    before = lines_at(ring, ring->n - 1, tau_s);
    for (uint32_t w = 0; w < ring->n; w++) {
        const struct lines own = lines_at(ring, w, tau_s);
        const struct line delay = greater(before.send, add(before.second, own.first));
        const double stretch = 1 + cv_ring_margin(ring, w);

        sum.value += stretch * delay.value;
        sum.slope += stretch * delay.slope;
        before = own;
    }
    return (struct line){ sum.value - tau_s, sum.slope - 1 };
}

double cv_ring_least_tau(const struct cv_stream_ring *ring, double from_s)
{
    double tau = from_s, nudge = 0x1p-52;
    struct line over;

    for (uint32_t w = 0; w < ring->n; w++)
        tau = fmax(tau, 2 * ring->workers[w].compute_latency_s);
    over = excess(ring, tau);
    while (over.value > 0) {
        double next;

        if (over.slope >= 0)
            return INFINITY;
        next = tau - over.value / over.slope;
        /* On the last piece only rounding is left: let the sum fit as it is added up. */
        if (next <= tau * (1 + nudge)) {
            next = tau * (1 + nudge);
            nudge *= 2;
        }
        if (!isfinite(next))
            return INFINITY;
        tau = next;
        over = excess(ring, tau);
    }
    return tau;
}

/* Keep the x with offset + slope x >= 0. */
static void restrict_to(struct cv_tau_range *loads, double offset, double slope)
{
    if (slope > 0)
        loads->low_s = fmax(loads->low_s, -offset / slope);
    else if (slope < 0)
        loads->high_s = fmin(loads->high_s, -offset / slope);
    else if (offset < 0)
        loads->high_s = -INFINITY;
}

/* Loads for which a worker has a window. */
static struct cv_tau_range loads_with_window(const struct cleave_worker *worker,
                                             double ratio)
{
    const double f = worker->compute_latency_s, out = worker->latency_s;
    const double back = worker->return_latency_s;
    const double work = 1 / worker->speed_ups, data = 1 / worker->bandwidth_ups;
    const double result = ratio / worker->return_bandwidth_ups;
    const double first = work + data, whole = work + result + data;
    struct cv_tau_range loads = { 0, INFINITY };

    restrict_to(&loads, f - out - back, work);
    restrict_to(&loads, 2 * f - 2 * out - back, work - data);
    restrict_to(&loads, first * (f - out - back) - whole * (out - f),
                first * work - whole * data);
    if (result > 0)
        restrict_to(&loads, first * (2 * f - 2 * out - back) - result * (out - f),
                    first * (work - data) - result * data);
    return loads;
}

struct cv_tau_range cv_ring_theta_range(const struct cv_stream_ring *ring)
{
    struct cv_tau_range all = { 0, INFINITY };

    for (uint32_t w = 0; w < ring->n; w++) {
        const struct cleave_worker *worker = &ring->workers[w];
        const struct cv_tau_range loads = loads_with_window(worker, ring->result_ratio);
        const double latencies = 2 * worker->compute_latency_s;

        all.low_s = fmax(all.low_s, loads.low_s / worker->speed_ups + latencies);
        all.high_s = fmin(all.high_s, loads.high_s / worker->speed_ups + latencies);
    }
    return all;
}

/* The wanted part, or the nearest one in the window at this tau. */
static double nearest_theta(const struct cv_stream_ring *ring, uint32_t w, double tau_s)
{
    const struct cleave_worker *worker = &ring->workers[w];
    const double load = cv_stream_load(worker, tau_s), wanted = cv_ring_theta(ring, w);
    struct cv_theta_window window;

    if (!(load > 0))
        return wanted;
    window = cv_theta_window(worker, ring->result_ratio, load, load);
    window.low = fmax(window.low, cv_theta_first(worker, load));
    return fmin(fmax(wanted, window.low), window.high);
}

/* Parts that were moved into their windows change the delays, and so tau. */
static double settle(const struct cv_stream_ring *ring, double from_s, double *theta)
{
    enum { MOST_TURNS = 64 };
    struct cv_stream_ring moved = *ring;
    double tau = cv_ring_least_tau(ring, from_s);

    moved.theta = theta;
    for (unsigned turn = 0; turn < MOST_TURNS && isfinite(tau); turn++) {
        double next;

        for (uint32_t w = 0; w < ring->n; w++)
            theta[w] = nearest_theta(ring, w, tau);
        next = cv_ring_least_tau(&moved, tau);
        if (next == tau)
            return tau;
        tau = next;
    }
    return INFINITY;
}

static enum cleave_status fill_in(const struct cv_stream_ring *ring,
                                  struct cv_arena *arena, struct cv_cip *cip,
                                  struct cleave_error *err)
{
    struct cv_stream_ring chosen = *ring;
    const struct cv_stream_times *times;

    chosen.theta = cip->theta;
    chosen.tau_s = cip->tau_s;
    times = cv_ring_times(&chosen, arena);
    if (times == NULL)
        return cv_fail_memory(err, "the times of a round");
    cv_ring_delays(&chosen, times, CV_DELAY_DERIVED, cip->delay);
    for (uint32_t w = 0; w < ring->n; w++)
        cip->first_load[w] = cv_stream_load(&ring->workers[w], cip->tau_s);
    return CLEAVE_OK;
}

enum cleave_status cv_stream_cip(const struct cv_stream_ring *ring,
                                 double max_latency_share, struct cv_arena *arena,
                                 struct cv_cip *out, struct cleave_error *err)
{
    const struct cv_tau_range range = cv_ring_theta_range(ring);
    double from = range.low_s;
    struct cv_cip cip = {
        .theta = cv_array(arena, ring->n, sizeof *cip.theta),
        .first_load = cv_array(arena, ring->n, sizeof *cip.first_load),
        .delay = cv_array(arena, ring->n, sizeof *cip.delay),
    };

    if (cip.theta == NULL || cip.first_load == NULL || cip.delay == NULL)
        return cv_fail_memory(err, "the parts of a round");
    for (uint32_t w = 0; w < ring->n && max_latency_share > 0; w++)
        from = fmax(from, 2 * ring->workers[w].compute_latency_s / max_latency_share);
    cip.least_tau_s = cv_ring_least_tau(ring, 0);
    if (isinf(cip.least_tau_s))
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected workers that one master can serve in a round of any "
                       "length, got messages that take longer than the round");
    if (!(range.low_s <= range.high_s))
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected workers that can compute while they communicate, got "
                       "one whose messages are too long whatever part is sent first");
    from = fmax(from, cip.least_tau_s);
    cip.tau_s = settle(ring, from, cip.theta);
    if (!(cip.tau_s <= range.high_s) || isinf(cip.tau_s))
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected a round of %g s or more, got messages that then take "
                       "longer than the round",
                       from);
    CV_TRY(fill_in(ring, arena, &cip, err));
    *out = cip;
    return CLEAVE_OK;
}
