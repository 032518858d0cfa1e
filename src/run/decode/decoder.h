/* decoder.h -- decoder of a compressed input. SPDX-License-Identifier: MIT
 *
 * A compressed input is a sequence of members (gzip's word: frames of zstd and lz4, streams of xz
 * and bzip2), each of which can be decoded alone. The decoder decodes all of them. It ignores zeros
 * after the last member if the format may be padded; other bytes there, and an end inside a member,
 * are errors. Output before an error is valid. */
#ifndef CV_DECODER_H
#define CV_DECODER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <cleave/error.h>

/* All formats. To add one, add a row and define cv_codec_NAME. */
#define CV_CODEC_MAP(X) X(gzip) X(bgzf) X(zstd) X(xz) X(bzip2) X(lz4)

enum cv_codec_step {
    CV_CODEC_MORE,   /* the input is used up                                          */
    CV_CODEC_MADE,   /* there is output: call again                                   */
    CV_CODEC_END,    /* the member has ended; there may be output                     */
    CV_CODEC_BAD,    /* damaged: `why`, a constant text, describes the bytes          */
    CV_CODEC_LACK,   /* something outside the file is needed: `why`, a constant text  */
    CV_CODEC_MEMORY, /* out of memory                                                 */
};

struct cv_codec_io {
    const uint8_t *in; /* a step moves `in` and lowers `length` */
    size_t length;
    const uint8_t *out; /* borrowed until the next step */
    size_t made;
    const char *why;
};

struct cv_codec {
    const char *name;
    /* Whether a member begins with these bytes: CV_CODEC_HEAD of them, or less at the end. */
    bool (*begins)(const uint8_t *bytes, size_t length);
    unsigned pads;       /* a multiple of this many zeros may follow a member; 0: none */
    void *(*open)(void); /* NULL: no memory           */
    bool (*begin)(void *state); /* a member; false: no memory */
    enum cv_codec_step (*step)(void *state, struct cv_codec_io *io);
    void (*close)(void *state);
};

enum { CV_CODEC_HEAD = 18, CV_CODEC_OUT = 128 * 1024 };

#define CV_CODEC_DECLARE(name) extern const struct cv_codec cv_codec_##name;
CV_CODEC_MAP(CV_CODEC_DECLARE)
#undef CV_CODEC_DECLARE

/* NULL: no format has this name. */
const struct cv_codec *cv_codec_named(const char *name);

struct cv_decoder;

struct cv_decoder_input {
    /* read(2). After EAGAIN the decoder can be called again. */
    ssize_t (*read)(void *context, void *to, size_t max);
    void *context;    /* borrowed                                          */
    const char *name; /* borrowed: for messages                            */
    uint64_t offset;  /* where the input begins in the file                */
    uint64_t made;    /* decoded bytes before it                           */
    uint64_t before;  /* bytes of the first member that precede it         */
};

/* *out is owned by the caller. */
enum cleave_status cv_decoder_open(const struct cv_codec *codec,
                                   const struct cv_decoder_input *input,
                                   struct cv_decoder **out, struct cleave_error *err);
/* Use it for another input. After a failure it can only be freed. */
enum cleave_status cv_decoder_reopen(struct cv_decoder *decoder,
                                     const struct cv_codec *codec,
                                     const struct cv_decoder_input *input,
                                     struct cleave_error *err);
void cv_decoder_free(struct cv_decoder *decoder);

/* The next bytes, borrowed until the next call; length 0 at the end. */
enum cleave_status cv_decoder_next(struct cv_decoder *decoder, const void **bytes,
                                   size_t *length, struct cleave_error *err);
/* Read up to the end of the member, which must have no more output. The last bytes stay valid. */
enum cleave_status cv_decoder_finish(struct cv_decoder *decoder,
                                     struct cleave_error *err);
/* Offset in the file of the member of the last bytes. */
uint64_t cv_decoder_member(const struct cv_decoder *decoder);
/* Offset in the file of the next unused byte. */
uint64_t cv_decoder_at(const struct cv_decoder *decoder);

/* After a failure: whether the input ended too early, and whether it failed inside a member. */
bool cv_decoder_short(const struct cv_decoder *decoder);
bool cv_decoder_inside(const struct cv_decoder *decoder);
/* If it failed because of its input: write the error again with `made` decoded bytes before. */
void cv_decoder_restate(const struct cv_decoder *decoder, uint64_t made,
                        struct cleave_error *err);

#endif
