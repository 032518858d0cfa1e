/* gzip_ahead.h -- one large gzip member, decoded by several threads. SPDX-License-Identifier: MIT
 *
 * The consumer decodes from the front, as with one thread. Helpers decode pieces ahead of it. When
 * the consumer reaches the block at which a piece begins, the piece is proven right: its output is
 * given out and its input skipped. Everything else (headers, checksums, blocks that cannot be found,
 * damage, the end) is left to the consumer, so output and errors are the same as with one thread. */
#ifndef CV_GZIP_AHEAD_H
#define CV_GZIP_AHEAD_H
#include "run/decode/decoder.h"

/* A stream that a thread reads ahead; offsets count from 0. *out is owned by the caller. */
struct cv_stream_reader;
enum cleave_status cv_stream_reader_open(const struct cv_decoder_input *input,
                                         size_t room, struct cv_stream_reader **out,
                                         struct cleave_error *err);
/* read(2), for one thread. */
ssize_t cv_stream_reader_read(void *reader, void *to, size_t max);
/* A blocked read of the input must have been interrupted before. */
void cv_stream_reader_free(struct cv_stream_reader *reader);

/* cv_codec_gzip with threads; the state is for one input. */
extern const struct cv_codec cv_codec_gzip_ahead;

struct cv_gzip_ahead_options {
    struct cv_stream_reader *reader; /* borrowed: input of the decoder; NULL: a file */
    int fd;          /* borrowed                                         */
    uint64_t offset; /* where the input begins in the file               */
    uint64_t size;   /* bytes of the input                               */
    unsigned cores;  /* at least 2                                       */
    size_t piece;    /* bytes of a piece; 0: the default                 */
    struct cv_handoff_buffer *buffer; /* borrowed: that of the decoder's input; NULL */
};

/* NULL: no memory, or no threads. */
void *cv_gzip_ahead_open(const struct cv_gzip_ahead_options *options);
/* Bytes that a stream reader should hold. */
size_t cv_gzip_ahead_room(unsigned cores, size_t piece);
/* Whether threads are faster, given the number of idle cores. */
bool cv_gzip_ahead_pays(uint64_t size, unsigned cores);
/* Pieces that were given out, for tests: the output does not show it. */
uint64_t cv_gzip_ahead_used(const void *state);
/* CRC-32 of a concatenation, given the CRC of both parts and the length of the second. */
uint32_t cv_crc32_join(uint32_t before, uint32_t after, uint64_t length);

#endif
