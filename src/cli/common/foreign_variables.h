/* foreign_variables.h -- variables that others set for commands, and cleave does not.
 * SPDX-License-Identifier: MIT */
#ifndef CV_FOREIGN_VARIABLES_H
#define CV_FOREIGN_VARIABLES_H
#include <stddef.h>

/* Whether the words of a command ask for such a variable, as in out.$PARALLEL_SEQ, although
 * nobody has set it: CV_EXIT_USAGE with a message that says what it is called here, or
 * CV_EXIT_DONE. */
int cv_foreign_variables_check(const char *const *words, size_t count);

#endif
