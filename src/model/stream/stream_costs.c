/* stream_costs.c -- times, delays and weights of workers that serve a stream in rounds.
 * SPDX-License-Identifier: MIT
 *
 * The window of theta. With part one of round i computed at time 0, the next round is
 * posted when its result is back, and nothing idles if
 *
 *     R'_i + D'_(i+1)              <= C"_i                (part one is there in time)
 *     R'_i + D'_(i+1) + D"_(i+1)   <= C"_i + C'_(i+1)     (part two is)
 *
 * with D, C, R for sending, computing, returning and ' and " for part one and two. The
 * first is an upper bound of theta. The second reads theta Q >= P: a lower bound when the
 * load grows enough, an upper one when it does not. */
#include "model/stream/stream_costs.h"

#include <math.h>
#include <stdlib.h>

#include "base/compare.h"

struct cleave_worker cv_stream_as_duplex(struct cleave_worker worker,
                                         enum cleave_port port, double ratio)
{
    if (!(ratio > 0))
        worker.return_latency_s = 0; /* what does not come back has no latency either */
    if (port == CLEAVE_PORT_ONE) {
        worker.bandwidth_ups =
            1 / (1 / worker.bandwidth_ups + ratio / worker.return_bandwidth_ups);
        worker.latency_s += worker.return_latency_s;
        worker.return_latency_s = 0;
    }
    return worker;
}

double cv_ring_theta(const struct cv_stream_ring *ring, uint32_t worker)
{
    return ring->theta != NULL ? ring->theta[worker] : 0.5;
}

double cv_ring_margin(const struct cv_stream_ring *ring, uint32_t worker)
{
    return ring->margin != NULL ? ring->margin[worker] : 0;
}

double cv_stream_load(const struct cleave_worker *worker, double tau_s)
{
    return worker->speed_ups * (tau_s - 2 * worker->compute_latency_s);
}

double cv_stream_profit(const struct cleave_worker *worker, double tau_s)
{
    return (1 - 2 * worker->compute_latency_s / tau_s) * worker->speed_ups;
}

struct cv_stream_times cv_stream_times(const struct cleave_worker *worker, double theta,
                                       double result_ratio, double load)
{
    const double first = theta * load, second = (1 - theta) * load;
    const double back = result_ratio / worker->return_bandwidth_ups;

    return (struct cv_stream_times){
        .send_first_s = worker->latency_s + first / worker->bandwidth_ups,
        .send_second_s = worker->latency_s + second / worker->bandwidth_ups,
        .compute_first_s = worker->compute_latency_s + first / worker->speed_ups,
        .compute_second_s = worker->compute_latency_s + second / worker->speed_ups,
        .return_first_s = worker->return_latency_s + first * back,
        .return_second_s = worker->return_latency_s + second * back,
    };
}

struct cv_stream_times *cv_ring_times(const struct cv_stream_ring *ring,
                                      struct cv_arena *arena)
{
    struct cv_stream_times *times = cv_array(arena, ring->n, sizeof *times);

    for (uint32_t w = 0; times != NULL && w < ring->n; w++)
        times[w] =
            cv_stream_times(&ring->workers[w], cv_ring_theta(ring, w), ring->result_ratio,
                            cv_stream_load(&ring->workers[w], ring->tau_s));
    return times;
}

double cv_send_time(const struct cv_stream_times *times)
{
    return times->send_first_s + times->send_second_s;
}

double cv_return_time(const struct cv_stream_times *times)
{
    return times->return_first_s + times->return_second_s;
}

struct cv_theta_window cv_theta_window(const struct cleave_worker *worker,
                                       double result_ratio, double before, double after)
{
    const double f = worker->compute_latency_s, speed = worker->speed_ups;
    const double out = worker->latency_s, back = worker->return_latency_s;
    const double data = after / worker->bandwidth_ups;
    const double result = result_ratio * before / worker->return_bandwidth_ups;
    const double work = before / speed;
    const double p = 2 * out + back - 2 * f + data - work;
    const double q = (after - before) / speed - result;
    struct cv_theta_window window = { 0, 1 };

    window.high = fmin(window.high, (work + f - out - back) / (work + result + data));
    if (q > 0)
        window.low = fmax(window.low, p / q);
    else if (q < 0)
        window.high = fmin(window.high, p / q);
    else if (p > 0)
        window.high = -INFINITY; /* part two is late whatever theta is */
    return window;
}

double cv_theta_first(const struct cleave_worker *worker, double load)
{
    const double data = load / worker->bandwidth_ups;

    return (data + worker->latency_s - worker->compute_latency_s) /
           (load / worker->speed_ups + data);
}

double cv_theta_moved(const struct cleave_worker *worker, double result_ratio,
                      double load, double wanted)
{
    struct cv_theta_window window = cv_theta_window(worker, result_ratio, load, load);

    window.low = fmax(window.low, cv_theta_first(worker, load));
    if (!(window.low <= window.high))
        return wanted; /* something idles whatever it is */
    return fmin(fmax(fmin(fmax(wanted, window.low), window.high), 0.05), 0.95);
}

double cv_theta_equal_slack(const struct cleave_worker *worker, double result_ratio,
                            double load)
{
    const double work = load / worker->speed_ups, data = load / worker->bandwidth_ups;
    const double result = result_ratio * load / worker->return_bandwidth_ups;

    return (work + data - worker->return_latency_s) / (2 * work + 2 * data + result);
}

