/* test_run_pass.c -- lines of the output in front are written as they come.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "run/output/ordered_output_internal.h"
#include "run/common/poller.h"
#include "run/common/process.h"
#include "gather_check.h"

/* A gather on a file or the end of a pipe. */
static struct cv_ordered_output *make_gather(int sink, uint64_t memory)
{
    return new_gather((struct cv_ordered_output_options){
        .sink = sink, .memory = memory, .directory = "/tmp", .lines = true });
}

/* Newest output of a command. */
static void say(struct cv_chunk_output *store, const char *bytes, size_t length)
{
    enum cv_chunk_output_state state;
    struct cv_pipe pipe;

    must(cv_pipe_open(&pipe, &err));
    while (length > 0) {
        const size_t some = length < 60000 ? length : 60000;

        assert_int_equal(write(pipe.write, bytes, some), some);
        must(cv_chunk_output_pump(store, pipe.read, UINT64_MAX, &state, &err));
        cv_ordered_output_pass_on(store);
        assert_int_equal(state, CV_STORE_EMPTY);
        bytes += some;
        length -= some;
    }
    cv_close(&pipe.write);
    must(cv_chunk_output_pump(store, pipe.read, UINT64_MAX, &state, &err));
    assert_int_equal(state, CV_STORE_END);
    cv_pipe_close(&pipe);
}

static void whole_lines_of_the_one_in_front(void **state)
{
    const int sink = make_file("", 0);
    struct cv_ordered_output *outputs = make_gather(sink, 1 << 20);
    struct cv_chunk_output *first = open_store(outputs), *second = open_store(outputs);

    (void)state;
    cv_ordered_output_offer(second, 10, NULL, NULL);
    cv_ordered_output_offer(first, 0, NULL, NULL);
    say(second, "b1\nb2", 5);
    say(first, "a1\na", 4);
    write_all(outputs);
    assert_int_equal(cv_ordered_output_usage(outputs).written, 3);
    assert_int_equal(cv_chunk_output_passed(first), 3);
    assert_int_equal(cv_chunk_output_came(first), 4);
    assert_int_equal(cv_chunk_output_passed(second), 0);
    assert_false(cv_ordered_output_pending(outputs));
    say(first, "2\na3", 4);
    write_all(outputs);
    assert_int_equal(cv_ordered_output_usage(outputs).written, 6);
    /* Its end is written unchanged; the output of the next by that time follows at
     * once. */
    must(cv_ordered_output_finish(outputs, first, 0, 10, &err));
    write_all(outputs);
    assert_int_equal(outputs->position, 10);
    assert_int_equal(cv_chunk_output_passed(second), 3);
    assert_file(sink, 0, 11, "a1\na2\na3b1\n");
    say(second, "\n", 1);
    must(cv_ordered_output_finish(outputs, second, 10, 20, &err));
    write_all(outputs);
    assert_file(sink, 0, 14, "a1\na2\na3b1\nb2\n");
    assert_int_equal(outputs->memory, 0);
    cv_ordered_output_free(outputs);
    close(sink);
}

/* Nothing of it was written: another may come in its place, or nothing. */
static void dropping_makes_room(void **state)
{
    const int sink = make_file("", 0);
    struct cv_ordered_output *outputs = make_gather(sink, 1 << 20);
    struct cv_chunk_output *first = open_store(outputs), *second = open_store(outputs);

    (void)state;
    cv_ordered_output_offer(first, 0, NULL, NULL);
    cv_ordered_output_offer(second, 5, NULL, NULL);
    say(first, "half", 4);
    write_all(outputs);
    assert_ptr_equal(outputs->writing, first);
    cv_chunk_output_drop(first);
    assert_null(outputs->writing);
    first = open_store(outputs);
    cv_ordered_output_offer(first, 0, NULL, NULL);
    say(first, "again\nx", 7);
    write_all(outputs);
    cv_chunk_output_drop(first);
    cv_chunk_output_drop(second);
    second = open_store(outputs);
    cv_ordered_output_offer(second, 5, NULL, NULL);
    say(second, "next\n", 5);
    write_all(outputs);
    assert_int_equal(cv_chunk_output_passed(second), 0);
    must(cv_ordered_output_skip(outputs, 0, 5, &err));
    write_all(outputs);
    assert_int_equal(cv_chunk_output_passed(second), 5);
    assert_file(sink, 0, 11, "again\nnext\n");
    cv_ordered_output_free(outputs);
    close(sink);
}

/* Output may be endless: read bytes take no room, and disk space is returned. */
static void written_memory_is_given_back(void **state)
{
    enum { LIMIT = 100000, LINES = 200000 };
    const int sink = make_file("", 0);
    struct cv_ordered_output *outputs = make_gather(sink, LIMIT);
    struct cv_chunk_output *first = open_store(outputs);
    static char text[4 * LINES];

    (void)state;
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = i % 2 == 1 ? '\n' : i % 4 == 0 ? 'a' : 'b';
    cv_ordered_output_offer(first, 0, NULL, NULL);
    for (int i = 0; i < 3; i++) {
        say(first, text, sizeof text - 1);
        assert_true(outputs->disk > 0); /* no write happened since */
        assert_true(outputs->memory <= LIMIT);
        write_all(outputs);
        assert_int_equal(first->nextents, 0);
        assert_int_equal(cv_chunk_output_size(first), 1);
        say(first, "\n", 1);
    }
    write_all(outputs);
    for (int i = 0; i < 2; i++) { /* nothing of it is left */
        say(first, text, sizeof text);
        assert_true(outputs->disk > 0);
        write_all(outputs);
        assert_int_equal(cv_chunk_output_size(first), 0);
    }
    for (size_t i = 0; i < 10; i++) {
        say(first, text, 60000);
        write_all(outputs);
        assert_int_equal(first->nextents, 0);
    }
    must(cv_ordered_output_finish(outputs, first, 0, 1, &err));
    write_all(outputs);
    assert_int_equal(cv_ordered_output_usage(outputs).written, 5 * sizeof text + 600000);
    assert_file(sink, 5 * sizeof text - 4, 5 * sizeof text, "a\nb\n");
    cv_ordered_output_free(outputs);
    close(sink);
}

