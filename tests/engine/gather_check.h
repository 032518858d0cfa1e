/* gather_check.h -- what tests of a gather share. SPDX-License-Identifier: MIT
 *
 * To be included after cmocka.h. */
#ifndef GATHER_CHECK_H
#define GATHER_CHECK_H
#include "run/output/gather.h"
#include "plumbing_check.h"

static inline struct cv_gather *new_gather(struct cv_gather_options options)
{
    struct cv_gather *gather = NULL;

    must(cv_gather_new(&options, &gather, &err));
    return gather;
}

static inline struct cv_store *open_store(struct cv_gather *gather)
{
    struct cv_store *store = NULL;

    must(cv_store_open(gather, &store, &err));
    return store;
}

/* Write what may be written, at most so much at a time, to a sink that takes it. */
static inline void write_by(struct cv_gather *gather, uint64_t most)
{
    enum cv_gather_state state = CV_GATHER_BUSY;

    while (state == CV_GATHER_BUSY)
        must(cv_gather_pump(gather, most, &state, &err));
    assert_int_equal(state, CV_GATHER_IDLE);
}

static inline void write_all(struct cv_gather *gather)
{
    write_by(gather, 100000);
}

#endif
