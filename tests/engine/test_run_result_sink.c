/* test_run_result_sink.c -- destinations of outputs: written, or folded here. Outputs
 * kept on hosts are in test_run_kept.c. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <cleave/execute.h>

#include "run/master/result_sink.h"
#include "run_check.h"

enum { WORKERS = 3, FOLDERS = 2, CROWD = 100 };

struct world {
    int sink;
    struct cleave_execution request;
    struct cv_poller *poller;
    struct cv_ordered_output *outputs;
    const char *names[WORKERS];
    const char *const *prefixes[WORKERS];
    struct cv_host *hosts[WORKERS]; /* all are here */
    struct cv_worker_pool pool;
    struct cv_order_queue queue;
    struct cv_attempt attempts[WORKERS];
    struct cv_worker_attempts places[WORKERS];
    struct cv_attempt_table table;
    struct cv_start_limiter limiter;
    struct cv_result_sink *results;
};

static struct cv_start_usage nothing_runs(void *context)
{
    (void)context;
    return (struct cv_start_usage){ .busy = 0 };
}

/* The outlet that does this with outputs; NULL: nothing. */
static void open_world(struct world *world, const char *reduce)
{
    char path[] = "/tmp/cleave-outlet-XXXXXX";

    *world = (struct world){ .request = { .reduce.command = reduce },
                             .limiter.look = nothing_runs };
    world->sink = mkstemp(path);
    assert_true(world->sink >= 0);
    unlink(path);
    assert_ok(cv_poller_new(&world->poller, &err));
    assert_ok(
        cv_ordered_output_new(&(struct cv_ordered_output_options){ .sink = world->sink,
                                                                   .sink_name = "sink",
                                                                   .memory = 1 << 20 },
                              &world->outputs, &err));
    for (int i = 0; i < WORKERS; i++) {
        world->names[i] = "w";
        world->places[i] =
            (struct cv_worker_attempts){ .items = &world->attempts[i], .count = 1 };
    }
    world->pool = (struct cv_worker_pool){ .names = world->names,
                                           .prefixes = world->prefixes,
                                           .host_of = world->hosts,
                                           .nworkers = WORKERS,
                                           .nfolders = FOLDERS };
    world->table = (struct cv_attempt_table){ world->places, WORKERS };
    assert_ok(
        cv_result_sink_open(&(struct cv_result_sink_options){ .request = &world->request,
                                                              .poller = world->poller,
                                                              .outputs = world->outputs,
                                                              .pool = &world->pool,
                                                              .queue = &world->queue,
                                                              .table = &world->table,
                                                              .limiter =
                                                                  &world->limiter },
                            &world->results, &err));
}

static void close_world(struct world *world)
{
    cv_result_sink_free(world->results);
    cv_ordered_output_free(world->outputs);
    cv_poller_free(world->poller);
    close(world->sink);
}

/* Chunk `i`, of ten bytes, has put out its number. */
static void add(struct world *world, uint64_t i)
{
    const struct cv_piece piece = { .begin = 10 * i, .end = 10 * i + 10 };
    struct cv_chunk_output *store;
    char text[16];

    snprintf(text, sizeof text, "%llu ", (unsigned long long)i);
    assert_ok(cv_chunk_output_open(world->outputs, &store, &err));
    assert_ok(cv_chunk_output_write(store, text, strlen(text), &err));
    assert_ok(cv_result_sink_add(world->results, store, &piece, NULL, &err));
}

static void wait_until_idle(struct world *world)
{
    while (cv_result_sink_busy(world->results))
        assert_ok(cv_poller_wait(world->poller, -1, &err));
}

static void settle(struct world *world)
{
    enum cv_ordered_output_state state;
    bool done, by_command;

    for (;;) {
        assert_ok(cv_result_sink_status(world->results, &by_command, &err));
        assert_ok(cv_result_sink_finish(world->results, &done, &err));
        if (done)
            break;
        assert_ok(cv_poller_wait(world->poller, -1, &err));
    }
    do
        assert_ok(cv_ordered_output_pump(world->outputs, 1 << 20, &state, &err));
    while (state != CV_GATHER_IDLE);
}

static void assert_written(const struct world *world, const char *expected)
{
    char bytes[1024];
    const ssize_t n = pread(world->sink, bytes, sizeof bytes - 1, 0);

    assert_true(n >= 0);
    bytes[n] = '\0';
    assert_string_equal(bytes, expected);
}

/* --- as they are -------------------------------------------------------------------------- */

static void outputs_are_written_in_order(void **state)
{
    struct world world;
    bool first = true, done = false;

    (void)state;
    open_world(&world, NULL);
    add(&world, 3);
    add(&world, 0);
    assert_ok(cv_result_sink_skip(world.results, 10, 20, &err));
    add(&world, 2);
    assert_ok(cv_result_sink_first(world.results, 0, &first, &err));
    assert_false(first); /* no worker folds */
    assert_ok(cv_result_sink_work(world.results, &err));
    assert_false(cv_result_sink_busy(world.results));
    assert_ok(cv_result_sink_free_memory(world.results, &done, &err));
    assert_true(done);
    settle(&world);
    assert_written(&world, "0 2 3 ");
    assert_int_equal(cv_result_sink_counts(world.results).calls, 0);
    close_world(&world);
}

/* --- folded ------------------------------------------------------------------------------- */

static void folded_outputs_keep_their_order(void **state)
{
    struct world world;

    (void)state;
    open_world(&world, "cat");
    add(&world, 4);
    add(&world, 0);
    add(&world, 1);
    assert_ok(cv_result_sink_skip(world.results, 20, 30, &err)); /* its neighbours meet */
    add(&world, 3);
    settle(&world);
    assert_written(&world, "0 1 3 4 ");
    assert_true(cv_result_sink_counts(world.results).calls > 0);
    close_world(&world);
}

