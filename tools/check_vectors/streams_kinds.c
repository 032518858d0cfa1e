/* streams_kinds.c -- cases of several data streams: delays, rounds, orders.
 * SPDX-License-Identifier: MIT */
#include <math.h>

#include "kinds.h"
#include "cycle_worst.h"
#include "model/stream/stream_costs.h"
#include "model/platform/profile.h"
#include "model/load/plan.h"
#include "periodic_end.h"
#include "stream_recurrence.h"
#include "streams_inputs.h"

static void expect_delays(struct vector_case *c, const struct cv_stream_ring *ring,
                          const struct cv_stream_times *times)
{
    struct cv_stream_times *printed = cv_ring_times(ring, c->arena);
    double *numbers = case_room(c, ring->n);

    if (numbers == NULL || printed == NULL)
        return;
    /* What was printed exchanges the first and the second result (stream_costs.h). */
    for (uint32_t w = 0; w < ring->n; w++) {
        printed[w].return_first_s = times[w].return_second_s;
        printed[w].return_second_s = times[w].return_first_s;
    }
    cv_ring_delays(ring, printed, numbers);
    expect_numbers(c, "d_printed", numbers, ring->n);
    cv_ring_tight_delays(ring, times, numbers);
    expect_numbers(c, "dring_derived", numbers, ring->n);
    cv_ring_tight_delays(ring, printed, numbers);
    expect_numbers(c, "dring_printed", numbers, ring->n);
    for (uint32_t w = 0; w < ring->n; w++)
        numbers[w] = cv_stream_load(&ring->workers[w], ring->tau_s);
    expect_numbers(c, "alpha_star", numbers, ring->n);
    for (uint32_t w = 0; w < ring->n; w++)
        numbers[w] = cv_stream_profit(&ring->workers[w], ring->tau_s);
    expect_numbers(c, "t", numbers, ring->n);
}

static void run_delays(struct vector_case *c)
{
    const struct cv_stream_ring ring = case_ring(c);
    const struct cv_stream_times *times = cv_ring_times(&ring, c->arena);
    double *delays = case_room(c, ring.n), *starts = case_room(c, ring.n);
    double *omega = case_room(c, ring.n), sum, reserve;
    struct cv_port_gaps gaps;

    if (ring.n == 0 || times == NULL || delays == NULL || starts == NULL || omega == NULL)
        return;
    expect_delays(c, &ring, times);
    cv_ring_delays(&ring, times, delays);
    expect_numbers(c, "d_derived", delays, ring.n);
    sum = cv_stream_sum(delays, ring.n);
    expect_number(c, "sum_d", sum);
    expect_flag(c, "cond4", sum <= ring.tau_s);
    cv_ring_starts(delays, ring.n, starts);
    expect_numbers(c, "start", starts, ring.n);
    reserve = cv_ring_own_weights(&ring, times, omega);
    expect_numbers(c, "omega", omega, ring.n);
    expect_number(c, "reserve", reserve);
    if (cv_ring_gaps(&ring, times, starts, NULL, c->arena, &gaps))
        expect_numbers(c, "steady_gaps", (double[]){ gaps.send_s, gaps.receive_s }, 2);
}

/* Leaves as much time to spare in a first round as in the rounds after it. */
static double equal_slack(const struct cleave_worker *worker, double result_ratio,
                          double load)
{
    const double work = load / worker->speed_ups, data = load / worker->bandwidth_ups;
    const double result = result_ratio * load / worker->return_bandwidth_ups;

    return (work + data - worker->return_latency_s) / (2 * work + 2 * data + result);
}

static void run_theta(struct vector_case *c)
{
    const double before = case_number(c, "a_prev"), after = case_number(c, "a_next");
    const double rho = case_number(c, "rho");
    struct cleave_worker worker;
    struct cv_theta_window window;

    if (!case_stream_worker(c, json_get(c->in, "worker"), &worker))
        return;
    window = cv_theta_window(&worker, rho, before, after);
    expect_number(c, "low", window.low);
    expect_number(c, "high", window.high);
    expect_number(c, "low_first", cv_theta_first(&worker, before));
    expect_number(c, "equal_slack", equal_slack(&worker, rho, before));
}

