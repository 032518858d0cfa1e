/* test_run_open.c -- chunks that stay open, in real runs. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "open_run_check.h"
#include "run/input/source.h"

/* --- everything at once ------------------------------------------------------------------- */

/* For every policy the output equals the input, in its order. */
static void keeps_every_byte(void **state)
{
    struct text all;
    double recalled = 0, extended = 0;

    (void)state;
    write_lines(path_a, 8000);
    all = file_text(path_a);
    for (dance_seed = 1; dance_seed <= 8; dance_seed++) {
        struct ran ran = run_open((struct cleave_execution){
            .command = cat, .input = { .files = file_a, .count = 1 } });

        expect_bytes(&ran, all.bytes, all.n);
        assert_true(count_events(ran.trace, CLEAVE_DRAINED, NULL) > 0);
        count_events(ran.trace, CLEAVE_EXTENDED, &extended);
        count_events(ran.trace, CLEAVE_RECALLED, &recalled);
        forget(&ran);
    }
    assert_true(extended > recalled);
    free(all.bytes);
}

/* Later input follows earlier input, for every kind of record: headers come once, mates
 * come along, and a file that lacks its final newline gets it. */
static void cuts_as_always(void **state)
{
    static const char *const with_mates[] = { "sh", "-c", "paste - /dev/fd/3", NULL };
    static const char *const tail[] = { "tail", "-n", "+2", NULL };
    static char rows[40000];
    size_t n = 0;
    struct ran ran;

    (void)state;
    dance_seed = 5;
    dance_grain = 300;
    n = (size_t)snprintf(rows, sizeof rows, "number,text,letter\n");
    for (int i = 0; n + 64 < sizeof rows; i++)
        n += (size_t)snprintf(rows + n, sizeof rows - n, "%d,\"a\n%d\",b\n", i, i);
    write_file(path_a, rows, n);
    ran = run_open((struct cleave_execution){
        .command = tail,
        .input = { .files = file_a, .count = 1, .split = "csv", .header = true } });
    /* Every chunk has lost its first line. */
    expect_bytes(&ran, strchr(rows, '\n') + 1,
                 n - (size_t)(strchr(rows, '\n') + 1 - rows));
    forget(&ran);

    rows[n - 1] = 'x'; /* no newline at the end of either file */
    write_file(path_a, rows, n);
    write_file(path_b, rows, n);
    ran = run_open((struct cleave_execution){ .command = cat,
                                              .input = { .files = both, .count = 2 } });
    assert_int_equal(ran.out.n, 2 * n + 1);
    assert_memory_equal(ran.out.bytes, rows, n);
    assert_int_equal(ran.out.bytes[n], '\n');
    assert_memory_equal(ran.out.bytes + n + 1, rows, n);
    forget(&ran);

    n = 0;
    for (int i = 0; i < 500; i++)
        n += (size_t)snprintf(rows + n, sizeof rows - n, "@r%d\nACGT\n+\nIIII\n", i);
    write_file(path_a, rows, n);
    n = 0;
    for (int i = 0; i < 500; i++)
        n += (size_t)snprintf(rows + n, sizeof rows - n, "@q%d\nACGGT\n+\nIIIII\n", i);
    write_file(path_b, rows, n);
    n = 0;
    for (int i = 0; i < 500; i++)
        n += (size_t)snprintf(rows + n, sizeof rows - n,
                              "@r%d\t@q%d\nACGT\tACGGT\n+\t+\nIIII\tIIIII\n", i, i);
    ran = run_open((struct cleave_execution){
        .command = with_mates,
        .input = { .files = file_a, .count = 1, .split = "fastq", .pairs = path_b } });
    expect_bytes(&ran, rows, n);
    forget(&ran);
    dance_grain = 3000;
}

/* --- commands of all kinds ---------------------------------------------------------------- */

struct command {
    const char *words;
    enum { ALL, SOME, NOTHING, FAILS } does; /* with its input */
};

