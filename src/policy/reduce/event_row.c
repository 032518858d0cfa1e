/* event_row.c -- how a row of pending times is sorted. SPDX-License-Identifier: MIT */
#include "policy/reduce/event_row.h"

static size_t fill_up(size_t size, struct cv_row_pair *out)
{
    for (; size % CV_ROW_STEP != 0; size++)
        if (out != NULL)
            out[size] = (struct cv_row_pair){ 0, 0 };
    return size;
}

/* One pass. With p > 1 all numbers are even, so pairs come two by two. */
static size_t list_pass(uint32_t count, uint32_t p, uint32_t rest, uint32_t distance,
                        size_t size, struct cv_row_pair *out)
{
    for (uint32_t i = 0; i + distance<count; i += p> 1 ? 2 : 1) {
        if ((i & p) != rest)
            continue;
        if (out != NULL)
            out[size] = (struct cv_row_pair){ (uint16_t)i, (uint16_t)(i + distance) };
        size++;
    }
    return size;
}

size_t cv_row_network(uint32_t count, struct cv_row_pair *out, size_t *out_wide)
{
    uint32_t top = 1;
    size_t size = 0;

    count += count % 2;
    while (2 * top < count)
        top *= 2;
    *out_wide = 0;
    for (uint32_t p = top; p > 0; p /= 2) {
        uint32_t distance = p, rest = 0;

        if (p == 1)
            *out_wide = size = fill_up(size, out);
        for (uint32_t q = top;; q /= 2) {
            size = list_pass(count, p, rest, distance, size, out);
            if (q == p)
                break;
            distance = q - p;
            rest = p;
        }
    }
    return fill_up(size, out);
}
