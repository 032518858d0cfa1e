/* asked_check.h -- whether what is asked for can be had together.
 * SPDX-License-Identifier: MIT */
#ifndef CV_ASKED_CHECK_H
#define CV_ASKED_CHECK_H
#include <cleave/execute.h>

/* Before anything is opened: items and inputs exclude each other, and some of what can be
 * asked of either excludes more. */
enum cleave_status cv_asked_check(const struct cleave_execution *request,
                                  struct cleave_error *err);

#endif