static void run_cip(struct vector_case *c)
{
    const struct json *share = json_get(c->in, "max_latency_share");
    const bool limited = share != NULL && share->kind != JSON_NULL;
    const struct cv_stream_ring ring = case_ring(c);
    struct cleave_error err;
    struct cv_cip cip;

    if (ring.n == 0)
        return;
    expect_number(c, "tau_min", cv_ring_least_tau(&ring, 0));
    if (cv_stream_cip(&ring, limited ? case_number(c, "max_latency_share") : 0, c->arena,
                      &cip, &err) != CLEAVE_OK) {
        expect_number(c, "tau", NAN);
        return;
    }
    expect_number(c, "tau", cip.tau_s);
    expect_numbers(c, "theta", cip.theta, ring.n);
    expect_numbers(c, "alpha1", cip.first_load, ring.n);
    expect_numbers(c, "d", cip.delay, ring.n);
}

static void run_map(struct vector_case *c)
{
    const struct recurrence recurrence = {
        .speed_ups = case_number(c, "F"),
        .latency_s = case_number(c, "f"),
        .declared_latency_s = case_number(c, "fhat"),
        .tau_s = case_number(c, "tau"),
        .theta = case_number(c, "theta"),
    };
    const uint32_t rounds = case_count(c, "rounds");
    double *loads = case_room(c, rounds), *sigmas = case_room(c, rounds);

    if (loads == NULL || sigmas == NULL)
        return;
    recurrence_run(&recurrence, case_number(c, "alpha1"), rounds, loads, sigmas);
    expect_numbers(c, "alpha", loads, rounds);
    expect_numbers(c, "sigma", sigmas, rounds);
    expect_number(c, "fixed_point", recurrence_fixed_point(&recurrence));
    expect_number(c, "round_duration", recurrence_round(&recurrence));
    expect_number(c, "factor", recurrence_factor(&recurrence));
}

static void run_order(struct vector_case *c)
{
    const struct cv_stream_ring ring = case_ring(c);
    const struct cv_stream_times *times = cv_ring_times(&ring, c->arena);
    uint32_t *order = cv_array(c->arena, ring.n, sizeof *order);
    double base, best, bound, worst;
    struct cv_cycle cycle;

    if (ring.n == 0)
        return;
    if (times == NULL || order == NULL ||
        !cv_cycle_of_times(times, ring.n, c->arena, &cycle, &base) ||
        !cv_cycle_best(&cycle, c->arena, order, &best, &bound) ||
        !cycle_worst(&cycle, c->arena, &worst)) {
        case_fail(c, "out of memory");
        return;
    }
    expect_number(c, "best", base + best);
    expect_number(c, "worst", base + worst);
    expect_number(c, "assignment_bound", base + bound);
    expect_number(c, "given", base + cv_cycle_cost(&cycle, NULL));
}

static void run_waterfill(struct vector_case *c)
{
    size_t n, nspeeds, noverheads;
    const double *ready = case_numbers(c, "E", &n);
    const double *speed = case_numbers(c, "F", &nspeeds);
    const double *overhead = case_numbers(c, "O", &noverheads);
    struct cv_water_fill_workspace *basins = cv_array(c->arena, n, sizeof *basins);
    double *share = case_room(c, n), end;

    if (ready == NULL || speed == NULL || overhead == NULL || share == NULL)
        return;
    if (basins == NULL) {
        case_fail(c, "out of memory");
        return;
    }
    if (nspeeds != n || noverheads != n ||
        !cv_water_fill(basins, ready, overhead, speed, (uint32_t)n, case_number(c, "V"),
                       share, &end)) {
        case_fail(c, "input: expected E, F and O of the same workers");
        return;
    }
    expect_number(c, "tstar", end);
    expect_numbers(c, "share", share, n);
}

static void run_speed(struct vector_case *c)
{
    const struct json *queries = json_get(c->in, "queries");
    const struct cv_periodic profile = {
        .drop = case_number(c, "delta"),
        .period_s = case_number(c, "period"),
        .phase_s = case_number(c, "phase"),
        .duty = case_number(c, "duty"),
    };
    const double speed = case_number(c, "ref");
    double *finish;

    if (queries == NULL || queries->kind != JSON_LIST) {
        case_fail(c, "input queries: expected a list");
        return;
    }
    finish = case_room(c, queries->count);
    for (size_t i = 0; finish != NULL && i < queries->count; i++) {
        const struct json *query = &queries->items[i];

        if (query->kind != JSON_LIST || query->count != 2) {
            case_fail(c, "input queries[%zu]: expected a time and a work", i);
            return;
        }
        finish[i] = periodic_end(&profile, query->items[0].number,
                                 query->items[1].number / speed);
    }
    expect_numbers(c, "finish", finish, queries->count);
}

const struct case_kind streams_kinds[] = {
    { "delays", run_delays }, { "theta", run_theta }, { "cip", run_cip },
    { "map", run_map },       { "order", run_order }, { "waterfill", run_waterfill },
    { "speed", run_speed },   { NULL, NULL },
};
