/* trace_reader.c -- read a trace from JSON lines. SPDX-License-Identifier: MIT
 *
 * A line is read into a record of all fields there are, whatever their order; which of
 * them an entry must have and may have depends on its kind and is said in one table. */
#include "io/trace_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "io/input.h"
#include "io/json_in.h"

enum field { EVENT, ORDER, WORKER, CHUNK, UNITS, START, END, TIME, MORE, NFIELDS };

static const char *const field_names[] = {
    [EVENT] = "event", [ORDER] = "order", [WORKER] = "worker",
    [CHUNK] = "chunk", [UNITS] = "units", [START] = "start",
    [END] = "end",     [TIME] = "time",   [MORE] = "more",
};

#define BIT(field) (1u << (field))

struct kind {
    const char *name;
    bool is_order;
    int kind; /* enum cleave_event_kind or cleave_order_kind */
    unsigned needs, allows;
};

static const struct kind kinds[] = {
    { "start", false, CLEAVE_START, BIT(EVENT) | BIT(START) | BIT(END), BIT(MORE) },
    { "sent", false, CLEAVE_SENT,
      BIT(EVENT) | BIT(WORKER) | BIT(CHUNK) | BIT(UNITS) | BIT(START) | BIT(END),
      BIT(MORE) },
    { "done", false, CLEAVE_DONE,
      BIT(EVENT) | BIT(WORKER) | BIT(CHUNK) | BIT(UNITS) | BIT(START) | BIT(END),
      BIT(MORE) },
    { "wake", false, CLEAVE_WAKE, BIT(EVENT) | BIT(START) | BIT(END), BIT(MORE) },
    { "send", true, CLEAVE_SEND, BIT(ORDER) | BIT(WORKER) | BIT(UNITS), 0 },
    { "wake", true, CLEAVE_WAKE_AT, BIT(ORDER) | BIT(TIME), 0 },
};
enum { NKINDS = sizeof kinds / sizeof *kinds };

struct named {
    const char *name;
    uint32_t worker;
};

struct trace_reader {
    struct cv_json_in in;
    const struct cleave_platform *platform;
    struct named *names; /* owned, sorted */
    struct cleave_trace *trace;
    struct cleave_error *err;
};

/* One line; what was not seen is 0. */
struct record {
    unsigned seen;
    const struct kind *kind;
    uint32_t worker;
    uint64_t chunk;
    double units, start_s, end_s, time_s;
    bool more;
};

static const char *field_name(const void *context, size_t index)
{
    (void)context;
    return field_names[index];
}

static int compare_names(const void *left, const void *right)
{
    const struct named *a = left, *b = right;

    return strcmp(a->name, b->name);
}

static enum cleave_status sort_names(struct trace_reader *reader)
{
    uint32_t count = cleave_platform_nworkers(reader->platform);

    reader->names = calloc(count, sizeof *reader->names);
    if (reader->names == NULL)
        return cv_fail_memory(reader->err, "the names of workers");
    for (uint32_t i = 0; i < count; i++)
        reader->names[i] =
            (struct named){ cleave_platform_worker_name(reader->platform, i), i };
    qsort(reader->names, count, sizeof *reader->names, compare_names);
    return CLEAVE_OK;
}

/* Fail about the value that begins at `at`. */
static enum cleave_status fail_text(struct trace_reader *reader, const char *at,
                                    const char *field, const char *expected,
                                    const char *got)
{
    struct cv_place place = cv_json_in_place(&reader->in, at);
    char shown[64];

    place.field = field;
    return cv_fail_at(reader->err, &place, "%s, got '%s'", expected,
                      cv_shown(got, strlen(got), shown, sizeof shown));
}

/* --- The header --------------------------------------------------------------------- */

/* A string that must be `wanted`. */
static enum cleave_status expect_text(struct trace_reader *reader, const char *field,
                                      const char *wanted)
{
    char expected[160];
    const char *at, *text;

    cv_json_in_skip(&reader->in);
    at = reader->in.at;
    CV_TRY(cv_json_in_text(&reader->in, &text, reader->err));
    if (strcmp(text, wanted) == 0)
        return CLEAVE_OK;
    snprintf(expected, sizeof expected, "expected '%s'", wanted);
    return fail_text(reader, at, field, expected, text);
}

/* The names of the workers, which must be those of the platform. */
static enum cleave_status read_workers(struct trace_reader *reader)
{
    uint32_t count = cleave_platform_nworkers(reader->platform), n = 0;
    struct cv_place place;
    bool first = true, more;

    CV_TRY(cv_json_in_open(&reader->in, '[', reader->err));
    for (;; n++) {
        CV_TRY(cv_json_in_more(&reader->in, ']', &first, &more, reader->err));
        if (!more || n == count)
            break;
        CV_TRY(expect_text(reader, "workers",
                           cleave_platform_worker_name(reader->platform, n)));
    }
    if (!more && n == count)
        return CLEAVE_OK;
    place = cv_json_in_place(&reader->in, reader->in.at);
    place.field = "workers";
    return cv_fail_at(reader->err, &place,
                      "expected the %lu workers of the platform, got %s",
                      (unsigned long)count, more ? "more" : "fewer");
}

