/* trace_file.c -- read a trace from JSON lines: its header, then its entries.
 * SPDX-License-Identifier: MIT */
#include "io/trace_file.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/fail.h"
#include "io/input.h"
#include "io/json_out.h"
#include "io/trace_header.h"
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

/* --- write a trace as JSON lines --------------------------------------------------- */

/* Who the workers of a trace are. */
struct cast {
    const struct cleave_platform *platform; /* NULL for a reduction: numbers for names */
    uint32_t count;
    bool items; /* chunks are items */
};

static void put_worker(struct cv_json *json, const struct cast *cast, uint32_t worker)
{
    if (cast->platform != NULL)
        cv_field_text(json, "worker",
                      cleave_platform_worker_name(cast->platform, worker));
    else
        cv_field_count(json, "worker", worker);
}

static void write_header(struct cv_json *json, const struct cast *cast,
                         const char *policy, double load,
                         const struct cleave_trace_facts *facts)
{
    cv_json_object(json);
    cv_field_text(json, "format", CV_TRACE_FORMAT);
    cv_field_text(json, "policy", policy);
    if (cast->platform != NULL) {
        cv_field_number(json, "load", load);
        cv_field_text(json, "port",
                      cleave_port_name(cleave_platform_port(cast->platform)));
        cv_field_list(json, "workers");
        for (uint32_t i = 0; i < cast->count; i++)
            cv_json_text(json, cleave_platform_worker_name(cast->platform, i));
        cv_json_end(json);
    } else {
        cv_field_text(json, "task", "reduce");
        cv_field_count(json, "nodes", cast->count);
    }
    cv_trace_facts_write(json, facts, cast->platform);
    cv_json_end(json);
    cv_json_close(json);
}

static bool is_of_chunk(enum cleave_event_kind kind)
{
    return kind == CLEAVE_SENT || kind == CLEAVE_DONE || kind == CLEAVE_RETURNED ||
           kind == CLEAVE_RECALLED || kind == CLEAVE_LOST || kind == CLEAVE_STARTED ||
           kind == CLEAVE_DRAINED || kind == CLEAVE_EXTENDED || kind == CLEAVE_PROGRESS;
}

static void write_event(struct cv_json *json, const struct cleave_entry *entry,
                        const struct cast *cast)
{
    static const char *const kinds[] = {
        [CLEAVE_START] = "start",       [CLEAVE_SENT] = "sent",
        [CLEAVE_DONE] = "done",         [CLEAVE_WAKE] = "wake",
        [CLEAVE_ARRIVED] = "arrived",   [CLEAVE_COMBINED] = "combined",
        [CLEAVE_RETURNED] = "returned", [CLEAVE_ENDED] = "ended",
        [CLEAVE_RECALLED] = "recalled", [CLEAVE_LOST] = "lost",
        [CLEAVE_STARTED] = "started",   [CLEAVE_DRAINED] = "drained",
        [CLEAVE_EXTENDED] = "extended", [CLEAVE_PROGRESS] = "progress",
        [CLEAVE_READY] = "ready",       [CLEAVE_FOLDED] = "folded",
    };
    const struct cleave_event *event = &entry->as.event;

    cv_json_object(json);
    cv_field_text(json, "event", kinds[event->kind]);
    if (is_of_chunk(event->kind)) {
        put_worker(json, cast, event->worker);
        cv_field_count(json, "chunk", event->chunk);
        cv_field_number(json, "units", event->units);
    } else if (event->kind == CLEAVE_FOLDED) {
        put_worker(json, cast, event->worker);
        cv_field_number(json, "units", event->units);
    } else if (event->kind == CLEAVE_ENDED) {
        cv_field_number(json, "units", event->units);
    } else if (event->kind != CLEAVE_START) {
        put_worker(json, cast, event->worker);
        if (event->kind != CLEAVE_WAKE && event->kind != CLEAVE_READY)
            cv_field_count(json, "peer", event->peer);
    }
    cv_field_number(json, "start", event->start_s);
    cv_field_number(json, "end", event->time_s);
    if (event->kind == CLEAVE_DONE && event->read_s > 0)
        cv_field_number(json, "read", event->read_s);
    if (event->kind == CLEAVE_DONE && event->fold_s > 0)
        cv_field_number(json, "fold", event->fold_s);
    if (event->kind == CLEAVE_PROGRESS) {
        cv_field_number(json, "output", event->output);
        cv_field_number(json, "cpu", event->cpu_s);
    }
    if (event->more) {
        cv_field_bool(json, "more", true);
    }
    if (entry->knows_left)
        cv_field_number(json, "left", entry->units_left);
    cv_json_end(json);
    cv_json_close(json);
}

void cv_trace_order_fields(struct cv_json *json, const struct cleave_order *order,
                           bool items)
{
    switch (order->kind) {
    case CLEAVE_SEND:
        if (items)
            cv_field_count(json, "item", order->item);
        cv_field_number(json, "units", order->units);
        break;
    case CLEAVE_OPEN:
    case CLEAVE_EXTEND:
    case CLEAVE_RECALL:
        cv_field_number(json, "units", order->units);
        break;
    case CLEAVE_COMBINE:
        cv_field_count(json, "peer", order->peer);
        break;
    case CLEAVE_RETURN:
        cv_field_count(json, "chunk", order->chunk);
        break;
    case CLEAVE_WAKE_AT:
        cv_field_number(json, "time", order->time_s);
        break;
    case CLEAVE_CLOSE:
    case CLEAVE_QUERY:
        break;
    }
}

