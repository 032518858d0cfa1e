/* trace_file.c -- traces as JSON lines: a header, then one entry per line.
 * SPDX-License-Identifier: MIT */
#include "io/trace_file.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/argument.h"
#include "base/fail.h"
#include "base/text.h"
#include "io/input.h"
#include "io/json_out.h"

/* --- lines of a trace: one event or order each ------------------------------------- */

/* A line is an object of fields in any order; it is written in the order of enum field. One
 * table has the fields of each kind of entry, for reading, writing and checking. */

enum field {
    EVENT,
    ORDER,
    WORKER,
    PEER,
    CHUNK,
    ITEM,
    UNITS,
    START,
    END,
    TIME,
    READ,
    FOLD,
    OUTPUT,
    CPU,
    MORE,
    LEFT,
    NFIELDS
};

enum type { KIND, NODE, COUNT, NUMBER, FLAG, NTYPES };

/* A value that was read. */
union value {
    uint32_t node;
    uint64_t count;
    double number;
    bool flag;
};

static const size_t sizes[NTYPES] = { [NODE] = sizeof(uint32_t),
                                      [COUNT] = sizeof(uint64_t),
                                      [NUMBER] = sizeof(double),
                                      [FLAG] = sizeof(bool) };

#define IN_EVENT(member) offsetof(struct cleave_entry, as.event.member)
#define IN_ORDER(member) offsetof(struct cleave_entry, as.order.member)

static const struct {
    const char *name;
    enum type type;
    size_t event, order; /* offsets into struct cleave_entry; 0: none */
} fields[NFIELDS] = {
    [EVENT] = { "event", KIND, 0, 0 },
    [ORDER] = { "order", KIND, 0, 0 },
    [WORKER] = { "worker", NODE, IN_EVENT(worker), IN_ORDER(worker) },
    [PEER] = { "peer", NODE, IN_EVENT(peer), IN_ORDER(peer) },
    [CHUNK] = { "chunk", COUNT, IN_EVENT(chunk), IN_ORDER(chunk) },
    [ITEM] = { "item", COUNT, 0, IN_ORDER(item) },
    [UNITS] = { "units", NUMBER, IN_EVENT(units), IN_ORDER(units) },
    [START] = { "start", NUMBER, IN_EVENT(start_s), 0 },
    [END] = { "end", NUMBER, IN_EVENT(time_s), 0 },
    [TIME] = { "time", NUMBER, 0, IN_ORDER(time_s) },
    [READ] = { "read", NUMBER, IN_EVENT(read_s), 0 },
    [FOLD] = { "fold", NUMBER, IN_EVENT(fold_s), 0 },
    [OUTPUT] = { "output", NUMBER, IN_EVENT(output), 0 },
    [CPU] = { "cpu", NUMBER, IN_EVENT(cpu_s), 0 },
    [MORE] = { "more", FLAG, IN_EVENT(more), 0 },
    [LEFT] = { "left", NUMBER, offsetof(struct cleave_entry, units_left), 0 },
};

#define BIT(field) (1u << (field))

enum {
    SPAN = BIT(EVENT) | BIT(START) | BIT(END),
    CHUNK_SPAN = SPAN | BIT(WORKER) | BIT(CHUNK) | BIT(UNITS),
    PAIR_SPAN = SPAN | BIT(WORKER) | BIT(PEER),
    TO = BIT(ORDER) | BIT(WORKER),
    ALSO = BIT(MORE) | BIT(LEFT),
};
#define LOAD CLEAVE_TASK_LOAD
#define REDUCE CLEAVE_TASK_REDUCE

struct kind {
    const char *name;
    enum cleave_task task;
    bool is_order;
    int kind; /* enum cleave_event_kind or cleave_order_kind */
    unsigned needs, allows;
};

