/* simgrid_main.c -- the program cleave-simgrid. SPDX-License-Identifier: MIT
 *
 * Started by cleave with a socket as its standard input; engine/simgrid_wire.h has the
 * messages. SimGrid writes to standard error, which cleave keeps. */
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <simgrid/exec.h>
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
#include <xbt/config.h>
#include <cleave/version.h>
#include "base/arena.h"
#include "base/random.h"
#include "engine/simgrid_wire.h"
#include "simgrid/led_world.h"

/* --- costs of hosts and routes of a topology ---------------------------------------- */

/* Times are compared, so they should be exact. */
static const double FINE = 1e-15;

static double send_s(sg_host_t from, sg_host_t to, double bytes)
{
    const double begin_s = simgrid_get_clock();

    sg_host_sendto(from, to, bytes);
    return simgrid_get_clock() - begin_s;
}

/* Times are differences of the clock: their last digits would make equal workers
 * differ. */
static double tidy(double value)
{
    char text[32];

    snprintf(text, sizeof text, "%.8g", value);
    return strtod(text, NULL);
}

/* Latency, and bandwidth in bytes per second, from a small and a large message. */
static void measure_way(sg_host_t from, sg_host_t to, double unit_bytes,
                        double *out_latency_s, double *out_rate)
{
    const double small_s = send_s(from, to, unit_bytes);
    double bytes = unit_bytes, large_s = small_s;

    while (large_s < 8 * small_s + 1e-6 && bytes < 1e30 * unit_bytes) {
        bytes *= 8;
        large_s = send_s(from, to, bytes);
    }
    /* A route without links, for example between peers with coordinates, takes no time:
     * the rate is then a lower bound from the bytes tried. */
    *out_rate = large_s > small_s * (1 + 1e-9)
                    ? tidy((bytes - unit_bytes) / (large_s - small_s))
                    : tidy(bytes / fmax(small_s, 1e-9));
    *out_latency_s = tidy(fmax(0, small_s - unit_bytes / *out_rate));
    if (*out_latency_s < 1e-7 * small_s)
        *out_latency_s = 0;
}

/* Flops per second, from a computation of a millisecond. */
static double measure_speed(sg_host_t host)
{
    const double flops = 1e-3 * sg_host_get_speed(host), begin_s = simgrid_get_clock();
    sg_exec_t exec = sg_actor_exec_init(flops);

    sg_exec_set_host(exec, host);
    sg_exec_start(exec);
    sg_exec_wait(exec);
    return tidy(flops / (simgrid_get_clock() - begin_s));
}

/* Hosts before `at` were measured. */
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

/* A host that is off or has no route ends SimGrid. So a copy of this process measures,
 * in shared memory: after its end found->at is the first unusable host, or the number
 * of hosts. */
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
    cv_simgrid_reason(words, "it cannot be reached", why, size);
    close(words);
}

/* Failures in a row after which the other hosts are not tried. */
enum { HOPELESS = 8 };

/* Measure all hosts and remove unusable ones; `left_out` lists them with reasons. */
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
                length += (size_t)
                    snprintf(left_out + length, size - length,
                             "%u more, which were not tried after these failures\n",
                             world->told.nodes - found->at);
            world->told.nodes = found->at;
        }
        if (world->told.nodes == 0)
            cv_world_fail(world, CLEAVE_EINPUT,
                          "%.150s: no host can be used by the master '%.60s': %.200s",
                          world->topology, sg_host_get_name(world->master), why);
    }
}

static void measure_star(struct world *world)
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

/* All ordered pairs, or random ones if there are too many. */
static void measure_pairs(struct world *world)
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

/* --- orders and events -------------------------------------------------------------- */

/* Exit status of a world whose run has ended; the next run is pending. */
enum { WORLD_USED = 77 };

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
    if (!CV_ROOM(record->messages, &record->room, record->count + 1))
        cv_world_fail(world, CLEAVE_ENOMEM, "out of memory for a world of SimGrid");
    record->messages[record->count++] = *message;
}