static void takes_any_command(void **state)
{
    static const struct command commands[] = {
        { "sleep 0.1; exec cat", ALL },
        { "while IFS= read -r line; do echo \"$line\"; done", ALL },
        { "sort -s -k 9", ALL },
        { "head -c 10", SOME },
        { "exec 0<&-; sleep 0.05; echo x", SOME },
        { "sleep 0.02; echo x", SOME },
        { "exec 3<&0; (cat <&3 &)", ALL },
        { "true", NOTHING },
        { "exit 3", FAILS },
        { "cat; exit 3", FAILS },
        { "kill $$", FAILS },
    };
    struct text all;

    (void)state;
    write_lines(path_a, 500);
    all = file_text(path_a);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        const char *const words[] = { "sh", "-c", commands[i].words, NULL };
        struct ran ran;

        dance_seed = 20 + i;
        ran =
            run_open((struct cleave_execution){ .command = words,
                                                .input = { .files = file_a, .count = 1 },
                                                .failures.halt = CLEAVE_HALT_NEVER });
        assert_int_equal(ran.status, CLEAVE_OK); /* failures are counted, not an error */
        assert_int_equal(ran.result->failed > 0, commands[i].does == FAILS);
        assert_int_equal(ran.result->failed_bytes, commands[i].does == FAILS ? all.n : 0);
        assert_int_equal(ran.result->left_bytes, 0);
        if (commands[i].does == ALL)
            expect_bytes(&ran, all.bytes, all.n);
        else
            assert_int_equal(ran.out.n > 0, commands[i].does == SOME);
        forget(&ran);
    }
    free(all.bytes);
}

/* --- one order after the other ------------------------------------------------------------ */

/* Where a command reads is decided with its first byte; those that get none leave no trace. */
static void binds_late(void **state)
{
    static const struct script_step steps[] = {
        { CLEAVE_START, CLEAVE_OPEN, 0, 0 }, { AT_ONCE, CLEAVE_OPEN, 1, 0 },
        { AT_ONCE, CLEAVE_OPEN, 2, 0 },      { AT_ONCE, CLEAVE_EXTEND, 1, 100 },
        { AT_ONCE, CLEAVE_EXTEND, 0, 1e9 },  { CLEAVE_EXTENDED, CLEAVE_CLOSE, 0, 0 },
        { CLEAVE_DONE, CLEAVE_CLOSE, 1, 0 }, { AT_ONCE, CLEAVE_CLOSE, 2, 0 },
    };
    struct text all;
    struct ran ran;

    (void)state;
    write_lines(path_a, 1000);
    all = file_text(path_a);
    ran = RUN_SCRIPT(.command = SH("cat; echo end"),
                     .input = { .files = file_a, .count = 1 });
    assert_int_equal(ran.status, CLEAVE_OK);
    assert_int_equal(ran.result->chunks, 2);
    assert_int_equal(ran.out.n, all.n + 8);
    assert_true(event_of(ran.trace, CLEAVE_EXTENDED, 1).units < 120);
    assert_int_equal(event_of(ran.trace, CLEAVE_DONE, 0).units,
                     event_of(ran.trace, CLEAVE_EXTENDED, 0).units);
    assert_int_equal(event_of(ran.trace, CLEAVE_DONE, 2).units, 0);
    assert_memory_equal(ran.out.bytes + (size_t)ran.result->workers[1].units, "end\n", 4);
    assert_memory_equal(ran.out.bytes, all.bytes, (size_t)ran.result->workers[1].units);
    free(all.bytes);
    forget(&ran);
}

