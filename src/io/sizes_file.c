/* sizes_file.c -- sizes of items from a list or a job log. SPDX-License-Identifier: MIT */
#include "io/sizes_file.h"

#include <stdlib.h>
#include <string.h>
#include "base/compare.h"
#include "base/fail.h"
#include "base/quantity.h"
#include "base/text.h"
#include "io/input.h"

enum { COLUMNS = 64 };
static const size_t LIMIT = (size_t)1 << 31;

/* A file that is cut into lines while it is read. */
struct lines {
    const char *path;
    char *bytes, *at, *end;
    unsigned number;
    struct cleave_error *err;
};

static char *next_line(struct lines *lines)
{
    char *line = lines->at, *stop;

    if (line >= lines->end)
        return NULL;
    stop = memchr(line, '\n', (size_t)(lines->end - line));
    if (stop == NULL)
        stop = lines->end;
    lines->at = stop + 1;
    *stop = '\0';
    if (stop > line && stop[-1] == '\r')
        stop[-1] = '\0';
    lines->number++;
    return line;
}

static enum cleave_status fail_line(const struct lines *lines, const char *expected,
                                    const char *got)
{
    const struct cv_place place = { cv_input_name(lines->path), lines->number, 0, NULL };
    char shown[64];

    return cv_fail_at(lines->err, &place, "%s, got '%s'", expected,
                      cv_shown(got, strlen(got), shown, sizeof shown));
}

/* Cut a line at its tabs. Returns the number of columns, at most COLUMNS. */
static size_t cut(char *line, char *out[COLUMNS])
{
    size_t n = 0;

    while (line != NULL && n < COLUMNS) {
        char *tab = n + 1 < COLUMNS ? strchr(line, '\t') : NULL;

        out[n++] = line;
        if (tab != NULL)
            *tab = '\0';
        line = tab != NULL ? tab + 1 : NULL;
    }
    return n;
}

static enum cleave_status read_size(const struct lines *lines, const char *text,
                                    double *out)
{
    const char *expected = cv_quantity_parse(text, CV_UNITS, out);

    if (expected != NULL)
        return fail_line(lines, expected, text);
    return *out >= 0 ? CLEAVE_OK : fail_line(lines, "expected a size of 0 or more", text);
}

/* The two columns of a line, size and name in either order. */
struct item {
    char *first, *last; /* equal if the line has one column */
};

static enum cleave_status read_columns(const struct lines *lines, char *line,
                                       uint64_t column, struct item *out)
{
    char *columns[COLUMNS];
    const size_t n = cut(line, columns);

    if (column > n)
        return fail_line(lines, "expected a line with that column", line);
    out->first = columns[0];
    out->last = columns[column > 0 ? column - 1 : n - 1];
    if (column == 1)
        out->first = columns[n > 1 ? 1 : 0];
    return CLEAVE_OK;
}

static bool is_size(const char *text)
{
    double size;

    return cv_quantity_parse(text, CV_UNITS, &size) == NULL;
}

/* Whether the first column has the sizes, as du writes it, and the last one cannot. */
static bool sizes_come_first(const struct item *items, uint64_t count)
{
    bool last = true, first = true;

    for (uint64_t i = 0; i < count; i++) {
        last = last && is_size(items[i].last);
        first = first && is_size(items[i].first);
    }
    return first && !last;
}

static enum cleave_status read_lines(struct lines *lines, uint64_t column,
                                     struct item *items, struct cv_arena *arena,
                                     struct cv_sizes *out)
{
    bool swapped;
    char *line;

    while ((line = next_line(lines)) != NULL)
        CV_TRY(read_columns(lines, line, column, &items[out->count++]));
    if (out->count == 0)
        return cv_fail(lines->err, CLEAVE_EINPUT,
                       "%s: expected a size on each line, got an empty file",
                       cv_input_name(lines->path));
    swapped = column == 0 && sizes_come_first(items, out->count);
    if (items[0].first == items[0].last)
        out->names = NULL;
    for (uint64_t i = 0; i < out->count; i++) {
        const struct item *item = &items[i];

        lines->number = (unsigned)i + 1;
        CV_TRY(read_size(lines, swapped ? item->first : item->last, &out->sizes[i]));
        if (out->names == NULL || item->first == item->last)
            continue;
        out->names[i] = cv_arena_text(arena, swapped ? item->last : item->first);
        if (out->names[i] == NULL)
            return cv_fail_memory(lines->err, "the names of items");
    }
    return CLEAVE_OK;
}

static enum cleave_status read_items(struct lines *lines, uint64_t column,
                                     struct cv_arena *arena, struct cv_sizes *out)
{
    enum cleave_status status;
    struct item *items;
    size_t count = 1;

    for (const char *at = lines->bytes; at < lines->end; at++)
        count += *at == '\n';
    items = calloc(count, sizeof *items);
    if (items == NULL || !CV_NEW(arena, out->sizes, count) ||
        !CV_NEW(arena, out->names, count))
        status = cv_fail_memory(lines->err, "the sizes of items");
    else
        status = read_lines(lines, column, items, arena, out);
    free(items);
    return status;
}

enum { SEQ, HOST, RUNTIME, EXITVAL, SIGNAL, COMMAND, NEEDED };

static const char *const needed[NEEDED] = { "Seq",     "Host",   "JobRuntime",
                                            "Exitval", "Signal", "Command" };

struct job {
    uint64_t seq;
    double size;
    const char *name; /* in the bytes of the file */
    bool good;
};

static enum cleave_status read_header(struct lines *lines, size_t at[NEEDED])
{
    char *columns[COLUMNS], *line = next_line(lines);
    const size_t n = line != NULL ? cut(line, columns) : 0;