/* A hole is an error, not a result without it. */
static void a_result_covers_all_of_the_input(void **state)
{
    struct world world;
    struct cleave_error err;
    bool done;

    (void)state;
    open_world(&world, "cat");
    add(&world, 0);
    add(&world, 2);
    assert_int_not_equal(cv_result_sink_finish(world.results, &done, &err), CLEAVE_OK);
    close_world(&world);
}

static void idle_workers_fold(void **state)
{
    struct world world;

    (void)state;
    open_world(&world, "cat");
    for (uint64_t i = 0; i < 8; i++)
        add(&world, i);
    world.attempts[0].state = CV_ATTEMPT_RUNNING;
    assert_ok(cv_result_sink_work(world.results, &err));
    assert_true(cv_result_sink_busy(world.results));
    assert_int_equal(cv_result_sink_counts(world.results).calls, 1);
    wait_until_idle(&world);
    for (uint64_t i = 8; i < 20; i++)
        add(&world, i);
    world.attempts[0].state = CV_ATTEMPT_FREE;
    assert_ok(cv_result_sink_work(world.results, &err)); /* the third one may not */
    assert_int_equal(cv_result_sink_counts(world.results).calls, 1 + FOLDERS);
    settle(&world);
    assert_written(&world, "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 ");
    close_world(&world);
}

/* A worker that computes on another machine is free to fold here at the same time. */
static void remote_workers_do_not_delay_the_sink(void **state)
{
    struct world world;

    (void)state;
    open_world(&world, "cat");
    for (uint64_t i = 0; i < 8; i++)
        add(&world, i);
    for (int i = 0; i < WORKERS; i++)
        world.attempts[i].state = CV_ATTEMPT_RUNNING;
    assert_ok(cv_result_sink_work(world.results, &err));
    assert_false(cv_result_sink_busy(world.results)); /* all fold here */
    world.hosts[1] = (struct cv_host *)&world;        /* a host, which is not looked at */
    assert_ok(cv_result_sink_work(world.results, &err));
    assert_int_equal(cv_result_sink_counts(world.results).calls, 1);
    settle(&world);
    assert_written(&world, "0 1 2 3 4 5 6 7 ");
    close_world(&world);
}

/* When it is crowded, a worker folds once before each chunk. */
static void crowded_workers_fold_first(void **state)
{
    struct world world;
    bool first, done;

    (void)state;
    open_world(&world, "cat");
    for (uint64_t i = 0; i < CROWD; i++)
        add(&world, i);
    assert_ok(cv_result_sink_first(world.results, 0, &first, &err));
    assert_true(first);
    assert_ok(cv_result_sink_first(world.results, 0, &first, &err)); /* its fold runs */
    assert_true(first);
    assert_ok(cv_result_sink_first(world.results, FOLDERS, &first, &err));
    assert_false(first); /* not a folding worker */
    wait_until_idle(&world);
    assert_ok(cv_result_sink_first(world.results, 0, &first, &err));
    assert_false(first); /* its chunk begins */
    assert_ok(cv_result_sink_first(world.results, 0, &first, &err));
    assert_true(first); /* the next one has to wait again */
    assert_int_equal(cv_result_sink_counts(world.results).calls, 2);
    /* Room for more, but not all at once. */
    for (done = false; !done;) {
        assert_ok(cv_result_sink_free_memory(world.results, &done, &err));
        if (!done)
            assert_ok(cv_poller_wait(world.poller, -1, &err));
    }
    wait_until_idle(&world);
    assert_ok(cv_result_sink_first(world.results, 1, &first, &err));
    assert_false(first);
    close_world(&world);
}

static void a_failing_command_is_reported(void **state)
{
    struct world world;
    struct cleave_error err;
    bool by_command = false;

    (void)state;
    open_world(&world, "exit 3");
    add(&world, 0);
    add(&world, 1);
    assert_int_equal(cv_result_sink_work(world.results, &err), CLEAVE_OK);
    wait_until_idle(&world);
    assert_int_not_equal(cv_result_sink_status(world.results, &by_command, &err),
                         CLEAVE_OK);
    assert_true(by_command);
    assert_non_null(strstr(err.text, "exited with status 3"));
    close_world(&world);
}

static void nothing_is_folded_after_a_stop(void **state)
{
    struct world world;
    bool by_command;

    (void)state;
    open_world(&world, "sleep 30; cat");
    add(&world, 0);
    add(&world, 1);
    assert_ok(cv_result_sink_work(world.results, &err));
    assert_true(cv_result_sink_busy(world.results));
    cv_result_sink_stop(world.results);
    wait_until_idle(&world);
    assert_ok(cv_result_sink_status(world.results, &by_command, &err));
    assert_ok(cv_result_sink_work(world.results, &err));
    assert_false(cv_result_sink_busy(world.results));
    assert_int_equal(cv_result_sink_counts(world.results).calls, 1);
    close_world(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outputs_are_written_in_order),
        cmocka_unit_test(folded_outputs_keep_their_order),
        cmocka_unit_test(a_result_covers_all_of_the_input),
        cmocka_unit_test(idle_workers_fold),
        cmocka_unit_test(remote_workers_do_not_delay_the_sink),
        cmocka_unit_test(crowded_workers_fold_first),
        cmocka_unit_test(a_failing_command_is_reported),
        cmocka_unit_test(nothing_is_folded_after_a_stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
