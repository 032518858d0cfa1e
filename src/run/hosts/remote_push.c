/* remote_push.c -- take a copy of cleave to another machine. SPDX-License-Identifier: MIT */
#include "run/hosts/remote_push.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"

void cv_push_done(struct cv_push *push)
{
    if (push->poller != NULL) {
        cv_poller_remove(push->poller, &push->watch);
        cv_poller_cancel(push->poller, &push->timer);
    }
    cv_process_kill(&push->process);
}

static void fail(struct cv_push *push, const char *why)
{
    struct cleave_error err;

    cv_push_done(push);
    cv_fail(&err, CLEAVE_EENGINE,
            "cannot take a copy of cleave there, into ~/.cache/cleave: %s; --remote FILE "
            "names one that is there",
            why);
    push->ended(push->context, &err);
}

static void command_ended(void *context, unsigned events)
{
    struct cv_push *push = context;

    (void)events;
    /* First this: a descriptor that a child has until it is another program stays watched
     * when we close it, and tells of the same end again. */
    cv_poller_remove(push->poller, &push->watch);
    cv_process_reap(&push->process);
    if (push->process.exit_code != 0) {
        fail(push, "the command that does it failed");
        return;
    }
    cv_push_done(push);
    push->ended(push->context, NULL);
}

static void took_too_long(void *context)
{
    fail(context, "it takes too long");
}

static enum cleave_status start(struct cv_push *push, int file, struct cleave_error *err)
{
    struct cv_command command = { 0 };
    enum cleave_status status = cv_command_init(&command, NULL, push->copy->push, err);

    if (status == CLEAVE_OK)
        status = cv_process_start(&push->process, &command,
                                  &(struct cv_process_files){
                                      .in = file, .out = -1, .errors = -1, .extra = -1 },
                                  cv_poller_old_mask(push->poller), err);
    cv_command_done(&command);
    CV_TRY(status);
    CV_TRY(cv_poller_add(push->poller, &push->watch, push->process.pidfd, CV_READABLE,
                         command_ended, push, err));
    return cv_poller_set(push->poller, &push->timer, cv_clock_s() + push->patience_s,
                         took_too_long, push, err);
}

const struct cleave_copy *cv_push_asked(const struct cv_push *push, int exit_code)
{
    if (exit_code < CLEAVE_HOST_LACKS ||
        (size_t)(exit_code - CLEAVE_HOST_LACKS) >= push->ncopies)
        return NULL;
    return &push->copies[exit_code - CLEAVE_HOST_LACKS];
}

void cv_push_start(struct cv_push *push)
{
    const int file = open(push->copy->file, O_RDONLY | O_CLOEXEC);
    struct cleave_error err;

    if (file < 0)
        fail(push, strerror(errno));
    else if (start(push, file, &err) != CLEAVE_OK)
        fail(push, err.text);
    if (file >= 0)
        close(file);
}
