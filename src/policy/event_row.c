/* event_row.c -- how a row of pending times is sorted. SPDX-License-Identifier: MIT */
#include "policy/event_row.h"

size_t cv_row_network(uint32_t count, struct cv_row_pair *out)
{
    uint32_t top = 1;
    size_t size = 0;

    while (2 * top < count)
        top *= 2;
    for (uint32_t p = top; p > 0; p /= 2) {
        uint32_t distance = p, rest = 0;

        for (uint32_t q = top;; q /= 2) {
            for (uint32_t i = 0; i + distance < count; i++) {
                if ((i & p) != rest)
                    continue;
                if (out != NULL)
                    out[size] =
                        (struct cv_row_pair){ (uint16_t)i, (uint16_t)(i + distance) };
                size++;
            }
            if (q == p)
                break;
            distance = q - p;
            rest = p;
        }
    }
    for (; size % CV_ROW_STEP != 0; size++)
        if (out != NULL)
            out[size] = (struct cv_row_pair){ 0, 0 };
    return size;
}
