/* nosignal_thread.h -- threads that no signal goes to. SPDX-License-Identifier: MIT */
#ifndef CV_NOSIGNAL_THREAD_H
#define CV_NOSIGNAL_THREAD_H
#include <pthread.h>

/* As pthread_create, whose number of an error it returns; all signals that the process gets are
 * for other threads. */
int cv_nosignal_thread_create(pthread_t *thread, const pthread_attr_t *attributes,
                              void *(*work)(void *context), void *context);

#endif
