/* world.c -- activities, what they wait for and what waits for them.
 * SPDX-License-Identifier: MIT
 *
 * SimGrid finishes in one step whatever ends within its precision of the same time. All
 * doers of a step run before the server does, so that the server finds simultaneous ends
 * together. The precision is set to a small part of what the longest activity takes: an
 * absolute one would be too coarse for some platforms and too fine for others. */
#include "simgrid/world.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <simgrid/exec.h>
#include <simgrid/host.h>
#include <simgrid/semaphore.h>
#include <xbt/config.h>

#include "base/bisect.h"

/* What ends within this part of the longest activity's time ends together. */
static const double TOGETHER = 1e-13;

struct doer {
    struct world *world;
    sg_sem_t go;
    struct activity *activity;
    struct doer *next; /* among the free ones */
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
        if (got <= 0) /* nobody is there any more */
            _exit(0);
        at += got;
        bytes -= (size_t)got;
    }
}

void cv_world_answer(struct world *world, const void *from, size_t bytes)
{
    const char *at = from;

    while (bytes > 0) {
        const ssize_t put = write(world->socket, at, bytes);

        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            _exit(0);
        at += put;
        bytes -= (size_t)put;
    }
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

/* It has ended: among those that wait to be reported, the last is the next. */
static void wait_in_line(struct world *world, struct activity *activity)
{
    size_t at;

    activity->over = true;
    activity->end_s = activity->wanted_s > 0 ? activity->wanted_s : cv_world_now(world);
    if (world->nwaiting == world->waiting_room) {
        const size_t room = 2 * world->waiting_room + 64;
        struct activity **grown = cv_world_take(world, room, sizeof *grown);

        if (world->nwaiting > 0)
            memcpy(grown, world->waiting, world->nwaiting * sizeof *grown);
        free(world->waiting);
        world->waiting = grown;
        world->waiting_room = room;
    }
    CV_BISECT(at, world->nwaiting, i, world->waiting[i]->key > activity->key);
    memmove(&world->waiting[at + 1], &world->waiting[at],
            (world->nwaiting - at) * sizeof(struct activity *));
    world->waiting[at] = activity;
    world->nwaiting++;
}

/* Compute; when somebody takes a part away, go on with the rest. */
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
    if (activity->at_once) {
        wait_in_line(world, activity);
        return;
    }
    if (activity->usual_s > 2 * world->usual_s) {
        world->usual_s = activity->usual_s;
        sg_cfg_set_double("surf/precision", TOGETHER * world->usual_s);
    }
    if (activity->link != NULL)
        cv_star_fit(activity);
    if (doer == NULL)
        doer = new_doer(world);
    else
        world->free_doers = doer->next;
    doer->activity = activity;
    world->under_way++;
    sg_sem_release(doer->go);
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

/* Others of this instant may still be on their way to the line. */
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
