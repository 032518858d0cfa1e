/* bisect.h -- binary search. SPDX-License-Identifier: MIT */
#ifndef CV_BISECT_H
#define CV_BISECT_H

/* The number of leading elements, of `count`, for which `before` holds: an expression
 * about element `i` that holds up to an element and for none after it. `out` is a
 * variable. */
#define CV_BISECT(out, count, i, before)                                \
    do {                                                                \
        __typeof__(out) bisect_end = (count);                           \
                                                                        \
        (out) = 0;                                                      \
        while ((out) < bisect_end) {                                    \
            const __typeof__(out) i = (out) + (bisect_end - (out)) / 2; \
                                                                        \
            if (before)                                                 \
                (out) = i + 1;                                          \
            else                                                        \
                bisect_end = i;                                         \
        }                                                               \
    } while (0)

#endif