static void next_event(struct world *world, struct cv_wire_answer *answer)
{
    struct cleave_event *event = &answer->event;
    struct activity ended;

    do {
        if (!cv_world_next(world, &ended)) {
            answer->reply = CV_WIRE_NOTHING;
            return;
        }
        *event = (struct cleave_event){ .kind = CLEAVE_START };
        ended.ended(world, &ended, event);
        /* Simultaneous events come in the order of their begin, even if rounding has put
         * the end of one before another. */
        world->told_s = fmax(world->told_s, ended.end_s);
        event->start_s = ended.start_s < ended.end_s ? ended.start_s : world->told_s;
        event->time_s = world->told_s;
        event->more = world->nwaiting > 0;
    } while (world->task->holds != NULL && world->task->holds(world, event));
    answer->reply = CV_WIRE_EVENT;
}

/* Every run has a new world, so that earlier runs do not matter. */
static void begin_run(struct world *world, const struct cv_wire_message *message)
{
    if (world->run > 0 && !world->told.records) {
        world->pending->any = true;
        world->pending->run = *message;
        _exit(WORLD_USED);
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
    if (message->what == CV_WIRE_HANG) {
        world->task->hang(world, message->order.worker, message->order.time_s);
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

/* Repeat the last run without the socket: the time that SimGrid takes by itself. */
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

/* The server's actor: receives orders until cleave closes the socket. */
static void serve(struct world *world)
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

/* --- the program -------------------------------------------------------------------- */

/* Actors switch fastest with the boost library, if SimGrid was built with it. Sanitizers
 * only understand threads. */
static const char *way_to_switch(void)
{
    if (CV_WORLD_WATCHED)
        return "--cfg=contexts/factory:thread";
    if (dlsym(RTLD_DEFAULT, "make_fcontext") != NULL)
        return "--cfg=contexts/factory:boost";
    return "--cfg=contexts/stack-size:128";
}

/* On a star a transfer takes exactly latency + size / bandwidth; on a topology SimGrid's own
 * model and the file apply. */
static void start_simgrid(const struct world *world)
{
    static const char *const plain[] = { "--cfg=network/model:CM02",
                                         "--cfg=network/TCP-gamma:0",
                                         "--cfg=network/crosstraffic:0" };
    const char *words[12] = { "cleave-simgrid", "--log=root.thresh:error",
                              "--cfg=contexts/stack-size:128", way_to_switch() };
    int count = 4;

    /* If several messages begin at once and share a link, the lazy update gives some of them
     * more than their own links carry. */
    if (!cv_world_is_star(world) || world->told.port == CLEAVE_PORT_MULTI ||
        world->told.groups > 0)
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
        world->groups = world->workers + told->nodes;
        at = (told->nodes + told->groups) * sizeof *world->workers;
    }
    if (told->nsteps > 0) {
        world->steps = (const void *)(world->blob + at);
        at += told->nsteps * sizeof *world->steps;
        world->nsteps = (const void *)(world->blob + at);
        at += told->nodes * sizeof *world->nsteps;
    }
    if (told->groups > 0) {
        world->leaders = (const void *)(world->blob + at);
        at += (2 * (size_t)told->groups + told->nodes) * sizeof *world->leaders;
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
        measure_star(world);
    else if (world->told.task == CV_WIRE_MEASURE_PAIRS)
        measure_pairs(world);
    else
        serve(world);
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
    /* The server exits only with the process. */
    fputs("it ended before the run did: the host of the master goes off, by a profile of "
          "the platform file\n",
          stderr);
    _exit(1);
}

/* Every run begins at time 0, and SimGrid cannot go back: each run has a copy of this
 * process before time begins, which is much faster than a new process. The message that
 * begins the next run is passed in shared memory. */
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
        if (WEXITSTATUS(state) != WORLD_USED)
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
    world.nhosts = world.told.nodes;
    if (world.told.groups > 0)
        cv_led_hosts(&world);
    if (cv_world_is_star(&world))
        cv_star_load(&world);
    else
        cv_topology_load(&world);
    if (world.told.task != CV_WIRE_LOAD && world.told.task != CV_WIRE_REDUCE)
        live_in(&world);
    world.task = world.told.task == CV_WIRE_LOAD ? &cv_load_task : &cv_reduce_task;
    world.task->open(&world);
    _exit(live_again_and_again(&world)); /* SimGrid's memory is not freed */
}
