/* remote_push.c -- take a copy of cleave to another machine. SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "run/hosts/remote_host.h"

/* A copy is some megabytes: it may take so many times as long as an answer. */
static const double LONGER = 12;

static void stop_watching(struct cv_host *host)
{
    cv_poller_remove(host->hosts->poller, &host->push_watch);
    cv_poller_cancel(host->hosts->poller, &host->timer);
}

static void fail_push(struct cv_host *host, const char *why)
{
    struct cleave_error err;

    stop_watching(host);
    cv_process_kill(&host->process);
    cv_fail(&err, CLEAVE_EENGINE, "cannot take a copy of cleave there: %s", why);
    cv_host_fail(host, &err);
}

static void pushed(void *context, unsigned events)
{
    struct cv_host *host = context;

    (void)events;
    stop_watching(host);
    cv_process_reap(&host->process);
    if (host->process.exit_code == 0)
        cv_host_connect(host);
    else
        fail_push(host, "the command that does it failed");
}

static void took_too_long(void *context)
{
    fail_push(context, "it takes too long");
}

static enum cleave_status start_push(struct cv_host *host, int file,
                                     struct cleave_error *err)
{
    struct cv_hosts *hosts = host->hosts;
    struct cv_command command = { 0 };
    enum cleave_status status = cv_command_init(&command, NULL, host->push, err);

    if (status == CLEAVE_OK)
        status = cv_process_start(&host->process, &command,
                                  &(struct cv_process_files){
                                      .in = file, .out = -1, .errors = -1, .extra = -1 },
                                  cv_poller_old_mask(hosts->poller), err);
    cv_command_done(&command);
    CV_TRY(status);
    CV_TRY(cv_poller_add(hosts->poller, &host->push_watch, host->process.pidfd,
                         CV_READABLE, pushed, host, err));
    return cv_poller_set(hosts->poller, &host->timer,
                         cv_clock_s() +
                             LONGER * hosts->execution->hosts.connect_timeout_s,
                         took_too_long, host, err);
}

void cv_host_push(struct cv_host *host)
{
    const int file = open(host->push_file, O_RDONLY | O_CLOEXEC);
    struct cleave_error err;

    cv_hosts_note(host->hosts, "%s: gets a copy of cleave", host->name);
    host->state = CV_HOST_CONNECTING;
    host->pushed = true;
    if (file < 0)
        fail_push(host, strerror(errno));
    else if (start_push(host, file, &err) != CLEAVE_OK)
        fail_push(host, err.text);
    if (file >= 0)
        close(file);
}
