/* counted.c -- small words and figures that every text uses. SPDX-License-Identifier: MIT */
#include "cli/common/counted.h"

#include <math.h>
#include <stdio.h>
#include "report/terminal/table.h"

const char *cv_counted(uint64_t count, const char *noun, char buffer[CV_COUNTED_ROOM])
{
    snprintf(buffer, CV_COUNTED_ROOM, "%llu %s%s", (unsigned long long)count, noun,
             count == 1 ? "" : "s");
    return buffer;
}

void cv_add_hidden(uint64_t hidden, const char *noun, struct cv_text *out)
{
    char counted[CV_COUNTED_ROOM];

    if (hidden > 0)
        cv_text_add(out, "  and %s; --all-workers lists them\n",
                    cv_counted(hidden, noun, counted));
}

double cv_over(double time_s, double bound_s)
{
    const double over = bound_s > 0 ? time_s / bound_s - 1 : 0;

    return fabs(over) < 1e-9 ? 0 : over;
}

void cv_policy_line(const char *policy, const char *picked, const char *why, size_t width,
                    struct cv_text *out)
{
    struct cv_text line = { NULL, 0, 0, false };

    cv_text_add(&line, "%s", picked != NULL ? picked : policy);
    if (picked != NULL)
        cv_text_add(&line, ", picked by %s", policy);
    if (why != NULL)
        cv_text_add(&line, ": %s", why);
    cv_text_add(out, "policy    ");
    if (line.failed)
        out->failed = true;
    else
        cv_wrap(out, line.bytes, 10, 10, width);
    cv_text_add(out, "\n");
    cv_text_done(&line);
}
