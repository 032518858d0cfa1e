/* open_rule.h -- whether chunks may stay open. SPDX-License-Identifier: MIT */
#ifndef CV_OPEN_RULE_H
#define CV_OPEN_RULE_H
#include <cleave/execute.h>

/* Whether chunks may stay open, for all that is known before anybody is reached: of so many workers,
 * whose chunks have a head and an end (`framed`) or not. */
bool cv_asked_may_open(const struct cleave_execution *request, uint32_t nworkers,
                       bool framed);

#endif
