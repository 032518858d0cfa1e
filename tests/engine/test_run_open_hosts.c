/* test_run_open_hosts.c -- chunks that stay open, on other machines.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "open_run_check.h"
#include "run/worker/worker_serve.h"

static int serve(void)
{
    struct cleave_error err;

    return cv_worker_serve(&(struct cv_worker_options){ .in = 0, .out = 1 }, &err) ==
                   CLEAVE_OK
               ? 0
               : 1;
}

static struct cleave_platform *platform;
static bool shares_input; /* hosts read it themselves */

/* Two hosts; the second has two slots. */
static struct cleave_execution on_hosts(const char *port,
                                        struct cleave_execution execution)
{
    static const char *const there[] = { "/proc/self/exe", "worker", NULL };
    static struct cleave_host hosts[] = {
        { .name = "a", .connect = there, .first = 0, .slots = 1 },
        { .name = "b", .connect = there, .first = 1, .slots = 2 },
    };
    char text[128];

    snprintf(text, sizeof text,
             "port: %s\nworkers:\n  - {name: w, count: 3, speed: 1e8, bandwidth: 1e9}\n",
             port);
    cleave_platform_free(platform);
    assert_int_equal(cleave_platform_parse("p", text, strlen(text), &platform, NULL),
                     CLEAVE_OK);
    hosts[0].shared_input = hosts[1].shared_input = shares_input;
    execution.workers.platform = platform;
    execution.hosts.list = hosts;
    execution.hosts.count = 2;
    return execution;
}

/* For every policy the output equals the input, in its order. */
static void keeps_every_byte(void **state)
{
    struct text all;

    (void)state;
    write_lines(path_a, 8000);
    all = file_text(path_a);
    for (dance_seed = 70; dance_seed < 78; dance_seed++) {
        struct ran ran;

        shares_input = dance_seed % 4 >= 2;
        ran = run_open(
            on_hosts(dance_seed % 2 == 0 ? "multi" : "one",
                     (struct cleave_execution){
                         .command = cat, .input = { .files = file_a, .count = 1 } }));

        expect_bytes(&ran, all.bytes, all.n);
        assert_int_equal(ran.result->lost, 0);
        assert_true(count_events(ran.trace, CLEAVE_DRAINED, NULL) > 0);
        assert_true(count_events(ran.trace, CLEAVE_STARTED, NULL) > 0);
        forget(&ran);
    }
    shares_input = false;
    free(all.bytes);
}

/* Headers come once, and a file that lacks its end gets it. */
static void sends_what_belongs_to_it(void **state)
{
    static const char *const tail[] = { "tail", "-n", "+2", NULL };
    struct text all;
    struct ran ran;

    (void)state;
    dance_grain = 600;
    write_lines(path_a, 1000);
    all = file_text(path_a);
    ran = run_open(
        on_hosts("multi", (struct cleave_execution){
                              .command = tail, .input = { file_a, 1, .header = true } }));
    expect_bytes(&ran, strchr(all.bytes, '\n') + 1, all.n - 15);
    forget(&ran);
    write_file(path_a, all.bytes, all.n - 1);
    write_file(path_b, all.bytes, all.n - 1);
    ran = run_open(
        on_hosts("multi", (struct cleave_execution){
                              .command = cat, .input = { .files = both, .count = 2 } }));
    assert_int_equal(ran.status, CLEAVE_OK);
    assert_int_equal(ran.out.n, 2 * all.n - 1);
    assert_memory_equal(ran.out.bytes, all.bytes, all.n);
    assert_memory_equal(ran.out.bytes + all.n, all.bytes, all.n - 1);
    forget(&ran);
    free(all.bytes);
    dance_grain = 3000;
}

static void takes_any_command(void **state)
{
    static const struct {
        const char *words;
        bool all, fails;
    } commands[] = {
        { "sleep 0.05; exec cat", true, false }, { "sort -s -k 9", true, false },
        { "head -c 10", false, false },          { "true", false, false },
        { "exec 0<&-; echo x", false, false },   { "exit 3", false, true },
        { "cat; exit 3", false, true },
    };
    struct text all;

    (void)state;
    write_lines(path_a, 500);
    all = file_text(path_a);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        struct ran ran;

        dance_seed = 80 + i;
        ran = run_open(on_hosts("multi", (struct cleave_execution){
                                             .command = SH(commands[i].words),
                                             .input = { .files = file_a, .count = 1 } }));
        if (ran.status != CLEAVE_OK)
            fail_msg("%s: %s", commands[i].words, ran.err.text);
        assert_int_equal(ran.result->failed_bytes, commands[i].fails ? all.n : 0);
        assert_int_equal(ran.result->left_bytes, 0);
        assert_int_equal(ran.result->lost, 0);
        if (commands[i].all)
            expect_bytes(&ran, all.bytes, all.n);
        forget(&ran);
    }
    free(all.bytes);
}

