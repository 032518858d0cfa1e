/* run_report.c -- progress, notes and the summary of cleave run.
 * SPDX-License-Identifier: MIT */
#include "cli/run/run_parts.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/signal_name.h"
#include "base/write_all.h"
#include "report/terminal/terminal_progress.h"
#include "report/terminal/table.h"
#include "run/common/command.h"
#include "run/common/machine.h"

/* Seconds between lines of plain progress and between updates of the bar, and before a bar that was
 * not asked for. */
static const double PLAIN_S = 10, BAR_S = 0.2, FIRST_S = 2;

enum {
    LEAST_BAR = 8,   /* columns */
    FACTS_WIDE = 70, /* usual width of the facts next to the bar */
};

static int choose_progress(struct cv_run_report *report)
{
    static const char *const words[] = { [CV_PROGRESS_BAR] = "bar",
                                         [CV_PROGRESS_LIVE] = "live",
                                         [CV_PROGRESS_PLAIN] = "plain",
                                         [CV_PROGRESS_JSON] = "json",
                                         [CV_PROGRESS_NONE] = "none" };
    const bool terminal = cv_screen_of(STDERR_FILENO).moves;
    const char *how = report->options->progress;

    report->unasked = how == NULL;
    report->how = report->options->quiet ? CV_PROGRESS_NONE : CV_PROGRESS_BAR;
    if (how != NULL)
        CV_DO(cv_word_read("--progress", how, words, 5, &report->how));
    if (report->how == CV_PROGRESS_LIVE && !terminal)
        return cv_refuse(
            "--progress live: needs a terminal on standard error that is not "
            "dumb; --progress plain writes lines for a log");
    if (report->how == CV_PROGRESS_BAR && !terminal)
        report->how = CV_PROGRESS_NONE;
    return CV_EXIT_DONE;
}

int cv_run_report_open(struct cv_run_report *report)
{
    const struct cv_run_options *values = report->options;
    const char *log = values->dry_run ? NULL : values->joblog;
    const bool adds = log != NULL && log[0] == '+'; /* as GNU parallel: to an older log */

    report->facts_wide = FACTS_WIDE;
    report->predicted_s = NAN;
    cv_eta_init(&report->pace, 0);
    CV_DO(choose_progress(report));
    return cv_job_log_open(&report->log, adds ? log + 1 : log, adds || values->resume);
}