/* clang-format off */
static const struct kind kinds[] = {
    { "start",    LOAD,   false, CLEAVE_START,    SPAN,                            ALSO },
    { "sent",     LOAD,   false, CLEAVE_SENT,     CHUNK_SPAN,                      ALSO },
    { "done",     LOAD,   false, CLEAVE_DONE,     CHUNK_SPAN,    ALSO | BIT(READ) | BIT(FOLD) },
    { "returned", LOAD,   false, CLEAVE_RETURNED, CHUNK_SPAN,                      ALSO },
    { "recalled", LOAD,   false, CLEAVE_RECALLED, CHUNK_SPAN,                      ALSO },
    { "lost",     LOAD,   false, CLEAVE_LOST,     CHUNK_SPAN,                      ALSO },
    { "dropped",  LOAD,   false, CLEAVE_DROPPED,  CHUNK_SPAN,                      ALSO },
    { "started",  LOAD,   false, CLEAVE_STARTED,  CHUNK_SPAN,                      ALSO },
    { "drained",  LOAD,   false, CLEAVE_DRAINED,  CHUNK_SPAN,             ALSO | BIT(OUTPUT) },
    { "extended", LOAD,   false, CLEAVE_EXTENDED, CHUNK_SPAN,                      ALSO },
    { "progress", LOAD,   false, CLEAVE_PROGRESS, CHUNK_SPAN,    ALSO | BIT(OUTPUT) | BIT(CPU) },
    { "seen",     LOAD,   false, CLEAVE_PROGRESS, CHUNK_SPAN, /* name up to 0.2 */
                                                                 ALSO | BIT(OUTPUT) | BIT(CPU) },
    { "folded",   LOAD,   false, CLEAVE_FOLDED,   SPAN | BIT(WORKER) | BIT(UNITS), 0 },
    { "ended",    LOAD,   false, CLEAVE_ENDED,    SPAN | BIT(UNITS),               ALSO },
    { "wake",     LOAD,   false, CLEAVE_WAKE,     SPAN,                            ALSO | BIT(WORKER) },
    { "came",     LOAD,   false, CLEAVE_CAME,     SPAN | BIT(WORKER),              ALSO },
    { "send",     LOAD,   true,  CLEAVE_SEND,     TO | BIT(UNITS),                 BIT(ITEM) },
    { "recall",   LOAD,   true,  CLEAVE_RECALL,   TO | BIT(UNITS),                 0 },
    { "open",     LOAD,   true,  CLEAVE_OPEN,     TO | BIT(UNITS),                 0 },
    { "extend",   LOAD,   true,  CLEAVE_EXTEND,   TO | BIT(UNITS),                 0 },
    { "close",    LOAD,   true,  CLEAVE_CLOSE,    TO,                              0 },
    { "query",    LOAD,   true,  CLEAVE_QUERY,    TO,                              0 },
    { "look",     LOAD,   true,  CLEAVE_QUERY,    TO, /* name up to 0.2 */     0 },
    { "copy",     LOAD,   true,  CLEAVE_COPY,     TO | BIT(PEER),                  0 },
    { "return",   LOAD,   true,  CLEAVE_RETURN,   TO | BIT(CHUNK),                 0 },
    { "wake",     LOAD,   true,  CLEAVE_WAKE_AT,  BIT(ORDER) | BIT(TIME),          BIT(WORKER) },
    { "start",    REDUCE, false, CLEAVE_START,    SPAN,                            BIT(MORE) },
    { "ready",    REDUCE, false, CLEAVE_READY,    SPAN | BIT(WORKER),              BIT(MORE) },
    { "arrived",  REDUCE, false, CLEAVE_ARRIVED,  PAIR_SPAN,                       BIT(MORE) },
    { "combined", REDUCE, false, CLEAVE_COMBINED, PAIR_SPAN,                       BIT(MORE) },
    { "wake",     REDUCE, false, CLEAVE_WAKE,     SPAN | BIT(WORKER),              BIT(MORE) },
    { "combine",  REDUCE, true,  CLEAVE_COMBINE,  TO | BIT(PEER),                  0 },
    { "wake",     REDUCE, true,  CLEAVE_WAKE_AT,  TO | BIT(TIME),                  0 },
};
/* clang-format on */
enum { NKINDS = sizeof kinds / sizeof *kinds };

/* One line; values that were not seen are 0. */
struct record {
    unsigned seen;
    const struct kind *kind;
    union value values[NFIELDS];
};

static const char *const known_kinds[2][2] = {
    [LOAD] = { "expected start, sent, done, returned, recalled, lost, "
               "dropped, started, drained, extended, progress, ended, came or wake",
               "expected send, open, extend, close, query, copy, recall, return or "
               "wake" },
    [REDUCE] = { "expected start, arrived, combined or wake",
                 "expected combine or wake" },
};

static const struct kind *find_kind(enum cleave_task task, bool is_order, int kind)
{
    for (size_t i = 0; i < NKINDS; i++)
        if (kinds[i].task == task && kinds[i].is_order == is_order &&
            kinds[i].kind == kind)
            return &kinds[i];
    return NULL;
}

/* The kind of an order of any task. */
static const struct kind *find_order(enum cleave_order_kind order)
{
    static const struct kind unknown = { .name = "unknown", .is_order = true };
    const struct kind *kind = find_kind(LOAD, true, (int)order);

    kind = kind != NULL ? kind : find_kind(REDUCE, true, (int)order);
    return kind != NULL ? kind : &unknown;
}

