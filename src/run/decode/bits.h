/* bits.h -- bits that do not begin at a byte. SPDX-License-Identifier: MIT */
#ifndef CV_BITS_H
#define CV_BITS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The first bit of a byte is its highest one, as in bzip2. Zero: none. */
struct cv_bits {
    uint8_t *bytes; /* owned                   */
    uint64_t count;
    size_t room; /* of `bytes`                 */
};

void cv_bits_done(struct cv_bits *bits);
/* Behind the others: the lowest `count` ones of a number; some of bytes, from bit `at` on. False: no memory. */
bool cv_bits_put(struct cv_bits *bits, uint64_t number, unsigned count);
bool cv_bits_copy(struct cv_bits *bits, const uint8_t *bytes, uint64_t at,
                  uint64_t count);
/* So many bits, at most 57, from bit `at` on. */
uint64_t cv_bits_get(const uint8_t *bytes, uint64_t at, unsigned count);

#endif
