/* simgrid_engine.c -- SimGrid as an engine. SPDX-License-Identifier: MIT
 *
 * Orders go to the process cleave-simgrid, which holds the simulated world, and events
 * return. Costs are drawn here, by the same functions as for the native engine, and sent
 * with the order: factors for chunks, seconds for partials. */
#include "sim/simgrid/simgrid_engine.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cleave/version.h>
#include "base/arena.h"
#include "base/argument.h"
#include "base/fail.h"
#include "base/helper_program.h"
#include "base/text.h"
#include "model/platform/argument_check.h"
#include "engine/simgrid_wire.h"
#include "model/platform/leaders.h"

/* --- the process -------------------------------------------------------------------- */

/* Standard input of the process is a socket; its standard error is an unnamed file, which
 * has the reason if it dies. */

extern char **environ;

struct cv_simgrid_child {
    pid_t id;
    int socket, log;
    struct cv_wire_message *kept; /* owned: not yet sent */
    size_t nkept, room;
};

enum cleave_status cleave_simgrid_find(char *path, size_t size, struct cleave_error *err)
{
    static const struct cv_helper_program simgrid = {
        .program = "cleave-simgrid",
        .what = "engine 'simgrid'",
        .remedy = "which is built where the Debian package libsimgrid-dev is installed",
    };

    return cv_helper_program_find(&simgrid, path, size, err);
}

static enum cleave_status spawn(struct cv_simgrid_child *child, const char *path,
                                int their_socket, struct cleave_error *err)
{
    char *const words[] = { (char *)"cleave-simgrid", NULL };
    posix_spawn_file_actions_t actions;
    int failure = posix_spawn_file_actions_init(&actions);

    if (failure == 0) {
        failure = posix_spawn_file_actions_adddup2(&actions, their_socket, STDIN_FILENO);
        if (failure == 0)
            failure =
                posix_spawn_file_actions_adddup2(&actions, child->log, STDOUT_FILENO);
        if (failure == 0)
            failure =
                posix_spawn_file_actions_adddup2(&actions, child->log, STDERR_FILENO);
        if (failure == 0)
            failure = posix_spawn(&child->id, path, &actions, NULL, words, environ);
        posix_spawn_file_actions_destroy(&actions);
    }
    if (failure != 0) {
        child->id = 0;
        return cv_fail(err, CLEAVE_EENGINE, "cannot start %.300s: %s", path,
                       strerror(failure));
    }
    return CLEAVE_OK;
}

static enum cleave_status launch(struct cv_simgrid_child *child, struct cleave_error *err)
{
    char path[PATH_MAX];
    int pair[2];
    enum cleave_status status;

    CV_TRY(cleave_simgrid_find(path, sizeof path, err));
    child->log = memfd_create("cleave-simgrid", MFD_CLOEXEC);
    if (child->log < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return cv_fail(err, CLEAVE_EENGINE, "cannot start cleave-simgrid: %s",
                       strerror(errno));
    child->socket = pair[0];
    status = spawn(child, path, pair[1], err);
    close(pair[1]);
    return status;
}

void cv_simgrid_stop(struct cv_simgrid_child *child)
{
    if (child == NULL)
        return;
    if (child->socket >= 0)
        close(child->socket);
    if (child->id > 0)
        while (waitpid(child->id, NULL, 0) < 0 && errno == EINTR)
            continue;
    if (child->log >= 0)
        close(child->log);
    free(child->kept);
    free(child);
}

static enum cleave_status died(struct cv_simgrid_child *child, struct cleave_error *err)
{
    char reason[CV_SIMGRID_LOG], shown[360], how[40] = "ended";
    int state = 0;

