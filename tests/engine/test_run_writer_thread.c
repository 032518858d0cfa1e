/* test_run_writer_thread.c -- threads that write into the pipe of a command themselves. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>

#include "base/fail.h"
#include "run/common/pipe_writer.h"
#include "run/common/process.h"
#include "run/common/piece_part.h"
#include "plumbing_check.h"

enum { SIZE = 3 << 20, BITE = 50000, LONG_MS = 20000 };

/* A reader of bytes in memory, which may be damaged after `good`. */
struct spring {
    struct cv_lazy_reader lazy;
    const char *text;
    uint64_t size, good;
    int flows; /* begun so far */
};

struct gushing {
    struct cv_writer_thread threaded;
    const struct spring *from;
    uint64_t begin, end;
};

static enum cleave_status gush(struct cv_writer_thread *threaded,
                               struct cleave_error *error)
{
    const struct gushing *gushing = (const struct gushing *)threaded;
    const struct spring *from = gushing->from;
    uint64_t at = gushing->begin;

    while (at < gushing->end) {
        const uint64_t left = gushing->end - at;
        const size_t some = left < BITE ? (size_t)left : (size_t)BITE;

        if (at >= from->good)
            return cv_fail(error, CLEAVE_EINPUT, "the spring is poisoned");
        if (!cv_writer_thread_write(threaded, from->text + at, some))
            break;
        at += some;
    }
    return CLEAVE_OK;
}

static enum cleave_status start(struct cv_lazy_reader *lazy, uint64_t begin, uint64_t end,
                                const struct cv_writer_thread_into *into,
                                struct cv_writer_thread **out, struct cleave_error *error)
{
    struct spring *spring = (struct spring *)lazy;
    struct gushing *gushing = calloc(1, sizeof *gushing);

    assert_non_null(gushing);
    assert_non_null(into);
    gushing->from = spring;
    gushing->begin = begin;
    gushing->end = lazy->bounded ? end : spring->size;
    spring->flows++;
    *out = &gushing->threaded;
    return cv_writer_thread_start(&gushing->threaded, gush, "gushes", into, error);
}

static void stop(struct cv_writer_thread *threaded)
{
    cv_writer_thread_stop(threaded);
    free(threaded);
}

static struct spring make_spring(const char *text)
{
    return (struct spring){
        .lazy = { .threaded = start, .stop = stop },
        .text = text,
        .size = SIZE,
        .good = UINT64_MAX,
    };
}

/* A feed of these parts into a pipe. */
struct scene {
    struct cv_pipe_writer writer;
    struct cv_pipe pipe;
    char *got;
    size_t length; /* length of the bytes read */
};

static void begin_scene(struct scene *scene, const struct cv_part *parts, size_t count)
{
    must(cv_pipe_open(&scene->pipe, &err));
    cv_pipe_writer_init(&scene->writer, scene->pipe.write, parts, count);
    scene->got = malloc(SIZE + 100);
    assert_non_null(scene->got);
    scene->length = 0;
}

static void end_scene(struct scene *scene)
{
    cv_pipe_writer_done(&scene->writer);
    cv_pipe_close(&scene->pipe);
    free(scene->got);
}

static bool is_ready(int fd, short events, int limit_ms)
{
    struct pollfd at = { .fd = fd, .events = events };

    return poll(&at, 1, limit_ms) == 1;
}

/* Read available bytes, at most `max`. */
static void read_some(struct scene *scene, size_t max)
{
    const size_t left = SIZE + 100 - scene->length;
    ssize_t got;

    assert_true(is_ready(scene->pipe.read, POLLIN, LONG_MS));
    got = read(scene->pipe.read, scene->got + scene->length, max < left ? max : left);
    assert_true(got > 0);
    scene->length += (size_t)got;
}

/* Wait until the pipe is full. */
static void fill_up(const struct scene *scene)
{
    for (int i = 0; i < LONG_MS && is_ready(scene->pipe.write, POLLOUT, 0); i++)
        usleep(1000);
    assert_false(is_ready(scene->pipe.write, POLLOUT, 0));
}

