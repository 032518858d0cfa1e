/* world.c -- activities, platforms and changing speeds of a simulated world.
 * SPDX-License-Identifier: MIT
 *
 * SimGrid ends in one step everything that ends within its precision of the same time.
 * All doers of a step run before the server, so that the server finds simultaneous ends
 * together. The precision is a small part of the longest activity: an absolute one would
 * be too coarse for some platforms and too fine for others. */
#include "simgrid/world.h"

#include <errno.h>
#include <math.h>
#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <simgrid/exec.h>
#include <simgrid/host.h>
#include <simgrid/link.h>
#include <simgrid/semaphore.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xbt/config.h>
#include "base/arena.h"
#include "base/bisect.h"
#include "base/compare.h"
#include "base/write_all.h"

/* --- links of a star ---------------------------------------------------------------- */

/* Bytes of a message. */
static const double LEAST_BYTES = 1e13, USUAL_BYTES = 1e15, MOST_BYTES = 1e18;

/* SimGrid does not accept a speed of 0. */
static double star_factor(double factor)
{
    return factor > 1e-14 ? factor : 1e-14;
}

static void star_bandwidth(const struct link *link)
{
    if (link->unit_bytes > 0)
        sg_link_set_bandwidth(link->link, link->rate_ups * link->unit_bytes *
                                              star_factor(link->factor));
}

static void star_fit(struct activity *activity)
{
    struct link *link = activity->link;
    const double bytes = activity->bytes * link->unit_bytes;

    if (activity->bytes > 0 && (bytes < LEAST_BYTES || bytes > MOST_BYTES)) {
        link->unit_bytes = USUAL_BYTES / activity->bytes;
        star_bandwidth(link);
    }
    activity->bytes *= link->unit_bytes;
}

/* --- activities --------------------------------------------------------------------- */

/* Ends within this part of the longest activity are simultaneous. */
static const double TOGETHER = 1e-13;

struct doer {
    struct world *world;
    sg_sem_t go;
    struct activity *activity;
    struct doer *next;
};

void *cv_world_take(struct world *world, size_t count, size_t size)
{
    void *taken = calloc(count > 0 ? count : 1, size);

    if (taken == NULL)
        cv_world_fail(world, CLEAVE_ENOMEM, "out of memory for a world of SimGrid");
    return taken;
}

void cv_world_fail(struct world *world, enum cleave_status status, const char *format,
                   ...)
{
    const struct cv_wire_answer answer = { .reply = CV_WIRE_FAILED };
    struct cleave_error err = { .status = status };
    va_list args;

    va_start(args, format);
    vsnprintf(err.text, sizeof err.text, format, args);
    va_end(args);
    cv_world_answer(world, &answer, sizeof answer);
    cv_world_answer(world, &err, sizeof err);
    _exit(0);
}

void cv_world_read(struct world *world, void *to, size_t bytes)
{
    char *at = to;

    while (bytes > 0) {
        const ssize_t got = read(world->socket, at, bytes);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) /* cleave closed the socket */
            _exit(0);
        at += got;
        bytes -= (size_t)got;
    }
}

void cv_world_answer(struct world *world, const void *from, size_t bytes)
{
    if (cv_write_all(world->socket, from, bytes) != 0)
        _exit(0);
}

double cv_world_now(const struct world *world)
{
    return simgrid_get_clock() - world->origin_s;
}

bool cv_world_is_star(const struct world *world)
{
    return world->topology[0] == '\0';
}

struct activity *cv_world_activity(struct world *world)
{
    struct activity *activity = world->free_activities;

    if (activity == NULL)
        activity = cv_world_take(world, 1, sizeof *activity);
    else
        world->free_activities = activity->next;
    memset(activity, 0, sizeof *activity);
    return activity;
}

/* Insert an ended activity; the last one is reported next. */
static void wait_in_line(struct world *world, struct activity *activity)
{
    size_t at;

    activity->over = true;
    activity->end_s = activity->wanted_s > 0 ? activity->wanted_s : cv_world_now(world);
    if (!CV_ROOM(world->waiting, &world->waiting_room, world->nwaiting + 1))
        cv_world_fail(world, CLEAVE_ENOMEM, "out of memory for a world of SimGrid");
    CV_BISECT(at, world->nwaiting, i, world->waiting[i]->key > activity->key);
    memmove(&world->waiting[at + 1], &world->waiting[at],
            (world->nwaiting - at) * sizeof(struct activity *));
    world->waiting[at] = activity;
    world->nwaiting++;
}

