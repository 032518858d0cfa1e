/* trace_line.c -- one event or order from a line of a trace. SPDX-License-Identifier: MIT
 *
 * A line is read into a record of all fields there are, whatever their order; which of
 * them an entry must have and may have depends on its kind and is said in one table. */
#include "io/trace_line.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum field {
    EVENT,
    ORDER,
    WORKER,
    PEER,
    CHUNK,
    UNITS,
    START,
    END,
    TIME,
    MORE,
    LEFT,
    READ,
    OUTPUT,
    CPU,
    ITEM,
    FOLD,
    NFIELDS
};

static const char *const field_names[] = {
    [EVENT] = "event",   [ORDER] = "order", [WORKER] = "worker", [PEER] = "peer",
    [CHUNK] = "chunk",   [UNITS] = "units", [START] = "start",   [END] = "end",
    [TIME] = "time",     [MORE] = "more",   [LEFT] = "left",     [READ] = "read",
    [OUTPUT] = "output", [CPU] = "cpu",     [ITEM] = "item",     [FOLD] = "fold",
};

#define BIT(field) (1u << (field))

enum {
    SPAN = BIT(EVENT) | BIT(START) | BIT(END),
    CHUNK_SPAN = SPAN | BIT(WORKER) | BIT(CHUNK) | BIT(UNITS),
    PAIR_SPAN = SPAN | BIT(WORKER) | BIT(PEER),
    ALSO = BIT(MORE) | BIT(LEFT),
};

struct kind {
    const char *name;
    enum cleave_task task;
    bool is_order;
    int kind; /* enum cleave_event_kind or cleave_order_kind */
    unsigned needs, allows;
};

static const struct kind kinds[] = {
    { "start", CLEAVE_TASK_LOAD, false, CLEAVE_START, SPAN, ALSO },
    { "sent", CLEAVE_TASK_LOAD, false, CLEAVE_SENT, CHUNK_SPAN, ALSO },
    { "done", CLEAVE_TASK_LOAD, false, CLEAVE_DONE, CHUNK_SPAN,
      ALSO | BIT(READ) | BIT(FOLD) },
    { "returned", CLEAVE_TASK_LOAD, false, CLEAVE_RETURNED, CHUNK_SPAN, ALSO },
    { "recalled", CLEAVE_TASK_LOAD, false, CLEAVE_RECALLED, CHUNK_SPAN, ALSO },
    { "lost", CLEAVE_TASK_LOAD, false, CLEAVE_LOST, CHUNK_SPAN, ALSO },
    { "started", CLEAVE_TASK_LOAD, false, CLEAVE_STARTED, CHUNK_SPAN, ALSO },
    { "drained", CLEAVE_TASK_LOAD, false, CLEAVE_DRAINED, CHUNK_SPAN, ALSO },
    { "extended", CLEAVE_TASK_LOAD, false, CLEAVE_EXTENDED, CHUNK_SPAN, ALSO },
    { "progress", CLEAVE_TASK_LOAD, false, CLEAVE_PROGRESS, CHUNK_SPAN,
      ALSO | BIT(OUTPUT) | BIT(CPU) },
    { "seen", CLEAVE_TASK_LOAD, false, CLEAVE_PROGRESS, CHUNK_SPAN, /* up to 0.2 */
      ALSO | BIT(OUTPUT) | BIT(CPU) },
    { "folded", CLEAVE_TASK_LOAD, false, CLEAVE_FOLDED, SPAN | BIT(WORKER) | BIT(UNITS),
      0 },
    { "ended", CLEAVE_TASK_LOAD, false, CLEAVE_ENDED, SPAN | BIT(UNITS), ALSO },
    { "wake", CLEAVE_TASK_LOAD, false, CLEAVE_WAKE, SPAN, ALSO | BIT(WORKER) },
    { "came", CLEAVE_TASK_LOAD, false, CLEAVE_CAME, SPAN | BIT(WORKER), ALSO },
    { "send", CLEAVE_TASK_LOAD, true, CLEAVE_SEND, BIT(ORDER) | BIT(WORKER) | BIT(UNITS),
      BIT(ITEM) },
    { "recall", CLEAVE_TASK_LOAD, true, CLEAVE_RECALL,
      BIT(ORDER) | BIT(WORKER) | BIT(UNITS), 0 },
    { "open", CLEAVE_TASK_LOAD, true, CLEAVE_OPEN, BIT(ORDER) | BIT(WORKER) | BIT(UNITS),
      0 },
    { "extend", CLEAVE_TASK_LOAD, true, CLEAVE_EXTEND,
      BIT(ORDER) | BIT(WORKER) | BIT(UNITS), 0 },
    { "close", CLEAVE_TASK_LOAD, true, CLEAVE_CLOSE, BIT(ORDER) | BIT(WORKER), 0 },
    { "query", CLEAVE_TASK_LOAD, true, CLEAVE_QUERY, BIT(ORDER) | BIT(WORKER), 0 },
    { "look", CLEAVE_TASK_LOAD, true, CLEAVE_QUERY, BIT(ORDER) | BIT(WORKER),
      0 }, /* up to 0.2 */
    { "return", CLEAVE_TASK_LOAD, true, CLEAVE_RETURN,
      BIT(ORDER) | BIT(WORKER) | BIT(CHUNK), 0 },
    { "wake", CLEAVE_TASK_LOAD, true, CLEAVE_WAKE_AT, BIT(ORDER) | BIT(TIME),
      BIT(WORKER) },
    { "start", CLEAVE_TASK_REDUCE, false, CLEAVE_START, SPAN, BIT(MORE) },
    { "ready", CLEAVE_TASK_REDUCE, false, CLEAVE_READY, SPAN | BIT(WORKER), BIT(MORE) },
    { "arrived", CLEAVE_TASK_REDUCE, false, CLEAVE_ARRIVED, PAIR_SPAN, BIT(MORE) },
    { "combined", CLEAVE_TASK_REDUCE, false, CLEAVE_COMBINED, PAIR_SPAN, BIT(MORE) },
    { "wake", CLEAVE_TASK_REDUCE, false, CLEAVE_WAKE, SPAN | BIT(WORKER), BIT(MORE) },
    { "combine", CLEAVE_TASK_REDUCE, true, CLEAVE_COMBINE,
      BIT(ORDER) | BIT(WORKER) | BIT(PEER), 0 },
    { "wake", CLEAVE_TASK_REDUCE, true, CLEAVE_WAKE_AT,
      BIT(ORDER) | BIT(WORKER) | BIT(TIME), 0 },
};
enum { NKINDS = sizeof kinds / sizeof *kinds };

