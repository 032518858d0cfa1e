/* exact_sum.h -- sums of doubles compared without rounding. SPDX-License-Identifier: MIT
 *
 * A double is an integer times a power of 2, so a sum of doubles has an exact value. It
 * is held here as one very long fixed-point number that covers every finite double. */
#ifndef CV_EXACT_SUM_H
#define CV_EXACT_SUM_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bits 2^-1074 to 2^1023 of a double, times a count below 2^32, 2^31 terms: 2161 bits. */
enum { CV_EXACT_LIMBS = 68 };

struct cv_exact_sum {
    uint64_t limb[CV_EXACT_LIMBS]; /* 32 bits each, lowest first, the rest are carries */
    uint32_t terms;                /* since the carries were last moved up             */
};

void cv_exact_begin(struct cv_exact_sum *sum);
/* Add count * value; value is finite and >= 0. */
void cv_exact_add(struct cv_exact_sum *sum, double value, uint32_t count);
/* Negative, 0 or positive: the sum is below, equal to or above `value` (finite, >= 0). */
int cv_exact_compare(struct cv_exact_sum *sum, double value);

#endif