const char *cv_trace_order_name(enum cleave_order_kind kind)
{
    return find_order(kind)->name;
}

static const char *field_name(const void *context, size_t index)
{
    (void)context;
    return fields[index].name;
}

static enum cleave_status read_kind(struct cv_trace_lines *lines, bool is_order,
                                    struct record *record)
{
    const char *at = cv_json_in_skip(&lines->in), *text;

    CV_TRY(cv_json_in_text(&lines->in, &text));
    if (record->kind != NULL)
        return cv_json_in_fail(&lines->in, at, NULL,
                               "expected either an event or an order");
    for (size_t i = 0; i < NKINDS; i++)
        if (kinds[i].task == lines->task && kinds[i].is_order == is_order &&
            strcmp(kinds[i].name, text) == 0) {
            record->kind = &kinds[i];
            return CLEAVE_OK;
        }
    return cv_json_in_fail_got(&lines->in, at, fields[is_order ? ORDER : EVENT].name,
                               known_kinds[lines->task][is_order], text);
}

static enum cleave_status read_value(struct cv_trace_lines *lines, enum field field,
                                     struct record *record)
{
    union value *value = &record->values[field];

    switch (fields[field].type) {
    case KIND:
        return read_kind(lines, field == ORDER, record);
    case NODE:
        return cv_trace_worker(lines, fields[field].name, &value->node);
    case COUNT:
        return cv_json_in_count(&lines->in, &value->count);
    case NUMBER:
        return cv_json_in_positive(&lines->in, fields[field].name, &value->number);
    default:
        return cv_json_in_bool(&lines->in, &value->flag);
    }
}

static enum cleave_status read_field(struct cv_trace_lines *lines, struct record *record)
{
    const char *at = cv_json_in_skip(&lines->in), *key;
    char shown[64], near[200];
    enum field field = EVENT;

    CV_TRY(cv_json_in_key(&lines->in, &key));
    while (field < NFIELDS && strcmp(fields[field].name, key) != 0)
        field++;
    if (field == NFIELDS) {
        cv_suggest(key, NFIELDS, field_name, NULL, near, sizeof near);
        return cv_json_in_fail(&lines->in, at, NULL, "unknown field '%s'%s",
                               cv_shown(key, strlen(key), shown, sizeof shown), near);
    }
    if ((record->seen & BIT(field)) != 0)
        return cv_json_in_fail(&lines->in, at, NULL, "duplicate field '%s'", key);
    record->seen |= BIT(field);
    return read_value(lines, field, record);
}

/* Whether the record has the fields of its kind and no others. */
static enum cleave_status check_record(struct cv_trace_lines *lines,
                                       const struct record *record)
{
    const char *at = lines->in.begin;
    const struct kind *kind = record->kind;

    if (kind == NULL)
        return cv_json_in_fail(&lines->in, at, NULL, "expected an event or an order");
    for (enum field field = EVENT; field < NFIELDS; field++) {
        if ((kind->needs & ~record->seen & BIT(field)) != 0)
            return cv_json_in_fail(&lines->in, at, NULL, "required field '%s' is missing",
                                   fields[field].name);
        if ((record->seen & ~(kind->needs | kind->allows) & BIT(field)) != 0)
            return cv_json_in_fail(&lines->in, at, NULL, "%s '%s' has no field '%s'",
                                   kind->is_order ? "order" : "event", kind->name,
                                   fields[field].name);
    }
    if (record->values[START].number > record->values[END].number)
        return cv_json_in_fail(&lines->in, at, NULL, "expected an end after the start");
    if ((kind->needs & BIT(PEER)) != 0 &&
        record->values[WORKER].node == record->values[PEER].node)
        return cv_json_in_fail(&lines->in, at, NULL,
                               "expected a worker and another as its peer");
    return CLEAVE_OK;
}

/* The offset of a field into an entry. */
static size_t place_of(const struct cleave_entry *entry, enum field field)
{
    return entry->is_order ? fields[field].order : fields[field].event;
}

/* Read an entry from the line of lines->in. */
static enum cleave_status trace_entry_read(struct cv_trace_lines *lines,
                                           struct cleave_entry *out)
{
    struct record record = { 0 };
    bool first = true, more;

