/* test_join_port.c -- a socket by which workers join a run. SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <cmocka.h>

#include "run/hosts/joining.h"

struct seen {
    unsigned joined, full;
    int reason;
};

static void joined(void *context, int fd)
{
    struct seen *seen = context;

    seen->joined++;
    close(fd);
}

static void full(void *context, int reason)
{
    struct seen *seen = context;

    seen->full++;
    seen->reason = reason;
}

/* Forbid new descriptors, or allow as many as before. */
static void allow_files(bool more)
{
    static rlim_t before;
    struct rlimit files;
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC); /* the lowest that is free */

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    if (!more)
        before = files.rlim_cur;
    assert_true(fd >= 0 || more);
    files.rlim_cur = more ? before : (rlim_t)fd;
    if (fd >= 0)
        close(fd);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
}

/* A host that waits while there are no descriptors causes one note, blocks no other, and
 * is let in later. */
static void waiting_hosts_are_let_in_later(void **state)
{
    char folder[] = "/tmp/cleave-join-XXXXXX", path[64];
    struct seen seen = { 0 };
    struct cv_join_port port = {
        .path = path, .joined = joined, .full = full, .context = &seen
    };
    struct cleave_error err;
    int there = -1;

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/socket", folder);
    assert_int_equal(cv_poller_new(&port.poller, &err), CLEAVE_OK);
    assert_int_equal(cv_join_port_open(&port, &err), CLEAVE_OK);
    assert_int_equal(cv_join_port_reach(path, &there, &err), CLEAVE_OK);
    allow_files(false);
    for (int i = 0; i < 5; i++)
        assert_int_equal(cv_poller_wait(port.poller, 0, &err), CLEAVE_OK);
    assert_int_equal(seen.full, 1);
    assert_int_equal(seen.reason, EMFILE);
    assert_int_equal(seen.joined, 0);
    allow_files(true);
    while (seen.joined == 0)
        assert_int_equal(cv_poller_wait(port.poller, -1, &err), CLEAVE_OK);
    assert_int_equal(seen.full, 1);
    close(there);
    {
        struct cv_poller *poller = port.poller;

        cv_join_port_close(&port);
        cv_poller_free(poller);
    }
    assert_int_equal(rmdir(folder), 0); /* the socket has gone as well */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waiting_hosts_are_let_in_later),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
