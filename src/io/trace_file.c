/* trace_file.c -- traces as JSON lines: a header, then one entry per line.
 * SPDX-License-Identifier: MIT */
#include "io/trace_file.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/fail.h"
#include "io/input.h"
#include "io/json_out.h"
#include "io/trace_line.h"

static enum cleave_status read_entry(struct cv_trace_lines *lines,
                                     struct cleave_trace *trace)
{
    struct cleave_entry entry;

    CV_TRY(cv_trace_entry_read(lines, &entry));
    if (entry.is_order && lines->events_only)
        return CLEAVE_OK;
    return cleave_trace_add(trace, &entry, lines->in.err);
}

static void ask_whether_trace(struct cleave_error *err)
{
    const size_t used = err != NULL ? strlen(err->text) : 0;

    if (err != NULL)
        snprintf(err->text + used, sizeof err->text - used,
                 "; is it a trace, as listener.trace writes it?");
}

static enum cleave_status read_lines(struct cv_trace_lines *lines, FILE *file,
                                     struct cleave_trace *trace,
                                     struct cv_trace_header *header)
{
    enum cleave_status status = CLEAVE_OK;
    struct cv_place place = { .file = lines->in.file };
    size_t capacity = 0, count = 0;
    char *line = NULL;
    ssize_t length;

    errno = 0;
    while (status == CLEAVE_OK && (length = getline(&line, &capacity, file)) >= 0) {
        if (length > 0 && line[length - 1] == '\n')
            length--;
        cv_json_in_line(&lines->in, line, (size_t)length);
        status = count++ == 0 ? cv_trace_header_read(lines, trace, header)
                              : read_entry(lines, trace);
        if (status != CLEAVE_OK && count == 1 && line[0] != '{')
            ask_whether_trace(lines->in.err);
    }
    free(line);
    if (status != CLEAVE_OK)
        return status;
    if (ferror(file) && errno != ENOMEM)
        return cv_fail_at(lines->in.err, &place, "cannot read: %s", strerror(errno));
    if (!feof(file))
        return cv_fail_memory(lines->in.err, "a line of a trace");
    if (count == 0)
        return cv_fail_at(lines->in.err, &place, "expected a trace, got an empty file");
    return CLEAVE_OK;
}

enum cleave_status cv_trace_file_read(FILE *file, const char *name,
                                      const struct cv_trace_wanted *wanted,
                                      struct cv_trace_file *out, struct cleave_error *err)
{
    const struct cleave_platform *platform = wanted->platform;
    struct cv_trace_lines lines = {
        .arena = &out->arena,
        .platform = platform,
        .nworkers = platform != NULL ? cleave_platform_nworkers(platform) : 0,
        .any = wanted->any,
        .events_only = wanted->events_only,
    };
    enum cleave_status status;

    memset(out, 0, sizeof *out);
    cv_arena_init(&out->arena);
    cv_json_in_init(&lines.in, name, err);
    status = cleave_trace_new(&out->trace, err);
    if (status == CLEAVE_OK)
        status = read_lines(&lines, file, out->trace, &out->header);
    cv_json_in_done(&lines.in);
    return status;
}

enum cleave_status cv_trace_file_load(const char *path,
                                      const struct cv_trace_wanted *wanted,
                                      struct cv_trace_file *out, struct cleave_error *err)
{
    enum cleave_status status;
    FILE *file;

    memset(out, 0, sizeof *out);
    CV_TRY(cv_input_open(path, &file, err));
    status = cv_trace_file_read(file, cv_input_name(path), wanted, out, err);
    cv_input_close(file);
    return status;
}

/* The trace alone, and the number of its nodes or workers. */
static enum cleave_status load(const char *path, const struct cv_trace_wanted *wanted,
                               uint32_t *out_nodes, struct cleave_trace **out,
                               struct cleave_error *err)
{
    struct cv_trace_file file;
    enum cleave_status status = cv_trace_file_load(path, wanted, &file, err);

    if (status == CLEAVE_OK) {
        *out_nodes = file.header.nworkers;
        *out = file.trace;
        file.trace = NULL;
    }
    cv_trace_file_done(&file);
    return status;
}

enum cleave_status cleave_trace_load(const char *path,
                                     const struct cleave_platform *platform,
                                     struct cleave_trace **out, struct cleave_error *err)
{
    uint32_t count;

    return load(path, &(struct cv_trace_wanted){ .platform = platform }, &count, out,
                err);
}

enum cleave_status cleave_trace_load_reduce(const char *path, uint32_t *out_nodes,
                                            struct cleave_trace **out,
                                            struct cleave_error *err)
{
    return load(path, &(struct cv_trace_wanted){ .any = false }, out_nodes, out, err);
}

enum cleave_status cleave_trace_load_any(const char *path, struct cleave_trace **out,
                                         struct cleave_error *err)
{
    uint32_t count;

    return load(path, &(struct cv_trace_wanted){ .any = true }, &count, out, err);
}

void cv_trace_file_done(struct cv_trace_file *file)
{
    cleave_trace_free(file->trace);
    cv_arena_done(&file->arena);
    memset(file, 0, sizeof *file);
}

static enum cleave_status save(const struct cleave_trace *trace,
                               const struct cv_trace_workers *workers, const char *policy,
                               double load, FILE *file, struct cleave_error *err)
{
    struct cv_json json;

    CV_TRY(cv_trace_check(trace, workers, err));
    errno = 0;
    cv_json_init(&json, file, false);
    cv_trace_header_write(&json, workers, policy, load, cleave_trace_facts(trace));
    for (size_t i = 0; i < cleave_trace_count(trace) && !json.failed; i++)
        cv_trace_entry_write(&json, cleave_trace_at(trace, i), workers);
    if (fflush(file) != 0 || json.failed)
        return cv_fail(err, CLEAVE_EINPUT, "cannot write: %s",
                       strerror(errno != 0 ? errno : EIO));
    return CLEAVE_OK;
}

enum cleave_status cleave_trace_save(const struct cleave_trace *trace,
                                     const struct cleave_platform *platform,
                                     const char *policy, double load, FILE *file,
                                     struct cleave_error *err)
{
    const struct cleave_policy_input *told = cleave_trace_facts(trace)->told;
    const struct cv_trace_workers workers = { platform,
                                              cleave_platform_nworkers(platform),
                                              told != NULL && told->view.nitems > 0 };

    if (!isfinite(load))
        return cv_fail(err, CLEAVE_EINPUT, "expected a finite load");
    return save(trace, &workers, policy, load, file, err);
}

enum cleave_status cleave_trace_save_reduce(const struct cleave_trace *trace,
                                            uint32_t nodes, const char *policy,
                                            FILE *file, struct cleave_error *err)
{
    const struct cv_trace_workers workers = { .count = nodes };

    if (nodes == 0)
        return cv_fail(err, CLEAVE_EINPUT, "expected 1 or more nodes, got 0");
    return save(trace, &workers, policy, 0, file, err);
}
