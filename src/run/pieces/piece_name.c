/* piece_name.c -- names with a number in them. SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "base/fail.h"
#include "base/file_target.h"
#include "base/text.h"
#include "run/pieces/piece_list.h"

enum { DIGITS = 3, DIGITS_UNKNOWN = 6 };

enum cleave_status cv_pieces_check(const char *pattern, struct cleave_error *err)
{
    const char *place = strstr(pattern, "{}");
    char shown[100];

    cv_shown(pattern, strlen(pattern), shown, sizeof shown);
    if (place == NULL || strstr(place + 2, "{}") != NULL)
        return cv_fail(err, CLEAVE_EINPUT,
                       "--output: expected a name with one {}, where the number goes, as "
                       "in part-{}, got '%s'",
                       shown);
    if (cv_name_ends_in(pattern, ".zip"))
        return cv_fail(
            err, CLEAVE_EINPUT,
            "--output: cannot write '%s': pieces are written as they are, or as "
            ".gz, .bgz, .zst, .xz, .bz2, .lz4",
            shown);
    return CLEAVE_OK;
}

unsigned cv_piece_digits(uint64_t count)
{
    unsigned digits = 1;

    if (count == UINT64_MAX)
        return DIGITS_UNKNOWN;
    for (; count >= 10; count /= 10)
        digits++;
    return digits > DIGITS ? digits : DIGITS;
}

char *cv_piece_name(const char *pattern, uint64_t number, unsigned digits)
{
    const char *place = strstr(pattern, "{}");
    char *name = NULL;

    if (asprintf(&name, "%.*s%0*llu%s", (int)(place - pattern), pattern, (int)digits,
                 (unsigned long long)number, place + 2) < 0)
        return NULL;
    return name;
}
