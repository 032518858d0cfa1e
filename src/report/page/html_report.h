/* html_report.h -- the report of a trace as one page. SPDX-License-Identifier: MIT */
#ifndef CV_HTML_REPORT_H
#define CV_HTML_REPORT_H
#include <stdio.h>
#include "report/page/report_data.h"

struct cv_report {
    const struct cv_report_data *measured;
    const struct cv_report_data *predicted;     /* NULL: none */
    const char *measured_name, *predicted_name; /* of the files */
    /* Of a run that is looked at through a page that keeps itself new: how far it is; NULL:
     * the page is a file. */
    const char *now;
    bool running; /* ... and it has not ended: there is more to come              */
};

/* Whoever opened the file looks whether all was written. */
void cv_report_write(const struct cv_report *report, FILE *file);

#endif