    close(child->socket);
    child->socket = -1;
    while (child->id > 0 && waitpid(child->id, &state, 0) < 0 && errno == EINTR)
        continue;
    child->id = 0;
    if (WIFSIGNALED(state))
        snprintf(how, sizeof how, "died (%s)", strsignal(WTERMSIG(state)));
    cv_simgrid_reason(child->log, "it gave no reason", reason, sizeof reason);
    return cv_fail(err, CLEAVE_EENGINE, "SimGrid %s: %s", how,
                   cv_shown(reason, strlen(reason), shown, sizeof shown));
}

enum way { SEND, RECEIVE };

/* Send or receive all bytes. */
static enum cleave_status move(struct cv_simgrid_child *child, enum way way, void *bytes,
                               size_t length, struct cleave_error *err)
{
    char *at = bytes;

    while (length > 0) {
        const ssize_t moved = way == SEND ? send(child->socket, at, length, MSG_NOSIGNAL)
                                          : recv(child->socket, at, length, 0);

        if (moved < 0 && errno == EINTR)
            continue;
        if (moved <= 0)
            return died(child, err);
        at += moved;
        length -= (size_t)moved;
    }
    return CLEAVE_OK;
}

/* Messages are sent before the next answer is received. */
static enum cleave_status simgrid_say(struct cv_simgrid_child *child,
                                      const struct cv_wire_message *message,
                                      struct cleave_error *err)
{
    if (!CV_ROOM(child->kept, &child->room, child->nkept + 1))
        return cv_fail_memory(err, "the orders of a run");
    child->kept[child->nkept++] = *message;
    return CLEAVE_OK;
}

/* The error of the process, whose texts and status may be anything. */
static enum cleave_status take_error(struct cleave_error *theirs,
                                     struct cleave_error *err)
{
    theirs->file[sizeof theirs->file - 1] = '\0';
    theirs->field[sizeof theirs->field - 1] = '\0';
    theirs->text[sizeof theirs->text - 1] = '\0';
    if (theirs->status <= CLEAVE_OK || theirs->status > CLEAVE_EENGINE)
        theirs->status = CLEAVE_EENGINE;
    if (err != NULL)
        *err = *theirs;
    return theirs->status;
}

/* Receive an answer, one of `replies`: bits 1u << CV_WIRE_... If the process has died,
 * the error is SimGrid's last message. */
static enum cleave_status simgrid_hear(struct cv_simgrid_child *child, unsigned replies,
                                       struct cv_wire_answer *out,
                                       struct cleave_error *err)
{
    struct cleave_error theirs;

    if (child->socket < 0)
        return cv_fail(err, CLEAVE_EENGINE, "SimGrid has ended");
    if (child->nkept > 0)
        CV_TRY(move(child, SEND, child->kept, child->nkept * sizeof *child->kept, err));
    child->nkept = 0;
    CV_TRY(move(child, RECEIVE, out, sizeof *out, err));
    if (out->reply == CV_WIRE_FAILED) {
        CV_TRY(move(child, RECEIVE, &theirs, sizeof theirs, err));
        return take_error(&theirs, err);
    }
    return out->reply <= CV_WIRE_PAIRS && (replies >> out->reply & 1) != 0
               ? CLEAVE_OK
               : cv_fail(err, CLEAVE_EENGINE,
                         "SimGrid answered something else than it was asked");
}

static void add_name(FILE *file, const char *name)
{
    fputs(name == NULL ? "" : name, file);
    fputc('\0', file);
}

/* Workers, their steps and the number of steps of each. */
static void add_workers(const struct cleave_platform *platform, struct cv_wire_open *told,
                        FILE *file)
{
    const uint32_t n = cleave_platform_nworkers(platform);
    const struct cv_led_tree *tree = platform->tree;
    const struct cleave_step *steps;
    uint32_t count;

    told->nodes = n;
    told->port = cleave_platform_port(platform);
    fwrite(cleave_platform_workers(platform), sizeof(struct cleave_worker), n, file);
    if (tree != NULL) {
        told->groups = tree->nnodes;
        for (uint32_t g = 0; g < tree->nnodes; g++)
            fwrite(&tree->nodes[g].costs, sizeof tree->nodes[g].costs, 1, file);
    }
    for (uint32_t w = 0; w < n; w++) {
        steps = cleave_platform_profile(platform, w, &count);
        if (steps != NULL) {
            told->nsteps += count;
            fwrite(steps, sizeof *steps, count, file);
        }
    }
    for (uint32_t w = 0; told->nsteps > 0 && w < n; w++) {
        if (cleave_platform_profile(platform, w, &count) == NULL)
            count = 0;
        fwrite(&count, sizeof count, 1, file);
    }
    if (tree == NULL)
        return;
    for (uint32_t g = 0; g < tree->nnodes; g++)
        fwrite(&tree->nodes[g].parent, sizeof tree->nodes[g].parent, 1, file);
    for (uint32_t g = 0; g < tree->nnodes; g++)
        fwrite(&tree->nodes[g].count, sizeof tree->nodes[g].count, 1, file);
    fwrite(tree->top, sizeof *tree->top, n, file);
}

static void add_hosts(const struct cleave_simgrid *where,
                      const struct cleave_platform *platform, struct cv_wire_open *told,
                      FILE *file)
{
    add_name(file, where == NULL ? NULL : where->topology);
    add_name(file, where == NULL ? NULL : where->master);
    if (where == NULL || where->topology == NULL)
        return;
    told->unit_bytes = where->unit_bytes > 0 ? where->unit_bytes : 1e6;
    told->unit_flops = where->unit_flops > 0 ? where->unit_flops : 1e9;
    told->partial_bytes = where->partial_bytes > 0 ? where->partial_bytes : 1e6;
    if (platform != NULL) {
        told->names = told->nodes;
        for (uint32_t w = 0; w < told->nodes; w++)
            add_name(file, cleave_platform_worker_name(platform, w));
    } else if (where->workers != NULL) {
        told->names = where->nworkers;
        for (uint32_t w = 0; w < where->nworkers; w++)
            add_name(file, where->workers[w]);
    }
}
/* `where`: NULL for a star; `platform`: platform of a load, or NULL. Fills in the counts
 * and sizes of `told` that follow from these. */
static enum cleave_status open_world(struct cv_simgrid_child *child,
                                     struct cv_wire_open told,
                                     const struct cleave_simgrid *where,
                                     const struct cleave_platform *platform,
                                     struct cleave_error *err)
{
    char *bytes = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&bytes, &length);
    enum cleave_status status;
    bool failed;

