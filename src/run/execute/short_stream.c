/* short_stream.c -- is a stream a short one? SPDX-License-Identifier: MIT
 *
 * Of a stream nobody knows how much it is, so the first command is given what a pipe holds at
 * once. Where records are few and take long, as 4,000 names that somebody pipes in, that
 * may be a good part of all, and the others would wait for it. But such streams end at once. */
#include "run/execute/short_stream.h"

#include <math.h>

#include "base/fail.h"
#include "run/input/source.h"
#include "run/common/poller.h"
#include "run/master/progress_report.h"
#include "run/master/run_policy.h"

/* Longer than it takes a command that has written all to end, and shorter than anybody sees. */
#define SOON_S 0.01

enum { MUCH = 256 * 1024 }; /* more than that is no short one */

struct wait {
    struct cv_exec_run *run;
    double until_s; /* 0: nothing has come */
};

static void input_ready(void *context, unsigned events)
{
    struct wait *wait = context;
    struct cleave_error err;

    (void)events;
    if (!(wait->until_s > 0))
        wait->until_s = cv_clock_s() + SOON_S;
    if (cv_source_pump(wait->run->queue.source, &err) != CLEAVE_OK)
        cv_event_queue_fail(&wait->run->events, &err);
}

/* Whether sizes are chosen by those of the input, and by those who can be given a little at a time. */
static enum cleave_status is_worth_it(const struct cv_execution *execution, bool *out,
                                      struct cleave_error *err)
{
    const struct cv_exec_run *run = &execution->run;
    const struct cleave_policy *policy;

    CV_TRY(cv_run_policy_find(&execution->request->policy, &policy, err));
    *out = policy->opens_chunks && run->pool.hosts.count == 0 &&
           execution->request->items.words == NULL && cv_source_flows(run->queue.source);
    return CLEAVE_OK;
}

/* Whether it is still of use to wait: whoever stops the run, or reads no more, is attended to by the
 * run itself. One that is to be decoded is read from elsewhere as soon as that is seen. */
static bool may_be_short(struct wait *wait, int fd)
{
    struct cv_exec_run *run = wait->run;
    const struct cv_source *source = run->queue.source;

    return !run->events.broken && run->stopped_by == 0 &&
           cv_exec_run_written(run, NULL) == CLEAVE_OK && cv_source_wants(source) &&
           cv_source_poll_fd(source) == fd && cv_source_extent(source) < MUCH &&
           !(wait->until_s > 0 && cv_clock_s() >= wait->until_s);
}

enum cleave_status cv_short_stream_await(struct cv_execution *execution,
                                         struct cleave_error *err)
{
    struct cv_exec_run *run = &execution->run;
    const int fd = cv_source_poll_fd(run->queue.source);
    const double look_s = run->request->listener.progress != NULL ? CV_LOOK_S : -1;
    struct wait wait = { .run = run };
    struct cv_watch watch = { 0 };
    double shown_s = 0;
    enum cleave_status status;
    bool worth_it;

    CV_TRY(is_worth_it(execution, &worth_it, err));
    if (!worth_it)
        return CLEAVE_OK;
    run->events.began_s = execution->began_s;
    status = cv_poller_add(run->poller, &watch, fd, CV_READABLE, input_ready, &wait, err);
    while (status == CLEAVE_OK && may_be_short(&wait, fd)) {
        cv_progress_look(run, &shown_s);
        status = cv_poller_wait(run->poller,
                                wait.until_s > 0 ? fmax(0, wait.until_s - cv_clock_s())
                                                 : look_s,
                                err);
    }
    cv_poller_remove(run->poller, &watch);
    return status;
}
