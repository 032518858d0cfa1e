/* server.c -- hears orders, reports events. SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <simgrid/engine.h>

#include "simgrid/world.h"

/* The messages of a run, for repeating it. */
struct record {
    struct cv_wire_message *messages; /* owned */
    size_t count, room;
};

static void keep(struct world *world, struct record *record,
                 const struct cv_wire_message *message)
{
    if (message->what == CV_WIRE_BEGIN)
        record->count = 0;
    if (record->count == record->room) {
        const size_t room = 2 * record->room + 256;
        struct cv_wire_message *grown = cv_world_take(world, room, sizeof *grown);

        if (record->count > 0)
            memcpy(grown, record->messages, record->count * sizeof *grown);
        free(record->messages);
        record->messages = grown;
        record->room = room;
    }
    record->messages[record->count++] = *message;
}

static void next_event(struct world *world, struct cv_wire_answer *answer)
{
    struct activity ended;

    if (!cv_world_next(world, &ended)) {
        answer->reply = CV_WIRE_NOTHING;
        return;
    }
    answer->reply = CV_WIRE_EVENT;
    ended.ended(world, &ended, &answer->event);
    /* Of one instant, what was begun first is told first: also if something is to end at a time that
     * rounding has put before the clock of another one. */
    world->told_s = fmax(world->told_s, ended.end_s);
    answer->event.start_s = ended.start_s < ended.end_s ? ended.start_s : world->told_s;
    answer->event.time_s = world->told_s;
    /* Nothing waits here from one instant to another. */
    answer->event.more = world->nwaiting > 0;
}

/* Every run has a world of its own, so that it does not matter which came before. */
static void begin_run(struct world *world, const struct cv_wire_message *message)
{
    if (world->run > 0 && !world->told.records) {
        world->pending->any = true;
        world->pending->run = *message;
        _exit(CV_WORLD_USED);
    }
    world->run++;
    world->origin_s = simgrid_get_clock();
    world->told_s = 0;
    world->task->begin(world, message);
}

/* Returns whether there is an answer. */
static bool obey(struct world *world, const struct cv_wire_message *message,
                 struct cv_wire_answer *answer)
{
    if (message->what == CV_WIRE_ORDER) {
        world->task->submit(world, message);
        return false;
    }
    *answer = (struct cv_wire_answer){ .reply = CV_WIRE_READY };
    if (message->what == CV_WIRE_BEGIN)
        begin_run(world, message);
    else if (message->what == CV_WIRE_LEFT)
        answer->seconds[0] = world->task->left(world);
    else
        next_event(world, answer);
    return true;
}

/* The last run again and again: what SimGrid takes by itself, without anybody asking. */
static void repeat(struct world *world, const struct record *record, uint32_t times,
                   struct cv_wire_answer *answer)
{
    struct timespec begin, end;
    struct cv_wire_answer unread;

    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (uint32_t i = 0; i < times; i++)
        for (size_t k = 0; k < record->count; k++)
            obey(world, &record->messages[k], &unread);
    clock_gettime(CLOCK_MONOTONIC, &end);
    *answer = (struct cv_wire_answer){ .reply = CV_WIRE_READY };
    answer->seconds[0] = (double)(end.tv_sec - begin.tv_sec) +
                         1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
}

void cv_serve(struct world *world)
{
    struct record record = { NULL, 0, 0 };
    struct cv_wire_message message;
    struct cv_wire_answer answer;

    for (;;) {
        if (world->pending->any)
            message = world->pending->run;
        else
            cv_world_read(world, &message, sizeof message);
        world->pending->any = false;
        if (message.what == CV_WIRE_REPEAT) {
            repeat(world, &record, message.repeats, &answer);
            cv_world_answer(world, &answer, sizeof answer);
            continue;
        }
        if (world->told.records)
            keep(world, &record, &message);
        if (obey(world, &message, &answer))
            cv_world_answer(world, &answer, sizeof answer);
    }
}
