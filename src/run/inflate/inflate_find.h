/* inflate_find.h -- where a block of deflate may begin. SPDX-License-Identifier: MIT
 *
 * Nothing marks it, and it may be at any bit. What is found is a block that is not the last
 * one, with codes of its own, whose head can be read as cv_inflate_run would: blocks that are
 * stored, or use the fixed codes, look too much like anything else. Chance makes such a head at
 * less than one of a thousand million places; who decodes from there has to see whether the
 * block before really ends there. */
#ifndef CV_INFLATE_FIND_H
#define CV_INFLATE_FIND_H
#include "run/inflate/inflate.h"

/* The first such bit in [from, to), of the bits of `in`, as deflate counts them. False: there is
 * none, or it is too near the end of the input. `scratch` is changed. */
bool cv_inflate_find(const uint8_t *in, size_t length, uint64_t from, uint64_t to,
                     struct cv_inflate *scratch, uint64_t *out);

#endif
