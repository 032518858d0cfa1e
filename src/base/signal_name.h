/* signal_name.h -- names and states of signals.
 * SPDX-License-Identifier: MIT */
#ifndef CV_SIGNAL_NAME_H
#define CV_SIGNAL_NAME_H
#include <stdatomic.h>
#include <stdbool.h>

enum { CV_SIGNAL_ROOM = 64 };

/* "SIGSEGV (segmentation fault)", or "signal 40" without a name. Both return `buffer`. */
const char *cv_signal_text(int signal, char buffer[CV_SIGNAL_ROOM]);
/* "SIGSEGV" alone. */
const char *cv_signal_name(int signal, char buffer[CV_SIGNAL_ROOM]);
/* Ignored by the parent process: SIGHUP by nohup, SIGINT by shells for background
 * processes. */
bool cv_signal_is_ignored(int signal);
/* Whether a blocked SIGINT, SIGTERM, SIGUSR1 or, if `hangup`, SIGHUP that is not ignored is pending,
 * or what cv_signal_replace has named is true: for long computations. */
bool cv_signal_waits(bool hangup);
/* From now on cv_signal_waits looks in this thread at signals only if `signals`, and at *stop unless
 * `stop` is NULL. */
void cv_signal_replace(bool signals, const atomic_bool *stop);

#endif