/* Events report the first read and the end of reading, with that machine's times. */
static void hosts_notify_the_policy_of_reading(void **state)
{
    static const struct script_step steps[] = {
        { CLEAVE_START, CLEAVE_OPEN, 1, 0 },     { AT_ONCE, CLEAVE_EXTEND, 1, 1e9 },
        { CLEAVE_STARTED, CLEAVE_QUERY, 2, 0 },  { CLEAVE_DRAINED, CLEAVE_QUERY, 1, 0 },
        { CLEAVE_PROGRESS, CLEAVE_QUERY, 1, 0 }, { CLEAVE_PROGRESS, CLEAVE_CLOSE, 1, 0 },
        { AT_ONCE, CLEAVE_QUERY, 1, 0 },
    };
    struct cleave_event started, drained, done;
    double seen = 0;
    struct text all;
    struct ran ran;

    (void)state;
    write_lines(path_a, 20000);
    all = file_text(path_a);
    ran = run_script(on_hosts("multi",
                              (struct cleave_execution){
                                  .command = SH("sleep 0.1; cat; sleep 0.1"),
                                  .input = { .files = file_a, .count = 1 } }),
                     steps, sizeof steps / sizeof *steps);
    expect_bytes(&ran, all.bytes, all.n);
    started = event_of(ran.trace, CLEAVE_STARTED, 1);
    drained = event_of(ran.trace, CLEAVE_DRAINED, 1);
    done = event_of(ran.trace, CLEAVE_DONE, 1);
    assert_true(started.time_s >= started.start_s + 0.1);
    assert_true(drained.time_s >= started.time_s);
    assert_true(done.read_s >= drained.time_s && done.time_s >= done.read_s + 0.1);
    assert_int_equal(count_events(ran.trace, CLEAVE_PROGRESS, &seen), 4);
    assert_true(seen >= 2 * (double)all.n);
    free(all.bytes);
    forget(&ran);
}

/* One chunk, by a command that reads nothing before the last step. */
static struct ran run_held(const struct script_step *steps, size_t nsteps,
                           const struct text *all)
{
    struct ran ran;

    unlink(path_b);
    setenv("FLAG", path_b, 1);
    script_flag = path_b;
    ran = run_script(
        on_hosts("multi",
                 (struct cleave_execution){
                     .command = SH("until test -e \"$FLAG\"; do sleep 0.01; done; cat"),
                     .input = { .files = file_a, .count = 1 } }),
        steps, nsteps);
    script_flag = NULL;
    expect_bytes(&ran, all->bytes, all->n);
    assert_int_equal(ran.result->chunks, 1);
    return ran;
}

/* Bytes that were sent there and not fed come back on recall, and are sent again. */
static void takes_back_and_gives_again(void **state)
{
    static const struct script_step steps[] = {
        { CLEAVE_START, CLEAVE_OPEN, 0, 0 },
        { AT_ONCE, CLEAVE_EXTEND, 0, 1e9 },
        { AT_ONCE, CLEAVE_WAKE_AT, 0, 0.2 },
        { CLEAVE_WAKE, CLEAVE_RECALL, 0, 100000 },
        { AT_ONCE, CLEAVE_EXTEND, 0, 10 },
        { CLEAVE_RECALLED, CLEAVE_QUERY, 0, 0 },
        { CLEAVE_EXTENDED, CLEAVE_EXTEND, 0, 1e9 },
        { AT_ONCE, CLEAVE_CLOSE, 0, 0 },
    };
    struct text all;
    struct ran ran;

    (void)state;
    write_lines(path_a, 10000);
    all = file_text(path_a);
    ran = run_held(steps, sizeof steps / sizeof *steps, &all);
    assert_true(event_of(ran.trace, CLEAVE_RECALLED, 0).units > 0);
    free(all.bytes);
    forget(&ran);
}

