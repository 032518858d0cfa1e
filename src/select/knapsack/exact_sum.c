/* exact_sum.c -- a fixed-point number as long as the range of doubles.
 * SPDX-License-Identifier: MIT */
#include "select/knapsack/exact_sum.h"

#include <math.h>
#include <string.h>

enum { LOWEST = -1074, LIMB_BITS = 32 };

void cv_exact_begin(struct cv_exact_sum *sum)
{
    memset(sum, 0, sizeof *sum);
}

static void carry(struct cv_exact_sum *sum)
{
    uint64_t over = 0;

    for (size_t i = 0; i < CV_EXACT_LIMBS; i++) {
        const uint64_t limb = sum->limb[i] + over;

        sum->limb[i] = limb & UINT32_MAX;
        over = limb >> LIMB_BITS;
    }
    sum->terms = 0;
}

/* Add value * 2^bit, where bit counts from the lowest bit of the number. */
static void add_shifted(struct cv_exact_sum *sum, uint64_t value, unsigned bit)
{
    const unsigned limb = bit / LIMB_BITS, shift = bit % LIMB_BITS;
    const uint64_t low = (value & UINT32_MAX) << shift;
    const uint64_t high = (value >> LIMB_BITS) << shift;

    sum->limb[limb] += low & UINT32_MAX;
    sum->limb[limb + 1] += (low >> LIMB_BITS) + (high & UINT32_MAX);
    sum->limb[limb + 2] += high >> LIMB_BITS;
}

void cv_exact_add(struct cv_exact_sum *sum, double value, uint32_t count)
{
    int exponent;
    const double fraction = frexp(value, &exponent);
    const uint64_t mantissa = (uint64_t)ldexp(fraction, 53);
    const int lowest = exponent - 53;
    /* Below the normal range the mantissa ends in zeros; its bits start at LOWEST. */
    const unsigned lost = lowest < LOWEST ? (unsigned)(LOWEST - lowest) : 0;
    const unsigned bit = lowest < LOWEST ? 0 : (unsigned)(lowest - LOWEST);
    const uint64_t whole = mantissa >> lost;

    if (value == 0 || count == 0)
        return;
    /* Three numbers below 2^33 go to a limb each time. */
    if (++sum->terms >= UINT32_C(1) << 28)
        carry(sum);
    add_shifted(sum, (whole & UINT32_MAX) * count, bit);
    add_shifted(sum, (whole >> LIMB_BITS) * count, bit + LIMB_BITS);
}

int cv_exact_compare(struct cv_exact_sum *sum, double value)
{
    struct cv_exact_sum other;

    cv_exact_begin(&other);
    cv_exact_add(&other, value, 1);
    carry(&other);
    carry(sum);
    for (size_t i = CV_EXACT_LIMBS; i-- > 0;)
        if (sum->limb[i] != other.limb[i])
            return sum->limb[i] < other.limb[i] ? -1 : 1;
    return 0;
}
