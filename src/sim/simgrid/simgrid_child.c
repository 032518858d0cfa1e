/* simgrid_child.c -- the program cleave-simgrid, started and talked to.
 * SPDX-License-Identifier: MIT
 *
 * It has a socket as its standard input and a file without a name as its standard error,
 * from which the reason is taken when it dies. */
#include "sim/simgrid/simgrid_child.h"

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
#include "base/fail.h"
#include "base/helper_program.h"
#include "base/text.h"
#include "engine/simgrid_wire.h"
#include "model/platform/platform_internal.h"

extern char **environ;

struct cv_simgrid_child {
    pid_t id;
    int socket, log;
    struct cv_wire_message *kept; /* owned: not yet sent */
    size_t nkept, room;
};

/* --- where it is ----------------------------------------------------------------------- */

static enum cleave_status spawn(struct cv_simgrid_child *child, const char *path,
                                int their_socket, struct cleave_error *err);

enum cleave_status cleave_simgrid_find(char *path, size_t size, struct cleave_error *err)
{
    static const struct cv_helper_program simgrid = {
        .program = "cleave-simgrid",
        .what = "engine 'simgrid'",
        .remedy = "which is built where the Debian package libsimgrid-dev is installed",
    };

    return cv_helper_program_find(&simgrid, path, size, err);
}

/* --- starting and ending --------------------------------------------------------------- */

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

/* --- the reason of a death ------------------------------------------------------------- */

/* The first line that SimGrid marked as an error, or else the last line of all. */
static void last_words(const struct cv_simgrid_child *child, char *out, size_t size)
{
    char text[8192], *line = text, *end;
    ssize_t length = pread(child->log, text, sizeof text - 1, 0);
    const char *best = NULL, *last = NULL;

    text[length > 0 ? length : 0] = '\0';
    for (; line != NULL; line = end == NULL ? NULL : end + 1) {
        end = strchr(line, '\n');
        if (end != NULL)
            *end = '\0';
        if (line[strspn(line, " \t")] == '\0')
            continue;
        last = line;
        if (best == NULL)
            best = cv_simgrid_marked(line);
    }
    if (best == NULL)
        best = last != NULL ? last : "it gave no reason";
    best = cv_simgrid_plain(best);
    cv_shown(best, strlen(best), out, size);
}

static enum cleave_status died(struct cv_simgrid_child *child, struct cleave_error *err)
{
    char words[360], how[40] = "ended";
    int state = 0;

    close(child->socket);
    child->socket = -1;
    while (child->id > 0 && waitpid(child->id, &state, 0) < 0 && errno == EINTR)
        continue;
    child->id = 0;
    if (WIFSIGNALED(state))
        snprintf(how, sizeof how, "died (%s)", strsignal(WTERMSIG(state)));
    last_words(child, words, sizeof words);
    return cv_fail(err, CLEAVE_EENGINE, "SimGrid %s: %s", how, words);
}

/* --- talking --------------------------------------------------------------------------- */

static enum cleave_status put(struct cv_simgrid_child *child, const void *from,
                              size_t bytes, struct cleave_error *err)
{
    const char *at = from;

    while (bytes > 0) {
        const ssize_t sent = send(child->socket, at, bytes, MSG_NOSIGNAL);

        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return died(child, err);
        at += sent;
        bytes -= (size_t)sent;
    }
    return CLEAVE_OK;
}

/* What follows an answer. */
static enum cleave_status simgrid_hear_more(struct cv_simgrid_child *child, void *to,
                                            size_t bytes, struct cleave_error *err)
{
    char *at = to;

    while (bytes > 0) {
        const ssize_t got = recv(child->socket, at, bytes, 0);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return died(child, err);
        at += got;
        bytes -= (size_t)got;
    }
    return CLEAVE_OK;
}

