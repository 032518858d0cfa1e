/* decode_ahead.h -- a compressed input, decoded before its bytes are asked for.
 * SPDX-License-Identifier: MIT
 *
 * By several threads if the format allows it, else by one. Output and errors do not depend on the
 * number of threads. */
#ifndef CV_DECODE_AHEAD_H
#define CV_DECODE_AHEAD_H
#include "run/decode/decoder.h"

/* The first member of each implementation. */
struct cv_ahead {
    /* The next bytes, borrowed until the next call; length 0 at the end. */
    enum cleave_status (*next)(struct cv_ahead *ahead, const void **bytes, size_t *length,
                               struct cleave_error *err);
    /* After a failure: whether it failed inside a member. */
    bool (*inside)(const struct cv_ahead *ahead);
    /* Offset in the file of the member of the last bytes; only with `members`. */
    uint64_t (*member)(const struct cv_ahead *ahead);
    /* A blocked read of the input must have been interrupted before. */
    void (*free)(struct cv_ahead *ahead);
};

/* Another thread may read the input. members: `member` will be called. *out is owned by the
 * caller. */
enum cleave_status cv_ahead_open(const struct cv_codec *codec,
                                 const struct cv_decoder_input *input, unsigned threads,
                                 bool members, struct cv_ahead **out,
                                 struct cleave_error *err);

/* --- a thread that decodes into memory of its reader ------------------------------------------ */

struct cv_decode_thread;

struct cv_decode_thread_options {
    const struct cv_codec *codec;
    const char *name;  /* borrowed while the thread runs: for messages           */
    int fd;            /* borrowed while the thread runs                         */
    const void *first; /* borrowed for the call: bytes that were read from fd    */
    size_t nfirst;
    unsigned cores; /* 0: all that this process may use */
};

/* *out is owned by the caller. */
enum cleave_status cv_decode_thread_start(const struct cv_decode_thread_options *options,
                                          struct cv_decode_thread **out,
                                          struct cleave_error *err);
/* Borrowed: readable when cv_decode_thread_read would not fail with EAGAIN. */
int cv_decode_thread_fd(const struct cv_decode_thread *decoding);
/* read(2) of up to `max` bytes that does not wait. The thread may write to all `room` bytes at `to`
 * until the next call, which must pass the address after the bytes returned and at least the rest
 * of the room, or any address if the room was used up. */
ssize_t cv_decode_thread_read(struct cv_decode_thread *decoding, void *to, size_t room,
                              size_t max);
/* After the end: the status of the thread. *torn: it failed inside a member. */
enum cleave_status cv_decode_thread_end(struct cv_decode_thread *decoding, bool *torn,
                                        struct cleave_error *err);
void cv_decode_thread_free(struct cv_decode_thread *decoding);

#endif