static const char *const known_kinds[2][2] = {
    [CLEAVE_TASK_LOAD] = { "expected start, sent, done, returned, recalled, lost, "
                           "started, drained, extended, progress, ended, came or wake",
                           "expected send, open, extend, close, query, recall, return or "
                           "wake" },
    [CLEAVE_TASK_REDUCE] = { "expected start, arrived, combined or wake",
                             "expected combine or wake" },
};

/* One line; what was not seen is 0. */
struct record {
    unsigned seen;
    const struct kind *kind;
    uint32_t worker, peer;
    uint64_t chunk, item;
    double units, start_s, end_s, time_s, left, read_s, output, cpu_s, fold_s;
    bool more;
};

static const char *field_name(const void *context, size_t index)
{
    (void)context;
    return field_names[index];
}

const char *cv_trace_order_name(enum cleave_order_kind kind)
{
    for (size_t i = 0; i < NKINDS; i++)
        if (kinds[i].is_order && kinds[i].kind == (int)kind)
            return kinds[i].name;
    return "unknown";
}

int cv_trace_name_compare(const void *left, const void *right)
{
    const struct cv_trace_name *a = left, *b = right;

    return strcmp(a->name, b->name);
}

enum cleave_status cv_trace_fail(struct cv_trace_lines *lines, const char *at,
                                 const char *field, const char *expected, const char *got)
{
    struct cv_place place = cv_json_in_place(&lines->in, at);
    char shown[64];

    place.field = field;
    return cv_fail_at(lines->err, &place, "%s, got '%s'", expected,
                      cv_shown(got, strlen(got), shown, sizeof shown));
}

enum cleave_status cv_trace_key(struct cv_trace_lines *lines, bool *first,
                                const char **out)
{
    bool more;

    *out = NULL;
    CV_TRY(cv_json_in_more(&lines->in, '}', first, &more, lines->err));
    return more ? cv_json_in_key(&lines->in, out, lines->err) : CLEAVE_OK;
}

static enum cleave_status skip(struct cv_trace_lines *lines, unsigned depth)
{
    struct cv_json_in *in = &lines->in;
    struct cv_place place;
    bool first = true, more = true;
    const char *text;
    double number;
    char bracket;

