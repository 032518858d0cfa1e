/* progress.c -- a bar on stderr while many runs go on. SPDX-License-Identifier: MIT */
#include "cli/common/progress.h"

#include <stdio.h>
#include <unistd.h>

enum { BAR = 30 };

void cv_progress_init(struct cv_progress *progress, const char *what, uint64_t total)
{
    *progress = (struct cv_progress){ .what = what,
                                      .total = total,
                                      .on = isatty(STDERR_FILENO) != 0 };
}

void cv_progress_show(void *context, uint64_t done)
{
    struct cv_progress *progress = context;
    unsigned percent, filled;
    char bar[BAR + 1];

    if (!progress->on || progress->total == 0)
        return;
    percent = (unsigned)(100.0 * (double)done / (double)progress->total);
    if (percent > 100)
        percent = 100;
    if (progress->drawn && percent == progress->shown)
        return;
    filled = percent * BAR / 100;
    for (unsigned i = 0; i < BAR; i++)
        bar[i] = i < filled ? '#' : '.';
    bar[BAR] = '\0';
    fprintf(stderr, "\r\033[K%s [%s] %3u%%", progress->what, bar, percent);
    fflush(stderr);
    progress->shown = percent;
    progress->drawn = true;
}

void cv_progress_done(struct cv_progress *progress)
{
    if (progress->drawn)
        fputs("\r\033[K", stderr);
    progress->drawn = false;
}