    if (file == NULL)
        return cv_fail_memory(err, "a platform for SimGrid");
    snprintf(told.version, sizeof told.version, "%s", CLEAVE_VERSION);
    told.message_bytes = sizeof(struct cv_wire_message);
    told.answer_bytes = sizeof(struct cv_wire_answer);
    if (platform != NULL)
        add_workers(platform, &told, file);
    add_hosts(where, platform, &told, file);
    failed = ferror(file) != 0;
    failed = fclose(file) != 0 || failed;
    told.bytes = length;
    status = failed ? cv_fail_memory(err, "a platform for SimGrid")
                    : move(child, SEND, &told, sizeof told, err);
    if (status == CLEAVE_OK)
        status = move(child, SEND, bytes, length, err);
    free(bytes);
    return status;
}

enum cleave_status cv_simgrid_adopt(int socket, struct cv_simgrid_child **out,
                                    struct cleave_error *err)
{
    struct cv_simgrid_child *child = calloc(1, sizeof *child);

    if (child == NULL)
        return cv_fail_memory(err, "a world of SimGrid");
    child->socket = socket;
    child->log = -1;
    *out = child;
    return CLEAVE_OK;
}

/* Start the process and open a world in it. */
static enum cleave_status simgrid_start(const struct cv_wire_open *told,
                                        const struct cleave_simgrid *where,
                                        const struct cleave_platform *platform,
                                        struct cv_simgrid_child **out,
                                        struct cleave_error *err)
{
    struct cv_simgrid_child *child = NULL;
    enum cleave_status status;

    CV_TRY(cv_simgrid_adopt(-1, &child, err));
    status = launch(child, err);
    if (status == CLEAVE_OK)
        status = open_world(child, *told, where, platform, err);
    if (status != CLEAVE_OK)
        cv_simgrid_stop(child);
    else
        *out = child;
    return status;
}

/* --- checked answers ---------------------------------------------------------------- */

/* The process is of the same build but has a large library in it: answers are checked
 * before they are used as counts or indices. */

/* Largest size of workers and names. */
static const uint64_t STAR_MOST = UINT64_C(1) << 30;

static bool is_time(double time_s)
{
    return isfinite(time_s) && time_s >= 0;
}

