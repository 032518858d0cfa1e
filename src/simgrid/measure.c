/* measure.c -- what hosts and routes of a topology cost when nothing else goes on.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <simgrid/exec.h>
#include <simgrid/host.h>
#include <xbt/config.h>

#include "base/random.h"
#include "simgrid/world.h"

/* Times are compared, so they should be exact. */
static const double FINE = 1e-15;

static double send_s(sg_host_t from, sg_host_t to, double bytes)
{
    const double begin_s = simgrid_get_clock();

    sg_host_sendto(from, to, bytes);
    return simgrid_get_clock() - begin_s;
}

/* Times are differences of the clock: their last digits mean nothing, but make workers
 * different that are alike. */
static double tidy(double value)
{
    char text[32];

    snprintf(text, sizeof text, "%.8g", value);
    return strtod(text, NULL);
}

/* Latency and bandwidth in bytes per second: what a small and a large message take. */
static void measure_way(sg_host_t from, sg_host_t to, double unit_bytes,
                        double *out_latency_s, double *out_rate)
{
    const double small_s = send_s(from, to, unit_bytes);
    double bytes = unit_bytes, large_s = small_s;

    while (large_s < 8 * small_s + 1e-6 && bytes < 1e30 * unit_bytes) {
        bytes *= 8;
        large_s = send_s(from, to, bytes);
    }
    *out_rate = tidy((bytes - unit_bytes) / (large_s - small_s));
    *out_latency_s = tidy(fmax(0, small_s - unit_bytes / *out_rate));
    if (*out_latency_s < 1e-7 * small_s)
        *out_latency_s = 0;
}

/* Flops per second: a millisecond's worth is tried. */
static double measure_speed(sg_host_t host)
{
    const double flops = 1e-3 * sg_host_get_speed(host), begin_s = simgrid_get_clock();
    sg_exec_t exec = sg_actor_exec_init(flops);

    sg_exec_set_host(exec, host);
    sg_exec_start(exec);
    sg_exec_wait(exec);
    return tidy(flops / (simgrid_get_clock() - begin_s));
}

void cv_measure_star(struct world *world)
{
    const uint32_t n = world->told.nodes;
    const double unit = world->told.unit_bytes;
    struct cleave_worker *workers = cv_world_take(world, n, sizeof *workers);
    struct cv_wire_answer answer = { .reply = CV_WIRE_STAR, .count = n };

    sg_cfg_set_double("surf/precision", FINE);
    for (uint32_t i = 0; i < n; i++) {
        sg_host_t host = world->hosts[i];
        double rate;

        measure_way(world->master, host, unit, &workers[i].latency_s, &rate);
        workers[i].bandwidth_ups = tidy(rate / unit);
        measure_way(host, world->master, unit, &workers[i].return_latency_s, &rate);
        workers[i].return_bandwidth_ups = tidy(rate / unit);
        workers[i].speed_ups = tidy(measure_speed(host) / world->told.unit_flops);
        answer.bytes += strlen(sg_host_get_name(host)) + 1;
    }
    answer.bytes += n * sizeof *workers;
    cv_world_answer(world, &answer, sizeof answer);
    cv_world_answer(world, workers, n * sizeof *workers);
    for (uint32_t i = 0; i < n; i++)
        cv_world_answer(world, sg_host_get_name(world->hosts[i]),
                        strlen(sg_host_get_name(world->hosts[i])) + 1);
    free(workers);
}

/* All ordered pairs, or as many by chance when there are too many. */
void cv_measure_pairs(struct world *world)
{
    enum { MOST_NODES = 300, TRIED = 20000 };
    const uint32_t n = world->told.nodes;
    const bool all = n <= MOST_NODES;
    const uint64_t tries = all ? (uint64_t)n * n : TRIED;
    struct cv_wire_answer answer = { .reply = CV_WIRE_PAIRS, .count = n };
    double sum_s = 0, count = 0, least_s = INFINITY, most_s = 0;

    sg_cfg_set_double("surf/precision", FINE);
    for (uint64_t k = 0; k < tries; k++) {
        struct cv_random random;
        uint64_t i = k / n, j = k % n;
        double took_s;

        if (!all) {
            cv_random_at(&random, 1, (uint32_t)k, 0, 0);
            i = (uint64_t)(cv_random_uniform(&random) * n) % n;
            j = (uint64_t)(cv_random_uniform(&random) * n) % n;
        }
        if (i == j)
            continue;
        took_s = send_s(world->hosts[i], world->hosts[j], world->told.partial_bytes);
        sum_s += took_s;
        count += 1;
        least_s = fmin(least_s, took_s);
        most_s = fmax(most_s, took_s);
    }
    answer.seconds[0] = count > 0 ? sum_s / count : 0;
    answer.seconds[1] = !all ? NAN : count > 0 ? least_s : 0;
    answer.seconds[2] = most_s;
    cv_world_answer(world, &answer, sizeof answer);
}
