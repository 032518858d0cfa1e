/* test_run_linked.c -- runs whose workers send back more than they are given.
 * SPDX-License-Identifier: MIT
 *
 * Workers are at the other ends of sockets, as ranks of an MPI job are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cleave/execute.h>
#include "run/worker/worker_fold.h"
#include "run_check.h"

enum { WORKERS = 4, LINES = 20000 };

/* Every line ten times, so that outputs of chunks take several frames. */
#define TENFOLD "awk '{ for (i = 0; i < 10; i++) print }'"

struct world {
    char folder[64], input[128], output[128];
    pid_t pids[WORKERS];
    struct cleave_platform *platform;
    struct cleave_host hosts[WORKERS];
    char notes[4096];
};

/* A command that has to succeed; $0 is the folder. */
static void shell(const struct world *world, const char *script)
{
    char command[1000];

    snprintf(command, sizeof command, "sh -c '%s' %s", script, world->folder);
    assert_int_equal(system(command), 0); // NOLINT(cert-env33-c): made here
}

static void start_workers(struct world *world)
{
    for (int i = 0; i < WORKERS; i++) {
        int ends[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        world->pids[i] = fork();
        assert_true(world->pids[i] >= 0);
        if (world->pids[i] == 0) {
            struct cleave_error err;

            for (int k = 0; k < i; k++)
                close(world->hosts[k].link);
            close(ends[0]);
            (void)cv_worker_fold_serve(&(struct cv_worker_options){ .in = ends[1],
                                                                    .out = ends[1] },
                                       -1, &err);
            _exit(0);
        }
        close(ends[1]);
        world->hosts[i].link = ends[0];
    }
}

static void open_world(struct world *world)
{
    memset(world, 0, sizeof *world);
    strcpy(world->folder, "/tmp/cleave-linked.XXXXXX");
    assert_non_null(mkdtemp(world->folder));
    snprintf(world->input, sizeof world->input, "%s/in", world->folder);
    snprintf(world->output, sizeof world->output, "%s/out", world->folder);
    write_lines(world->input, LINES);
    start_workers(world);
    world->platform = four_workers();
    for (uint32_t i = 0; i < WORKERS; i++) {
        world->hosts[i].name = cleave_platform_worker_name(world->platform, i);
        world->hosts[i].first = i;
        world->hosts[i].slots = 1;
        world->hosts[i].shared_input = true;
    }
}

static void close_world(struct world *world)
{
    for (int i = 0; i < WORKERS; i++)
        waitpid(world->pids[i], NULL, 0);
    cleave_platform_free(world->platform);
    shell(world, "rm -rf \"$0\"");
}

static void take_note(void *context, const char *text)
{
    struct world *world = context;
    const size_t length = strlen(world->notes);

    snprintf(world->notes + length, sizeof world->notes - length, "%s\n", text);
}

static enum cleave_status execute(struct world *world, struct cleave_execution request,
                                  const char *script,
                                  struct cleave_execution_result **out,
                                  struct cleave_error *err)
{
    const char *const command[] = { "sh", "-c", script, world->folder, NULL };
    const char *const inputs[] = { world->input };
    const bool own = request.output.descriptor == 0;
    enum cleave_status status;

    request.command = command;
    request.input.files = inputs;
    request.input.count = 1;
    if (own)
        request.output.descriptor =
            open(world->output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    request.output.name = "out";
    request.workers.platform = world->platform;
    request.hosts.list = world->hosts;
    request.hosts.count = WORKERS;
    request.listener.note = take_note;
    request.listener.context = world;
    assert_true(request.output.descriptor >= 0);
    status = cleave_execute(&request, out, err);
    if (own)
        close(request.output.descriptor);
    return status;
}

/* In order, for all uses of outputs: kept in memory and on disk, folded, in separate
 * files, journalled. */
static void all_is_written(void **state)
{
    static const struct {
        double block;
        uint64_t memory;
        const char *reduce;
        bool journal;
    } cases[] = {
        { 20000, 0, NULL, false },          { 20000, 100000, NULL, false },
        { 20000, 300000, NULL, true },      { 20000, 300000, "cat", false },
        { 60000, 0, "cat {1} {2}", false }, { 0, 0, NULL, false },
    };
    const size_t before = open_descriptors();

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cleave_execution_result *result = NULL;
        struct world world;
        char journal[128];

        open_world(&world);
        snprintf(journal, sizeof journal, "%s/journal", world.folder);
        assert_ok(execute(&world,
                          (struct cleave_execution){
                              .policy.block = cases[i].block,
                              .output.memory = cases[i].memory,
                              .reduce.command = cases[i].reduce,
                              .journal.path = cases[i].journal ? journal : NULL },
                          TENFOLD, &result, &err));
        shell(&world,
              "awk \"{ for (i = 0; i < 10; i++) print }\" \"$0/in\" | cmp - \"$0/out\"");
        assert_int_equal(result->failed, 0);
        assert_int_equal(result->lost, 0);
        assert_string_equal(world.notes, "");
        cleave_execution_free(result);
        close_world(&world);
    }
    assert_int_equal(open_descriptors(), before);
}

/* A reader that comes late and is slow. */
static void a_pipe_gets_all(void **state)
{
    struct cleave_execution_result *result = NULL;
    struct world world;
    int ends[2], ended;
    pid_t reader;

    (void)state;
    open_world(&world);
    assert_int_equal(pipe(ends), 0);
    reader = fork();
    assert_true(reader >= 0);
    if (reader == 0) {
        close(ends[1]);
        dup2(ends[0], 0);
        execl("/bin/sh", "sh", "-c",
              "sleep 0.3; head -c 1000000 >$0/out; sleep 0.2; cat >>$0/out", world.folder,
              (char *)NULL);
        _exit(127);
    }
    close(ends[0]);
    assert_ok(execute(&world,
                      (struct cleave_execution){ .output.descriptor = ends[1],
                                                 .policy.block = 20000,
                                                 .output.memory = 400000 },
                      TENFOLD, &result, &err));
    close(ends[1]);
    assert_int_equal(waitpid(reader, &ended, 0), reader);
    assert_int_equal(ended, 0);
    shell(&world,
          "awk \"{ for (i = 0; i < 10; i++) print }\" \"$0/in\" | cmp - \"$0/out\"");
    cleave_execution_free(result);
    close_world(&world);
}

/* A worker is killed when two of its outputs have arrived and wait for the first chunk: they
 * are written none the less, and only what it was working on is done again. */
static void a_worker_is_lost(void **state)
{
    static const char script[] =
        "echo >>$0/begun; cat >$0/in.$$; if grep -q '^0 of' $0/in.$$; then "
        "while [ ! -e $0/killed ]; do sleep 0.02; done; "
        "elif [ $CLEAVE_WORKER = w.2 ]; then echo >>$0/count; "
        "if [ $(wc -l <$0/count) -ge 3 ]; then kill -9 $PPID; >$0/killed; exit 1; fi; "
        "fi; " TENFOLD " $0/in.$$";

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct cleave_execution_result *result = NULL;
        struct world world;
        char text[64];

        open_world(&world);
        assert_ok(
            execute(&world,
                    (struct cleave_execution){ .policy.block = 20000,
                                               .output.memory = i == 0 ? 0 : 250000 },
                    script, &result, &err));
        shell(&world,
              "awk \"{ for (i = 0; i < 10; i++) print }\" \"$0/in\" | cmp - \"$0/out\"");
        assert_int_equal(result->failed, 0);
        assert_non_null(strstr(world.notes, "w.2: lost"));
        /* The chunk that killed it, and perhaps another that had been sent ahead. */
        assert_in_range(result->lost, 1, 2);
        snprintf(text, sizeof text, "test $(wc -l <\"$0/begun\") = %llu",
                 (unsigned long long)result->chunks + 1);
        shell(&world, text);
        cleave_execution_free(result);
        close_world(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_is_written),
        cmocka_unit_test(a_pipe_gets_all),
        cmocka_unit_test(a_worker_is_lost),
    };

    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