/* Whether the event is possible, as far as it can be checked here. */
static bool is_possible(const struct cleave_event *event,
                        const struct cv_simgrid_bounds *bounds)
{
    unsigned char more;

    memcpy(&more, &event->more, 1);
    if (more > 1 || !is_time(event->time_s) || event->time_s < bounds->now_s ||
        !is_time(event->start_s) || !is_time(event->read_s) ||
        event->read_s > event->time_s || !is_time(event->output) ||
        !is_time(event->cpu_s) || !(isfinite(event->units) && event->units >= 0))
        return false;
    switch (event->kind) {
    case CLEAVE_RECALLED:
    case CLEAVE_DROPPED:
    case CLEAVE_PROGRESS: /* maybe of a worker without a chunk */
        return event->worker < bounds->nodes &&
               (event->chunk < bounds->chunks ||
                (event->chunk == 0 && event->units == 0));
    case CLEAVE_SENT:
    case CLEAVE_DONE:
    case CLEAVE_RETURNED:
    case CLEAVE_STARTED:
    case CLEAVE_DRAINED:
    case CLEAVE_EXTENDED:
    case CLEAVE_LOST:
        return event->worker < bounds->nodes && event->chunk < bounds->chunks;
    case CLEAVE_ARRIVED:
    case CLEAVE_COMBINED:
        return event->worker < bounds->nodes && event->peer < bounds->nodes;
    case CLEAVE_WAKE:
        return event->worker < bounds->nodes;
    default:
        return event->kind == CLEAVE_ENDED;
    }
}

enum cleave_status cv_simgrid_hear_event(struct cv_simgrid_child *child,
                                         const struct cv_simgrid_bounds *bounds,
                                         struct cleave_event *out, bool *out_any,
                                         struct cleave_error *err)
{
    struct cv_wire_answer answer;

    CV_TRY(
        simgrid_hear(child, 1u << CV_WIRE_EVENT | 1u << CV_WIRE_NOTHING, &answer, err));
    if (answer.reply == CV_WIRE_EVENT) {
        if (!is_possible(&answer.event, bounds))
            return cv_fail(err, CLEAVE_EENGINE,
                           "SimGrid told of an event that cannot have happened");
        *out = answer.event;
    }
    *out_any = answer.reply == CV_WIRE_EVENT;
    return CLEAVE_OK;
}

static enum cleave_status no_star(struct cleave_error *err)
{
    return cv_fail(err, CLEAVE_EENGINE,
                   "SimGrid measured workers, but their number and their names do not "
                   "belong together");
}

/* Names, each with its zero; *out_end is the end of the last one. */
static enum cleave_status read_names(const char *bytes, size_t length,
                                     struct cv_group *groups, uint32_t n, size_t *out_end,
                                     struct cleave_error *err)
{
    size_t at = 0;

    for (uint32_t i = 0; i < n; i++) {
        if (at >= length)
            return no_star(err);
        CV_TRY(cv_worker_name_check(bytes + at, "hosts with names", err));
        groups[i].name = bytes + at;
        groups[i].count = 1;
        at += strlen(bytes + at) + 1;
    }
    *out_end = at;
    return at <= length ? CLEAVE_OK : no_star(err);
}

/* Workers, then their names, then lines about hosts that were left out. */
static enum cleave_status make_platform(const char *bytes, uint32_t n, size_t length,
                                        const struct cleave_simgrid *where,
                                        enum cleave_port port,
                                        struct cleave_platform **out,
                                        struct cleave_error *err)
{
    const struct cleave_worker *workers = (const void *)bytes;
    const size_t names = n * sizeof *workers;
    struct cv_group *groups = calloc(n, sizeof *groups);
    enum cleave_status status;
    size_t end = 0;

    if (groups == NULL)
        return cv_fail_memory(err, "the workers of a topology");
    status = read_names(bytes + names, length - names, groups, n, &end, err);
    if (status == CLEAVE_OK && where->left_out != NULL)
        snprintf(where->left_out, where->left_out_size, "%.*s",
                 (int)(length - names - end), bytes + names + end);
    if (status == CLEAVE_OK)
        status = cv_platform_build(port, workers, groups, n, out, NULL, err);
    free(groups);
    return status;
}

enum cleave_status cv_simgrid_hear_star(struct cv_simgrid_child *child,
                                        const struct cleave_simgrid *where,
                                        enum cleave_port port,
                                        struct cleave_platform **out,
                                        struct cleave_error *err)
{
    struct cv_wire_answer answer;
    enum cleave_status status;
    char *bytes;

    CV_TRY(simgrid_hear(child, 1u << CV_WIRE_STAR, &answer, err));
    if (answer.count == 0 || answer.bytes > STAR_MOST ||
        answer.bytes / (sizeof(struct cleave_worker) + 1) < answer.count)
        return no_star(err);
    bytes = calloc(1, answer.bytes + 1);
    status = bytes == NULL ? cv_fail_memory(err, "the workers of a topology")
                           : move(child, RECEIVE, bytes, answer.bytes, err);
    if (status == CLEAVE_OK)
        status = make_platform(bytes, answer.count, answer.bytes, where, port, out, err);
    free(bytes);
    return status;
}

