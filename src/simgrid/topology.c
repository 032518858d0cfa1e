/* topology.c -- a platform file of SimGrid, and which of its hosts take part.
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <simgrid/engine.h>
#include <simgrid/host.h>

#include "simgrid/world.h"

/* node-2 comes before node-10. */
static int by_name(const void *a, const void *b)
{
    const sg_host_t *x = a, *y = b;

    return strverscmp(sg_host_get_name(*x), sg_host_get_name(*y));
}

static sg_host_t find(struct world *world, const char *name)
{
    sg_host_t host = sg_host_by_name(name);

    if (host == NULL)
        cv_world_fail(world, CLEAVE_EINPUT, "%.200s: there is no host '%.100s'",
                      world->topology, name);
    return host;
}

/* All hosts but the master, or as many of them as are wanted, evenly spread. Nodes of a
 * reduction have no master. */
static void choose(struct world *world, const sg_host_t *all, size_t count)
{
    const bool reduces =
        world->told.task == CV_WIRE_REDUCE || world->told.task == CV_WIRE_MEASURE_PAIRS;
    const size_t there = reduces ? count : count - 1;
    size_t place = 0, n = 0;

    if (world->told.nodes == 0)
        world->told.nodes = (uint32_t)there;
    if (world->told.nodes == 0 || world->told.nodes > there)
        cv_world_fail(world, CLEAVE_EINPUT, "%.200s: expected %u hosts%s, got %zu",
                      world->topology, world->told.nodes == 0 ? 1 : world->told.nodes,
                      reduces ? "" : " besides the master", there);
    world->hosts = cv_world_take(world, world->told.nodes, sizeof(sg_host_t));
    for (size_t i = 0; i < count && n < world->told.nodes; i++) {
        if (!reduces && all[i] == world->master)
            continue;
        if (place++ == n * there / world->told.nodes)
            world->hosts[n++] = all[i];
    }
}

void cv_topology_load(struct world *world)
{
    size_t count;
    sg_host_t *all;

    simgrid_load_platform(world->topology);
    count = sg_host_count();
    if (count == 0)
        cv_world_fail(world, CLEAVE_EINPUT, "%.200s: there are no hosts",
                      world->topology);
    all = sg_host_list();
    qsort(all, count, sizeof *all, by_name);
    world->master =
        world->master_name[0] != '\0' ? find(world, world->master_name) : all[0];
    if (world->told.names == 0) {
        choose(world, all, count);
    } else {
        if (world->told.nodes == 0)
            world->told.nodes = world->told.names;
        if (world->told.nodes > world->told.names)
            cv_world_fail(world, CLEAVE_EINPUT, "expected %u hosts, got %u names",
                          world->told.nodes, world->told.names);
        world->hosts = cv_world_take(world, world->told.nodes, sizeof(sg_host_t));
        for (uint32_t i = 0; i < world->told.nodes; i++)
            world->hosts[i] = find(world, world->names[i]);
    }
    free(all);
}
