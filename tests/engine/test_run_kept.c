/* test_run_kept.c -- outputs that stay with the workers and are reduced there.
 * SPDX-License-Identifier: MIT
 *
 * Workers are processes at the other ends of sockets, and a thread takes frames from one
 * to the other, as the bridge between MPI ranks does; so no MPI is needed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include <cleave/execute.h>
#include "engine/mpi_bridge.h"
#include "run/wire/protocol.h"
#include "run/wire/frame.h"
#include "run/worker/worker_fold.h"
#include "run/worker/worker_internal.h"
#include "run_check.h"

enum { WORKERS = 4, LINES = 3000 };

struct world {
    char folder[64], input[128], output[128];
    int links[WORKERS], peers[WORKERS]; /* ends of the master and of the thread        */
    pid_t pids[WORKERS];
    pthread_t router;
    int stop[2];
    struct cleave_platform *platform;
    struct cleave_host hosts[WORKERS];
    char notes[4096];
};

/* A command that has to succeed. */
static void shell(const char *command)
{
    assert_int_equal(system(command), 0); // NOLINT(cert-env33-c): made here
}

/* --- what takes frames to peers ----------------------------------------------------------- */

/* A frame is read and written as a whole: workers always read. */
static bool move_bytes(int fd, void *bytes, size_t length, bool out)
{
    for (size_t done = 0; done < length;) {
        const ssize_t n =
            out ? send(fd, (char *)bytes + done, length - done, MSG_NOSIGNAL)
                : recv(fd, (char *)bytes + done, length - done, 0);

        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

/* The first frame between workers that has these flags is lost; -1: none is. Running
 * threads read it. */
static atomic_int lost_flags = -1;

static bool is_lost(const struct cv_frame_head *head)
{
    const bool lost = head->flags == atomic_load(&lost_flags);

    if (lost)
        atomic_store(&lost_flags, -1);
    return lost;
}

static void *route(void *context)
{
    struct world *world = context;
    static unsigned char frame[CV_FRAME_HEAD + CV_FRAME_MOST];

    for (;;) {
        struct pollfd polls[WORKERS + 1];

        for (int i = 0; i < WORKERS; i++)
            polls[i] = (struct pollfd){ .fd = world->peers[i], .events = POLLIN };
        polls[WORKERS] = (struct pollfd){ .fd = world->stop[0], .events = POLLIN };
        if (poll(polls, WORKERS + 1, -1) < 0 && errno != EINTR)
            return NULL;
        if (polls[WORKERS].revents != 0)
            return NULL;
        for (int i = 0; i < WORKERS; i++) {
            struct cv_frame_head head;

            if (polls[i].revents == 0)
                continue;
            if (!move_bytes(world->peers[i], frame, CV_FRAME_HEAD, false) ||
                cv_frame_decode(frame, &head, NULL) != CLEAVE_OK ||
                !move_bytes(world->peers[i], frame + CV_FRAME_HEAD, head.length, false)) {
                close(world->peers[i]); /* the peer has exited */
                world->peers[i] = -1;
            } else if (head.peer > 0 && head.peer <= WORKERS && !is_lost(&head)) {
                move_bytes(world->peers[head.peer - 1], frame,
                           CV_FRAME_HEAD + head.length, true);
            }
        }
    }
}

/* --- workers ------------------------------------------------------------------------------ */

/* Additional frame of w.2 with its first output, and its partial; 0: none. */
static uint8_t lie;
static uint64_t lie_of;
static bool (*keep)(void *context, struct cv_worker *worker, uint64_t chunk,
                    struct cv_chunk_output *output);

static bool keep_and_lie(void *context, struct cv_worker *worker, uint64_t chunk,
                         struct cv_chunk_output *output)
{
    static const unsigned char zeros[64];

    if (lie != 0)
        cv_link_send(&worker->link,
                     &(struct cv_frame_head){ .type = lie, .chunk = lie_of }, zeros,
                     cv_frame_kind(lie)->min);
    lie = 0;
    return keep(context, worker, chunk, output);
}

/* Frame of the master that the first worker drops, or dies of; 0: none. */
static uint8_t deaf_to;
static bool dies;
static char deaf_place[128];
static void (*other)(void *context, struct cv_worker *worker,
                     const struct cv_frame_head *head, const unsigned char *payload);

static void hear_or_not(void *context, struct cv_worker *worker,
                        const struct cv_frame_head *head, const unsigned char *payload)
{
    if (head->type != deaf_to || mkdir(deaf_place, 0700) != 0)
        other(context, worker, head, payload);
    else if (dies)
        raise(SIGKILL);
}

static void serve(int link, int peers, bool lies, bool peer_closed)
{
    struct cv_worker_options options = { .in = link, .out = link };
    struct cv_worker_fold *fold;
    struct cleave_error err;

    if (cv_worker_fold_new(peers, &fold, &err) != CLEAVE_OK)
        _exit(2);
    cv_worker_fold_attach(fold, &options);
    keep = options.keep;
    other = options.other;
    if (lies)
        options.keep = keep_and_lie;
    if (peer_closed)
        options.other = hear_or_not;
    if (cv_worker_serve(&options, &err) != CLEAVE_OK && !lies)
        fprintf(stderr, "worker: %s\n", err.text);
    cv_worker_fold_free(fold);
    _exit(0);
}

static void start_workers(struct world *world)
{
    int theirs[WORKERS][2];

    for (int i = 0; i < WORKERS; i++) {
        int link[2], peer[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, link), 0);
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, peer), 0);
        world->links[i] = link[0];
        world->peers[i] = peer[0];
        theirs[i][0] = link[1];
        theirs[i][1] = peer[1];
    }
    for (int i = 0; i < WORKERS; i++) {
        world->pids[i] = fork();
        assert_true(world->pids[i] >= 0);
        if (world->pids[i] > 0)
            continue;
        for (int k = 0; k < WORKERS; k++) {
            close(world->links[k]);
            close(world->peers[k]);
            if (k != i) {
                close(theirs[k][0]);
                close(theirs[k][1]);
            }
        }
        serve(theirs[i][0], theirs[i][1], i == 2 && lie != 0, deaf_to != 0);
    }
    for (int i = 0; i < WORKERS; i++) {
        close(theirs[i][0]);
        close(theirs[i][1]);
    }
}