/* Lines come without a call, as far as the pipe takes them, and continue after a read. */
static void a_pipe_that_is_full_is_not_waited_for(void **state)
{
    enum { BYTES = 300000 };
    struct cv_pipe pipe;
    struct cv_poller *poller = NULL;
    struct cv_ordered_output *outputs;
    struct cv_chunk_output *first;
    static char text[BYTES], back[BYTES];
    size_t read_back = 0;

    (void)state;
    must(cv_pipe_open(&pipe, &err));
    must(cv_poller_new(&poller, &err));
    outputs = make_gather(pipe.write, 1 << 20);
    must(cv_ordered_output_attach(outputs, poller, &err));
    memset(text, 'x', sizeof text);
    text[9] = text[BYTES - 2] = '\n';
    first = open_store(outputs);
    cv_ordered_output_offer(first, 0, NULL, NULL);
    say(first, text, 12);
    assert_int_equal(cv_ordered_output_usage(outputs).written, 10);
    say(first, text + 12, BYTES - 12);
    while (read_back < BYTES - 1) {
        const ssize_t got = read(pipe.read, back + read_back, sizeof back - read_back);

        assert_true(got > 0);
        read_back += (size_t)got;
        must(cv_poller_wait(poller, 0, &err));
        assert_int_equal(cv_ordered_output_status(outputs, NULL, NULL), CLEAVE_OK);
    }
    must(cv_ordered_output_finish(outputs, first, 0, 1, &err));
    assert_int_equal(read(pipe.read, back + read_back, 1), 1);
    assert_memory_equal(back, text, sizeof text);
    assert_false(cv_ordered_output_pending(outputs));
    cv_ordered_output_free(outputs);
    cv_poller_free(poller);
    cv_pipe_close(&pipe);
}

/* Lines are taken out of an unfinished output, also from disk; the rest is read when it
 * is complete. */
static void lines_are_taken_out(void **state)
{
    enum { LIMIT = 100000, TAKEN = 70000 };
    struct cv_ordered_output *outputs = make_gather(-1, LIMIT);
    struct cv_chunk_output *store = open_store(outputs);
    static char text[700001], room[TAKEN], all[sizeof text];
    const void *bytes;
    size_t length, done = 0;

    (void)state;
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = i % 7 == 6 ? '\n' : (char)('a' + i % 23);
    must(cv_chunk_output_read_some(store, room, sizeof room, &length, &err));
    assert_int_equal(length, 0);
    for (size_t i = 0; i < sizeof text; i += 100000) {
        const size_t some = sizeof text - i < 100000 ? sizeof text - i : 100000;

        say(store, text + i, some);
        must(cv_chunk_output_read_some(store, room, i % 200000 == 0 ? 10 : TAKEN, &length,
                                       &err));
        memcpy(all + done, room, length);
        done += length;
        assert_int_equal(cv_chunk_output_passed(store), done);
        assert_int_equal(cv_chunk_output_came(store), i + some);
    }
    do {
        must(cv_chunk_output_read_some(store, room, sizeof room, &length, &err));
        memcpy(all + done, room, length);
        done += length;
    } while (length > 0);
    assert_int_equal(done, sizeof text - 1); /* the byte follows a line */
    must(cv_chunk_output_read(store, room, sizeof room, &bytes, &length, &err));
    assert_int_equal(length, 1);
    memcpy(all + done, bytes, 1);
    assert_memory_equal(all, text, sizeof text);
    cv_chunk_output_drop(store);
    assert_int_equal(outputs->memory, 0);
    cv_ordered_output_free(outputs);
}

/* Bytes after the last line are dropped, in memory and on disk. */
static void the_beginning_of_a_line_is_forgotten(void **state)
{
    static const size_t lengths[] = { 3, 20000, 99990, 100010, 400000, 700000 };
    static char text[700000];

    (void)state;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (size_t limit = 100000; limit <= 1 << 20; limit += (1 << 20) - 100000)
            for (size_t line = 0; line < lengths[i]; line += 1 + lengths[i] / 3) {
                const int sink = make_file("", 0);
                struct cv_ordered_output *outputs = make_gather(sink, limit);
                struct cv_chunk_output *store = open_store(outputs);

                memset(text, 'x', sizeof text);
                if (line > 0)
                    text[line - 1] = '\n';
                must(cv_chunk_output_write_lines(store, text, lengths[i], &err));
                cv_chunk_output_keep_lines(store);
                assert_int_equal(cv_chunk_output_size(store), line);
                must(cv_ordered_output_finish(outputs, store, 0, 1, &err));
                write_all(outputs);
                assert_int_equal(cv_ordered_output_usage(outputs).written, line);
                if (line > 0)
                    assert_file(sink, line - 1, line, "\n");
                assert_int_equal(outputs->memory, 0);
                cv_ordered_output_free(outputs);
                close(sink);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_lines_of_the_one_in_front),
        cmocka_unit_test(dropping_makes_room),
        cmocka_unit_test(written_memory_is_given_back),
        cmocka_unit_test(a_pipe_that_is_full_is_not_waited_for),
        cmocka_unit_test(lines_are_taken_out),
        cmocka_unit_test(the_beginning_of_a_line_is_forgotten),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
