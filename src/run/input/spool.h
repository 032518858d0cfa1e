/* spool.h -- the part of a stream that is still needed, in memory.
 * SPDX-License-Identifier: MIT
 *
 * Bytes are lent to pipes, not copied, and whoever reads them may pass them on in the same
 * way: to another pipe, or to a socket that sends them when the command has long ended. So
 * no byte is ever written over. Memory is given back in blocks, and new blocks are used
 * instead, which costs little where the system has huge pages: with small ones it would
 * take as long as the copy into them.
 *
 * A stretch is a range of addresses, most of which have no memory: the stream lies in one
 * until that is full. Then what was not settled moves on to the next, so that a stretch
 * begins at a record boundary and no piece has to lie in two of them. */
#ifndef CV_SPOOL_H
#define CV_SPOOL_H
#include "run/common/range_set.h"

struct cv_spool_segment {
    uint64_t begin; /* in the stream                                          */
    uint64_t end;   /* in the stream; UINT64_MAX: it is being written         */
    uint64_t given; /* bytes that were given back                             */
    char *bytes;    /* owned: of `begin`                                      */
    size_t size;    /* bytes of addresses                                     */
    size_t open;    /* of them, from the first on: may be, or were, written   */
};

/* For one thread at a time. The fields are for the functions of this header. */
struct cv_spool {
    struct cv_spool_segment
        *stretches; /* owned: in order; the last one is being written */
    size_t count, capacity;
    struct cv_range_set given; /* of the stream, where a stretch has more           */
    size_t size;               /* of a stretch, if there are as many addresses      */
};

/* A stretch of 0: as long as is usual. Zero-initialised it may be passed to
 * cv_spool_done. */
enum cleave_status cv_spool_init(struct cv_spool *spool, size_t stretch,
                                 struct cleave_error *err);
void cv_spool_done(struct cv_spool *spool);

/* Where the next bytes of the stream go, and how many fit (some more may fit elsewhere).
 * Those from `settled` on, up to `received`, may be moved; `settled` is a record
 * boundary. */
enum cleave_status cv_spool_room(struct cv_spool *spool, uint64_t settled,
                                 uint64_t received, char **at, size_t *room,
                                 struct cleave_error *err);
/* Where a byte of the stream that was not given back is, and with what byte of the stream
 * its stretch ends; UINT64_MAX for the last one. */
const char *cv_spool_at(const struct cv_spool *spool, uint64_t offset, uint64_t *end);
/* Bytes [begin, end) of the stream, in one stretch, are not needed any more. */
enum cleave_status cv_spool_give_back(struct cv_spool *spool, uint64_t begin,
                                      uint64_t end, struct cleave_error *err);

#endif
