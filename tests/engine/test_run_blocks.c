/* test_run_blocks.c -- outputs in blocks of memory. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "run/output/ordered_output_internal.h"
#include "run/common/process.h"
#include "plumbing_check.h"

enum { SIZE = 3 * CV_BLOCK + 12345 };

static struct cv_ordered_output *make_gather(int sink, uint64_t memory)
{
    const struct cv_ordered_output_options options = { .sink = sink,
                                                       .memory = memory,
                                                       .directory = "/tmp" };
    struct cv_ordered_output *outputs = NULL;

    must(cv_ordered_output_new(&options, &outputs, &err));
    return outputs;
}

static struct cv_chunk_output *open_blocks(struct cv_ordered_output *outputs)
{
    struct cv_chunk_output *store = NULL;

    must(cv_chunk_output_open(outputs, &store, &err));
    cv_chunk_output_use_blocks(store);
    return store;
}

/* By way of a pipe, as the output of a command. */
static void fill(struct cv_chunk_output *store, const char *bytes, size_t length)
{
    enum cv_chunk_output_state state = CV_STORE_EMPTY;
    struct cv_pipe pipe;

    must(cv_pipe_open(&pipe, &err));
    assert_int_equal(fcntl(pipe.write, F_SETFL, O_NONBLOCK), 0);
    for (size_t done = 0; done < length;) {
        const ssize_t put = write(pipe.write, bytes + done, length - done);

        assert_true(put > 0);
        done += (size_t)put;
        must(cv_chunk_output_pump(store, pipe.read, UINT64_MAX, &state, &err));
        assert_int_equal(state, CV_STORE_EMPTY);
    }
    cv_close(&pipe.write);
    must(cv_chunk_output_pump(store, pipe.read, UINT64_MAX, &state, &err));
    assert_int_equal(state, CV_STORE_END);
    assert_int_equal(cv_chunk_output_size(store), length);
    cv_pipe_close(&pipe);
}

/* All of it, in as many steps as it takes. */
static void assert_read(struct cv_chunk_output *store, const char *text, size_t size)
{
    char room[1000];
    size_t done = 0, length;
    const void *bytes;

    for (;;) {
        must(cv_chunk_output_read(store, room, sizeof room, &bytes, &length, &err));
        if (length == 0)
            break;
        assert_true(length <= sizeof room && done + length <= size);
        assert_memory_equal(bytes, text + done, length);
        done += length;
    }
    assert_int_equal(done, size);
}

/* With memory for all, for some and for none of it. */
static const uint64_t memories[] = { 64 << 20, 2 * CV_BLOCK + 1000, CV_BLOCK, 5000, 0 };
enum { MEMORIES = sizeof memories / sizeof *memories };

static void an_output_is_read_from_the_front(void **state)
{
    char *text = make_text(1, SIZE);

    (void)state;
    for (size_t i = 0; i < MEMORIES; i++)
        for (int piped = 0; piped < 2; piped++) {
            struct cv_ordered_output *outputs = make_gather(-1, memories[i]);
            struct cv_chunk_output *store = open_blocks(outputs);

            if (piped)
                fill(store, text, SIZE);
            else
                for (size_t at = 0; at < SIZE; at += 7777)
                    must(cv_chunk_output_write(store, text + at,
                                               SIZE - at < 7777 ? SIZE - at : 7777,
                                               &err));
            assert_true(cv_ordered_output_usage(outputs).memory <= memories[i]);
            assert_int_equal(cv_ordered_output_usage(outputs).disk > 0,
                             memories[i] < SIZE);
            assert_read(store, text, SIZE);
            cv_chunk_output_drop(store);
            assert_int_equal(cv_ordered_output_usage(outputs).memory, 0);
            assert_int_equal(cv_ordered_output_usage(outputs).disk, 0);
            cv_ordered_output_free(outputs);
        }
    free(text);
}

