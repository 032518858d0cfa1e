/* html_chart.h -- a Gantt chart that needs no script. SPDX-License-Identifier: MIT */
#ifndef CV_HTML_CHART_H
#define CV_HTML_CHART_H
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

#endif
