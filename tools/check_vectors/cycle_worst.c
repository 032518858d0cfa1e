/* cycle_worst.c -- cost of the dearest order of service. SPDX-License-Identifier: MIT
 *
 * At most, the n greatest of the 2n numbers are the maxima of the n links. That is
 * reached unless each place has exactly one of its two numbers among them, in which case
 * the places whose `leave` is (call them A) and the places whose `enter` is (B) each form
 * their own cycles. One link from A to B then loses the least number of the upper half,
 * one from B to A gains the greatest of the lower half, unless both belong to one place
 * that is not alone on its side; then the second best of either is taken. */
#include "base/compare.h"
#include "cycle_worst.h"

#include <math.h>
#include <stdlib.h>

struct ranked {
    double value;
    uint32_t index;
};

CV_ORDER_BY_TWO(by_value, struct ranked, value, index)

/* Places with `leave` in the upper half (A), and places with both numbers in it; the
 * sorted numbers name a place by its index, `enter` by n + index. */
static void count_sides(const struct ranked *upper, uint32_t n, bool *in_upper,
                        uint32_t *out_a, uint32_t *out_both)
{
    *out_a = *out_both = 0;
    for (uint32_t i = 0; i < n; i++)
        in_upper[upper[i].index] = true;
    for (uint32_t i = 0; i < n; i++) {
        *out_a += in_upper[i];
        *out_both += in_upper[i] && in_upper[n + i];
    }
}

bool cycle_worst(const struct cv_cycle *cycle, struct cv_arena *arena, double *out_cost)
{
    const uint32_t n = cycle->n;
    struct ranked *ranks = cv_array(arena, 2 * (size_t)n, sizeof *ranks);
    bool *in_upper = cv_array(arena, 2 * (size_t)n, sizeof *in_upper);
    uint32_t a, pairs, min, greatest;
    double cost = 0;

    if (ranks == NULL || in_upper == NULL)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        ranks[i] = (struct ranked){ cycle->leave[i], i };
        ranks[n + i] = (struct ranked){ cycle->enter[i], n + i };
    }
    qsort(ranks, 2 * (size_t)n, sizeof *ranks, by_value);
    for (uint32_t i = 0; i < n; i++)
        cost += ranks[n + i].value;
    count_sides(ranks + n, n, in_upper, &a, &pairs);
    if (pairs == 0 && a > 0 && a < n) {
        min = ranks[n].index;
        greatest = ranks[n - 1].index;
        if (min % n != greatest % n || (min < n ? a : n - a) == 1)
            cost -= ranks[n].value - ranks[n - 1].value;
        else
            cost -= fmin(ranks[n + 1].value - ranks[n - 1].value,
                         ranks[n].value - ranks[n - 2].value);
    }
    *out_cost = cost;
    return true;
}
