/* parallel.h -- a loop shared over threads. SPDX-License-Identifier: MIT */
#ifndef CV_PARALLEL_H
#define CV_PARALLEL_H
#include <stdint.h>
#include <cleave/error.h>

/* Does turns begin .. end - 1. `thread` is below cv_parallel_threads: a place for what a
 * thread keeps to itself. */
typedef enum cleave_status cv_parallel_body(void *context, unsigned thread,
                                            uint64_t begin, uint64_t end,
                                            struct cleave_error *err);

struct cv_parallel {
    uint64_t count, block; /* turns in all, turns handed out at once       */
    unsigned threads;      /* wanted; 0: one per usable core               */
    cv_parallel_body *body;
    void *context;
    /* Called from the calling thread with the turns done; may be NULL.    */
    void (*progress)(void *context, uint64_t done);
    void *progress_context;
};

/* How many threads there will be at most. */
unsigned cv_parallel_threads(const struct cv_parallel *loop);

/* Do all turns, blocks in any order. When turns fail, the error is that of the earliest
 * block which failed, and blocks not yet begun are left out. */
enum cleave_status cv_parallel_run(const struct cv_parallel *loop,
                                   struct cleave_error *err);

#endif