static void an_output_can_be_taken_as_a_file(void **state)
{
    char *text = make_text(2, SIZE);

    (void)state;
    for (size_t i = 0; i < MEMORIES; i++) {
        const size_t before = open_descriptors();
        struct cv_ordered_output *outputs = make_gather(-1, memories[i]);
        struct cv_chunk_output *store = open_blocks(outputs),
                               *next = open_blocks(outputs);
        struct cv_taken taken;

        must(cv_chunk_output_write(store, text, SIZE, &err));
        must(cv_chunk_output_write(next, text, 1000, &err));
        must(cv_ordered_output_take(store, &taken, &err));
        assert_int_equal(taken.end - taken.begin, SIZE);
        assert_file(taken.fd, taken.begin, taken.end, text);
        assert_read(next, text, 1000);
        cv_chunk_output_drop(store);
        cv_chunk_output_drop(next);
        assert_in_range(cv_ordered_output_usage(outputs).disk, 0,
                        1000); /* see cv_spill_file_leave */
        cv_ordered_output_free(outputs);
        assert_int_equal(open_descriptors(), before);
    }
    free(text);
}

/* Waiting output takes about its size in memory, and freed memory serves the next. */
static void memory_is_used_again(void **state)
{
    enum { OUTPUTS = 300, SMALL = 2000 };
    const int sink = make_file("", 0);
    struct cv_ordered_output *outputs = make_gather(sink, 2 << 20);
    char *text = make_text(3, SIZE);
    enum cv_ordered_output_state idle;
    struct cv_chunk_output *store;
    const struct cv_output_block *spare;

    (void)state;
    for (uint64_t i = OUTPUTS; i > 0; i--) {
        store = open_blocks(outputs);
        fill(store, text, SMALL);
        must(cv_ordered_output_finish(outputs, store, 10 * i, 10 * i + 10, &err));
    }
    assert_int_equal(cv_ordered_output_usage(outputs).disk, 0);
    assert_in_range(cv_ordered_output_usage(outputs).memory, OUTPUTS * SMALL,
                    OUTPUTS * SMALL * 3 / 2);
    store = open_blocks(outputs);
    must(cv_chunk_output_write(store, text, SIZE, &err));
    must(cv_ordered_output_finish(outputs, store, 0, 10, &err));
    must(cv_ordered_output_pump(outputs, UINT64_MAX, &idle, &err));
    assert_int_equal(idle, CV_GATHER_IDLE);
    assert_file(sink, 0, SIZE, text);
    for (uint64_t i = 0; i < OUTPUTS; i++)
        assert_file(sink, SIZE + i * SMALL, SIZE + (i + 1) * SMALL, text);
    assert_int_equal(cv_ordered_output_usage(outputs).memory, 0);
    spare = outputs->spare_blocks;
    assert_non_null(spare);
    store = open_blocks(outputs);
    must(cv_chunk_output_write(store, text, CV_BLOCK, &err));
    assert_ptr_equal(store->blocks.first, spare);

    /* Files take the place of unused blocks. */
    cv_chunk_output_drop(store);
    must(cv_chunk_output_open(outputs, &store, &err));
    must(cv_chunk_output_write(store, text, SIZE, &err));
    must(cv_chunk_output_write(store, text, SIZE, &err));
    assert_true(cv_ordered_output_usage(outputs).memory + outputs->spare <= 2 << 20);
    assert_int_equal(cv_ordered_output_usage(outputs).disk, 0);
    cv_ordered_output_free(outputs);
    close(sink);
    free(text);
}

/* A pipe is given pages, and is never waited for: there blocks would only be in the way. */
static void some_outputs_are_not_for_blocks(void **state)
{
    struct cv_ordered_output_options options = { .sink = -1,
                                                 .memory = 1 << 20,
                                                 .files = true };
    struct cv_ordered_output *outputs = NULL;
    struct cv_chunk_output *store;
    struct cv_pipe pipe;

    (void)state;
    must(cv_ordered_output_new(&options, &outputs, &err));
    store = open_blocks(outputs);
    assert_false(store->in_blocks);
    cv_ordered_output_free(outputs);
    must(cv_pipe_open(&pipe, &err));
    outputs = make_gather(pipe.write, 1 << 20);
    store = open_blocks(outputs);
    assert_false(store->in_blocks);
    cv_ordered_output_free(outputs);
    cv_pipe_close(&pipe);
    outputs = make_gather(-1, 1 << 20);
    assert_true(cv_ordered_output_expect_taking(outputs, false));
    store = open_blocks(outputs);
    assert_false(store->in_blocks);
    cv_ordered_output_free(outputs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_output_is_read_from_the_front),
        cmocka_unit_test(an_output_can_be_taken_as_a_file),
        cmocka_unit_test(memory_is_used_again),
        cmocka_unit_test(some_outputs_are_not_for_blocks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