    for (size_t k = 0; k < NEEDED; k++) {
        for (at[k] = 0; at[k] < n && strcmp(columns[at[k]], needed[k]) != 0;)
            at[k]++;
        if (at[k] == n)
            return cv_fail(lines->err, CLEAVE_EINPUT,
                           "%s: expected a job log, as listener.job_log writes it: its "
                           "first line has no column '%s'",
                           cv_input_name(lines->path), needed[k]);
    }
    return CLEAVE_OK;
}

/* The units that a worker of the platform computes in that time; for other hosts, seconds. */
static double units_of(const struct cleave_platform *platform, const char *host,
                       double time_s)
{
    for (uint32_t w = 0; platform != NULL && w < cleave_platform_nworkers(platform); w++)
        if (strcmp(cleave_platform_worker_name(platform, w), host) == 0) {
            const struct cleave_worker *worker = &cleave_platform_workers(platform)[w];
            const double units = (time_s - worker->compute_latency_s) * worker->speed_ups;

            return units > 0 ? units : 0;
        }
    return time_s;
}

static enum cleave_status read_job(const struct lines *lines, char *line,
                                   const size_t at[NEEDED],
                                   const struct cleave_platform *platform,
                                   struct job *out)
{
    char *columns[COLUMNS], *rest;
    const size_t n = cut(line, columns);
    double runtime_s = 0;

    for (size_t k = 0; k < NEEDED; k++)
        if (at[k] >= n)
            return fail_line(lines, "expected the columns of the first line", line);
    out->seq = strtoull(columns[at[SEQ]], &rest, 10);
    if (*rest != '\0' || rest == columns[at[SEQ]])
        return fail_line(lines, "expected a number as Seq", columns[at[SEQ]]);
    /* GNU parallel pads it. */
    if (cv_quantity_parse(columns[at[RUNTIME]] + strspn(columns[at[RUNTIME]], " "),
                          CV_NUMBER, &runtime_s) != NULL ||
        runtime_s < 0)
        return fail_line(lines, "expected seconds as JobRuntime", columns[at[RUNTIME]]);
    out->size = units_of(platform, columns[at[HOST]], runtime_s);
    out->good =
        strcmp(columns[at[EXITVAL]], "0") == 0 && strcmp(columns[at[SIGNAL]], "0") == 0;
    out->name = columns[at[COMMAND]];
    return CLEAVE_OK;
}

static int by_seq(const void *left, const void *right)
{
    const struct job *a = left, *b = right;

    return cv_order(CV_COMPARE(a->seq, b->seq), CV_COMPARE(a->good, b->good),
                    CV_COMPARE(a->name, b->name)); /* order of the lines */
}

/* Keep the last line of each job. */
static enum cleave_status keep_jobs(const struct lines *lines, struct job *jobs,
                                    size_t count, struct cv_arena *arena,
                                    struct cv_sizes *out)
{
    if (!CV_NEW(arena, out->sizes, count) || !CV_NEW(arena, out->names, count))
        return cv_fail_memory(lines->err, "the sizes of items");
    if (count > 0)
        qsort(jobs, count, sizeof *jobs, by_seq);
    for (size_t k = 0; k < count; k++) {
        if (k + 1 < count && jobs[k + 1].seq == jobs[k].seq)
            continue;
        out->sizes[out->count] = jobs[k].size;
        out->names[out->count] = cv_arena_text(arena, jobs[k].name);
        if (out->names[out->count++] == NULL)
            return cv_fail_memory(lines->err, "the names of items");
    }
    return out->count > 0 ? CLEAVE_OK
                          : cv_fail(lines->err, CLEAVE_EINPUT,
                                    "%s: expected a job log with a line for each job, "
                                    "got none",
                                    cv_input_name(lines->path));
}

static enum cleave_status read_log(struct lines *lines,
                                   const struct cleave_platform *platform,
                                   struct cv_arena *arena, struct cv_sizes *out)
{
    size_t at[NEEDED], room = 0, count = 0;
    enum cleave_status status = read_header(lines, at);
    struct job *jobs = NULL;
    char *line;

    while (status == CLEAVE_OK && (line = next_line(lines)) != NULL) {
        if (!CV_ROOM(jobs, &room, count + 1)) {
            status = cv_fail_memory(lines->err, "the lines of a job log");
            break;
        }
        status = read_job(lines, line, at, platform, &jobs[count++]);
    }
    CV_THEN(status, keep_jobs(lines, jobs, count, arena, out));
    free(jobs);
    return status;
}

static enum cleave_status read_file(const char *path, bool log, uint64_t column,
                                    const struct cleave_platform *platform,
                                    struct cv_arena *arena, struct cv_sizes *out,
                                    struct cleave_error *err)
{
    struct lines lines = { .path = path, .err = err };
    struct cv_sizes found = { .sizes = NULL };
    enum cleave_status status;
    size_t length = 0;

    CV_TRY(cv_input_read(path, LIMIT, &lines.bytes, &length, err));
    lines.at = lines.bytes;
    lines.end = lines.bytes + length;
    status = log ? read_log(&lines, platform, arena, &found)
                 : read_items(&lines, column, arena, &found);
    free(lines.bytes);
    if (status == CLEAVE_OK)
        *out = found;
    return status;
}

enum cleave_status cv_sizes_read(const char *path, uint64_t column,
                                 struct cv_arena *arena, struct cv_sizes *out,
                                 struct cleave_error *err)
{
    return read_file(path, false, column, NULL, arena, out, err);
}

enum cleave_status cv_sizes_read_log(const char *path,
                                     const struct cleave_platform *platform,
                                     struct cv_arena *arena, struct cv_sizes *out,
                                     struct cleave_error *err)
{
    return read_file(path, true, 0, platform, arena, out, err);
}
