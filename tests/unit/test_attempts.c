/* test_attempts.c -- the states of an attempt. SPDX-License-Identifier: MIT */
#include "run/master/attempts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define ATTEMPT(state) CV_ATTEMPT_##state
#define EVENT(event) CV_EVENT_##event
#define ACTION(action) CV_ACTION_##action

/* The whole table, written down a second time. */
static const struct row {
    enum cv_attempt_state from;
    enum cv_attempt_event event;
    enum cv_attempt_state to;
    enum cv_attempt_action action;
} rows[] = {
#define ROW(from, event, to, action)                             \
    {                                                            \
        ATTEMPT(from), EVENT(event), ATTEMPT(to), ACTION(action) \
    }
#define END_ROWS(from)                                                 \
    ROW(from, SUCCESS, FREE, ACCEPT), ROW(from, FAILURE, FREE, FAIL),  \
        ROW(from, LOST, FREE, LOSE), ROW(from, LATER, FREE, POSTPONE), \
        ROW(from, DISCARD, FREE, NONE), ROW(from, TAKE_BACK, FREE, NONE)
    ROW(FREE, BEGIN, RUNNING, NONE),
    ROW(FREE, ORDER, DORMANT, NONE),
    END_ROWS(RUNNING),
    ROW(RUNNING, MISMATCH, FREE, REJECT),
    ROW(RUNNING, NO_START, FREE, RETRY_START),
    ROW(RUNNING, UNSTARTED, FREE, RETRY_START),
    ROW(DORMANT, START, OPEN, NONE),
    ROW(DORMANT, WITHDRAW, FREE, NONE),
    ROW(DORMANT, SETTLE, DORMANT, NONE),
    ROW(DORMANT, CLOSE, FREE, DROP),
    ROW(DORMANT, CLOSE_DUE, DORMANT_CLOSING, NONE),
    ROW(DORMANT, EMPTY_LOST, FREE, DROP_LOST),
    END_ROWS(OPEN),
    ROW(OPEN, NO_START, DORMANT, NONE),
    ROW(OPEN, SETTLE, OPEN, NONE),
    ROW(OPEN, CLOSE, CLOSED, CLOSE_INPUT),
    ROW(OPEN, CLOSE_DUE, CLOSING, NONE),
    ROW(OPEN, EMPTY_END, DORMANT, NONE),
    ROW(OPEN, EMPTY_LOST, FREE, DROP_LOST),
    ROW(OPEN, EMPTY_UNSTARTED, DORMANT, NONE),
    ROW(OPEN, UNSTARTED, FREE, PUT_BACK),
    ROW(DORMANT_CLOSING, START, CLOSING, NONE),
    ROW(DORMANT_CLOSING, SETTLE, FREE, DROP),
    ROW(DORMANT_CLOSING, EMPTY_LOST, FREE, DROP_LOST),
    END_ROWS(CLOSING),
    ROW(CLOSING, NO_START, DORMANT_CLOSING, NONE),
    ROW(CLOSING, SETTLE, CLOSED, CLOSE_INPUT),
    ROW(CLOSING, EMPTY_END, FREE, DROP),
    ROW(CLOSING, EMPTY_LOST, FREE, DROP_LOST),
    ROW(CLOSING, EMPTY_UNSTARTED, FREE, PUT_BACK),
    ROW(CLOSING, UNSTARTED, FREE, PUT_BACK),
    END_ROWS(CLOSED),
    ROW(CLOSED, SETTLE, CLOSED, NONE),
    ROW(CLOSED, EMPTY_END, FREE, DROP),
    ROW(CLOSED, EMPTY_LOST, FREE, DROP_LOST),
    ROW(CLOSED, EMPTY_UNSTARTED, FREE, PUT_BACK),
    ROW(CLOSED, UNSTARTED, FREE, PUT_BACK),
};
enum { NROWS = sizeof rows / sizeof *rows };

static const struct row *find(enum cv_attempt_state from, enum cv_attempt_event event)
{
    for (size_t i = 0; i < NROWS; i++)
        if (rows[i].from == from && rows[i].event == event)
            return &rows[i];
    return NULL;
}

static void every_transition_is_as_written_here(void **state)
{
    (void)state;
    for (unsigned from = 0; from < CV_ATTEMPT_STATES; from++)
        for (unsigned event = 0; event < CV_ATTEMPT_EVENTS; event++) {
            const struct row *row = find(from, event);
            struct cv_attempt attempt = { .state = from };

            assert_int_equal(cv_attempt_can(from, event), row != NULL);
            if (row == NULL)
                continue;
            assert_int_equal(cv_attempt_step(&attempt, event), row->action);
            assert_int_equal(attempt.state, row->to);
        }
}

/* From every state an attempt can become free, and every state can be reached. */
static void no_state_is_a_trap(void **state)
{
    bool frees[CV_ATTEMPT_STATES] = { [CV_ATTEMPT_FREE] = true };
    bool reached[CV_ATTEMPT_STATES] = { [CV_ATTEMPT_FREE] = true };

    (void)state;
    for (unsigned round = 0; round < CV_ATTEMPT_STATES; round++)
        for (size_t i = 0; i < NROWS; i++) {
            frees[rows[i].from] |= frees[rows[i].to];
            reached[rows[i].to] |= reached[rows[i].from];
        }
    for (unsigned i = 0; i < CV_ATTEMPT_STATES; i++) {
        assert_true(frees[i]);
        assert_true(reached[i]);
    }
}

static void states_answer_what_they_are(void **state)
{
    static const struct {
        enum cv_attempt_state state;
        bool open, closed, running;
    } cases[] = {
        { CV_ATTEMPT_FREE, false, false, false },
        { CV_ATTEMPT_RUNNING, false, false, true },
        { CV_ATTEMPT_DORMANT, true, false, false },
        { CV_ATTEMPT_OPEN, true, false, true },
        { CV_ATTEMPT_DORMANT_CLOSING, true, true, false },
        { CV_ATTEMPT_CLOSING, true, true, true },
        { CV_ATTEMPT_CLOSED, true, true, true },
    };

    (void)state;
    assert_int_equal(sizeof cases / sizeof *cases, CV_ATTEMPT_STATES);
    for (size_t i = 0; i < CV_ATTEMPT_STATES; i++) {
        const struct cv_attempt attempt = { .state = cases[i].state };

        assert_int_equal(cv_attempt_is_open(&attempt), cases[i].open);
        assert_int_equal(cv_attempt_is_closed(&attempt), cases[i].closed);
        assert_int_equal(cv_attempt_is_running(&attempt), cases[i].running);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_transition_is_as_written_here),
        cmocka_unit_test(no_state_is_a_trap),
        cmocka_unit_test(states_answer_what_they_are),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
