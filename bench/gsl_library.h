/* gsl_library.h -- GSL's gamma variates, if GSL is installed when a bench runs.
 * SPDX-License-Identifier: MIT */
#ifndef GSL_LIBRARY_H
#define GSL_LIBRARY_H
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

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

#endif
