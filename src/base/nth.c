/* nth.c -- Hoare's selection, with middle pivots because values are often sorted.
 * SPDX-License-Identifier: MIT */
#include "base/nth.h"

double cv_nth(double *values, size_t count, size_t place)
{
    size_t low = 0, high = count - 1;

    while (low < high) {
        const double pivot = values[low + (high - low) / 2];
        size_t i = low, j = high;

        for (;; i++, j--) {
            double kept;

            while (values[i] < pivot)
                i++;
            while (values[j] > pivot)
                j--;
            if (i >= j)
                break;
            kept = values[i];
            values[i] = values[j];
            values[j] = kept;
        }
        /* low .. j are at most the pivot, j + 1 .. high at least. */
        if (place <= j)
            high = j;
        else
            low = j + 1;
    }
    return values[place];
}
