/* decoder.h -- the bytes of a compressed input. SPDX-License-Identifier: MIT
 *
 * All members that are there, one behind the other, as gzip, xz and zstd do it. Zeros behind
 * the last one, as tapes and disks add them, are nothing; anything else is an
 * error, and so is an end inside a member. What was made before is right in any case. */
#ifndef CV_DECODER_H
#define CV_DECODER_H
#include <sys/types.h>
#include <cleave/error.h>
#include "run/decode/codec.h"
#include "run/common/threads.h"

struct cv_decoder;

/* Where the compressed bytes come from. */
struct cv_decoder_input {
    /* As read(2): 0 at the end. After a failure that is none of the input, EAGAIN above all, it may be asked
     * again. */
    ssize_t (*read)(void *context, void *to, size_t max);
    void *context;    /* borrowed                                       */
    const char *name; /* borrowed, for messages                         */
    uint64_t offset;  /* in the file, of the first byte                 */
    uint64_t made;    /* bytes that are decoded of what is before it    */
    uint64_t before;  /* bytes of the file that the first member has before it */
    /* Borrowed: what it makes is written to it, one behind the other, before it is asked for more, so that it may be
     * made there; NULL: nobody knows where it goes. */
    struct cv_handoff_buffer *buffer;
};

/* The row of a name, as in --decode; NULL: there is none. */
const struct cv_codec *cv_codec_named(const char *name);

/* *out is owned by the caller. */
enum cleave_status cv_decoder_open(const struct cv_codec *codec,
                                   const struct cv_decoder_input *input,
                                   struct cv_decoder **out, struct cleave_error *err);
/* Begin anew with another input, and what it has allocated before. After a failure it is only to be freed. */
enum cleave_status cv_decoder_reopen(struct cv_decoder *decoder,
                                     const struct cv_codec *codec,
                                     const struct cv_decoder_input *input,
                                     struct cleave_error *err);
/* The same with a state of the codec that was opened elsewhere, or NULL: there was no memory. It is
 * the decoder's in any case. */
enum cleave_status cv_decoder_open_with(const struct cv_codec *codec, void *state,
                                        const struct cv_decoder_input *input,
                                        struct cv_decoder **out,
                                        struct cleave_error *err);
void cv_decoder_free(struct cv_decoder *decoder);
/* The next bytes, borrowed until the next call; none at the end. */
enum cleave_status cv_decoder_next(struct cv_decoder *decoder, const void **bytes,
                                   size_t *length, struct cleave_error *err);

/* Go to the end of the member, which has no more bytes; what was given stays. */
enum cleave_status cv_decoder_finish(struct cv_decoder *decoder,
                                     struct cleave_error *err);
/* Where in the file the member of the bytes given last begins. */
uint64_t cv_decoder_member(const struct cv_decoder *decoder);
/* Where in the file the next byte is that was not used yet. */
uint64_t cv_decoder_at(const struct cv_decoder *decoder);
/* Whether the input ended too early. */
bool cv_decoder_short(const struct cv_decoder *decoder);
/* If it failed for what its input is like, put it again, with `made` bytes decoded before the place: nobody
 * may have known when it was opened. */
void cv_decoder_complain(const struct cv_decoder *decoder, uint64_t made,
                         struct cleave_error *err);
/* Let it have failed at a place of the file, inside the member of the bytes given last, for what others have seen:
 * `why`, a constant text, or NULL: the file ends there. */
enum cleave_status cv_decoder_refuse(struct cv_decoder *decoder, uint64_t at,
                                     const char *why, struct cleave_error *err);
/* After a failure: whether it was inside a member, of which bytes are missing then. */
bool cv_decoder_inside(const struct cv_decoder *decoder);

#endif
