/* return_check.h -- which results are ready and which have come back.
 * SPDX-License-Identifier: MIT
 *
 * The driver's book about chunks whose results are sent back. It refuses to fetch what is
 * not computed, or twice, or from another worker, and knows at the end what is missing. */
#ifndef CV_RETURN_CHECK_H
#define CV_RETURN_CHECK_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cv_return_chunk {
    uint32_t worker;
    uint32_t stage;
};

struct cv_return_check {
    struct cv_return_chunk *chunks; /* owned: by number        */
    size_t count, room;
    uint64_t returned;
};

void cv_return_check_clear(struct cv_return_check *check);
void cv_return_check_done(struct cv_return_check *check);

/* The next chunk was ordered for `worker`. False when memory is short. */
bool cv_return_check_sent(struct cv_return_check *check, uint32_t worker);
/* Its result is ready; it has come back. */
void cv_return_check_computed(struct cv_return_check *check, uint64_t chunk);
void cv_return_check_returned(struct cv_return_check *check, uint64_t chunk);
/* NULL when the result may be asked for, which is noted; else what is wrong. */
const char *cv_return_check_order(struct cv_return_check *check, uint32_t worker,
                                  uint64_t chunk);

#endif
