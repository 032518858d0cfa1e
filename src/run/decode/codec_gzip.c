/* codec_gzip.c -- gzip (RFC 1952), and BGZF, which is gzip in small members.
 * SPDX-License-Identifier: MIT */
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>

#include "run/decode/formats.h"
#include "run/decode/inflate.h"

enum {
    FIXED = 10, /* bytes of a header without optional parts */
    ROOM = CV_INFLATE_WINDOW + CV_CODEC_OUT,
    HEAD_CHECK = 2, /* flags */
    EXTRA = 4,
    NAMED = 8,
    COMMENTED = 16,
    UNKNOWN = 0xE0,
    TAIL = 8,         /* bytes after the body: checksum, size */
    MAX_BGZF = 65536, /* decoded bytes of a BGZF block */
};

enum {
    HEAD,
    EXTRA_LENGTH,
    EXTRA_BYTES,
    NAME,
    COMMENT,
    CHECK,
    BODY, /* `inflate` runs */
    ENDING,
    BROKEN, /* damaged, and the output before was given out */
};

struct gzip {
    struct cv_inflate inflate;
    unsigned part;              /* one of the above                             */
    unsigned flags, got, extra; /* bytes of the part so far; bytes left to skip */
    uint8_t bytes[FIXED];
    uint32_t crc;
    size_t at; /* bytes in the window */
    uint8_t window[ROOM + 64];
};

static bool begins_gzip(const uint8_t *bytes, size_t length)
{
    return length >= 3 && memcmp(bytes, "\x1f\x8b\x08", 3) == 0;
}

static bool begins_bgzf(const uint8_t *bytes, size_t length)
{
    return length >= CV_CODEC_HEAD && memcmp(bytes, "\x1f\x8b\x08\x04", 4) == 0 &&
           memcmp(bytes + 12, "BC\x02\0", 4) == 0;
}

static void *open_gzip(void)
{
    return calloc(1, sizeof(struct gzip));
}

static bool begin(void *state)
{
    struct gzip *gzip = state;

    cv_inflate_init(&gzip->inflate);
    gzip->part = HEAD;
    gzip->got = 0;
    gzip->crc = 0;
    gzip->at = 0;
    return true;
}

/* Collect `wanted` bytes; false: more input is needed. */
static bool collect(struct gzip *gzip, struct cv_codec_io *io, unsigned wanted)
{
    while (gzip->got < wanted && io->length > 0) {
        gzip->bytes[gzip->got++] = *io->in++;
        io->length--;
    }
    if (gzip->got < wanted)
        return false;
    gzip->got = 0;
    return true;
}

static bool skip_text(struct cv_codec_io *io)
{
    const uint8_t *zero = memchr(io->in, '\0', io->length);
    const size_t used = zero != NULL ? (size_t)(zero - io->in) + 1 : io->length;

    io->in += used;
    io->length -= used;
    return zero != NULL;
}

static bool skip_extra(struct gzip *gzip, struct cv_codec_io *io)
{
    const size_t some = gzip->extra < io->length ? gzip->extra : io->length;

    io->in += some;
    io->length -= some;
    gzip->extra -= (unsigned)some;
    return gzip->extra == 0;
}

/* Read a part of the header; false: more input is needed. */
static bool read_part(struct gzip *gzip, struct cv_codec_io *io)
{
    switch (gzip->part) {
    case HEAD:
        if (!collect(gzip, io, FIXED))
            return false;
        gzip->flags = gzip->bytes[3];
        return true;
    case EXTRA_LENGTH:
        if ((gzip->flags & EXTRA) == 0)
            return true;
        if (!collect(gzip, io, 2))
            return false;
        gzip->extra = gzip->bytes[0] + 256u * gzip->bytes[1];
        return true;
    case EXTRA_BYTES:
        return (gzip->flags & EXTRA) == 0 || skip_extra(gzip, io);
    case NAME:
        return (gzip->flags & NAMED) == 0 || skip_text(io);
    case COMMENT:
        return (gzip->flags & COMMENTED) == 0 || skip_text(io);
    default:
        return (gzip->flags & HEAD_CHECK) == 0 || collect(gzip, io, 2);
    }
}

static enum cv_codec_step bad(struct cv_codec_io *io, const char *why)
{
    io->why = why;
    return CV_CODEC_BAD;
}

