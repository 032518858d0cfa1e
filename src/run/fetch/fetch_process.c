/* fetch_process.c -- a command whose output is read by who waits for it.
 * SPDX-License-Identifier: MIT */
#include "run/fetch/fetch_process.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/signal_name.h"

enum { LOOK_MS = 100 }; /* for signals, which no descriptor tells */

static bool is_signalled(void)
{
    sigset_t set;

    return cv_signal_waits() ||
           (sigpending(&set) == 0 && sigismember(&set, SIGHUP) == 1 &&
            !cv_signal_is_ignored(SIGHUP));
}

/* Until `fd` (-1: none) has something to say, or so long (-1: as long as it takes). Whether
 * nobody wants it any more. */
static bool wait_for(int fd, int results, int most_ms)
{
    /* Of the end to write to, that its reader is gone is all that is asked. */
    struct pollfd both[] = { { .fd = fd, .events = POLLIN }, { .fd = results } };

    for (;;) {
        int now = most_ms;
        int ready;

        if (results < 0) {
            if (is_signalled())
                return true;
            now = most_ms < 0 || most_ms > LOOK_MS ? LOOK_MS : most_ms;
        }
        ready = poll(both, 2, now);
        if (results >= 0 && both[1].revents != 0)
            return true;
        if (ready > 0 || (ready < 0 && errno != EINTR))
            return false;
        if (most_ms >= 0 && (most_ms -= now) <= 0)
            return false;
    }
}

enum cleave_status cv_fetching_start(struct cv_fetching *fetching, const char *line,
                                     const char *name, int results,
                                     struct cleave_error *err)
{
    const char *const words[] = { "/bin/sh", "-c", line, NULL };
    enum cleave_status status;

    *fetching = (struct cv_fetching){ .pipe = { -1, -1 }, .results = results };
    CV_TRY(cv_command_init(&fetching->command, NULL, words, err));
    status = cv_command_set(&fetching->command, "CLEAVE_INPUT", name, err);
    if (status == CLEAVE_OK)
        status = cv_pipe_open(&fetching->pipe, err);
    if (status == CLEAVE_OK)
        status = cv_process_start(&fetching->process, &fetching->command,
                                  &(struct cv_process_files){ .in = -1,
                                                              .out = fetching->pipe.write,
                                                              .errors = -1,
                                                              .extra = -1 },
                                  NULL, err);
    cv_close(&fetching->pipe.write);
    if (status == CLEAVE_OK)
        return CLEAVE_OK;
    cv_pipe_close(&fetching->pipe);
    cv_command_done(&fetching->command);
    return status;
}

ssize_t cv_fetching_read(struct cv_fetching *fetching, char *out, size_t max,
                         bool *stopped)
{
    ssize_t got;

    do {
        *stopped = wait_for(fetching->pipe.read, fetching->results, -1);
        got = *stopped ? 0 : read(fetching->pipe.read, out, max);
    } while (got < 0 && errno == EINTR);
    return got > 0 ? got : 0;
}

void cv_fetching_kill(struct cv_fetching *fetching)
{
    cv_process_kill(&fetching->process);
    cv_pipe_close(&fetching->pipe);
    cv_command_done(&fetching->command);
}

bool cv_fetching_end(struct cv_fetching *fetching, bool *stopped, char *why, size_t room)
{
    struct cv_process *process = &fetching->process;
    bool well;

    while (!*stopped && !cv_process_reap(process))
        *stopped = wait_for(process->pidfd, fetching->results, -1);
    well = process->exit_code == 0;
    if (process->signal != 0)
        snprintf(why, room, "by signal %d", process->signal);
    else
        snprintf(why, room, "with status %d", process->exit_code);
    cv_fetching_kill(fetching);
    return well || *stopped;
}

bool cv_fetching_pause(int pause_ms, int results)
{
    return wait_for(-1, results, pause_ms);
}