/* Events report the first read and the end of reading. */
static void policy_is_notified_of_reading(void **state)
{
    static const struct script_step steps[] = {
        { CLEAVE_START, CLEAVE_OPEN, 0, 1e9 },
        { CLEAVE_STARTED, CLEAVE_QUERY, 1, 0 },
        { CLEAVE_DRAINED, CLEAVE_QUERY, 0, 0 },
        { AT_ONCE, CLEAVE_CLOSE, 0, 0 },
    };
    const int sizes[] = { 10, 1000, 100000 }; /* less than a page, and more than a pipe */

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct cleave_event started, drained, done;
        struct text all;
        struct ran ran;

        write_lines(path_a, sizes[i]);
        all = file_text(path_a);
        ran = RUN_SCRIPT(.command = SH("sleep 0.1; cat; sleep 0.1"),
                         .input = { .files = file_a, .count = 1 });
        expect_bytes(&ran, all.bytes, all.n);
        started = event_of(ran.trace, CLEAVE_STARTED, 0);
        drained = event_of(ran.trace, CLEAVE_DRAINED, 0);
        done = event_of(ran.trace, CLEAVE_DONE, 0);
        assert_true(started.time_s >= started.start_s + 0.1);
        assert_true(drained.time_s >= started.time_s);
        assert_true(done.read_s >= drained.time_s && done.time_s >= done.read_s + 0.1);
        assert_int_equal(event_of(ran.trace, CLEAVE_PROGRESS, 0).units, all.n);
        assert_int_equal(event_of(ran.trace, CLEAVE_PROGRESS, 1).units, 0);
        free(all.bytes);
        forget(&ran);
    }
}

/* Little is in the pipe of a command that has not read: the rest is taken back, and given to
 * it again, with the end of a file that lacks it. */
static void takes_back_and_gives_again(void **state)
{
    static const struct script_step steps[] = {
        { CLEAVE_START, CLEAVE_OPEN, 0, 1e9 },
        { AT_ONCE, CLEAVE_RECALL, 0, 1e9 },
        { CLEAVE_RECALLED, CLEAVE_EXTEND, 0, 10 },
        { CLEAVE_EXTENDED, CLEAVE_EXTEND, 0, 1e9 },
        { AT_ONCE, CLEAVE_CLOSE, 0, 0 },
        { CLEAVE_DONE, CLEAVE_OPEN, 1, 1e9 },
        { CLEAVE_DRAINED, CLEAVE_EXTEND, 1, 1 },
        { AT_ONCE, CLEAVE_CLOSE, 1, 0 },
    };
    struct text all;
    struct ran ran;

    (void)state;
    write_lines(path_a, 10000);
    all = file_text(path_a);
    write_file(path_a, all.bytes, all.n - 1);
    write_file(path_b, all.bytes, all.n);
    ran = RUN_SCRIPT(.command = SH("sleep 0.1; cat"),
                     .input = { .files = both, .count = 2 });
    assert_int_equal(ran.status, CLEAVE_OK);
    assert_int_equal(ran.result->chunks, 2);
    assert_int_equal(ran.out.n, 2 * all.n);
    assert_memory_equal(ran.out.bytes, all.bytes, all.n);
    assert_memory_equal(ran.out.bytes + all.n, all.bytes, all.n);
    assert_true(event_of(ran.trace, CLEAVE_RECALLED, 0).units + 70000 > (double)all.n);
    assert_int_equal(event_of(ran.trace, CLEAVE_EXTENDED, 1).units, 0);
    free(all.bytes);
    forget(&ran);
}

/* A chunk that is never closed does not block the run. */
static void names_who_leaves_them_open(void **state)
{
    static const struct script_step blank[] = { { CLEAVE_START, CLEAVE_OPEN, 0, 0 } },
                                    dry[] = { { CLEAVE_START, CLEAVE_OPEN, 0, 1e9 } };

    (void)state;
    write_lines(path_a, 10);
    for (int i = 0; i < 2; i++) {
        struct ran ran = run_script((struct cleave_execution){ .command = cat,
                                                               .input = { .files = file_a,
                                                                          .count = 1 } },
                                    i == 0 ? blank : dry, 1);

        assert_int_equal(ran.status, CLEAVE_EPOLICY);
        assert_string_equal(
            ran.err.text,
            "policy 'script' neither closed its open chunks nor gave them more");
        forget(&ran);
    }
}

/* --- failures ----------------------------------------------------------------------------- */

