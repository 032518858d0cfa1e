/* nosignal_thread.c -- threads that no signal goes to. SPDX-License-Identifier: MIT */
#include "run/common/nosignal_thread.h"

#include <signal.h>

int cv_nosignal_thread_create(pthread_t *thread, const pthread_attr_t *attributes,
                              void *(*work)(void *context), void *context)
{
    sigset_t all, before;
    int error;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(thread, attributes, work, context);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}
