/* bisect.h -- where a sorted row changes. SPDX-License-Identifier: MIT */
#ifndef CV_BISECT_H
#define CV_BISECT_H

/* How many of `count` elements come before the first for which the expression `before`, about
 * element number `i`, does not hold; it holds for none behind that. `out` is a variable. */
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
