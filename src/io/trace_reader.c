/* trace_reader.c -- read a trace from JSON lines: its header, then its entries.
 * SPDX-License-Identifier: MIT */
#include "io/trace_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "io/input.h"
#include "io/trace_line.h"

static enum cleave_status read_entry(struct cv_trace_lines *lines,
                                     struct cleave_trace *trace)
{
    struct cleave_entry entry;

    CV_TRY(cv_trace_entry(lines, &entry));
    if (entry.is_order && lines->events_only)
        return CLEAVE_OK;
    return cleave_trace_add(trace, &entry, lines->err);
}

/* Something else was given than a trace. */
static void ask_whether_trace(struct cleave_error *err)
{
    const size_t used = err != NULL ? strlen(err->text) : 0;

    if (err != NULL)
        snprintf(err->text + used, sizeof err->text - used,
                 "; is it a trace, as --trace writes it?");
}

static enum cleave_status read_lines(struct cv_trace_lines *lines, FILE *file,
                                     struct cv_arena *arena, struct cleave_trace *trace,
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
        status = count++ == 0 ? cv_trace_header_read(lines, arena, trace, header)
                              : read_entry(lines, trace);
        if (status != CLEAVE_OK && count == 1 && line[0] != '{')
            ask_whether_trace(lines->err);
    }
    free(line);
    if (status != CLEAVE_OK)
        return status;
    if (ferror(file) && errno != ENOMEM)
        return cv_fail_at(lines->err, &place, "cannot read: %s", strerror(errno));
    if (!feof(file))
        return cv_fail_memory(lines->err, "a line of a trace");
    if (count == 0)
        return cv_fail_at(lines->err, &place, "expected a trace, got an empty file");
    return CLEAVE_OK;
}

/* `header` and what it points to live in the arena. */
static enum cleave_status read_trace(struct cv_trace_lines *lines, FILE *file,
                                     const char *name, struct cv_arena *arena,
                                     struct cv_trace_header *header,
                                     struct cleave_trace **out)
{
    struct cleave_trace *trace = NULL;
    enum cleave_status status;

    cv_json_in_init(&lines->in, name);
    status = cleave_trace_new(&trace, lines->err);
    if (status == CLEAVE_OK)
        status = read_lines(lines, file, arena, trace, header);
    cv_json_in_done(&lines->in);
    if (status == CLEAVE_OK)
        *out = trace;
    else
        cleave_trace_free(trace);
    return status;
}

enum cleave_status cv_trace_read(FILE *file, const char *name,
                                 const struct cleave_platform *platform,
                                 struct cleave_trace **out, struct cleave_error *err)
{
    const uint32_t count = cleave_platform_nworkers(platform);
    struct cv_trace_name *names = calloc(count, sizeof *names);
    struct cv_trace_lines lines = { .platform = platform, .nworkers = count, .err = err };
    struct cv_trace_header header;
    enum cleave_status status;
    struct cv_arena arena;

    if (names == NULL)
        return cv_fail_memory(err, "the names of workers");
    for (uint32_t i = 0; i < count; i++)
        names[i] = (struct cv_trace_name){ cleave_platform_worker_name(platform, i), i };
    qsort(names, count, sizeof *names, cv_trace_name_compare);
    lines.names = names;
    cv_arena_init(&arena);
    status = read_trace(&lines, file, name, &arena, &header, out);
    cv_arena_done(&arena);
    free(names);
    return status;
}

enum cleave_status cv_trace_read_reduce(FILE *file, const char *name, uint32_t *out_nodes,
                                        struct cleave_trace **out,
                                        struct cleave_error *err)
{
    struct cv_trace_lines lines = { .err = err };
    struct cv_trace_header header = { 0 };
    enum cleave_status status;
    struct cv_arena arena;

    cv_arena_init(&arena);
    status = read_trace(&lines, file, name, &arena, &header, out);
    cv_arena_done(&arena);
    if (status == CLEAVE_OK)
        *out_nodes = header.nworkers;
    return status;
}

enum cleave_status cleave_trace_load(const char *path,
                                     const struct cleave_platform *platform,
                                     struct cleave_trace **out, struct cleave_error *err)
{
    enum cleave_status status;
    FILE *file;

    CV_TRY(cv_input_open(path, &file, err));
    status = cv_trace_read(file, cv_input_name(path), platform, out, err);
    cv_input_close(file);
    return status;
}

enum cleave_status cleave_trace_load_reduce(const char *path, uint32_t *out_nodes,
                                            struct cleave_trace **out,
                                            struct cleave_error *err)
{
    enum cleave_status status;
    FILE *file;

    CV_TRY(cv_input_open(path, &file, err));
    status = cv_trace_read_reduce(file, cv_input_name(path), out_nodes, out, err);
    cv_input_close(file);
    return status;
}

static enum cleave_status read_file(FILE *file, const char *name, bool events_only,
                                    struct cv_trace_file *out, struct cleave_error *err)
{
    struct cv_trace_lines lines = { .any = true, .events_only = events_only, .err = err };

    memset(out, 0, sizeof *out);
    cv_arena_init(&out->arena);
    return read_trace(&lines, file, name, &out->arena, &out->header, &out->trace);
}

enum cleave_status cv_trace_file_read(FILE *file, const char *name,
                                      struct cv_trace_file *out, struct cleave_error *err)
{
    return read_file(file, name, true, out, err);
}

static enum cleave_status load_file(const char *path, bool events_only,
                                    struct cv_trace_file *out, struct cleave_error *err)
{
    enum cleave_status status;
    FILE *file;

    memset(out, 0, sizeof *out);
    CV_TRY(cv_input_open(path, &file, err));
    status = read_file(file, cv_input_name(path), events_only, out, err);
    cv_input_close(file);
    return status;
}

enum cleave_status cv_trace_file_load(const char *path, struct cv_trace_file *out,
                                      struct cleave_error *err)
{
    return load_file(path, true, out, err);
}

enum cleave_status cv_trace_file_load_whole(const char *path, struct cv_trace_file *out,
                                            struct cleave_error *err)
{
    return load_file(path, false, out, err);
}

enum cleave_status cleave_trace_load_any(const char *path, struct cleave_trace **out,
                                         struct cleave_error *err)
{
    struct cv_trace_file file = { .trace = NULL };
    enum cleave_status status = cv_trace_file_load_whole(path, &file, err);

    if (status == CLEAVE_OK) {
        *out = file.trace;
        file.trace = NULL;
    }
    cv_trace_file_done(&file);
    return status;
}

void cv_trace_file_done(struct cv_trace_file *file)
{
    cleave_trace_free(file->trace);
    cv_arena_done(&file->arena);
    memset(file, 0, sizeof *file);
}
