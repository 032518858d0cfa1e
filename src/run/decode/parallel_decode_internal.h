/* parallel_decode_internal.h -- what parallel_decode.c and parallel_decode_job.c share. SPDX-License-Identifier: MIT */
#ifndef CV_PARALLEL_DECODE_INTERNAL_H
#define CV_PARALLEL_DECODE_INTERNAL_H
#include <pthread.h>
#include "run/decode/parallel_decode.h"
#include "run/common/threads.h"

enum { CV_WIDE_IDLE = 20 }; /* decoders and slices that are kept for the next jobs */

struct cv_parallel_decoder {
    struct cv_ahead ahead; /* first */
    const struct cv_parallel_decode_format *form;
    struct cv_decoder_input input;
    void *state; /* owned: the form's, some of it for the reader, some for who asks */
    struct cv_ordered_jobs *pool; /* owned */
    pthread_t reader;
    bool reading;
    bool members; /* are given out apart */
    size_t held_most;
    pthread_mutex_t lock; /* for these, and the bytes of jobs */
    pthread_cond_t more, room;
    size_t held;
    bool stopped;
    bool full;                               /* the reader had no memory */
    struct cv_parallel_decode_chunk *spare;  /* owned */
    struct cv_parallel_decode_slice *slices; /* owned: large ones that were read */
    struct cv_decoder *idle[CV_WIDE_IDLE];   /* owned */
    unsigned nslices, nidle;
    /* For who asks. */
    struct cv_parallel_decode_chunk *chunks, *current; /* owned */
    uint64_t made;                                     /* handed out, or about to be */
    struct cv_parallel_decode_job *failed; /* owned: the reader may still fill it */
    bool over;
    enum cleave_status status;
    struct cleave_error err;
};

/* The bytes of a job that nobody will read are not held any more. */
void cv_wide_forget(struct cv_parallel_decode_job *job);
/* Free a job, and chunks. */
void cv_wide_drop(void *job);
void cv_wide_drop_slices(struct cv_parallel_decode_slice *slices);
void cv_wide_drop_chunks(struct cv_parallel_decode_chunk *chunks);

#endif
