/* gzip_ahead.h -- one big file of gzip, decoded by several threads. SPDX-License-Identifier: MIT
 *
 * One decodes as it always is done, from the front to the end. Others decode pieces that are ahead
 * of it (gzip_piece.h). When it comes to a block that a piece begins with, the piece is right, as
 * only then are the bytes in front of it known: it is given out and passed over. What else there is
 * (heads and checks of members, blocks that cannot be found, damage, the end) is met
 * by the one in front: so all is as if there were no others. */
#ifndef CV_GZIP_AHEAD_H
#define CV_GZIP_AHEAD_H
#include "run/decode/codec.h"
#include "run/decode/stream_reader.h"
#include "run/common/threads.h"

/* As cv_codec_gzip, with a state for one file. */
extern const struct cv_codec cv_codec_gzip_ahead;

struct cv_gzip_ahead_options {
    /* Borrowed: what comes once, whose bytes are the decoder's input; NULL: it is a file, */
    struct cv_stream_reader *reader;
    int fd; /* borrowed                                                         */
    uint64_t
        offset;     /* in it, of the first byte that is decoded                         */
    uint64_t size;  /* bytes from there on                                              */
    unsigned cores; /* at least 2                                                       */
    size_t piece;   /* bytes of a piece; 0: CV_GZIP_PIECE                               */
    struct cv_handoff_buffer
        *buffer; /* borrowed: as that of the decoder's input; NULL                   */
};

/* NULL: it cannot be had; to decode by cv_codec_gzip does the same. */
void *cv_gzip_ahead_open(const struct cv_gzip_ahead_options *options);

/* Bytes of a reel that are enough for so many cores. */
size_t cv_gzip_ahead_room(unsigned cores, size_t piece);

/* How many pieces were of use so far: for tests, as nothing else tells a decoder that uses them from one that decodes all
 * by itself. */
uint64_t cv_gzip_ahead_used(const void *state);

/* Whether that is worth it, if so many cores have nothing else to do. */
bool cv_gzip_ahead_pays(uint64_t size, unsigned cores);

#endif
