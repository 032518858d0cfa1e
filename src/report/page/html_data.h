/* html_data.h -- the spans of a report for its script. SPDX-License-Identifier: MIT */
#ifndef CV_HTML_DATA_H
#define CV_HTML_DATA_H
#include <stdio.h>
#include "report/page/report_data.h"

/* A script element with what page_chart.js draws; `predicted` may be NULL. */
void cv_page_spans(FILE *file, const struct cv_report_data *measured,
                   const struct cv_report_data *predicted);

#endif