double cv_stream_delay(enum cv_delay_form form, double margin,
                       const struct cv_stream_times *before,
                       const struct cv_stream_times *own)
{
    const double results = form == CV_DELAY_DERIVED
                               ? before->return_second_s + own->return_first_s
                               : before->return_first_s + own->return_second_s;

    return (1 + margin) * fmax(cv_send_time(before), results);
}

void cv_ring_delays(const struct cv_stream_ring *ring,
                    const struct cv_stream_times *times, enum cv_delay_form form,
                    double *out)
{
    for (uint32_t w = 0; w < ring->n; w++)
        out[w] = cv_stream_delay(form, cv_ring_margin(ring, w),
                                 &times[w > 0 ? w - 1 : ring->n - 1], &times[w]);
}

void cv_ring_tight_delays(const struct cv_stream_ring *ring,
                          const struct cv_stream_times *times, enum cv_delay_form form,
                          double *out)
{
    struct cv_stream_times worst = { 0 };

    for (uint32_t w = 0; w < ring->n; w++) {
        worst.send_first_s = fmax(worst.send_first_s, cv_send_time(&times[w]));
        worst.return_first_s = fmax(worst.return_first_s, times[w].return_first_s);
        worst.return_second_s = fmax(worst.return_second_s, times[w].return_second_s);
    }
    for (uint32_t w = 0; w < ring->n; w++)
        out[w] = cv_stream_delay(form, cv_ring_margin(ring, w), &worst, &times[w]);
}

double cv_stream_sum(const double *values, uint32_t n)
{
    double sum = 0;

    for (uint32_t i = 0; i < n; i++)
        sum += values[i];
    return sum;
}

void cv_ring_starts(const double *delays, uint32_t n, double *out)
{
    for (uint32_t w = 0; w < n; w++)
        out[w] = w > 0 ? out[w - 1] + delays[w] : 0;
}

double cv_ring_own_weights(const struct cv_stream_ring *ring,
                           const struct cv_stream_times *times, double *out_omega)
{
    double min = INFINITY, greatest = 0, margin = 0;

    for (uint32_t w = 0; w < ring->n; w++) {
        const double own = cv_ring_margin(ring, w);

        out_omega[w] =
            (1 + own) * fmax(cv_send_time(&times[w]), cv_return_time(&times[w]));
        min = fmin(min, times[w].return_first_s);
        greatest = fmax(greatest, times[w].return_first_s);
        margin = w == 0 || own == margin ? own : NAN;
    }
    return ring->n > 0 ? (1 + margin) * (greatest - min) : 0;
}

/* From a worker's post to its next first result, in a steady round. */
static double phase_of(const struct cv_stream_times *times)
{
    return times->send_first_s + times->compute_first_s + times->return_first_s;
}

/* By how many seconds a unit more in the first round moves all later posts. */
static double shift_per_unit(const struct cv_stream_ring *ring, uint32_t w)
{
    return 1 / ring->workers[w].speed_ups +
           cv_ring_theta(ring, w) / ring->workers[w].bandwidth_ups;
}

struct use {
    double begin_s, length_s;
};

CV_ORDER_BY(by_begin, struct use, begin_s)

static double into_period(double time, double period)
{
    const double rest = fmod(time, period);

    return rest < 0 ? rest + period : rest;
}

/* The least time between the end of a use and the begin of the next, period after
 * period. */
static double least_gap(struct use *uses, uint32_t n, double period)
{
    double min = INFINITY;

    qsort(uses, n, sizeof *uses, by_begin);
    for (uint32_t i = 0; i < n; i++) {
        const double next = i + 1 < n ? uses[i + 1].begin_s : uses[0].begin_s + period;

        min = fmin(min, next - uses[i].begin_s - uses[i].length_s);
    }
    return min;
}

bool cv_ring_gaps(const struct cv_stream_ring *ring, const struct cv_stream_times *times,
                  const double *starts, const double *first_loads, struct cv_arena *arena,
                  struct cv_port_gaps *out)
{
    struct use *sends = cv_array(arena, ring->n, sizeof *sends);
    struct use *returns = cv_array(arena, ring->n, sizeof *returns);

    if (sends == NULL || returns == NULL)
        return false;
    for (uint32_t w = 0; w < ring->n; w++) {
        double post = starts[w] + phase_of(&times[w]);

        if (first_loads != NULL)
            post += shift_per_unit(ring, w) *
                    (first_loads[w] - cv_stream_load(&ring->workers[w], ring->tau_s));
        sends[w].begin_s = into_period(post, ring->tau_s);
        sends[w].length_s = cv_send_time(&times[w]);
        returns[w].begin_s = into_period(post - times[w].return_first_s, ring->tau_s);
        returns[w].length_s = cv_return_time(&times[w]);
    }
    out->send_s = least_gap(sends, ring->n, ring->tau_s);
    out->receive_s = least_gap(returns, ring->n, ring->tau_s);
    return true;
}

uint32_t cv_ring_first_loads(const struct cv_stream_ring *ring,
                             const struct cv_stream_times *times, double *out)
{
    uint32_t untrimmed = 0;

    for (uint32_t w = 0; w < ring->n; w++) {
        const double steady = cv_stream_load(&ring->workers[w], ring->tau_s);
        const double late = phase_of(&times[w]) - phase_of(&times[0]);

        out[w] = steady - late / shift_per_unit(ring, w);
        if (!(out[w] > 0)) {
            out[w] = steady;
            untrimmed++;
        }
    }
    return untrimmed;
}

double cv_stream_next_load(double load, double tau_s, double sigma)
{
    const double next = load * tau_s / sigma;

    return sigma > 0 && isfinite(next) ? next : load;
}
