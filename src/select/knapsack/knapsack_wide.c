/* knapsack_wide.c -- weights and capacities as wide integers.
 * SPDX-License-Identifier: MIT */
#include "select/knapsack/knapsack_internal.h"

#include <math.h>

int cv_wide_lowest_bit(double value)
{
    int exponent, bit = 0;
    uint64_t mantissa = (uint64_t)ldexp(frexp(value, &exponent), 53);

    for (; (mantissa & 1) == 0; bit++)
        mantissa >>= 1;
    return exponent - 53 + bit;
}

cv_parallel_decoder cv_wide_of(double value, int unit, bool up, bool *lost)
{
    int exponent, shift;
    uint64_t mantissa;

    if (value == 0)
        return 0;
    mantissa = (uint64_t)ldexp(frexp(value, &exponent), 53);
    shift = exponent - 53 - unit;
    if (shift >= 0)
        return (cv_parallel_decoder)mantissa << shift;
    if (shift <= -64 || ((mantissa >> -shift) << -shift) != mantissa) {
        *lost = true;
        return (shift <= -64 ? 0 : mantissa >> -shift) + (up ? 1 : 0);
    }
    return mantissa >> -shift;
}

uint32_t cv_wide_times(cv_parallel_decoder capacity, cv_parallel_decoder weight,
                       uint32_t max)
{
    cv_parallel_decoder times;

    if (capacity < weight || max == 0)
        return 0;
    if (max == 1)
        return 1;
    if (capacity <= UINT64_MAX)
        times = (uint64_t)capacity / (uint64_t)weight;
    else
        times = capacity / weight;
    return times < max ? (uint32_t)times : max;
}