enum cleave_status cv_simgrid_say(struct cv_simgrid_child *child,
                                  const struct cv_wire_message *message,
                                  struct cleave_error *err)
{
    if (!CV_ROOM(child->kept, &child->room, child->nkept + 1))
        return cv_fail_memory(err, "the orders of a run");
    child->kept[child->nkept++] = *message;
    return CLEAVE_OK;
}

/* Why it failed, in its words, which are texts and a failure whatever it sent. */
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

enum cleave_status cv_simgrid_hear(struct cv_simgrid_child *child, unsigned replies,
                                   struct cv_wire_answer *out, struct cleave_error *err)
{
    struct cleave_error theirs;

    if (child->socket < 0)
        return cv_fail(err, CLEAVE_EENGINE, "SimGrid has ended");
    if (child->nkept > 0)
        CV_TRY(put(child, child->kept, child->nkept * sizeof *child->kept, err));
    child->nkept = 0;
    CV_TRY(simgrid_hear_more(child, out, sizeof *out, err));
    if (out->reply == CV_WIRE_FAILED) {
        CV_TRY(simgrid_hear_more(child, &theirs, sizeof theirs, err));
        return take_error(&theirs, err);
    }
    return out->reply <= CV_WIRE_PAIRS && (replies >> out->reply & 1) != 0
               ? CLEAVE_OK
               : cv_fail(err, CLEAVE_EENGINE,
                         "SimGrid answered something else than it was asked");
}

/* --- the opening ----------------------------------------------------------------------- */

static void add_name(FILE *file, const char *name)
{
    fputs(name == NULL ? "" : name, file);
    fputc('\0', file);
}

/* Workers, their steps and how many each has. */
static void add_workers(const struct cleave_platform *platform, struct cv_wire_open *told,
                        FILE *file)
{
    const uint32_t n = cleave_platform_nworkers(platform);
    const struct cleave_step *steps;
    uint32_t count;

    told->nodes = n;
    told->port = cleave_platform_port(platform);
    fwrite(cleave_platform_workers(platform), sizeof(struct cleave_worker), n, file);
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
}

static void add_hosts(const struct cv_simgrid_opening *opening, struct cv_wire_open *told,
                      FILE *file)
{
    const struct cleave_simgrid *where = opening->where;

    add_name(file, where == NULL ? NULL : where->topology);
    add_name(file, where == NULL ? NULL : where->master);
    if (where == NULL || where->topology == NULL)
        return;
    told->unit_bytes = where->unit_bytes > 0 ? where->unit_bytes : 1e6;
    told->unit_flops = where->unit_flops > 0 ? where->unit_flops : 1e9;
    told->partial_bytes = where->partial_bytes > 0 ? where->partial_bytes : 1e6;
    if (opening->platform != NULL) {
        told->names = told->nodes;
        for (uint32_t w = 0; w < told->nodes; w++)
            add_name(file, cleave_platform_worker_name(opening->platform, w));
    } else if (where->workers != NULL) {
        told->names = where->nworkers;
        for (uint32_t w = 0; w < where->nworkers; w++)
            add_name(file, where->workers[w]);
    }
}

static enum cleave_status open_world(struct cv_simgrid_child *child,
                                     const struct cv_simgrid_opening *opening,
                                     struct cleave_error *err)
{
    struct cv_wire_open told = opening->told;
    char *bytes = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&bytes, &length);
    enum cleave_status status = CLEAVE_OK;

    if (file == NULL)
        return cv_fail_memory(err, "a platform for SimGrid");
    snprintf(told.version, sizeof told.version, "%s", CLEAVE_VERSION);
    told.message_bytes = sizeof(struct cv_wire_message);
    told.answer_bytes = sizeof(struct cv_wire_answer);
    if (opening->platform != NULL)
        add_workers(opening->platform, &told, file);
    add_hosts(opening, &told, file);
    if (ferror(file))
        status = cv_fail_memory(err, "a platform for SimGrid");
    if (fclose(file) != 0 && status == CLEAVE_OK)
        status = cv_fail_memory(err, "a platform for SimGrid");
    told.bytes = length;
    if (status == CLEAVE_OK)
        status = put(child, &told, sizeof told, err);
    if (status == CLEAVE_OK)
        status = put(child, bytes, length, err);
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

