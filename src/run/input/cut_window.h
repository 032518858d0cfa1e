/* cut_window.h -- cut a stream at record boundaries. SPDX-License-Identifier: MIT
 *
 * A window is the bytes of a stream from a record start. Its owner asks where to cut, takes the bytes
 * before the cut away, and appends new ones. A record that is larger than the window is not searched
 * again from its start when the window grows. */
#ifndef CV_CUT_WINDOW_H
#define CV_CUT_WINDOW_H
#include "run/split/split_kind.h"

/* For one thread at a time. All members but `torn` are private. */
struct cv_cut_window {
    const struct cv_splitter *splitter; /* borrowed                                   */
    uint64_t offset;     /* of the window in the stream                               */
    uint64_t lead;       /* end of the header in the stream, if it is not records     */
    bool started;        /* a record starts at the start of the window                */
    size_t clear;        /* no boundary is in [1, clear)                              */
    struct cv_walk walk; /* for splitters that are not local                          */
    uint64_t torn;       /* offset of an incomplete last record; UINT64_MAX: none     */
    /* For groups of records: the window begins at `start`, and `best` is the last group in it. The
     * members above concern the next record. */
    struct {
        uint64_t start, best;
        struct cv_group_state state;
    } group;
};

/* At the start of the stream. Nothing is to be released. */
void cv_cut_window_init(struct cv_cut_window *window, const struct cv_splitter *splitter);
/* The first bytes of the stream are a header, not records. To be called before the first search. */
void cv_cut_window_lead(struct cv_cut_window *window, uint64_t lead);
/* Another window of the stream of `first`, at a boundary. */
void cv_cut_window_again(struct cv_cut_window *window, const struct cv_cut_window *first,
                         uint64_t offset);
/* The last boundary at or before `wanted`, else the first after it, else `length` if the stream has
 * ended, else 0: call again with more bytes. The bytes of earlier calls must be unchanged. To lower
 * `wanted` may take longer. */
enum cleave_status cv_cut_window_find(struct cv_cut_window *window, const char *bytes,
                                      size_t length, bool ended, size_t wanted,
                                      size_t *out, struct cleave_error *err);
/* The first `cut` bytes, up to a boundary, were taken out of the window. */
void cv_cut_window_take(struct cv_cut_window *window, size_t cut);

#endif