enum cleave_status cv_simgrid_hear_pairs(struct cv_simgrid_child *child,
                                         struct cleave_pair_costs *out,
                                         struct cleave_error *err)
{
    struct cv_wire_answer answer;

    CV_TRY(simgrid_hear(child, 1u << CV_WIRE_PAIRS, &answer, err));
    for (int i = 0; i < 3; i++) /* the second and third may be unknown */
        if (!is_time(answer.seconds[i]) && (i == 0 || !isnan(answer.seconds[i])))
            return cv_fail(err, CLEAVE_EENGINE,
                           "SimGrid measured transfers that take no possible time");
    *out = (struct cleave_pair_costs){ answer.count, answer.seconds[0], answer.seconds[1],
                                       answer.seconds[2] };
    return CLEAVE_OK;
}

/* --- the engine --------------------------------------------------------------------- */

struct grid {
    struct cv_simgrid_source source;
    const struct cleave_platform *platform; /* platform of a load */
    const struct cv_run *run;
    struct cv_simgrid_child *child; /* owned */
    bool noisy;
    bool under_way;    /* a run has begun and not ended */
    uint64_t numbered; /* chunks ordered                           */
    double now_s;      /* time of the last event */
    uint32_t *nth;     /* owned: orders so far, per worker or receiver */
    uint32_t n;
};
static enum cleave_status start(struct grid *grid, struct cleave_error *err)
{
    const struct cv_wire_open told = {
        .task = grid->source.costs != NULL ? CV_WIRE_REDUCE : CV_WIRE_LOAD,
        .nodes = grid->n,
        .plain = grid->source.plain,
        .records = grid->source.repeats > 0,
    };

    return simgrid_start(&told, grid->source.where, grid->platform, &grid->child, err);
}

static enum cleave_status check_profiles(const struct grid *grid,
                                         struct cleave_error *err)
{
    const bool star = grid->source.where == NULL || grid->source.where->topology == NULL;

    for (uint32_t w = 0; w < grid->n; w++) {
        uint32_t count;
        const struct cleave_step *steps =
            cleave_platform_profile(grid->platform, w, &count);

        if (steps != NULL && star && !(steps[count - 1].factor > 0))
            return cv_fail(err, CLEAVE_EINPUT,
                           "worker '%s' leaves for good (until), which SimGrid does not "
                           "simulate: expected the native engine",
                           cleave_platform_worker_name(grid->platform, w));
        if (steps != NULL && !star)
            return cv_fail(err, CLEAVE_EINPUT,
                           "worker '%s' has a profile, but on a topology speeds are "
                           "those of the topology's file",
                           cleave_platform_worker_name(grid->platform, w));
    }
    return CLEAVE_OK;
}

static void grid_close(void *engine)
{
    struct grid *grid = engine;

    if (grid == NULL)
        return;
    if (grid->source.repeats > 0 && grid->child != NULL) {
        const struct cv_wire_message again = { .what = CV_WIRE_REPEAT,
                                               .repeats = grid->source.repeats };
        struct cv_wire_answer answer;

        if (simgrid_say(grid->child, &again, NULL) == CLEAVE_OK &&
            simgrid_hear(grid->child, 1u << CV_WIRE_READY, &answer, NULL) == CLEAVE_OK)
            *grid->source.out_repeat_s = answer.seconds[0];
    }
    cv_simgrid_stop(grid->child);
    free(grid->nth);
    free(grid);
}

static enum cleave_status grid_open(const struct cleave_platform *platform,
                                    const void *source, void **out,
                                    struct cleave_error *err)
{
    struct grid *grid = calloc(1, sizeof *grid);
    enum cleave_status status = CLEAVE_OK;

    if (grid == NULL)
        return cv_fail_memory(err, "an engine");
    if (source != NULL)
        grid->source = *(const struct cv_simgrid_source *)source;
    grid->platform = platform;
    grid->n = grid->source.costs != NULL ? grid->source.costs->nodes
                                         : cleave_platform_nworkers(platform);
    grid->nth = calloc(grid->n, sizeof *grid->nth);
    if (grid->nth == NULL)
        status = cv_fail_memory(err, "an engine");
    if (status == CLEAVE_OK && grid->source.costs == NULL)
        status = check_profiles(grid, err);
    if (status == CLEAVE_OK)
        status = start(grid, err);
    if (status != CLEAVE_OK)
        grid_close(grid);
    else
        *out = grid;
    return status;
}

