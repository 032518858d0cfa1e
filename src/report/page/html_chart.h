/* html_chart.h -- a Gantt chart that needs no script. SPDX-License-Identifier: MIT */
#ifndef CV_HTML_CHART_H
#define CV_HTML_CHART_H
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include "report/page/report_data.h"

/* An svg element: the port, if it is shared, and the first nodes. For print, and for
 * readers without scripts. */
void cv_page_chart(FILE *file, const struct cv_report_data *data);

/* How many nodes it shows. */
uint32_t cv_page_chart_rows(const struct cv_report_data *data);

/* A list of what the colours mean, of the kinds that occur. */
void cv_page_legend(FILE *file, const struct cv_report_data *data);

/* A small drawing of what part of the time a node computes and transfers. */
void cv_page_meter(FILE *file, const struct cv_report_data *data,
                   const struct cv_report_data_node *node);

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