enum cleave_status cv_simgrid_start(const struct cv_simgrid_opening *opening,
                                    struct cv_simgrid_child **out,
                                    struct cleave_error *err)
{
    struct cv_simgrid_child *child = calloc(1, sizeof *child);
    enum cleave_status status;

    if (child == NULL)
        return cv_fail_memory(err, "a world of SimGrid");
    child->socket = child->log = -1;
    status = launch(child, err);
    if (status == CLEAVE_OK)
        status = open_world(child, opening, err);
    if (status != CLEAVE_OK)
        cv_simgrid_stop(child);
    else
        *out = child;
    return status;
}

/* --- what cleave-simgrid says, checked --------------------------------------------- */

/* It is of the same build, but it is another program, with a large library in it: what it
 * says is looked at before anything is counted or indexed by it. */

/* Bytes of workers and names that are believed. */
static const uint64_t STAR_MOST = UINT64_C(1) << 30;

/* --- events --------------------------------------------------------------------------------- */

static bool is_time(double time_s)
{
    return isfinite(time_s) && time_s >= 0;
}

/* Whether it can have happened, as far as that can be told here. */
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
    case CLEAVE_PROGRESS: /* maybe of somebody who has no chunk */
        return event->worker < bounds->nodes &&
               (event->chunk < bounds->chunks ||
                (event->chunk == 0 && event->units == 0));
    case CLEAVE_SENT:
    case CLEAVE_DONE:
    case CLEAVE_RETURNED:
    case CLEAVE_STARTED:
    case CLEAVE_DRAINED:
    case CLEAVE_EXTENDED:
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

    CV_TRY(cv_simgrid_hear(child, 1u << CV_WIRE_EVENT | 1u << CV_WIRE_NOTHING, &answer,
                           err));
    if (answer.reply == CV_WIRE_EVENT) {
        if (!is_possible(&answer.event, bounds))
            return cv_fail(err, CLEAVE_EENGINE,
                           "SimGrid told of an event that cannot have happened");
        *out = answer.event;
    }
    *out_any = answer.reply == CV_WIRE_EVENT;
    return CLEAVE_OK;
}

/* --- what was measured ------------------------------------------------------------------------ */

static enum cleave_status no_star(struct cleave_error *err)
{
    return cv_fail(err, CLEAVE_EENGINE,
                   "SimGrid measured workers, but their number and their names do not "
                   "belong together");
}

/* Names one behind the other, each with its zero; *out_end is where the last one ends. */
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

/* Workers first, then their names, then lines about those that were left out. */
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

    CV_TRY(cv_simgrid_hear(child, 1u << CV_WIRE_STAR, &answer, err));
    if (answer.count == 0 || answer.bytes > STAR_MOST ||
        answer.bytes / (sizeof(struct cleave_worker) + 1) < answer.count)
        return no_star(err);
    bytes = calloc(1, answer.bytes + 1);
    status = bytes == NULL ? cv_fail_memory(err, "the workers of a topology")
                           : simgrid_hear_more(child, bytes, answer.bytes, err);
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

    CV_TRY(cv_simgrid_hear(child, 1u << CV_WIRE_PAIRS, &answer, err));
    for (int i = 0; i < 3; i++) /* the second and third may not be known */
        if (!is_time(answer.seconds[i]) && (i == 0 || !isnan(answer.seconds[i])))
            return cv_fail(err, CLEAVE_EENGINE,
                           "SimGrid measured transfers that take no possible time");
    *out = (struct cleave_pair_costs){ answer.count, answer.seconds[0], answer.seconds[1],
                                       answer.seconds[2] };
    return CLEAVE_OK;
}
