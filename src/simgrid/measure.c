/* measure.c -- what hosts and routes of a topology cost when nothing else goes on.
 * SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <simgrid/exec.h>
#include <simgrid/host.h>
#include <xbt/config.h>

#include "base/random.h"
#include "engine/simgrid_wire.h"
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
    /* A route without links, as between peers with coordinates, carries any number of bytes
     * in no time: at least so many as were tried. */
    *out_rate = large_s > small_s * (1 + 1e-9)
                    ? tidy((bytes - unit_bytes) / (large_s - small_s))
                    : tidy(bytes / fmax(small_s, 1e-9));
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

/* --- hosts that cannot be used --------------------------------------------------------------- */

/* The first line that SimGrid marked as an error, without the mark, or else the last one. */
static void read_words(int words, char *out, size_t size)
{
    char text[4096], *line, *rest = text;
    const ssize_t length = pread(words, text, sizeof text - 1, 0);

    text[length > 0 ? length : 0] = '\0';
    snprintf(out, size, "it cannot be reached");
    while ((line = strsep(&rest, "\n")) != NULL) {
        const char *marked = cv_simgrid_marked(line);

        if (line[strspn(line, " \t")] != '\0')
            snprintf(out, size, "%s", cv_simgrid_plain(marked != NULL ? marked : line));
        if (marked != NULL)
            return;
    }
}

/* What was found out so far: the hosts before `at`. */
struct found {
    volatile uint32_t at;
    struct cleave_worker workers[];
};

static void measure_from(const struct world *world, struct found *found)
{
    const double unit = world->told.unit_bytes;

    for (; found->at < world->told.nodes; found->at++) {
        struct cleave_worker *worker = &found->workers[found->at];
        sg_host_t host = world->hosts[found->at];
        double rate;

        measure_way(world->master, host, unit, &worker->latency_s, &rate);
        worker->bandwidth_ups = tidy(rate / unit);
        measure_way(host, world->master, unit, &worker->return_latency_s, &rate);
        worker->return_bandwidth_ups = tidy(rate / unit);
        worker->speed_ups = tidy(measure_speed(host) / world->told.unit_flops);
    }
}

/* A host without a route, or that is off, ends SimGrid. So a copy of this process measures,
 * in memory that both see: when it has ended, found->at is the first host that cannot be
 * used, the number of hosts if there is none. */
static void measure_in_copy(struct world *world, struct found *found, char *why,
                            size_t size)
{
    const int words = memfd_create("words", MFD_CLOEXEC);
    const pid_t id = words < 0 ? -1 : fork();
    int state = 0;

    if (id < 0)
        cv_world_fail(world, CLEAVE_EENGINE, "cannot start another world of SimGrid");
    if (id == 0) {
        dup2(words, STDERR_FILENO);
        measure_from(world, found);
        _exit(0);
    }
    while (waitpid(id, &state, 0) < 0 && errno == EINTR)
        continue;
    read_words(words, why, size);
    close(words);
}

/* So many that fail one after the other: it is no use to try thousands. */
enum { HOPELESS = 8 };

/* Measure all hosts, and leave those out that cannot be used; `left_out` says which, and
 * why. */
static void measure_hosts(struct world *world, struct found *found, char *left_out,
                          size_t size)
{
    size_t length = 0, failed = 0;
    char why[300] = "";

    left_out[0] = '\0';
    if (CV_WORLD_WATCHED) {
        measure_from(world, found);
        return;
    }
    for (;;) {
        const uint32_t before = found->at;

        measure_in_copy(world, found, why, sizeof why);
        if (found->at >= world->told.nodes)
            return;
        failed = found->at > before ? 1 : failed + 1;
        if (length < size)
            length += (size_t)snprintf(left_out + length, size - length, "%s: %s\n",
                                       sg_host_get_name(world->hosts[found->at]), why);
        memmove(&world->hosts[found->at], &world->hosts[found->at + 1],
                (world->told.nodes - found->at - 1) * sizeof *world->hosts);
        world->told.nodes--;
        if (failed == HOPELESS && world->told.nodes > found->at) {
            if (length < size)
                length +=
                    (size_t)snprintf(left_out + length, size - length,
                                     "%u more, which were not tried: so many before "
                                     "them failed\n",
                                     world->told.nodes - found->at);
            world->told.nodes = found->at;
        }
        if (world->told.nodes == 0)
            cv_world_fail(world, CLEAVE_EINPUT,
                          "%.150s: no host can be used by the master '%.60s': %.200s",
                          world->topology, sg_host_get_name(world->master), why);
    }
}

void cv_measure_star(struct world *world)
{
    static char left_out[4096];
    const size_t bytes =
        sizeof(struct found) + world->told.nodes * sizeof(struct cleave_worker);
    struct found *found =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct cv_wire_answer answer = { .reply = CV_WIRE_STAR };
    uint32_t n;

    if (found == MAP_FAILED)
        cv_world_fail(world, CLEAVE_ENOMEM, "out of memory for a world of SimGrid");
    sg_cfg_set_double("surf/precision", FINE);
    measure_hosts(world, found, left_out, sizeof left_out);
    n = answer.count = world->told.nodes;
    answer.bytes = n * sizeof *found->workers + strlen(left_out);
    for (uint32_t i = 0; i < n; i++)
        answer.bytes += strlen(sg_host_get_name(world->hosts[i])) + 1;
    cv_world_answer(world, &answer, sizeof answer);
    cv_world_answer(world, found->workers, n * sizeof *found->workers);
    for (uint32_t i = 0; i < n; i++)
        cv_world_answer(world, sg_host_get_name(world->hosts[i]),
                        strlen(sg_host_get_name(world->hosts[i])) + 1);
    cv_world_answer(world, left_out, strlen(left_out));
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
