/* cut_window.h -- cut a stream at record boundaries. SPDX-License-Identifier: MIT
 *
 * The reader of a stream keeps a window: bytes in memory from a record start on. It asks
 * where to cut, takes that much away, and appends what it reads. A record larger than
 * the window is not searched again from its start each time the window grows. */
#ifndef CV_CUT_WINDOW_H
#define CV_CUT_WINDOW_H
#include "run/split/split_kind.h"

/* For one thread at a time. The fields are for the functions of this header. */
struct cv_cut_window {
    const struct cv_splitter *splitter; /* borrowed                                   */
    uint64_t offset;     /* of the window in the stream                               */
    uint64_t lead;       /* of the stream: bytes of header that are no records        */
    bool started;        /* the record at the start of the window has its own start   */
    size_t clear;        /* no boundary is in [1, clear)                              */
    struct cv_walk walk; /* for splitters that are not local                          */
    uint64_t torn;       /* see cv_cut_window_torn                                    */
    /* Where records are in groups, all of the above is about the next record to look at, and
     * the window begins at `start`; `best` is the last group known to begin in it. */
    struct {
        uint64_t start, best;
        struct cv_group_state state;
    } group;
};

/* At the start of the stream. There is nothing to release. */
void cv_cut_window_init(struct cv_cut_window *window, const struct cv_splitter *splitter);

/* The first bytes of the stream are no records, but lines of a header. Before the first
 * search, if the window is where the stream begins. */
void cv_cut_window_lead(struct cv_cut_window *window, uint64_t lead);

/* Another window of the stream of `first`, which has begun, at a boundary of it. */
void cv_cut_window_again(struct cv_cut_window *window, const struct cv_cut_window *first,
                         uint64_t offset);

/* Where to cut the `length` bytes of the window: the last boundary at or before `wanted`;
 * without one, the first after it; without that, `length` if the stream has ended and 0
 * if not: then read more and ask again. 0 of an ended stream only if length is 0.
 * Without a cut in between, the bytes seen before must be in place. A smaller `wanted`
 * than before may take longer. With wanted = 1, the cut is the end of the first record: a
 * header to be repeated. */
enum cleave_status cv_cut_window_find(struct cv_cut_window *window, const char *bytes,
                                      size_t length, bool ended, size_t wanted,
                                      size_t *out, struct cleave_error *err);
/* The first `cut` bytes, up to a boundary, were taken out of the window. */
void cv_cut_window_take(struct cv_cut_window *window, size_t cut);
/* Offset in the stream of a last record that its end cuts short, as by a quote that is
 * never closed; UINT64_MAX as long as none was met. */
uint64_t cv_cut_window_torn(const struct cv_cut_window *window);

#endif
