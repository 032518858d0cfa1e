/* test_knapsack_master.c -- the program over patterns keeps its digits.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/random.h"
#include "select/knapsack/knapsack_internal.h"

enum { SIZES = 30, BINS = 20, MANY = 100000, ROUNDS = 40, TURNS = 8 };

static uint32_t draw(struct cv_random *random, uint32_t below)
{
    return (uint32_t)(cv_random_uniform(random) * below);
}

/* By how many items or bins the values miss a row: slacks are columns, so that every row is
 * an equation. */
static double residual(const struct cv_master *master)
{
    const struct cv_simplex *simplex = &master->simplex;
    const uint32_t n = master->nfixed + master->npatterns;
    double left[CV_MASTER_ROWS], worst = 0;

    memcpy(left, master->rhs, master->nrows * sizeof *left);
    for (uint32_t j = 0; j < n; j++) {
        double value = simplex->state[j] == CV_AT_UPPER ? simplex->limit[j] : 0;

        for (uint32_t r = 0; r < master->nrows; r++)
            if (simplex->basic[r] == j)
                value = simplex->value[r];
        if (j < master->nrows) {
            left[j] -= value;
        } else if (j < master->nfixed) {
            left[master->instance->segments[j - master->nrows].size] -= value;
        } else {
            const uint32_t *count = cv_master_pattern(master, j - master->nfixed);

            for (uint32_t s = 0; s < master->instance->nsizes; s++)
                left[s] += value * count[s];
            left[master->instance->nsizes] -= value;
        }
    }
    for (uint32_t r = 0; r < master->nrows; r++)
        worst = fmax(worst, fabs(left[r]));
    return worst;
}

/* Bins are few for the items, and patterns of one round are nearly multiples of each
 * other, a bit better than earlier ones: bases are bad, and one follows the other.
 * Patterns of one size each come later, and bases are well conditioned: errors in the
 * final values come from the bad ones. */
static void bad_bases_leave_no_errors(void **state)
{
    struct cv_size sizes[SIZES];
    struct cv_segment segments[SIZES];
    struct cv_arena arena;
    const struct cv_instance instance = { .arena = &arena,
                                          .sizes = sizes,
                                          .nsizes = SIZES,
                                          .nsegments = SIZES,
                                          .nbins = BINS,
                                          .capacity = 1,
                                          .segments = segments };
    struct cv_work work = { UINT64_MAX, 0 };
    struct cv_master master;
    struct cv_random random;
    uint32_t base[SIZES];

    (void)state;
    cv_arena_init(&arena);
    cv_random_at(&random, 77, 0, 0, 0);
    for (uint32_t s = 0; s < SIZES; s++) {
        base[s] = MANY + draw(&random, MANY);
        sizes[s] = (struct cv_size){ 1, 10 * BINS * base[s], s, 1 };
        segments[s] = (struct cv_segment){ 1 + cv_random_uniform(&random),
                                           2 * BINS * base[s] * (1 + s % 2), s, s, 0 };
    }
    assert_true(cv_master_init(&master, &instance));
    for (uint32_t round = 0; round < ROUNDS; round++) {
        for (uint32_t p = 0; p < SIZES; p++) {
            uint32_t count[SIZES];

            for (uint32_t s = 0; s < SIZES; s++)
                count[s] = base[s] + base[s] * round / 30 + draw(&random, 12);
            cv_master_add(&master, count);
        }
        assert_true(cv_master_solve(&master, &work));
    }
    for (uint32_t turn = 0; turn < TURNS; turn++) {
        for (uint32_t s = 0; s < SIZES; s++) {
            uint32_t count[SIZES] = { 0 };

            count[s] = base[s] * SIZES / 10 * (25 + turn);
            cv_master_add(&master, count);
        }
        assert_true(cv_master_solve(&master, &work));
    }
    if (!(residual(&master) < 1e-5))
        fail_msg("the rows are missed by %g", residual(&master));
    assert_false(master.failed);
    cv_master_done(&master);
    cv_arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_bases_leave_no_errors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
