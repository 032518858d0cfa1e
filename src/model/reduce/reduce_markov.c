/* reduce_markov.c -- the dynamic reduction when costs are exponential.
 * SPDX-License-Identifier: MIT */
#include "model/reduce/reduce_markov.h"

#include <math.h>
#include <stdlib.h>

#include "base/fail.h"

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

static enum cleave_status check_rate(const char *name, double rate,
                                     struct cleave_error *err)
{
    if (rate > 0)
        return CLEAVE_OK;
    return cv_fail(err, CLEAVE_EINPUT, "expected a positive rate of %s, got %g", name,
                   rate);
}

enum cleave_status cv_markov_transfers(uint32_t n, double lambda_d, struct cv_markov *out,
                                       struct cleave_error *err)
{
    const uint32_t empty = n / 2, taken = n == 0 ? 0 : (n - 1) / 2;

    if (n == 0)
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected at least one node to reduce, got none");
    CV_TRY(check_rate("transfers", lambda_d, err));
    out->mean_s = (harmonic(empty) + harmonic(taken)) / lambda_d;
    out->variance =
        (harmonic_squares(empty) + harmonic_squares(taken)) / (lambda_d * lambda_d);
    return CLEAVE_OK;
}

/* From a state that lasts 1 / rate on average and leads to `sent` with probability p and
 * to `reduced` otherwise. The variance is that of the stay, plus the mean of those that
 * follow, plus that of the means that follow. */
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

/* Row v from row v - 1, both by y. Transfers and reductions under way are at most n / 2
 * together, which bounds y. */
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
    if (n == 0)
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected at least one node to reduce, got none");
    CV_TRY(check_rate("transfers", lambda_d, err));
    CV_TRY(check_rate("reductions", lambda_c, err));
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
