/* bench_sampler.c -- how fast costs are drawn. SPDX-License-Identifier: MIT
 *
 * Each line: the law, least and median time for one variate over the repeats after one
 * that is dropped, and the same for gsl_ran_gamma with mt19937, taken turn by turn with
 * ours so that both meet the same machine. Each of our variates has a name (run, i, j) of
 * its own, as in a simulation. GSL is looked for when the program runs; if it is not
 * there a line says so. Times vary with the machine; compare lines of one run. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <cleave/cleave.h>
#include "model/law.h"

enum { REPEATS = 11, ROWS = 1000, COLUMNS = 1000 };

static double now_s(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int ascending(const void *left, const void *right)
{
    const double *a = left, *b = right;

    return (*a > *b) - (*a < *b);
}

/* --- GSL, if it is there ------------------------------------------------------------ */

struct gsl {
    double (*gamma)(const void *rng, double shape, double scale);
    void *rng; /* NULL without GSL; lives as long as the program */
};

static void *open_library(const char *name)
{
    static const char *const versions[] = { "so.27", "so.28", "so.25",
                                            "so.23", "so",    "so.0" };
    char file[64];

    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        void *library;

        snprintf(file, sizeof file, "%s.%s", name, versions[i]);
        library = dlopen(file, RTLD_LAZY | RTLD_GLOBAL);
        if (library != NULL)
            return library;
    }
    return NULL;
}

static struct gsl find_gsl(void)
{
    void *(*alloc)(const void *type);
    struct gsl gsl = { 0 };
    void *library, *symbols[3];

    open_library("libgslcblas"); /* libgsl may leave it to its users */
    library = open_library("libgsl");
    if (library == NULL)
        return gsl;
    symbols[0] = dlsym(library, "gsl_ran_gamma");
    symbols[1] = dlsym(library, "gsl_rng_alloc");
    symbols[2] = dlsym(library, "gsl_rng_mt19937");
    if (symbols[0] == NULL || symbols[1] == NULL || symbols[2] == NULL)
        return gsl;
    /* ISO C has no way from an object pointer to a function pointer, POSIX has this. */
    memcpy(&gsl.gamma, &symbols[0], sizeof gsl.gamma);
    memcpy(&alloc, &symbols[1], sizeof alloc);
    gsl.rng = alloc(*(void **)symbols[2]);
    return gsl;
}

/* --- lines -------------------------------------------------------------------------- */

static volatile double sink; /* what is summed up must be seen to be used */

static double time_law(const struct cv_law *law, uint32_t run)
{
    double begin = now_s(), sum = 0;

    for (uint32_t i = 0; i < ROWS; i++)
        for (uint32_t j = 0; j < COLUMNS; j++)
            sum += cv_law_draw(law, 1, run, i, j);
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
    struct cv_law law;

    if (cv_law_parse(text, &law, &err) != CLEAVE_OK) {
        fprintf(stderr, "bench_sampler: %s\n", err.text);
        exit(1);
    }
    for (uint32_t r = 0; r <= REPEATS; r++) {
        ours[r] = time_law(&law, r);
        if (compare)
            theirs[r] = time_gsl(gsl, law.mean, law.cv);
    }
    qsort(ours + 1, REPEATS, sizeof *ours, ascending);
    printf("%-22s %8.2f %8.2f ns", text, 1e9 * ours[1], 1e9 * ours[1 + REPEATS / 2]);
    if (compare) {
        qsort(theirs + 1, REPEATS, sizeof *theirs, ascending);
        printf("  GSL %8.2f %8.2f ns  %.2fx", 1e9 * theirs[1],
               1e9 * theirs[1 + REPEATS / 2],
               theirs[1 + REPEATS / 2] / ours[1 + REPEATS / 2]);
        if (law.cv == 1)
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
    struct utsname name;

    if (uname(&name) == 0)
        printf("cleave %s on %s %s, %ld cores\n", cleave_version(), name.sysname,
               name.machine, sysconf(_SC_NPROCESSORS_ONLN));
    if (gsl.rng == NULL)
        printf("libgsl not found (Debian package libgsl27): no comparison\n");
    printf("%-22s %8s %8s\n", "one variate of", "least", "median");
    for (size_t i = 0; i < sizeof gammas / sizeof *gammas; i++)
        bench_law(gammas[i], &gsl, gsl.rng != NULL);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        bench_law(others[i], &gsl, false);
    return 0;
}
