/* inflate.c -- undo deflate, a stretch at a time. SPDX-License-Identifier: MIT */
#define CELL uint8_t
#include "run/inflate/inflate_cells.h"

void cv_inflate_init(struct cv_inflate *inflate)
{
    inflate->bits = 0;
    inflate->nbits = 0;
    inflate->step = CV_INFLATE_AT_HEAD;
    inflate->last = false;
    inflate->pauses = false;
    inflate->paused = true;
    inflate->loose = false;
    inflate->made = 0;
    inflate->length = 0;
    inflate->why = NULL;
}

void cv_inflate_skip_bits(struct cv_inflate *inflate, const uint8_t **in, size_t *length,
                          unsigned bits)
{
    if (bits == 0 || *length == 0)
        return;
    inflate->bits = (uint64_t)(*in)[0] >> bits;
    (*in)++;
    inflate->nbits = 8 - bits;
    (*length)--;
}

enum cv_inflate_state cv_inflate_run(struct cv_inflate *inflate, const uint8_t **in,
                                     size_t *length, uint8_t *base, size_t *at,
                                     size_t room)
{
    return run(inflate, in, length, base, at, room);
}
