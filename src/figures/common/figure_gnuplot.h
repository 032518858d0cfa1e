/* figure_gnuplot.h -- figures drawn by gnuplot. SPDX-License-Identifier: MIT */
#ifndef CV_FIGURE_GNUPLOT_H
#define CV_FIGURE_GNUPLOT_H
#include "figures/common/figure.h"

/* Whether a gnuplot on the PATH starts. */
enum cleave_status cv_gnuplot_check(struct cleave_error *err);

/* Draw all panels of a result as SVG to the open file `out`. The first line that gnuplot
 * prints on stderr becomes the error. */
enum cleave_status cv_gnuplot_draw(const char *name,
                                   const struct cv_figure_result *result, int out,
                                   struct cleave_error *err);

#endif
