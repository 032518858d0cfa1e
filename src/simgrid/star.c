/* star.c -- the star of a platform file as a platform of SimGrid.
 * SPDX-License-Identifier: MIT
 *
 * Every host has a link of its own for each way; the master's own is no obstacle. Hosts of a
 * load have the costs of their workers. Those of a reduction do a unit a second, so that an
 * operation of t seconds is one of t units. The C interface cannot build platforms, so that
 * a file is written, in memory. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <simgrid/link.h>

#include "simgrid/world.h"

/* A bandwidth that no message ever meets. */
#define ANY "1e60Bps"

static const struct cleave_worker one_unit_a_second = { .speed_ups = 1,
                                                        .bandwidth_ups = 1,
                                                        .return_bandwidth_ups = 1 };

/* Without any latency, SimGrid holds a message to the bandwidth that there was when it began,
 * even if the link gets faster later. */
static double latency(double latency_s)
{
    return latency_s > 1e-200 ? latency_s : 1e-200;
}

static const struct cleave_worker *worker_at(const struct world *world, uint32_t i)
{
    return world->told.task == CV_WIRE_LOAD ? &world->workers[i] : &one_unit_a_second;
}

/* The speeds of a host: first the usual one, then that of each step of its profile. */
static void write_host(const struct world *world, uint32_t i,
                       const struct cleave_step *steps, FILE *file)
{
    const struct cleave_worker *worker = worker_at(world, i);
    const double speed = worker->speed_ups * CV_STAR_UNIT;

    fprintf(file, "<host id=\"w%u\" speed=\"%.17gf", i, speed);
    for (uint32_t k = 0; world->nsteps != NULL && k < world->nsteps[i]; k++)
        fprintf(file, ",%.17gf", speed * cv_star_factor(steps[k].factor));
    /* Bandwidths are set when it is known what a unit is in bytes; till then, and for nodes
     * that send to nodes, they are no obstacle. */
    fprintf(file,
            "\"/><link id=\"d%u\" bandwidth=\"" ANY "\" latency=\"%.17gs\"/>"
            "<link id=\"u%u\" bandwidth=\"" ANY "\" latency=\"%.17gs\"/>\n",
            i, latency(worker->latency_s), i, latency(worker->return_latency_s));
}

static void write_star(const struct world *world, FILE *file)
{
    const struct cleave_step *steps = world->steps;

    fputs("<?xml version='1.0'?>\n"
          "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
          "<platform version=\"4.1\"><zone id=\"star\" routing=\"Cluster\">\n"
          "<host id=\"m\" speed=\"1f\"/>"
          "<link id=\"d\" bandwidth=\"" ANY "\" latency=\"0s\"/>"
          "<link id=\"u\" bandwidth=\"" ANY "\" latency=\"0s\"/>\n",
          file);
    for (uint32_t i = 0; i < world->told.nodes; i++) {
        write_host(world, i, steps, file);
        if (world->nsteps != NULL)
            steps += world->nsteps[i];
    }
    fputs("<host_link id=\"m\" up=\"u\" down=\"d\"/>\n", file);
    for (uint32_t i = 0; i < world->told.nodes; i++)
        fprintf(file, "<host_link id=\"w%u\" up=\"u%u\" down=\"d%u\"/>\n", i, i, i);
    fputs("</zone></platform>\n", file);
}

static struct link find_link(const char *way, uint32_t i, double rate_ups)
{
    char name[24];

    snprintf(name, sizeof name, "%s%u", way, i);
    return (struct link){ sg_link_by_name(name), rate_ups, 1, 0 };
}

static void find_parts(struct world *world)
{
    const uint32_t n = world->told.nodes;
    char name[24];

    world->master = sg_host_by_name("m");
    world->hosts = cv_world_take(world, n, sizeof(sg_host_t));
    world->down = cv_world_take(world, n, sizeof *world->down);
    world->up = cv_world_take(world, n, sizeof *world->up);
    for (uint32_t i = 0; i < n; i++) {
        const struct cleave_worker *worker = worker_at(world, i);

        snprintf(name, sizeof name, "w%u", i);
        world->hosts[i] = sg_host_by_name(name);
        world->down[i] = find_link("d", i, worker->bandwidth_ups);
        world->up[i] = find_link("u", i, worker->return_bandwidth_ups);
    }
    world->latency_on_links = true;
}

void cv_star_load(struct world *world)
{
    const int memory = memfd_create("star", MFD_CLOEXEC);
    FILE *file = memory < 0 ? NULL : fdopen(memory, "w");
    char path[40];
    bool failed;

    if (file == NULL)
        cv_world_fail(world, CLEAVE_EENGINE, "cannot make a file in memory for SimGrid");
    write_star(world, file);
    failed = fflush(file) != 0 || ferror(file);
    if (failed)
        cv_world_fail(world, CLEAVE_ENOMEM, "out of memory for a platform of SimGrid");
    snprintf(path, sizeof path, "/proc/self/fd/%d", memory);
    simgrid_load_platform(path);
    fclose(file);
    find_parts(world);
}

void cv_star_latency(struct world *world, bool on_links)
{
    if (on_links == world->latency_on_links)
        return;
    for (uint32_t i = 0; i < world->told.nodes; i++) {
        const struct cleave_worker *worker = worker_at(world, i);

        sg_link_set_latency(world->down[i].link,
                            latency(on_links ? worker->latency_s : 0));
        sg_link_set_latency(world->up[i].link,
                            latency(on_links ? worker->return_latency_s : 0));
    }
    world->latency_on_links = on_links;
}

void cv_star_rate(struct world *world, uint32_t worker, uint32_t state, double factor)
{
    sg_host_set_pstate(world->hosts[worker], state);
    world->down[worker].factor = world->up[worker].factor = factor;
    cv_star_bandwidth(&world->down[worker]);
    cv_star_bandwidth(&world->up[worker]);
}