static void take_note(void *context, const char *text)
{
    struct world *world = context;
    const size_t length = strlen(world->notes);

    snprintf(world->notes + length, sizeof world->notes - length, "%s\n", text);
}

static void open_world(struct world *world)
{
    memset(world, 0, sizeof *world);
    strcpy(world->folder, "/tmp/cleave-kept.XXXXXX");
    assert_non_null(mkdtemp(world->folder));
    snprintf(world->input, sizeof world->input, "%s/in", world->folder);
    snprintf(world->output, sizeof world->output, "%s/out", world->folder);
    snprintf(deaf_place, sizeof deaf_place, "%s/deaf", world->folder);
    write_lines(world->input, LINES);
    start_workers(world);
    assert_int_equal(pipe(world->stop), 0);
    assert_int_equal(pthread_create(&world->router, NULL, route, world), 0);
    world->platform = four_workers();
    for (uint32_t i = 0; i < WORKERS; i++)
        world->hosts[i] =
            (struct cleave_host){ .name = cleave_platform_worker_name(world->platform, i),
                                  .link = world->links[i],
                                  .first = i,
                                  .slots = 1,
                                  .shared_input = i % 2 == 0 };
}

static void close_world(struct world *world)
{
    char command[128];

    close(world->stop[1]);
    pthread_join(world->router, NULL);
    close(world->stop[0]);
    for (int i = 0; i < WORKERS; i++) {
        if (world->peers[i] >= 0)
            close(world->peers[i]);
        waitpid(world->pids[i], NULL, 0);
    }
    cleave_platform_free(world->platform);
    snprintf(command, sizeof command, "rm -rf '%s'", world->folder);
    shell(command);
}

