/* flow.h -- a thread that writes bytes into a pipe. SPDX-License-Identifier: MIT */
#ifndef CV_FLOW_H
#define CV_FLOW_H
#include <pthread.h>
#include <stdbool.h>
#include "run/kit/process.h"

/* Who starts it has it as its first member, and more behind it. */
struct cv_flow {
    struct cv_pipe pipe; /* its end to write to is the thread's */
    pthread_t thread;
    bool running;
    enum cleave_status (*work)(struct cv_flow *flow, struct cleave_error *err);
    enum cleave_status status; /* of the thread, when it has ended */
    struct cleave_error err;
};

/* `what` it does, for messages: "decodes". `flow` is all zero. */
enum cleave_status cv_flow_start(struct cv_flow *flow,
                                 enum cleave_status (*work)(struct cv_flow *flow,
                                                            struct cleave_error *err),
                                 const char *what, struct cleave_error *err);
/* The end to read from, borrowed. */
int cv_flow_fd(const struct cv_flow *flow);
/* For the thread: false if nobody reads any more. */
bool cv_flow_write(struct cv_flow *flow, const char *bytes, size_t length);
/* That had an end: why. CLEAVE_OK: there are no more bytes. */
enum cleave_status cv_flow_end(struct cv_flow *flow, struct cleave_error *err);
/* Nobody reads any more: wait for the thread, which learns of it by its pipe. */
void cv_flow_stop(struct cv_flow *flow);

#endif
