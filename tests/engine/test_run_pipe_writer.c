/* test_run_pipe_writer.c -- ranges of files into a pipe. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <signal.h>

#include "base/fail.h"
#include "run/common/pipe_writer.h"
#include "run/common/process.h"
#include "run/common/piece_part.h"
#include "plumbing_check.h"

enum { SIZE = 3 << 20 };

/* Feed with `most` at a time and read everything that comes; returns its length. */
static size_t feed_all(struct cv_pipe_writer *writer, struct cv_pipe *pipe, uint64_t max,
                       char *out, size_t size)
{
    enum cv_pipe_writer_state state = CV_FEED_BUSY;
    size_t length = 0;
    ssize_t got;

    while (state != CV_FEED_DONE) {
        must(cv_pipe_writer_pump(writer, max, &state, &err));
        assert_true(state != CV_FEED_REFUSED);
        if (state == CV_FEED_FULL) {
            assert_int_equal(cv_pipe_writer_unread(writer),
                             cv_pipe_writer_fed(writer) - length);
            got = read(pipe->read, out + length,
                       size - length < 50000 ? size - length : 50000);
            assert_true(got > 0);
            length += (size_t)got;
        }
    }
    cv_close(&pipe->write);
    while ((got = read(pipe->read, out + length, size - length)) > 0)
        length += (size_t)got;
    return length;
}

/* Bytes in all: those in the pipe and those that are still to go there. */
static uint64_t total(const struct cv_pipe_writer *writer)
{
    uint64_t bytes = cv_pipe_writer_fed(writer);

    for (size_t i = 0; i < writer->nparts; i++)
        bytes += writer->parts[i].end - cv_pipe_writer_at(writer, i);
    return bytes;
}

static void parts_arrive_one_after_the_other(void **state)
{
    static const uint64_t mosts[] = { 1000, 65536, UINT64_MAX };
    char *text = make_text(1, SIZE), *got = malloc(SIZE + 100);
    const int file = make_file(text, SIZE);

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        const struct cv_part parts[] = {
            { .bytes = "header\n", .end = 7 },
            { .fd = file, .begin = 5, .end = 5 },
            { .fd = file, .begin = 100, .end = 110 },
            { .fd = file, .begin = 4095, .end = SIZE - 1 },
        };
        struct cv_pipe_writer writer;
        struct cv_pipe pipe;

        must(cv_pipe_open(&pipe, &err));
        cv_pipe_writer_init(&writer, pipe.write, parts, 4);
        assert_int_equal(total(&writer), 17 + SIZE - 4096);
        assert_int_equal(cv_pipe_writer_at(&writer, 3), 4095);
        assert_int_equal(feed_all(&writer, &pipe, mosts[i], got, SIZE), 17 + SIZE - 4096);
        assert_memory_equal(got, "header\n", 7);
        assert_memory_equal(got + 7, text + 100, 10);
        assert_memory_equal(got + 17, text + 4095, SIZE - 4096);
        assert_int_equal(cv_pipe_writer_fed(&writer), total(&writer));
        cv_pipe_close(&pipe);
    }
    close(file);
    free(text);
    free(got);
}

/* The memory of this process can be read at an offset but not spliced. */
static void unspliceable_input_is_copied(void **state)
{
    char *text = make_text(2, SIZE), *got = malloc(SIZE + 1);
    const int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    const int file = make_file("tail", 4);
    const uint64_t begin = (uint64_t)(uintptr_t)text;
    const struct cv_part parts[] = {
        { .fd = memory, .begin = begin, .end = begin + SIZE - 4 },
        { .fd = file, .begin = 0, .end = 4 },
    };
    struct cv_pipe_writer writer;
    struct cv_pipe pipe;
    off_t offset = (off_t)begin;

    (void)state;
    if (memory < 0)
        skip();
    must(cv_pipe_open(&pipe, &err));
    assert_int_equal(splice(memory, &offset, pipe.write, NULL, 10, 0), -1);
    cv_pipe_writer_init(&writer, pipe.write, parts, 2);
    assert_int_equal(feed_all(&writer, &pipe, UINT64_MAX, got, SIZE), SIZE);
    assert_memory_equal(got, text, SIZE - 4);
    assert_memory_equal(got + SIZE - 4, "tail", 4);
    cv_pipe_close(&pipe);
    close(memory);
    close(file);
    free(text);
    free(got);
}

