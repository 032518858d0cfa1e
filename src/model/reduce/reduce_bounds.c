/* reduce_bounds.c -- bounds of reductions and guarantees of algorithms.
 * SPDX-License-Identifier: MIT */
#include "model/reduce/reduce_bounds.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include "base/fail.h"
#include "model/reduce/reduce_tree.h"

double cv_reduce_lower(uint64_t n, double d, double c)
{
    return cv_ceil_log2(n) * (d > c ? d : c);
}

double cv_reduce_upper(uint64_t n, double d, double c)
{
    return cv_ceil_log2(n) * (d + c);
}

static uint64_t divide_up(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

double cv_reduce_upper_limited(uint64_t n, double d, double c, uint64_t k)
{
    unsigned rounds;

    if (n == 1)
        return 0;
    if (k > n / 2)
        k = n / 2;
    rounds = cv_ceil_log2(k);
    /* 2^rounds < 2 k <= n */
    return (rounds + (double)divide_up(n - (UINT64_C(1) << rounds), k)) * (d + c);
}

unsigned cv_reduce_ordered_rounds(uint32_t n)
{
    unsigned rounds = 0;

    /* Rounding puts no power of 1.5 below 2^32 on the other side of a whole number. */
    for (double power = 1; power <= n - 1.0; power *= 1.5)
        rounds++;
    return rounds;
}

double cv_reduce_ordered_upper(uint32_t n, double most_transfer, double c)
{
    return cv_reduce_ordered_rounds(n) * (most_transfer + c);
}

/* Formulas of ratios. */
enum ratio {
    PAIRS_FREE,
    PAIRS_ANY,
    PAIRS_EQUAL,
    FIBONACCI_FREE,
    FIBONACCI_ANY,
    ORDERED_FREE,
    ORDERED_ANY,
    RATIOS
};

enum when { WHEN_FREE, WHEN_ANY, WHEN_EQUAL };

static const char *const when_text[] = { "c = 0", "any c", "c = d" };

struct row {
    enum cv_reduce_method method;
    enum when when;
    unsigned theorem;
    enum ratio ratio;
    const char *formula;
};

static const struct row bound_rows[] = {
    { CV_METHOD_BINOMIAL_STAT, WHEN_FREE, 1, PAIRS_FREE, "Delta" },
    { CV_METHOD_BINOMIAL_STAT, WHEN_ANY, 3, PAIRS_ANY, "Delta + 1" },
    { CV_METHOD_BINOMIAL_STAT, WHEN_EQUAL, 4, PAIRS_EQUAL,
      "(Delta + 1) (1 + 1 / log2 n) log2 phi" },
    { CV_METHOD_TREE_DYN, WHEN_FREE, 1, PAIRS_FREE, "Delta" },
    { CV_METHOD_TREE_DYN, WHEN_ANY, 3, PAIRS_ANY, "Delta + 1" },
    { CV_METHOD_TREE_DYN, WHEN_EQUAL, 4, PAIRS_EQUAL,
      "(Delta + 1) (1 + 1 / log2 n) log2 phi" },
    { CV_METHOD_FIBONACCI_STAT, WHEN_FREE, 2, FIBONACCI_FREE,
      "Delta / log2 phi + Delta / ceil(log2 n)" },
    { CV_METHOD_FIBONACCI_STAT, WHEN_ANY, 5, FIBONACCI_ANY,
      "Delta / log2 phi + 2 Delta / ceil(log2 n)" },
    { CV_METHOD_FIBONACCI_STAT, WHEN_EQUAL, 5, PAIRS_FREE, "Delta" },
    { CV_METHOD_ORDERED_TREE_DYN, WHEN_FREE, 0, ORDERED_FREE,
      "(floor(log_1.5 (n - 1)) + 1) / ceil(log2 n) Delta" },
    { CV_METHOD_ORDERED_TREE_DYN, WHEN_ANY, 0, ORDERED_ANY,
      "(floor(log_1.5 (n - 1)) + 1) / ceil(log2 n) (Delta + 1)" },
};

static bool applies(enum when when, double least_transfer, double c)
{
    return when == WHEN_ANY || (when == WHEN_FREE ? c == 0 : c == least_transfer);
}

bool cv_reduce_guarantee(enum cv_reduce_method method, uint32_t n, double least_transfer,
                         double most_transfer, double c, struct cv_reduce_guarantee *out)
{
    const double delta = most_transfer / least_transfer, log2_n = log2(n);
    const double log2_phi = log2((1 + sqrt(5)) / 2);
    const double rounds = cv_ceil_log2(n), ordered = cv_reduce_ordered_rounds(n);
    const double ratios[RATIOS] = {
        [PAIRS_FREE] = delta,
        [PAIRS_ANY] = delta + 1,
        [PAIRS_EQUAL] = (delta + 1) * (1 + 1 / log2_n) * log2_phi,
        [FIBONACCI_FREE] = delta / log2_phi + delta / rounds,
        [FIBONACCI_ANY] = delta / log2_phi + 2 * delta / rounds,
        [ORDERED_FREE] = ordered / rounds * delta,
        [ORDERED_ANY] = ordered / rounds * (delta + 1),
    };

    if (n <= 1) {
        *out = (struct cv_reduce_guarantee){ 1, "1", "n = 1", 0 };
        return true;
    }
    if (!(least_transfer > 0) || !isfinite(delta))
        return false;
    out->ratio = INFINITY;
    for (size_t i = 0; i < sizeof bound_rows / sizeof *bound_rows; i++) {
        const struct row *row = &bound_rows[i];

        if (row->method == method && applies(row->when, least_transfer, c) &&
            ratios[row->ratio] < out->ratio)
            *out = (struct cv_reduce_guarantee){ ratios[row->ratio], row->formula,
                                                 when_text[row->when], row->theorem };
    }
    return true;
}

enum { BY_SERIES = 100 }; /* from here on the series are exact to the last bit */

static const double euler_gamma = 0.57721566490153286061;

/* Sum of 1 / i up to n. */
static double harmonic(uint32_t n)
{
    const double x = n, q = 1 / (x * x);
    double sum = 0;

    if (n >= BY_SERIES)
        return log(x) + euler_gamma + 1 / (2 * x) -
               q / 12 * (1 - q / 10 * (1 - q * 10 / 21));
    for (uint32_t i = n; i > 0; i--)
        sum += 1.0 / i;
    return sum;
}

/* Sum of 1 / i^2 up to n. */
static double harmonic_squares(uint32_t n)
{
    const double pi = 3.14159265358979323846, x = n, q = 1 / (x * x);
    double sum = 0;

    if (n >= BY_SERIES)
        return pi * pi / 6 - 1 / x + q / 2 - q / (6 * x) * (1 - q / 5 * (1 - q * 5 / 7));
    for (uint32_t i = n; i > 0; i--)
        sum += 1.0 / ((double)i * i);
    return sum;
}

static enum cleave_status check(uint32_t n, double lambda_d, double lambda_c,
                                struct cleave_error *err)
{
    const bool sends = lambda_d > 0;

    if (n == 0)
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected at least one node to reduce, got none");
    if (sends && lambda_c > 0)
        return CLEAVE_OK;
    return cv_fail(err, CLEAVE_EINPUT, "expected a positive rate of %s, got %g",
                   sends ? "reductions" : "transfers", sends ? lambda_c : lambda_d);
}

enum cleave_status cv_markov_transfers(uint32_t n, double lambda_d, struct cv_markov *out,
                                       struct cleave_error *err)
{
    const uint32_t empty = n / 2, taken = n == 0 ? 0 : (n - 1) / 2;

    CV_TRY(check(n, lambda_d, INFINITY, err));
    out->mean_s = (harmonic(empty) + harmonic(taken)) / lambda_d;
    out->variance =
        (harmonic_squares(empty) + harmonic_squares(taken)) / (lambda_d * lambda_d);
    return CLEAVE_OK;
}

/* From a state that lasts 1 / rate on average and leads to `sent` with probability p and
 * to `reduced` otherwise. The variance is the sum of the variance of the stay, the mean
 * of the variances of the next states, and the variance of their means. */
static struct cv_markov step(double rate, double p, struct cv_markov sent,
                             struct cv_markov reduced)
{
    const double apart = sent.mean_s - reduced.mean_s;

    return (struct cv_markov){
        .mean_s = 1 / rate + p * sent.mean_s + (1 - p) * reduced.mean_s,
        .variance = 1 / (rate * rate) + p * sent.variance + (1 - p) * reduced.variance +
                    p * (1 - p) * apart * apart,
    };
}

/* Row v from row v - 1, both by y. At most n / 2 transfers and reductions run together, which bounds y. */
static void fill_row(uint32_t n, uint32_t v, double lambda_d, double lambda_c,
                     const struct cv_markov *before, struct cv_markov *row)
{
    const struct cv_markov done = { 0, 0 };
    const uint32_t h = n / 2, max = 2 * h + 1 - v < v ? 2 * h + 1 - v : v;

    for (uint32_t y = 0; y <= max; y++) {
        const uint32_t x = (v - y) / 2;
        const double sending = x * lambda_d, reducing = y * lambda_c;

        if (x == 0 && y == 0)
            row[y] = done;
        else
            row[y] = step(sending + reducing, sending / (sending + reducing),
                          x > 0 ? before[y + 1] : done, y > 0 ? row[y - 1] : done);
    }
}

enum cleave_status cv_markov_both(uint32_t n, double lambda_d, double lambda_c,
                                  struct cv_markov *out, struct cleave_error *err)
{
    struct cv_markov *rows;
    size_t width;

    if (isinf(lambda_c) && lambda_c > 0)
        return cv_markov_transfers(n, lambda_d, out, err);
    CV_TRY(check(n, lambda_d, lambda_c, err));
    width = (size_t)n + 3;
    rows = calloc(2 * width, sizeof *rows);
    if (rows == NULL)
        return cv_fail_memory(err, "the states of a reduction");
    for (uint32_t v = 1; v <= n; v++)
        fill_row(n, v, lambda_d, lambda_c, rows + (v - 1) % 2 * width,
                 rows + v % 2 * width);
    *out = rows[n % 2 * width];
    free(rows);
    return CLEAVE_OK;
}