/* Read during the feed, until all was fed; afterwards the rest in the pipe. */
static void read_all(struct scene *scene)
{
    enum cv_pipe_writer_state state;
    int unread;

    for (;;) {
        must(cv_pipe_writer_pump(&scene->writer, UINT64_MAX, &state, &err));
        if (state == CV_FEED_DONE)
            break;
        assert_true(state == CV_FEED_DRY || state == CV_FEED_FULL);
        while (state == CV_FEED_DRY &&
               !is_ready(cv_pipe_writer_source(&scene->writer), POLLIN, 1))
            if (is_ready(scene->pipe.read, POLLIN, 0))
                read_some(scene, 10000);
        if (state == CV_FEED_FULL)
            read_some(scene, 10000);
    }
    while ((unread = (int)cv_pipe_writer_unread(&scene->writer)) > 0)
        read_some(scene, (size_t)unread);
}

static void all_comes_in_order(void **state)
{
    char *text = make_text(1, SIZE);
    struct spring spring = make_spring(text);
    const struct cv_part parts[] = {
        { .bytes = "head", .fd = -1, .end = 4 },
        { .lazy = &spring.lazy, .fd = -1, .begin = 1000, .end = SIZE - 77 },
        { .bytes = "tail", .fd = -1, .end = 4 },
    };
    struct scene scene;

    (void)state;
    begin_scene(&scene, parts, 3);
    read_all(&scene);
    assert_int_equal(scene.length, 4 + SIZE - 1077 + 4);
    assert_memory_equal(scene.got, "head", 4);
    assert_memory_equal(scene.got + 4, text + 1000, SIZE - 1077);
    assert_memory_equal(scene.got + 4 + SIZE - 1077, "tail", 4);
    assert_int_equal(cv_pipe_writer_fed(&scene.writer), scene.length);
    assert_int_equal(cv_pipe_writer_at(&scene.writer, 1), SIZE - 77);
    assert_int_equal(spring.flows, 1);
    end_scene(&scene);
    free(text);
}

/* While it is held nothing is put in, whatever room there is; the numbers fit each other. */
static void held_input_stays(void **state)
{
    char *text = make_text(2, SIZE);
    struct spring spring = make_spring(text);
    const struct cv_part part = { .lazy = &spring.lazy, .fd = -1, .end = SIZE };
    enum cv_pipe_writer_state fed;
    struct scene scene;
    uint64_t at;

    (void)state;
    begin_scene(&scene, &part, 1);
    must(cv_pipe_writer_pump(&scene.writer, UINT64_MAX, &fed, &err));
    assert_int_equal(fed, CV_FEED_DRY);
    fill_up(&scene);
    cv_pipe_writer_hold(&scene.writer);
    at = cv_pipe_writer_at(&scene.writer, 0);
    assert_int_equal(at, cv_pipe_writer_fed(&scene.writer));
    assert_int_equal(at, cv_pipe_writer_unread(&scene.writer));
    read_some(&scene, 20000);
    usleep(30000);
    assert_int_equal(at, cv_pipe_writer_at(&scene.writer, 0));
    assert_int_equal(at - 20000, cv_pipe_writer_unread(&scene.writer));
    cv_pipe_writer_go_on(&scene.writer);
    read_all(&scene);
    assert_int_equal(scene.length, SIZE);
    assert_memory_equal(scene.got, text, SIZE);
    end_scene(&scene);
    free(text);
}

