/* test_run_early.c -- lines of the output in front are shown, and the chunk can be done again.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "run/output/ordered_output_internal.h"
#include "run/common/poller.h"
#include "run/common/process.h"
#include "gather_check.h"

enum { STEP = 10000 }; /* less than comes at a time */

static struct cv_ordered_output *make_gather(int sink, uint64_t memory)
{
    return new_gather((struct cv_ordered_output_options){
        .sink = sink, .memory = memory, .directory = "/tmp", .early = true });
}

/* The output of what begins there, by a command that has run for a while. */
static struct cv_chunk_output *offer(struct cv_ordered_output *outputs, uint64_t begin)
{
    struct cv_chunk_output *store = open_store(outputs);

    cv_ordered_output_offer(store, begin, NULL, NULL);
    store->due_s = 0;
    return store;
}

static void say(struct cv_chunk_output *store, const char *bytes, size_t length)
{
    must(cv_chunk_output_write(store, bytes, length, &err));
    cv_ordered_output_pass_on(store);
}

static void assert_nothing_kept(const struct cv_ordered_output *outputs)
{
    for (const struct cv_spill_file *spill = outputs->spills; spill != NULL;
         spill = spill->next) {
        assert_int_equal(spill->users, 0);
        assert_false(spill->taken);
    }
}

/* --- what is shown ------------------------------------------------------------------------- */

static void whole_lines_of_the_one_in_front(void **state)
{
    const int sink = make_file("", 0);
    struct cv_ordered_output *outputs = make_gather(sink, 1 << 20);
    struct cv_chunk_output *second = offer(outputs, 10), *first = offer(outputs, 0);

    (void)state;
    say(second, "b1\nb2", 5);
    write_by(outputs, STEP);
    assert_int_equal(cv_ordered_output_usage(outputs).written, 0);
    say(first, "a1\na", 4);
    write_by(outputs, STEP);
    assert_file(sink, 0, 3, "a1\n");
    assert_int_equal(cv_ordered_output_usage(outputs).written, 3);
    assert_int_equal(cv_chunk_output_passed(first), 3);
    assert_int_equal(cv_chunk_output_came(first), 4); /* it is kept */
    assert_int_equal(cv_chunk_output_size(first), 4);
    assert_false(cv_ordered_output_pending(outputs));
    say(first, "2\na3", 4);
    write_by(outputs, STEP);
    assert_int_equal(cv_ordered_output_usage(outputs).written, 6);
    /* Its end is written unchanged; the output of the next by that time follows at
     * once. */
    must(cv_ordered_output_finish(outputs, first, 0, 10, &err));
    assert_int_equal(cv_chunk_output_passed(first), 6);
    assert_int_equal(cv_chunk_output_came(first), 8);
    write_by(outputs, STEP);
    assert_file(sink, 0, 11, "a1\na2\na3b1\n");
    must(cv_ordered_output_finish(outputs, second, 10, 20, &err));
    write_by(outputs, STEP);
    assert_file(sink, 0, 13, "a1\na2\na3b1\nb2");
    assert_int_equal(cv_ordered_output_usage(outputs).written, 13);
    assert_nothing_kept(outputs);
    cv_ordered_output_free(outputs);
    close(sink);
}

/* The first byte ends a line; at most the requested bytes are written at a time. */
static void byte_by_byte(void **state)
{
    const int sink = make_file("", 0);
    struct cv_ordered_output *outputs = make_gather(sink, 1 << 20);
    struct cv_chunk_output *store = offer(outputs, 0);
    enum cv_ordered_output_state pumped;

    (void)state;
    say(store, "abcdefg", 7);
    write_by(outputs, STEP);
    assert_int_equal(cv_ordered_output_usage(outputs).written, 0);
    say(store, "\n", 1);
    must(cv_ordered_output_pump(outputs, 3, &pumped, &err));
    assert_int_equal(cv_ordered_output_usage(outputs).written, 3);
    assert_int_equal(pumped, CV_GATHER_BUSY);
    write_by(outputs, STEP);
    assert_file(sink, 0, 8, "abcdefg\n");
    must(cv_ordered_output_finish(outputs, store, 0, 1, &err));
    write_by(outputs, STEP);
    assert_nothing_kept(outputs);
    cv_ordered_output_free(outputs);
    close(sink);
}

