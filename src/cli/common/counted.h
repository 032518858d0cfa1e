/* counted.h -- small words and figures that every text uses. SPDX-License-Identifier: MIT */
#ifndef CV_COUNTED_H
#define CV_COUNTED_H
#include <stdint.h>
#include "base/text.h"

/* "1 worker", "8 workers": a count with its noun; `buffer` is returned. */
enum { CV_COUNTED_ROOM = 48 };
const char *cv_counted(uint64_t count, const char *noun, char buffer[CV_COUNTED_ROOM]);

/* Add "  and 8 more workers; --all-workers lists them", if some are hidden. */
void cv_add_hidden(uint64_t hidden, const char *noun, struct cv_text *out);

/* How far `time_s` is above the bound, as a part of the bound; 0 for rounding errors. */
double cv_over(double time_s, double bound_s);

/* Add "policy    umr, picked by auto: why" or "policy    umr", wrapped at `width`.
 * `picked` and `why` may be NULL. */
void cv_policy_line(const char *policy, const char *picked, const char *why, size_t width,
                    struct cv_text *out);

#endif