static void queued_input_cannot_be_cut_off(void **state)
{
    char *text = make_text(3, SIZE);
    struct spring spring = make_spring(text);
    const struct cv_part parts[] = {
        { .lazy = &spring.lazy, .fd = -1, .begin = 5, .end = SIZE },
        { .bytes = "!", .fd = -1, .end = 1 },
    };
    enum cv_pipe_writer_state fed;
    struct scene scene;
    uint64_t at;

    (void)state;
    begin_scene(&scene, parts, 2);
    must(cv_pipe_writer_pump(&scene.writer, UINT64_MAX, &fed, &err));
    fill_up(&scene);
    cv_pipe_writer_hold(&scene.writer);
    at = cv_pipe_writer_at(&scene.writer, 0);
    assert_in_range(at, 6, SIZE - 1);
    assert_false(cv_pipe_writer_cut(&scene.writer, 0, at - 1));
    assert_true(cv_pipe_writer_cut(&scene.writer, 0, at + 10));
    cv_pipe_writer_go_on(&scene.writer);
    read_all(&scene);
    assert_int_equal(scene.length, at + 10 - 5 + 1);
    assert_memory_equal(scene.got, text + 5, at + 10 - 5);
    assert_int_equal(scene.got[scene.length - 1], '!');
    end_scene(&scene);
    free(text);
}

/* Cut off at its position while it waits for room: the end is reported before it is
 * read. */
static void a_waiting_writer_is_notified_of_the_end(void **state)
{
    char *text = make_text(4, SIZE);
    struct spring spring = make_spring(text);
    const struct cv_part part = { .lazy = &spring.lazy, .fd = -1, .end = SIZE };
    enum cv_pipe_writer_state fed;
    struct scene scene;

    (void)state;
    begin_scene(&scene, &part, 1);
    must(cv_pipe_writer_pump(&scene.writer, UINT64_MAX, &fed, &err));
    fill_up(&scene);
    cv_pipe_writer_hold(&scene.writer);
    assert_true(
        cv_pipe_writer_cut(&scene.writer, 0, cv_pipe_writer_at(&scene.writer, 0)));
    cv_pipe_writer_go_on(&scene.writer);
    assert_true(is_ready(cv_pipe_writer_source(&scene.writer), POLLIN, LONG_MS));
    must(cv_pipe_writer_pump(&scene.writer, UINT64_MAX, &fed, &err));
    assert_int_equal(fed, CV_FEED_DONE);
    end_scene(&scene);
    free(text);
}

/* One thread continues while it may; a thread that ends at its limit has a successor. */
static void it_grows(void **state)
{
    char *text = make_text(5, SIZE);

    (void)state;
    for (int bounded = 0; bounded < 2; bounded++) {
        struct spring spring = make_spring(text);
        struct cv_part part = { .lazy = &spring.lazy, .fd = -1, .end = 70000 };
        enum cv_pipe_writer_state fed;
        struct scene scene;

        spring.lazy.bounded = bounded != 0;
        begin_scene(&scene, &part, 1);
        cv_pipe_writer_narrow(&scene.writer, 100); /* which its thread does not heed */
        read_all(&scene);
        assert_int_equal(scene.length, 70000);
        part.end = 2 << 20;
        cv_pipe_writer_grow(&scene.writer, &part, 1);
        must(cv_pipe_writer_pump(&scene.writer, UINT64_MAX, &fed, &err));
        fill_up(&scene);
        part.end = SIZE; /* while it runs */
        cv_pipe_writer_grow(&scene.writer, &part, 1);
        read_all(&scene);
        assert_int_equal(scene.length, SIZE);
        assert_memory_equal(scene.got, text, SIZE);
        assert_int_equal(spring.flows, bounded ? 3 : 1);
        end_scene(&scene);
    }
    free(text);
}

static void steps_are_reported(void **state)
{
    char *text = make_text(6, SIZE);
    struct spring spring = make_spring(text);
    const struct cv_part part = { .lazy = &spring.lazy, .fd = -1, .end = SIZE };
    enum cv_pipe_writer_state fed;
    struct scene scene;

    (void)state;
    for (int steps = 0; steps < 2; steps++) {
        begin_scene(&scene, &part, 1);
        scene.writer.step = steps ? 20000 : 0;
        must(cv_pipe_writer_pump(&scene.writer, UINT64_MAX, &fed, &err));
        fill_up(&scene);
        /* The first ones may have been reported already. */
        assert_int_equal(is_ready(cv_pipe_writer_source(&scene.writer), POLLIN, 0),
                         steps && cv_pipe_writer_fed(&scene.writer) >=
                                      scene.writer.fed + 20000);
        end_scene(&scene);
    }
    free(text);
}

