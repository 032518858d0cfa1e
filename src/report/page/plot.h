/* plot.h -- curves and bars as SVG, for pages. SPDX-License-Identifier: MIT
 *
 * Series differ by colour, by the shape of their marks and by the name that stands at
 * their end; page.css has the colours. */
#ifndef CV_PLOT_H
#define CV_PLOT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct cv_plot_series {
    const char *name;
    const double *y;          /* one per x; NAN: none                */
    const double *low, *high; /* a band, or NULL                     */
};

struct cv_plot {
    const char *x_label, *y_label;
    const double *x; /* increasing */
    size_t nx;
    bool log_x; /* when all are above 0 */
    const struct cv_plot_series *series;
    size_t nseries;
    const double *bound; /* a dashed curve named "bound"; NULL: none */
};

/* Curves over x. Those that lie on each other take turns in dashes and marks. */
void cv_plot_curves(FILE *file, const struct cv_plot *plot);
/* Each series has one value: a bar of it, its name before it, a line at the bound. */
void cv_plot_bars(FILE *file, const struct cv_plot *plot);

/* Class of series `index` in page.css, and a small svg of its mark, for a legend. */
void cv_plot_key(FILE *file, size_t index);

#endif
