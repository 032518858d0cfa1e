/* signal_name.h -- signals by their names, and those that are ignored.
 * SPDX-License-Identifier: MIT */
#ifndef CV_SIGNAL_NAME_H
#define CV_SIGNAL_NAME_H
#include <stdbool.h>

enum { CV_SIGNAL_ROOM = 64 };

/* "SIGSEGV (segmentation fault)", or "signal 40" for one that has no name. Both return
 * `buffer`. */
const char *cv_signal_text(int signal, char buffer[CV_SIGNAL_ROOM]);
/* "SIGSEGV" alone. */
const char *cv_signal_name(int signal, char buffer[CV_SIGNAL_ROOM]);
/* Whether it is to do nothing, as whoever started us has said: nohup of SIGHUP, shells of SIGINT
 * for what runs in the background. One that is blocked is not discarded for that. */
bool cv_signal_is_ignored(int signal);
/* Whether SIGINT, SIGTERM or SIGUSR1 has come, is blocked and not ignored: for work that does not wait
 * for anything and takes long. */
bool cv_signal_waits(void);

#endif
