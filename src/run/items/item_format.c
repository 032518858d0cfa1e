/* item_format.c -- formats of printf for placeholders. SPDX-License-Identifier: MIT */
#include "run/items/item_format.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"

enum { SHOWN = 128, DIGITS_MOST = 3 };

const char *cv_item_format_find(const char *text)
{
    const char *end = text[0] == '{' && text[1] != '=' ? strchr(text, '}') : NULL;
    const char *at =
        end != NULL ? memmem(text, (size_t)(end - text), ":%", strlen(":%")) : NULL;

    return at != NULL ? at + 1 : NULL;
}

/* Skip the digits of a width or a precision; false: there are too many. */
static bool skip_digits(const char **at)
{
    const size_t digits = strspn(*at, "0123456789");

    *at += digits;
    return digits <= DIGITS_MOST;
}

enum cleave_status cv_item_format_read(const char *at, const char *placeholder,
                                       struct cv_item_format *out,
                                       struct cleave_error *err)
{
    const char *begin = at, *flags = at + 1;
    const size_t nflags = strspn(flags, "-+ 0");
    const char *end = flags + nflags;
    bool good = nflags <= 4 && skip_digits(&end);

    if (good && *end == '.') {
        end++;
        good = skip_digits(&end);
    }
    if (!good || *end == '\0' || strchr("diuoxXeEfFgGs", *end) == NULL || end[1] != '}')
        return cv_fail(err, CLEAVE_EINPUT,
                       "'%.*s': expected a format of printf for one value, such as "
                       "{:%%.3f}, {#:%%03d} or {/:%%12s}",
                       (int)strcspn(placeholder, "}") + 1, placeholder);
    out->conversion = *end;
    snprintf(out->spec, sizeof out->spec, "%.*s%s%c", (int)(end - begin), begin,
             strchr("diuoxX", *end) != NULL ? "j" : "", *end);
    return CLEAVE_OK;
}

/* A decimal number, with blanks around it or not. */
static bool read_number(const char *value, double *out)
{
    char *end;

    if (value[strspn(value, "0123456789+-.eE \t")] != '\0')
        return false;
    *out = strtod(value, &end);
    return end > value && end[strspn(end, " \t")] == '\0';
}

/* The number as an integer, without its fraction; false: it does not fit. */
static bool read_integer(const char *value, double number, intmax_t *out)
{
    char *end;

    errno = 0;
    *out = strtoimax(value, &end, 10);
    if (end[strspn(end, " \t")] == '\0' && errno == 0)
        return true;
    *out = fabs(number) < 0x1p63 ? (intmax_t)number : 0;
    return fabs(number) < 0x1p63;
}

enum cleave_status cv_item_format_add(const struct cv_item_format *format,
                                      const char *value, struct cv_text *out,
                                      struct cleave_error *err)
{
    intmax_t integer = 0;
    double number = 0;

    if (format->conversion == 's') {
        cv_text_add(out, format->spec, value);
    } else if (!read_number(value, &number) ||
               (strchr("diuoxX", format->conversion) != NULL &&
                !read_integer(value, number, &integer))) {
        return cv_fail(err, CLEAVE_EINPUT,
                       "the format '%%%c' needs a number, got the item '%s'",
                       format->conversion, CV_SHOWN(value, SHOWN));
    } else if (strchr("diuoxX", format->conversion) != NULL) {
        cv_text_add(out, format->spec, integer);
    } else {
        cv_text_add(out, format->spec, number);
    }
    return out->failed ? cv_fail_memory(err, "a command") : CLEAVE_OK;
}
