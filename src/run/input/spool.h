/* spool.h -- the bytes of a stream that are still needed, in memory. SPDX-License-Identifier: MIT
 *
 * Bytes are lent to pipes, not copied, and a reader may pass them on in the same way, for example to
 * a socket that sends them after the command has ended. So no byte is ever overwritten: memory is
 * released in blocks, and new blocks are used instead. With huge pages that costs little.
 *
 * A segment is a range of addresses, mostly without memory. When it is full, bytes that are not
 * settled move to the next one, so that a segment begins at a record boundary and no piece is in two
 * segments. */
#ifndef CV_SPOOL_H
#define CV_SPOOL_H
#include "run/common/range_set.h"

struct cv_spool_segment {
    uint64_t begin, end; /* in the stream; end UINT64_MAX: it is being written */
    uint64_t given;      /* bytes that were given back                         */
    char *bytes;         /* owned: addresses of `size` bytes, from `begin`     */
    size_t size;
    size_t open; /* of them, from the first: may have memory */
};

/* For one thread at a time. The members are private. */
struct cv_spool {
    struct cv_spool_segment *segments; /* owned: in order                            */
    size_t count, capacity;
    struct cv_range_set given; /* bytes given back of segments that have others      */
    size_t size;               /* of a segment, if there are enough addresses        */
};

/* segment: 0, or addresses of a segment. A zeroed structure may be passed to cv_spool_done. */
enum cleave_status cv_spool_init(struct cv_spool *spool, size_t segment,
                                 struct cleave_error *err);
void cv_spool_done(struct cv_spool *spool);

/* Where the next bytes of the stream go, and how many fit there. May move the bytes from `settled`,
 * a record boundary, up to `received`. */
enum cleave_status cv_spool_room(struct cv_spool *spool, uint64_t settled,
                                 uint64_t received, char **at, size_t *room,
                                 struct cleave_error *err);
/* The address of a byte that was not given back, and the end of its segment; UINT64_MAX: the last. */
const char *cv_spool_at(const struct cv_spool *spool, uint64_t offset, uint64_t *end);
/* Bytes [begin, end), in one segment, are no longer needed. */
enum cleave_status cv_spool_give_back(struct cv_spool *spool, uint64_t begin,
                                      uint64_t end, struct cleave_error *err);

#endif