/* One line, and a long pause: it is shown after the moment, without more output. */
static void not_in_the_first_moment(void **state)
{
    struct cv_pipe pipe;
    struct cv_poller *poller = NULL;
    struct cv_ordered_output *outputs;
    struct cv_chunk_output *store = NULL;
    double before_s;
    char back[8];

    (void)state;
    must(cv_pipe_open(&pipe, &err));
    must(cv_poller_new(&poller, &err));
    outputs = make_gather(pipe.write, 1 << 20);
    must(cv_ordered_output_attach(outputs, poller, &err));
    must(cv_chunk_output_open(outputs, &store, &err));
    before_s = cv_clock_s();
    cv_ordered_output_offer(store, 0, NULL, NULL);
    say(store, "one\nt", 5);
    while (cv_ordered_output_usage(outputs).written == 0)
        must(cv_poller_wait(poller, -1, &err));
    assert_true(cv_clock_s() - before_s >= 0.1);
    assert_int_equal(read(pipe.read, back, sizeof back), 4);
    assert_memory_equal(back, "one\n", 4);
    cv_ordered_output_free(outputs);
    cv_poller_free(poller);
    cv_pipe_close(&pipe);
}

/* Lines longer than one scan, partly in memory and partly on disk. */
static void wherever_it_lies(void **state)
{
    static const size_t lines[] = { 1, 2, 700, 16384, 16385, 33000, 90000, 200000 };
    static char text[700000];

    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        for (uint64_t memory = 1000; memory <= 1 << 20; memory = memory * 9 + 7) {
            const int sink = make_file("", 0);
            struct cv_ordered_output *outputs = make_gather(sink, memory);
            struct cv_chunk_output *store = offer(outputs, 0);

            for (size_t at = 0; at < sizeof text; at++)
                text[at] = at % lines[i] == lines[i] - 1 ? '\n' : (char)('a' + at % 23);
            for (size_t at = 0; at < sizeof text; at += 50000) {
                const size_t there = at + 50000;

                say(store, text + at, 50000);
                write_by(outputs, STEP);
                assert_int_equal(cv_ordered_output_usage(outputs).written,
                                 there - there % lines[i]);
            }
            must(cv_ordered_output_finish(outputs, store, 0, 1, &err));
            write_by(outputs, STEP);
            assert_file(sink, 0, sizeof text, text);
            assert_int_equal(cv_ordered_output_usage(outputs).written, sizeof text);
            assert_nothing_kept(outputs);
            cv_ordered_output_free(outputs);
            close(sink);
        }
}

/* --- done again ---------------------------------------------------------------------------- */

/* The first of two outputs has failed after "a\nb\n" of it was shown; repeated output. */
struct again {
    int sink;
    struct cv_ordered_output *outputs;
    struct cv_chunk_output *store, *next;
};

static void fail_after_lines(struct again *again, const char *bytes)
{
    struct cv_chunk_output *failed;

    again->sink = make_file("", 0);
    again->outputs = make_gather(again->sink, 1 << 20);
    failed = offer(again->outputs, 0);
    again->next = offer(again->outputs, 5);
    say(failed, "a\nb\nc", 5);
    write_by(again->outputs, STEP);
    cv_streamed_output_remember(failed);
    again->store = offer(again->outputs, 0);
    say(again->store, bytes, strlen(bytes));
    say(again->next, "next\n", 5);
    write_by(again->outputs, STEP); /* output that must be compared is not shown before */
    assert_int_equal(cv_ordered_output_usage(again->outputs).written, 4);
}

static void end(struct again *again, const char *expected)
{
    write_by(again->outputs, STEP);
    assert_file(again->sink, 0, strlen(expected), expected);
    assert_int_equal(cv_ordered_output_usage(again->outputs).written, strlen(expected));
    assert_null(again->outputs->said);
    must(cv_ordered_output_finish(again->outputs, again->next, 5, 6, &err));
    write_by(again->outputs, STEP);
    assert_nothing_kept(again->outputs);
    cv_ordered_output_free(again->outputs);
    close(again->sink);
}

static void written_lines_are_not_written_again(void **state)
{
    struct again again;

    (void)state;
    fail_after_lines(&again, "a\nb\nd\ne");
    assert_true(cv_ordered_output_repeats(again.next, 5)); /* that is of another */
    cv_streamed_output_forget(again.outputs, 5);           /* and so is that     */
    assert_non_null(again.outputs->said);
    assert_true(cv_ordered_output_repeats(again.store, 0));
    assert_int_equal(cv_chunk_output_passed(again.store), 4);
    assert_int_equal(cv_chunk_output_came(again.store), 7);
    must(cv_ordered_output_finish(again.outputs, again.store, 0, 5, &err));
    end(&again, "a\nb\nd\nenext\n");
}