static enum cv_codec_step read_head(struct gzip *gzip, struct cv_codec_io *io)
{
    for (; gzip->part < BODY; gzip->part++) {
        const uint8_t *from = io->in;
        const bool complete = read_part(gzip, io);

        if (gzip->part != CHECK)
            gzip->crc = libdeflate_crc32(gzip->crc, from, (size_t)(io->in - from));
        if (!complete)
            return CV_CODEC_MORE;
        if (gzip->part == HEAD &&
            (memcmp(gzip->bytes, "\x1f\x8b\x08", 3) != 0 || (gzip->flags & UNKNOWN) != 0))
            return bad(io, "a head that is not gzip's");
    }
    if ((gzip->flags & HEAD_CHECK) != 0 &&
        cv_little_endian(gzip->bytes, 2) != (gzip->crc & 0xFFFF))
        return bad(io, "a head that does not fit its check");
    gzip->crc = 0;
    return CV_CODEC_MADE;
}

static enum cv_codec_step read_body(struct gzip *gzip, struct cv_codec_io *io)
{
    enum cv_inflate_state state;
    size_t before;

    if (gzip->at > ROOM - CV_INFLATE_WINDOW) {
        const size_t kept = CV_INFLATE_WINDOW;

        memmove(gzip->window, gzip->window + gzip->at - kept, kept);
        gzip->at = kept;
    }
    before = gzip->at;
    state = cv_inflate_run(&gzip->inflate, &io->in, &io->length, gzip->window, &gzip->at,
                           ROOM);
    io->out = gzip->window + before;
    io->made = gzip->at - before;
    gzip->crc = libdeflate_crc32(gzip->crc, io->out, io->made);
    if (state == CV_INFLATE_BAD) {
        gzip->part = BROKEN;
        return io->made > 0 ? CV_CODEC_MADE : bad(io, gzip->inflate.why);
    }
    if (state == CV_INFLATE_END) {
        /* Bytes that were read beyond the body are less than the tail. */
        gzip->inflate.bits >>= gzip->inflate.nbits % 8;
        for (; gzip->inflate.nbits >= 8; gzip->inflate.nbits -= 8) {
            gzip->bytes[gzip->got++] = (uint8_t)gzip->inflate.bits;
            gzip->inflate.bits >>= 8;
        }
        gzip->part = ENDING;
    }
    return io->made > 0 || state == CV_INFLATE_END ? CV_CODEC_MADE : CV_CODEC_MORE;
}

static enum cv_codec_step step_gzip(void *state, struct cv_codec_io *io)
{
    struct gzip *gzip = state;

    if (gzip->part < BODY) {
        const enum cv_codec_step step = read_head(gzip, io);

        if (step != CV_CODEC_MADE)
            return step;
    }
    if (gzip->part == BODY)
        return read_body(gzip, io);
    if (gzip->part == BROKEN)
        return bad(io, gzip->inflate.why);
    if (!collect(gzip, io, TAIL))
        return CV_CODEC_MORE;
    if (cv_little_endian(gzip->bytes, 4) != gzip->crc)
        return bad(io, "bytes that do not fit their check");
    if (cv_little_endian(gzip->bytes + 4, 4) != (uint32_t)gzip->inflate.made)
        return bad(io, "another number of bytes than it says");
    return CV_CODEC_END;
}

/* A block is small: it is given out after its checksum was verified. */
static enum cv_codec_step step_bgzf(void *state, struct cv_codec_io *io)
{
    struct gzip *gzip = state;
    enum cv_codec_step step;

    do
        step = step_gzip(state, io);
    while (step == CV_CODEC_MADE && gzip->inflate.made <= MAX_BGZF);
    io->made = 0;
    if (gzip->inflate.made > MAX_BGZF)
        return bad(io, "a block of more than 64 KiB");
    if (step != CV_CODEC_END)
        return step;
    io->out = gzip->window;
    io->made = gzip->at;
    return CV_CODEC_END;
}

const struct cv_codec cv_codec_gzip = {
    .name = "gzip",
    .begins = begins_gzip,
    .pads = 1,
    .open = open_gzip,
    .begin = begin,
    .step = step_gzip,
    .close = free,
};

const struct cv_codec cv_codec_bgzf = {
    .name = "bgzf",
    .begins = begins_bgzf,
    .pads = 1,
    .open = open_gzip,
    .begin = begin,
    .step = step_bgzf,
    .close = free,
};
