/* limit_text.h -- whether the master held a run up. SPDX-License-Identifier: MIT */
#ifndef CV_LIMIT_TEXT_H
#define CV_LIMIT_TEXT_H
#include <cleave/execute.h>
#include "base/text.h"

/* Workers wait for chunks when the master has no time to hand them out, because they are small
 * and many, and when the one port it has is sending to others all the time: add a sentence
 * that says so, with figures; or nothing. */
void cv_limit_text(const struct cleave_execution_result *result, struct cv_text *out);

#endif
