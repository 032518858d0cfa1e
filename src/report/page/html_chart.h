/* html_chart.h -- a Gantt chart that needs no script. SPDX-License-Identifier: MIT */
#ifndef CV_HTML_CHART_H
#define CV_HTML_CHART_H
#include <stdio.h>
#include "report/page/html_sheet.h"

/* An svg element: the port, if it is shared, and the first nodes. For print, and for
 * readers without scripts. */
void cv_page_chart(FILE *file, const struct cv_sheet *sheet);

/* How many nodes it shows. */
uint32_t cv_page_chart_rows(const struct cv_sheet *sheet);

/* A list of what the colours mean, of the kinds that occur. */
void cv_page_legend(FILE *file, const struct cv_sheet *sheet);

/* A small drawing of what part of the time a node computes and transfers. */
void cv_page_meter(FILE *file, const struct cv_sheet *sheet,
                   const struct cv_sheet_node *node);

#endif
