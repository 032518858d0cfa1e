/* signal_name.c -- names and states of signals.
 * SPDX-License-Identifier: MIT */
#include "base/signal_name.h"

#include <ctype.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

const char *cv_signal_name(int signal, char buffer[CV_SIGNAL_ROOM])
{
    const char *name = sigabbrev_np(signal);

    if (name != NULL)
        snprintf(buffer, CV_SIGNAL_ROOM, "SIG%s", name);
    else
        snprintf(buffer, CV_SIGNAL_ROOM, "signal %d", signal);
    return buffer;
}

const char *cv_signal_text(int signal, char buffer[CV_SIGNAL_ROOM])
{
    const char *meaning = sigdescr_np(signal);
    size_t length;

    cv_signal_name(signal, buffer);
    length = strlen(buffer);
    if (meaning == NULL || sigabbrev_np(signal) == NULL)
        return buffer;
    /* Not "I/O possible" or "CPU time limit exceeded". */
    if (isupper((unsigned char)meaning[0]) && islower((unsigned char)meaning[1]))
        snprintf(buffer + length, CV_SIGNAL_ROOM - length, " (%c%s)",
                 tolower((unsigned char)meaning[0]), meaning + 1);
    else
        snprintf(buffer + length, CV_SIGNAL_ROOM - length, " (%s)", meaning);
    return buffer;
}

bool cv_signal_is_ignored(int signal)
{
    struct sigaction now;

    return sigaction(signal, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 &&
           now.sa_handler == SIG_IGN;
}

static _Thread_local bool without_signals;
static _Thread_local const atomic_bool *stopped;

void cv_signal_replace(bool signals, const atomic_bool *stop)
{
    without_signals = !signals;
    stopped = stop;
}

bool cv_signal_waits(bool hangup)
{
    static const int stop[] = { SIGINT, SIGTERM, SIGUSR1, SIGHUP };
    sigset_t set;

    if (stopped != NULL && atomic_load(stopped))
        return true;
    if (without_signals || sigpending(&set) != 0)
        return false;
    for (size_t i = 0; i < sizeof stop / sizeof *stop - !hangup; i++)
        if (sigismember(&set, stop[i]) == 1 && !cv_signal_is_ignored(stop[i]))
            return true;
    return false;
}
