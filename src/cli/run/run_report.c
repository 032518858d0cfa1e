/* run_report.c -- what cleave run says while it runs.
 * SPDX-License-Identifier: MIT */
#include "cli/run/run_report.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/fail.h"
#include "base/signal_name.h"
#include "cli/common/output.h"
#include "cli/live/live.h"
#include "cli/run/run_hosts.h"
#include "cli/run/run_slurm.h"
#include "report/terminal/terminal_progress.h"
#include "report/terminal/table.h"

/* Seconds between two lines of plain progress, and between two looks of the bar. */
static const double PLAIN_S = 10, BAR_S = 0.2;

enum {
    LEAST_BAR = 8,   /* columns; a shorter one says nothing        */
    FACTS_WIDE = 70, /* what facts beside the bar need most of the time */
};

int cv_run_report_open(struct cv_run_report *report, const struct cv_run_options *values)
{
    *report = (struct cv_run_report){ .bar = values->bar && isatty(STDERR_FILENO),
                                      .live = values->live && isatty(STDERR_FILENO),
                                      .plain = values->progress != NULL,
                                      .facts_wide = FACTS_WIDE,
                                      .predicted_s = NAN };
    cv_eta_init(&report->pace, 0);
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

    report->by_one = report->by_one || attempt->exit_code == 1;
    cv_job_log_add(&report->log, attempt, report->items);
    if (report->rows != NULL)
        cv_run_rows_attempted(report->rows, attempt);
}

static void add_time(struct cv_text *text, double seconds)
{
    if (seconds >= 3600)
        cv_text_add(text, "%.0fh%02.0fm", floor(seconds / 3600),
                    floor(fmod(seconds, 3600) / 60));
    else if (seconds >= 60)
        cv_text_add(text, "%.0fm%02.0fs", floor(seconds / 60), floor(fmod(seconds, 60)));
    else
        cv_text_add(text, "%.1fs", seconds);
}

/* What matters most comes first: a line that is too long is cut off. */
static void add_facts(struct cv_text *text, const struct cleave_progress *progress,
                      double done, double left_s, bool items)
{
    const bool known = isfinite(progress->total);

    add_time(text, progress->elapsed_s);
    if (known && done >= progress->total) {
        cv_text_add(text, items ? ", all are begun" : ", all is read");
    } else if (known && !isnan(left_s)) {
        cv_text_add(text, ", ");
        add_time(text, left_s);
        cv_text_add(text, " to go");
    }
    cv_text_add(text, "  ");
    if (items) {
        cv_text_add(text, "%llu of %.0f commands", (unsigned long long)progress->chunks,
                    progress->total);
    } else {
        cv_run_add_bytes(text, done);
        if (known) {
            cv_text_add(text, " of ");
            cv_run_add_bytes(text, progress->total);
        }
        cv_text_add(text, "  %s", CV_COUNTED(progress->chunks, "chunk"));
    }
    cv_text_add(text, "  %u of %u busy", progress->busy, progress->workers);
    if (progress->failed > 0)
        cv_text_add(text, "  %llu failed", (unsigned long long)progress->failed);
}

/* The bar takes the columns that the facts leave. It gets shorter when they need more, but
 * does not tremble with them; where too few are left there is none. */
static void draw_bar(struct cv_run_report *report, double part, const char *facts,
                     const struct cleave_progress *progress)
{
    const struct cv_screen screen = cv_screen_of(STDERR_FILENO);
    const size_t room = screen.width - 1;
    const size_t parallel = strlen(facts) + (isnan(part) ? 0 : sizeof " 100%  " - 1);
    struct cv_text text = { NULL, 0, 0, false };

    report->facts_wide = parallel > report->facts_wide ? parallel : report->facts_wide;
    if (!isnan(part) && room >= report->facts_wide + LEAST_BAR)
        cv_bar_add(&text, part, (unsigned)(room - report->facts_wide), screen.utf8);
    if (!isnan(part))
        cv_text_add(&text, " %3.0f%%  ", floor(100 * part));
    cv_text_add(&text, "%s", facts);
    if (!text.failed && parallel > room) /* ASCII, there is no bar */
        text.bytes[room] = '\0';
    if (report->live) {
        cv_text_add(&text, "\033[K");
        report->below = cv_run_live_rows(progress, report->items != NULL,
                                         screen.height - 1, (unsigned)room, &text);
        cv_text_add(&text, "\033[J");
        if (report->below > 0)
            cv_text_add(&text, "\033[%uA", report->below);
    }
    if (!text.failed)
        fprintf(stderr, "\r%s%s", text.bytes, report->live ? "\r" : "\033[K");
    fflush(stderr);
    cv_text_done(&text);
    report->drawn = true;
}

static void show_page(struct cv_run_report *report,
                      const struct cleave_progress *progress, double part, double left_s)
{
    struct cv_text text = { NULL, 0, 0, false };

    cv_text_add(&text, "It runs: ");
    if (!isnan(part))
        cv_text_add(&text, "%.0f%%  ", floor(100 * part));
    add_facts(&text, progress, report->done, left_s, report->items != NULL);
    if (!text.failed)
        cv_live_page_look(&report->page, progress, text.bytes);
    cv_text_done(&text);
}

