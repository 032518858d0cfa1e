/* poison_chunks.h -- whether a chunk is to blame for hosts that were lost with it.
 * SPDX-License-Identifier: MIT
 *
 * A chunk may take its machine down: by using up all memory, say. Done by one host after the
 * other, it would take them all, and the run would never end. So it is remembered which
 * bytes were being worked on when a host was lost. Bytes that were lost CV_BLAME_LOSSES
 * times, and with that many hosts, or with all that take part if those are fewer, are
 * guilty. One bad host makes nothing guilty, as long as there are others; what is done in
 * the end is innocent. Whoever had company when the last host was lost gets another chance,
 * alone (chunk_lifecycle.c). */
#ifndef CV_POISON_CHUNKS_H
#define CV_POISON_CHUNKS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cleave/error.h>

enum { CV_BLAME_LOSSES = 3 };

struct cv_poison_suspect {
    uint64_t begin, end; /* addresses                                                  */
    uint32_t losses;
    uint32_t nhosts;
    const void *hosts[CV_BLAME_LOSSES]; /* different ones, as names of them            */
};

/* All zero: nobody is suspected. */
struct cv_poison_tracker {
    struct cv_poison_suspect
        *suspects; /* owned; no two overlap                              */
    size_t count, room;
};

void cv_poison_tracker_done(struct cv_poison_tracker *poison);

/* [begin, end) was being worked on by a host that is lost, one of `machines` that take part
 * in the run. *out_hosts is with how many it was lost if it is guilty, else 0. */
enum cleave_status cv_poison_tracker_lost(struct cv_poison_tracker *poison,
                                          uint64_t begin, uint64_t end, const void *host,
                                          uint32_t machines, uint32_t *out_hosts,
                                          struct cleave_error *err);
/* [begin, end) is done, or given up. */
enum cleave_status cv_poison_tracker_clear(struct cv_poison_tracker *poison,
                                           uint64_t begin, uint64_t end,
                                           struct cleave_error *err);

#endif
