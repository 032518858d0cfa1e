/* flow.c -- a thread that writes bytes into a pipe. SPDX-License-Identifier: MIT */
#include "run/kit/flow.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

#include "base/fail.h"
#include "base/write_all.h"
#include "run/kit/quiet_thread.h"

enum { ROOM = 256 * 1024, FEW_CORES = 8 };

/* A wide pipe saves a run up to 7 % of its time, 4 % as a rule. All pipes of a user may
 * hold 64 MiB, and new ones are next to useless beyond that: no more where there may be many. */
static size_t room(void)
{
    cpu_set_t cores;

    return sched_getaffinity(0, sizeof cores, &cores) == 0 &&
                   CPU_COUNT(&cores) <= FEW_CORES
               ? (size_t)CV_PIPE_WIDE
               : (size_t)ROOM;
}

static void *begin(void *context)
{
    struct cv_flow *flow = context;

    flow->status = flow->work(flow, &flow->err);
    cv_close(&flow->pipe.write);
    return NULL;
}

enum cleave_status cv_flow_start(struct cv_flow *flow,
                                 enum cleave_status (*work)(struct cv_flow *flow,
                                                            struct cleave_error *err),
                                 const char *what, struct cleave_error *err)
{
    int error;

    flow->work = work;
    flow->pipe = (struct cv_pipe){ -1, -1 };
    CV_TRY(cv_pipe_open(&flow->pipe, err));
    cv_pipe_widen(flow->pipe.write, room());
    error = cv_quiet_thread(&flow->thread, NULL, begin, flow);
    flow->running = error == 0;
    if (error == 0)
        return CLEAVE_OK;
    cv_pipe_close(&flow->pipe);
    /* Threads count as processes, and others end. */
    if (error == EAGAIN)
        return cv_fail(err, CLEAVE_ESCARCE,
                       "cannot start a thread that %s: too many processes (ulimit -u "
                       "says how many)",
                       what);
    return cv_fail(err, CLEAVE_EENGINE, "cannot start a thread that %s: %s", what,
                   strerror(error));
}

int cv_flow_fd(const struct cv_flow *flow)
{
    return flow->pipe.read;
}

bool cv_flow_write(struct cv_flow *flow, const char *bytes, size_t length)
{
    return cv_write_all(flow->pipe.write, bytes, length) == 0;
}

enum cleave_status cv_flow_end(struct cv_flow *flow, struct cleave_error *err)
{
    if (flow->running)
        pthread_join(flow->thread, NULL);
    flow->running = false;
    if (flow->status != CLEAVE_OK && err != NULL)
        *err = flow->err;
    return flow->status;
}

void cv_flow_stop(struct cv_flow *flow)
{
    cv_close(&flow->pipe.read);
    if (flow->running)
        pthread_join(flow->thread, NULL);
    flow->running = false;
    cv_pipe_close(&flow->pipe);
}