/* --- runs --------------------------------------------------------------------------------- */

/* A run of `script` by the shell; its result. */
static enum cleave_status execute(struct world *world, struct cleave_execution request,
                                  const char *script,
                                  struct cleave_execution_result **out,
                                  struct cleave_error *err)
{
    const char *const command[] = { "sh", "-c", script, world->folder, NULL };
    const char *const inputs[] = { world->input };
    enum cleave_status status;

    request.command = command;
    request.input.files = inputs;
    request.input.count = 1;
    request.output.descriptor =
        open(world->output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    request.output.name = "out";
    request.workers.platform = world->platform;
    request.hosts.list = world->hosts;
    request.hosts.count = WORKERS;
    request.hosts.fold = true;
    request.listener.note = take_note;
    request.listener.context = world;
    assert_true(request.output.descriptor >= 0);
    status = cleave_execute(&request, out, err);
    close(request.output.descriptor);
    return status;
}

static void same_as_input(const struct world *world)
{
    char command[320];

    snprintf(command, sizeof command, "cmp '%s' '%s'", world->input, world->output);
    shell(command);
}

static void order_is_kept(void **state)
{
    static const char *const policies[] = { NULL, "guided", NULL, NULL };
    static const double blocks[] = { 0, 0, 700, 700 };
    static const char *const folds[] = { "cat", "cat", "cat", "cat {1} {2}" };

    (void)state;
    for (int i = 0; i < 4; i++) {
        struct cleave_execution_result *result = NULL;
        struct cleave_error err;
        struct world world;

        open_world(&world);
        if (execute(&world,
                    (struct cleave_execution){ .reduce.command = folds[i],
                                               .policy.name = policies[i],
                                               .policy.block = blocks[i] },
                    "cat", &result, &err) != CLEAVE_OK)
            fail_msg("%s", err.text);
        same_as_input(&world);
        assert_int_equal(result->failed, 0);
        assert_true(result->folds > 0 && result->folds < result->chunks);
        if (i == 3) /* two files at a time */
            assert_int_equal(result->folds, result->chunks - 1);
        else if (blocks[i] > 0) /* there are many: folds take more of them */
            assert_true(result->folds < (result->chunks - 1) / 2);
        cleave_execution_free(result);
        close_world(&world);
    }
}

static void any_order(void **state)
{
    struct cleave_execution_result *result = NULL;
    struct cleave_error err;
    struct world world;
    char command[600];

    (void)state;
    open_world(&world);
    assert_int_equal(execute(&world,
                             (struct cleave_execution){ .reduce.command = "sort -n",
                                                        .reduce.commutative = true,
                                                        .policy.block = 900 },
                             "sort -n", &result, &err),
                     CLEAVE_OK);
    snprintf(command, sizeof command, "sort -n '%s' | cmp - '%s'", world.input,
             world.output);
    shell(command);
    cleave_execution_free(result);
    close_world(&world);
}

/* The chunk with line 1000 has no result: its neighbours meet. */
static void a_failed_chunk_leaves_no_gap(void **state)
{
    struct cleave_execution_result *result = NULL;
    struct cleave_error err;
    struct world world;
    char command[600];

    (void)state;
    open_world(&world);
    assert_int_equal(execute(&world,
                             (struct cleave_execution){ .reduce.command = "cat",
                                                        .policy.block = 500 },
                             "cat >$0/$$; grep -q '^1000 ' $0/$$ && exit 1; cat $0/$$; "
                             "rm $0/$$",
                             &result, &err),
                     CLEAVE_OK);
    assert_int_equal(result->failed, 1);
    snprintf(command, sizeof command,
             "test $(sort -n -u '%s' | wc -l) -gt %d && sort -n -c '%s' && "
             "! grep -q '^1000 ' '%s'",
             world.output, LINES - 60, world.output, world.output);
    shell(command);
    cleave_execution_free(result);
    close_world(&world);
}

static void a_fold_that_fails(void **state)
{
    struct cleave_execution_result *result = NULL;
    struct cleave_error err;
    struct world world;

    (void)state;
    open_world(&world);
    assert_int_equal(execute(&world,
                             (struct cleave_execution){ .reduce.command = "exit 7",
                                                        .policy.block = 5000,
                                                        .failures.retries = 1 },
                             "cat", &result, &err),
                     CLEAVE_EENGINE);
    assert_non_null(strstr(err.text, "the command that reduces exited with status 7"));
    assert_non_null(strstr(err.text, " partial results, also when tried again"));
    assert_true(result->reduce_failed);
    cleave_execution_free(result);
    close_world(&world);
}

/* A fold is tried again, and then works. */
static void a_fold_that_is_tried_again(void **state)
{
    struct cleave_execution_result *result = NULL;
    struct cleave_error err;
    struct world world;
    char reduce[200];

    (void)state;
    open_world(&world);
    snprintf(reduce, sizeof reduce, "mkdir %s/once 2>/dev/null && exit 1; cat",
             world.folder);
    assert_int_equal(execute(&world,
                             (struct cleave_execution){ .reduce.command = reduce,
                                                        .policy.block = 5000,
                                                        .failures.retries = 2 },
                             "cat", &result, &err),
                     CLEAVE_OK);
    same_as_input(&world);
    assert_int_equal(result->retries, 1);
    cleave_execution_free(result);
    close_world(&world);
}

/* Worker w.2 is killed by its command, after some chunks, and holds their results: other
 * workers do them all again. */
static void a_worker_is_lost(void **state)
{
    static const char script[] =
        "if [ $CLEAVE_WORKER = w.2 ]; then echo >>$0/count; "
        "[ $(wc -l <$0/count) -ge 4 ] && kill -9 $PPID; fi; sleep 0.01; cat";

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct cleave_execution_result *result = NULL;
        struct cleave_error err = { 0 };
        struct world world;
        enum cleave_status status;

        open_world(&world);
        status = execute(&world,
                         (struct cleave_execution){ .reduce.command = "cat",
                                                    .policy.block = i == 0 ? 800 : 0 },
                         script, &result, &err);
        if (status != CLEAVE_OK)
            fail_msg("%s", err.text);
        same_as_input(&world);
        if (i == 0) { /* the size of chunks is fixed: there are enough for four */
            assert_true(result->lost >= 4);
            assert_non_null(strstr(world.notes, "w.2: lost"));
        }
        cleave_execution_free(result);
        close_world(&world);
    }
}