    CV_TRY(cv_json_in_open(&lines->in, '{'));
    for (;;) {
        CV_TRY(cv_json_in_more(&lines->in, '}', &first, &more));
        if (!more)
            break;
        CV_TRY(read_field(lines, &record));
    }
    CV_TRY(cv_json_in_end(&lines->in));
    CV_TRY(check_record(lines, &record));
    assert(record.kind != NULL); /* by check_record */
    memset(out, 0, sizeof *out);
    out->is_order = record.kind->is_order;
    out->knows_left = (record.seen & BIT(LEFT)) != 0;
    if (out->is_order)
        out->as.order.kind = (enum cleave_order_kind)record.kind->kind;
    else
        out->as.event.kind = (enum cleave_event_kind)record.kind->kind;
    for (enum field field = WORKER; field < NFIELDS; field++)
        if ((record.seen & BIT(field)) != 0)
            memcpy((char *)out + place_of(out, field), &record.values[field],
                   sizes[fields[field].type]);
    return CLEAVE_OK;
}

/* NULL: the task has no such events. */
static const struct kind *kind_of(const struct cleave_entry *entry, enum cleave_task task)
{
    return entry->is_order ? find_order(entry->as.order.kind)
                           : find_kind(task, false, (int)entry->as.event.kind);
}

/* Fields that an entry of any kind shows if its kind has them. */
static unsigned shown_fields(const struct cleave_entry *entry, bool items)
{
    const struct cleave_event *event = &entry->as.event;

    if (entry->is_order)
        return items ? ~0u : ~BIT(ITEM);
    return ~(BIT(READ) | BIT(FOLD) | BIT(MORE) | BIT(LEFT)) |
           (event->read_s > 0 ? BIT(READ) : 0) | (event->fold_s > 0 ? BIT(FOLD) : 0) |
           (event->more ? BIT(MORE) : 0) | (entry->knows_left ? BIT(LEFT) : 0);
}

/* Write the fields that an entry has, from `first`. */
static void write_fields(struct cv_json *json, const struct cleave_entry *entry,
                         const struct kind *kind, bool items, enum field first,
                         const struct cleave_platform *platform)
{
    const unsigned wanted = (kind->needs | kind->allows) & shown_fields(entry, items);

    for (enum field field = first; field < NFIELDS; field++) {
        const void *value = (const char *)entry + place_of(entry, field);

        if ((wanted & BIT(field)) == 0)
            continue;
        cv_json_key(json, fields[field].name);
        if (fields[field].type == KIND)
            cv_json_text(json, kind->name);
        else if (fields[field].type == NODE && platform != NULL)
            cv_json_text(json,
                         cleave_platform_worker_name(platform, *(const uint32_t *)value));
        else if (fields[field].type == NODE)
            cv_json_count(json, *(const uint32_t *)value);
        else if (fields[field].type == COUNT)
            cv_json_count(json, *(const uint64_t *)value);
        else if (fields[field].type == NUMBER)
            cv_json_number(json, *(const double *)value);
        else
            cv_json_bool(json, *(const bool *)value);
    }
}

void cv_trace_order_fields(struct cv_json *json, const struct cleave_order *order,
                           bool items)
{
    const struct cleave_entry entry = { .is_order = true, .as.order = *order };

    write_fields(json, &entry, find_order(order->kind), items, WORKER + 1, NULL);
}

static void trace_entry_write(struct cv_json *json, const struct cleave_entry *entry,
                              const struct cv_trace_workers *workers)
{
    const enum cleave_task task = workers->platform != NULL ? LOAD : REDUCE;

    cv_json_object(json);
    write_fields(json, entry, kind_of(entry, task), workers->items, EVENT,
                 workers->platform);
    cv_json_end(json);
    cv_json_close(json);
}

static bool is_good(double value)
{
    return isfinite(value) && value >= 0;
}

/* The fault of an entry of a kind that the task has, or NULL. */
static const char *find_fault(const struct cleave_entry *entry, const struct kind *kind,
                              const struct cv_trace_workers *workers)
{
    const struct cleave_order *order = &entry->as.order;
    const struct cleave_event *event = &entry->as.event;
    const uint32_t worker = entry->is_order ? order->worker : event->worker;
    const uint32_t peer = entry->is_order ? order->peer : event->peer;
    const unsigned has = kind->needs | kind->allows;

    if (((has & BIT(WORKER)) != 0 && worker >= workers->count) ||
        ((has & BIT(PEER)) != 0 && peer >= workers->count))
        return workers->platform != NULL ? "a worker that the platform does not have"
                                         : "a node that the reduction does not have";
    if ((has & BIT(PEER)) != 0 && worker == peer)
        return "a node that sends to itself";
    return (has & BIT(UNITS)) == 0 ||
                   is_good(entry->is_order ? order->units : event->units)
               ? NULL
               : "units below 0 or not finite";
}

