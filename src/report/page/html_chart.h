/* html_chart.h -- Gantt charts, curves and bars as SVG. SPDX-License-Identifier: MIT */
#ifndef CV_HTML_CHART_H
#define CV_HTML_CHART_H
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include "report/page/report_data.h"

/* A Gantt chart without script, for print: the port, if it is shared, and the first
 * nodes. */
void cv_page_chart(FILE *file, const struct cv_report_data *data);

uint32_t cv_page_chart_rows(const struct cv_report_data *data);
void cv_page_legend(FILE *file, const struct cv_report_data *data);
/* A table cell: the parts of the time in which a node computes and transfers. */
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

/* Curves over x. Curves with the same points take turns in dashes and marks. */
void cv_plot_curves(FILE *file, const struct cv_plot *plot);
/* A bar for each series, which has one value, and a line at the bound. */
void cv_plot_bars(FILE *file, const struct cv_plot *plot);

/* A small drawing of the curve and mark of series `index`, for a legend. */
void cv_plot_key(FILE *file, size_t index);

#endif
