/* test_run_poller.c -- descriptors, timers and signals. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>

#include "run/common/poller.h"
#include "run/common/process.h"
#include "plumbing_check.h"

/* Calls, in order. */
struct calls {
    int list[64];
    size_t count;
};

struct caller {
    struct cv_watch watch;
    struct cv_timer timer;
    struct calls *calls;
    int number;
    unsigned events;
    struct cv_poller *poller;
    struct caller *removes; /* another caller, when called */
};

static void note(struct caller *caller)
{
    assert_true(caller->calls->count < 64);
    caller->calls->list[caller->calls->count++] = caller->number;
}

static void watch_called(void *context, unsigned events)
{
    struct caller *caller = context;

    caller->events = events;
    note(caller);
    if (caller->removes != NULL)
        cv_poller_remove(caller->poller, &caller->removes->watch);
}

static void timer_called(void *context)
{
    note(context);
}

static void a_pipe_reports_readiness(void **state)
{
    const size_t before = open_descriptors();
    struct cv_poller *poller;
    struct calls calls = { .count = 0 };
    struct caller reader = { .calls = &calls, .number = 1 };
    struct caller writer = { .calls = &calls, .number = 2 };
    struct cv_pipe pipe;

    (void)state;
    must(cv_poller_new(&poller, &err));
    must(cv_pipe_open(&pipe, &err));
    must(cv_poller_add(poller, &reader.watch, pipe.read, CV_READABLE, watch_called,
                       &reader, &err));
    must(cv_poller_wait(poller, 0, &err));
    assert_int_equal(calls.count, 0);
    assert_int_equal(write(pipe.write, "x", 1), 1);
    must(cv_poller_wait(poller, -1, &err));
    assert_int_equal(calls.count, 1);
    assert_int_equal(reader.events, CV_READABLE);

    must(cv_poller_modify(poller, &reader.watch, 0, &err));
    must(cv_poller_wait(poller, 0, &err));
    assert_int_equal(calls.count, 1);
    must(cv_poller_add(poller, &writer.watch, pipe.write, CV_WRITABLE, watch_called,
                       &writer, &err));
    must(cv_poller_wait(poller, -1, &err));
    assert_int_equal(calls.list[1], 2);
    cv_poller_remove(poller, &writer.watch);
    cv_poller_remove(poller, &writer.watch);

    /* A hang-up is reported even without requested events. */
    cv_close(&pipe.write);
    must(cv_poller_wait(poller, -1, &err));
    assert_int_equal(calls.count, 3);
    assert_int_equal(reader.events, CV_READABLE | CV_WRITABLE);
    cv_poller_remove(poller, &reader.watch);
    cv_pipe_close(&pipe);
    cv_poller_free(poller);
    assert_int_equal(open_descriptors(), before);
}

/* Both are ready in the same turn and each removes the other: one of them is called. */
static void a_removed_callback_is_not_called(void **state)
{
    struct cv_poller *poller;
    struct calls calls = { .count = 0 };
    struct caller one = { .calls = &calls, .number = 1 };
    struct caller two = { .calls = &calls, .number = 2, .removes = &one };
    struct cv_pipe pipes[2];
    int files[2];

    (void)state;
    one.removes = &two;
    must(cv_poller_new(&poller, &err));
    one.poller = two.poller = poller;
    for (int i = 0; i < 2; i++) {
        must(cv_pipe_open(&pipes[i], &err));
        assert_int_equal(write(pipes[i].write, "x", 1), 1);
    }
    must(cv_poller_add(poller, &one.watch, pipes[0].read, CV_READABLE, watch_called, &one,
                       &err));
    must(cv_poller_add(poller, &two.watch, pipes[1].read, CV_READABLE, watch_called, &two,
                       &err));
    must(cv_poller_wait(poller, -1, &err));
    assert_int_equal(calls.count, 1);
    cv_poller_remove(poller, &one.watch);
    cv_poller_remove(poller, &two.watch);

    /* Files are always ready. */
    for (int i = 0; i < 2; i++)
        files[i] = make_file("", 0);
    must(cv_poller_add(poller, &one.watch, files[0], CV_WRITABLE, watch_called, &one,
                       &err));
    must(cv_poller_add(poller, &two.watch, files[1], CV_WRITABLE, watch_called, &two,
                       &err));
    must(cv_poller_wait(poller, -1, &err));
    assert_int_equal(calls.count, 2);
    cv_poller_remove(poller, &one.watch);
    cv_poller_remove(poller, &two.watch);
    must(cv_poller_wait(poller, -1, &err)); /* nothing is left: returns */
    assert_int_equal(calls.count, 2);
    for (int i = 0; i < 2; i++) {
        cv_pipe_close(&pipes[i]);
        close(files[i]);
    }
    cv_poller_free(poller);
}

