/* cancel.c -- a request to stop runs, from any thread or signal handler.
 * SPDX-License-Identifier: MIT */
#include "run/common/cancel.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/argument.h"
#include "base/fail.h"

enum cleave_status cleave_cancel_new(struct cleave_cancel **out, struct cleave_error *err)
{
    struct cleave_cancel *cancel;

    CV_EXPECT_POINTER(out, err, "out");
    cancel = calloc(1, sizeof *cancel);
    if (cancel == NULL)
        return cv_fail_memory(err, "a request to stop");
    cancel->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (cancel->fd < 0) {
        const int error = errno;

        free(cancel);
        return cv_fail_errno(err, error, "cannot make an eventfd");
    }
    *out = cancel;
    return CLEAVE_OK;
}

void cleave_cancel_free(struct cleave_cancel *cancel)
{
    if (cancel == NULL)
        return;
    close(cancel->fd);
    free(cancel);
}

void cleave_cancel(struct cleave_cancel *cancel)
{
    const int before = errno;

    if (cancel == NULL)
        return;
    atomic_store(&cancel->called, true);
    (void)eventfd_write(cancel->fd, 1);
    errno = before;
}
