/* packed_sink.h -- compress a stream into a file by several threads. SPDX-License-Identifier: MIT */
#ifndef CV_PACKED_SINK_H
#define CV_PACKED_SINK_H
#include <cleave/error.h>
#include "run/pieces/pack_format.h"

struct cv_packed_sink;

/* Bytes that are written to *out_descriptor are compressed and written to `fd`, which is borrowed. If
 * they begin as files of the format do, they are copied. *out is owned by the caller. */
enum cleave_status cv_packed_sink_open(const struct cv_pack_format *format, int fd,
                                       unsigned threads, struct cv_packed_sink **out,
                                       int *out_descriptor, struct cleave_error *err);
/* Close the descriptor, which nothing else may have open, complete the file and free the sink. Unless
 * the stream is `whole`, nothing is written for an empty one. After a failure of the file the
 * descriptor took no more (EPIPE). */
enum cleave_status cv_packed_sink_close(struct cv_packed_sink *sink, bool whole,
                                        struct cleave_error *err);

#endif