static const char *entry_fault(const struct cleave_entry *entry,
                               const struct cv_trace_workers *workers)
{
    static const struct cleave_event none;
    const enum cleave_task task = workers->platform != NULL ? LOAD : REDUCE;
    const struct kind *kind = kind_of(entry, task);
    const struct cleave_event *event = entry->is_order ? &none : &entry->as.event;

    if (!is_good(event->start_s) || !is_good(event->time_s) ||
        (entry->is_order && (kind->needs & BIT(TIME)) != 0 &&
         !is_good(entry->as.order.time_s)))
        return "a time below 0 or not finite";
    if (event->start_s > event->time_s)
        return "an end before its start";
    if (!entry->is_order && entry->knows_left &&
        (task == REDUCE || !is_good(entry->units_left)))
        return "units left below 0, not finite or of a reduction";
    if (!is_good(event->read_s) || !is_good(event->output) || !is_good(event->cpu_s) ||
        !is_good(event->fold_s))
        return "a figure of reading below 0 or not finite";
    if (kind != NULL && find_kind(task, entry->is_order, kind->kind) != NULL)
        return find_fault(entry, kind, workers);
    if (task == REDUCE)
        return "a chunk, which a reduction does not have";
    return !entry->is_order && entry->as.event.kind == CLEAVE_READY
               ? "a partial in a trace of a load"
               : "a combination, which a load does not have";
}

enum cleave_status cv_trace_check(const struct cleave_trace *trace,
                                  const struct cv_trace_workers *workers,
                                  struct cleave_error *err)
{
    for (size_t i = 0; i < cleave_trace_count(trace); i++) {
        const char *fault = entry_fault(cleave_trace_at(trace, i), workers);

        if (fault != NULL)
            return cv_fail(err, CLEAVE_EINPUT, "entry %zu of the trace has %s", i, fault);
    }
    return CLEAVE_OK;
}

/* --- traces as JSON lines: a header, then one entry per line ----------------------- */

static enum cleave_status read_entry(struct cv_trace_lines *lines,
                                     struct cleave_trace *trace)
{
    struct cleave_entry entry;

    CV_TRY(trace_entry_read(lines, &entry));
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
    CV_THEN(status, read_lines(&lines, file, out->trace, &out->header));
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
    enum cleave_status status;

    CV_EXPECT_POINTER(path, err, "path");
    CV_EXPECT_POINTER(out, err, "out");
    CV_EXPECT_POINTER(out_nodes, err, "out_nodes");
    status = cv_trace_file_load(path, wanted, &file, err);
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

    CV_EXPECT_POINTER(platform, err, "platform");
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
        trace_entry_write(&json, cleave_trace_at(trace, i), workers);
    if (fflush(file) != 0 || json.failed)
        return cv_fail(err, CLEAVE_EINPUT, "cannot write: %s",
                       strerror(errno != 0 ? errno : EIO));
    return CLEAVE_OK;
}

/* Chunks are items, or of several loads. */
static bool has_items(const struct cleave_trace *trace)
{
    const struct cleave_policy_input *told = cleave_trace_facts(trace)->told;
    bool any = told != NULL && told->view.nitems > 0;

    for (size_t i = 0; i < cleave_trace_count(trace) && !any; i++)
        any = cleave_trace_at(trace, i)->is_order &&
              cleave_trace_at(trace, i)->as.order.item > 0;
    return any;
}

enum cleave_status cleave_trace_save(const struct cleave_trace *trace,
                                     const struct cleave_platform *platform,
                                     const char *policy, double load, FILE *file,
                                     struct cleave_error *err)
{
    struct cv_trace_workers workers = { .platform = platform };

    CV_EXPECT_POINTER(trace, err, "trace");
    CV_EXPECT_POINTER(platform, err, "platform");
    CV_EXPECT_POINTER(policy, err, "policy");
    CV_EXPECT_POINTER(file, err, "file");
    workers.count = cleave_platform_nworkers(platform);
    workers.items = has_items(trace);
    if (!isfinite(load))
        return cv_fail(err, CLEAVE_EINPUT, "expected a finite load");
    return save(trace, &workers, policy, load, file, err);
}

enum cleave_status cleave_trace_save_reduce(const struct cleave_trace *trace,
                                            uint32_t nodes, const char *policy,
                                            FILE *file, struct cleave_error *err)
{
    const struct cv_trace_workers workers = { .count = nodes };

    CV_EXPECT_POINTER(trace, err, "trace");
    CV_EXPECT_POINTER(policy, err, "policy");
    CV_EXPECT_POINTER(file, err, "file");
    if (nodes == 0)
        return cv_fail(err, CLEAVE_EINPUT, "expected 1 or more nodes, got 0");
    return save(trace, &workers, policy, 0, file, err);
}
