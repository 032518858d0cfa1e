/* spool.h -- the part of a stream that is still needed, in memory of no process.
 * SPDX-License-Identifier: MIT
 *
 * The bytes lie in a memfd, so that they can be spliced into pipes. Fresh pages cost about
 * as much as the copy into them, so memory that was given back is written again: the stream
 * lies there in laps, each a run of bytes that follow each other in the stream and in the
 * file. A lap begins at a record boundary, so no piece has to lie in two of them. The first
 * `keep` bytes of the file are mapped all the time; what has to go behind them is not, and
 * is not kept once it is given back. */
#ifndef CV_SPOOL_H
#define CV_SPOOL_H
#include "run/range_set.h"

struct cv_lap {
    uint64_t begin; /* in the stream                                                    */
    uint64_t end;   /* in the stream; UINT64_MAX: it is being written                   */
    uint64_t at;    /* of that byte in the file                                         */
    uint64_t limit; /* in the file: it has to end there                                 */
    uint64_t given; /* bytes of it that were given back                                 */
};

/* For one thread at a time. The fields are for the functions of this header. */
struct cv_spool {
    int fd;              /* owned                                                      */
    char *bytes;         /* owned: the first `keep` bytes of the file */
    struct cv_lap *laps; /* owned: in order; the last one is being written             */
    size_t nlaps, capacity;
    struct cv_range_set free; /* below `size`: may be written again                     */
    uint64_t size;  /* of the file, as far as it was used                         */
    uint64_t keep;  /* memory before this offset is kept when it is given back    */
    uint64_t least; /* bytes of a lap that are worth while                        */
    bool straight;  /* one lap only                                               */
};

/* Zero-initialised, with fd = -1, it may be passed to cv_spool_done. */
enum cleave_status cv_spool_init(struct cv_spool *spool, uint64_t keep, uint64_t least,
                                 struct cleave_error *err);
void cv_spool_done(struct cv_spool *spool);
/* From the first byte on: let it be one lap, however long. */
void cv_spool_straight(struct cv_spool *spool);

/* Where the next bytes of the stream go, as an offset of the file, and how many fit (some
 * more may fit elsewhere). Those from `settled` on, up to `received`, may be moved;
 * `settled` is a record boundary. */
enum cleave_status cv_spool_room(struct cv_spool *spool, uint64_t settled,
                                 uint64_t received, uint64_t *at, uint64_t *room,
                                 struct cleave_error *err);
/* Where a byte of the stream that was not given back is in the file, and with what byte of
 * the stream its lap ends; UINT64_MAX for the last one. */
uint64_t cv_spool_at(const struct cv_spool *spool, uint64_t offset, uint64_t *end);
/* Bytes [begin, end) of the stream, in one lap, are not needed any more. */
enum cleave_status cv_spool_give_back(struct cv_spool *spool, uint64_t begin,
                                      uint64_t end, struct cleave_error *err);

/* Bytes [begin, end) of the stream, in one lap; to be closed after use. begin < end. */
enum cleave_status cv_spool_view(const struct cv_spool *spool, uint64_t begin,
                                 uint64_t end, const char **out,
                                 struct cleave_error *err);
void cv_spool_close_view(const struct cv_spool *spool, const char *bytes,
                         uint64_t length);

#endif