void cv_run_page_end(struct cv_run_report *report,
                     const struct cleave_execution_result *result, int status)
{
    struct cv_text text = { NULL, 0, 0, false };

    if (report->page.http == NULL)
        return;
    cv_text_add(&text, "It has ended");
    if (result != NULL) {
        cv_text_add(&text, " after ");
        add_time(&text, result->seconds);
    }
    cv_text_add(&text, status == CV_EXIT_DONE ? ", and all is done" : ", with status %d",
                status);
    cv_live_page_close(&report->page, result, text.failed ? "" : text.bytes);
    cv_text_done(&text);
}

/* Whether anything is said on standard error while it runs. */
static bool is_told(const struct cv_run_report *report)
{
    return report->bar || report->live || report->plain;
}

void cv_run_progress(void *context, const struct cleave_progress *progress)
{
    struct cv_run_report *report = context;
    const bool known = isfinite(progress->total) && progress->total > 0;
    const double pause_s = report->plain ? PLAIN_S : BAR_S;
    struct cv_text text = { NULL, 0, 0, false };
    double part = NAN, left_s = NAN;

    /* A chunk that is tried again is read again; what was shown stays. */
    report->done = fmax(report->done, progress->done + progress->read);
    if (known) {
        report->done = fmin(report->done, progress->total);
        left_s = cv_eta_left(&report->pace, progress->elapsed_s, report->done,
                             progress->total);
        /* What is read is not done. */
        part = fmin(report->done / progress->total,
                    progress->done < progress->total ? 0.99 : 1);
    }
    if (report->page.http != NULL)
        show_page(report, progress, part, left_s);
    if (progress->elapsed_s < report->shown_s + pause_s || !is_told(report))
        return;
    report->shown_s = progress->elapsed_s;
    add_facts(&text, progress, report->done, left_s, report->items != NULL);
    if (text.failed)
        return;
    if (!report->plain)
        draw_bar(report, part, text.bytes, progress);
    else if (isnan(part))
        fprintf(stderr, "cleave: %s\n", text.bytes);
    else
        fprintf(stderr, "cleave: %3.0f%%  %s\n", floor(100 * part), text.bytes);
    cv_text_done(&text);
}

void cv_run_progress_end(struct cv_run_report *report)
{
    if (report->drawn)
        fprintf(stderr, report->live ? "\r\033[J" : "\r\033[K");
    fflush(stderr);
    report->drawn = false;
}

void cv_run_make_room(void *context)
{
    cv_run_progress_end(context);
}

void cv_run_note(void *context, const char *text)
{
    const struct cv_run_report *report = context;
    struct cv_text named = { NULL, 0, 0, false };

    cv_run_progress_end(context);
    /* Several of them are heard at the same place. */
    if (report->reach.view.as != NULL)
        cv_text_add(&named, "%s: %s", report->reach.view.as, text);
    cv_print_line(named.bytes != NULL && !named.failed ? named.bytes : text);
    cv_text_done(&named);
}

enum cleave_status cv_run_more_hosts(void *context, struct cleave_more_hosts *out,
                                     struct cleave_error *err)
{
    struct cv_run_report *report = context;

    cleave_platform_free(report->again.platform);
    report->again.platform = NULL;
    if (report->options->slurm) {
        if (cv_run_slurm_crew(&report->reach, true, report->arena, &report->again) !=
            CV_EXIT_DONE)
            return cv_fail(err, CLEAVE_EENGINE, "the nodes of the job stay as they are");
    } else {
        CV_TRY(cv_crew_find(report->options, &report->reach, report->arena,
                            &report->again, err));
        cv_leads_compare(report->workers, &report->again, cv_run_note, report);
    }
    *out = (struct cleave_more_hosts){ report->again.hosts, report->again.nhosts };
    return CLEAVE_OK;
}

/* --- what workers did, of a run over items ------------------------------------------------- */

double cv_run_makespan(const struct cleave_execution_result *result)
{
    return fmax(0, result->seconds - result->connect_s);
}

double cv_run_busy_part(const struct cleave_execution_result *result,
                        const struct cleave_worker_result *worker)
{
    const double makespan_s = cv_run_makespan(result);

    return makespan_s > 0 ? fmin(1, worker->busy_s / makespan_s) : 0;
}

void cv_run_item_workers(const struct cleave_execution_result *result, FILE *file)
{
    enum { MANY = 32 };
    static const struct cv_column columns[] = {
        { "worker", CV_COLUMN_TEXT },
        { "commands", CV_COLUMN_COUNT },
        { "failed", CV_COLUMN_COUNT },
        { "busy", CV_COLUMN_PERCENT },
    };
    struct cv_text text = { NULL, 0, 0, false };
    struct cv_table table;

    cv_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (uint32_t w = 0; w < result->nworkers; w++) {
        const struct cleave_worker_result *worker = &result->workers[w];

        if (result->nworkers > MANY && worker->chunks == 0)
            continue;
        cv_table_text(&table, worker->name);
        cv_table_number(&table, (double)worker->chunks);
        cv_table_number(&table, (double)worker->failures);
        cv_table_number(&table, cv_run_busy_part(result, worker));
    }
    cv_table_write(&table, false, 80, &text);
    cv_table_done(&table);
    if (!text.failed && text.bytes != NULL)
        fputs(text.bytes, file);
    cv_text_done(&text);
}

