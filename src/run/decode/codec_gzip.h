/* codec_gzip.h -- what decodes gzip, for who goes ahead of it. SPDX-License-Identifier: MIT */
#ifndef CV_CODEC_GZIP_H
#define CV_CODEC_GZIP_H
#include "run/decode/decoder.h"
#include "run/inflate/inflate.h"

enum {
    CV_GZIP_FIXED = 10, /* bytes of a head that are always there       */
    CV_GZIP_ROOM = CV_INFLATE_WINDOW + CV_CODEC_OUT,
    CV_GZIP_BODY = 6, /* `part`, where `inflate` is at work           */
};

struct cv_gzip {
    struct cv_inflate inflate;
    unsigned part;              /* of the member: see codec_gzip.c                      */
    unsigned flags, got, extra; /* bytes of the part that have come; bytes left to skip */
    uint8_t bytes[CV_GZIP_FIXED];
    uint32_t crc;
    size_t at; /* bytes in the window */
    uint8_t window[CV_GZIP_ROOM + 64];
};

/* As those of the codec. */
bool cv_gzip_begins(const uint8_t *bytes, size_t length);
bool cv_gzip_begin(void *state);
enum cv_codec_step cv_gzip_step(void *state, struct cv_codec_io *io);

#endif
