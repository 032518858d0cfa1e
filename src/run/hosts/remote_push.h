/* remote_push.h -- take a copy of cleave to another machine. SPDX-License-Identifier: MIT
 *
 * A command is run with the program as its input. */
#ifndef CV_REMOTE_PUSH_H
#define CV_REMOTE_PUSH_H
#include <cleave/error.h>
#include <cleave/execute.h>
#include "run/common/poller.h"
#include "run/common/process.h"

struct cv_push {
    struct cv_poller *poller; /* borrowed, as all here but what is named owned          */
    const struct cleave_copy *copies; /* that can be asked for                          */
    size_t ncopies;
    const struct cleave_copy *copy; /* the one that is taken there                      */
    double patience_s; /* so long it may take                                    */
    /* The copy is there, or why it is not; called once, perhaps from within
     * cv_push_start. */
    void (*ended)(void *context, const struct cleave_error *err);
    void *context;

    struct cv_process process; /* owned                                                 */
    struct cv_watch watch;
    struct cv_timer timer;
};

/* What a connection that ended with this status asks for; NULL: nothing. */
const struct cleave_copy *cv_push_asked(const struct cv_push *push, int exit_code);
void cv_push_start(struct cv_push *push);
/* Forget it; nothing is told. One that was never started has a pidfd of -1. */
void cv_push_done(struct cv_push *push);

#endif
