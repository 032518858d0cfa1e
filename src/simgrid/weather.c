/* weather.c -- speeds and bandwidths that change over time. SPDX-License-Identifier: MIT
 *
 * An actor makes the changes. SimGrid has profiles of its own, but they count from the
 * beginning of the world, and a run that is repeated begins later. The actor belongs to its
 * run, and leaves when another has begun. */
#include <stdlib.h>

#include <simgrid/actor.h>
#include <simgrid/engine.h>

#include "base/compare.h"
#include "simgrid/world.h"

/* A step of a profile. */
struct change {
    double from_s, factor;
    uint32_t worker, state; /* state: of the host */
};

struct weather {
    struct change *changes; /* owned: in the order of time */
    size_t count;
};

struct forecast {
    struct world *world;
    uint32_t run;
    size_t next;
};

CV_ORDER_BY_TWO(earlier, struct change, from_s, worker)

static struct weather *gather(struct world *world)
{
    struct weather *weather = cv_world_take(world, 1, sizeof *weather);
    const struct cleave_step *step = world->steps;

    weather->changes = cv_world_take(world, world->told.nsteps, sizeof(struct change));
    for (uint32_t w = 0; w < world->told.nodes; w++)
        for (uint32_t k = 0; k < world->nsteps[w]; k++, step++)
            weather->changes[weather->count++] =
                (struct change){ step->from_s, step->factor, w, k + 1 };
    qsort(weather->changes, weather->count, sizeof(struct change), earlier);
    return weather;
}

static void change(struct world *world, const struct change *to)
{
    cv_star_rate(world, to->worker, to->state, to->factor);
}

static void go_on(int argc, char **argv)
{
    struct forecast *forecast = sg_actor_self_get_data();
    struct world *world = forecast->world;
    const struct weather *weather = world->weather;
    const double origin_s = world->origin_s;

    (void)argc;
    (void)argv;
    for (; forecast->next < weather->count; forecast->next++) {
        const struct change *to = &weather->changes[forecast->next];
        const double rest_s = origin_s + to->from_s - simgrid_get_clock();

        if (rest_s > 0)
            sg_actor_sleep_for(rest_s);
        if (forecast->run != world->run)
            break;
        change(world, to);
    }
    free(forecast);
}

void cv_weather_begin(struct world *world)
{
    struct forecast *forecast;
    sg_actor_t actor;
    size_t next = 0;

    if (world->told.nsteps == 0)
        return;
    if (world->weather == NULL)
        world->weather = gather(world);
    for (uint32_t w = 0; w < world->told.nodes; w++)
        if (world->nsteps[w] > 0)
            cv_star_rate(world, w, 0, 1);
    while (next < world->weather->count && world->weather->changes[next].from_s <= 0)
        change(world, &world->weather->changes[next++]);
    if (next == world->weather->count)
        return;
    forecast = cv_world_take(world, 1, sizeof *forecast);
    *forecast = (struct forecast){ world, world->run, next };
    actor = sg_actor_init("weather", world->master);
    sg_actor_set_data(actor, forecast);
    sg_actor_start(actor, go_on, 0, NULL);
}
