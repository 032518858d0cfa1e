/* liar_check.h -- a run with one real worker, and hosts that are test threads.
 * SPDX-License-Identifier: MIT
 *
 * To be included after cmocka.h. */
#ifndef LIAR_CHECK_H
#define LIAR_CHECK_H
#include <sys/socket.h>
#include <sys/wait.h>

#include <cleave/execute.h>
#include "run/wire/frame.h"
#include "run/worker/worker_serve.h"
#include "run_check.h"

enum { HOSTS = 4 };

/* --- bytes -------------------------------------------------------------------------------- */

static inline void put(int fd, const void *bytes, size_t length)
{
    for (size_t done = 0; done < length;) {
        const ssize_t some =
            send(fd, (const char *)bytes + done, length - done, MSG_NOSIGNAL);

        if (some <= 0)
            return; /* it is no longer wanted */
        done += (size_t)some;
    }
}

static inline bool get(int fd, unsigned char *bytes, size_t length)
{
    for (size_t done = 0; done < length;) {
        const ssize_t some = read(fd, bytes + done, length - done);

        if (some <= 0)
            return false;
        done += (size_t)some;
    }
    return true;
}

/* --- the run ------------------------------------------------------------------------------ */

struct world {
    char folder[64], input[128], output[128], done[128];
    pid_t pids[HOSTS];
    struct cleave_host hosts[HOSTS];
    int nhosts;
    char notes[4096];
    unsigned nnotes;
    double block; /* bytes of a chunk                                                   */
    bool limited; /* there is a --timeout                                               */
    bool persistent;
};

/* Body of a host thread, until its link is closed. */
typedef void part_player(int fd, const void *part, const struct world *world);

static inline void start_host(struct world *world, int i, part_player *play,
                              const void *part)
{
    static const char *const names[HOSTS] = { "honest", "liar", "cheat", "fraud" };
    int ends[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    world->pids[i] = fork();
    assert_true(world->pids[i] >= 0);
    if (world->pids[i] == 0) {
        for (int k = 0; k < i; k++)
            close(world->hosts[k].link);
        close(ends[0]);
        if (i > 0)
            play(ends[1], part, world);
        else
            (void)cv_worker_serve(&(struct cv_worker_options){ .in = ends[1],
                                                               .out = ends[1] },
                                  NULL);
        _exit(0);
    }
    close(ends[1]);
    world->hosts[i] = (struct cleave_host){
        .name = names[i], .first = (uint32_t)i, .slots = 1, .link = ends[0]
    };
}

/* With an input of `lines` lines, and `nhosts` hosts that play a part. */
static inline void open_world(struct world *world, int lines, part_player *play,
                              const void *const *parts, int count)
{
    memset(world, 0, sizeof *world);
    strcpy(world->folder, "/tmp/cleave-liar.XXXXXX");
    assert_non_null(mkdtemp(world->folder));
    snprintf(world->input, sizeof world->input, "%s/in", world->folder);
    snprintf(world->output, sizeof world->output, "%s/out", world->folder);
    snprintf(world->done, sizeof world->done, "%s/done", world->folder);
    write_lines(world->input, lines);
    world->block = 20000;
    world->nhosts = 1 + count;
    for (int i = 0; i < world->nhosts; i++)
        start_host(world, i, play, i > 0 ? parts[i - 1] : NULL);
}

static inline void close_world(struct world *world)
{
    for (int i = 0; i < world->nhosts; i++)
        waitpid(world->pids[i], NULL, 0);
    unlink(world->input);
    unlink(world->output);
    unlink(world->done);
    rmdir(world->folder);
}

static inline void take_note(void *context, const char *text)
{
    struct world *world = context;
    const size_t length = strlen(world->notes);

    snprintf(world->notes + length, sizeof world->notes - length, "%s\n", text);
    world->nnotes++;
}

static inline struct cleave_platform *workers_of(const struct world *world)
{
    char text[600] = "port: multi\nworkers:\n";
    struct cleave_platform *platform = NULL;

    for (int i = 0; i < world->nhosts; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text),
                 "  - {name: %s, speed: 1e8, bandwidth: 1e9}\n", world->hosts[i].name);
    assert_int_equal(cleave_platform_parse("p", text, strlen(text), &platform, NULL),
                     CLEAVE_OK);
    return platform;
}

/* Commands of the real worker wait for the expected event. */
static inline enum cleave_status execute(struct world *world,
                                         struct cleave_execution_result **out,
                                         struct cleave_error *err)
{
    const char *const command[] = {
        "sh", "-c",
        "while [ $CLEAVE_WORKER = honest -a ! -e $0 ]; do sleep 0.02; done; exec cat",
        world->done, NULL
    };
    const char *const inputs[] = { world->input };
    struct cleave_platform *platform = workers_of(world);
    struct cleave_execution request = { .command = command };
    enum cleave_status status;

    request.input.files = inputs;
    request.input.count = 1;
    request.output.descriptor =
        open(world->output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    request.output.name = "out";
    request.workers.platform = platform;
    request.hosts.list = world->hosts;
    request.hosts.count = (size_t)world->nhosts;
    request.policy.block = world->block;
    request.persistent = world->persistent;
    if (world->limited) {
        request.policy.backups = CLEAVE_BACKUPS_OFF;
        request.failures.timeout_s = 1;
        request.failures.retries = 20;
        request.hosts.timeout_s = 3;
    }
    request.listener.note = take_note;
    request.listener.context = world;
    assert_true(request.output.descriptor >= 0);
    status = cleave_execute(&request, out, err);
    close(request.output.descriptor);
    cleave_platform_free(platform);
    return status;
}

static inline void assert_same_files(const char *one, const char *two)
{
    FILE *a = fopen(one, "r"), *b = fopen(two, "r");
    int c;

    assert_true(a != NULL && b != NULL);
    do {
        c = getc(a);
        assert_int_equal(c, getc(b));
    } while (c != EOF);
    fclose(a);
    fclose(b);
}

#endif
