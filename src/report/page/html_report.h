/* html_report.h -- the report of a trace as one page. SPDX-License-Identifier: MIT */
#ifndef CV_HTML_REPORT_H
#define CV_HTML_REPORT_H
#include <stdio.h>
#include "report/page/report_data.h"

struct cv_report {
    const struct cv_report_data *measured;
    const struct cv_report_data *predicted;     /* NULL: none */
    const char *measured_name, *predicted_name; /* file names */
    const char *now; /* progress of a run, for a served page; NULL: the page is a file */
    bool running;    /* the run has not ended */
};

/* The caller checks the file for errors. */
void cv_report_write(const struct cv_report *report, FILE *file);

#endif