    cv_json_in_skip(in);
    place = cv_json_in_place(in, in->at);
    if (depth > CV_JSON_DEPTH)
        return cv_fail_at(lines->err, &place, "expected fewer brackets inside brackets");
    if (in->at < in->end && *in->at == '"')
        return cv_json_in_text(in, &text, lines->err);
    if (in->at < in->end && *in->at == 'n')
        return cv_json_in_null(in, lines->err);
    if (in->at < in->end && (*in->at == 't' || *in->at == 'f'))
        return cv_json_in_bool(in, &more, lines->err);
    if (in->at >= in->end || (*in->at != '{' && *in->at != '['))
        return cv_json_in_number(in, &number, lines->err);
    bracket = *in->at;
    CV_TRY(cv_json_in_open(in, bracket, lines->err));
    for (;;) {
        CV_TRY(
            cv_json_in_more(in, bracket == '{' ? '}' : ']', &first, &more, lines->err));
        if (!more)
            return CLEAVE_OK;
        if (bracket == '{')
            CV_TRY(cv_json_in_key(in, &text, lines->err));
        CV_TRY(skip(lines, depth + 1));
    }
}

enum cleave_status cv_trace_skip(struct cv_trace_lines *lines)
{
    return skip(lines, 0);
}

static enum cleave_status read_kind(struct cv_trace_lines *lines, bool is_order,
                                    struct record *record)
{
    const enum cleave_task task = lines->task;
    const char *at, *text;

    cv_json_in_skip(&lines->in);
    at = lines->in.at;
    CV_TRY(cv_json_in_text(&lines->in, &text, lines->err));
    if (record->kind != NULL) {
        struct cv_place place = cv_json_in_place(&lines->in, at);

        return cv_fail_at(lines->err, &place, "expected either an event or an order");
    }
    for (size_t i = 0; i < NKINDS; i++)
        if (kinds[i].task == task && kinds[i].is_order == is_order &&
            strcmp(kinds[i].name, text) == 0) {
            record->kind = &kinds[i];
            return CLEAVE_OK;
        }
    return cv_trace_fail(lines, at, field_names[is_order ? ORDER : EVENT],
                         known_kinds[task][is_order], text);
}

enum cleave_status cv_trace_worker(struct cv_trace_lines *lines, const char *field,
                                   uint32_t *out)
{
    const struct cv_trace_name *found;
    const char *at, *text;
    uint64_t number;

    cv_json_in_skip(&lines->in);
    at = lines->in.at;
    if (lines->task == CLEAVE_TASK_REDUCE) {
        struct cv_place place = cv_json_in_place(&lines->in, at);

        CV_TRY(cv_json_in_count(&lines->in, &number, lines->err));
        place.field = field;
        if (number >= lines->nworkers)
            return cv_fail_at(lines->err, &place, "expected a node below %lu, got %llu",
                              (unsigned long)lines->nworkers, (unsigned long long)number);
        *out = (uint32_t)number;
        return CLEAVE_OK;
    }
    CV_TRY(cv_json_in_text(&lines->in, &text, lines->err));
    found = bsearch(&(struct cv_trace_name){ .name = text }, lines->names,
                    lines->nworkers, sizeof *lines->names, cv_trace_name_compare);
    if (found == NULL)
        return cv_trace_fail(lines, at, field,
                             lines->platform != NULL ? "expected a worker of the platform"
                                                     : "expected a worker of the header",
                             text);
    *out = found->worker;
    return CLEAVE_OK;
}

enum cleave_status cv_trace_positive(struct cv_trace_lines *lines, const char *field,
                                     double *out)
{
    struct cv_place place;
    const char *at;

    cv_json_in_skip(&lines->in);
    at = lines->in.at;
    CV_TRY(cv_json_in_number(&lines->in, out, lines->err));
    if (*out >= 0)
        return CLEAVE_OK;
    place = cv_json_in_place(&lines->in, at);
    place.field = field;
    return cv_fail_at(lines->err, &place, "expected a number of at least 0, got %.*s",
                      (int)(lines->in.at - at), at);
}

static enum cleave_status read_value(struct cv_trace_lines *lines, enum field field,
                                     struct record *record)
{
    switch (field) {
    case EVENT:
        return read_kind(lines, false, record);
    case ORDER:
        return read_kind(lines, true, record);
    case WORKER:
        return cv_trace_worker(lines, field_names[field], &record->worker);
    case PEER:
        return cv_trace_worker(lines, field_names[field], &record->peer);
    case CHUNK:
        return cv_json_in_count(&lines->in, &record->chunk, lines->err);
    case ITEM:
        return cv_json_in_count(&lines->in, &record->item, lines->err);
    case UNITS:
        return cv_trace_positive(lines, field_names[field], &record->units);
    case START:
        return cv_trace_positive(lines, field_names[field], &record->start_s);
    case END:
        return cv_trace_positive(lines, field_names[field], &record->end_s);
    case TIME:
        return cv_trace_positive(lines, field_names[field], &record->time_s);
    case LEFT:
        return cv_trace_positive(lines, field_names[field], &record->left);
    case READ:
        return cv_trace_positive(lines, field_names[field], &record->read_s);
    case FOLD:
        return cv_trace_positive(lines, field_names[field], &record->fold_s);
    case OUTPUT:
        return cv_trace_positive(lines, field_names[field], &record->output);
    case CPU:
        return cv_trace_positive(lines, field_names[field], &record->cpu_s);
    default:
        return cv_json_in_bool(&lines->in, &record->more, lines->err);
    }
}

