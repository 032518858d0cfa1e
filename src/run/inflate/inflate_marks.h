/* inflate_marks.h -- undo deflate from a block on without what is before it.
 * SPDX-License-Identifier: MIT
 *
 * A byte is kept in a cell of 16 bits. What is copied from the 32 KiB before the start,
 * which nobody knows yet, is a mark: it says which of these bytes it is, and copies of it are
 * the same mark. When the 32 KiB are known, marks are replaced by what they stand for. */
#ifndef CV_INFLATE_MARKS_H
#define CV_INFLATE_MARKS_H
#include "run/inflate/inflate.h"

#define CV_MARK 0x8000u /* a cell with that bit is a mark; below it, which byte it is */

/* Let the first 32 KiB of `base` be marks; nothing that is decoded behind them is written there. */
void cv_marks_fill(uint16_t *base);
/* Let `inflate` begin behind them. */
void cv_inflate_marks_begin(struct cv_inflate *inflate);
/* As cv_inflate_run, with cells. */
enum cv_inflate_state cv_inflate_marks_run(struct cv_inflate *inflate, const uint8_t **in,
                                           size_t *length, uint16_t *base, size_t *at,
                                           size_t room);
/* How many cells from the end on there are that are no marks. */
size_t cv_marks_clean(const uint16_t *cells, size_t count);
/* Cells without marks as bytes; `out` may be `cells`. */
void cv_marks_narrow(const uint16_t *cells, size_t count, uint8_t *out);
/* The same, marks being bytes of the window. */
void cv_marks_resolve(const uint16_t *cells, size_t count,
                      const uint8_t window[CV_INFLATE_WINDOW], uint8_t *out);

#endif
