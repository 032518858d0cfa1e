/* decoder.c -- the bytes of a compressed input. SPDX-License-Identifier: MIT */
#include "run/decode/decoder.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"

enum { BLOCK = 128 * 1024 };

struct cv_decoder {
    const struct cv_codec *codec;
    struct cv_decoder_input input;
    void *state;       /* owned: of the codec                                     */
    uint64_t block_at; /* offset of the block in the file                         */
    uint64_t member;   /* where the member begins                                 */
    uint64_t made;     /* bytes in all                                            */
    size_t at, held;   /* of the block: what is used, what there is               */
    bool inside;       /* a member                                                */
    bool ended;        /* there is no more input                                  */
    uint8_t block[BLOCK];
};

const struct cv_codec *cv_codec_named(const char *name)
{
#define CV_CODEC_ROW(upper, lower) &cv_codec_##lower,
    static const struct cv_codec *const codecs[] = { CV_CODEC_MAP(CV_CODEC_ROW) };
#undef CV_CODEC_ROW

    for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++)
        if (strcmp(codecs[i]->name, name) == 0)
            return codecs[i];
    return NULL;
}

enum cleave_status cv_decoder_open(const struct cv_codec *codec,
                                   const struct cv_decoder_input *input,
                                   struct cv_decoder **out, struct cleave_error *err)
{
    struct cv_decoder *decoder = malloc(sizeof *decoder);

    if (decoder == NULL)
        return cv_fail_memory(err, "a decoder");
    decoder->codec = codec;
    decoder->input = *input;
    decoder->block_at = input->offset;
    decoder->member = input->offset;
    decoder->made = input->made;
    decoder->at = decoder->held = 0;
    decoder->inside = decoder->ended = false;
    decoder->state = codec->open();
    if (decoder->state == NULL) {
        free(decoder);
        return cv_fail_memory(err, "a decoder");
    }
    *out = decoder;
    return CLEAVE_OK;
}

void cv_decoder_free(struct cv_decoder *decoder)
{
    if (decoder == NULL)
        return;
    decoder->codec->close(decoder->state);
    free(decoder);
}

/* More input behind what is not used yet. */
static enum cleave_status fill(struct cv_decoder *decoder, struct cleave_error *err)
{
    const struct cv_place place = { decoder->input.name, 0, 0, NULL };
    ssize_t got;

    if (decoder->at > 0) {
        memmove(decoder->block, decoder->block + decoder->at,
                decoder->held - decoder->at);
        decoder->block_at += decoder->at;
        decoder->held -= decoder->at;
        decoder->at = 0;
    }
    do
        got = decoder->input.read(decoder->input.context, decoder->block + decoder->held,
                                  BLOCK - decoder->held);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return cv_fail_at(err, &place, "cannot read at byte %" PRIu64 ": %s",
                          decoder->block_at + decoder->held, strerror(errno));
    decoder->held += (size_t)got;
    decoder->ended = got == 0;
    return CLEAVE_OK;
}

static enum cleave_status fail_damaged(const struct cv_decoder *decoder, const char *why,
                                       struct cleave_error *err)
{
    const struct cv_place place = { decoder->input.name, 0, 0, NULL };

    return cv_fail_at(err, &place,
                      "damaged at about byte %" PRIu64
                      " of the file: expected %s, got %s; %" PRIu64
                      " bytes were decoded before",
                      decoder->block_at + decoder->at, decoder->codec->name, why,
                      decoder->made);
}

static enum cleave_status fail_short(const struct cv_decoder *decoder,
                                     struct cleave_error *err)
{
    const struct cv_place place = { decoder->input.name, 0, 0, NULL };

    return cv_fail_at(err, &place,
                      "cut short: the file ends at byte %" PRIu64
                      ", inside what begins as %s at byte %" PRIu64 "; %" PRIu64
                      " bytes were decoded before",
                      decoder->block_at + decoder->held, decoder->codec->name,
                      decoder->member, decoder->made);
}

/* Frames that are to be skipped are the same for zstd and lz4; and what begins as BGZF may
 * go on as any gzip. */
