/* test_run_gate.c -- when there is room for another command. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <fcntl.h>
#include <unistd.h>

#include "run/kit/gate.h"

enum { MOST = 60 };

static struct cv_gate_crowd crowd;

static struct cv_gate_crowd look(void *context)
{
    (void)context;
    return crowd;
}

/* Whichever descriptors are free, they have to suffice: the lowest one says nothing of those above. */
static void descriptors_are_counted_whatever_their_order(void **state)
{
    const struct cv_gate gate = { .most_files = MOST, .look = look };
    bool ours[MOST] = { false };
    struct cleave_error err;

    (void)state;
    crowd = (struct cv_gate_crowd){ .busy = 2, .workers = 8 };
    for (int fd = 0; fd < MOST; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            ours[fd] = dup2(STDERR_FILENO, fd) == fd;
    assert_int_equal(cv_gate_room(&gate, &err), CLEAVE_ESCARCE);
    for (int fd = 20, closed = 0; closed < 2; fd++)
        if (ours[fd]) {
            close(fd);
            ours[fd] = false;
            closed++;
        }
    assert_int_equal(cv_gate_room(&gate, &err), CLEAVE_ESCARCE);
    /* One command can always try. */
    crowd.busy = 0;
    assert_int_equal(cv_gate_room(&gate, &err), CLEAVE_OK);
    crowd.busy = 2;
    for (int fd = 0; fd < MOST - 1; fd++)
        if (ours[fd])
            close(fd);
    assert_int_equal(cv_gate_room(&gate, &err), CLEAVE_OK);
    if (ours[MOST - 1])
        close(MOST - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(descriptors_are_counted_whatever_their_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
