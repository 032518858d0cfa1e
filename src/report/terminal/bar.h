/* bar.h -- a bar of characters. SPDX-License-Identifier: MIT */
#ifndef CV_BAR_H
#define CV_BAR_H
#include <stdbool.h>
#include "base/text.h"

/* Add a bar of so many columns of which `part` is full: in blocks, to an eighth of a
 * column, or in '#' and '.' where there is no UTF-8. */
void cv_bar_add(struct cv_text *out, double part, unsigned columns, bool utf8);

#endif
