/* gather_check.h -- helpers of the tests of ordered output. SPDX-License-Identifier: MIT
 *
 * To be included after cmocka.h. */
#ifndef GATHER_CHECK_H
#define GATHER_CHECK_H
#include "run/output/ordered_output.h"
#include "plumbing_check.h"

static inline struct cv_ordered_output *
new_gather(struct cv_ordered_output_options options)
{
    struct cv_ordered_output *outputs = NULL;

    must(cv_ordered_output_new(&options, &outputs, &err));
    return outputs;
}

static inline struct cv_chunk_output *open_store(struct cv_ordered_output *outputs)
{
    struct cv_chunk_output *store = NULL;

    must(cv_chunk_output_open(outputs, &store, &err));
    return store;
}

/* Write the available output, at most `step` bytes at a time, to a sink that takes it. */
static inline void write_by(struct cv_ordered_output *outputs, uint64_t max)
{
    enum cv_ordered_output_state state = CV_GATHER_BUSY;

    while (state == CV_GATHER_BUSY)
        must(cv_ordered_output_pump(outputs, max, &state, &err));
    assert_int_equal(state, CV_GATHER_IDLE);
}

static inline void write_all(struct cv_ordered_output *outputs)
{
    write_by(outputs, 100000);
}

#endif