/* The first fold that takes something from another worker kills that one and hangs. The
 * fold is cancelled; the worker and the other givers do it again, with the repeated
 * chunks. */
static void a_giver_is_lost(void **state)
{
    static const char script[] = "cd $0; echo $PPID >$$; mv $$ $CLEAVE_WORKER; "
                                 "sed s/^/$CLEAVE_WORKER:/";
    static const char reduce[] =
        "cd %s; cat >$$; other=$(cut -d: -f1 $$ | grep -vx -m 1 $CLEAVE_WORKER) && "
        "mkdir once 2>/dev/null && { kill -9 $(cat $other); sleep 60; exit 9; }; "
        "cat $$; rm $$";

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct cleave_execution_result *result = NULL;
        struct cleave_error err = { 0 };
        struct world world;
        char command[1000];
        enum cleave_status status;

        open_world(&world);
        snprintf(command, sizeof command, reduce, world.folder);
        status = execute(&world,
                         (struct cleave_execution){ .reduce.command = command,
                                                    .reduce.commutative = i == 1,
                                                    .policy.block = 800 },
                         script, &result, &err);
        if (status != CLEAVE_OK)
            fail_msg("%s", err.text);
        snprintf(command, sizeof command, "cut -d: -f2 '%s' | sort -n | cmp - '%s'",
                 world.output, world.input);
        shell(command);
        snprintf(command, sizeof command, "cut -d: -f2 '%s' | cmp - '%s'", world.output,
                 world.input);
        if (i == 0)
            shell(command);
        assert_true(result->lost > 0);
        assert_non_null(strstr(world.notes, ": lost"));
        assert_int_equal(result->retries, 0);
        cleave_execution_free(result);
        close_world(&world);
    }
}