static void a_different_output_is_reported(void **state)
{
    static const char *const others[] = { "a\nB\nc\n", "a\nb", "a\n", "", "b\na\nb\n" };

    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct again again;

        fail_after_lines(&again, others[i]);
        assert_false(cv_ordered_output_repeats(again.store, 0));
        cv_chunk_output_drop(again.store);
        must(cv_ordered_output_skip(again.outputs, 0, 5, &err));
        end(&again, "a\nb\nnext\n");
    }
}

/* More was shown than is compared at a time. */
static void every_byte_is_compared(void **state)
{
    enum { BYTES = 50000 };
    static char text[BYTES];

    (void)state;
    for (size_t i = 0; i < BYTES; i++)
        text[i] = i % 100 == 99 ? '\n' : (char)('a' + i / 1000 % 20);
    for (size_t other = BYTES - 2; other > 0; other /= 3) {
        const int sink = make_file("", 0);
        struct cv_ordered_output *outputs = make_gather(sink, 1 << 20);
        struct cv_chunk_output *store = offer(outputs, 0);

        say(store, text, BYTES);
        write_by(outputs, STEP);
        cv_streamed_output_remember(store);
        store = offer(outputs, 0);
        text[other]++;
        say(store, text, BYTES);
        assert_false(cv_ordered_output_repeats(store, 0));
        cv_chunk_output_drop(store);
        text[other]--;
        store = offer(outputs, 0);
        say(store, text, BYTES);
        assert_true(cv_ordered_output_repeats(store, 0));
        must(cv_ordered_output_finish(outputs, store, 0, 1, &err));
        write_by(outputs, STEP);
        assert_int_equal(cv_ordered_output_usage(outputs).written, BYTES);
        assert_nothing_kept(outputs);
        cv_ordered_output_free(outputs);
        close(sink);
    }
}

/* It failed for good: its complete lines stay, and the next output begins a line. */
static void a_failed_chunk_leaves_its_lines(void **state)
{
    const int sink = make_file("", 0);
    struct cv_ordered_output *outputs = make_gather(sink, 1 << 20);
    struct cv_chunk_output *failed = offer(outputs, 0);

    (void)state;
    say(failed, "a\n", 2);
    write_by(outputs, STEP);
    say(failed, "b\nc", 3);
    cv_chunk_output_keep_lines(failed);
    must(cv_ordered_output_finish(outputs, failed, 0, 5, &err));
    write_by(outputs, STEP);
    assert_int_equal(cv_ordered_output_usage(outputs).written, 4);
    assert_file(sink, 0, 4, "a\nb\n");
    assert_nothing_kept(outputs);
    cv_ordered_output_free(outputs);
    close(sink);
}

/* Its bytes may still be in the pipe. */
static void dropped_output_counts_as_read(void **state)
{
    enum { BYTES = 20000 };
    struct cv_pipe pipe;
    struct cv_ordered_output *outputs;
    struct cv_chunk_output *store;
    static char text[BYTES], back[BYTES];

    (void)state;
    memset(text, 'x', sizeof text);
    text[BYTES - 1] = '\n';
    must(cv_pipe_open(&pipe, &err));
    outputs = make_gather(pipe.write, 1 << 20);
    store = offer(outputs, 0); /* so that the next one begins within a page */
    say(store, "before\n", 7);
    must(cv_ordered_output_finish(outputs, store, 0, 1, &err));
    write_by(outputs, STEP);
    assert_int_equal(read(pipe.read, back, 7), 7);
    store = offer(outputs, 1);
    say(store, text, sizeof text);
    write_by(outputs, STEP);
    cv_chunk_output_drop(store);
    store = offer(outputs, 1);
    memset(back, 'y', sizeof back);
    say(store, back, sizeof back);
    for (size_t done = 0; done < BYTES;)
        done += (size_t)read(pipe.read, back + done, sizeof back - done);
    assert_memory_equal(back, text, sizeof text);
    cv_ordered_output_free(outputs);
    cv_pipe_close(&pipe);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_lines_of_the_one_in_front),
        cmocka_unit_test(byte_by_byte),
        cmocka_unit_test(not_in_the_first_moment),
        cmocka_unit_test(wherever_it_lies),
        cmocka_unit_test(written_lines_are_not_written_again),
        cmocka_unit_test(a_different_output_is_reported),
        cmocka_unit_test(every_byte_is_compared),
        cmocka_unit_test(a_failed_chunk_leaves_its_lines),
        cmocka_unit_test(dropped_output_counts_as_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