/* The given input is repeated as a whole; a command is not late before it has input. */
static void tries_again(void **state)
{
    static const struct script_step steps[] = {
        { CLEAVE_START, CLEAVE_OPEN, 0, 0 },
        { AT_ONCE, CLEAVE_WAKE_AT, 0, 0.3 },
        { CLEAVE_WAKE, CLEAVE_EXTEND, 0, 1000 },
        { CLEAVE_DRAINED, CLEAVE_EXTEND, 0, 1000 },
        { AT_ONCE, CLEAVE_CLOSE, 0, 0 },
        { CLEAVE_DONE, CLEAVE_OPEN, 1, 1e9 },
        { AT_ONCE, CLEAVE_CLOSE, 1, 0 },
    };
    struct text all;
    struct ran ran;

    (void)state;
    write_lines(path_a, 200);
    all = file_text(path_a);
    unlink(path_b);
    setenv("FLAG", path_b, 1);
    ran =
        RUN_SCRIPT(.command = SH(
                       "test -e \"$FLAG\" && exec cat; head -c 1500 >\"$FLAG\"; exit 1"),
                   .input = { .files = file_a, .count = 1 },
                   .failures = { .retries = 1, .timeout_s = 0.25 });
    expect_bytes(&ran, all.bytes, all.n);
    assert_int_equal(ran.result->retries, 1);
    assert_int_equal(ran.result->chunks, 2);
    assert_true(event_of(ran.trace, CLEAVE_DONE, 0).units >= 2000);
    free(all.bytes);
    forget(&ran);
}

/* A failed chunk is tried by a worker whose open chunk waits for an order, which comes
 * only after it. */
static void policy_asks_waiting_workers(void **state)
{
    static const struct script_step steps[] = {
        { CLEAVE_START, CLEAVE_OPEN, 1, 0 },    { AT_ONCE, CLEAVE_OPEN, 2, 0 },
        { AT_ONCE, CLEAVE_OPEN, 0, 100 },       { AT_ONCE, CLEAVE_CLOSE, 0, 0 },
        { CLEAVE_DONE, CLEAVE_EXTEND, 1, 500 }, { CLEAVE_DRAINED, CLEAVE_CLOSE, 1, 0 },
        { AT_ONCE, CLEAVE_EXTEND, 2, 1e9 },     { AT_ONCE, CLEAVE_CLOSE, 2, 0 },
    };
    struct text all;
    struct ran ran;

    (void)state;
    write_lines(path_a, 1000);
    all = file_text(path_a);
    ran = RUN_SCRIPT(.command = SH("cat; test $CLEAVE_WORKER != w0"),
                     .input = { .files = file_a, .count = 1 });
    expect_bytes(&ran, all.bytes, all.n);
    assert_int_equal(ran.result->failed, 0);
    assert_int_equal(ran.result->retries, 1);
    forget(&ran);
    free(all.bytes);
}

/* A run that halts, or is stopped, does not wait for chunks that are open. */
static void ends_early(void **state)
{
    static const struct script_step steps[] = {
        { CLEAVE_START, CLEAVE_OPEN, 0, 100 },  { AT_ONCE, CLEAVE_OPEN, 1, 0 },
        { AT_ONCE, CLEAVE_OPEN, 2, 100 },       { AT_ONCE, CLEAVE_WAKE_AT, 0, 60 },
        { AT_ONCE, CLEAVE_SEND, 0, 100 },       { CLEAVE_DRAINED, CLEAVE_QUERY, 0, 0 },
        { CLEAVE_DRAINED, CLEAVE_CLOSE, 0, 0 },
    };
    static const enum cleave_halt halts[] = { CLEAVE_HALT_SOON, CLEAVE_HALT_NOW };

    (void)state;
    write_lines(path_a, 1000);
    for (size_t i = 0; i < 2; i++) {
        struct ran ran =
            RUN_SCRIPT(.command = SH("cat; test $CLEAVE_WORKER != w0"),
                       .input = { .files = file_a, .count = 1 },
                       .failures = { .halt = halts[i], .halt_fails = 1, .strict = true });

        assert_int_equal(ran.status, CLEAVE_EENGINE);
        assert_string_equal(ran.err.text, "halted after 1 failed chunk");
        assert_true(ran.result->halted);
        forget(&ran);
    }
}