void cv_run_attempted(void *context, const struct cleave_attempt *attempt)
{
    struct cv_run_report *report = context;

    if (attempt->exit_code == 0)
        report->ended_0 = true;
    else if (!attempt->dropped && !attempt->timed_out &&
             cv_status_is_ok(attempt->exit_code, report->ok))
        report->ended_ok = true;
    cv_job_log_add(&report->log, attempt, report->items);
    cv_failure_list_add(&report->failures, attempt, report->items);
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

/* The most important facts are first: a long line is cut. */
static void add_facts(struct cv_text *text, const struct cleave_progress *progress,
                      double done, double left_s, bool items)
{
    const bool known = isfinite(progress->total);

    add_time(text, progress->elapsed_s);
    if (known && progress->done + progress->read >= progress->total) {
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

/* The bar uses the columns that the facts leave. It gets shorter, but never longer
 * again. */
static void draw_bar(struct cv_run_report *report, double part, const char *facts,
                     const struct cleave_progress *progress)
{
    const struct cv_screen screen = cv_screen_of(STDERR_FILENO);
    const size_t room = screen.width - 1;
    const size_t parallel = strlen(facts) + (isnan(part) ? 0 : sizeof " 100%  " - 1);
    struct cv_text text = { NULL, 0, 0, false };

    report->facts_wide = parallel > report->facts_wide ? parallel : report->facts_wide;
    cv_text_add(&text, "\r");
    if (!isnan(part) && room >= report->facts_wide + LEAST_BAR)
        cv_bar_add(&text, part, (unsigned)(room - report->facts_wide), screen.utf8);
    if (!isnan(part))
        cv_text_add(&text, " %3.0f%%  ", floor(100 * part));
    cv_text_add(&text, "%s", facts);
    if (!text.failed && parallel > room) /* ASCII, there is no bar */
        text.bytes[text.length = 1 + room] = '\0';
    cv_text_add(&text, "\033[K");
    if (report->how == CV_PROGRESS_LIVE) {
        report->below = cv_run_live_rows(progress, report->items != NULL,
                                         screen.height - 1, (unsigned)room, &text);
        cv_text_add(&text, "\033[J");
        if (report->below > 0)
            cv_text_add(&text, "\033[%uA", report->below);
        cv_text_add(&text, "\r");
    }
    cv_print_raw(&text);
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

/* For programs: a line with one JSON object. */
static void print_json(const struct cleave_progress *progress, double done, double left_s,
                       const char *facts)
{
    struct cv_text line = { NULL, 0, 0, false };
    FILE *file = open_memstream(&line.bytes, &line.length);
    struct cv_json json;

    if (file == NULL)
        return;
    cv_json_init(&json, file, false);
    cv_json_object(&json);
    cv_fields(
        &json,
        "progress {elapsed_s %g, left_s %g, done %g, total %g, failed %llu, text %s}",
        progress->elapsed_s, left_s, done, progress->total,
        (unsigned long long)progress->failed, facts);
    cv_json_end(&json);
    cv_json_close(&json);
    line.failed = fclose(file) != 0;
    cv_print_raw(&line);
}

/* Whether a terminal on stderr does not belong to other programs now: this one is not in the
 * background. */
static bool is_in_front(void)
{
    const pid_t front = tcgetpgrp(STDERR_FILENO);

    return front <= 0 || front == getpgrp();
}

void cv_run_progress(void *context, const struct cleave_progress *progress)
{
    struct cv_run_report *report = context;
    const bool known = isfinite(progress->total) && progress->total > 0;
    const bool plain = report->how == CV_PROGRESS_PLAIN;
    const double next_s = report->shown_s + (plain ? PLAIN_S : BAR_S);
    struct cv_text text = { NULL, 0, 0, false };
    double part = NAN, left_s = NAN;

    /* A retried chunk is read again; the bar never goes back. An item that has begun is not
     * done. */
    report->done =
        fmax(report->done, progress->done + (report->items == NULL ? progress->read : 0));
    if (known) {
        report->done = fmin(report->done, progress->total);
        left_s = cv_eta_left(&report->pace, progress->elapsed_s, report->done,
                             progress->total);
        /* Input that is read is not done. */
        part = fmin(report->done / progress->total,
                    progress->done < progress->total ? 0.99 : 1);
    }
    if (report->page.http != NULL)
        show_page(report, progress, part, left_s);
    if (report->how == CV_PROGRESS_NONE || progress->elapsed_s < next_s ||
        (report->unasked && (progress->elapsed_s < FIRST_S || !is_in_front())))
        return;
    report->shown_s = progress->elapsed_s;
    add_facts(&text, progress, report->done, left_s, report->items != NULL);
    if (text.failed)
        return;
    if (report->how == CV_PROGRESS_JSON)
        print_json(progress, report->done, left_s, text.bytes);
    else if (!plain)
        draw_bar(report, part, text.bytes, progress);
    else if (isnan(part))
        cv_print_note("%s", text.bytes);
    else
        cv_print_note("%3.0f%%  %s", floor(100 * part), text.bytes);
    cv_text_done(&text);
}

void cv_run_progress_end(void *context)
{
    struct cv_run_report *report = context;
    struct cv_text text = { NULL, 0, 0, false };

    if (report == NULL || !report->drawn)
        return;
    cv_text_add(&text, report->how == CV_PROGRESS_LIVE ? "\r\033[J" : "\r\033[K");
    cv_print_raw(&text);
    report->drawn = false;
}

void cv_run_errors(void *context, const char *bytes, size_t length)
{
    cv_run_progress_end(context);
    (void)cv_write_all(STDERR_FILENO, bytes, length);
}

void cv_run_progress_give_way(void *context)
{
    struct cv_run_report *report = context;

    cv_run_progress_end(report);
    if (report->unasked)
        report->how = CV_PROGRESS_NONE;
}

void cv_run_note(void *context, const char *text)
{
    const struct cv_run_report *report = context;
    struct cv_text named = { NULL, 0, 0, false };

    cv_run_progress_end(context);
    /* Notes of several leaders arrive at one place. */
    if (report->reach->view.as != NULL)
        cv_text_add(&named, "%s: %s", report->reach->view.as, text);
    cv_print_line(named.bytes != NULL && !named.failed ? named.bytes : text);
    cv_text_done(&named);
}

static bool same_words(const char *const *a, const char *const *b)
{
    while (*a != NULL && *b != NULL && strcmp(*a, *b) == 0) {
        a++;
        b++;
    }
    return *a == *b; /* both have ended */
}

/* Note leaders that lead other hosts now: they are not told. */
static void compare_leaders(struct cv_run_report *report)
{
    const struct cv_worker_list *before = report->workers, *now = &report->again;
    char text[400];

    for (size_t i = 0; i < now->nhosts; i++)
        for (size_t k = 0; now->hosts[i].leads && k < before->nhosts; k++) {
            if (strcmp(before->hosts[k].name, now->hosts[i].name) != 0 ||
                !before->hosts[k].leads || same_words(before->behind[k], now->behind[i]))
                continue;
            snprintf(text, sizeof text,
                     "%.250s: its hosts have changed since the run began, and it still "
                     "uses the old ones",
                     now->hosts[i].name);
            cv_run_note(report, text);
        }
}

/* The rate of a host; NULL: the host has none. */
static const struct cleave_rate *rate_of(const struct cv_worker_list *list,
                                         const char *host)
{
    for (size_t h = 0; h < list->nhosts; h++)
        for (size_t i = 0; i < list->nrates; i++)
            if (list->rates[i].first == list->hosts[h].first &&
                strcmp(list->hosts[h].name, host) == 0)
                return &list->rates[i];
    return NULL;
}

enum cleave_status cv_run_more_hosts(void *context, struct cleave_more_hosts *out,
                                     struct cleave_error *err)
{
    struct cv_run_report *report = context;

    cleave_platform_free(report->again.platform);
    report->again.platform = NULL;
    if (report->options->slurm) {
        if (cv_run_slurm_crew(report->reach, true, &report->again) != CV_EXIT_DONE)
            return cv_fail(err, CLEAVE_EENGINE, "the nodes of the job are unchanged");
    } else {
        CV_TRY(cv_crew_find(report->options, report->reach, &report->again, err));
        compare_leaders(report);
        for (size_t i = 0; i < report->again.nhosts; i++) {
            const char *name = report->again.hosts[i].name;
            const struct cleave_rate *rate = rate_of(&report->again, name);
            const struct cleave_rate *old = rate_of(report->workers, name);

            if (rate != NULL &&
                (old == NULL || rate->amount < old->amount ||
                 rate->period_s > old->period_s || rate->by_weight != old->by_weight))
                return cv_fail(err, CLEAVE_EINPUT,
                               "host '%s': a run keeps the rates that it began with; "
                               "expected no new one",
                               name);
        }
    }
    *out = (struct cleave_more_hosts){ report->again.hosts, report->again.nhosts };
    return CLEAVE_OK;
}

/* From when all awaited hosts could get work. */
static double run_makespan(const struct cleave_execution_result *result)
{
    return fmax(0, result->seconds - result->connect_s);
}

static double run_busy_part(const struct cleave_execution_result *result,
                            const struct cleave_worker_result *worker)
{
    const double makespan_s = run_makespan(result);

    return makespan_s > 0 ? fmin(1, worker->busy_s / makespan_s) : 0;
}

bool cv_run_can_resume(const char *journal)
{
    return journal != NULL && access(journal, F_OK) == 0;
}

void cv_run_stopped(const struct cleave_execution_result *result,
                    const struct cv_run_report *report)
{
    const struct cv_run_options *values = report->options;
    const bool items = report->items != NULL;
    const bool kept = values->journal != NULL && cv_run_can_resume(values->journal);
    const uint64_t done = result->chunks - result->failed + result->resumed +
                          (kept ? result->unwritten : 0);
    const double ended = result->input_bytes + result->resumed_bytes +
                         (kept ? result->unwritten_bytes : 0);
    const double total = result->input_bytes + result->resumed_bytes + result->left_bytes;
    char name[CV_SIGNAL_ROOM];
    struct cv_text line = { NULL, 0, 0, false };

    if (result->platform == NULL) {
        cv_print_note("stopped by %s before anything was begun",
                      cv_signal_name(result->stopped_by, name));
        return;
    }
    cv_text_add(&line, "stopped by %s: %s done", cv_signal_name(result->stopped_by, name),
                CV_COUNTED(done, items ? "command" : "chunk"));
    if (!items) {
        cv_text_add(&line, ", ");
        cv_run_add_bytes(&line, ended - result->failed_bytes);
    }
    if (!result->left_unread) {
        cv_text_add(&line, " of ");
        if (items)
            cv_text_add(&line, "%.0f", total);
        else
            cv_run_add_bytes(&line, total);
    }
    if (!kept && result->unwritten > 0)
        cv_text_add(&line, "; the output of %s more was not written",
                    CV_COUNTED(result->unwritten, items ? "command" : "chunk"));
    cv_text_add(&line, ". ");
    if (values->journal != NULL && !kept)
        cv_text_add(&line, "The journal that held them was removed meanwhile: none of it "
                           "is kept for another run");
    else if (values->journal != NULL)
        cv_text_add(
            &line,
            "The journal holds them: the same command with --resume does the rest");
    else
        cv_text_add(
            &line,
            "None of it is kept for another run; --journal FILE would have done so");
    if (!line.failed)
        cv_print_note("%s", line.bytes);
    cv_text_done(&line);
}

static const double NEAR = 0.05; /* relative error of a prediction that needs a reason */
static const double SMALL_COST = 0.02; /* smaller errors of costs are not a reason */

static const struct cleave_worker *declared_of(const struct cleave_platform *platform,
                                               const char *name)
{
    for (uint32_t w = 0; w < cleave_platform_nworkers(platform); w++)
        if (strcmp(cleave_platform_worker_name(platform, w), name) == 0)
            return &cleave_platform_workers(platform)[w];
    return NULL;
}

/* How much longer commands and links took than declared, relative to it; 0: no links, or
 * links that take so little time that they explain nothing. */
static void compare_costs(const struct cleave_execution_result *result,
                          const struct cleave_platform *platform, double *out_commands,
                          double *out_links)
{
    double busy_s = 0, said_busy_s = 0, sent_s = 0, said_sent_s = 0;
    double all_busy_s = 0, all_sent_s = 0;

    for (uint32_t w = 0; w < result->nworkers; w++) {
        const struct cleave_worker_result *worker = &result->workers[w];
        const struct cleave_worker *said = declared_of(platform, worker->name);

        all_busy_s += worker->busy_s;
        if (worker->bandwidth_ups > 0)
            all_sent_s += worker->units / worker->bandwidth_ups;
        if (said == NULL || worker->chunks == 0)
            continue;
        busy_s += worker->busy_s;
        said_busy_s += (double)worker->chunks * said->compute_latency_s +
                       worker->units / said->speed_ups;
        if (!(worker->bandwidth_ups > 0))
            continue;
        sent_s += (double)worker->chunks * worker->link_latency_s +
                  worker->units / worker->bandwidth_ups;
        said_sent_s += (double)worker->chunks * said->latency_s +
                       worker->units / said->bandwidth_ups;
    }
    *out_commands = said_busy_s > 0 ? busy_s / said_busy_s - 1 : 0;
    *out_links =
        said_sent_s > 0 && all_sent_s > NEAR * all_busy_s ? sent_s / said_sent_s - 1 : 0;
}

static void put_over(double over, const char *than, struct cv_text *out)
{
    if (over > 1)
        cv_text_add(out, "%.3g times as long as %s", over + 1, than);
    else
        cv_text_add(out, "%.0f%% %s than %s", 100 * fabs(over),
                    over > 0 ? "longer" : "less", than);
}

static void put_cost(const char *name, double over, struct cv_text *out)
{
    cv_text_add(out, "%s took ", name);
    put_over(over, "the platform file says", out);
}

static bool explains(double cost, double over)
{
    return fabs(cost) > SMALL_COST && (cost > 0) == (over > 0);
}

/* Why a prediction was wrong: the costs, or the way the work was shared out. */
static void run_predicted_text(const struct cleave_execution_result *result,
                               const struct cv_run_report *report, struct cv_text *out)
{
    const double over = result->seconds / report->predicted_s - 1;
    double commands, links;

    if (!isfinite(over) || fabs(over) <= NEAR || report->workers->platform == NULL ||
        result->failed > 0 || result->left_bytes > 0 || result->resumed > 0)
        return;
    compare_costs(result, report->workers->platform, &commands, &links);
    commands = explains(commands, over) ? commands : 0;
    links = explains(links, over) ? links : 0;
    cv_text_add(out, "cleave: ");
    put_over(over, "predicted", out);
    cv_text_add(out, ": ");
    if (commands != 0)
        put_cost("commands", commands, out);
    if (commands != 0 && links != 0)
        cv_text_add(out, ", ");
    if (links != 0)
        put_cost("links", links, out);
    if (commands == 0 && links == 0)
        cv_text_add(out,
                    "not for the costs in the platform file, but because the input was "
                    "shared out in another way than planned");
    cv_text_add(out, "\n");
}

/* Factor over an estimate that is worth a line. */
static const double SURELY = 1.05;
/* In less time nothing can be gained. */
static const double SHORT_S = 0.1;

/* Begin an object with the members of a range. */
static void begin_range(struct cv_json *json, const struct cleave_input_range *range)
{
    cv_fields(json, "{input %s, begin %llu, end %llu", range->input,
              (unsigned long long)range->begin, (unsigned long long)range->end);
}

static void put_ranges(struct cv_json *json, const char *name,
                       const struct cleave_input_range *ranges, size_t count)
{
    cv_field_list(json, name);
    for (size_t i = 0; i < count; i++) {
        begin_range(json, &ranges[i]);
        cv_json_end(json);
    }
    cv_json_end(json);
}

static void put_texts(struct cv_json *json, const char *name, const char *const *texts,
                      size_t count)
{
    cv_field_list(json, name);
    for (size_t i = 0; i < count && texts[i] != NULL; i++)
        cv_field_text(json, NULL, texts[i]);
    cv_json_end(json);
}

/* How many times as fast as one worker alone; NAN: not known. The time of one worker is an upper
 * limit if there are more workers than cores or starts are not known. */
static double run_speed_up(const struct cleave_execution_result *result,
                           const struct cv_run_report *report, bool *at_most)
{
    uint32_t here = 0;

    for (uint32_t w = 0; w < result->nworkers; w++)
        here += !result->workers[w].remote;
    *at_most = isnan(result->starts_s) || here > (uint32_t)cv_usable_cores();
    /* The wait for a list that arrives during the run is not known. */
    return result->failed > 0 || result->left_bytes > 0 || result->left_unread ||
                   result->resumed > 0 || result->there <= 1 ||
                   (report->items != NULL && report->items->stream != NULL)
               ? NAN
               : result->alone_s / result->seconds;
}

/* Seconds from the first end of a worker that had no further chunk to the last end. *last, if not
 * NULL: the worker of the latter. */
static double tail_of(const struct cleave_execution_result *result, const char **last)
{
    double first_s = INFINITY, last_s = 0;

    for (uint32_t w = 0; w < result->nworkers; w++) {
        const struct cleave_worker_result *worker = &result->workers[w];

        if (worker->chunks == 0)
            continue;
        first_s = fmin(first_s, worker->ended_s);
        if (worker->ended_s > last_s && last != NULL)
            *last = worker->name;
        last_s = fmax(last_s, worker->ended_s);
    }
    return fmax(0, last_s - first_s);
}

static void put_times(struct cv_json *json, const struct cleave_execution_result *result,
                      const struct cv_run_report *report)
{
    cv_fields(
        json,
        "elapsed_s %g, connecting_s %g, makespan_s %g, predicted_s %g, bound_s %g, "
        "unlimited_s %g, limited_by %s, "
        "input_s %g, input_first_s %g, blocked_s %g, alone_s %g, speed_up %g, work_s %g, "
        "starts_s %g, folds_s %g, waiting_s %g, master_s %g, port_s %g",
        result->seconds, result->connect_s, run_makespan(result), report->predicted_s,
        result->bound_s, result->unlimited_s, result->limited_by, result->input_s,
        result->input_first_s, result->blocked_s, result->alone_s,
        run_speed_up(result, report, &(bool){ false }), result->work_s, result->starts_s,
        result->folds_s, result->waiting_s, result->master_s, result->port_s);
    if (result->cost > 0)
        cv_fields(json, "cost %g", result->cost);
    if (result->weight > 0)
        cv_fields(json, "weight %g, heaviest %g, tail_s %g", result->weight,
                  result->heaviest, tail_of(result, NULL));
}

static void put_worker(struct cv_json *json, const struct cleave_execution_result *result,
                       const struct cleave_worker_result *worker)
{
    cv_fields(json,
              "{name %s, chunks %llu, units %g, failed %llu, rests %llu, later %llu, "
              "busy_s %g, "
              "idle_s %g, starts_s %g, speed %g, compute_latency %g, bandwidth %g, "
              "latency %g}",
              worker->name, (unsigned long long)worker->chunks, worker->units,
              (unsigned long long)worker->failures, (unsigned long long)worker->rests,
              (unsigned long long)worker->later, worker->busy_s,
              fmax(0, run_makespan(result) - worker->busy_s), worker->starts_s,
              worker->speed_ups, worker->latency_s,
              worker->bandwidth_ups > 0 ? worker->bandwidth_ups : NAN,
              worker->link_latency_s);
}

static void put_leaders(struct cv_json *json, const struct cv_worker_list *workers)
{
    bool any = false;

    for (size_t i = 0; i < workers->nhosts; i++)
        any = any || workers->hosts[i].leads;
    if (!any)
        return;
    cv_field_list(json, "leaders");
    for (size_t i = 0; i < workers->nhosts; i++) {
        if (!workers->hosts[i].leads)
            continue;
        cv_fields(json, "{host %s", workers->hosts[i].name);
        put_texts(json, "leads", workers->behind[i], SIZE_MAX);
        cv_json_end(json);
    }
    cv_json_end(json);
}

static void leaders_text(const struct cv_worker_list *workers, struct cv_text *out)
{
    enum { SHOWN = 8 };

    for (size_t i = 0; i < workers->nhosts; i++) {
        size_t n = 0;

        if (!workers->hosts[i].leads)
            continue;
        cv_text_add(out, "cleave: %s leads", workers->hosts[i].name);
        for (; workers->behind[i][n] != NULL; n++)
            if (n < SHOWN)
                cv_text_add(out, "%s %s", n > 0 ? "," : "", workers->behind[i][n]);
        if (n > SHOWN)
            cv_text_add(out, " and %zu more", n - SHOWN);
        cv_text_add(out, "; its figures include theirs\n");
    }
}

/* Standard error gets all of it by one write(2). */
static void summary_json(const struct cleave_execution_result *result,
                         const struct cv_run_report *report, int exit_status)
{
    const struct cv_strings *inputs = &report->options->inputs;
    struct cv_text text = { NULL, 0, 0, false };
    FILE *file = open_memstream(&text.bytes, &text.length);
    struct cv_json json;

    if (file == NULL) {
        cv_no_memory("the summary");
        return;
    }
    cv_json_init(&json, file, true);
    cv_json_object(&json);
    put_texts(&json, "command", report->command, SIZE_MAX);
    put_texts(&json, "inputs", inputs->items, inputs->count);
    if (report->items != NULL)
        cv_field_count(&json, "items", report->items->count);
    cv_fields(&json, "input_bytes %g, output_bytes %g, sent_bytes %g, chunks %llu",
              report->items == NULL ? result->input_bytes : NAN, result->output_bytes,
              result->sent_bytes, (unsigned long long)result->chunks);
    put_times(&json, result, report);
    cv_fields(&json,
              "retries %llu, failed_chunks %llu, parted %llu, resumed %llu, "
              "resumed_bytes %g, folds %llu, lost %llu, later %llu, backups %llu",
              (unsigned long long)result->retries, (unsigned long long)result->failed,
              (unsigned long long)result->parted, (unsigned long long)result->resumed,
              report->items == NULL ? result->resumed_bytes : NAN,
              (unsigned long long)result->folds, (unsigned long long)result->lost,
              (unsigned long long)result->later, (unsigned long long)result->backups);
    put_leaders(&json, report->workers);
    cv_field_list(&json, "left_out");
    for (size_t i = 0; i < result->nabsent; i++) {
        struct cv_text reason = { NULL, 0, 0, false };

        cv_fields_translate(result->absent[i].reason, &reason);
        cv_fields(&json, "{host %s, reason %s}", result->absent[i].name, reason.bytes);
        cv_text_done(&reason);
    }
    cv_json_end(&json);
    put_ranges(&json, "failed", result->failed_ranges, result->nfailed_ranges);
    cv_field_list(&json, "bad_records");
    for (size_t i = 0; i < result->nbad_records; i++) {
        begin_range(&json, &result->bad_records[i].at);
        cv_fields(&json, "first %llu, records %llu}",
                  (unsigned long long)result->bad_records[i].first,
                  (unsigned long long)result->bad_records[i].count);
    }
    cv_json_end(&json);
    put_ranges(&json, "left", result->left_ranges, result->nleft_ranges);
    cv_fields(&json, "unwritten %llu, cut_bytes %g",
              (unsigned long long)result->unwritten, result->cut_bytes);
    cv_field_count(&json, "exit_status", (uint64_t)exit_status);
    cv_field_list(&json, "workers");
    for (uint32_t w = 0; w < result->nworkers; w++)
        put_worker(&json, result, &result->workers[w]);
    cv_json_end(&json);
    cv_json_end(&json);
    cv_json_close(&json);
    text.failed = fclose(file) != 0;
    if (report->result_on_stdout)
        cv_print_raw(&text);
    else
        cv_print_take(&text);
}

/* The input that is neither done nor failed. */
static void left_text(const struct cleave_execution_result *result, bool items,
                      struct cv_text *out)
{
    enum { SHOWN = 5 };
    const size_t shown = result->nleft_ranges < SHOWN ? result->nleft_ranges : SHOWN;

    if (result->nleft_ranges == 0 && !result->left_unread)
        return;
    if (items)
        cv_text_add(out, "cleave: left undone: %s",
                    CV_COUNTED((uint64_t)result->left_bytes, "item"));
    else
        cv_text_add(out, "cleave: left undone: %.0f bytes", result->left_bytes);
    for (size_t i = 0; i < shown; i++)
        cv_text_add(out, "%s%s%s%llu to %llu", i == 0 ? " (" : ", ",
                    items ? "" : result->left_ranges[i].input, items ? "" : ": ",
                    (unsigned long long)result->left_ranges[i].begin + items,
                    (unsigned long long)result->left_ranges[i].end);
    if (result->nleft_ranges > shown)
        cv_text_add(out, ", and %zu ranges more", result->nleft_ranges - shown);
    cv_text_add(out, "%s%s\n", shown > 0 ? ")" : "",
                result->left_unread ? ", and the input that was not read" : "");
    if (result->cut_bytes > 0)
        cv_text_add(
            out,
            "cleave: the last %.0f bytes of the output belong to a %s that is left\n",
            result->cut_bytes, items ? "command" : "chunk");
}

/* What one worker would have waited for as well; NULL: for nothing. */
static const char *common_wait(const struct cleave_execution_result *result)
{
    if (result->alone_s > fmax(result->input_s, result->blocked_s))
        return NULL;
    return result->input_s >= result->blocked_s ? "all of the input took to arrive"
                                                : "the output waited for its reader";
}

static void gain_text(const struct cleave_execution_result *result,
                      const struct cv_run_report *report, struct cv_text *out)
{
    bool at_most;
    const double times = run_speed_up(result, report, &at_most);

    if (isnan(times))
        return;
    if (result->seconds <= SURELY * result->alone_s && common_wait(result) != NULL) {
        cv_text_add(out, ", as one worker: %s", common_wait(result));
        return;
    }
    cv_text_add(out, ", %s%.*f times one worker", at_most && times > 1 ? "at most " : "",
                times < 10 ? 1 : 0, times);
    if (times < 1 / SURELY)
        cv_text_add(out, " (--summary: why)");
}

static void limit_text(const struct cleave_execution_result *result, struct cv_text *out)
{
    const char *limit = result->limited_by;

    cv_text_add(out, "limited by %s%s",
                strcmp(limit, "tail") == 0     ? "its "
                : strcmp(limit, "record") == 0 ? "the heaviest "
                                               : "",
                limit);
}

static void head_text(const struct cleave_execution_result *result,
                      const struct cv_run_report *report, bool full, struct cv_text *out)
{
    const bool items = report->items != NULL;

    cv_text_add(out, "cleave: ");
    if (items)
        cv_text_add(out, "%s", CV_COUNTED(result->chunks, "command"));
    else
        cv_run_add_bytes(out, result->input_bytes);
    cv_text_add(out, " in ");
    if (full || result->seconds < 60)
        cv_text_add(out, "%.*f s",
                    full                   ? 3
                    : result->seconds < 10 ? 2
                                           : 1,
                    result->seconds);
    else
        add_time(out, result->seconds);
    if (!full && result->chunks > 0)
        cv_text_add(out, " on %s", CV_COUNTED(result->there, "worker"));
    if (full && !items)
        cv_text_add(out, ", %s", CV_COUNTED(result->chunks, "chunk"));
    if (full && result->connect_s > 0)
        cv_text_add(out, ", %.3f s to connect and %.3f s from then on", result->connect_s,
                    run_makespan(result));
    if (full && isfinite(report->predicted_s))
        cv_text_add(out, ", predicted %.3f s", report->predicted_s);
    if (full && result->folds > 0)
        cv_text_add(out, ", %s", CV_COUNTED(result->folds, "fold"));
    if (!full)
        gain_text(result, report, out);
    if (result->resumed > 0)
        cv_text_add(out, ", %s from the journal",
                    CV_COUNTED(result->resumed, items ? "command" : "chunk"));
    if (result->retries > 0)
        cv_text_add(out, ", %llu retr%s", (unsigned long long)result->retries,
                    result->retries == 1 ? "y" : "ies");
    if (result->later > 0)
        cv_text_add(out, ", %s asked to be run later",
                    CV_COUNTED(result->later, "command"));
    if (result->parted > 0)
        cv_text_add(out, ", %s in halves", CV_COUNTED(result->parted, "chunk"));
    if (result->lost > 0)
        cv_text_add(out, ", %s lost with a host", CV_COUNTED(result->lost, "chunk"));
    if (result->backups > 0)
        cv_text_add(out, ", %s", CV_COUNTED(result->backups, "backup"));
    if (result->failed > 0)
        cv_text_add(out, ", %llu failed", (unsigned long long)result->failed);
    if (result->cost > 0)
        cv_text_add(out, ", cost %.4g", result->cost);
    if (!full && result->limited_by != NULL) {
        cv_text_add(out, "; at least %.2f s, ", result->bound_s);
        limit_text(result, out);
    }
    cv_text_add(out, "\n");
}

static void part_text(const char *name, double part_s, double whole_s, bool always,
                      bool *any, struct cv_text *out)
{
    if (!(part_s > 0) && !always)
        return;
    cv_text_add(out, "%s%s %.*f%%", *any ? ", " : "", name,
                part_s < 0.1 * whole_s ? 1 : 0, 100 * part_s / whole_s);
    *any = true;
}

static void parts_text(const struct cleave_execution_result *result, struct cv_text *out)
{
    const double whole_s = result->seconds * result->there;
    const bool known = !isnan(result->starts_s);
    bool any = false;

    if (result->chunks == 0 || !(whole_s > 0))
        return;
    cv_text_add(out, "cleave: of the time of %s: ", CV_COUNTED(result->there, "worker"));
    part_text(known ? "work" : "work and starts", result->work_s, whole_s, true, &any,
              out);
    part_text("starts", known ? result->starts_s : 0, whole_s, known, &any, out);
    part_text("folds", result->folds_s, whole_s, false, &any, out);
    part_text("waiting", result->waiting_s, whole_s, true, &any, out);
    part_text("connecting", result->connect_s * result->there, whole_s, false, &any, out);
    cv_text_add(out, "\n");
}

/* No chunk has parts of two files. */
static void starts_text(const struct cleave_execution_result *result, size_t inputs,
                        struct cv_text *out)
{
    if (inputs > 1 && 2 * inputs > result->chunks)
        cv_text_add(out,
                    "every file has its own command, and starting %llu of them took %.3g "
                    "s in all; for small files: 'cat FILE... | cleave run ...', or "
                    "'cleave run --many ... ::: FILE...'",
                    (unsigned long long)result->chunks, result->starts_s);
    else
        cv_text_add(
            out,
            "starting the command %llu times took %.3g s in all; larger chunks "
            "(--block SIZE), a command that stays (--persistent) or -j 1 cost less",
            (unsigned long long)result->chunks, result->starts_s);
}

/* Why the workers did not help: their largest cost. */
static void reason_text(const struct cleave_execution_result *result, size_t inputs,
                        struct cv_text *out)
{
    enum { SMALL, CONNECTING, STARTS, FOLDS };
    const double costs_s[] = {
        [SMALL] = fmax(0, result->waiting_s / result->there - result->input_first_s),
        [CONNECTING] = result->connect_s,
        [STARTS] = isnan(result->starts_s) ? 0 : result->starts_s / result->there,
        [FOLDS] = result->folds_s, /* folds run one after the other */
    };
    int max = SMALL;

    for (int i = CONNECTING; i <= FOLDS && result->seconds >= SHORT_S; i++)
        if (costs_s[i] > costs_s[max])
            max = i;
    switch (max) {
    case CONNECTING:
        cv_text_add(out, "connecting to the hosts took %.3g s", result->connect_s);
        break;
    case STARTS:
        starts_text(result, inputs, out);
        break;
    case FOLDS:
        cv_text_add(out, "the command that reduces took %.3g s in all", result->folds_s);
        break;
    default:
        cv_text_add(out, "the input is small: all of it is about %.3g s of work",
                    result->work_s);
    }
}

static void alone_text(const struct cleave_execution_result *result,
                       const struct cv_run_report *report, struct cv_text *out)
{
    bool at_most;

    if (isnan(run_speed_up(result, report, &at_most)))
        return;
    if (result->seconds > SURELY * result->alone_s) {
        cv_text_add(out, "cleave: slower than one worker alone, about %.3g s: ",
                    result->alone_s);
        reason_text(result, report->options->inputs.count, out);
        cv_text_add(out, "\n");
    } else if (common_wait(result) != NULL) {
        cv_text_add(
            out,
            "cleave: one worker alone would have taken about %.3g s, too: so long %s\n",
            result->alone_s, common_wait(result));
    } else {
        cv_text_add(out, "cleave: one worker alone would have taken %sabout %.3g s\n",
                    at_most ? "at most " : "", result->alone_s);
    }
}

/* How far a run with weights or rates was from its bound, and why. */
static void bound_text(const struct cleave_execution_result *result, struct cv_text *out)
{
    const char *limit = result->limited_by, *last = "";
    const double tail_s = tail_of(result, &last);

    if (limit == NULL)
        return;
    cv_text_add(out, "cleave: %.2f times the bound, %.3g s: ",
                run_makespan(result) / result->bound_s, result->bound_s);
    if (strcmp(limit, "record") == 0)
        cv_text_add(out, "the heaviest record alone (weight %g) takes that long",
                    result->heaviest);
    else if (strcmp(limit, "tail") == 0)
        cv_text_add(out, "%s ended %.3g s after the first worker without work", last,
                    tail_s);
    else
        limit_text(result, out);
    cv_text_add(out, "\n");
}

static const char *speed_unit(const struct cleave_execution_result *result, double *out)
{
    static const char *const bytes[] = { "B/s", "kB/s", "MB/s", "GB/s" };
    static const char *const weights[] = { "1/s", "1k/s", "1M/s", "1G/s" };
    double max = 0;
    size_t unit = 0;

    for (uint32_t w = 0; w < result->nworkers; w++)
        max = fmax(max, result->workers[w].speed_ups);
    for (*out = 1; unit < 3 && max >= 1e3 * *out; unit++)
        *out *= 1e3;
    return (result->weight > 0 ? weights : bytes)[unit];
}

/* If there are many workers, idle ones are not shown. */
static void workers_text(const struct cleave_execution_result *result, bool items,
                         struct cv_text *out)
{
    enum { MANY = 32 };
    double unit;
    const char *speed = speed_unit(result, &unit);
    char columns[80];
    struct cv_table table;
    bool remote = false;

    for (uint32_t w = 0; w < result->nworkers; w++)
        remote = remote || result->workers[w].remote;
    snprintf(columns, sizeof columns,
             "worker|+%s|%%busy|#%s|#start ms|#link MB/s|#link ms",
             items                ? "commands|+failed"
             : result->weight > 0 ? "chunks|~weight"
                                  : "chunks|~bytes",
             speed);
    cv_table_init(&table, columns);
    table.ncolumns -= items ? 4 : remote ? 0 : 2;
    for (uint32_t w = 0; w < result->nworkers; w++) {
        const struct cleave_worker_result *worker = &result->workers[w];

        if (result->nworkers > MANY && worker->chunks == 0)
            continue;
        cv_table_add(&table, "%s %g %g %g", worker->name, (double)worker->chunks,
                     items ? (double)worker->failures : worker->units,
                     run_busy_part(result, worker));
        if (!items)
            cv_table_add(&table, "%g %g", worker->speed_ups / unit,
                         isnan(worker->starts_s) || worker->chunks == 0
                             ? NAN
                             : worker->starts_s / (double)worker->chunks * 1e3);
        if (!items && remote)
            cv_table_add(&table, "%g %g", worker->bandwidth_ups / 1e6,
                         worker->link_latency_s * 1e3);
    }
    cv_table_take(&table, false, 80, out);
}

/* A run that failed at the start only has what is left. */
static void summary_text(const struct cleave_execution_result *result,
                         const struct cv_run_report *report, int exit_status, bool full)
{
    const bool items = report->items != NULL;
    const bool empty =
        exit_status != CV_EXIT_DONE && result->chunks == 0 && result->resumed == 0;
    struct cv_text text = { NULL, 0, 0, false }, limit = { NULL, 0, 0, false };

    if (!empty)
        head_text(result, report, full, &text);
    left_text(result, items, &text);
    if (!empty && full) {
        parts_text(result, &text);
        alone_text(result, report, &text);
        bound_text(result, &text);
        cv_limit_text(result, &limit);
        if (limit.length > 0)
            cv_text_add(&text, "cleave: %s\n", limit.bytes);
        run_predicted_text(result, report, &text);
        leaders_text(report->workers, &text);
        workers_text(result, items, &text);
    }
    cv_text_end(&limit, &text);
    cv_print_raw(&text);
}

void cv_run_summary(const struct cleave_execution_result *result,
                    const struct cv_run_report *report, int exit_status)
{
    const struct cv_run_options *values = report->options;

    if (values->json)
        summary_json(result, report, exit_status);
    else
        summary_text(result, report, exit_status, values->summary || values->verbose);
}
