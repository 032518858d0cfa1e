/* simgrid_main.c -- the program cleave-simgrid. SPDX-License-Identifier: MIT
 *
 * Started by cleave with a socket as its standard input; engine/simgrid_wire.h says what is
 * said there. Whatever SimGrid has to say goes to standard error, which cleave keeps. */
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <simgrid/semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cleave/version.h>
#include "simgrid/world.h"

/* --- hears orders, reports events -------------------------------------------------- */

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

/* --- the program cleave-simgrid ---------------------------------------------------- */

/* Actors switch fastest by the boost library, where SimGrid was built with it. Sanitizers
 * only understand threads. */
static const char *way_to_switch(void)
{
    if (CV_WORLD_WATCHED)
        return "--cfg=contexts/factory:thread";
    if (dlsym(RTLD_DEFAULT, "make_fcontext") != NULL)
        return "--cfg=contexts/factory:boost";
    return "--cfg=contexts/stack-size:128";
}

/* On a star a transfer takes latency + size / bandwidth and no more; on a topology SimGrid
 * has its way, and that of the file. */
static void start_simgrid(const struct world *world)
{
    static const char *const plain[] = { "--cfg=network/model:CM02",
                                         "--cfg=network/TCP-gamma:0",
                                         "--cfg=network/crosstraffic:0" };
    const char *words[12] = { "cleave-simgrid", "--log=root.thresh:error",
                              "--cfg=contexts/stack-size:128", way_to_switch() };
    int count = 4;

    /* Where several messages begin at once and share a link, the lazy way of sharing gives
     * some of them more than their own links carry. */
    if (!cv_world_is_star(world) || world->told.port == CLEAVE_PORT_MULTI)
        words[count++] = "--cfg=network/optim:Full";
    if (cv_world_is_star(world))
        for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
            words[count++] = plain[i];
    simgrid_init(&count, (char **)words);
}

static const char *take_text(struct world *world, size_t *at)
{
    const char *text = world->blob + *at;

    *at += strlen(text) + 1;
    return text;
}

static void read_opening(struct world *world)
{
    struct cv_wire_open *told = &world->told;
    size_t at = 0;

    cv_world_read(world, told, sizeof *told);
    if (strncmp(told->version, CLEAVE_VERSION, sizeof told->version) != 0 ||
        told->message_bytes != sizeof(struct cv_wire_message) ||
        told->answer_bytes != sizeof(struct cv_wire_answer))
        cv_world_fail(world, CLEAVE_EENGINE,
                      "cleave-simgrid is of version %s, cleave is another",
                      CLEAVE_VERSION);
    world->blob = cv_world_take(world, told->bytes + 1, 1);
    cv_world_read(world, world->blob, told->bytes);
    if (told->task == CV_WIRE_LOAD) {
        world->workers = (const void *)world->blob;
        at = told->nodes * sizeof *world->workers;
    }
    if (told->nsteps > 0) {
        world->steps = (const void *)(world->blob + at);
        at += told->nsteps * sizeof *world->steps;
        world->nsteps = (const void *)(world->blob + at);
        at += told->nodes * sizeof *world->nsteps;
    }
    world->topology = take_text(world, &at);
    world->master_name = take_text(world, &at);
    world->names = cv_world_take(world, told->names, sizeof(const char *));
    for (uint32_t i = 0; i < told->names; i++)
        world->names[i] = take_text(world, &at);
}

static void live(int argc, char **argv)
{
    struct world *world = sg_actor_self_get_data();

    (void)argc;
    (void)argv;
    if (world->told.task == CV_WIRE_MEASURE_STAR)
        cv_measure_star(world);
    else if (world->told.task == CV_WIRE_MEASURE_PAIRS)
        cv_measure_pairs(world);
    else
        cv_serve(world);
    _exit(0);
}

static void live_in(struct world *world) __attribute__((noreturn));
static void live_in(struct world *world)
{
    sg_actor_t server = sg_actor_init("server", world->master);

    world->server = sg_sem_init(0);
    sg_actor_set_data(server, world);
    sg_actor_start(server, live, 0, NULL);
    simgrid_run();
    /* The server never ends by itself. */
    fputs("it ended before the run did: the host of the master goes off, by a profile of "
          "the platform file\n",
          stderr);
    _exit(1);
}

/* Every run is to begin at time 0, and SimGrid cannot go back: each has a copy of this
 * process as it is before time begins, which is much faster to get than a new process. The
 * message that is to begin a run is handed over in memory that both see. */
static int live_again_and_again(struct world *world)
{
    int state;

    for (;;) {
        const pid_t id = fork();

        if (id == 0)
            live_in(world);
        if (id < 0)
            cv_world_fail(world, CLEAVE_EENGINE, "cannot start another world of SimGrid");
        while (waitpid(id, &state, 0) < 0 && errno == EINTR)
            continue;
        if (WIFSIGNALED(state)) {
            signal(WTERMSIG(state), SIG_DFL);
            raise(WTERMSIG(state));
        }
        if (WEXITSTATUS(state) != CV_WORLD_USED)
            return WEXITSTATUS(state);
    }
}

int main(void)
{
    const struct rlimit no_core = { 0, 0 };
    struct world world = { .socket = STDIN_FILENO };
    int type;
    socklen_t size = sizeof type;

    if (getsockopt(STDIN_FILENO, SOL_SOCKET, SO_TYPE, &type, &size) != 0) {
        fputs("cleave-simgrid is started by cleave: try 'cleave simulate load "
              "--engine simgrid'\n",
              stderr);
        return 2;
    }
    setrlimit(RLIMIT_CORE, &no_core);
    read_opening(&world);
    world.pending = mmap(NULL, sizeof *world.pending, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (world.pending == MAP_FAILED)
        cv_world_fail(&world, CLEAVE_ENOMEM, "out of memory for a world of SimGrid");
    start_simgrid(&world);
    if (cv_world_is_star(&world))
        cv_star_load(&world);
    else
        cv_topology_load(&world);
    if (world.told.task != CV_WIRE_LOAD && world.told.task != CV_WIRE_REDUCE)
        live_in(&world);
    world.task = world.told.task == CV_WIRE_LOAD ? &cv_load_task : &cv_reduce_task;
    world.task->open(&world);
    _exit(live_again_and_again(&world)); /* what SimGrid holds is not looked after */
}