/* --- what a run that a signal stopped has done, and how to go on ------------------- */

bool cv_run_can_resume(const char *journal)
{
    return journal != NULL && access(journal, F_OK) == 0;
}

void cv_run_stopped(const struct cleave_execution_result *result,
                    const struct cv_run_options *values,
                    const struct cv_run_report *report)
{
    const bool items = report->items != NULL;
    const uint64_t done = result->chunks - result->failed + result->resumed;
    const double ended = result->input_bytes + result->resumed_bytes;
    const double total = ended + result->left_bytes;
    char name[CV_SIGNAL_ROOM];
    char bytes[CV_NUMBER_ROOM];
    struct cv_text line = { NULL, 0, 0, false };

    if (result->platform == NULL) {
        cv_print_error(CV_EXIT_FAILED, "stopped by %s before anything was begun",
                       cv_signal_name(result->stopped_by, name));
        return;
    }
    cv_text_add(&line, "stopped by %s: %s done", cv_signal_name(result->stopped_by, name),
                CV_COUNTED(done, items ? "command" : "chunk"));
    if (!items)
        cv_text_add(&line, ", %s", cv_show_units(ended - result->failed_bytes, bytes));
    if (!result->left_unread)
        cv_text_add(&line, " of %s", CV_SHOW_UNITS(total));
    cv_text_add(&line, "%s. ", items ? "" : " bytes");
    if (values->journal != NULL && !cv_run_can_resume(values->journal))
        cv_text_add(&line, "The journal that held them was removed meanwhile: none of it "
                           "is kept for another run");
    else if (values->journal != NULL)
        cv_text_add(
            &line,
            "The journal holds them: the same command with --resume goes on from there");
    else
        cv_text_add(
            &line,
            "None of it is kept for another run; --journal FILE would have done so");
    if (!line.failed)
        cv_print_error(CV_EXIT_FAILED, "%s", line.bytes);
    cv_text_done(&line);
}

/* --- where the outputs of cleave run go -------------------------------------------- */

/* A result that lacks the output of a chunk looks like one that does not: so a file has the
 * name that was asked for only if nothing is missing, as with a target of make. What a run
 * got done before it failed or was stopped is not thrown away either. */

static int cannot_write(const struct cv_run_sink *sink, int status,
                        const struct cleave_error *err)
{
    return cv_print_error(status, "%s: cannot write '%s': %s", sink->option,
                          CV_ECHO(sink->path), err->text);
}

static bool names_file(const char *path)
{
    return path != NULL && strcmp(path, "-") != 0;
}

bool cv_run_output_is_file(const struct cv_run_options *values)
{
    return names_file(values->output);
}

int cv_run_sink_open(struct cv_run_sink *sink, const char *option, const char *path,
                     int *out_descriptor)
{
    struct cleave_error err;

    *sink = (struct cv_run_sink){ .option = option, .file.fd = -1, .on_stdout = true };
    *out_descriptor = STDOUT_FILENO;
    if (!names_file(path))
        return CV_EXIT_DONE;
    sink->path = path;
    if (cv_new_file_open(path, 0, &sink->file, &err) != CLEAVE_OK)
        return cannot_write(sink, CV_EXIT_USAGE, &err);
    *out_descriptor = sink->file.fd;
    sink->on_stdout = sink->file.copy_of == STDOUT_FILENO;
    return CV_EXIT_DONE;
}

/* Say where what there is of a result can be found. */
static void tell_part(const struct cv_run_sink *sink)
{
    if (sink->file.replaces)
        cv_print_error(CV_EXIT_FAILED, "'%s' is as it was; the new one is not whole: %s",
                       CV_ECHO(sink->path), sink->file.beside);
    else
        cv_print_error(CV_EXIT_FAILED, "'%s' was not made; what there is of it: %s",
                       CV_ECHO(sink->path), sink->file.beside);
}

int cv_run_sink_close(struct cv_run_sink *sink, bool whole, int status)
{
    struct cleave_error err;
    bool placed = false;

    if (sink->file.fd < 0)
        return status;
    if (whole && sink->file.beside != NULL) {
        placed = cv_new_file_place(&sink->file, &err) == CLEAVE_OK;
        if (!placed)
            status = cannot_write(sink, CV_EXIT_FAILED, &err);
    }
    if (!placed && sink->file.beside != NULL &&
        (sink->kept || cv_new_file_size(&sink->file) == 0)) {
        cv_new_file_drop(&sink->file);
        return status;
    }
    if (!placed && sink->file.beside != NULL)
        tell_part(sink);
    if (cv_new_file_close(&sink->file, &err) != CLEAVE_OK && status == CV_EXIT_DONE)
        status = cannot_write(sink, CV_EXIT_FAILED, &err);
    return status;
}
