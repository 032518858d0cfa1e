/* process_end.c -- a descriptor that tells of the end of a process.
 * SPDX-License-Identifier: MIT */
#include "run/common/process_end.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fail.h"
#include "run/common/nosignal_thread.h"

enum { STACK = 128 << 10 };

struct waiter {
    pid_t pid;
    int told; /* owned: end of a pipe */
};

/* The process stays to be reaped. */
static void *wait_for(void *context)
{
    struct waiter *waiter = context;
    siginfo_t info;

    while (waitid(P_PID, (id_t)waiter->pid, &info, WEXITED | WNOWAIT) != 0 &&
           errno == EINTR)
        ;
    close(waiter->told);
    free(waiter);
    return NULL;
}

static int start_thread(pthread_t *thread, struct waiter *waiter)
{
    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);

    if (error != 0)
        return error;
    pthread_attr_setstacksize(&attributes, STACK);
    error = cv_nosignal_thread_create(thread, &attributes, wait_for, waiter);
    pthread_attr_destroy(&attributes);
    return error;
}

static enum cleave_status open_thread(struct cv_process_end *end, pid_t pid, int *fd,
                                      struct cleave_error *err)
{
    struct waiter *waiter = malloc(sizeof *waiter);
    int ends[2] = { -1, -1 }, error = 0;

    if (waiter == NULL)
        return cv_fail_memory(err, "a process");
    if (pipe2(ends, O_CLOEXEC) != 0)
        error = errno;
    *waiter = (struct waiter){ pid, ends[1] };
    if (error == 0)
        error = start_thread(&end->thread, waiter);
    if (error == 0) {
        end->threaded = true;
        *fd = ends[0];
        return CLEAVE_OK;
    }
    for (int i = 0; i < 2 && ends[i] >= 0; i++)
        close(ends[i]);
    free(waiter);
    return cv_fail(err, CLEAVE_EENGINE, "cannot watch a process: %s", strerror(error));
}

enum cleave_status cv_process_end_open(struct cv_process_end *end, pid_t pid, int *fd,
                                       struct cleave_error *err)
{
    const int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);

    *end = (struct cv_process_end){ .threaded = false };
    if (pidfd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
        return cv_fail(err, errno == ENOMEM ? CLEAVE_EENGINE : CLEAVE_ERESOURCES,
                       "cannot watch a process: %s%s", strerror(errno),
                       errno == EMFILE ? " (ulimit -n says how many)" : "");
    if (pidfd < 0)
        return open_thread(end, pid, fd, err);
    *fd = pidfd;
    return CLEAVE_OK;
}

void cv_process_end_close(struct cv_process_end *end)
{
    if (end->threaded)
        pthread_join(end->thread, NULL);
    end->threaded = false;
}
