/* html_chart.h -- Gantt charts as SVG. SPDX-License-Identifier: MIT */
#ifndef CV_HTML_CHART_H
#define CV_HTML_CHART_H
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

#endif
