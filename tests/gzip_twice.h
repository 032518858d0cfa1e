/* gzip_twice.h -- gzip decoded by one thread and by several, which must not be told apart.
 * SPDX-License-Identifier: MIT */
#ifndef GZIP_TWICE_H
#define GZIP_TWICE_H
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "run/decode/decoder.h"
#include "run/decode/gzip_ahead.h"

struct gzip_made {
    uint8_t *bytes; /* owned */
    size_t length, room;
    enum cleave_status status;
    bool inside;        /* a member */
    uint64_t used;      /* pieces that were decoded ahead */
    uint64_t used_once; /* the same, of what comes once */
    struct cleave_error err;
};

static inline ssize_t gzip_read_fd(void *context, void *to, size_t max)
{
    return read(*(int *)context, to, max);
}

static inline bool gzip_decode_input(struct gzip_made *made, const struct cv_codec *codec,
                                     void *state, const struct cv_decoder_input *input,
                                     size_t max)
{
    struct cv_decoder *decoder;
    const void *bytes;
    size_t length;

    *made = (struct gzip_made){ .bytes = NULL };
    if (cv_decoder_open_with(codec, state, input, &decoder, NULL) != CLEAVE_OK)
        return false;
    do {
        made->status = cv_decoder_next(decoder, &bytes, &length, &made->err);
        if (made->status != CLEAVE_OK || length == 0)
            break;
        if (made->length + length > made->room) {
            made->room = 2 * (made->length + length);
            made->bytes = realloc(made->bytes, made->room);
        }
        memcpy(made->bytes + made->length, bytes, length);
        made->length += length;
    } while (made->length < max);
    made->inside = cv_decoder_inside(decoder);
    if (codec == &cv_codec_gzip_ahead)
        made->used = cv_gzip_ahead_used(state);
    cv_decoder_free(decoder);
    return true;
}

/* All that is decoded, up to `most` bytes or somewhat more. */
static inline bool gzip_decode(struct gzip_made *made, const struct cv_codec *codec,
                               void *state, int fd, size_t max)
{
    const struct cv_decoder_input input = { .read = gzip_read_fd,
                                            .context = &fd,
                                            .name = "tape" };

    lseek(fd, 0, SEEK_SET);
    return gzip_decode_input(made, codec, state, &input, max);
}

/* The same by several threads, as if it came by a pipe. */
static inline bool gzip_decode_once(struct gzip_made *made, int fd, size_t piece,
                                    unsigned cores, size_t max)
{
    struct cv_decoder_input input = { .read = gzip_read_fd,
                                      .context = &fd,
                                      .name = "tape" };
    struct cv_gzip_ahead_options options = { .cores = cores, .piece = piece };
    bool good;

    lseek(fd, 0, SEEK_SET);
    options.reader = cv_stream_reader_open(&input, cv_gzip_ahead_room(cores, piece));
    if (options.reader == NULL)
        return false;
    input.read = cv_stream_reader_read;
    input.context = options.reader;
    good = gzip_decode_input(made, &cv_codec_gzip_ahead, cv_gzip_ahead_open(&options),
                             &input, max);
    cv_stream_reader_free(options.reader);
    return good;
}

/* Texts are the same but for the place in the file, which is told as "about". */
static inline bool gzip_same_text(const char *a, const char *b)
{
    const char *about = strstr(a, "about byte "), *of = strstr(a, " of the file");
    const char *other = strstr(b, " of the file");

    if (about == NULL || of == NULL)
        return strcmp(a, b) == 0;
    return strncmp(a, b, (size_t)(about - a)) == 0 && other != NULL &&
           strcmp(of, other) == 0;
}

/* What is not the same of the two; NULL: nothing. */
static inline const char *gzip_difference(const struct gzip_made *made,
                                          const struct gzip_made *again, size_t max)
{
    if (made->length >= max || again->length >= max) {
        if (again->length < max || made->length < max)
            return "that there is much of it";
    } else if (again->length != made->length) {
        return "the length";
    } else if (again->status != made->status) {
        return "the status";
    } else if (again->inside != made->inside) {
        return "whether it ends inside";
    } else if (made->status != CLEAVE_OK &&
               !gzip_same_text(made->err.text, again->err.text)) {
        return "the message";
    }
    return made->length > 0 && memcmp(made->bytes, again->bytes,
                                      made->length < again->length ? made->length
                                                                   : again->length) != 0
               ? "the bytes"
               : NULL;
}

/* NULL: it is the same, whoever decodes, in *made, which is the caller's; or what is not. */
static inline const char *gzip_differs(int fd, size_t size, size_t piece, unsigned cores,
                                       size_t max, struct gzip_made *made)
{
    const struct cv_gzip_ahead_options options = {
        .fd = fd, .size = size, .cores = cores, .piece = piece
    };
    struct gzip_made again = { .bytes = NULL }, once = { .bytes = NULL };
    const char *differs = "memory";

    if (gzip_decode(made, &cv_codec_gzip, cv_codec_gzip.open(), fd, max) &&
        gzip_decode(&again, &cv_codec_gzip_ahead, cv_gzip_ahead_open(&options), fd,
                    max) &&
        gzip_decode_once(&once, fd, piece, cores, max)) {
        differs = gzip_difference(made, &again, max);
        if (differs == NULL)
            differs = gzip_difference(made, &once, max);
        made->used = again.used;
        made->used_once = once.used;
    }
    free(again.bytes);
    free(once.bytes);
    return differs;
}

#endif
