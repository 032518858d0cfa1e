/* run_foreign.h -- options of other programs that are called something else here.
 * SPDX-License-Identifier: MIT */
#ifndef CV_RUN_FOREIGN_H
#define CV_RUN_FOREIGN_H
#include "cli/common/options.h"

/* Ends with a NULL name. */
extern const struct cv_other_tool_option cv_run_foreign[];

#endif
