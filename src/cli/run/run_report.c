/* run_report.c -- what cleave run says while it runs.
 * SPDX-License-Identifier: MIT */
#include "cli/run/run_report.h"

#include <math.h>
#include <string.h>
#include <unistd.h>
#include "base/fail.h"
#include "cli/kit/counted.h"
#include "cli/kit/output.h"
#include "report/terminal/table.h"

/* Seconds between two lines of plain progress, and between two looks of the bar. */
static const double PLAIN_S = 10, BAR_S = 0.2;

int cv_run_report_open(struct cv_run_report *report, const struct cv_run_options *values)
{
    *report = (struct cv_run_report){ .bar = values->bar && isatty(STDERR_FILENO),
                                      .plain = values->progress != NULL,
                                      .predicted_s = NAN };
    return cv_job_log_open(&report->log, values->dry_run ? NULL : values->joblog,
                           values->resume != 0);
}

int cv_run_report_close(struct cv_run_report *report, int status)
{
    return cv_job_log_close(&report->log, status);
}

void cv_run_attempted(void *context, const struct cleave_attempt *attempt)
{
    struct cv_run_report *report = context;

    cv_job_log_add(&report->log, attempt);
}

static void put_time(FILE *file, double seconds)
{
    if (seconds >= 3600)
        fprintf(file, "%.0fh%02.0fm", floor(seconds / 3600),
                floor(fmod(seconds, 3600) / 60));
    else if (seconds >= 60)
        fprintf(file, "%.0fm%02.0fs", floor(seconds / 60), floor(fmod(seconds, 60)));
    else
        fprintf(file, "%.1fs", seconds);
}

void cv_run_progress(void *context, const struct cleave_progress *progress)
{
    struct cv_run_report *report = context;
    const bool known = isfinite(progress->total) && progress->total > 0;
    const double done = progress->done + progress->read;
    const double part = known ? fmin(1, done / progress->total) : 0;
    const double pause_s = report->plain ? PLAIN_S : BAR_S;
    char number[CV_NUMBER_ROOM], chunks[CV_COUNTED_ROOM];

    if (progress->elapsed_s < report->shown_s + pause_s)
        return;
    report->shown_s = progress->elapsed_s;
    if (report->bar)
        fprintf(stderr, "\r\033[K");
    fprintf(stderr, "%s", report->plain ? "cleave: " : "");
    if (known)
        fprintf(stderr, "%3.0f%%  ", 100 * part);
    fprintf(stderr, "%sB  %s  %u of %u busy  ", cv_show_units(done, number),
            cv_counted(progress->chunks, "chunk", chunks), progress->busy,
            progress->workers);
    put_time(stderr, progress->elapsed_s);
    if (known && part > 0) {
        fprintf(stderr, ", ");
        put_time(stderr, progress->elapsed_s * (1 / part - 1));
        fprintf(stderr, " to go");
    }
    if (progress->failed > 0)
        fprintf(stderr, "  %llu failed", (unsigned long long)progress->failed);
    if (report->plain)
        fprintf(stderr, "\n");
    fflush(stderr);
    report->drawn = report->bar;
}

void cv_run_progress_end(struct cv_run_report *report)
{
    if (report->drawn)
        fprintf(stderr, "\r\033[K");
    report->drawn = false;
}

void cv_run_note(void *context, const char *text)
{
    cv_run_progress_end(context);
    cv_say(text);
}

enum cleave_status cv_run_more_hosts(void *context, struct cleave_more_hosts *out,
                                     struct cleave_error *err)
{
    struct cv_run_report *report = context;

    cleave_platform_free(report->again.platform);
    report->again.platform = NULL;
    CV_TRY(
        cv_crew_open(report->hosts, &report->reach, report->arena, &report->again, err));
    *out = (struct cleave_more_hosts){ report->again.hosts, report->again.nhosts };
    return CLEAVE_OK;
}
