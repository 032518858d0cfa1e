/* test_median.c -- the median of the last values. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/compare.h"
#include "run/common/time_fit.h"

/* Against sorting, with values that come twice, until the first ones are forgotten. */
static void median_is_over_the_last_values(void **state)
{
    static struct cv_median median;
    static double all[3 * CV_MEDIAN_LAST], some[CV_MEDIAN_LAST];
    unsigned seed = 1;

    (void)state;
    assert_true(cv_median_get(&median) == 0);
    for (size_t i = 0; i < (size_t)3 * CV_MEDIAN_LAST; i++) {
        const size_t first = i + 1 > CV_MEDIAN_LAST ? i + 1 - CV_MEDIAN_LAST : 0;
        const size_t count = i + 1 - first;

        seed = seed * 1103515245u + 12345u;
        all[i] = (double)(seed >> 16 & 255);
        cv_median_add(&median, all[i]);
        if (i % 37 != 0 && i > 20)
            continue;
        for (size_t k = 0; k < count; k++)
            some[k] = all[first + k];
        qsort(some, count, sizeof *some, cv_compare_doubles);
        assert_true(cv_median_get(&median) == some[(count - 1) / 2]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(
        median_is_over_the_last_values) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
