/* pour.c -- a thread that pours what it decodes into a pipe. SPDX-License-Identifier: MIT */
#include "run/decode/pour.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"

enum cleave_status cv_pour_start(pthread_t *out, void *(*work)(void *context),
                                 void *context, struct cleave_error *err)
{
    sigset_t all, before;
    int error;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(out, NULL, work, context);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error == 0
               ? CLEAVE_OK
               : cv_fail(err, CLEAVE_EENGINE, "cannot start a thread that decodes: %s",
                         strerror(error));
}

bool cv_pour(int fd, const char *bytes, size_t length)
{
    while (length > 0) {
        const ssize_t put = write(fd, bytes, length);

        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        bytes += put;
        length -= (size_t)put;
    }
    return true;
}