static enum cleave_status read_header(struct trace_reader *reader)
{
    static const char *const names[] = { "format", "policy", "load", "port", "workers" };
    enum { NAMES = sizeof names / sizeof *names };
    const char *key;
    bool first = true, more;
    double load;

    CV_TRY(cv_json_in_open(&reader->in, '{', reader->err));
    /* The fields come in this order, so that a file that is no trace is known at once. */
    for (size_t i = 0; i < NAMES; i++) {
        struct cv_place place;
        const char *at;

        CV_TRY(cv_json_in_more(&reader->in, '}', &first, &more, reader->err));
        cv_json_in_skip(&reader->in);
        at = reader->in.at;
        if (more) {
            CV_TRY(cv_json_in_key(&reader->in, &key, reader->err));
            more = strcmp(key, names[i]) == 0;
        }
        if (!more) {
            place = cv_json_in_place(&reader->in, at);
            return cv_fail_at(reader->err, &place, "expected the field '%s' of a trace",
                              names[i]);
        }
        if (i == 0)
            CV_TRY(expect_text(reader, names[i], CV_TRACE_FORMAT));
        else if (i == 1)
            CV_TRY(cv_json_in_text(&reader->in, &key, reader->err));
        else if (i == 2)
            CV_TRY(cv_json_in_number(&reader->in, &load, reader->err));
        else if (i == 3)
            CV_TRY(expect_text(reader, names[i],
                               cleave_port_name(cleave_platform_port(reader->platform))));
        else
            CV_TRY(read_workers(reader));
    }
    CV_TRY(cv_json_in_more(&reader->in, '}', &first, &more, reader->err));
    if (more) {
        struct cv_place place = cv_json_in_place(&reader->in, reader->in.at);

        return cv_fail_at(reader->err, &place, "expected the end of the header");
    }
    return cv_json_in_end(&reader->in, reader->err);
}

/* --- Entries ------------------------------------------------------------------------ */

static enum cleave_status read_kind(struct trace_reader *reader, bool is_order,
                                    struct record *record)
{
    const char *at, *text;

    cv_json_in_skip(&reader->in);
    at = reader->in.at;
    CV_TRY(cv_json_in_text(&reader->in, &text, reader->err));
    if (record->kind != NULL) {
        struct cv_place place = cv_json_in_place(&reader->in, at);

        return cv_fail_at(reader->err, &place, "expected either an event or an order");
    }
    for (size_t i = 0; i < NKINDS; i++)
        if (kinds[i].is_order == is_order && strcmp(kinds[i].name, text) == 0) {
            record->kind = &kinds[i];
            return CLEAVE_OK;
        }
    return fail_text(reader, at, field_names[is_order ? ORDER : EVENT],
                     is_order ? "expected send or wake"
                              : "expected start, sent, done or wake",
                     text);
}

static enum cleave_status read_worker(struct trace_reader *reader, uint32_t *out)
{
    const struct named *found;
    const char *at, *text;

    cv_json_in_skip(&reader->in);
    at = reader->in.at;
    CV_TRY(cv_json_in_text(&reader->in, &text, reader->err));
    found = bsearch(&(struct named){ .name = text }, reader->names,
                    cleave_platform_nworkers(reader->platform), sizeof *reader->names,
                    compare_names);
    if (found == NULL)
        return fail_text(reader, at, "worker", "expected a worker of the platform", text);
    *out = found->worker;
    return CLEAVE_OK;
}

static enum cleave_status read_positive(struct trace_reader *reader, enum field field,
                                        double *out)
{
    struct cv_place place;
    const char *at;

    cv_json_in_skip(&reader->in);
    at = reader->in.at;
    CV_TRY(cv_json_in_number(&reader->in, out, reader->err));
    if (*out >= 0)
        return CLEAVE_OK;
    place = cv_json_in_place(&reader->in, at);
    place.field = field_names[field];
    return cv_fail_at(reader->err, &place, "expected a number of at least 0, got %.*s",
                      (int)(reader->in.at - at), at);
}

static enum cleave_status read_value(struct trace_reader *reader, enum field field,
                                     struct record *record)
{
    switch (field) {
    case EVENT:
        return read_kind(reader, false, record);
    case ORDER:
        return read_kind(reader, true, record);
    case WORKER:
        return read_worker(reader, &record->worker);
    case CHUNK:
        return cv_json_in_count(&reader->in, &record->chunk, reader->err);
    case UNITS:
        return read_positive(reader, field, &record->units);
    case START:
        return read_positive(reader, field, &record->start_s);
    case END:
        return read_positive(reader, field, &record->end_s);
    case TIME:
        return read_positive(reader, field, &record->time_s);
    default:
        return cv_json_in_bool(&reader->in, &record->more, reader->err);
    }
}