/* Lasting memory is lent: a change before the read is visible. */
static void memory_that_lasts_is_not_copied(void **state)
{
    char *text = make_text(5, SIZE), *got = malloc(SIZE);
    struct cv_part part = { .bytes = text, .fd = -1, .begin = 7, .end = 7 + SIZE };
    struct cv_pipe_writer writer;
    struct cv_pipe pipe;

    (void)state;
    for (int lasting = 0; lasting < 2; lasting++) {
        enum cv_pipe_writer_state fed;
        const char was = text[0];

        part.lasting = lasting != 0;
        must(cv_pipe_open(&pipe, &err));
        cv_pipe_writer_init(&writer, pipe.write, &part, 1);
        must(cv_pipe_writer_pump(&writer, UINT64_MAX, &fed, &err));
        assert_int_equal(fed, CV_FEED_FULL);
        text[0] = '!';
        assert_int_equal(feed_all(&writer, &pipe, UINT64_MAX, got, SIZE), SIZE);
        assert_int_equal(got[0], lasting ? '!' : was);
        assert_memory_equal(got + 1, text + 1, SIZE - 1);
        text[0] = was;
        cv_pipe_close(&pipe);
    }
    free(text);
    free(got);
}

static void fed_input_cannot_be_cut_off(void **state)
{
    char *text = make_text(3, SIZE), *got = malloc(SIZE);
    const int file = make_file(text, SIZE);
    const struct cv_part parts[] = { { .bytes = "h", .end = 1 },
                                     { .fd = file, .begin = 1000, .end = SIZE } };
    enum cv_pipe_writer_state fed;
    struct cv_pipe_writer writer;
    struct cv_pipe pipe;
    uint64_t at;

    (void)state;
    must(cv_pipe_open(&pipe, &err));
    cv_pipe_writer_init(&writer, pipe.write, parts, 2);
    assert_false(cv_pipe_writer_cut(&writer, 1, 999));
    assert_true(cv_pipe_writer_cut(&writer, 1, SIZE));
    assert_false(cv_pipe_writer_cut(&writer, 1, SIZE + 1));
    must(cv_pipe_writer_pump(&writer, UINT64_MAX, &fed, &err));
    assert_int_equal(fed, CV_FEED_FULL);
    at = cv_pipe_writer_at(&writer, 1);
    assert_in_range(at, 1001, SIZE - 1);
    assert_false(cv_pipe_writer_cut(&writer, 1, at - 1));
    assert_true(cv_pipe_writer_cut(&writer, 1, at + 10));
    assert_int_equal(total(&writer), 1 + at + 10 - 1000);
    assert_false(cv_pipe_writer_cut(&writer, 1, at + 11));
    assert_int_equal(feed_all(&writer, &pipe, UINT64_MAX, got, SIZE), at + 11 - 1000);
    assert_memory_equal(got + 1, text + 1000, at + 10 - 1000);
    assert_int_equal(cv_pipe_writer_at(&writer, 1), at + 10);
    assert_true(cv_pipe_writer_cut(&writer, 1, at + 10));
    cv_pipe_close(&pipe);
    close(file);
    free(text);
    free(got);
}

static void a_reader_may_go_away(void **state)
{
    char *text = make_text(4, SIZE);
    const int file = make_file(text, SIZE);
    const struct cv_part parts[] = { { .fd = file, .end = SIZE } };
    enum cv_pipe_writer_state fed;
    struct cv_pipe_writer writer;
    struct cv_pipe pipe;

    (void)state;
    must(cv_pipe_open(&pipe, &err));
    cv_pipe_writer_init(&writer, pipe.write, parts, 1);
    must(cv_pipe_writer_pump(&writer, UINT64_MAX, &fed, &err));
    assert_int_equal(fed, CV_FEED_FULL);
    cv_close(&pipe.read);
    must(cv_pipe_writer_pump(&writer, UINT64_MAX, &fed, &err));
    assert_int_equal(fed, CV_FEED_REFUSED);
    cv_pipe_close(&pipe);
    close(file);
    free(text);
}