/* A process that was stopped finds a timer long due, and what that has waited for: it looks at
 * that first, but not for ever. */
static void a_late_timer_waits_for_arrived_events(void **state)
{
    struct cv_poller *poller;
    struct calls calls = { .count = 0 };
    struct caller reader = { .calls = &calls, .number = 1 };
    struct caller late = { .calls = &calls, .number = 2 };
    struct cv_pipe pipe;
    int waits = 0;
    char byte;

    (void)state;
    must(cv_poller_new(&poller, &err));
    must(cv_pipe_open(&pipe, &err));
    assert_int_equal(write(pipe.write, "x", 1), 1);
    must(cv_poller_add(poller, &reader.watch, pipe.read, CV_READABLE, watch_called,
                       &reader, &err));
    cv_poller_set(poller, &late.timer, cv_clock_s() - 10, timer_called, &late);
    must(cv_poller_wait(poller, -1, &err));
    must(cv_poller_wait(poller, -1, &err));
    assert_int_equal(calls.count, 2);
    assert_int_equal(calls.list[1], 1);
    assert_int_equal(read(pipe.read, &byte, 1), 1);
    must(cv_poller_wait(poller, -1, &err));
    assert_int_equal(calls.list[2], 2);

    /* Something comes all the time. */
    assert_int_equal(write(pipe.write, "x", 1), 1);
    cv_poller_set(poller, &late.timer, cv_clock_s() - 10, timer_called, &late);
    for (calls.count = 0; calls.count == 0 || calls.list[calls.count - 1] != 2; waits++) {
        calls.count = 0;
        must(cv_poller_wait(poller, -1, &err));
    }
    assert_true(waits > 10 && waits < 1000);
    cv_poller_remove(poller, &reader.watch);
    cv_pipe_close(&pipe);
    cv_poller_free(poller);
}

static void timers_are_called_in_order(void **state)
{
    enum { TIMERS = 50 };
    struct cv_poller *poller;
    struct calls calls = { .count = 0 };
    struct caller callers[TIMERS];
    const double start_s = cv_clock_s();
    int expected = 0;

    (void)state;
    must(cv_poller_new(&poller, &err));
    for (int i = 0; i < TIMERS; i++) {
        /* Times in a shuffled order: 7 has no common factor with 50. */
        const int number = i * 7 % TIMERS;

        callers[i] = (struct caller){ .calls = &calls, .number = number };
        cv_poller_set(poller, &callers[i].timer, start_s + 1000, timer_called,
                      &callers[i]);
        cv_poller_set(poller, &callers[i].timer, start_s + 1e-4 * number, timer_called,
                      &callers[i]);
    }
    for (int i = 0; i < TIMERS; i += 3)
        cv_poller_cancel(poller, &callers[i].timer);
    cv_poller_cancel(poller, &callers[0].timer);
    for (int turn = 0; turn < 1000 && calls.count < TIMERS - 17; turn++)
        must(cv_poller_wait(poller, -1, &err));
    assert_int_equal(calls.count, TIMERS - 17);
    for (size_t i = 0; i < calls.count; i++, expected++) {
        /* Number n belongs to caller 43 n mod 50. */
        while (expected * 43 % TIMERS % 3 == 0)
            expected++;
        assert_int_equal(calls.list[i], expected);
    }
    must(cv_poller_wait(poller, -1, &err));
    cv_poller_free(poller);
}