/* All workers are killed by their own commands. */
static void all_workers_are_lost(void **state)
{
    struct cleave_execution_result *result = NULL;
    struct cleave_error err = { 0 };
    struct world world;

    (void)state;
    open_world(&world);
    assert_int_equal(execute(&world,
                             (struct cleave_execution){ .reduce.command = "cat",
                                                        .policy.block = 800 },
                             "kill -9 $PPID", &result, &err),
                     CLEAVE_ELOST);
    assert_int_equal(err.status, CLEAVE_ELOST);
    assert_non_null(strstr(err.text, "all hosts are lost; the last one: "));
    assert_int_equal(result->chunks, 0);
    assert_true(result->lost > 0);
    cleave_execution_free(result);
    close_world(&world);
}

/* Unordered folds, or another worker's; a result that is not fetched. */
static void a_worker_lies_about_folds(void **state)
{
    static const struct {
        uint8_t type;
        uint64_t id;
        const char *expected;
    } cases[] = {
        { CV_FRAME_FOLDED, 12345,
          "broke the protocol: FOLDED while nothing of the kind" },
        { CV_FRAME_FOLD_FAILED, 12345, "broke the protocol: FOLD_FAILED while nothing" },
        { CV_FRAME_PARTIAL, 0, "broke the protocol: PARTIAL while nothing of the kind" },
        { CV_FRAME_FETCH, 0, "broke the protocol: FETCH while nothing of the kind" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cleave_execution_result *result = NULL;
        struct world world;

        lie = cases[i].type;
        lie_of = cases[i].id;
        open_world(&world);
        lie = 0;
        assert_ok(execute(&world,
                          (struct cleave_execution){ .reduce.command = "cat",
                                                     .policy.block = 800 },
                          "sleep 0.01; cat", &result, &err));
        same_as_input(&world);
        if (strstr(world.notes, cases[i].expected) == NULL)
            fail_msg("expected '%s', got '%s'", cases[i].expected, world.notes);
        cleave_execution_free(result);
        close_world(&world);
    }
}

/* A run with few chunks, all of which may be folded as they come. */
static void run_to_its_end(struct world *world, const char *reduce)
{
    struct cleave_execution_result *result = NULL;

    assert_ok(execute(world,
                      (struct cleave_execution){ .reduce.command = reduce,
                                                 .policy.block = 3000,
                                                 .hosts.timeout_s = 3 },
                      "cat", &result, &err));
    same_as_input(world);
    assert_int_equal(result->failed, 0);
    cleave_execution_free(result);
}

static void expect_note(const struct world *world, const char *expected)
{
    if (strstr(world->notes, expected) == NULL)
        fail_msg("expected '%s', got '%s'", expected, world->notes);
}

/* It sends pings, and does not make, or not give, its ordered result. */
static void a_worker_does_not_get_on(void **state)
{
    static const struct {
        uint8_t deaf_to;
        const char *expected;
    } cases[] = {
        { CV_FRAME_FOLD, ": lost, its chunks go elsewhere: it was told to reduce partial "
                         "results and did not get on for 3 s" },
        { CV_FRAME_GIVE, ": lost, its chunks go elsewhere: nothing came of a partial "
                         "result for w." },
        { CV_FRAME_FETCH, ": lost, its chunks go elsewhere: nothing came of its result "
                          "for 3 s" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct world world;

        deaf_to = cases[i].deaf_to;
        open_world(&world);
        deaf_to = 0;
        run_to_its_end(&world, "cat");
        expect_note(&world, cases[i].expected);
        close_world(&world);
    }
}

/* The holder of the complete result is lost when it is fetched: all of it is done
 * again. */
static void the_holder_of_the_result_is_lost(void **state)
{
    static const char *const policies[] = { NULL, "guided", NULL };
    static const double blocks[] = { 3000, 0, 0 };

    (void)state;
    for (int i = 0; i < 3; i++) {
        struct cleave_execution_result *result = NULL;
        struct world world;

        deaf_to = CV_FRAME_FETCH;
        dies = true;
        open_world(&world);
        deaf_to = 0;
        dies = false;
        assert_ok(execute(&world,
                          (struct cleave_execution){ .reduce.command = "cat",
                                                     .policy.name = policies[i],
                                                     .policy.block = blocks[i] },
                          "cat", &result, &err));
        same_as_input(&world);
        assert_int_equal(result->failed, 0);
        assert_true(result->lost > 0);
        expect_note(&world, ": lost, its chunks go elsewhere: the connection was closed");
        cleave_execution_free(result);
        close_world(&world);
    }
}

/* Input from a stream cannot be repeated; the message names the remedy. */
static void a_result_of_a_stream_is_lost(void **state)
{
    struct cleave_execution_result *result = NULL;
    struct cleave_error err = { 0 };
    struct world world;
    char command[400];

    (void)state;
    deaf_to = CV_FRAME_FETCH;
    dies = true;
    open_world(&world);
    deaf_to = 0;
    dies = false;
    snprintf(command, sizeof command,
             "cd '%s' && mv in all && mkfifo in && { cat all >in & }", world.folder);
    shell(command);
    assert_int_equal(execute(&world,
                             (struct cleave_execution){ .reduce.command = "cat",
                                                        .policy.block = 3000 },
                             "cat", &result, &err),
                     CLEAVE_ELOST);
    assert_non_null(strstr(err.text,
                           "are lost with their host, and a stream cannot be "
                           "read again: a journal (journal.path) keeps results here"));
    cleave_execution_free(result);
    close_world(&world);
}

/* Between two workers that are honest. */
static void a_partial_is_lost(void **state)
{
    struct world world;

    (void)state;
    open_world(&world);
    atomic_store(&lost_flags, CV_FRAME_LAST);
    run_to_its_end(&world, "cat");
    assert_int_equal(atomic_load(&lost_flags), -1);
    expect_note(&world, "nothing came of a partial result for w.");
    close_world(&world);
}

/* A command that takes longer than the silence limit of a host is running. */
static void a_fold_takes_long(void **state)
{
    struct world world;
    char reduce[200];

    (void)state;
    open_world(&world);
    snprintf(reduce, sizeof reduce, "mkdir %s/once 2>/dev/null && sleep 6; cat",
             world.folder);
    run_to_its_end(&world, reduce);
    assert_string_equal(world.notes, "");
    close_world(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_is_kept),
        cmocka_unit_test(any_order),
        cmocka_unit_test(a_failed_chunk_leaves_no_gap),
        cmocka_unit_test(a_fold_that_fails),
        cmocka_unit_test(a_fold_that_is_tried_again),
        cmocka_unit_test(a_worker_is_lost),
        cmocka_unit_test(a_giver_is_lost),
        cmocka_unit_test(all_workers_are_lost),
        cmocka_unit_test(a_worker_lies_about_folds),
        cmocka_unit_test(a_worker_does_not_get_on),
        cmocka_unit_test(the_holder_of_the_result_is_lost),
        cmocka_unit_test(a_result_of_a_stream_is_lost),
        cmocka_unit_test(a_partial_is_lost),
        cmocka_unit_test(a_fold_takes_long),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
