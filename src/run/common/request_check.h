/* request_check.h -- whether what is asked for can be had together.
 * SPDX-License-Identifier: MIT */
#ifndef CV_REQUEST_CHECK_H
#define CV_REQUEST_CHECK_H
#include <cleave/execute.h>

/* Before anything is opened: items and inputs exclude each other, and some of what can be
 * asked of either excludes more. */
enum cleave_status cv_request_check(const struct cleave_execution *request,
                                    struct cleave_error *err);

/* Whether chunks may stay open, for all that is known before anybody is reached: of so many workers,
 * whose chunks have a head and an end (`framed`) or not. */
bool cv_request_may_open(const struct cleave_execution *request, uint32_t nworkers,
                         bool framed);

#endif
