/* fields.h -- members of library structures as the options that set them.
 * SPDX-License-Identifier: MIT */
#ifndef CV_FIELDS_H
#define CV_FIELDS_H
#include "base/text.h"

/* Add `text`, a message of the library, to `out`. Every field that it names, such as
 * input.fetch, becomes an option: --fetch. Text in single quotes is copied unchanged. */
void cv_fields_translate(const char *text, struct cv_text *out);
/* The same in the arena; NULL if memory is short. */
const char *cv_fields_text(const char *text, struct cv_arena *arena);

#endif
