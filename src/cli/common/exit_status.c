/* exit_status.c -- the table of exit statuses, as it is printed.
 * SPDX-License-Identifier: MIT */
#include "cli/common/exit_status.h"

#include <stddef.h>

const struct cv_fact cv_exit_facts[] = {
#define X(name, status, verb, meaning) { #status, meaning, verb },
    CV_EXIT_MAP(X)
#undef X
        { "128+N", "stopped by another signal N", "run" },
    { NULL, NULL, NULL },
};
