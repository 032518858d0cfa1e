/* reduce_printed.h -- the bound of a limited reduction as it is in print.
 * SPDX-License-Identifier: MIT
 *
 * (floor(log2 k + 1) + ceil(n / k - 2)) (d + c). Right only when k is a power of two: for
 * n = 6, k = 3, d = 1, c = 0 it says 2, and 3 is the least. cv_reduce_upper_limited is
 * the correct bound. */
#ifndef REDUCE_PRINTED_H
#define REDUCE_PRINTED_H
#include <stdint.h>

/* k from 1 to n / 2. */
static inline double reduce_upper_printed(uint64_t n, double d, double c, uint64_t k)
{
    const uint64_t each = k > 0 ? (n + k - 1) / k : n;
    unsigned rounds = 0; /* floor(log2 k) */

    while (k >> rounds > 1)
        rounds++;
    return (rounds + 1 + ((double)each - 2)) * (d + c);
}

#endif
