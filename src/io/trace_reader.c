/* trace_reader.c -- read a trace from JSON lines: its header, then its entries.
 * SPDX-License-Identifier: MIT */
#include "io/trace_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "io/input.h"
#include "io/trace_line.h"

/* The fields of a header come in this order, so that a file that is no trace is known at
 * once. */
static const char *const load_header[] = { "format", "policy", "load", "port",
                                           "workers" };
static const char *const reduce_header[] = { "format", "policy", "task", "nodes" };

/* A string that must be `wanted`. */
static enum cleave_status expect_text(struct cv_trace_lines *lines, const char *field,
                                      const char *wanted)
{
    char expected[160];
    const char *at, *text;

    cv_json_in_skip(&lines->in);
    at = lines->in.at;
    CV_TRY(cv_json_in_text(&lines->in, &text, lines->err));
    if (strcmp(text, wanted) == 0)
        return CLEAVE_OK;
    snprintf(expected, sizeof expected, "expected '%s'", wanted);
    return cv_trace_fail(lines, at, field, expected, text);
}

/* The names of the workers, which must be those of the platform. */
static enum cleave_status read_workers(struct cv_trace_lines *lines)
{
    uint32_t count = lines->nworkers, n = 0;
    struct cv_place place;
    bool first = true, more;

    CV_TRY(cv_json_in_open(&lines->in, '[', lines->err));
    for (;; n++) {
        CV_TRY(cv_json_in_more(&lines->in, ']', &first, &more, lines->err));
        if (!more || n == count)
            break;
        CV_TRY(expect_text(lines, "workers",
                           cleave_platform_worker_name(lines->platform, n)));
    }
    if (!more && n == count)
        return CLEAVE_OK;
    place = cv_json_in_place(&lines->in, lines->in.at);
    place.field = "workers";
    return cv_fail_at(lines->err, &place,
                      "expected the %lu workers of the platform, got %s",
                      (unsigned long)count, more ? "more" : "fewer");
}

static enum cleave_status read_nodes(struct cv_trace_lines *lines)
{
    struct cv_place place;
    uint64_t nodes;

    cv_json_in_skip(&lines->in);
    place = cv_json_in_place(&lines->in, lines->in.at);
    place.field = "nodes";
    CV_TRY(cv_json_in_count(&lines->in, &nodes, lines->err));
    if (nodes < 1 || nodes > UINT32_MAX)
        return cv_fail_at(lines->err, &place, "expected from 1 to %lu nodes, got %llu",
                          (unsigned long)UINT32_MAX, (unsigned long long)nodes);
    lines->nworkers = (uint32_t)nodes;
    return CLEAVE_OK;
}

static enum cleave_status read_header_value(struct cv_trace_lines *lines,
                                            const char *name)
{
    const char *policy;
    double load;

    if (strcmp(name, "format") == 0)
        return expect_text(lines, name, CV_TRACE_FORMAT);
    if (strcmp(name, "policy") == 0)
        return cv_json_in_text(&lines->in, &policy, lines->err);
    if (strcmp(name, "load") == 0)
        return cv_json_in_number(&lines->in, &load, lines->err);
    if (strcmp(name, "port") == 0)
        return expect_text(lines, name,
                           cleave_port_name(cleave_platform_port(lines->platform)));
    if (strcmp(name, "workers") == 0)
        return read_workers(lines);
    if (strcmp(name, "task") == 0)
        return expect_text(lines, name, "reduce");
    return read_nodes(lines);
}

static enum cleave_status read_header(struct cv_trace_lines *lines)
{
    const bool load = lines->platform != NULL;
    const char *const *names = load ? load_header : reduce_header;
    const size_t count = load ? sizeof load_header / sizeof *load_header
                              : sizeof reduce_header / sizeof *reduce_header;
    bool first = true, more;
    const char *key;

    CV_TRY(cv_json_in_open(&lines->in, '{', lines->err));
    for (size_t i = 0; i < count; i++) {
        struct cv_place place;
        const char *at;

        CV_TRY(cv_json_in_more(&lines->in, '}', &first, &more, lines->err));
        cv_json_in_skip(&lines->in);
        at = lines->in.at;
        if (more) {
            CV_TRY(cv_json_in_key(&lines->in, &key, lines->err));
            more = strcmp(key, names[i]) == 0;
        }
        if (!more) {
            place = cv_json_in_place(&lines->in, at);
            return cv_fail_at(lines->err, &place, "expected the field '%s' of a trace%s",
                              names[i], load || i < 2 ? "" : " of a reduction");
        }
        CV_TRY(read_header_value(lines, names[i]));
    }
    CV_TRY(cv_json_in_more(&lines->in, '}', &first, &more, lines->err));
    if (more) {
        struct cv_place place = cv_json_in_place(&lines->in, lines->in.at);

        return cv_fail_at(lines->err, &place, "expected the end of the header");
    }
    return cv_json_in_end(&lines->in, lines->err);
}

static enum cleave_status read_entry(struct cv_trace_lines *lines,
                                     struct cleave_trace *trace)
{
    struct cleave_entry entry;

    CV_TRY(cv_trace_entry(lines, &entry));
    return cleave_trace_add(trace, &entry, lines->err);
}

static enum cleave_status read_lines(struct cv_trace_lines *lines, FILE *file,
                                     struct cleave_trace *trace)
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
        status = count++ == 0 ? read_header(lines) : read_entry(lines, trace);
    }
    free(line);
    if (status != CLEAVE_OK)
        return status;
    if (ferror(file))
        return cv_fail_at(lines->err, &place, "cannot read: %s", strerror(errno));
    if (!feof(file))
        return cv_fail_memory(lines->err, "a line of a trace");
    if (count == 0)
        return cv_fail_at(lines->err, &place, "expected a trace, got an empty file");
    return CLEAVE_OK;
}

static enum cleave_status read_trace(struct cv_trace_lines *lines, FILE *file,
                                     const char *name, struct cleave_trace **out)
{
    struct cleave_trace *trace = NULL;
    enum cleave_status status;

    cv_json_in_init(&lines->in, name);
    status = cleave_trace_new(&trace, lines->err);
    if (status == CLEAVE_OK)
        status = read_lines(lines, file, trace);
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
    enum cleave_status status;

    if (names == NULL)
        return cv_fail_memory(err, "the names of workers");
    for (uint32_t i = 0; i < count; i++)
        names[i] = (struct cv_trace_name){ cleave_platform_worker_name(platform, i), i };
    qsort(names, count, sizeof *names, cv_trace_name_compare);
    lines.names = names;
    status = read_trace(&lines, file, name, out);
    free(names);
    return status;
}

enum cleave_status cv_trace_read_reduce(FILE *file, const char *name, uint32_t *out_nodes,
                                        struct cleave_trace **out,
                                        struct cleave_error *err)
{
    struct cv_trace_lines lines = { .err = err };

    CV_TRY(read_trace(&lines, file, name, out));
    *out_nodes = lines.nworkers;
    return CLEAVE_OK;
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