static enum cleave_status grid_begin(void *engine, const struct cv_run *run,
                                     struct cleave_error *err)
{
    struct grid *grid = engine;
    struct cv_wire_message begin = { .what = CV_WIRE_BEGIN,
                                     .noisy = cv_noise_any(&run->noise),
                                     .stream_end_s = run->stream_end_s,
                                     .stream_rest = run->stream_rest,
                                     .result_ratio = run->result_ratio };
    struct cv_wire_answer answer;

    if (run->command != NULL &&
        (run->command->pipe_ups > 0 || run->command->start_spread > 0 ||
         run->command->gulp_s > 0))
        return cv_fail(err, CLEAVE_EINPUT,
                       "SimGrid knows neither pipes nor start-ups that vary");
    if (run->command != NULL) {
        begin.opens = 1;
        begin.command = *run->command;
        begin.units = run->units;
        begin.hold = run->hold;
        begin.conditions = run->conditions;
        begin.seed = run->noise.seed;
        begin.run = run->noise.run;
        begin.gets_losses = run->gets_losses;
        begin.copies = run->copies;
        begin.items = run->items;
    }
    if (grid->source.where != NULL && grid->source.where->topology != NULL &&
        (run->conditions.stalls.every_s > 0 || run->conditions.nhangs > 0))
        return cv_fail(
            err, CLEAVE_EINPUT,
            "on a topology of SimGrid workers neither stall nor hang: expected "
            "a star or the native engine");
    if (grid->source.where != NULL && grid->source.where->topology != NULL &&
        grid->platform != NULL && grid->platform->tree != NULL)
        return cv_fail(err, CLEAVE_EINPUT,
                       "on a topology of SimGrid the master sends to all workers: "
                       "expected a platform without leaders (via:)");
    grid->run = run;
    grid->noisy = begin.noisy != 0;
    grid->numbered = 0;
    memset(grid->nth, 0, grid->n * sizeof *grid->nth);
    if (grid->child == NULL || grid->under_way) {
        /* A world that was left within a run cannot be used again. */
        cv_simgrid_stop(grid->child);
        grid->child = NULL;
        CV_TRY(start(grid, err));
    }
    grid->under_way = true;
    grid->now_s = 0;
    CV_TRY(simgrid_say(grid->child, &begin, err));
    CV_TRY(simgrid_hear(grid->child, 1u << CV_WIRE_READY, &answer, err));
    for (size_t i = 0; run->command != NULL && i < run->conditions.nhangs; i++) {
        const struct cleave_hang *hang = &run->conditions.hangs[i];
        const struct cv_wire_message message = { .what = CV_WIRE_HANG,
                                                 .order = { .worker = hang->worker,
                                                            .time_s = hang->time_s } };

        CV_TRY(simgrid_say(grid->child, &message, err));
    }
    return CLEAVE_OK;
}

static void draw_factors(struct grid *grid, struct cv_wire_message *message)
{
    const bool items = grid->run->items; /* items have the same factors at any worker */
    const uint32_t worker = items ? 0 : message->order.worker;
    const uint32_t nth = items ? (uint32_t)message->order.item : grid->nth[worker]++;
    const uint64_t number = grid->numbered;

    grid->numbered += message->order.kind != CLEAVE_COPY;
    for (int i = 0; i < 3; i++)
        message->cost[i] = 1;
    if (!grid->noisy)
        return;
    message->cost[0] =
        cv_noise_factor(&grid->run->noise, CV_TRANSFER, worker, nth, number);
    message->cost[1] =
        cv_noise_factor(&grid->run->noise, CV_COMPUTE, worker, nth, number);
    message->cost[2] = cv_noise_factor(&grid->run->noise, CV_RETURN, worker, nth, number);
}

/* A node combines partials in the order of requests. */
static void draw_costs(struct grid *grid, struct cv_wire_message *message)
{
    const struct cv_reduce_costs *costs = grid->source.costs;
    const uint32_t to = message->order.worker, nth = grid->nth[to]++;

    message->cost[0] =
        cv_transfer_cost(costs, grid->run->number, message->order.peer, to);
    message->cost[1] = cv_compute_cost(costs, grid->run->number, to, nth);
}

