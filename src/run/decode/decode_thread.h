/* decode_thread.h -- a thread that decodes an input for another. SPDX-License-Identifier: MIT */
#ifndef CV_DECODE_THREAD_H
#define CV_DECODE_THREAD_H
#include <sys/types.h>
#include <cleave/error.h>
#include "run/decode/codec.h"

struct cv_decode_thread;

struct cv_decode_thread_options {
    const struct cv_codec *codec;
    const char *name;  /* borrowed while it is at work: for messages         */
    int fd;            /* borrowed while it is at work: read from, to the end */
    const void *first; /* borrowed for the call: bytes that were read of it before */
    size_t nfirst;
    unsigned cores; /* that may be used; 0: all that this process may              */
};

/* Begin. *out is owned by the caller. */
enum cleave_status cv_decode_thread_start(const struct cv_decode_thread_options *options,
                                          struct cv_decode_thread **out,
                                          struct cleave_error *err);
/* Borrowed: it can be read from when `read` would not say EAGAIN. */
int cv_decode_thread_fd(const struct cv_decode_thread *decoding);
/* As read(2) of up to `most` bytes that does not wait; its end is that of what could be decoded. The `room` bytes are
 * lent: what is decoded next is written there at any time. So the next call is for the place behind what this one gave,
 * with as much room at least as is left, or for any place if all of it was given. */
ssize_t cv_decode_thread_read(struct cv_decode_thread *decoding, void *to, size_t room,
                              size_t max);
/* When that was met: whether all could be decoded; if not, *torn: not even all of what the
 * last bytes belong to. */
enum cleave_status cv_decode_thread_end(struct cv_decode_thread *decoding, bool *torn,
                                        struct cleave_error *err);
/* Stop it, wherever it is. */
void cv_decode_thread_free(struct cv_decode_thread *decoding);

#endif
