/* bar.c -- a bar of characters. SPDX-License-Identifier: MIT */
#include "report/terminal/bar.h"

#include <math.h>

void cv_bar_add(struct cv_text *out, double part, unsigned columns, bool utf8)
{
    static const char *const eighths[] = { "\u2591", "\u258f", "\u258e",
                                           "\u258d", "\u258c", "\u258b",
                                           "\u258a", "\u2589", "\u2588" };
    const unsigned full = (unsigned)(8 * columns * fmax(0, fmin(1, part)));

    for (unsigned c = 0; c < columns; c++) {
        const unsigned rest = full > 8 * c ? full - 8 * c : 0;

        if (utf8)
            cv_text_add(out, "%s", eighths[rest < 8 ? rest : 8]);
        else
            cv_text_add(out, "%c", rest >= 8 ? '#' : '.');
    }
}
