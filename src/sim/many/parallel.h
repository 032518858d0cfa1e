/* parallel.h -- a loop shared over threads. SPDX-License-Identifier: MIT */
#ifndef CV_PARALLEL_H
#define CV_PARALLEL_H
#include <stdint.h>
#include <cleave/error.h>

/* Does iterations begin .. end - 1. `thread` is below cv_parallel_threads. */
typedef enum cleave_status cv_parallel_body(void *context, unsigned thread,
                                            uint64_t begin, uint64_t end,
                                            struct cleave_error *err);

struct cv_parallel {
    uint64_t count, block; /* iterations in all, and per block */
    unsigned threads;      /* wanted; 0: one per usable core               */
    cv_parallel_body *body;
    void *context;
    /* Called from the calling thread with the iterations done; may be NULL. */
    void (*progress)(void *context, uint64_t done);
    void *progress_context;
};

/* Maximum number of threads. */
unsigned cv_parallel_threads(const struct cv_parallel *loop);

/* Do all iterations, blocks in any order. If some fail, the error comes from the earliest
 * failed block, and other blocks are not started. */
enum cleave_status cv_parallel_run(const struct cv_parallel *loop,
                                   struct cleave_error *err);

#endif
