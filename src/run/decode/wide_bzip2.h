/* wide_bzip2.h -- parts of a stream of bzip2, from mark to mark. SPDX-License-Identifier: MIT */
#ifndef CV_WIDE_BZIP2_H
#define CV_WIDE_BZIP2_H
#include "run/decode/bits.h"
#include "run/decode/parallel_decode_internal.h"

#define CV_BZIP2_BLOCK UINT64_C(0x314159265359)
#define CV_BZIP2_END UINT64_C(0x177245385090)

enum {
    CV_BZIP2_MARK = 48,     /* bits of a mark                                         */
    CV_BZIP2_CHECK = 32,    /* ... of a check, which stands behind it                 */
    CV_BZIP2_HEAD_SIZE = 4, /* bytes of the head of a stream                          */
    CV_BZIP2_MOST =
        3 << 20, /* bytes of a block: 900,000 symbols of 20 bits, and tables */
};

/* Bits from one mark to the next, or to the end of the input. */
struct cv_bzip2_part {
    /* First; its bytes are a head, these bits, and an end if they are a block. */
    struct cv_parallel_decode_job job;
    uint64_t begin; /* in the file, in bits                                  */
    uint64_t count;
    uint64_t stream; /* in the file: where the stream begins                  */
    char level;      /* of the stream                                         */
    bool plain;      /* it is no bzip2: all of the input, as it is            */
    bool ends;       /* it begins with the mark of an end                     */
    bool followed;   /* by another one                                        */
};

struct cv_bzip2_blocks {
    /* The reader's: what was read since the last mark. */
    uint8_t *raw; /* owned                                                           */
    size_t count;
    uint64_t at;     /* of raw[0] in the file                                        */
    unsigned begin;  /* bits of it before the mark                                   */
    uint64_t window; /* the last 64 bits                                             */
    uint64_t stream;
    char level;
    bool marked; /* there was a mark                                       */
    bool ends;   /* ... of an end                                          */
    struct cv_bzip2_part *plain; /* borrowed: all goes there; NULL                 */
    uint8_t shifts[256]; /* if that is byte 2 of the window: where a mark may stand */
    /* Of who asks. */
    char level_now; /* of the stream that it is in; 0: in none yet                   */
    uint32_t check; /* over its blocks                                               */
};

/* Let the bytes of a part be a stream with these bits, and then `error` of the input, or 0. */
bool cv_bzip2_fill(struct cv_bzip2_part *part, const struct cv_bits *bits, int error);
/* Whether a stream begins with these bytes. */
bool cv_bzip2_head(const uint8_t *bytes);
/* See to a part that was decoded. */
enum cleave_status cv_bzip2_settle(void *state, struct cv_parallel_decoder *parallel,
                                   struct cv_parallel_decode_job *job,
                                   struct cleave_error *err);

#endif