/* A slow reader has one sip, and the next one waits in the pipe until it has read that: nothing is put
 * on top of it. How large later ones are goes by the time. */
static void sips_are_fed_into_an_empty_pipe(void **state)
{
    enum { SIP = 16 };
    char *text = make_text(7, SIZE), *got = malloc(SIZE);
    const int file = make_file(text, SIZE);
    const struct cv_part parts[] = { { .bytes = "h", .end = 1 },
                                     { .fd = file, .begin = 1, .end = SIZE } };
    enum cv_pipe_writer_state fed;
    struct cv_pipe_writer writer;
    struct cv_pipe pipe;

    (void)state;
    must(cv_pipe_open(&pipe, &err));
    cv_pipe_writer_init(&writer, pipe.write, parts, 2);
    cv_pipe_writer_narrow(&writer, SIP);
    cv_pipe_widen(pipe.write, 65536); /* the reason is not too little room */
    for (int i = 0; i < 2; i++) {
        must(cv_pipe_writer_pump(&writer, UINT64_MAX, &fed, &err));
        assert_int_equal(fed, CV_FEED_FULL);
        assert_in_range(cv_pipe_writer_unread(&writer), 1,
                        SIP); /* a page ends, or a part */
        assert_int_equal(read(pipe.read, got, 4),
                         cv_pipe_writer_fed(&writer) > 4 ? 4 : 1);
        if (cv_pipe_writer_unread(&writer) > 0) {
            const uint64_t before = cv_pipe_writer_fed(&writer);

            must(cv_pipe_writer_pump(&writer, UINT64_MAX, &fed, &err));
            assert_int_equal(fed, CV_FEED_FULL);
            assert_int_equal(cv_pipe_writer_fed(&writer), before);
        }
        while (cv_pipe_writer_unread(&writer) > 0)
            assert_true(read(pipe.read, got, SIP) > 0);
    }
    cv_pipe_close(&pipe);

    must(cv_pipe_open(&pipe, &err));
    cv_pipe_writer_init(&writer, pipe.write, parts, 2);
    cv_pipe_writer_narrow(&writer, SIP);
    assert_int_equal(feed_all(&writer, &pipe, UINT64_MAX, got, SIZE), SIZE);
    assert_memory_equal(got + 1, text + 1, SIZE - 1);
    cv_pipe_close(&pipe);

    /* A pipe without a known fill level is filled. */
    must(cv_pipe_open(&pipe, &err));
    cv_pipe_writer_init(&writer, pipe.write, parts, 2);
    cv_pipe_writer_narrow(&writer, SIP);
    must(cv_pipe_writer_pump(&writer, UINT64_MAX, &fed, &err));
    writer.small_write = 0;
    cv_pipe_widen(pipe.write, 65536);
    must(cv_pipe_writer_pump(&writer, UINT64_MAX, &fed, &err));
    assert_true(cv_pipe_writer_unread(&writer) > SIP);
    cv_pipe_close(&pipe);
    close(file);
    free(text);
    free(got);
}

static void a_file_that_is_too_short_is_an_error(void **state)
{
    const int file = make_file("0123456789", 10);
    const struct cv_part parts[] = { { .fd = file, .end = 20, .name = "in.txt" } };
    enum cv_pipe_writer_state fed;
    struct cleave_error error;
    struct cv_pipe_writer writer;
    struct cv_pipe pipe;
    char text[600];

    (void)state;
    must(cv_pipe_open(&pipe, &err));
    cv_pipe_writer_init(&writer, pipe.write, parts, 1);
    assert_int_equal(cv_pipe_writer_pump(&writer, UINT64_MAX, &fed, &error),
                     CLEAVE_EINPUT);
    cleave_error_format(&error, text, sizeof text);
    assert_string_equal(text, "in.txt: expected bytes up to 20, got only 10: has the "
                              "file been cut meanwhile?");
    close(file);
    cv_pipe_writer_init(&writer, pipe.write, parts, 1);
    assert_int_equal(cv_pipe_writer_pump(&writer, UINT64_MAX, &fed, &error),
                     CLEAVE_EINPUT);
    assert_string_equal(error.text, "cannot read at byte 0: Bad file descriptor");
    cv_pipe_close(&pipe);
}

