/* bench_sampler.c -- how fast costs are drawn. SPDX-License-Identifier: MIT
 *
 * Each line: the law, least and median time for one variate over the repeats, without the
 * first one, and the same for gsl_ran_gamma with mt19937, taken turn by turn with ours so
 * that both meet the same machine. Each of our variates has its own name (run, i, j), as
 * in a simulation. GSL is looked for when the program runs; a note is printed if it is
 * missing. Times vary with the machine; compare lines of one run. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_tools.h"
#include "gsl_library.h"
#include "model/reduce/reduce_costs.h"

enum { REPEATS = 11, ROWS = 1000, COLUMNS = 1000 };

/* --- lines -------------------------------------------------------------------------- */

static volatile double sink; /* the sum must be seen to be used */

static double time_law(const struct cv_distribution *distribution, uint32_t run)
{
    double begin = now_s(), sum = 0;

    for (uint32_t i = 0; i < ROWS; i++)
        for (uint32_t j = 0; j < COLUMNS; j++)
            sum += cv_distribution_draw(distribution, 1, run, i, j);
    sink = sum;
    return (now_s() - begin) / ((double)ROWS * COLUMNS);
}

static double time_gsl(const struct gsl *gsl, double mean, double cv)
{
    double shape = 1 / (cv * cv), scale = mean * cv * cv, begin = now_s(), sum = 0;

    for (uint32_t i = 0; i < ROWS; i++)
        for (uint32_t j = 0; j < COLUMNS; j++)
            sum += gsl->gamma(gsl->rng, shape, scale);
    sink = sum;
    return (now_s() - begin) / ((double)ROWS * COLUMNS);
}

static void bench_law(const char *text, const struct gsl *gsl, bool compare)
{
    double ours[REPEATS + 1], theirs[REPEATS + 1];
    struct cleave_error err;
    struct cv_distribution distribution;

    if (cv_distribution_parse(text, &distribution, &err) != CLEAVE_OK) {
        fprintf(stderr, "bench_sampler: %s\n", err.text);
        exit(1);
    }
    for (uint32_t r = 0; r <= REPEATS; r++) {
        ours[r] = time_law(&distribution, r);
        if (compare)
            theirs[r] = time_gsl(gsl, distribution.mean, distribution.cv);
    }
    qsort(ours + 1, REPEATS, sizeof *ours, ascending);
    printf("%-22s %8.2f %8.2f ns", text, 1e9 * ours[1], 1e9 * ours[1 + REPEATS / 2]);
    if (compare) {
        qsort(theirs + 1, REPEATS, sizeof *theirs, ascending);
        printf("  GSL %8.2f %8.2f ns  %.2fx", 1e9 * theirs[1],
               1e9 * theirs[1 + REPEATS / 2],
               theirs[1 + REPEATS / 2] / ours[1 + REPEATS / 2]);
        if (distribution.cv == 1)
            printf("  bar 2x");
    }
    printf("\n");
}

int main(void)
{
    static const char *const gammas[] = { "gamma:1,0.001", "gamma:1,0.01", "gamma:1,0.1",
                                          "gamma:1,0.5",   "gamma:1,1",    "gamma:1,1.5",
                                          "gamma:1,3",     "gamma:1,10",   "gamma:1,30" };
    static const char *const others[] = { "lognormal:1,1", "uniform:1,2",
                                          "bernoulli:1,2,0.5", "const:1" };
    struct gsl gsl = find_gsl();

    describe_machine();
    if (gsl.rng == NULL)
        printf("libgsl not found (Debian package libgsl27): no comparison\n");
    printf("%-22s %8s %8s\n", "one variate of", "least", "median");
    for (size_t i = 0; i < sizeof gammas / sizeof *gammas; i++)
        bench_law(gammas[i], &gsl, gsl.rng != NULL);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        bench_law(others[i], &gsl, false);
    return 0;
}