static void keep_signal(void *context, int signal)
{
    *(int *)context = signal;
}

static void signals_arrive_and_the_mask_comes_back(void **state)
{
    const int signals[] = { SIGINT, SIGTERM };
    struct cv_poller *poller;
    struct cv_pipe pipe;
    sigset_t before, after;
    int got = 0;

    (void)state;
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    must(cv_poller_new(&poller, &err));
    must(cv_poller_signals(poller, signals, 2, keep_signal, &got, &err));
    assert_false(sigismember(cv_poller_old_mask(poller), SIGTERM));
    raise(SIGTERM);
    must(cv_poller_wait(poller, 10, &err));
    assert_int_equal(got, SIGTERM);

    /* A broken pipe is an error and no more, also when the poller has gone. */
    must(cv_pipe_open(&pipe, &err));
    cv_close(&pipe.read);
    assert_int_equal(write(pipe.write, "x", 1), -1);
    assert_int_equal(errno, EPIPE);
    cv_pipe_close(&pipe);
    cv_poller_free(poller);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    for (int signal = 1; signal < SIGRTMIN; signal++)
        assert_int_equal(sigismember(&before, signal), sigismember(&after, signal));
}

/* A stopped process cleans up: the same signal once more does not end it during that
 * time. */
static void signals_that_are_held_stay_blocked(void **state)
{
    const int signals[] = { SIGINT, SIGTERM };
    struct cv_poller *poller;
    sigset_t before, after, pending;
    int got = 0;

    (void)state;
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    must(cv_poller_new(&poller, &err));
    must(cv_poller_signals(poller, signals, 2, keep_signal, &got, &err));
    raise(SIGTERM);
    must(cv_poller_wait(poller, 10, &err));
    cv_poller_hold_signals(poller);
    raise(SIGTERM); /* says nothing new */
    cv_poller_free(poller);
    sigpending(&pending);
    assert_false(sigismember(&pending, SIGTERM));
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    assert_true(sigismember(&after, SIGTERM) && sigismember(&after, SIGINT));
    assert_int_equal(sigismember(&before, SIGPIPE), sigismember(&after, SIGPIPE));
    raise(SIGTERM); /* would have ended this process */
    assert_int_equal(sigwaitinfo(&after, NULL), SIGTERM);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void a_bad_descriptor_is_an_error(void **state)
{
    struct cv_poller *poller;
    struct caller caller = { .number = 1 };
    struct cleave_error error;

    (void)state;
    must(cv_poller_new(&poller, &err));
    assert_int_equal(cv_poller_add(poller, &caller.watch, 1 << 20, CV_READABLE,
                                   watch_called, &caller, &error),
                     CLEAVE_EENGINE);
    assert_non_null(strstr(error.text, "descriptor 1048576"));
    cv_poller_remove(poller, &caller.watch);
    cv_poller_free(poller);
    cv_poller_free(NULL);
}

/* All commands without an input share one, which a command does not lose while it gets its own. */
static void there_is_one_descriptor_for_no_input(void **state)
{
    struct cv_poller *poller;
    int first, second;
    char byte;

    (void)state;
    must(cv_poller_new(&poller, &err));
    must(cv_poller_null(poller, &first, &err));
    must(cv_poller_null(poller, &second, &err));
    assert_int_equal(first, second);
    assert_true(first > 2);
    assert_int_equal(read(first, &byte, 1), 0);
    cv_poller_free(poller);
    assert_int_equal(read(first, &byte, 1), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pipe_reports_readiness),
        cmocka_unit_test(a_removed_callback_is_not_called),
        cmocka_unit_test(a_late_timer_waits_for_arrived_events),
        cmocka_unit_test(timers_are_called_in_order),
        cmocka_unit_test(signals_arrive_and_the_mask_comes_back),
        cmocka_unit_test(signals_that_are_held_stay_blocked),
        cmocka_unit_test(a_bad_descriptor_is_an_error),
        cmocka_unit_test(there_is_one_descriptor_for_no_input),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