static void write_order(struct cv_json *json, const struct cleave_order *order,
                        const struct cast *cast)
{
    cv_json_object(json);
    cv_field_text(json, "order", cv_trace_order_name(order->kind));
    put_worker(json, cast, order->worker);
    cv_trace_order_fields(json, order, cast->items);
    cv_json_end(json);
    cv_json_close(json);
}

static bool is_good(double value)
{
    return isfinite(value) && value >= 0;
}

static const char *find_pair_fault(uint32_t worker, uint32_t peer,
                                   const struct cast *cast)
{
    if (cast->platform != NULL)
        return "a combination, which a load does not have";
    if (worker >= cast->count || peer >= cast->count)
        return "a node that the reduction does not have";
    return worker == peer ? "a node that sends to itself" : NULL;
}

static const char *find_chunk_fault(uint32_t worker, double units,
                                    const struct cast *cast)
{
    if (cast->platform == NULL)
        return "a chunk, which a reduction does not have";
    if (worker >= cast->count)
        return "a worker that the platform does not have";
    return is_good(units) ? NULL : "units below 0 or not finite";
}

static const char *find_wake_fault(uint32_t worker, const struct cast *cast)
{
    if (worker < cast->count)
        return NULL;
    return cast->platform != NULL ? "a worker that the platform does not have"
                                  : "a node that the reduction does not have";
}

static const char *find_fault(const struct cleave_entry *entry, const struct cast *cast)
{
    const struct cleave_event *event = &entry->as.event;
    const struct cleave_order *order = &entry->as.order;

    if (entry->is_order) {
        if (order->kind == CLEAVE_COMBINE)
            return find_pair_fault(order->worker, order->peer, cast);
        if (order->kind != CLEAVE_WAKE_AT)
            return find_chunk_fault(order->worker, order->units, cast);
        return is_good(order->time_s) ? find_wake_fault(order->worker, cast)
                                      : "a time below 0 or not finite";
    }
    if (!is_good(event->start_s) || !is_good(event->time_s))
        return "a time below 0 or not finite";
    if (event->start_s > event->time_s)
        return "an end before its start";
    if (entry->knows_left && (cast->platform == NULL || !is_good(entry->units_left)))
        return "units left below 0, not finite or of a reduction";
    if (!is_good(event->read_s) || !is_good(event->output) || !is_good(event->cpu_s) ||
        !is_good(event->fold_s))
        return "a figure of reading below 0 or not finite";
    switch (event->kind) {
    case CLEAVE_SENT:
    case CLEAVE_DONE:
    case CLEAVE_RETURNED:
    case CLEAVE_RECALLED:
    case CLEAVE_LOST:
    case CLEAVE_STARTED:
    case CLEAVE_DRAINED:
    case CLEAVE_EXTENDED:
    case CLEAVE_PROGRESS:
    case CLEAVE_FOLDED:
        return find_chunk_fault(event->worker, event->units, cast);
    case CLEAVE_ENDED:
        return find_chunk_fault(0, event->units, cast);
    case CLEAVE_ARRIVED:
    case CLEAVE_COMBINED:
        return find_pair_fault(event->worker, event->peer, cast);
    case CLEAVE_READY:
        return cast->platform == NULL ? find_wake_fault(event->worker, cast)
                                      : "a partial in a trace of a load";
    case CLEAVE_WAKE:
        return find_wake_fault(event->worker, cast);
    case CLEAVE_START:
        break;
    }
    return NULL;
}

const char *cv_trace_fault(const struct cleave_entry *entry,
                           const struct cleave_platform *platform, uint32_t count)
{
    return find_fault(entry, &(struct cast){ .platform = platform, .count = count });
}

static enum cleave_status save(const struct cleave_trace *trace, const struct cast *cast,
                               const char *policy, double load, FILE *file,
                               struct cleave_error *err)
{
    struct cv_json json;

    errno = 0;
    cv_json_init(&json, file, false);
    write_header(&json, cast, policy, load, cleave_trace_facts(trace));
    for (size_t i = 0; i < cleave_trace_count(trace) && !json.failed; i++) {
        const struct cleave_entry *entry = cleave_trace_at(trace, i);
        const char *fault = find_fault(entry, cast);

        if (fault != NULL)
            return cv_fail(err, CLEAVE_EINPUT, "entry %zu of the trace has %s", i, fault);
        if (entry->is_order)
            write_order(&json, &entry->as.order, cast);
        else
            write_event(&json, entry, cast);
    }
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
    const struct cast cast = { platform, cleave_platform_nworkers(platform),
                               told != NULL && told->view.nitems > 0 };

    if (!isfinite(load))
        return cv_fail(err, CLEAVE_EINPUT, "expected a finite load");
    return save(trace, &cast, policy, load, file, err);
}

enum cleave_status cleave_trace_save_reduce(const struct cleave_trace *trace,
                                            uint32_t nodes, const char *policy,
                                            FILE *file, struct cleave_error *err)
{
    const struct cast cast = { .count = nodes };

    if (nodes == 0)
        return cv_fail(err, CLEAVE_EINPUT, "expected 1 or more nodes, got 0");
    return save(trace, &cast, policy, 0, file, err);
}
