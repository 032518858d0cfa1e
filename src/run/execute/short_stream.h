/* short_stream.h -- is a stream a short one? SPDX-License-Identifier: MIT */
#ifndef CV_SHORT_STREAM_H
#define CV_SHORT_STREAM_H
#include "run/execute/execution.h"

/* Before the run is planned: if the input is a stream, wait for its first bytes, and a moment
 * longer for its end while there is little of it. Then its size is known, as that of a file.
 * Nobody is kept waiting, since no command is started before something has come. */
enum cleave_status cv_short_stream_await(struct cv_execution *execution,
                                         struct cleave_error *err);

#endif