static void is_stopped(void **state)
{
    static const struct script_step steps[] = {
        { CLEAVE_START, CLEAVE_OPEN, 0, 100 },
        { AT_ONCE, CLEAVE_OPEN, 1, 0 },
        { AT_ONCE, CLEAVE_WAKE_AT, 0, 60 },
    };
    char command[64];
    struct ran ran;

    (void)state;
    write_lines(path_a, 1000);
    snprintf(command, sizeof command, "head -c 100; kill -TERM %d; exec cat",
             (int)getpid());
    ran = RUN_SCRIPT(.command = SH(command), .input = { .files = file_a, .count = 1 },
                     .handle_signals = true);
    assert_int_equal(ran.status, CLEAVE_ESTOPPED);
    assert_int_equal(ran.result->chunks, 0);
    forget(&ran);
}

/* Finished chunks are known to a later run, and results are reduced, as with any
 * chunk. */
static void is_kept_and_reduced(void **state)
{
    char journal[80];
    struct text all;

    (void)state;
    write_lines(path_a, 3000);
    all = file_text(path_a);
    unlink(path_b);
    setenv("FLAG", path_b, 1);
    snprintf(journal, sizeof journal, "%s/journal", dir);
    for (int i = 0; i < 3; i++) {
        struct ran ran;

        dance_seed = 60;
        if (i == 1)
            write_file(path_b, "", 0); /* from now on the command fails */
        if (i == 2)
            unlink(path_b);
        ran = execute_open((struct cleave_execution){
            .command = SH("test ! -e \"$FLAG\" && cat"),
            .input = { .files = file_a, .count = 1 },
            .reduce.command = i == 2 ? "cat" : NULL,
            .journal = { .path = i < 2 ? journal : NULL, .resume = i == 1 } });
        expect_bytes(&ran, all.bytes, all.n);
        assert_int_equal(ran.result->resumed > 3, i == 1);
        assert_int_equal(ran.result->failed, 0);
        assert_int_equal(ran.result->folds > 0, i == 2);
        forget(&ran);
    }
    free(all.bytes);
    unlink(journal);
}

/* --- streams ------------------------------------------------------------------------------ */

/* A stream that a shell writes, and a path to it. */
static FILE *begin_stream(const char *command, char path[32])
{
    FILE *stream = popen(command, "r"); // NOLINT(cert-env33-c): it is written above

    assert_non_null(stream);
    snprintf(path, 32, "/dev/fd/%d", fileno(stream));
    return stream;
}

/* More comes while commands wait for it. */
static void waits_for_streams(void **state)
{
    struct text all;

    (void)state;
    write_lines(path_a, 6000);
    all = file_text(path_a);
    for (dance_seed = 40; dance_seed < 43; dance_seed++) {
        char path[32], command[256];
        const char *const files[] = { path };
        struct ran ran;
        FILE *stream;

        snprintf(command, sizeof command,
                 "head -n 4000 '%s'; sleep 0.1; tail -n 2000 '%s'", path_a, path_a);
        stream = begin_stream(command, path);
        ran = run_open((struct cleave_execution){
            .command = cat, .input = { .files = files, .count = 1 } });
        expect_bytes(&ran, all.bytes, all.n);
        forget(&ran);
        pclose(stream);
    }
    free(all.bytes);
}

