/* test_reduce_markov.c -- expected lengths for exponential costs.
 * SPDX-License-Identifier: MIT */
#include "tree_check.h"

#include "model/reduce/reduce_bounds.h"

static struct cv_markov transfers(uint32_t n, double rate)
{
    struct cleave_error err;
    struct cv_markov got;

    assert_ok(cv_markov_transfers(n, rate, &got, &err), &err);
    return got;
}

static struct cv_markov with_reductions(uint32_t n, double lambda_d, double lambda_c)
{
    struct cleave_error err;
    struct cv_markov got;

    assert_ok(cv_markov_both(n, lambda_d, lambda_c, &got, &err), &err);
    return got;
}

static void small_numbers_by_hand(void **state)
{
    (void)state;
    assert_equal(transfers(1, 1).mean_s, 0);
    assert_equal(transfers(1, 1).variance, 0);
    assert_near(transfers(2, 4).mean_s, 0.25, 1e-15);
    assert_near(transfers(2, 4).variance, 1.0 / 16, 1e-15);
    assert_near(transfers(3, 1).mean_s, 2, 1e-15);
    assert_near(transfers(4, 1).mean_s, 2.5, 1e-15);
    assert_near(transfers(4, 1).variance, 2.25, 1e-15);
    assert_near(transfers(64, 1).mean_s, 1167609640217353.0 / 144403552893600.0, 1e-14);
    assert_equal(with_reductions(1, 1, 2).mean_s, 0);
    assert_near(with_reductions(2, 1, 2).mean_s, 1.5, 1e-15);
    assert_near(with_reductions(2, 1, 2).variance, 1.25, 1e-15);
    assert_near(with_reductions(3, 1, 2).mean_s, 3, 1e-15);
    assert_near(with_reductions(5, 1, 2).mean_s, 13.0 / 3, 1e-14);
    assert_near(with_reductions(8, 1, 2).mean_s, 5.525, 1e-14);
    assert_near(with_reductions(64, 1, 2).mean_s, 11.0534, 1e-5);
    assert_near(with_reductions(64, 1, 2).variance, 3.718, 2e-4);
}

/* Large numbers go by a series, which must continue the sums. */
static void series_continue_the_sums(void **state)
{
    double h = 0, q = 0;

    (void)state;
    for (uint32_t i = 1; i <= 3000; i++) {
        h += 1.0 / i;
        q += 1.0 / ((double)i * i);
        if (i >= 90) {
            assert_near(transfers(2 * i + 1, 1).mean_s, 2 * h, 1e-14);
            assert_near(transfers(2 * i + 1, 1).variance, 2 * q, 1e-14);
        }
    }
}

/* Free reductions are the limit of ever shorter ones; the two costs can be swapped. */
static void both_costs_agree_with_one(void **state)
{
    (void)state;
    for (uint32_t n = 1; n < 60; n++) {
        const struct cv_markov one = transfers(n, 3), limit = with_reductions(n, 3, 1e12);

        assert_near(limit.mean_s, one.mean_s, 1e-9);
        assert_near(limit.variance, one.variance, 1e-9);
        assert_near(with_reductions(n, 3, INFINITY).mean_s, one.mean_s, 1e-15);
        assert_near(with_reductions(n, 1, 5).mean_s, with_reductions(n, 5, 1).mean_s,
                    1e-12);
        assert_near(with_reductions(n, 1, 5).variance, with_reductions(n, 5, 1).variance,
                    1e-11);
    }
}

/* Play the algorithm itself. */
static double play(uint32_t n, double lambda_d, double lambda_c, struct cv_random *random)
{
    uint32_t sending = n / 2, reducing = 0, waiting = n % 2;
    double time_s = 0;

    while (sending + reducing > 0) {
        const double rate = sending * lambda_d + reducing * lambda_c;

        time_s -= log(cv_random_uniform(random)) / rate;
        if (cv_random_uniform(random) * rate < sending * lambda_d) {
            sending--;
            reducing++;
        } else {
            reducing--;
            sending += waiting;
            waiting = !waiting;
        }
    }
    assert_int_equal(waiting, 1);
    return time_s;
}

static void means_agree_with_play(void **state)
{
    enum { RUNS = 20000 };

    (void)state;
    for (uint32_t n = 5; n <= 34; n += 29) {
        const struct cv_markov pending = with_reductions(n, 1, 0.7);
        double sum = 0, squares = 0, mean, variance;
        struct cv_random random;

        cv_random_at(&random, 13, n, 0, 0);
        for (int r = 0; r < RUNS; r++) {
            const double length = play(n, 1, 0.7, &random);

            sum += length;
            squares += length * length;
        }
        mean = sum / RUNS;
        variance = squares / RUNS - mean * mean;
        assert_true(fabs(mean - pending.mean_s) < 4 * sqrt(pending.variance / RUNS));
        assert_near(variance, pending.variance, 0.06);
    }
}

static void bad_input_is_refused(void **state)
{
    struct cv_markov got;

    (void)state;
    assert_int_equal(cv_markov_transfers(0, 1, &got, NULL), CLEAVE_EINPUT);
    assert_int_equal(cv_markov_transfers(3, 0, &got, NULL), CLEAVE_EINPUT);
    assert_int_equal(cv_markov_both(0, 1, 1, &got, NULL), CLEAVE_EINPUT);
    assert_int_equal(cv_markov_both(3, NAN, 1, &got, NULL), CLEAVE_EINPUT);
    assert_int_equal(cv_markov_both(3, 1, -1, &got, NULL), CLEAVE_EINPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_numbers_by_hand),
        cmocka_unit_test(series_continue_the_sums),
        cmocka_unit_test(both_costs_agree_with_one),
        cmocka_unit_test(means_agree_with_play),
        cmocka_unit_test(bad_input_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
