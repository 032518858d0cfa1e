/* nth.h -- the value that sorting would put at a place. SPDX-License-Identifier: MIT */
#ifndef CV_NTH_H
#define CV_NTH_H
#include <stddef.h>

/* It is put there: what is before is not greater, what is behind is not less. O(count), much
 * quicker than to sort a million values for three of them. */
double cv_nth(double *values, size_t count, size_t place);

#endif
