/* signal_name.h -- signals by their names. SPDX-License-Identifier: MIT */
#ifndef CV_SIGNAL_NAME_H
#define CV_SIGNAL_NAME_H

enum { CV_SIGNAL_ROOM = 64 };

/* "SIGSEGV (segmentation fault)", or "signal 40" for one that has no name. Both return
 * `buffer`. */
const char *cv_signal_text(int signal, char buffer[CV_SIGNAL_ROOM]);
/* "SIGSEGV" alone. */
const char *cv_signal_name(int signal, char buffer[CV_SIGNAL_ROOM]);

#endif