static enum cleave_status grid_submit(void *engine, const struct cleave_order *order,
                                      struct cleave_error *err)
{
    struct grid *grid = engine;
    struct cv_wire_message message = { .what = CV_WIRE_ORDER, .order = *order };

    if (order->kind == CLEAVE_SEND || order->kind == CLEAVE_OPEN ||
        order->kind == CLEAVE_COPY)
        draw_factors(grid, &message);
    else if (order->kind == CLEAVE_COMBINE)
        draw_costs(grid, &message);
    return simgrid_say(grid->child, &message, err);
}

static enum cleave_status grid_wait(void *engine, struct cleave_event *out, bool *out_any,
                                    struct cleave_error *err)
{
    static const struct cv_wire_message wait = { .what = CV_WIRE_WAIT };
    struct grid *grid = engine;
    const struct cv_simgrid_bounds bounds = { grid->n, grid->numbered, grid->now_s };

    CV_TRY(simgrid_say(grid->child, &wait, err));
    CV_TRY(cv_simgrid_hear_event(grid->child, &bounds, out, out_any, err));
    if (*out_any)
        grid->now_s = out->time_s;
    else
        grid->under_way = false;
    return CLEAVE_OK;
}

/* INFINITY if there is no answer: the next wait reports why. */
static double grid_left(const void *engine)
{
    static const struct cv_wire_message left = { .what = CV_WIRE_LEFT };
    const struct grid *grid = engine;
    struct cv_wire_answer answer;

    if (simgrid_say(grid->child, &left, NULL) != CLEAVE_OK ||
        simgrid_hear(grid->child, 1u << CV_WIRE_READY, &answer, NULL) != CLEAVE_OK ||
        !(answer.seconds[0] >= 0))
        return INFINITY;
    return answer.seconds[0];
}

#define GRID                                                                          \
    .name = "simgrid", .open = grid_open, .begin = grid_begin, .submit = grid_submit, \
    .wait = grid_wait, .close = grid_close

const struct cv_engine cv_engine_simgrid_open = {
    GRID,
    .summary = "SimGrid, where commands read as they are fed",
    .left = grid_left,
};

const struct cv_engine cv_engine_simgrid = {
    GRID,
    .summary = "SimGrid, in a separate process: stars, and topologies with contention",
};

/* --- costs of a topology, measured in simulation ------------------------------------ */
/* Start the process for a measurement. */
static enum cleave_status start_measuring(const struct cleave_simgrid *where,
                                          enum cv_wire_task task, uint32_t nodes,
                                          struct cv_simgrid_child **out,
                                          struct cleave_error *err)
{
    const struct cv_wire_open told = { .task = task, .nodes = nodes };

    CV_EXPECT_POINTER(where, err, "where");
    CV_TRY(cv_check_simgrid(where, err));
    if (where->topology == NULL)
        return cv_fail(err, CLEAVE_EINPUT, "expected a topology to measure, got none");
    return simgrid_start(&told, where, NULL, out, err);
}

enum cleave_status cleave_simgrid_measure(const struct cleave_simgrid *where,
                                          enum cleave_port port,
                                          struct cleave_platform **out,
                                          struct cleave_error *err)
{
    struct cv_simgrid_child *child = NULL;
    enum cleave_status status;
    uint32_t nodes;

    CV_EXPECT_POINTER(where, err, "where");
    CV_EXPECT_POINTER(out, err, "out");
    CV_EXPECT_ENUM(port, CLEAVE_PORT_MULTI + 1, err, "port");
    nodes = where->workers == NULL ? where->nworkers : 0;
    CV_TRY(start_measuring(where, CV_WIRE_MEASURE_STAR, nodes, &child, err));
    status = cv_simgrid_hear_star(child, where, port, out, err);
    cv_simgrid_stop(child);
    return status;
}

enum cleave_status cleave_simgrid_measure_pairs(const struct cleave_simgrid *where,
                                                uint32_t nodes,
                                                struct cleave_pair_costs *out,
                                                struct cleave_error *err)
{
    struct cv_simgrid_child *child = NULL;
    enum cleave_status status;

    CV_EXPECT_POINTER(out, err, "out");
    CV_TRY(start_measuring(where, CV_WIRE_MEASURE_PAIRS, nodes, &child, err));
    status = cv_simgrid_hear_pairs(child, out, err);
    cv_simgrid_stop(child);
    return status;
}
