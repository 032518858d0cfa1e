/* decoder.c -- decoder of a compressed input. SPDX-License-Identifier: MIT */
#include "run/decode/decoder.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/fail.h"

enum { BLOCK = 128 * 1024 };

enum fault { NONE, DAMAGED, SHORT, STRANGE, LACKING };

struct cv_decoder {
    const struct cv_codec *codec;
    struct cv_decoder_input input;
    void *state;       /* owned: state of the codec                    */
    uint64_t block_at; /* offset of `block` in the file                */
    uint64_t member;   /* offset of the member in the file             */
    uint64_t made;     /* decoded bytes                                */
    size_t at, held;   /* used and available bytes of `block`          */
    bool inside;       /* a member                                     */
    bool ended;        /* the input has ended                          */
    enum fault fault;  /* cause of a failure                           */
    const char *why;   /* as in struct cv_codec_io                     */
    uint8_t block[BLOCK];
};

#define CV_CODEC_ROW(name) &cv_codec_##name,
static const struct cv_codec *const codecs[] = { CV_CODEC_MAP(CV_CODEC_ROW) };
#undef CV_CODEC_ROW

const struct cv_codec *cv_codec_named(const char *name)
{
    for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++)
        if (strcmp(codecs[i]->name, name) == 0)
            return codecs[i];
    return NULL;
}

static void set_input(struct cv_decoder *decoder, const struct cv_decoder_input *input)
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
    void *state = codec->open();
    struct cv_decoder *decoder = state != NULL ? malloc(sizeof *decoder) : NULL;

    if (decoder == NULL) {
        if (state != NULL)
            codec->close(state);
        return cv_fail_memory(err, "a decoder");
    }
    set_input(decoder, input);
    decoder->codec = codec;
    decoder->state = state;
    *out = decoder;
    return CLEAVE_OK;
}

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
    set_input(decoder, input);
    return change_codec(decoder, codec, err);
}

void cv_decoder_free(struct cv_decoder *decoder)
{
    if (decoder == NULL)
        return;
    decoder->codec->close(decoder->state);
    free(decoder);
}

/* Read more input. */
static enum cleave_status fill(struct cv_decoder *decoder, struct cleave_error *err)
{
    ssize_t got;

    if (decoder->at > 0) {
        memmove(decoder->block, decoder->block + decoder->at,
                decoder->held - decoder->at);
        decoder->block_at += decoder->at;
        decoder->held -= decoder->at;
        decoder->at = 0;
    }
    got = TEMP_FAILURE_RETRY(decoder->input.read(decoder->input.context,
                                                 decoder->block + decoder->held,
                                                 BLOCK - decoder->held));
    if (got < 0)
        return cv_fail_at(err, CV_FILE(decoder->input.name),
                          "cannot read at byte %" PRIu64 ": %s",
                          decoder->block_at + decoder->held, strerror(errno));
    decoder->held += (size_t)got;
    decoder->ended = got == 0;
    return CLEAVE_OK;
}

static enum cleave_status report(const struct cv_decoder *decoder, uint64_t made,
                                 struct cleave_error *err)
{
    const uint64_t at = decoder->block_at + decoder->at;
    const char *name = decoder->codec->name;

    if (decoder->fault == SHORT)
        return cv_fail_at(err, CV_FILE(decoder->input.name),
                          "cut short: the file ends at byte %" PRIu64
                          ", inside what begins as %s at byte %" PRIu64 "; %" PRIu64
                          " bytes were decoded before",
                          decoder->block_at + decoder->held, name, decoder->member, made);
    if (decoder->fault == STRANGE)
        return cv_fail_at(err, CV_FILE(decoder->input.name),
                          "expected %s or the end at byte %" PRIu64
                          " of the file, got %s; %" PRIu64 " bytes were decoded before",
                          name, at, decoder->why, made);
    if (decoder->fault == LACKING)
        return cv_fail_at(err, CV_FILE(decoder->input.name),
                          "what begins as %s at byte %" PRIu64
                          " of the file cannot be decoded without %s",
                          name, decoder->member, decoder->why);
    return cv_fail_at(err, CV_FILE(decoder->input.name),
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
    return report(decoder, decoder->made, err);
}

void cv_decoder_restate(const struct cv_decoder *decoder, uint64_t made,
                        struct cleave_error *err)
{
    if (decoder->fault != NONE)
        report(decoder, made, err);
}

/* zstd and lz4 have the same skippable frames, and BGZF may continue as any gzip. */
static enum cleave_status switch_codec(struct cv_decoder *decoder,
                                       struct cleave_error *err)
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

/* The format found instead of a member: files of two formats may have been concatenated. */
static const char *find_other(const struct cv_decoder *decoder)
{
    for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++)
        if (codecs[i]->begins(decoder->block + decoder->at, decoder->held - decoder->at))
            return codecs[i]->name;
    return "bytes that are neither";
}

/* Begin the next member; *over: the input has ended. */
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
    /* The size of a member is a multiple of `pads`, too. */
    if (codec->pads > 1 &&
        (decoder->block_at + decoder->at - decoder->input.offset) % codec->pads != 0)
        return fail(decoder, STRANGE, "another number of zeros than a multiple of 4",
                    err);
    *over = decoder->at == decoder->held;
    if (*over)
        return CLEAVE_OK;
    CV_TRY(switch_codec(decoder, err));
    codec = decoder->codec;
    if (!codec->begins(decoder->block + decoder->at, decoder->held - decoder->at))
        return fail(decoder, STRANGE, find_other(decoder), err);
    if (!codec->begin(decoder->state))
        return cv_fail_memory(err, "a decoder");
    decoder->member = decoder->block_at + decoder->at;
    if (decoder->member == decoder->input.offset)
        decoder->member -= decoder->input.before;
    decoder->inside = true;
    return CLEAVE_OK;
}

/* One step of the codec, which may give no bytes. */
static enum cleave_status step(struct cv_decoder *decoder, const void **bytes,
                               size_t *length, struct cleave_error *err)
{
    struct cv_codec_io io = { .in = decoder->block + decoder->at,
                              .length = decoder->held - decoder->at };
    const enum cv_codec_step got = decoder->codec->step(decoder->state, &io);

    decoder->at = decoder->held - io.length;
    if (got == CV_CODEC_BAD || got == CV_CODEC_LACK)
        return fail(decoder, got == CV_CODEC_BAD ? DAMAGED : LACKING, io.why, err);
    if (got == CV_CODEC_MEMORY)
        return cv_fail_memory(err, "a decoder");
    *bytes = io.out;
    *length = io.made;
    decoder->made += io.made;
    if (got == CV_CODEC_END)
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
