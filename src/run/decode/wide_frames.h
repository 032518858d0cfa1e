/* wide_frames.h -- a walk from head to head of what is read, for forms whose parts say how long they are.
 * SPDX-License-Identifier: MIT */
#ifndef CV_WIDE_FRAMES_H
#define CV_WIDE_FRAMES_H
#include "run/decode/codec_lz4.h"
#include "run/decode/parallel_decode.h"

enum {
    CV_WALK_BATCH = 128 * 1024, /* compressed bytes that are worth a job              */
    CV_WALK_MOST = 32 << 20,    /* decoded ones that it may hold                      */
    CV_WALK_HEAD = 24           /* bytes of the longest head                          */
};

/* What the head is of that is read. */
enum cv_walk_part { CV_WALK_MEMBER, CV_WALK_BLOCK, CV_WALK_CHECK, CV_WALK_LOST };

/* A job whose blocks may be those of one frame of lz4 (parallel_lz4.c). */
struct cv_walk_job {
    struct cv_parallel_decode_job
        job;          /* first                                                  */
    bool apart;       /* it has blocks of one frame only: of it,                */
    bool first, last; /* ... the first, the last                                */
    struct cv_lz4_head head;
    bool begun;     /* the one who asks has seen it                               */
    bool cut_short; /* the last: its check has not all come                       */
    uint32_t check; /* ... it                                                     */
    uint64_t check_at, check_end; /* ... where it is in the file                      */
};

struct cv_frame_walk {
    uint64_t at;   /* in the file: behind what was passed on              */
    uint64_t pass; /* bytes before the next head                          */
    uint8_t head[CV_WALK_HEAD];
    size_t have, need;
    enum cv_walk_part part;
    bool checked; /* a check stands behind the member, 4 bytes           */
    bool first;   /* there was no job before                             */
    size_t
        carried; /* of a head that a job may begin with: bytes from earlier reads, not passed on */
    struct cv_walk_job *job; /* borrowed: the last one; NULL: none       */
    /* What the head says; false: more of it is needed. */
    bool (*step)(struct cv_frame_walk *walk);
    /* Of lz4: the frame that it is in, if jobs may begin with its blocks. */
    bool opens; /* one may begin here                                     */
    bool apart; /* it is in one                                           */
    bool fresh; /* ... of which no job has blocks yet                     */
    uint64_t frame;
    struct cv_lz4_head lz4;
    /* Of who asks: what was made of such a frame. */
    struct cv_lz4_sum *sum; /* owned */
};

/* The next head, behind what is passed over. */
void cv_walk_expect(struct cv_frame_walk *walk, enum cv_walk_part part, size_t need,
                    uint64_t pass);
/* A frame to be skipped? */
bool cv_walk_skippable(const uint8_t *head);
/* ... which it is; `need` bytes of the next head. */
bool cv_walk_skip(struct cv_frame_walk *walk, size_t need);
struct cv_frame_walk *cv_walk_open(uint64_t offset,
                                   bool (*step)(struct cv_frame_walk *walk), size_t need);
bool cv_walk_cut(void *state, struct cv_parallel_decoder *parallel, const uint8_t *bytes,
                 size_t length);
void cv_walk_end(void *state, struct cv_parallel_decoder *parallel, int error);

#endif
