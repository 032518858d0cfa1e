/* html_compare.h -- policies side by side as one page. SPDX-License-Identifier: MIT */
#ifndef CV_HTML_COMPARE_H
#define CV_HTML_COMPARE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* One policy: a number for every value of the sweep, NAN if the policy does not apply. */
struct cv_compare_curve {
    const char *name;
    const double *value, *low, *high; /* low and high: 10% and 90% of runs, or NULL */
    const double *over;               /* how far from the bound, in percent         */
    const char *reason;               /* why it never applies, or NULL              */
};

struct cv_compare_sheet {
    const char *title, *measure, *facts;
    const char *command; /* the line that makes this page           */
    const char *what;    /* name of the swept value; NULL: no sweep */
    const char *unit;    /* "s", or ""                              */
    const double *at;
    size_t nvalues;
    bool by_factors;     /* values form a geometric series          */
    bool more_is_better; /* units done rather than time             */
    const double *bound;
    const char *bound_name;
    const struct cv_compare_curve *curves; /* applicable policies first */
    size_t ncurves, napplicable;
};

/* The caller checks the file for errors. */
void cv_compare_write(const struct cv_compare_sheet *data, FILE *file);

#endif
