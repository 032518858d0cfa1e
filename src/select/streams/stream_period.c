/* stream_period.c -- how long rounds should be when nobody says.
 * SPDX-License-Identifier: MIT
 *
 * First with workers that may be divided. In rounds of tau a worker gives
 * p = S (1 - 2 f / tau) and takes w = (1 + margin) max(data, results) / tau of its
 * master's time. Both p and p / w grow with tau, so the best throughput of M masters, to take the
 * densest workers until their time is full, does too: a search by halving finds where it
 * reaches the wanted share. Then, since workers are whole, the period grows until a
 * selection reaches that share of the selection for rounds FAR times as long. */
#include "select/streams/stream_period.h"

#include <math.h>
#include <stdlib.h>

#include "base/fail.h"
#include "select/knapsack/knapsack.h"

/* A period where costs say nothing about time. */
static const double ANY_PERIOD_S = 1;
static const double FAR = 1000, STEP = 1.05;
/* Above so many workers parts of one do not matter; nor when everyone has a master. */
enum { WHOLE_MATTERS = 5000 };

struct divisible {
    double profit, weight; /* of a second of the master's time */
};

/* In rounds without end for tau = INFINITY; a weight above 1 cannot be served. */
static struct divisible worth(const struct cv_stream_ring *ring, uint32_t w, double tau_s)
{
    const struct cleave_worker *worker = &ring->workers[w];
    const double part = 1 - 2 * worker->compute_latency_s / tau_s;
    const double ups = worker->speed_ups * part;
    const double data = 2 * worker->latency_s / tau_s + ups / worker->bandwidth_ups;
    const double back = 2 * worker->return_latency_s / tau_s +
                        ring->result_ratio * ups / worker->return_bandwidth_ups;

    return (struct divisible){ ups, (1 + cv_ring_margin(ring, w)) * fmax(data, back) };
}

static int by_density(const void *left, const void *right)
{
    const struct divisible *a = left, *b = right;
    const double x = a->profit * b->weight, y = b->profit * a->weight;

    return (x < y) - (x > y);
}

/* The most that the masters get out of rounds of tau_s. */
static double most_throughput(const struct cv_stream_task *task, double tau_s,
                              struct divisible *room)
{
    double left = task->nstreams, sum = 0;
    uint32_t n = 0;

    for (uint32_t w = 0; w < task->ring.n; w++) {
        const struct divisible one = worth(&task->ring, w, tau_s);

        if (one.profit > 0 && one.weight <= 1)
            room[n++] = one;
    }
    qsort(room, n, sizeof *room, by_density);
    for (uint32_t i = 0; i < n && left > 0; i++) {
        const double part = room[i].weight > left ? left / room[i].weight : 1;

        sum += part * room[i].profit;
        left -= part * room[i].weight;
    }
    return sum;
}

static bool any_latency(const struct cv_stream_ring *ring)
{
    for (uint32_t w = 0; w < ring->n; w++)
        if (ring->workers[w].compute_latency_s > 0 || ring->workers[w].latency_s > 0 ||
            ring->workers[w].return_latency_s > 0)
            return true;
    return false;
}

/* Where divisible workers reach the share. */
static double divisible_period(const struct cv_stream_task *task, double wanted_ups,
                               struct divisible *room)
{
    double high = 1, low;

    while (most_throughput(task, high, room) < wanted_ups)
        high *= 2;
    low = high / 2;
    while (most_throughput(task, low, room) >= wanted_ups && low > 1e-12) {
        high = low;
        low /= 2;
    }
    while (high > low * (1 + 1e-4)) {
        const double half = sqrt(low * high);

        if (most_throughput(task, half, room) >= wanted_ups)
            high = half;
        else
            low = half;
    }
    return high;
}

/* Two digits are enough, and easy to say. */
static double round_up(double period_s)
{
    const double unit = pow(10, floor(log10(period_s)) - 1);
    const double digits = ceil(period_s / unit * (1 - 1e-9));

    /* Divide where that is the nearest number to the digits. */
    return unit < 1 ? digits / round(1 / unit) : digits * unit;
}

static enum cleave_status selected_ups(const struct cv_stream_task *task, double tau_s,
                                       double *out, struct cleave_error *err)
{
    struct cv_stream_task probe = *task;
    struct cv_stream_choice choice;
    struct cv_arena arena;
    enum cleave_status status;

    probe.ring.tau_s = tau_s;
    probe.work = CV_KNAPSACK_SECOND / 50;
    cv_arena_init(&arena);
    status = cv_stream_select(&probe, &arena, &choice, err);
    if (status == CLEAVE_OK)
        *out = choice.throughput;
    cv_arena_done(&arena);
    return status;
}

enum cleave_status cv_stream_period(const struct cv_stream_task *task, double *out_s,
                                    struct cleave_error *err)
{
    struct divisible *room = malloc((task->ring.n + (size_t)1) * sizeof *room);
    double endless_ups, period_s, far_ups, ups = 0;

    if (room == NULL)
        return cv_fail_memory(err, "the choice of a period");
    endless_ups = most_throughput(task, INFINITY, room);
    period_s = !(endless_ups > 0) ? 0
               : !any_latency(&task->ring)
                   ? ANY_PERIOD_S
                   : divisible_period(task, CV_PERIOD_SHARE * endless_ups, room);
    free(room);
    if (!(period_s > 0))
        return cv_fail(err, CLEAVE_EINPUT,
                       "no worker can be served in rounds of any length: messages take "
                       "longer than computing");
    *out_s = period_s = round_up(period_s);
    if (task->ring.n > WHOLE_MATTERS || task->nstreams >= task->ring.n)
        return CLEAVE_OK;
    CV_TRY(selected_ups(task, FAR * period_s, &far_ups, err));
    while (period_s < FAR * *out_s) {
        CV_TRY(selected_ups(task, period_s, &ups, err));
        if (ups >= CV_PERIOD_SHARE * far_ups) {
            *out_s = period_s;
            break;
        }
        period_s = round_up(STEP * period_s);
    }
    return CLEAVE_OK;
}