/* --- a well for which there are no threads ----------------------------------------------------- */

struct scarce_reader {
    struct cv_lazy_reader lazy;
    struct cv_writer_thread threaded;
    const char *text;
    uint64_t end; /* end of the flow, if any: no order may go beyond */
    unsigned refused, begun, stopped;
};

static struct scarce_reader scarce;

static enum cleave_status flow_of_scarce(struct cv_lazy_reader *lazy, uint64_t begin,
                                         uint64_t end,
                                         const struct cv_writer_thread_into *into,
                                         struct cv_writer_thread **out,
                                         struct cleave_error *error)
{
    (void)lazy;
    (void)begin;
    if (into->pipe != CV_FLOW_HERE) {
        scarce.refused++;
        return cv_fail(error, CLEAVE_ERESOURCES, "no thread");
    }
    scarce.begun++;
    scarce.end = scarce.lazy.bounded ? end : SIZE;
    scarce.threaded = (struct cv_writer_thread){ .work = NULL };
    *out = &scarce.threaded;
    return cv_writer_thread_start(&scarce.threaded, NULL, "decodes", into, error);
}

static enum cleave_status give_of_scarce(struct cv_writer_thread *threaded, uint64_t at,
                                         const char **bytes, size_t *length,
                                         struct cleave_error *error)
{
    const uint64_t block = (at / 100000 + 1) * 100000;

    (void)threaded;
    (void)error;
    assert_true(at < scarce.end);
    *bytes = scarce.text + at;
    *length = (size_t)((block < SIZE ? block : SIZE) - at);
    return CLEAVE_OK;
}

static void stop_of_scarce(struct cv_writer_thread *threaded)
{
    scarce.stopped++;
    cv_writer_thread_stop(threaded);
}

static void without_threads_the_feeder_makes_the_input(void **state)
{
    char *text = make_text(9, SIZE), *got = malloc(SIZE);

    (void)state;
    for (unsigned bounded = 0; bounded < 2; bounded++) {
        struct cv_part part = { .lazy = &scarce.lazy, .begin = 10, .end = 1000010 };
        enum cv_pipe_writer_state fed;
        struct cv_pipe_writer writer;
        struct cv_pipe pipe;

        scarce = (struct scarce_reader){ .lazy = { .threaded = flow_of_scarce,
                                                   .give = give_of_scarce,
                                                   .stop = stop_of_scarce,
                                                   .bounded = bounded == 1 },
                                         .text = text };
        must(cv_pipe_open(&pipe, &err));
        cv_pipe_writer_init(&writer, pipe.write, &part, 1);
        /* It becomes longer during the feed: bytes after the first end are requested
         * again. */
        must(cv_pipe_writer_pump(&writer, UINT64_MAX, &fed, &err));
        assert_int_equal(fed, CV_FEED_FULL);
        assert_true(cv_pipe_writer_source(&writer) < 0);
        part.end = SIZE;
        cv_pipe_writer_grow(&writer, &part, 1);
        assert_int_equal(feed_all(&writer, &pipe, UINT64_MAX, got, SIZE), SIZE - 10);
        assert_memory_equal(got, text + 10, SIZE - 10);
        /* On a slow machine a thread was looked for more often. */
        assert_true(scarce.begun > bounded && scarce.refused == scarce.begun);
        cv_pipe_writer_done(&writer);
        assert_int_equal(scarce.stopped, scarce.begun);
        cv_pipe_close(&pipe);
    }
    free(text);
    free(got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_arrive_one_after_the_other),
        cmocka_unit_test(unspliceable_input_is_copied),
        cmocka_unit_test(memory_that_lasts_is_not_copied),
        cmocka_unit_test(fed_input_cannot_be_cut_off),
        cmocka_unit_test(a_reader_may_go_away),
        cmocka_unit_test(sips_are_fed_into_an_empty_pipe),
        cmocka_unit_test(a_file_that_is_too_short_is_an_error),
        cmocka_unit_test(without_threads_the_feeder_makes_the_input),
    };

    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