/* Arrived input is given out: the writer of the stream may wait for its output. */
static void policy_gives_arrived_input(void **state)
{
    static const struct script_step steps[] = {
        { CLEAVE_START, CLEAVE_OPEN, 0, 0 },
        { AT_ONCE, CLEAVE_EXTEND, 0, 1e6 },
        { CLEAVE_DRAINED, CLEAVE_EXTEND, 0, 1e6 },
        { AT_ONCE, CLEAVE_CLOSE, 0, 0 },
    };
    char path[32], command[256];
    const char *const files[] = { path };
    FILE *stream;
    struct ran ran;

    (void)state;
    unlink(path_b);
    setenv("FLAG", path_b, 1);
    snprintf(command, sizeof command,
             "echo a; for i in $(seq 500); do test -e '%s' && break; sleep 0.01; done; "
             "echo b",
             path_b);
    stream = begin_stream(command, path);
    ran = RUN_SCRIPT(.command = SH("read x; : >\"$FLAG\"; echo $x; cat"),
                     .input = { .files = files, .count = 1 });
    expect_bytes(&ran, "a\nb\n", 4);
    assert_int_equal(ran.result->chunks, 1);
    assert_int_equal(count_events(ran.trace, CLEAVE_EXTENDED, NULL), 2);
    forget(&ran);
    pclose(stream);
}

/* Wants all there is for a worker, until it gets no more. */
static void hungry_decide(void *state, const struct cleave_view *view,
                          const struct cleave_event *event, struct cleave_orders *orders)
{
    (void)state;
    if (event->kind == CLEAVE_START)
        assert_true(view->hold > 0);
    if (event->kind == CLEAVE_START ||
        (event->kind == CLEAVE_DONE && view->units_left > 0))
        cleave_order_open(orders, 0, 0);
    else if (event->kind == CLEAVE_SENT || event->kind == CLEAVE_DRAINED)
        cleave_order_extend(orders, 0, 1e9);
    else if (event->kind == CLEAVE_EXTENDED && event->units <= 0)
        cleave_order_close(orders, 0);
}

/* A chunk that has as much of a stream as may be kept gets no more. */
static void keeps_within_the_hold(void **state)
{
    static const struct cleave_policy hungry = { .name = "hungry",
                                                 .decide = hungry_decide,
                                                 .takes_streams = true,
                                                 .gets_losses = true,
                                                 .opens_chunks = true };
    char path[32];
    const char *const files[] = { path };
    FILE *stream = begin_stream("yes 'one of the lines' | head -n 6000000", path);
    uint64_t lines = 0;
    struct ran ran =
        run_open((struct cleave_execution){ .command = SH("wc -l"),
                                            .input = { .files = files, .count = 1 },
                                            .policy.own = &hungry });

    (void)state;
    assert_int_equal(ran.status, CLEAVE_OK);
    assert_true(ran.result->chunks >= 2);
    for (size_t i = 0; i < cleave_trace_count(ran.trace); i++) {
        const struct cleave_entry *entry = cleave_trace_at(ran.trace, i);

        if (!entry->is_order && entry->as.event.kind == CLEAVE_DONE)
            assert_true(entry->as.event.units <= CV_SOURCE_HOLD + (8 << 20));
    }
    ran.out.bytes[ran.out.n] = '\0';
    for (char *at = ran.out.bytes; *at != '\0';) {
        lines += strtoull(at, &at, 10);
        at += *at == '\n';
    }
    assert_int_equal(lines, 6000000);
    forget(&ran);
    pclose(stream);
}

static int test(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_every_byte),
        cmocka_unit_test(cuts_as_always),
        cmocka_unit_test(takes_any_command),
        cmocka_unit_test(binds_late),
        cmocka_unit_test(policy_is_notified_of_reading),
        cmocka_unit_test(takes_back_and_gives_again),
        cmocka_unit_test(names_who_leaves_them_open),
        cmocka_unit_test(tries_again),
        cmocka_unit_test(policy_asks_waiting_workers),
        cmocka_unit_test(ends_early),
        cmocka_unit_test(is_stopped),
        cmocka_unit_test(is_kept_and_reduced),
        cmocka_unit_test(waits_for_streams),
        cmocka_unit_test(policy_gives_arrived_input),
        cmocka_unit_test(keeps_within_the_hold),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
    return run_all(test);
}
