/* run_crew.c -- what a run would do with its workers.
 * SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "cli/load/load_options.h"
#include "cli/kit/output.h"
#include "cli/load/plan_text.h"
#include "cli/run/run_options.h"
#include "run/master/sharing.h"

static int input_size(const struct cleave_execution *execution, double *out)
{
    *out = 0;
    if (execution->input.count == 0)
        return cv_complain(CV_EXIT_USAGE,
                           "--dry-run: expected --input FILE: the size of standard input "
                           "is not known");
    for (size_t i = 0; i < execution->input.count; i++) {
        struct stat facts;

        if (stat(execution->input.files[i], &facts) != 0)
            return cv_complain(CV_EXIT_USAGE, "%s: %s", execution->input.files[i],
                               strerror(errno));
        if (!S_ISREG(facts.st_mode))
            return cv_complain(CV_EXIT_USAGE,
                               "--dry-run: %s is not a regular file: its size is not "
                               "known",
                               execution->input.files[i]);
        *out += (double)facts.st_size;
    }
    return CV_EXIT_DONE;
}

/* The job of planning what the run will do. */
static enum cleave_status describe(const struct cleave_execution *execution, double bytes,
                                   struct cv_arena *arena, struct cleave_job *out,
                                   struct cleave_error *err)
{
    *out = (struct cleave_job){ .platform = execution->crew.platform,
                                .load = bytes,
                                .policy = cv_sharing_name(&execution->sharing),
                                .seed = 1 };
    return cv_sharing_settings(&execution->sharing, arena, &out->settings,
                               &out->nsettings, err);
}

int cv_run_plan(const struct cleave_execution *execution, bool guess,
                struct cv_arena *arena)
{
    const struct cv_load_options shown = { .gantt = 1 };
    const struct cv_screen screen = cv_screen_facts();
    struct cv_text text = { NULL, 0, 0, false };
    struct cleave_schedule *schedule;
    struct cleave_job job;
    struct cleave_error err;
    double bytes;
    const int status = input_size(execution, &bytes);

    if (status != CV_EXIT_DONE)
        return status;
    if (!(bytes > 0))
        return cv_complain(CV_EXIT_USAGE, "--dry-run: the input is empty");
    if (describe(execution, bytes, arena, &job, &err) != CLEAVE_OK ||
        cleave_plan_load(&job, &schedule, &err) != CLEAVE_OK)
        return cv_complain_error(&err);
    cv_plan_text(schedule, execution->crew.platform, &shown, &screen, &text);
    if (guess)
        cv_text_add(&text,
                    "\nNothing is known of these workers: the times are a guess, and "
                    "a run measures as it goes. With\n--hosts FILE, as 'cleave "
                    "calibrate' writes it, they are what was measured.\n");
    cleave_schedule_free(schedule);
    return cv_print_take(&text);
}

double cv_run_predict(const struct cleave_execution *execution, struct cv_arena *arena)
{
    struct cleave_schedule *schedule;
    struct cleave_job job;
    double bytes = 0, end_s;

    for (size_t i = 0; i < execution->input.count; i++) {
        struct stat facts;

        if (stat(execution->input.files[i], &facts) != 0 || !S_ISREG(facts.st_mode))
            return NAN;
        bytes += (double)facts.st_size;
    }
    if (!(bytes > 0))
        return NAN;
    if (describe(execution, bytes, arena, &job, NULL) != CLEAVE_OK ||
        cleave_plan_load(&job, &schedule, NULL) != CLEAVE_OK)
        return NAN;
    end_s = schedule->makespan_s;
    cleave_schedule_free(schedule);
    return end_s;
}
