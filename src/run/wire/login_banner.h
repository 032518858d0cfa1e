/* login_banner.h -- what login scripts print before the first frame. SPDX-License-Identifier: MIT
 *
 * A .bashrc that greets its user, or a module that says what it has loaded, comes over ssh before all
 * else. It is no part of what is said, and as frames can be told from text, it does no harm. */
#ifndef CV_LOGIN_BANNER_H
#define CV_LOGIN_BANNER_H
#include <stddef.h>

enum { CV_PREAMBLE_MOST = 64 * 1024 }; /* more than that is something else */

/* How many bytes there are before the first frame; all of them if none has begun. */
size_t cv_preamble_length(const unsigned char *bytes, size_t length);

#endif
