/* run_worker_list.c -- what a run would do with its workers.
 * SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "base/shell_word.h"
#include "cli/load/load_options.h"
#include "cli/common/output.h"
#include "cli/load/plan_text.h"
#include "cli/run/run_options.h"
#include "report/terminal/table.h"
#include "run/master/run_policy.h"

static int input_size(const struct cleave_execution *execution, double *out)
{
    *out = 0;
    if (execution->input.count == 0)
        return cv_print_error(
            CV_EXIT_USAGE, "--dry-run: expected --input FILE: the size of standard input "
                           "is not known");
    for (size_t i = 0; i < execution->input.count; i++) {
        struct stat facts;

        if (stat(execution->input.files[i], &facts) != 0)
            return cv_print_error(CV_EXIT_USAGE, "%s: %s", execution->input.files[i],
                                  strerror(errno));
        if (!S_ISREG(facts.st_mode))
            return cv_print_error(CV_EXIT_USAGE,
                                  "--dry-run: %s is not a regular file: its size is not "
                                  "known",
                                  execution->input.files[i]);
        *out += (double)facts.st_size;
    }
    return CV_EXIT_DONE;
}

/* Whether chunks will stay open, as they may on this machine with commands that are started
 * for each; what kind of command it is nobody knows, and most work as they read. */
static bool opens(const struct cleave_execution *execution)
{
    const struct cleave_policy *policy;

    return cv_run_policy_find(&execution->policy, &policy, NULL) == CLEAVE_OK &&
           policy->opens_chunks && execution->hosts.count == 0 && !execution->persistent;
}

/* The job of planning what the run will do. */
static enum cleave_status describe(const struct cleave_execution *execution, double bytes,
                                   struct cv_arena *arena, struct cleave_job *out,
                                   struct cleave_error *err)
{
    *out = (struct cleave_job){ .platform = execution->workers.platform,
                                .load = bytes,
                                .policy = cv_run_policy_name(&execution->policy),
                                .reads = opens(execution) ? "stream" : NULL,
                                .seed = 1 };
    return cv_run_policy_settings(&execution->policy, arena, &out->settings,
                                  &out->nsettings, err);
}

/* --- --dry-run ---------------------------------------------------------------------------- */

/* The command as a shell would take it; of workers that put words before it, some. */
static void add_commands(const struct cleave_execution *execution, struct cv_text *out)
{
    enum { SHOWN = 4 };
    const char *const *prefixes = execution->workers.prefixes;
    const uint32_t n = cleave_platform_nworkers(execution->workers.platform);
    uint32_t shown = 0;

    cv_text_add(out, "command   ");
    cv_shell_words_add(out, execution->command);
    for (uint32_t w = 0; w < n && prefixes != NULL; w++) {
        if (prefixes[w] == NULL || (w > 0 && prefixes[w - 1] == prefixes[w]) ||
            ++shown > SHOWN)
            continue;
        cv_text_add(out, "\n  %s: %s ",
                    cleave_platform_worker_name(execution->workers.platform, w),
                    prefixes[w]);
        cv_shell_words_add(out, execution->command);
    }
    if (shown > SHOWN)
        cv_text_add(out, "\n  and %u workers more with words of their own",
                    shown - SHOWN);
    cv_text_add(out, "\ninput     ");
    cv_shell_word_add(out, execution->input.files[0]);
    if (execution->input.count > 1)
        cv_text_add(out, " and %zu more", execution->input.count - 1);
    cv_text_add(out, ", cut at %s\n",
                execution->input.split != NULL ? execution->input.split : "lines");
}

/* The first chunks in the order they are given out, and what the others are like. */
static void add_chunks(const struct cleave_schedule *schedule,
                       const struct cleave_platform *platform, size_t width,
                       struct cv_text *out)
{
    enum { SHOWN = 6 };
    static const struct cv_column columns[] = {
        { "chunk", CV_COLUMN_COUNT },       { "worker", CV_COLUMN_TEXT },
        { "about bytes", CV_COLUMN_UNITS }, { "starts s", CV_COLUMN_NUMBER },
        { "ends s", CV_COLUMN_NUMBER },
    };
    double min = INFINITY, max = 0;
    char from[CV_NUMBER_ROOM], to[CV_NUMBER_ROOM];
    struct cv_table table;

    cv_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < schedule->nchunks; i++) {
        const struct cleave_chunk *chunk = &schedule->chunks[i];

        min = fmin(min, chunk->units);
        max = fmax(max, chunk->units);
        if (i >= SHOWN)
            continue;
        cv_table_number(&table, (double)i + 1);
        cv_table_text(&table, cleave_platform_worker_name(platform, chunk->worker));
        cv_table_number(&table, round(chunk->units));
        cv_table_number(&table, chunk->compute_start_s);
        cv_table_number(&table, chunk->compute_end_s);
    }
    cv_text_add(out, "\n");
    cv_table_write(&table, false, width, out);
    cv_table_done(&table);
    if (schedule->nchunks > SHOWN)
        cv_text_add(out, "  and %zu more; all have %s to %s bytes\n",
                    schedule->nchunks - SHOWN, cv_show_units(round(min), from),
                    cv_show_units(round(max), to));
}

/* Whether the file says of itself that its costs were measured. */
static bool is_measured(const char *path)
{
    FILE *file = fopen(path, "re");
    char line[sizeof CV_MEASURED_MARK + 2] = "";
    const bool read = file != NULL && fgets(line, sizeof line, file) != NULL;

    if (file != NULL)
        fclose(file);
    return read && strstr(line, CV_MEASURED_MARK) != NULL;
}

/* What the times are worth. */
static void add_basis(const struct cleave_execution *execution, const char *hosts,
                      struct cv_text *out)
{
    bool asks = false;

    for (size_t i = 0; i < execution->hosts.count; i++)
        asks = asks || execution->hosts.list[i].slots == 0;
    if (asks)
        cv_text_add(out, "workers   one for each host that does not say its slots; a run "
                         "asks it for its cores\n");
    if (hosts == NULL)
        cv_text_add(out,
                    "times     a guess: nothing is known of these workers, and a run "
                    "measures as it goes.\n          With --hosts FILE, as 'cleave "
                    "calibrate' writes it, they are what was measured\n");
    else
        cv_text_add(out, "times     by the costs that %s\n",
                    is_measured(hosts)
                        ? "'cleave calibrate' has measured"
                        : "the platform file declares; 'cleave calibrate' measures them");
}

int cv_run_plan(const struct cleave_execution *execution, const char *hosts,
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
        return cv_print_error(CV_EXIT_USAGE, "--dry-run: the input is empty");
    if (describe(execution, bytes, arena, &job, &err) != CLEAVE_OK ||
        cleave_plan_load(&job, &schedule, &err) != CLEAVE_OK)
        return cv_print_status(&err);
    add_commands(execution, &text);
    add_basis(execution, hosts, &text);
    cv_plan_text(schedule, execution->workers.platform, NULL, &shown, &screen, &text);
    add_chunks(schedule, execution->workers.platform, screen.width, &text);
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
