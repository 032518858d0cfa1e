/* stderr_marker.h -- the line by which a worker begins on standard error. SPDX-License-Identifier: MIT
 *
 * What a login says there and what commands say there comes over one stream, and that may be later than
 * what the worker says in frames: only a line in between tells them apart. The master makes a key for each
 * connection and tells it in its hello, so that nobody else writes such a line. */
#ifndef CV_STDERR_MARKER_H
#define CV_STDERR_MARKER_H
#include <stdint.h>

enum { CV_BEGIN_MARK_ROOM = 48 };

/* Never 0, which asks for no mark. */
uint64_t cv_begin_mark_key(void);
/* The line, with its end. */
void cv_begin_mark(uint64_t key, char out[CV_BEGIN_MARK_ROOM]);

#endif
