/* test_water_fill.c -- share out a last load so that all workers end together.
 * SPDX-License-Identifier: MIT */
#include "plan_check.h"

#include "model/load/plan.h"

enum { MOST = 20 };

static void all_that_share_end_together(void **state)
{
    unsigned left_out = 0;

    (void)state;
    for (uint32_t number = 0; number < 1000; number++) {
        double ready[MOST], overhead[MOST], speed[MOST], share[MOST];
        struct cv_water_fill_workspace basins[MOST];
        double load, end, sum = 0;
        struct cv_random random;
        uint32_t n;

        cv_random_at(&random, 41, number, 0, 0);
        n = 1 + (uint32_t)random_between(&random, 0, MOST);
        load = random_scale(&random, 0.01, 1e4);
        for (uint32_t w = 0; w < n; w++) {
            ready[w] = random_between(&random, 0, 30);
            overhead[w] = random_between(&random, 0, 1);
            speed[w] = random_scale(&random, 0.1, 100);
        }
        assert_true(cv_water_fill(basins, ready, overhead, speed, n, load, share, &end));
        for (uint32_t w = 0; w < n; w++) {
            sum += share[w];
            assert_true(share[w] >= 0);
            if (share[w] > 0)
                assert_near(ready[w] + overhead[w] + share[w] / speed[w], end, 1e-12);
            else
                assert_true(ready[w] + overhead[w] >= end);
            left_out += share[w] == 0;
        }
        assert_near(sum, load, 1e-9);
    }
    assert_in_range(left_out, 500, 15000);
}

static void workers_without_speed_get_nothing(void **state)
{
    const double ready[] = { 3, 1, 2 }, overhead[] = { 0, 0, 0.5 };
    const double speed[] = { 2, 0, 4 };
    struct cv_water_fill_workspace basins[3];
    double share[3], end;

    (void)state;
    assert_true(cv_water_fill(basins, ready, overhead, speed, 3, 8, share, &end));
    assert_true(share[1] == 0);
    assert_near(share[0] + share[2], 8, 1e-12);
    assert_near(end, 4, 1e-12);
    assert_true(cv_water_fill(basins, ready, overhead, speed, 3, 0, share, &end));
    assert_near(end, 2.5, 1e-12);
    assert_true(share[0] == 0 && share[2] == 0);
    assert_false(cv_water_fill(basins, ready, overhead, speed + 1, 1, 8, share, &end));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_that_share_end_together),
        cmocka_unit_test(workers_without_speed_get_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
