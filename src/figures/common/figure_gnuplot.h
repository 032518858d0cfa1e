/* figure_gnuplot.h -- run gnuplot. SPDX-License-Identifier: MIT */
#ifndef CV_FIGURE_GNUPLOT_H
#define CV_FIGURE_GNUPLOT_H
#include <cleave/error.h>
#include <stddef.h>

/* Whether there is a gnuplot on the PATH that starts. An error names what to install. */
enum cleave_status cv_gnuplot_check(struct cleave_error *err);

/* Give it `length` bytes of commands; what it draws goes to the open file `out`. What it
 * complains about becomes the error. */
enum cleave_status cv_gnuplot_run(const char *commands, size_t length, int out,
                                  struct cleave_error *err);

#endif
