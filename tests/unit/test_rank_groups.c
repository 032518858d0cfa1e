/* test_rank_groups.c -- which ranks of an MPI job lead others. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "run/hosts/leader_spec.h"

static void ranks_of_a_machine_have_a_leader(void **state)
{
    enum { N = 8 };
    static const struct {
        uint32_t machine[N], max, leader[N];
    } cases[] = {
        { { 0, 0, 0, 0, 0, 0, 0, 0 }, UINT32_MAX, { 0, 1, 1, 1, 1, 1, 1, 1 } },
        { { 0, 0, 0, 0, 0, 0, 0, 0 }, 3, { 0, 1, 1, 1, 4, 4, 4, 7 } },
        { { 0, 0, 0, 3, 3, 3, 6, 6 }, UINT32_MAX, { 0, 1, 1, 3, 3, 3, 6, 6 } },
        /* As a launcher deals them out in turn. */
        { { 0, 1, 2, 0, 1, 2, 0, 1 }, UINT32_MAX, { 0, 1, 2, 3, 1, 2, 3, 1 } },
        { { 0, 1, 2, 0, 1, 2, 0, 1 }, 2, { 0, 1, 2, 3, 1, 2, 3, 7 } },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t leader[N], sum = 0;

        assert_int_equal(cv_rank_groups_make(cases[i].machine, N, cases[i].max, leader,
                                             NULL),
                         CLEAVE_OK);
        assert_memory_equal(leader, cases[i].leader, sizeof leader);
        for (uint32_t r = 1; r < N; r++)
            sum += cv_rank_group_size(leader, N, r);
        assert_int_equal(sum, N - 1);
        assert_int_equal(cv_rank_group_size(leader, N, 0), 0);
    }
}

static void how_many_are_led_is_read(void **state)
{
    static const char *const wrong[] = { "", "1", "x", "2x", "-3", "65537", "nodes" };
    struct cleave_error err;
    uint32_t max;

    (void)state;
    assert_int_equal(cv_rank_groups_read("node", &max, &err), CLEAVE_OK);
    assert_int_equal(max, UINT32_MAX);
    assert_int_equal(cv_rank_groups_read("2", &max, &err), CLEAVE_OK);
    assert_int_equal(max, 2);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(cv_rank_groups_read(wrong[i], &max, &err), CLEAVE_EINPUT);
    assert_string_equal(
        err.text, "hosts.leaders: expected node, or how many ranks of a machine one "
                  "leads, 2 to 65536, got 'nodes'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_of_a_machine_have_a_leader),
        cmocka_unit_test(how_many_are_led_is_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