/* Compute; after a change of flops, compute the rest. */
static void compute(struct activity *activity)
{
    do {
        sg_exec_t exec = sg_actor_exec_init(activity->flops);

        activity->changed = false;
        sg_exec_set_host(exec, activity->to);
        sg_exec_start(exec);
        activity->exec = exec;
        sg_exec_wait(exec);
        activity->exec = NULL;
    } while (activity->changed && activity->flops > 0);
}

void cv_world_await(const struct activity *activity)
{
    while (activity->exec == NULL && !activity->over)
        sg_actor_yield();
}

void cv_world_change(struct activity *activity)
{
    sg_exec_t exec = activity->exec;

    activity->changed = true;
    activity->exec = NULL;
    sg_exec_cancel(exec);
    cv_world_await(activity);
}

static void forget(struct world *world, struct activity *activity)
{
    activity->over = true;
    activity->next = world->free_activities;
    world->free_activities = activity;
}

static void do_all(int argc, char **argv)
{
    struct doer *doer = sg_actor_self_get_data();
    struct world *world = doer->world;

    (void)argc;
    (void)argv;
    for (;;) {
        struct activity *activity;
        enum activity_turn turn;

        sg_sem_acquire(doer->go);
        activity = doer->activity;
        do {
            if (activity->delay_s > 0)
                sg_actor_sleep_for(activity->delay_s);
            if (activity->from != NULL)
                sg_host_sendto(activity->from, activity->to, activity->bytes);
            if (activity->flops > 0)
                compute(activity);
            turn = activity->then != NULL ? activity->then(world, activity) : CV_TURN_END;
        } while (turn == CV_TURN_ON);
        if (turn == CV_TURN_END)
            wait_in_line(world, activity);
        else
            forget(world, activity);
        world->under_way--;
        doer->next = world->free_doers;
        world->free_doers = doer;
        if (!world->called) {
            world->called = true;
            sg_sem_release(world->server);
        }
    }
}

static struct doer *new_doer(struct world *world)
{
    struct doer *doer = cv_world_take(world, 1, sizeof *doer);
    sg_actor_t actor = sg_actor_init("doer", world->master);

    doer->world = world;
    doer->go = sg_sem_init(0);
    sg_actor_set_data(actor, doer);
    sg_actor_start(actor, do_all, 0, NULL);
    return doer;
}

void cv_world_begin(struct world *world, struct activity *activity)
{
    struct doer *doer = world->free_doers;

    activity->start_s = cv_world_now(world);
    if (!(activity->delay_s > 0) && activity->from == NULL && !(activity->flops > 0)) {
        wait_in_line(world, activity);
        return;
    }
    if (activity->usual_s > 2 * world->usual_s) {
        world->usual_s = activity->usual_s;
        sg_cfg_set_double("surf/precision", TOGETHER * world->usual_s);
    }
    if (activity->link != NULL)
        star_fit(activity);
    if (doer == NULL)
        doer = new_doer(world);
    else
        world->free_doers = doer->next;
    doer->activity = activity;
    world->under_way++;
    sg_sem_release(doer->go);
}

static void woken(struct world *world, struct activity *activity,
                  struct cleave_event *out)
{
    (void)world;
    activity->start_s = activity->end_s;
    out->kind = CLEAVE_WAKE;
    out->worker = activity->worker;
}

void cv_world_wake(struct world *world, uint64_t key, const struct cleave_order *order)
{
    struct activity *activity = cv_world_activity(world);

    activity->key = key;
    activity->worker = order->worker;
    activity->delay_s = order->time_s - cv_world_now(world);
    activity->usual_s = activity->wanted_s = order->time_s;
    activity->ended = woken;
    cv_world_begin(world, activity);
}

void cv_world_drop(struct world *world, struct activity *activity)
{
    size_t i = 0;

    while (i < world->nwaiting && world->waiting[i] != activity)
        i++;
    if (i == world->nwaiting)
        return;
    world->nwaiting--;
    memmove(&world->waiting[i], &world->waiting[i + 1],
            (world->nwaiting - i) * sizeof(struct activity *));
    forget(world, activity);
}

