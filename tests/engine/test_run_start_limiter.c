/* test_run_start_limiter.c -- when there is room for another command. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <fcntl.h>
#include <unistd.h>

#include "run/common/start_limiter.h"

enum { MOST = 60 };

static struct cv_start_usage crowd;

static struct cv_start_usage look(void *context)
{
    (void)context;
    return crowd;
}

/* Whichever descriptors are free, they have to suffice: the lowest one says nothing of those above. */
static void descriptors_are_counted_whatever_their_order(void **state)
{
    const struct cv_start_limiter limiter = { .most_files = MOST,
                                              .workers = 8,
                                              .look = look };
    bool ours[MOST] = { false };
    struct cleave_error err;

    (void)state;
    crowd = (struct cv_start_usage){ .busy = 2 };
    for (int fd = 0; fd < MOST; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            ours[fd] = dup2(STDERR_FILENO, fd) == fd;
    assert_int_equal(cv_start_limiter_room(&limiter, &err), CLEAVE_ERESOURCES);
    for (int fd = 20, closed = 0; closed < 2; fd++)
        if (ours[fd]) {
            close(fd);
            ours[fd] = false;
            closed++;
        }
    assert_int_equal(cv_start_limiter_room(&limiter, &err), CLEAVE_ERESOURCES);
    /* One command can always try. */
    crowd.busy = 0;
    assert_int_equal(cv_start_limiter_room(&limiter, &err), CLEAVE_OK);
    crowd.busy = 2;
    for (int fd = 0; fd < MOST - 1; fd++)
        if (ours[fd])
            close(fd);
    assert_int_equal(cv_start_limiter_room(&limiter, &err), CLEAVE_OK);
    if (ours[MOST - 1])
        close(MOST - 1);
}

/* For whatever ends by itself one waits longer than where there is nothing like that. */
static void where_nothing_ends_one_moment_is_enough(void **state)
{
    struct cv_start_limiter limiter = { .look = look };
    bool patient = false;

    (void)state;
    assert_false(cv_start_limiter_is_stuck(&limiter));
    crowd = (struct cv_start_usage){ .held = 2 };
    limiter.crowded_s = cv_clock_s() - 0.1;
    assert_true(cv_start_limiter_is_stuck(&limiter));
    limiter.crowded_s = cv_clock_s() + 1000;
    assert_false(cv_start_limiter_is_stuck(&limiter));
    /* A machine that is too busy for this may be so for a while. */
    crowd.busy = 1;
    for (int i = 0; i < 1000 && !patient; i++) {
        limiter.crowded_s = cv_clock_s() - 0.1;
        patient = !cv_start_limiter_is_stuck(&limiter);
    }
    assert_true(patient);
    limiter.crowded_s = cv_clock_s() - 1;
    assert_true(cv_start_limiter_is_stuck(&limiter));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(descriptors_are_counted_whatever_their_order),
        cmocka_unit_test(where_nothing_ends_one_moment_is_enough),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
