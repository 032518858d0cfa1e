/* run_summary.c -- what cleave run says at the end. SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include "cli/kit/counted.h"
#include "cli/kit/json_fields.h"
#include "cli/kit/output.h"
#include "cli/run/run_report.h"
#include "report/terminal/table.h"

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

static void summary_json(const struct cleave_execution_result *result, double predicted_s,
                         int exit_status, FILE *file)
{
    struct cv_json json;

    cv_json_init(&json, file, true);
    cv_json_object(&json);
    cv_field_number(&json, "input_bytes", result->input_bytes);
    cv_field_number(&json, "output_bytes", result->output_bytes);
    cv_field_count(&json, "chunks", result->chunks);
    cv_field_number(&json, "makespan_s", result->seconds);
    cv_field_number(&json, "connect_s", result->connect_s);
    cv_field_number(&json, "predicted_s", predicted_s);
    cv_field_number(&json, "bound_s", result->bound_s);
    cv_field_count(&json, "retries", result->retries);
    cv_field_count(&json, "failed_chunks", result->failed);
    cv_field_count(&json, "parted", result->parted);
    cv_field_count(&json, "resumed", result->resumed);
    cv_field_count(&json, "folds", result->folds);
    cv_field_count(&json, "lost", result->lost);
    cv_field_list(&json, "left_out");
    for (size_t i = 0; i < result->nabsent; i++) {
        cv_field_line(&json, NULL);
        cv_field_text(&json, "host", result->absent[i].name);
        cv_field_text(&json, "reason", result->absent[i].reason);
        cv_json_end(&json);
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
    for (uint32_t w = 0; w < result->nworkers; w++) {
        const struct cleave_worker_result *worker = &result->workers[w];

        cv_field_line(&json, NULL);
        cv_field_text(&json, "name", worker->name);
        cv_field_count(&json, "chunks", worker->chunks);
        cv_field_number(&json, "units", worker->units);
        cv_field_count(&json, "failed", worker->failures);
        cv_field_count(&json, "rests", worker->rests);
        cv_field_number(&json, "busy_s", worker->busy_s);
        cv_field_number(&json, "idle_s", fmax(0, result->seconds - worker->busy_s));
        cv_field_number(&json, "speed", worker->speed_ups);
        cv_field_number(&json, "compute_latency", worker->latency_s);
        put_measured(&json, "bandwidth", worker->bandwidth_ups);
        cv_field_number(&json, "latency", worker->link_latency_s);
        cv_json_end(&json);
    }
    cv_json_end(&json);
    cv_json_end(&json);
    cv_json_close(&json);
    fflush(file);
}

/* What is neither done nor failed; the first ranges of it. */
static void left_text(const struct cleave_execution_result *result, FILE *file)
{
    enum { SHOWN = 5 };
    const size_t shown = result->nleft_ranges < SHOWN ? result->nleft_ranges : SHOWN;

    if (result->nleft_ranges == 0 && !result->left_unread)
        return;
    fprintf(file, "cleave: left undone: %.0f bytes", result->left_bytes);
    for (size_t i = 0; i < shown; i++)
        fprintf(file, "%s%s: %llu to %llu", i == 0 ? " (" : ", ",
                result->left_ranges[i].input,
                (unsigned long long)result->left_ranges[i].begin,
                (unsigned long long)result->left_ranges[i].end);
    if (result->nleft_ranges > shown)
        fprintf(file, ", and %zu ranges more", result->nleft_ranges - shown);
    fprintf(file, "%s%s\n", shown > 0 ? ")" : "",
            result->left_unread ? ", and what was not read of the input" : "");
}

static double busy_part_of(const struct cleave_execution_result *result,
                           const struct cleave_worker_result *worker)
{
    return result->seconds > 0 ? fmin(1, worker->busy_s / result->seconds) : 0;
}

/* Which part of the time of all workers they were busy. */
static double busy_part(const struct cleave_execution_result *result)
{
    double sum = 0;

    for (uint32_t w = 0; w < result->nworkers; w++)
        sum += busy_part_of(result, &result->workers[w]);
    return result->nworkers > 0 ? sum / result->nworkers : 0;
}

/* The first line: how much in what time, and what else is worth a word. */
static void head_text(const struct cleave_execution_result *result, double predicted_s,
                      FILE *file)
{
    char bytes[CV_NUMBER_ROOM], counted[CV_COUNTED_ROOM];

    fprintf(file, "cleave: %s byte%s in %.3f s, %s",
            cv_show_units(result->input_bytes, bytes),
            result->input_bytes == 1 ? "" : "s", result->seconds,
            cv_counted(result->chunks, "chunk", counted));
    if (result->connect_s > 0)
        fprintf(file, ", %.3f s to connect", result->connect_s);
    if (result->chunks > 0 && result->seconds > 0)
        fprintf(file, ", workers busy %.0f%% of the time", 100 * busy_part(result));
    if (isfinite(predicted_s))
        fprintf(file, ", predicted %.3f s", predicted_s);
    if (result->folds > 0)
        fprintf(file, ", %s", cv_counted(result->folds, "fold", counted));
    if (result->resumed > 0)
        fprintf(file, ", %s from the journal",
                cv_counted(result->resumed, "chunk", counted));
    if (result->retries > 0)
        fprintf(file, ", %llu retr%s", (unsigned long long)result->retries,
                result->retries == 1 ? "y" : "ies");
    if (result->parted > 0)
        fprintf(file, ", %s in halves", cv_counted(result->parted, "chunk", counted));
    if (result->lost > 0)
        fprintf(file, ", %s lost with a host",
                cv_counted(result->lost, "chunk", counted));
    if (result->failed > 0)
        fprintf(file, ", %llu failed", (unsigned long long)result->failed);
    fprintf(file, "\n");
}

/* The unit in which speeds can be read, and how many bytes a second it is. */
static const char *speed_unit(const struct cleave_execution_result *result, double *out)
{
    static const char *const units[] = { "B/s", "kB/s", "MB/s", "GB/s" };
    double most = 0;
    size_t unit = 0;

    for (uint32_t w = 0; w < result->nworkers; w++)
        most = fmax(most, result->workers[w].speed_ups);
    for (*out = 1; unit < 3 && most >= 1e3 * *out; unit++)
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
        cv_table_number(&table, busy_part_of(result, worker));
        cv_table_number(&table, worker->speed_ups / unit);
        cv_table_number(&table, worker->latency_s * 1e3);
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

/* A run that failed before anything was done has nothing to sum up but what is left. */
static void summary_text(const struct cleave_execution_result *result, double predicted_s,
                         int exit_status, FILE *file)
{
    const bool empty =
        exit_status != CV_EXIT_DONE && result->chunks == 0 && result->resumed == 0;

    if (!empty)
        head_text(result, predicted_s, file);
    left_text(result, file);
    if (!empty)
        workers_text(result, file);
}

void cv_run_summary(const struct cleave_execution_result *result,
                    const struct cv_run_options *values, struct cv_run_report *report,
                    int exit_status)
{
    if (values->json)
        summary_json(result, report->predicted_s, exit_status,
                     report->result_on_stdout ? stderr : stdout);
    else
        summary_text(result, report->predicted_s, exit_status, stderr);
}
