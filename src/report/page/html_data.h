/* html_data.h -- the spans of a report for its script. SPDX-License-Identifier: MIT */
#ifndef CV_HTML_DATA_H
#define CV_HTML_DATA_H
#include <stdio.h>
#include "report/page/html_sheet.h"

/* A script element with what page_chart.js draws; `predicted` may be NULL. */
void cv_page_spans(FILE *file, const struct cv_sheet *measured,
                   const struct cv_sheet *predicted);

#endif