static enum cleave_status read_field(struct trace_reader *reader, struct record *record)
{
    struct cv_place place;
    const char *at, *key;
    enum field field = EVENT;

    cv_json_in_skip(&reader->in);
    at = reader->in.at;
    CV_TRY(cv_json_in_key(&reader->in, &key, reader->err));
    while (field < NFIELDS && strcmp(field_names[field], key) != 0)
        field++;
    if (field < NFIELDS && (record->seen & BIT(field)) == 0) {
        record->seen |= BIT(field);
        return read_value(reader, field, record);
    }
    place = cv_json_in_place(&reader->in, at);
    if (field < NFIELDS)
        return cv_fail_at(reader->err, &place, "duplicate field '%s'", key);
    else {
        char shown[64], near[200];

        cv_suggest(key, NFIELDS, field_name, NULL, near, sizeof near);
        return cv_fail_at(reader->err, &place, "unknown field '%s'%s",
                          cv_shown(key, strlen(key), shown, sizeof shown), near);
    }
}

/* Whether the record has the fields of its kind and no others. */
static enum cleave_status check_record(struct trace_reader *reader,
                                       const struct record *record)
{
    struct cv_place place = cv_json_in_place(&reader->in, reader->in.begin);
    const struct kind *kind = record->kind;

    if (kind == NULL)
        return cv_fail_at(reader->err, &place, "expected an event or an order");
    for (enum field field = EVENT; field < NFIELDS; field++) {
        if ((kind->needs & ~record->seen & BIT(field)) != 0)
            return cv_fail_at(reader->err, &place, "required field '%s' is missing",
                              field_names[field]);
        if ((record->seen & ~(kind->needs | kind->allows) & BIT(field)) != 0)
            return cv_fail_at(reader->err, &place, "%s '%s' has no field '%s'",
                              kind->is_order ? "order" : "event", kind->name,
                              field_names[field]);
    }
    if (record->start_s > record->end_s)
        return cv_fail_at(reader->err, &place, "expected an end after the start");
    return CLEAVE_OK;
}

static enum cleave_status read_entry(struct trace_reader *reader)
{
    struct record record = { 0 };
    struct cleave_entry entry;
    bool first = true, more;

    CV_TRY(cv_json_in_open(&reader->in, '{', reader->err));
    for (;;) {
        CV_TRY(cv_json_in_more(&reader->in, '}', &first, &more, reader->err));
        if (!more)
            break;
        CV_TRY(read_field(reader, &record));
    }
    CV_TRY(cv_json_in_end(&reader->in, reader->err));
    CV_TRY(check_record(reader, &record));
    memset(&entry, 0, sizeof entry);
    entry.is_order = record.kind->is_order;
    if (entry.is_order)
        entry.as.order =
            (struct cleave_order){ .kind = (enum cleave_order_kind)record.kind->kind,
                                   .worker = record.worker,
                                   .units = record.units,
                                   .time_s = record.time_s };
    else
        entry.as.event =
            (struct cleave_event){ .kind = (enum cleave_event_kind)record.kind->kind,
                                   .worker = record.worker,
                                   .chunk = record.chunk,
                                   .units = record.units,
                                   .start_s = record.start_s,
                                   .time_s = record.end_s,
                                   .more = record.more };
    return cleave_trace_add(reader->trace, &entry, reader->err);
}

static enum cleave_status read_lines(struct trace_reader *reader, FILE *file)
{
    enum cleave_status status = CLEAVE_OK;
    struct cv_place place = { .file = reader->in.file };
    size_t capacity = 0, lines = 0;
    char *line = NULL;
    ssize_t length;

    errno = 0;
    while (status == CLEAVE_OK && (length = getline(&line, &capacity, file)) >= 0) {
        if (length > 0 && line[length - 1] == '\n')
            length--;
        cv_json_in_line(&reader->in, line, (size_t)length);
        status = lines++ == 0 ? read_header(reader) : read_entry(reader);
    }
    free(line);
    if (status != CLEAVE_OK)
        return status;
    if (ferror(file))
        return cv_fail_at(reader->err, &place, "cannot read: %s", strerror(errno));
    if (!feof(file))
        return cv_fail_memory(reader->err, "a line of a trace");
    if (lines == 0)
        return cv_fail_at(reader->err, &place, "expected a trace, got an empty file");
    return CLEAVE_OK;
}

enum cleave_status cv_trace_read(FILE *file, const char *name,
                                 const struct cleave_platform *platform,
                                 struct cleave_trace **out, struct cleave_error *err)
{
    struct trace_reader reader = { .platform = platform, .err = err };
    enum cleave_status status;

    cv_json_in_init(&reader.in, name);
    status = sort_names(&reader);
    if (status == CLEAVE_OK)
        status = cleave_trace_new(&reader.trace, err);
    if (status == CLEAVE_OK)
        status = read_lines(&reader, file);
    free(reader.names);
    cv_json_in_done(&reader.in);
    if (status == CLEAVE_OK)
        *out = reader.trace;
    else
        cleave_trace_free(reader.trace);
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
