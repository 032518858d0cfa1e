/* pour.h -- a thread that pours what it decodes into a pipe. SPDX-License-Identifier: MIT */
#ifndef CV_POUR_H
#define CV_POUR_H
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <cleave/error.h>

/* A thread that no signal goes to. */
enum cleave_status cv_pour_start(pthread_t *out, void *(*work)(void *context),
                                 void *context, struct cleave_error *err);
/* False: nobody reads any more. */
bool cv_pour(int fd, const char *bytes, size_t length);

#endif
