/* inflate_marks.c -- undo deflate without what is before. SPDX-License-Identifier: MIT */
#include "run/inflate/inflate_marks.h"

#define CELL uint16_t
#include "run/inflate/inflate_cells.h"

enum { GROUP = 8 }; /* cells that are looked at together */

void cv_marks_fill(uint16_t *base)
{
    for (unsigned i = 0; i < CV_INFLATE_WINDOW; i++)
        base[i] = (uint16_t)(CV_MARK | i);
}

void cv_inflate_marks_begin(struct cv_inflate *inflate)
{
    cv_inflate_init(inflate);
    inflate->made = CV_INFLATE_WINDOW;
}

enum cv_inflate_state cv_inflate_marks_run(struct cv_inflate *inflate, const uint8_t **in,
                                           size_t *length, uint16_t *base, size_t *at,
                                           size_t room)
{
    return run(inflate, in, length, base, at, room);
}

size_t cv_marks_clean(const uint16_t *cells, size_t count)
{
    size_t clean = 0;

    while (clean < count && cells[count - 1 - clean] < CV_MARK)
        clean++;
    return clean;
}

void cv_marks_narrow(const uint16_t *cells, size_t count, uint8_t *out)
{
    for (size_t i = 0; i < count; i++)
        out[i] = (uint8_t)cells[i];
}

/* Every cell is looked up, which is as fast whatever they are. Of a group all are read before
 * a byte is written: it may be written over them. */
void cv_marks_resolve(const uint16_t *cells, size_t count,
                      const uint8_t window[CV_INFLATE_WINDOW], uint8_t *out)
{
    uint8_t bytes[2 * CV_MARK];
    size_t at = 0;

    for (unsigned i = 0; i < 256; i++)
        bytes[i] = (uint8_t)i;
    memcpy(bytes + CV_MARK, window, CV_INFLATE_WINDOW);
    for (; at + GROUP <= count; at += GROUP) {
        const uint16_t *from = cells + at;
        const uint8_t a = bytes[from[0]], b = bytes[from[1]], c = bytes[from[2]];
        const uint8_t d = bytes[from[3]], e = bytes[from[4]], f = bytes[from[5]];
        const uint8_t g = bytes[from[6]], h = bytes[from[7]];
        uint8_t *to = out + at;

        to[0] = a, to[1] = b, to[2] = c, to[3] = d;
        to[4] = e, to[5] = f, to[6] = g, to[7] = h;
    }
    for (; at < count; at++)
        out[at] = bytes[cells[at]];
}