/* Other ends of this instant may follow. */
static void settle(struct world *world)
{
    size_t before;

    do {
        before = world->nwaiting;
        sg_actor_yield();
    } while (world->nwaiting > before);
}

bool cv_world_next(struct world *world, struct activity *out)
{
    struct activity *activity;

    while (world->nwaiting == 0) {
        if (world->under_way == 0)
            return false;
        sg_sem_acquire(world->server);
        world->called = false;
        settle(world);
    }
    activity = world->waiting[--world->nwaiting];
    *out = *activity;
    forget(world, activity);
    return true;
}

/* --- a platform file of SimGrid ----------------------------------------------------- */

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

/* All hosts except the master, or the wanted number of them, evenly spread. Reductions
 * have no master. */
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

/* --- the star of a platform --------------------------------------------------------- */

/* Every host has a link for each way; the link of the master is never a bottleneck.
 * Hosts of a load have the costs of their workers. Hosts of a reduction do a unit a
 * second, so that an operation of t seconds has t units. The C interface cannot build
 * platforms, so a file is written in memory. */

/* A bandwidth that is never a bottleneck. */
#define ANY "1e60Bps"

static const struct cleave_worker one_unit_a_second = { .speed_ups = 1,
                                                        .bandwidth_ups = 1,
                                                        .return_bandwidth_ups = 1 };

/* Without latency, SimGrid keeps a message at the bandwidth of its begin, even if the
 * link becomes faster. */
static double latency(double latency_s)
{
    return latency_s > 1e-200 ? latency_s : 1e-200;
}

static const struct cleave_worker *worker_at(const struct world *world, uint32_t i)
{
    return world->told.task == CV_WIRE_LOAD ? &world->workers[i] : &one_unit_a_second;
}

/* Speeds of a host: the usual one, one for each step of its profile, and next to none. */
static void write_host(const struct world *world, uint32_t i,
                       const struct cleave_step *steps, FILE *file)
{
    const struct cleave_worker *worker = worker_at(world, i);
    const double speed = worker->speed_ups * CV_STAR_UNIT;
    const uint32_t nsteps =
        world->nsteps != NULL && i < world->told.nodes ? world->nsteps[i] : 0;

    fprintf(file, "<host id=\"w%u\" speed=\"%.17gf", i, speed);
    for (uint32_t k = 0; k < nsteps; k++)
        fprintf(file, ",%.17gf", speed * star_factor(steps[k].factor));
    fprintf(file, ",%.17gf", speed * star_factor(0));
    /* Bandwidths are set when the bytes of a unit are known. */
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
    for (uint32_t i = 0; i < world->nhosts; i++) {
        write_host(world, i, steps, file);
        if (world->nsteps != NULL && i < world->told.nodes)
            steps += world->nsteps[i];
    }
    fputs("<host_link id=\"m\" up=\"u\" down=\"d\"/>\n", file);
    for (uint32_t i = 0; i < world->nhosts; i++)
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
    const uint32_t n = world->nhosts;
    char name[24];

    world->master = sg_host_by_name("m");
    world->hosts = cv_world_take(world, n, sizeof(sg_host_t));
    world->down = cv_world_take(world, n, sizeof *world->down);
    world->up = cv_world_take(world, n, sizeof *world->up);
    world->paces = cv_world_take(world, n, sizeof *world->paces);
    world->still = cv_world_take(world, n, sizeof *world->still);
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

    if (file == NULL)
        cv_world_fail(world, CLEAVE_EENGINE, "cannot make a file in memory for SimGrid");
    write_star(world, file);
    if (fflush(file) != 0 || ferror(file))
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
    for (uint32_t i = 0; i < world->nhosts; i++) {
        const struct cleave_worker *worker = worker_at(world, i);

        sg_link_set_latency(world->down[i].link,
                            latency(on_links ? worker->latency_s : 0));
        sg_link_set_latency(world->up[i].link,
                            latency(on_links ? worker->return_latency_s : 0));
    }
    world->latency_on_links = on_links;
}

static void host_rate(struct world *world, uint32_t worker)
{
    const uint32_t slowest = world->nsteps != NULL ? world->nsteps[worker] + 1 : 1;

    sg_host_set_pstate(world->hosts[worker],
                       world->still[worker] > 0 ? slowest : world->paces[worker]);
}

