/* inflate_marks.h -- decoder of deflate that begins in the middle of a stream.
 * SPDX-License-Identifier: MIT
 *
 * An output byte is a cell of 16 bits. A byte that is copied from the unknown 32 KiB before the
 * start is a mark: the index of the byte in that window. Copies of a mark are the same mark.
 * Once the window is known, marks are replaced by its bytes. */
#ifndef CV_INFLATE_MARKS_H
#define CV_INFLATE_MARKS_H
#include "run/inflate/inflate.h"

#define CV_MARK 0x8000u /* set in a mark; the lower bits are the index */

/* Fill the window, the first CV_INFLATE_WINDOW cells of `base`, with marks. */
void cv_marks_fill(uint16_t *base);
/* Initialise `inflate` to decode after such a window. */
void cv_inflate_marks_begin(struct cv_inflate *inflate);
/* cv_inflate_run with cells. */
enum cv_inflate_state cv_inflate_marks_run(struct cv_inflate *inflate, const uint8_t **in,
                                           size_t *length, uint16_t *base, size_t *at,
                                           size_t room);
/* The number of cells after the last mark. */
size_t cv_marks_clean(const uint16_t *cells, size_t count);
/* Cells without marks as bytes; `out` may be `cells`. */
void cv_marks_narrow(const uint16_t *cells, size_t count, uint8_t *out);
/* Cells as bytes, with marks replaced; `out` may be `cells`. */
void cv_marks_resolve(const uint16_t *cells, size_t count,
                      const uint8_t window[CV_INFLATE_WINDOW], uint8_t *out);

/* The first bit in [from, to) where a block may begin. Finds blocks with dynamic codes that are
 * not the last one and whose header is valid: stored blocks and blocks with fixed codes look
 * like other data. A random position passes with probability below 1e-9, so the caller must
 * check that the block before really ends there. False: none, or too close to the end of the
 * input. `scratch` is overwritten. */
bool cv_inflate_find(const uint8_t *in, size_t length, uint64_t from, uint64_t to,
                     struct cv_inflate *scratch, uint64_t *out);

#endif
