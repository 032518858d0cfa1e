/* codec.h -- what forms of compression have to be able to do. SPDX-License-Identifier: MIT
 *
 * A form is a row in CV_CODEC_MAP and a file codec_NAME.c. Its files are members one behind
 * the other (gzip calls them so; frames of zstd and lz4, streams of xz and bzip2), and each
 * of them can be decoded by itself. */
#ifndef CV_CODEC_H
#define CV_CODEC_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CV_CODEC_MAP(X) \
    X(GZIP, gzip)       \
    X(BGZF, bgzf)       \
    X(ZSTD, zstd)       \
    X(XZ, xz)           \
    X(BZIP2, bzip2)     \
    X(LZ4, lz4)

enum cv_codec_step {
    CV_CODEC_MORE, /* all input is used: give more, or it is cut short             */
    CV_CODEC_MADE, /* bytes were made: take them and ask again                     */
    CV_CODEC_OVER, /* the member is over; bytes may have been made                 */
    CV_CODEC_BAD,  /* it is damaged: *why, a constant text, says what was met      */
    CV_CODEC_LACK, /* it needs what is not in the file: *why, a text, says what    */
    CV_CODEC_FULL, /* there is no memory for it                                    */
};

/* What is used of the input is taken off `in` and `length`; what was made is `out`, which
 * stays until the next step. */
struct cv_codec_io {
    const uint8_t *in;
    size_t length;
    uint64_t at; /* where in the file `in` is, at first */
    const uint8_t *out;
    size_t made;
    const char *why;
};

struct cv_codec {
    const char *name;
    /* Whether a member begins with these bytes, as far as they go: there are as many as
     * CV_CODEC_HEAD unless the input ends before. */
    bool (*begins)(const uint8_t *bytes, size_t length);
    bool pads; /* zeros may stand behind a member                                       */
    void *(*open)(void);        /* NULL: no memory                                    */
    bool (*begin)(void *state); /* a member; false: no memory                           */
    enum cv_codec_step (*step)(void *state, struct cv_codec_io *io);
    void (*close)(void *state);
};

enum { CV_CODEC_HEAD = 18, CV_CODEC_OUT = 128 * 1024 };

#define CV_CODEC_DECLARE(upper, lower) extern const struct cv_codec cv_codec_##lower;
CV_CODEC_MAP(CV_CODEC_DECLARE)
#undef CV_CODEC_DECLARE

#endif
