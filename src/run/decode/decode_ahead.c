/* decode_ahead.c -- the bytes of a compressed input, decoded before they are asked for.
 * SPDX-License-Identifier: MIT */
#include "run/decode/decode_ahead.h"

#include <stdlib.h>

#include "base/fail.h"
#include "run/decode/gzip_ahead.h"
#include "run/decode/parallel_decode.h"

/* --- by one thread, which asks -------------------------------------------------------------- */

struct alone {
    struct cv_ahead ahead;
    struct cv_decoder *decoder; /* owned */
    struct cv_stream_reader
        *reader; /* owned: it reads the input; NULL: nobody does before it is asked for */
};

static enum cleave_status next(struct cv_ahead *ahead, const void **bytes, size_t *length,
                               struct cleave_error *err)
{
    return cv_decoder_next(((struct alone *)ahead)->decoder, bytes, length, err);
}

static bool inside(const struct cv_ahead *ahead)
{
    return cv_decoder_inside(((const struct alone *)ahead)->decoder);
}

static uint64_t member(const struct cv_ahead *ahead)
{
    return cv_decoder_member(((const struct alone *)ahead)->decoder);
}

static void free_alone(struct cv_ahead *ahead)
{
    struct alone *alone = (struct alone *)ahead;

    cv_decoder_free(alone->decoder);
    cv_stream_reader_free(alone->reader);
    free(alone);
}

/* With a state of the codec, which is the decoder's in any case. */
static enum cleave_status open_alone(const struct cv_codec *codec, void *state,
                                     const struct cv_decoder_input *input,
                                     struct cv_ahead **out, struct cleave_error *err)
{
    struct alone *alone = calloc(1, sizeof *alone);
    enum cleave_status status;

    if (alone == NULL) {
        codec->close(state);
        return cv_fail_memory(err, "a decoder");
    }
    alone->ahead = (struct cv_ahead){ next, inside, member, free_alone };
    status = cv_decoder_open_with(codec, state, input, &alone->decoder, err);
    if (status == CLEAVE_OK)
        *out = &alone->ahead;
    else
        free(alone);
    return status;
}

/* --- by several ----------------------------------------------------------------------------- */

static enum cleave_status open_wide(const struct cv_codec *codec,
                                    const struct cv_decoder_input *input,
                                    unsigned threads, bool members, struct cv_ahead **out,
                                    struct cleave_error *err)
{
    static const struct cv_parallel_decode_format *const forms[] = {
        &cv_wide_bgzf,
        &cv_wide_zstd,
        &cv_wide_lz4,
        &cv_wide_bzip2,
    };
    void *state;

    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (forms[i]->codec == codec && (threads > 1 || forms[i]->always))
            return cv_wide_open(forms[i], input, threads, members, out, err);
    state = codec->open();
    return state != NULL ? open_alone(codec, state, input, out, err)
                         : cv_fail_memory(err, "a decoder");
}

enum cleave_status cv_ahead_open(const struct cv_codec *codec,
                                 const struct cv_decoder_input *input, unsigned threads,
                                 struct cv_ahead **out, struct cleave_error *err)
{
    return open_wide(codec, input, threads, false, out, err);
}

static void *open_pieces(const struct cv_ahead_file *file,
                         struct cv_handoff_buffer *buffer, unsigned threads)
{
    return cv_gzip_ahead_open(&(struct cv_gzip_ahead_options){ .fd = file->fd,
                                                               .offset = file->offset,
                                                               .size = file->size,
                                                               .cores = threads,
                                                               .buffer = buffer });
}

/* One big gzip that comes once. *done is false if it cannot be had so: nothing was read then. */
static enum cleave_status open_once(const struct cv_decoder_input *input,
                                    unsigned threads, struct cv_ahead **out, bool *done,
                                    struct cleave_error *err)
{
    struct cv_decoder_input once = *input;
    struct cv_stream_reader *reader;
    enum cleave_status status;
    void *state;

    *done = false;
    if (cv_stream_reader_open(input, cv_gzip_ahead_room(threads, 0), &reader, NULL) !=
        CLEAVE_OK)
        return CLEAVE_OK;
    *done = true; /* the reel may have read some of it */
    state = cv_gzip_ahead_open(&(struct cv_gzip_ahead_options){
        .reader = reader, .cores = threads, .buffer = input->buffer });
    once.read = cv_stream_reader_read;
    once.context = reader;
    status = state != NULL ? open_alone(&cv_codec_gzip_ahead, state, &once, out, err)
                           : cv_fail_memory(err, "a decoder");
    if (status == CLEAVE_OK)
        ((struct alone *)*out)->reader = reader;
    else
        cv_stream_reader_free(reader);
    return status;
}

/* Pieces of gzip that are decoded ahead take half as much time again. Of two cores, commands and one
 * decoder leave too little for that. */
enum cleave_status cv_ahead_open_file(const struct cv_codec *codec,
                                      const struct cv_decoder_input *input,
                                      const struct cv_ahead_file *file, unsigned threads,
                                      struct cv_ahead **out, struct cleave_error *err)
{
    void *state = NULL;
    bool done;

    if (file == NULL && codec == &cv_codec_gzip && threads > 2 && input->offset == 0) {
        CV_TRY(open_once(input, threads, out, &done, err));
        if (done)
            return CLEAVE_OK;
    }
    if (file != NULL && codec == &cv_codec_gzip && threads > 1 &&
        cv_gzip_ahead_pays(file->size, threads - 1))
        state = open_pieces(file, input->buffer, threads);
    return state != NULL ? open_alone(&cv_codec_gzip_ahead, state, input, out, err)
                         : cv_ahead_open(codec, input, threads, out, err);
}

enum cleave_status cv_ahead_open_members(const struct cv_codec *codec,
                                         const struct cv_decoder_input *input,
                                         const struct cv_ahead_file *file,
                                         unsigned threads, struct cv_ahead **out,
                                         struct cleave_error *err)
{
    void *state = NULL;

    if (codec == &cv_codec_gzip && cv_gzip_ahead_pays(file->size, threads))
        state = open_pieces(file, NULL, threads);
    return state != NULL ? open_alone(&cv_codec_gzip_ahead, state, input, out, err)
                         : open_wide(codec, input, threads, true, out, err);
}