static void a_reader_may_go_away(void **state)
{
    char *text = make_text(7, SIZE);
    struct spring spring = make_spring(text);
    const struct cv_part part = { .lazy = &spring.lazy, .fd = -1, .end = SIZE };
    enum cv_pipe_writer_state fed;
    struct scene scene;

    (void)state;
    begin_scene(&scene, &part, 1);
    must(cv_pipe_writer_pump(&scene.writer, UINT64_MAX, &fed, &err));
    fill_up(&scene);
    cv_close(&scene.pipe.read);
    assert_true(is_ready(cv_pipe_writer_source(&scene.writer), POLLIN, LONG_MS));
    /* Queued bytes count first. */
    must(cv_pipe_writer_pump(&scene.writer, UINT64_MAX, &fed, &err));
    assert_int_equal(fed, CV_FEED_REFUSED);
    end_scene(&scene);
    free(text);
}

static void damage_is_reported_after_the_good_part(void **state)
{
    char *text = make_text(8, SIZE);
    struct spring spring = make_spring(text);
    const struct cv_part part = { .lazy = &spring.lazy, .fd = -1, .end = SIZE };
    struct cleave_error error;
    enum cv_pipe_writer_state fed;
    struct scene scene;

    (void)state;
    spring.good = BITE;
    begin_scene(&scene, &part, 1);
    while (cv_pipe_writer_pump(&scene.writer, UINT64_MAX, &fed, &error) == CLEAVE_OK)
        assert_true(is_ready(cv_pipe_writer_source(&scene.writer), POLLIN, LONG_MS));
    assert_string_equal(error.text, "the spring is poisoned");
    assert_int_equal(cv_pipe_writer_at(&scene.writer, 0), BITE);
    end_scene(&scene);
    free(text);
}

/* In the midst of it; queued bytes are known by that time, and nothing stays queued. */
static void it_can_be_stopped(void **state)
{
    char *text = make_text(9, SIZE);
    struct spring spring = make_spring(text);
    const struct cv_part part = { .lazy = &spring.lazy, .fd = -1, .end = SIZE };
    const size_t descriptors = open_descriptors();
    enum cv_pipe_writer_state fed;
    uint64_t fed_before;
    struct scene scene;

    (void)state;
    begin_scene(&scene, &part, 1);
    must(cv_pipe_writer_pump(&scene.writer, UINT64_MAX, &fed, &err));
    fill_up(&scene);
    read_some(&scene, 20000); /* and a bit more than reported */
    while (cv_pipe_writer_fed(&scene.writer) <= scene.writer.fed)
        usleep(1000);
    fill_up(&scene);
    fed_before = cv_pipe_writer_fed(&scene.writer);
    cv_pipe_writer_done(&scene.writer);
    assert_int_equal(cv_pipe_writer_fed(&scene.writer), fed_before);
    assert_int_equal(cv_pipe_writer_unread(&scene.writer), fed_before - 20000);
    assert_int_equal(cv_pipe_writer_at(&scene.writer, 0), fed_before);
    end_scene(&scene);
    assert_int_equal(open_descriptors(), descriptors);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_comes_in_order),
        cmocka_unit_test(held_input_stays),
        cmocka_unit_test(queued_input_cannot_be_cut_off),
        cmocka_unit_test(a_waiting_writer_is_notified_of_the_end),
        cmocka_unit_test(it_grows),
        cmocka_unit_test(steps_are_reported),
        cmocka_unit_test(a_reader_may_go_away),
        cmocka_unit_test(damage_is_reported_after_the_good_part),
        cmocka_unit_test(it_can_be_stopped),
    };

    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
