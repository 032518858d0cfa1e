/* decoder.c -- the bytes of a compressed input. SPDX-License-Identifier: MIT */
#include "run/decode/decoder.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/fail.h"

enum { BLOCK = 128 * 1024 };

enum fault { NONE, DAMAGED, SHORT, STRANGE, LACKING };

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
    enum fault fault;  /* what it failed by                                       */
    const char *why;   /* what was met instead, or is lacking                     */
    uint8_t block[BLOCK];
};

#define CV_CODEC_ROW(upper, lower) &cv_codec_##lower,
static const struct cv_codec *const codecs[] = { CV_CODEC_MAP(CV_CODEC_ROW) };
#undef CV_CODEC_ROW

const struct cv_codec *cv_codec_named(const char *name)
{
    for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++)
        if (strcmp(codecs[i]->name, name) == 0)
            return codecs[i];
    return NULL;
}

static void put_on(struct cv_decoder *decoder, const struct cv_decoder_input *input)
{
    decoder->input = *input;
    decoder->block_at = input->offset;
    decoder->member = input->offset;
    decoder->made = input->made;
    decoder->at = decoder->held = 0;
    decoder->inside = decoder->ended = false;
    decoder->fault = NONE;
    decoder->why = NULL;
}

enum cleave_status cv_decoder_open(const struct cv_codec *codec,
                                   const struct cv_decoder_input *input,
                                   struct cv_decoder **out, struct cleave_error *err)
{
    return cv_decoder_open_with(codec, codec->open(), input, out, err);
}

enum cleave_status cv_decoder_open_with(const struct cv_codec *codec, void *state,
                                        const struct cv_decoder_input *input,
                                        struct cv_decoder **out, struct cleave_error *err)
{
    struct cv_decoder *decoder = state != NULL ? malloc(sizeof *decoder) : NULL;

    if (decoder == NULL) {
        if (state != NULL)
            codec->close(state);
        return cv_fail_memory(err, "a decoder");
    }
    put_on(decoder, input);
    decoder->codec = codec;
    decoder->state = state;
    *out = decoder;
    return CLEAVE_OK;
}

/* Let a member be decoded by another codec, which may be the same. */
static enum cleave_status change_codec(struct cv_decoder *decoder,
                                       const struct cv_codec *codec,
                                       struct cleave_error *err)
{
    void *state;

    if (codec == decoder->codec)
        return CLEAVE_OK;
    state = codec->open();
    if (state == NULL)
        return cv_fail_memory(err, "a decoder");
    decoder->codec->close(decoder->state);
    decoder->codec = codec;
    decoder->state = state;
    return CLEAVE_OK;
}

enum cleave_status cv_decoder_reopen(struct cv_decoder *decoder,
                                     const struct cv_codec *codec,
                                     const struct cv_decoder_input *input,
                                     struct cleave_error *err)
{
    put_on(decoder, input);
    return change_codec(decoder, codec, err);
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

/* What is wrong with the input, if `made` bytes of it were decoded. */
static enum cleave_status say(const struct cv_decoder *decoder, uint64_t made,
                              struct cleave_error *err)
{
    const struct cv_place place = { decoder->input.name, 0, 0, NULL };
    const uint64_t at = decoder->block_at + decoder->at;
    const char *name = decoder->codec->name;

    if (decoder->fault == SHORT)
        return cv_fail_at(err, &place,
                          "cut short: the file ends at byte %" PRIu64
                          ", inside what begins as %s at byte %" PRIu64 "; %" PRIu64
                          " bytes were decoded before",
                          decoder->block_at + decoder->held, name, decoder->member, made);
    if (decoder->fault == STRANGE)
        return cv_fail_at(err, &place,
                          "expected %s or the end at byte %" PRIu64
                          " of the file, got %s; %" PRIu64 " bytes were decoded before",
                          name, at, decoder->why, made);
    if (decoder->fault == LACKING)
        return cv_fail_at(err, &place,
                          "what begins as %s at byte %" PRIu64
                          " of the file cannot be decoded without %s",
                          name, decoder->member, decoder->why);
    return cv_fail_at(err, &place,
                      "damaged at about byte %" PRIu64
                      " of the file: expected %s, got %s; %" PRIu64
                      " bytes were decoded before",
                      at, name, decoder->why, made);
}

static enum cleave_status fail(struct cv_decoder *decoder, enum fault fault,
                               const char *why, struct cleave_error *err)
{
    decoder->fault = fault;
    decoder->why = why;
    return say(decoder, decoder->made, err);
}

enum cleave_status cv_decoder_refuse(struct cv_decoder *decoder, uint64_t at,
                                     const char *why, struct cleave_error *err)
{
    decoder->block_at = at;
    decoder->at = decoder->held = 0;
    decoder->inside = true;
    return fail(decoder, why != NULL ? DAMAGED : SHORT, why, err);
}

void cv_decoder_complain(const struct cv_decoder *decoder, uint64_t made,
                         struct cleave_error *err)
{
    if (decoder->fault != NONE)
        say(decoder, made, err);
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

    if (other == NULL || codec->begins(bytes, length) || !other->begins(bytes, length))
        return CLEAVE_OK;
    return change_codec(decoder, other, err);
}

/* What stands where a member was expected: files of two forms may have been joined. */
static const char *name_of(const struct cv_decoder *decoder)
{
    for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++)
        if (codecs[i]->begins(decoder->block + decoder->at, decoder->held - decoder->at))
            return codecs[i]->name;
    return "bytes that are neither";
}

/* Begin the next member; *over: there is none. */
static enum cleave_status begin(struct cv_decoder *decoder, bool *over,
                                struct cleave_error *err)
{
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
        return fail(decoder, STRANGE, name_of(decoder), err);
    if (!codec->begin(decoder->state))
        return cv_fail_memory(err, "a decoder");
    decoder->member = decoder->block_at + decoder->at;
    if (decoder->member == decoder->input.offset)
        decoder->member -= decoder->input.before;
    decoder->inside = true;
    return CLEAVE_OK;
}

/* One step of the codec; its bytes may be none. */
static enum cleave_status step(struct cv_decoder *decoder, const void **bytes,
                               size_t *length, struct cleave_error *err)
{
    struct cv_codec_io io = { .in = decoder->block + decoder->at,
                              .length = decoder->held - decoder->at,
                              .at = decoder->block_at + decoder->at };
    const enum cv_codec_step got = decoder->codec->step(decoder->state, &io);

    decoder->at = decoder->held - io.length;
    if (got == CV_CODEC_BAD || got == CV_CODEC_LACK)
        return fail(decoder, got == CV_CODEC_BAD ? DAMAGED : LACKING, io.why, err);
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
        return fail(decoder, SHORT, NULL, err);
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

bool cv_decoder_short(const struct cv_decoder *decoder)
{
    return decoder->fault == SHORT;
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
            return fail(decoder, DAMAGED, "more bytes than it says", err);
    }
    return CLEAVE_OK;
}
