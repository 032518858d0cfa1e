/* item_format.h -- formats of printf for placeholders: {:%.3f}, {#:%03d}, {/:%12s}.
 * SPDX-License-Identifier: MIT
 *
 * The format is '%', flags of "-+ 0", a width, a precision and one of d i u o x X e E f F g G s. */
#ifndef CV_ITEM_FORMAT_H
#define CV_ITEM_FORMAT_H
#include <stddef.h>
#include "base/text.h"
#include <cleave/error.h>

struct cv_item_format {
    char spec[24];   /* for snprintf, with the length of its argument */
    char conversion; /* '\0': no format */
};

/* The format in the placeholder "{NAME:%FORMAT}" that `text` begins with; NULL: it has none. */
const char *cv_item_format_find(const char *text);
/* Read the format at `at`, which ends at '}'. `placeholder` is shown in errors. */
enum cleave_status cv_item_format_read(const char *at, const char *placeholder,
                                       struct cv_item_format *out,
                                       struct cleave_error *err);
/* Append the value. A text that is not a number is refused by formats of numbers. */
enum cleave_status cv_item_format_add(const struct cv_item_format *format,
                                      const char *value, struct cv_text *out,
                                      struct cleave_error *err);

#endif
