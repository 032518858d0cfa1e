/* run_summary.c -- what cleave run says at the end. SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "cli/common/fields.h"
#include "cli/common/output.h"
#include "cli/run/run_report.h"
#include "io/json_out.h"
#include "report/terminal/terminal_progress.h"
#include "report/terminal/table.h"
#include "run/common/machine.h"

/* --- what was predicted of a run, and why it came otherwise ------------------------ */

/* A prediction is the plan for the declared costs, from when hosts are ready. Where it was
 * wrong, either the costs were, or the work was shared out otherwise than planned: of the
 * first it is known how much. */

static const double NEAR = 0.05; /* a prediction that is wrong by more needs a reason  */
static const double SMALL_COST =
    0.02; /* and costs that are wrong by less are none         */

static const struct cleave_worker *declared_of(const struct cleave_platform *platform,
                                               const char *name)
{
    for (uint32_t w = 0; w < cleave_platform_nworkers(platform); w++)
        if (strcmp(cleave_platform_worker_name(platform, w), name) == 0)
            return &cleave_platform_workers(platform)[w];
    return NULL;
}

/* How much longer commands and links took than declared, as a part of it; 0: no links. */
static void compare_costs(const struct cleave_execution_result *result,
                          const struct cleave_platform *platform, double *out_commands,
                          double *out_links)
{
    double busy_s = 0, said_busy_s = 0, sent_s = 0, said_sent_s = 0;

    for (uint32_t w = 0; w < result->nworkers; w++) {
        const struct cleave_worker_result *worker = &result->workers[w];
        const struct cleave_worker *said = declared_of(platform, worker->name);

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
    *out_links = said_sent_s > 0 ? sent_s / said_sent_s - 1 : 0;
}

/* Links that take little of the time explain nothing, however wrong they are. */
static bool links_matter(const struct cleave_execution_result *result)
{
    double busy_s = 0, sent_s = 0;

    for (uint32_t w = 0; w < result->nworkers; w++) {
        const struct cleave_worker_result *worker = &result->workers[w];

        busy_s += worker->busy_s;
        if (worker->bandwidth_ups > 0)
            sent_s += worker->units / worker->bandwidth_ups;
    }
    return sent_s > NEAR * busy_s;
}

static void put_cost(const char *name, double over, FILE *file)
{
    if (over > 1)
        fprintf(file, "%s took %.3g times as long as the platform file says", name,
                over + 1);
    else
        fprintf(file, "%s took %.0f%% %s than the platform file says", name,
                100 * fabs(over), over > 0 ? "longer" : "less");
}

/* Whether costs that are off by `cost` are a reason for a time that is by `over`. */
static bool explains(double cost, double over)
{
    return fabs(cost) > SMALL_COST && (cost > 0) == (over > 0);
}

void cv_run_predicted_text(const struct cleave_execution_result *result,
                           const struct cv_run_report *report, FILE *file)
{
    const double over =
        fmax(0, result->seconds - result->connect_s) / report->predicted_s - 1;
    double commands, links;

    if (!isfinite(over) || fabs(over) <= NEAR || report->platform == NULL ||
        result->failed > 0 || result->left_bytes > 0 || result->resumed > 0)
        return;
    compare_costs(result, report->platform, &commands, &links);
    commands = explains(commands, over) ? commands : 0;
    links = explains(links, over) && links_matter(result) ? links : 0;
    if (over > 1)
        fprintf(file, "cleave: %.3g times as long as predicted: ", over + 1);
    else
        fprintf(file, "cleave: %.0f%% %s than predicted: ", 100 * fabs(over),
                over > 0 ? "longer" : "less");
    if (commands != 0)
        put_cost("commands", commands, file);
    if (commands != 0 && links != 0)
        fprintf(file, ", ");
    if (links != 0)
        put_cost("links", links, file);
    if (commands == 0 && links == 0)
        fprintf(file, "not for the costs in the platform file, but because the input was "
                      "shared out in another way than planned");
    fprintf(file, "\n");
}

/* --- what cleave run says at the end ----------------------------------------------- */

/* By how much a run has to be slower than an estimate, so that it is worth a word. */
static const double SURELY = 1.05;
/* In less, nothing can be gained whatever it was spent on. */
static const double SHORT_S = 0.1;

static void put_measured(struct cv_json *json, const char *name, double value)
{
    cv_field_number(json, name, value > 0 ? value : NAN);
}

static void put_ranges(struct cv_json *json, const char *name,
                       const struct cleave_input_range *ranges, size_t count)
{
    cv_field_list(json, name);
    for (size_t i = 0; i < count; i++) {
        cv_field_line(json, NULL);
        cv_field_text(json, "input", ranges[i].input);
        cv_field_count(json, "begin", ranges[i].begin);
        cv_field_count(json, "end", ranges[i].end);
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

static void put_times(struct cv_json *json, const struct cleave_execution_result *result,
                      double predicted_s)
{
    cv_field_number(json, "elapsed_s", result->seconds);
    cv_field_number(json, "connecting_s", result->connect_s);
    cv_field_number(json, "makespan_s", cv_run_makespan(result));
    cv_field_number(json, "predicted_s", predicted_s);
    cv_field_number(json, "bound_s", result->bound_s);
    cv_field_number(json, "input_s", result->input_s);
    cv_field_number(json, "input_first_s", result->input_first_s);
    cv_field_number(json, "blocked_s", result->blocked_s);
    cv_field_number(json, "alone_s", result->alone_s);
    cv_field_number(json, "work_s", result->work_s);
    cv_field_number(json, "starts_s", result->starts_s);
    cv_field_number(json, "folds_s", result->folds_s);
    cv_field_number(json, "waiting_s", result->waiting_s);
    cv_field_number(json, "master_s", result->master_s);
    cv_field_number(json, "port_s", result->port_s);
}

static void put_worker(struct cv_json *json, const struct cleave_execution_result *result,
                       const struct cleave_worker_result *worker)
{
    cv_field_line(json, NULL);
    cv_field_text(json, "name", worker->name);
    cv_field_count(json, "chunks", worker->chunks);
    cv_field_number(json, "units", worker->units);
    cv_field_count(json, "failed", worker->failures);
    cv_field_count(json, "rests", worker->rests);
    cv_field_number(json, "busy_s", worker->busy_s);
    cv_field_number(json, "idle_s", fmax(0, cv_run_makespan(result) - worker->busy_s));
    cv_field_number(json, "starts_s", worker->starts_s);
    cv_field_number(json, "speed", worker->speed_ups);
    cv_field_number(json, "compute_latency", worker->latency_s);
    put_measured(json, "bandwidth", worker->bandwidth_ups);
    cv_field_number(json, "latency", worker->link_latency_s);
    cv_json_end(json);
}

/* Hosts that lead others, and whom. */
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
        cv_field_line(json, NULL);
        cv_field_text(json, "host", workers->hosts[i].name);
        put_texts(json, "leads", workers->behind[i], SIZE_MAX);
        cv_json_end(json);
    }
    cv_json_end(json);
}

static void leaders_text(const struct cv_worker_list *workers, FILE *file)
{
    enum { SHOWN = 8 };

    for (size_t i = 0; i < workers->nhosts; i++) {
        size_t n = 0;

        if (!workers->hosts[i].leads)
            continue;
        fprintf(file, "cleave: %s leads", workers->hosts[i].name);
        for (; workers->behind[i][n] != NULL; n++)
            if (n < SHOWN)
                fprintf(file, "%s %s", n > 0 ? "," : "", workers->behind[i][n]);
        if (n > SHOWN)
            fprintf(file, " and %zu more", n - SHOWN);
        fputs("; what it did is theirs and its own\n", file);
    }
}

static void summary_json(const struct cleave_execution_result *result,
                         const struct cv_run_options *values,
                         const struct cv_run_report *report, int exit_status, FILE *file)
{
    struct cv_json json;

    cv_json_init(&json, file, true);
    cv_json_object(&json);
    put_texts(&json, "command", report->command, SIZE_MAX);
    put_texts(&json, "inputs", values->inputs.items, values->inputs.count);
    if (report->items != NULL)
        cv_field_count(&json, "items", report->items->count);
    cv_field_number(&json, "input_bytes",
                    report->items == NULL ? result->input_bytes : NAN);
    cv_field_number(&json, "output_bytes", result->output_bytes);
    cv_field_number(&json, "sent_bytes", result->sent_bytes);
    cv_field_count(&json, "chunks", result->chunks);
    put_times(&json, result, report->predicted_s);
    cv_field_count(&json, "retries", result->retries);
    cv_field_count(&json, "failed_chunks", result->failed);
    cv_field_count(&json, "parted", result->parted);
    cv_field_count(&json, "resumed", result->resumed);
    cv_field_number(&json, "resumed_bytes",
                    report->items == NULL ? result->resumed_bytes : NAN);
    cv_field_count(&json, "folds", result->folds);
    cv_field_count(&json, "lost", result->lost);
    put_leaders(&json, report->workers);
    cv_field_list(&json, "left_out");
    for (size_t i = 0; i < result->nabsent; i++) {
        struct cv_text reason = { NULL, 0, 0, false };

        cv_fields_translate(result->absent[i].reason, &reason);
        cv_field_line(&json, NULL);
        cv_field_text(&json, "host", result->absent[i].name);
        cv_field_text(&json, "reason", reason.bytes);
        cv_json_end(&json);
        cv_text_done(&reason);
    }
    cv_json_end(&json);
    put_ranges(&json, "failed", result->failed_ranges, result->nfailed_ranges);
    cv_field_list(&json, "bad_records");
    for (size_t i = 0; i < result->nbad_records; i++) {
        const struct cleave_bad_records *bad = &result->bad_records[i];

        cv_field_line(&json, NULL);
        cv_field_text(&json, "input", bad->at.input);
        cv_field_count(&json, "begin", bad->at.begin);
        cv_field_count(&json, "end", bad->at.end);
        cv_field_count(&json, "first", bad->first);
        cv_field_count(&json, "records", bad->count);
        cv_json_end(&json);
    }
    cv_json_end(&json);
    put_ranges(&json, "left", result->left_ranges, result->nleft_ranges);
    cv_field_count(&json, "exit_status", (uint64_t)exit_status);
    cv_field_list(&json, "workers");
    for (uint32_t w = 0; w < result->nworkers; w++)
        put_worker(&json, result, &result->workers[w]);
    cv_json_end(&json);
    cv_json_end(&json);
    cv_json_close(&json);
    fflush(file);
}

/* What is neither done nor failed; the first ranges of it. */
static void left_text(const struct cleave_execution_result *result, bool items,
                      FILE *file)
{
    enum { SHOWN = 5 };
    const size_t shown = result->nleft_ranges < SHOWN ? result->nleft_ranges : SHOWN;

    if (result->nleft_ranges == 0 && !result->left_unread)
        return;
    if (items)
        fprintf(file, "cleave: left undone: %s",
                CV_COUNTED((uint64_t)result->left_bytes, "item"));
    else
        fprintf(file, "cleave: left undone: %.0f bytes", result->left_bytes);
    for (size_t i = 0; i < shown; i++)
        fprintf(file, "%s%s%s%llu to %llu", i == 0 ? " (" : ", ",
                items ? "" : result->left_ranges[i].input, items ? "" : ": ",
                (unsigned long long)result->left_ranges[i].begin + items,
                (unsigned long long)result->left_ranges[i].end);
    if (result->nleft_ranges > shown)
        fprintf(file, ", and %zu ranges more", result->nleft_ranges - shown);
    fprintf(file, "%s%s\n", shown > 0 ? ")" : "",
            result->left_unread ? ", and what was not read of the input" : "");
}

/* The first line: how much in what time, and what else is worth a word. */
static void head_text(const struct cleave_execution_result *result, double predicted_s,
                      bool items, FILE *file)
{
    if (items)
        fprintf(file, "cleave: %s in %.3f s", CV_COUNTED(result->chunks, "command"),
                result->seconds);
    else
        fprintf(file, "cleave: %s byte%s in %.3f s, %s",
                CV_SHOW_UNITS(result->input_bytes), result->input_bytes == 1 ? "" : "s",
                result->seconds, CV_COUNTED(result->chunks, "chunk"));
    if (result->connect_s > 0)
        fprintf(file, ", %.3f s to connect and %.3f s from then on", result->connect_s,
                cv_run_makespan(result));
    if (isfinite(predicted_s))
        fprintf(file, ", predicted %.3f s", predicted_s);
    if (result->folds > 0)
        fprintf(file, ", %s", CV_COUNTED(result->folds, "fold"));
    if (result->resumed > 0)
        fprintf(file, ", %s from the journal",
                CV_COUNTED(result->resumed, items ? "command" : "chunk"));
    if (result->retries > 0)
        fprintf(file, ", %llu retr%s", (unsigned long long)result->retries,
                result->retries == 1 ? "y" : "ies");
    if (result->parted > 0)
        fprintf(file, ", %s in halves", CV_COUNTED(result->parted, "chunk"));
    if (result->lost > 0)
        fprintf(file, ", %s lost with a host", CV_COUNTED(result->lost, "chunk"));
    if (result->failed > 0)
        fprintf(file, ", %llu failed", (unsigned long long)result->failed);
    fprintf(file, "\n");
}

/* One part of the time of all workers; none of it needs no word unless `always`. */
static void part_text(const char *name, double part_s, double whole_s, bool always,
                      bool *any, FILE *file)
{
    if (!(part_s > 0) && !always)
        return;
    fprintf(file, "%s%s %.*f%%", *any ? ", " : "", name, part_s < 0.1 * whole_s ? 1 : 0,
            100 * part_s / whole_s);
    *any = true;
}

/* Where the time went: the parts are all of it. */
static void parts_text(const struct cleave_execution_result *result, FILE *file)
{
    const double whole_s = result->seconds * result->there;
    const bool known = !isnan(result->starts_s);
    bool any = false;

    if (result->chunks == 0 || !(whole_s > 0))
        return;
    fprintf(file, "cleave: of the time of %s: ", CV_COUNTED(result->there, "worker"));
    part_text(known ? "work" : "work and starts", result->work_s, whole_s, true, &any,
              file);
    part_text("starts", known ? result->starts_s : 0, whole_s, known, &any, file);
    part_text("folds", result->folds_s, whole_s, false, &any, file);
    part_text("waiting", result->waiting_s, whole_s, true, &any, file);
    part_text("connecting", result->connect_s * result->there, whole_s, false, &any,
              file);
    fprintf(file, "\n");
}

/* What starts less often, where starting took long. No chunk has parts of two files, whatever its
 * size. */
static void starts_text(const struct cleave_execution_result *result, size_t inputs,
                        FILE *file)
{
    if (inputs > 1 && 2 * inputs > result->chunks)
        fprintf(file,
                "every file has a command of its own, and starting %llu of them took "
                "%.3g s in all; for small files: 'cat FILE... | cleave run ...', or "
                "'cleave run --many ... ::: FILE...'",
                (unsigned long long)result->chunks, result->starts_s);
    else
        fprintf(file,
                "starting the command %llu times took %.3g s in all; larger chunks "
                "(--block SIZE), a command that stays (--persistent) or -j 1 cost less",
                (unsigned long long)result->chunks, result->starts_s);
}

/* Why a run gained nothing from its workers: what cost them most, by the clock. */
static void reason_text(const struct cleave_execution_result *result, size_t inputs,
                        FILE *file)
{
    enum { SMALL, CONNECTING, STARTS, FOLDS };
    const double costs_s[] = {
        [SMALL] = fmax(0, result->waiting_s / result->there - result->input_first_s),
        [CONNECTING] = result->connect_s,
        [STARTS] = isnan(result->starts_s) ? 0 : result->starts_s / result->there,
        [FOLDS] = result->folds_s, /* one waits for the other */
    };
    int max = SMALL;

    for (int i = CONNECTING; i <= FOLDS && result->seconds >= SHORT_S; i++)
        if (costs_s[i] > costs_s[max])
            max = i;
    switch (max) {
    case CONNECTING:
        fprintf(file, "connecting to the hosts took %.3g s", result->connect_s);
        break;
    case STARTS:
        starts_text(result, inputs, file);
        break;
    case FOLDS:
        fprintf(file, "the command that reduces took %.3g s in all", result->folds_s);
        break;
    default:
        fprintf(file, "the input is small: all of it is about %.3g s of work",
                result->work_s);
    }
}

/* What one worker alone would have taken, and plainly if that is less. Where workers are
 * more than cores, or starts are not known, it is too much rather than too little. */
static void alone_text(const struct cleave_execution_result *result, size_t inputs,
                       FILE *file)
{
    uint32_t here = 0;
    bool at_most;

    if (isnan(result->alone_s) || result->failed > 0 || result->left_bytes > 0 ||
        result->left_unread || result->resumed > 0 ||
        result->there <= 1) /* it was one worker alone */
        return;
    for (uint32_t w = 0; w < result->nworkers; w++)
        here += !result->workers[w].remote;
    at_most = isnan(result->starts_s) || here > (uint32_t)cv_usable_cores();
    if (result->seconds > SURELY * result->alone_s) {
        fprintf(file,
                "cleave: slower than one worker alone, about %.3g s: ", result->alone_s);
        reason_text(result, inputs, file);
        fprintf(file, "\n");
    } else if (result->alone_s <= fmax(result->input_s, result->blocked_s)) {
        fprintf(
            file,
            "cleave: one worker alone would have taken about %.3g s, too: so long %s\n",
            result->alone_s,
            result->input_s >= result->blocked_s
                ? "it took until all of the input had come"
                : "the output waited for its reader");
    } else {
        fprintf(file, "cleave: one worker alone would have taken %sabout %.3g s\n",
                at_most ? "at most " : "", result->alone_s);
    }
}

/* The unit in which speeds can be read, and how many bytes a second it is. */
static const char *speed_unit(const struct cleave_execution_result *result, double *out)
{
    static const char *const units[] = { "B/s", "kB/s", "MB/s", "GB/s" };
    double max = 0;
    size_t unit = 0;

    for (uint32_t w = 0; w < result->nworkers; w++)
        max = fmax(max, result->workers[w].speed_ups);
    for (*out = 1; unit < 3 && max >= 1e3 * *out; unit++)
        *out *= 1e3;
    return units[unit];
}

/* A row for each worker; of many, only those that did something. */
static void workers_text(const struct cleave_execution_result *result, FILE *file)
{
    enum { MANY = 32 };
    double unit;
    const char *speed = speed_unit(result, &unit);
    const struct cv_column columns[] = {
        { "worker", CV_COLUMN_TEXT },      { "chunks", CV_COLUMN_COUNT },
        { "bytes", CV_COLUMN_UNITS },      { "busy", CV_COLUMN_PERCENT },
        { speed, CV_COLUMN_NUMBER },       { "start ms", CV_COLUMN_NUMBER },
        { "link MB/s", CV_COLUMN_NUMBER }, { "link ms", CV_COLUMN_NUMBER },
    };
    struct cv_text text = { NULL, 0, 0, false };
    struct cv_table table;
    bool remote = false;

    for (uint32_t w = 0; w < result->nworkers; w++)
        remote = remote || result->workers[w].remote;
    cv_table_init(&table, columns, sizeof columns / sizeof *columns - (remote ? 0 : 2));
    for (uint32_t w = 0; w < result->nworkers; w++) {
        const struct cleave_worker_result *worker = &result->workers[w];

        if (result->nworkers > MANY && worker->chunks == 0)
            continue;
        cv_table_text(&table, worker->name);
        cv_table_number(&table, (double)worker->chunks);
        cv_table_number(&table, worker->units);
        cv_table_number(&table, cv_run_busy_part(result, worker));
        cv_table_number(&table, worker->speed_ups / unit);
        cv_table_number(&table, isnan(worker->starts_s) || worker->chunks == 0
                                    ? NAN
                                    : worker->starts_s / (double)worker->chunks * 1e3);
        if (remote) {
            cv_table_number(&table, worker->bandwidth_ups / 1e6);
            cv_table_number(&table, worker->link_latency_s * 1e3);
        }
    }
    cv_table_write(&table, false, 80, &text);
    cv_table_done(&table);
    if (!text.failed && text.bytes != NULL)
        fputs(text.bytes, file);
    cv_text_done(&text);
}

static void limit_text(const struct cleave_execution_result *result)
{
    struct cv_text text = { NULL, 0, 0, false };

    cv_limit_text(result, &text);
    if (text.bytes != NULL)
        cv_print_line(text.bytes);
    cv_text_done(&text);
}

/* A run that failed before anything was done has nothing to sum up but what is left. */
static void summary_text(const struct cleave_execution_result *result,
                         const struct cv_run_options *values,
                         const struct cv_run_report *report, int exit_status, FILE *file)
{
    const bool empty =
        exit_status != CV_EXIT_DONE && result->chunks == 0 && result->resumed == 0;

    if (!empty)
        head_text(result, report->predicted_s, report->items != NULL, file);
    left_text(result, report->items != NULL, file);
    if (empty)
        return;
    parts_text(result, file);
    /* Of a list that came as it was done, nobody knows how long it was waited for. */
    if (report->items == NULL || report->items->stream == NULL)
        alone_text(result, values->inputs.count, file);
    limit_text(result);
    cv_run_predicted_text(result, report, file);
    leaders_text(report->workers, file);
    if (report->items != NULL)
        cv_run_item_workers(result, file);
    else
        workers_text(result, file);
}

void cv_run_summary(const struct cleave_execution_result *result,
                    const struct cv_run_options *values, struct cv_run_report *report,
                    int exit_status)
{
    if (values->json)
        summary_json(result, values, report, exit_status,
                     report->result_on_stdout ? stderr : stdout);
    else
        summary_text(result, values, report, exit_status, stderr);
}