static enum cleave_status read_field(struct cv_trace_lines *lines, struct record *record)
{
    struct cv_place place;
    const char *at, *key;
    enum field field = EVENT;

    cv_json_in_skip(&lines->in);
    at = lines->in.at;
    CV_TRY(cv_json_in_key(&lines->in, &key, lines->err));
    while (field < NFIELDS && strcmp(field_names[field], key) != 0)
        field++;
    if (field < NFIELDS && (record->seen & BIT(field)) == 0) {
        record->seen |= BIT(field);
        return read_value(lines, field, record);
    }
    place = cv_json_in_place(&lines->in, at);
    if (field < NFIELDS)
        return cv_fail_at(lines->err, &place, "duplicate field '%s'", key);
    else {
        char shown[64], near[200];

        cv_suggest(key, NFIELDS, field_name, NULL, near, sizeof near);
        return cv_fail_at(lines->err, &place, "unknown field '%s'%s",
                          cv_shown(key, strlen(key), shown, sizeof shown), near);
    }
}

/* Whether the record has the fields of its kind and no others. */
static enum cleave_status check_record(struct cv_trace_lines *lines,
                                       const struct record *record)
{
    struct cv_place place = cv_json_in_place(&lines->in, lines->in.begin);
    const struct kind *kind = record->kind;

    if (kind == NULL)
        return cv_fail_at(lines->err, &place, "expected an event or an order");
    for (enum field field = EVENT; field < NFIELDS; field++) {
        if ((kind->needs & ~record->seen & BIT(field)) != 0)
            return cv_fail_at(lines->err, &place, "required field '%s' is missing",
                              field_names[field]);
        if ((record->seen & ~(kind->needs | kind->allows) & BIT(field)) != 0)
            return cv_fail_at(lines->err, &place, "%s '%s' has no field '%s'",
                              kind->is_order ? "order" : "event", kind->name,
                              field_names[field]);
    }
    if (record->start_s > record->end_s)
        return cv_fail_at(lines->err, &place, "expected an end after the start");
    if ((kind->needs & BIT(PEER)) != 0 && record->worker == record->peer)
        return cv_fail_at(lines->err, &place,
                          "expected a worker and another as its peer");
    return CLEAVE_OK;
}

enum cleave_status cv_trace_entry(struct cv_trace_lines *lines, struct cleave_entry *out)
{
    struct record record = { 0 };
    bool first = true, more;

    CV_TRY(cv_json_in_open(&lines->in, '{', lines->err));
    for (;;) {
        CV_TRY(cv_json_in_more(&lines->in, '}', &first, &more, lines->err));
        if (!more)
            break;
        CV_TRY(read_field(lines, &record));
    }
    CV_TRY(cv_json_in_end(&lines->in, lines->err));
    CV_TRY(check_record(lines, &record));
    memset(out, 0, sizeof *out);
    assert(record.kind != NULL); /* check_record has seen to it */
    out->is_order = record.kind->is_order;
    out->knows_left = (record.seen & BIT(LEFT)) != 0;
    out->units_left = record.left;
    if (out->is_order)
        out->as.order =
            (struct cleave_order){ .kind = (enum cleave_order_kind)record.kind->kind,
                                   .worker = record.worker,
                                   .units = record.units,
                                   .time_s = record.time_s,
                                   .peer = record.peer,
                                   .chunk = record.chunk,
                                   .item = record.item };
    else
        out->as.event =
            (struct cleave_event){ .kind = (enum cleave_event_kind)record.kind->kind,
                                   .worker = record.worker,
                                   .chunk = record.chunk,
                                   .units = record.units,
                                   .start_s = record.start_s,
                                   .time_s = record.end_s,
                                   .more = record.more,
                                   .peer = record.peer,
                                   .read_s = record.read_s,
                                   .output = record.output,
                                   .cpu_s = record.cpu_s,
                                   .fold_s = record.fold_s };
    return CLEAVE_OK;
}