static void star_rate(struct world *world, uint32_t worker, uint32_t state, double factor)
{
    world->paces[worker] = state;
    host_rate(world, worker);
    world->down[worker].factor = world->up[worker].factor = factor;
    star_bandwidth(&world->down[worker]);
    star_bandwidth(&world->up[worker]);
}

/* --- changing speeds and bandwidths ------------------------------------------------- */

/* An actor makes the changes. SimGrid's own profiles count from the beginning of the
 * world, and a repeated run begins later. The actor exits when another run has begun. */

struct change {
    double from_s, factor;
    uint32_t worker, state; /* state: state of the host */
};

struct forecast {
    struct world *world;
    uint32_t run;
    size_t next;
};

CV_ORDER_BY_TWO(earlier, struct change, from_s, worker)

static struct change *gather(struct world *world)
{
    struct change *changes =
        cv_world_take(world, world->told.nsteps, sizeof(struct change));
    const struct cleave_step *step = world->steps;

    for (uint32_t w = 0; w < world->told.nodes; w++)
        for (uint32_t k = 0; k < world->nsteps[w]; k++, step++)
            changes[step - world->steps] =
                (struct change){ step->from_s, step->factor, w, k + 1 };
    qsort(changes, world->told.nsteps, sizeof *changes, earlier);
    return changes;
}

static void go_on(int argc, char **argv)
{
    struct forecast *forecast = sg_actor_self_get_data();
    struct world *world = forecast->world;
    const double origin_s = world->origin_s;

    (void)argc;
    (void)argv;
    for (; forecast->next < world->told.nsteps; forecast->next++) {
        const struct change *to = &world->changes[forecast->next];
        const double rest_s = origin_s + to->from_s - simgrid_get_clock();

        if (rest_s > 0)
            sg_actor_sleep_for(rest_s);
        if (forecast->run != world->run)
            break;
        star_rate(world, to->worker, to->state, to->factor);
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
    if (world->changes == NULL)
        world->changes = gather(world);
    for (uint32_t w = 0; w < world->told.nodes; w++)
        if (world->nsteps[w] > 0)
            star_rate(world, w, 0, 1);
    for (; next < world->told.nsteps && world->changes[next].from_s <= 0; next++) {
        const struct change *to = &world->changes[next];

        star_rate(world, to->worker, to->state, to->factor);
    }
    if (next == world->told.nsteps)
        return;
    forecast = cv_world_take(world, 1, sizeof *forecast);
    *forecast = (struct forecast){ world, world->run, next };
    actor = sg_actor_init("weather", world->master);
    sg_actor_set_data(actor, forecast);
    sg_actor_start(actor, go_on, 0, NULL);
}

/* --- standstills ---------------------------------------------------------------------- */

struct pause {
    struct world *world;
    struct cv_standstill still;
    uint32_t worker, run;
};

/* False: another run has begun. */
static bool sleep_until(const struct pause *pause, double origin_s, double time_s)
{
    const double rest_s = origin_s + time_s - simgrid_get_clock();

    if (rest_s > 0)
        sg_actor_sleep_for(rest_s);
    return pause->run == pause->world->run;
}

static void stand_still(int argc, char **argv)
{
    struct pause *pause = sg_actor_self_get_data();
    struct world *world = pause->world;
    const double origin_s = world->origin_s;

    (void)argc;
    (void)argv;
    while (isfinite(pause->still.from_s) &&
           sleep_until(pause, origin_s, pause->still.from_s)) {
        world->still[pause->worker]++;
        host_rate(world, pause->worker);
        if (isinf(pause->still.to_s) || !sleep_until(pause, origin_s, pause->still.to_s))
            break;
        world->still[pause->worker]--;
        host_rate(world, pause->worker);
        cv_standstill_next(&pause->still);
    }
    free(pause);
}

void cv_standstill_go(struct world *world, const struct cv_standstill *still,
                      uint32_t worker)
{
    struct pause *pause = cv_world_take(world, 1, sizeof *pause);
    sg_actor_t actor = sg_actor_init("pause", world->master);

    *pause = (struct pause){ world, *still, worker, world->run };
    sg_actor_set_data(actor, pause);
    sg_actor_start(actor, stand_still, 0, NULL);
}
