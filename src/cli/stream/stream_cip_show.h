/* stream_cip_show.h -- the shortest round for all workers of one master.
 * SPDX-License-Identifier: MIT */
#ifndef CV_STREAM_CIP_SHOW_H
#define CV_STREAM_CIP_SHOW_H
#include "cli/stream/stream_options.h"

/* Find and print it, as text or JSON. Returns an exit status; what is wrong has been told. */
int cv_stream_cip_show(const struct cv_stream_case *streams,
                       const struct cv_stream_options *options, struct cv_arena *arena);

#endif
