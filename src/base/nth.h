/* nth.h -- selection of the n-th value. SPDX-License-Identifier: MIT */
#ifndef CV_NTH_H
#define CV_NTH_H
#include <stddef.h>

/* The value that sorting would put at index `place`. Moves it there; values before it are
 * not greater, values after it not less. O(count). */
double cv_nth(double *values, size_t count, size_t place);

#endif
