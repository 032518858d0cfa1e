/* key_limits.h -- keys of the items and records that commands have. SPDX-License-Identifier: MIT */
#ifndef CV_KEY_LIMITS_H
#define CV_KEY_LIMITS_H
#include "run/common/range_set.h"

/* All zero: nothing is running. */
struct cv_key_limits {
    uint64_t *item; /* owned: keys of an item, one for each limit */
    /* The running pieces, for which `uses` holds. */
    struct cv_range *pieces; /* owned */
    size_t npieces, room;
    /* A hash table of a power of two of slots, at most half of them used. */
    struct cv_key_use {
        uint64_t key; /* 0: the slot is free */
        uint32_t chunks;
        uint32_t last; /* index in `pieces` of the last chunk that was counted, from 1 */
    } * uses;          /* owned */
    size_t nslots, nkeys;
};

#endif
