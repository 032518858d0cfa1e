/* decode_ahead.h -- the bytes of a compressed input, decoded before they are asked for.
 * SPDX-License-Identifier: MIT
 *
 * By several threads where the form lets parts of an input be decoded apart, and else by one. All ways
 * give the bytes, and fail as, the decoder of decoder.h does. */
#ifndef CV_DECODE_AHEAD_H
#define CV_DECODE_AHEAD_H
#include <cleave/error.h>
#include <sys/types.h>
#include "run/decode/decoder.h"

/* What a way has as its first member. */
struct cv_ahead {
    /* The next bytes, borrowed until the next call; none at the end. */
    enum cleave_status (*next)(struct cv_ahead *ahead, const void **bytes, size_t *length,
                               struct cleave_error *err);
    /* After a failure: whether it was inside a member, of which bytes are missing then. */
    bool (*inside)(const struct cv_ahead *ahead);
    /* Where in the file the member of the bytes given last begins, if it was opened to tell. */
    uint64_t (*member)(const struct cv_ahead *ahead);
    /* A read of the input that waits must have been made to end. */
    void (*free)(struct cv_ahead *ahead);
};

/* The way for a form, with up to `threads` of them at work. The input is read by a thread of its own.
 * *out is owned by the caller. */
enum cleave_status cv_ahead_open(const struct cv_codec *codec,
                                 const struct cv_decoder_input *input, unsigned threads,
                                 struct cv_ahead **out, struct cleave_error *err);
/* The same; `file` is where the input lies, which may be read at other places, or NULL: it comes once. */
struct cv_ahead_file {
    int fd;          /* borrowed                                */
    uint64_t offset; /* in it, of the first byte of the input   */
    uint64_t size;   /* bytes of the input                      */
};

/* The same, to be asked for members, while nothing else is done: all threads are for it. */
enum cleave_status cv_ahead_open_members(const struct cv_codec *codec,
                                         const struct cv_decoder_input *input,
                                         const struct cv_ahead_file *file,
                                         unsigned threads, struct cv_ahead **out,
                                         struct cleave_error *err);

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