static enum cleave_status turn_over(struct cv_decoder *decoder, struct cleave_error *err)
{
    const uint8_t *bytes = decoder->block + decoder->at;
    const size_t length = decoder->held - decoder->at;
    const struct cv_codec *codec = decoder->codec;
    const struct cv_codec *other = codec == &cv_codec_zstd && decoder->made == 0
                                       ? &cv_codec_lz4
                                   : codec == &cv_codec_bgzf ? &cv_codec_gzip
                                                             : NULL;
    void *state;

    if (other == NULL || codec->begins(bytes, length) || !other->begins(bytes, length))
        return CLEAVE_OK;
    state = other->open();
    if (state == NULL)
        return cv_fail_memory(err, "a decoder");
    codec->close(decoder->state);
    decoder->codec = other;
    decoder->state = state;
    return CLEAVE_OK;
}

/* Begin the next member; *over: there is none. */
static enum cleave_status begin(struct cv_decoder *decoder, bool *over,
                                struct cleave_error *err)
{
    const struct cv_place place = { decoder->input.name, 0, 0, NULL };
    const struct cv_codec *codec = decoder->codec;

    *over = false;
    for (;;) {
        while (decoder->held - decoder->at < CV_CODEC_HEAD && !decoder->ended)
            CV_TRY(fill(decoder, err));
        if (!codec->pads || decoder->block_at + decoder->at == decoder->input.offset ||
            decoder->at == decoder->held || decoder->block[decoder->at] != 0)
            break;
        decoder->at++;
    }
    *over = decoder->at == decoder->held;
    if (*over)
        return CLEAVE_OK;
    CV_TRY(turn_over(decoder, err));
    codec = decoder->codec;
    if (!codec->begins(decoder->block + decoder->at, decoder->held - decoder->at))
        return cv_fail_at(err, &place,
                          "expected %s or the end at byte %" PRIu64
                          " of the file, got bytes that are neither; %" PRIu64
                          " bytes were decoded before",
                          codec->name, decoder->block_at + decoder->at, decoder->made);
    if (!codec->begin(decoder->state))
        return cv_fail_memory(err, "a decoder");
    decoder->member = decoder->block_at + decoder->at;
    decoder->inside = true;
    return CLEAVE_OK;
}

/* One step of the codec; its bytes may be none. */
static enum cleave_status step(struct cv_decoder *decoder, const void **bytes,
                               size_t *length, struct cleave_error *err)
{
    struct cv_codec_io io = { .in = decoder->block + decoder->at,
                              .length = decoder->held - decoder->at };
    const enum cv_codec_step got = decoder->codec->step(decoder->state, &io);

    decoder->at = decoder->held - io.length;
    if (got == CV_CODEC_BAD)
        return fail_damaged(decoder, io.why, err);
    if (got == CV_CODEC_FULL)
        return cv_fail_memory(err, "a decoder");
    *bytes = io.out;
    *length = io.made;
    decoder->made += io.made;
    if (got == CV_CODEC_OVER)
        decoder->inside = false;
    if (got != CV_CODEC_MORE || io.made > 0)
        return CLEAVE_OK;
    if (decoder->ended)
        return fail_short(decoder, err);
    return fill(decoder, err);
}

enum cleave_status cv_decoder_next(struct cv_decoder *decoder, const void **bytes,
                                   size_t *length, struct cleave_error *err)
{
    bool over = false;

    *length = 0;
    while (*length == 0 && !over) {
        if (!decoder->inside)
            CV_TRY(begin(decoder, &over, err));
        if (!over)
            CV_TRY(step(decoder, bytes, length, err));
    }
    return CLEAVE_OK;
}

bool cv_decoder_inside(const struct cv_decoder *decoder)
{
    return decoder->inside;
}

uint64_t cv_decoder_member(const struct cv_decoder *decoder)
{
    return decoder->member;
}

uint64_t cv_decoder_at(const struct cv_decoder *decoder)
{
    return decoder->block_at + decoder->at;
}

enum cleave_status cv_decoder_finish(struct cv_decoder *decoder, struct cleave_error *err)
{
    const void *bytes;
    size_t length;

    while (decoder->inside) {
        CV_TRY(step(decoder, &bytes, &length, err));
        if (length > 0)
            return fail_damaged(decoder, "more bytes than it says", err);
    }
    return CLEAVE_OK;
}