/* No more is sent than the command may want in a moment: the rest is had back at once. */
static void sends_no_more_than_is_read(void **state)
{
    static const struct script_step steps[] = {
        { CLEAVE_START, CLEAVE_OPEN, 0, 0 },
        { AT_ONCE, CLEAVE_EXTEND, 0, 1e9 },
        { AT_ONCE, CLEAVE_WAKE_AT, 0, 0.2 },
        { CLEAVE_WAKE, CLEAVE_RECALL, 0, 1e9 },
        { CLEAVE_RECALLED, CLEAVE_EXTEND, 0, 1e9 },
        { AT_ONCE, CLEAVE_CLOSE, 0, 0 },
    };
    struct text all;
    struct ran ran;

    (void)state;
    write_lines(path_a, 500000);
    all = file_text(path_a);
    ran = run_held(steps, sizeof steps / sizeof *steps, &all);
    assert_true(event_of(ran.trace, CLEAVE_RECALLED, 0).units >
                (double)all.n - (3 << 20));
    free(all.bytes);
    forget(&ran);
}

/* The time of a command begins at its first byte. */
static void is_held_to_the_timeout(void **state)
{
    static const struct script_step steps[] = {
        { CLEAVE_START, CLEAVE_OPEN, 0, 0 },
        { AT_ONCE, CLEAVE_WAKE_AT, 0, 0.4 },
        { CLEAVE_WAKE, CLEAVE_EXTEND, 0, 1e9 },
        { CLEAVE_DRAINED, CLEAVE_WAKE_AT, 0, 100 },
    };
    struct ran ran;

    (void)state;
    write_lines(path_a, 100);
    ran = run_script(on_hosts("multi",
                              (struct cleave_execution){
                                  .command = cat,
                                  .input = { .files = file_a, .count = 1 },
                                  .failures = { .timeout_s = 0.3, .strict = true } }),
                     steps, sizeof steps / sizeof *steps);
    assert_int_equal(ran.result->failed, 1);
    assert_int_equal(ran.result->lost, 0);
    assert_true(event_of(ran.trace, CLEAVE_DONE, 0).time_s >= 0.7);
    assert_int_equal(count_events(ran.trace, CLEAVE_STARTED, NULL), 1);
    forget(&ran);
}

/* Finished chunks are kept, with the hash of their input, on any machine. */
static void is_kept(void **state)
{
    struct text all;

    (void)state;
    write_lines(path_a, 3000);
    all = file_text(path_a);
    shares_input = true;
    for (dance_seed = 30; dance_seed < 32; dance_seed++) {
        uint64_t chunks = 0;

        for (int again = 0; again < 2; again++) {
            struct ran ran = execute_open(
                on_hosts("multi",
                         (struct cleave_execution){
                             .command = SH("head -c 9000"),
                             .input = { .files = file_a, .count = 1 },
                             .journal = { .path = path_b, .resume = again == 1 } }));

            assert_int_equal(ran.status, CLEAVE_OK);
            assert_int_equal(ran.result->resumed, again == 1 ? chunks : 0);
            if (again == 0)
                assert_int_equal(ran.result->input_bytes, all.n);
            chunks = ran.result->chunks;
            forget(&ran);
        }
        unlink(path_b);
    }
    shares_input = false;
    free(all.bytes);
}

/* Other machines do the chunks of a lost machine. */
static void bears_losses(void **state)
{
    struct text all;
    struct ran ran;

    (void)state;
    write_lines(path_a, 3000);
    all = file_text(path_a);
    unlink(path_b);
    setenv("FLAG", path_b, 1);
    dance_seed = 90;
    ran = run_open(
        on_hosts("multi", (struct cleave_execution){
                              .command = SH("head -c 500; test $CLEAVE_WORKER = w.2 && "
                                            "mkdir \"$FLAG\" 2>/dev/null && "
                                            "kill -9 $PPID; exec cat"),
                              .input = { .files = file_a, .count = 1 } }));
    expect_bytes(&ran, all.bytes, all.n);
    free(all.bytes);
    forget(&ran);
    rmdir(path_b);
}

static int test(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_every_byte),
        cmocka_unit_test(sends_what_belongs_to_it),
        cmocka_unit_test(takes_any_command),
        cmocka_unit_test(hosts_notify_the_policy_of_reading),
        cmocka_unit_test(takes_back_and_gives_again),
        cmocka_unit_test(sends_no_more_than_is_read),
        cmocka_unit_test(is_held_to_the_timeout),
        cmocka_unit_test(is_kept),
        cmocka_unit_test(bears_losses),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);

    cleave_platform_free(platform);
    return failed;
}

int main(int argc, char **argv)
{
    (void)argv;
    return argc > 1 ? serve() : run_all(test);
}
