/* signal_name.h -- names and states of signals.
 * SPDX-License-Identifier: MIT */
#ifndef CV_SIGNAL_NAME_H
#define CV_SIGNAL_NAME_H
#include <stdbool.h>

enum { CV_SIGNAL_ROOM = 64 };

/* "SIGSEGV (segmentation fault)", or "signal 40" without a name. Both return `buffer`. */
const char *cv_signal_text(int signal, char buffer[CV_SIGNAL_ROOM]);
/* "SIGSEGV" alone. */
const char *cv_signal_name(int signal, char buffer[CV_SIGNAL_ROOM]);
/* Ignored by the parent process: SIGHUP by nohup, SIGINT by shells for background
 * processes. */
bool cv_signal_is_ignored(int signal);
/* Whether a blocked SIGINT, SIGTERM or SIGUSR1 that is not ignored is pending: for long
 * computations. */
bool cv_signal_waits(void);

#endif
