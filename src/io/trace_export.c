/* trace_export.c -- a trace in the formats of other viewers. SPDX-License-Identifier: MIT */
#include "io/trace_export.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/arena.h"
#include "base/compare.h"
#include "base/fail.h"
#include "base/file_target.h"
#include "io/json_out.h"
#include "io/trace_file.h"

enum { NAME_ROOM = 24 };

static uint32_t count_workers(const struct cv_trace_context *context)
{
    return context->platform != NULL ? cleave_platform_nworkers(context->platform)
                                     : context->nodes;
}

/* The name of a worker, or the number of a node. */
static const char *worker_name(const struct cv_trace_context *context, uint32_t worker,
                               char buffer[NAME_ROOM])
{
    if (context->platform != NULL)
        return cleave_platform_worker_name(context->platform, worker);
    snprintf(buffer, NAME_ROOM, "%lu", (unsigned long)worker);
    return buffer;
}

/* When the chunk of entry `i` was computed. If outputs of a run come back by themselves, a
 * chunk is done when its output has arrived: the entry before has the begin of that. */
static double computed_s(const struct cleave_trace *trace, size_t i)
{
    const struct cleave_event *done = &cleave_trace_at(trace, i)->as.event;
    const struct cleave_entry *before = i > 0 ? cleave_trace_at(trace, i - 1) : NULL;

    return before != NULL && !before->is_order &&
                   before->as.event.kind == CLEAVE_RETURNED &&
                   before->as.event.chunk == done->chunk &&
                   before->as.event.start_s > done->start_s
               ? before->as.event.start_s
               : done->time_s;
}

bool cv_span_at(const struct cleave_trace *trace, size_t i, struct cv_span *out)
{
    /* Plus 1; 0: not a span. */
    static const unsigned spans[] = {
        [CLEAVE_SENT] = CV_SPAN_SEND + 1,        [CLEAVE_EXTENDED] = CV_SPAN_SEND + 1,
        [CLEAVE_DONE] = CV_SPAN_COMPUTE + 1,     [CLEAVE_RETURNED] = CV_SPAN_RETURN + 1,
        [CLEAVE_RECALLED] = CV_SPAN_RECALL + 1,  [CLEAVE_LOST] = CV_SPAN_LOST + 1,
        [CLEAVE_ARRIVED] = CV_SPAN_TRANSFER + 1, [CLEAVE_COMBINED] = CV_SPAN_COMBINE + 1,
        [CLEAVE_FOLDED] = CV_SPAN_FOLD + 1,      [CLEAVE_DROPPED] = CV_SPAN_DROPPED + 1,
    };
    const struct cleave_entry *entry = cleave_trace_at(trace, i);
    const struct cleave_event *event = &entry->as.event;

    if (entry->is_order || event->kind >= sizeof spans / sizeof *spans ||
        spans[event->kind] == 0 ||
        ((event->kind == CLEAVE_EXTENDED || event->kind == CLEAVE_DROPPED) &&
         !(event->units > 0)))
        return false;
    *out = (struct cv_span){ .kind = (enum cv_span_kind)(spans[event->kind] - 1),
                             .worker = event->worker,
                             .peer = event->peer,
                             .chunk = event->chunk,
                             .units = event->units,
                             .start_s = event->start_s,
                             .end_s = event->kind == CLEAVE_DONE ? computed_s(trace, i)
                                                                 : event->time_s };
    return true;
}

const char *cv_span_name(enum cv_span_kind kind)
{
    static const char *const names[CV_SPAN_KINDS] = {
        [CV_SPAN_SEND] = "send",       [CV_SPAN_COMPUTE] = "compute",
        [CV_SPAN_RETURN] = "return",   [CV_SPAN_LOST] = "lost",
        [CV_SPAN_RECALL] = "recall",   [CV_SPAN_TRANSFER] = "transfer",
        [CV_SPAN_COMBINE] = "combine", [CV_SPAN_FOLD] = "fold",
        [CV_SPAN_DROPPED] = "dropped", [CV_SPAN_FAILED] = "failed",
    };

    return names[kind];
}

/* --- Chrome's trace format, for Perfetto and chrome://tracing ------------------------ */

/* One JSON object with a list of complete events ("ph": "X"), times in microseconds. The
 * master is one process and the workers are another; every port, link and processor is a
 * thread. Events of a thread may not overlap, so that simultaneous events of a worker need
 * several threads. Entries are sorted by their end: a thread is free for an event that
 * begins after the end of its last event. */

enum { MASTER = 1, CREW = 2 };      /* processes                                   */
enum { LINKS = 4, PROCESSORS = 8 }; /* most threads of a worker of either kind   */
enum { THREADS = LINKS + PROCESSORS };

struct output {
    struct cv_json json;
    const struct cv_trace_context *context;
    double *free_s; /* [worker][thread]: end of its last event; 0: none yet */
    bool *has_name; /* [worker][thread]                                     */
    bool port_named[2];
    enum cleave_port port;
};

/* Name a process, or with tid a thread. */
static void put_name(struct output *output, uint64_t pid, const uint64_t *tid,
                     const char *name, const char *role)
{
    struct cv_json *json = &output->json;
    char text[300];

    snprintf(text, sizeof text, "%.200s%s", name, role);
    cv_fields(json, "{ph %s, name %s, pid %llu", "M",
              tid != NULL ? "thread_name" : "process_name", (unsigned long long)pid);
    if (tid != NULL)
        cv_field_count(json, "tid", *tid);
    cv_fields(json, "args {name %s}}", text);
}

static void put_event(struct output *output, uint64_t pid, uint64_t tid, const char *name,
                      const struct cv_span *span)
{
    struct cv_json *json = &output->json;

    cv_fields(json, "{ph %s, name %s, cat %s, pid %llu, tid %llu, ts %g, dur %g", "X",
              name, cv_span_name(span->kind), (unsigned long long)pid,
              (unsigned long long)tid, span->start_s * 1e6,
              (span->end_s - span->start_s) * 1e6);
    if (output->context->platform != NULL)
        cv_fields(json, "args {chunk %llu, units %g}}", (unsigned long long)span->chunk,
                  span->units);
    else
        cv_fields(json, "args {from %u, to %u}}", span->peer, span->worker);
}

/* The event on the first free thread of `worker` of `count` from `first`, else on the last. */
static void put_on_worker(struct output *output, uint32_t worker, unsigned first,
                          unsigned count, const char *name, const struct cv_span *span)
{
    const size_t base = (size_t)worker * THREADS;
    char number[NAME_ROOM];
    unsigned thread = first;
    uint64_t tid;

    while (thread + 1 < first + count && span->start_s < output->free_s[base + thread])
        thread++;
    tid = base + thread + 1;
    if (!output->has_name[base + thread]) {
        output->has_name[base + thread] = true;
        put_name(output, CREW, &tid, worker_name(output->context, worker, number),
                 first == 0 ? " link" : "");
    }
    output->free_s[base + thread] = span->end_s;
    put_event(output, CREW, tid, name, span);
}

/* The master's port has a thread, and a second one for returns if it is duplex. Links that
 * share no port are shown at the workers only. */
static void put_on_port(struct output *output, const char *name,
                        const struct cv_span *span)
{
    const bool in = span->kind == CV_SPAN_RETURN && output->port == CLEAVE_PORT_DUPLEX;
    const uint64_t tid = in ? 2 : 1;

    if (output->port == CLEAVE_PORT_MULTI)
        return;
    if (!output->port_named[in]) {
        output->port_named[in] = true;
        put_name(output, MASTER, &tid, in ? "port in" : "port", "");
    }
    put_event(output, MASTER, tid, name, span);
}

static void put_load_span(struct output *output, const struct cv_span *span)
{
    char name[300], number[NAME_ROOM];

    snprintf(name, sizeof name, "%s %.200s", cv_span_name(span->kind),
             worker_name(output->context, span->worker, number));
    if (span->kind == CV_SPAN_SEND || span->kind == CV_SPAN_RETURN) {
        put_on_port(output, name, span);
        put_on_worker(output, span->worker, 0, LINKS, cv_span_name(span->kind), span);
    } else {
        put_on_worker(output, span->worker, LINKS, PROCESSORS, cv_span_name(span->kind),
                      span);
    }
}

static void put_reduce_span(struct output *output, const struct cv_span *span)
{
    char name[64];

    if (span->kind == CV_SPAN_TRANSFER) {
        snprintf(name, sizeof name, "send to %lu", (unsigned long)span->worker);
        put_on_worker(output, span->peer, 0, LINKS, name, span);
        snprintf(name, sizeof name, "receive from %lu", (unsigned long)span->peer);
        put_on_worker(output, span->worker, 0, LINKS, name, span);
    } else {
        snprintf(name, sizeof name, "combine with %lu", (unsigned long)span->peer);
        put_on_worker(output, span->worker, LINKS, PROCESSORS, name, span);
    }
}

static void put_spans(struct output *output)
{
    const struct cleave_trace *trace = output->context->trace;
    struct cv_span span;

    for (size_t i = 0; i < cleave_trace_count(trace) && !output->json.failed; i++) {
        if (!cv_span_at(trace, i, &span))
            continue;
        if (output->context->platform != NULL)
            put_load_span(output, &span);
        else
            put_reduce_span(output, &span);
    }
}

static void put_facts(struct output *output)
{
    const struct cleave_trace_facts *facts = cleave_trace_facts(output->context->trace);
    struct cv_json *json = &output->json;

    cv_field_object(json, "otherData");
    cv_fields(json, "policy %s", output->context->policy);
    if (output->context->platform != NULL)
        cv_field_number(json, "load", output->context->load);
    cv_fields(json, "command ?%s", facts->command);
    if (facts->bound.name != NULL)
        cv_field_number(json, "bound", facts->bound.value_s);
    cv_json_end(json);
}

static enum cleave_status write_chrome(const struct cv_trace_context *context, FILE *file,
                                       struct cleave_error *err)
{
    const uint32_t n = count_workers(context);
    struct output output = { .context = context };
    struct cv_json *json = &output.json;
    struct cv_arena arena;

    cv_arena_init(&arena);
    output.free_s = cv_array(&arena, n, THREADS * sizeof *output.free_s);
    output.has_name = cv_array(&arena, n, THREADS * sizeof *output.has_name);
    if (output.free_s == NULL || output.has_name == NULL) {
        cv_arena_done(&arena);
        return cv_fail_memory(err, "the threads of a trace");
    }
    if (context->platform != NULL)
        output.port = cleave_platform_port(context->platform);
    cv_json_init(json, file, true);
    cv_json_object(json);
    cv_field_text(json, "displayTimeUnit", "ms");
    put_facts(&output);
    cv_field_list(json, "traceEvents");
    if (context->platform != NULL && output.port != CLEAVE_PORT_MULTI)
        put_name(&output, MASTER, NULL, "master", "");
    put_name(&output, CREW, NULL, context->platform != NULL ? "workers" : "nodes", "");
    put_spans(&output);
    cv_json_end(json);
    cv_json_end(json);
    cv_json_close(json);
    cv_arena_done(&arena);
    return CLEAVE_OK;
}

/* --- Paje, for ViTE and pj_dump ------------------------------------------------------ */

/* A Paje file defines its kinds of lines, then the containers, then the changes, in order of
 * time. Every span becomes a state that is pushed and popped, so that states may overlap, and
 * every transfer an arrow. An end comes before a begin at the same time; spans without length
 * have only their arrow. */

/* The kinds of lines: their number, name and fields in order. */
static const char definitions[] =
    "%EventDef PajeDefineContainerType 0\n"
    "%  Alias string\n%  Type string\n%  Name string\n%EndEventDef\n"
    "%EventDef PajeDefineStateType 1\n"
    "%  Alias string\n%  Type string\n%  Name string\n%EndEventDef\n"
    "%EventDef PajeDefineLinkType 2\n"
    "%  Alias string\n%  Type string\n%  StartContainerType string\n"
    "%  EndContainerType string\n%  Name string\n%EndEventDef\n"
    "%EventDef PajeDefineEntityValue 3\n"
    "%  Alias string\n%  Type string\n%  Name string\n%  Color color\n%EndEventDef\n"
    "%EventDef PajeCreateContainer 4\n"
    "%  Time date\n%  Alias string\n%  Type string\n%  Container string\n"
    "%  Name string\n%EndEventDef\n"
    "%EventDef PajePushState 5\n"
    "%  Time date\n%  Type string\n%  Container string\n%  Value string\n"
    "%EndEventDef\n"
    "%EventDef PajePopState 6\n"
    "%  Time date\n%  Type string\n%  Container string\n%EndEventDef\n"
    "%EventDef PajeStartLink 7\n"
    "%  Time date\n%  Type string\n%  Container string\n%  StartContainer string\n"
    "%  Value string\n%  Key string\n%EndEventDef\n"
    "%EventDef PajeEndLink 8\n"
    "%  Time date\n%  Type string\n%  Container string\n%  EndContainer string\n"
    "%  Value string\n%  Key string\n%EndEventDef\n"
    "%EventDef PajeDestroyContainer 9\n"
    "%  Time date\n%  Type string\n%  Container string\n%EndEventDef\n";

/* Types, and values of states with colours for any kind of colour vision. */
static const char types[] = "0 R 0 \"run\"\n"
                            "0 M R \"master\"\n"
                            "0 W R \"worker\"\n"
                            "1 P M \"port\"\n"
                            "1 L W \"link\"\n"
                            "1 C W \"processor\"\n"
                            "2 A R M W \"send\"\n"
                            "2 B R W M \"return\"\n"
                            "2 D R W W \"partial\"\n"
                            "3 ps P \"send\" \"0.90 0.62 0.00\"\n"
                            "3 pr P \"return\" \"0.00 0.62 0.45\"\n"
                            "3 ls L \"send\" \"0.90 0.62 0.00\"\n"
                            "3 lr L \"return\" \"0.00 0.62 0.45\"\n"
                            "3 lt L \"transfer\" \"0.90 0.62 0.00\"\n"
                            "3 cc C \"compute\" \"0.00 0.45 0.70\"\n"
                            "3 cl C \"lost\" \"0.84 0.37 0.00\"\n"
                            "3 cr C \"recall\" \"0.94 0.89 0.26\"\n"
                            "3 cd C \"dropped\" \"0.60 0.60 0.60\"\n"
                            "3 cm C \"combine\" \"0.80 0.47 0.65\"\n";

/* The order of lines of the same time; an arrow without length ends after its begin. */
enum action { POP, END_LINK, START_LINK, END_AT_ONCE, PUSH };

/* A line of the file. */
struct change {
    double time_s;
    enum action action;
    size_t order; /* number of the span, for equal time and action */
    char type;    /* P, L, C; A, B, D for links             */
    const char *value;
    uint32_t place; /* 0: the master; else worker + 1 */
};

struct changes {
    struct change *items; /* owned */
    size_t count, capacity;
    bool failed;
};

static void add(struct changes *changes, struct change change)
{
    if (!CV_ROOM(changes->items, &changes->capacity, changes->count + 1)) {
        changes->failed = true;
        return;
    }
    changes->items[changes->count++] = change;
}

static void add_state(struct changes *changes, const struct cv_span *span, size_t order,
                      char type, const char *value, uint32_t place)
{
    if (!(span->end_s > span->start_s) || changes->failed)
        return;
    add(changes, (struct change){ span->start_s, PUSH, order, type, value, place });
    add(changes, (struct change){ span->end_s, POP, order, type, value, place });
}

static void add_link(struct changes *changes, const struct cv_span *span, size_t order,
                     char type, uint32_t from, uint32_t to)
{
    if (changes->failed)
        return;
    add(changes, (struct change){ span->start_s, START_LINK, order, type, "x", from });
    add(changes, (struct change){ span->end_s,
                                  span->end_s > span->start_s ? END_LINK : END_AT_ONCE,
                                  order, type, "x", to });
}

static void add_span(struct changes *changes, const struct cv_span *span, size_t order)
{
    static const struct {
        /* values of states; port: NULL if the port has no state */
        const char *port, *worker;
        char arrow; /* 0: the state is one of the processor           */
    } shown[] = {
        [CV_SPAN_SEND] = { "ps", "ls", 'A' },     [CV_SPAN_RETURN] = { "pr", "lr", 'B' },
        [CV_SPAN_TRANSFER] = { NULL, "lt", 'D' }, [CV_SPAN_COMPUTE] = { NULL, "cc", 0 },
        [CV_SPAN_LOST] = { NULL, "cl", 0 },       [CV_SPAN_RECALL] = { NULL, "cr", 0 },
        [CV_SPAN_COMBINE] = { NULL, "cm", 0 },    [CV_SPAN_FOLD] = { NULL, "cm", 0 },
        [CV_SPAN_DROPPED] = { NULL, "cd", 0 },
    };
    const uint32_t worker = span->worker + 1,
                   other = span->kind == CV_SPAN_TRANSFER ? span->peer + 1 : 0;
    const char *value = shown[span->kind].worker, arrow = shown[span->kind].arrow;

    if (arrow == 0) {
        add_state(changes, span, order, 'C', value, worker);
        return;
    }
    if (other == 0)
        add_state(changes, span, order, 'P', shown[span->kind].port, 0);
    else
        add_state(changes, span, order, 'L', value, other);
    add_state(changes, span, order, 'L', value, worker);
    if (span->kind == CV_SPAN_RETURN)
        add_link(changes, span, order, arrow, worker, other);
    else
        add_link(changes, span, order, arrow, other, worker);
}

static int by_time(const void *a, const void *b)
{
    const struct change *x = a, *y = b;

    return cv_order(CV_COMPARE(x->time_s, y->time_s), CV_COMPARE(x->action, y->action),
                    CV_COMPARE(x->order, y->order));
}

static void write_place(FILE *file, uint32_t place)
{
    if (place == 0)
        fprintf(file, "m");
    else
        fprintf(file, "w%lu", (unsigned long)place - 1);
}

static void write_change(FILE *file, const struct change *change)
{
    static const int lines[] = {
        [POP] = 6, [END_LINK] = 8, [START_LINK] = 7, [END_AT_ONCE] = 8, [PUSH] = 5
    };
    const bool link = lines[change->action] >= 7;

    fprintf(file, "%d %.9f %c %s", lines[change->action], change->time_s, change->type,
            link ? "r " : "");
    write_place(file, change->place);
    if (change->action == PUSH)
        fprintf(file, " %s", change->value);
    else if (link)
        fprintf(file, " %s k%zu", change->value, change->order);
    fprintf(file, "\n");
}

/* A name in quotes; the format has no escape for a quote. */
static void write_name(FILE *file, const char *name)
{
    fputc('"', file);
    for (; *name != '\0'; name++)
        fputc(*name == '"' ? '\'' : *name, file);
    fputs("\"\n", file);
}

static void write_containers(const struct cv_trace_context *context, uint32_t n,
                             FILE *file)
{
    char number[NAME_ROOM];

    fprintf(file, "4 0 r R 0 ");
    write_name(file, context->policy);
    if (context->platform != NULL)
        fprintf(file, "4 0 m M r \"master\"\n");
    for (uint32_t i = 0; i < n; i++) {
        fprintf(file, "4 0 w%lu W r ", (unsigned long)i);
        write_name(file, worker_name(context, i, number));
    }
}

static enum cleave_status write_paje(const struct cv_trace_context *context, FILE *file,
                                     struct cleave_error *err)
{
    const uint32_t n = count_workers(context);
    struct changes changes = { .items = NULL };
    double end_s = 0;
    struct cv_span span;

    for (size_t i = 0; i < cleave_trace_count(context->trace) && !changes.failed; i++) {
        if (!cv_span_at(context->trace, i, &span))
            continue;
        add_span(&changes, &span, i);
        end_s = span.end_s > end_s ? span.end_s : end_s;
    }
    if (changes.failed) {
        free(changes.items);
        return cv_fail_memory(err, "the lines of a trace");
    }
    if (changes.count > 0)
        qsort(changes.items, changes.count, sizeof *changes.items, by_time);
    fputs(definitions, file);
    fputs(types, file);
    write_containers(context, n, file);
    for (size_t i = 0; i < changes.count && !ferror(file); i++)
        write_change(file, &changes.items[i]);
    for (uint32_t i = 0; i < n; i++)
        fprintf(file, "9 %.9f W w%lu\n", end_s, (unsigned long)i);
    if (context->platform != NULL)
        fprintf(file, "9 %.9f M m\n", end_s);
    fprintf(file, "9 %.9f R r\n", end_s);
    free(changes.items);
    return CLEAVE_OK;
}

enum cv_trace_format cv_trace_format_of(const char *path)
{
    if (cv_name_ends_in(path, ".chrome.json") || cv_name_ends_in(path, ".perfetto.json"))
        return CV_TRACE_CHROME;
    return cv_name_ends_in(path, ".paje") ? CV_TRACE_PAJE : CV_TRACE_OWN;
}

enum cleave_status cv_trace_export(const struct cv_trace_context *context,
                                   enum cv_trace_format format, FILE *file,
                                   struct cleave_error *err)
{
    const struct cv_trace_workers workers = { .platform = context->platform,
                                              .count = count_workers(context) };

    if (format == CV_TRACE_OWN)
        return context->platform != NULL
                   ? cleave_trace_save(context->trace, context->platform, context->policy,
                                       context->load, file, err)
                   : cleave_trace_save_reduce(context->trace, context->nodes,
                                              context->policy, file, err);
    CV_TRY(cv_trace_check(context->trace, &workers, err));
    errno = 0;
    CV_TRY(format == CV_TRACE_CHROME ? write_chrome(context, file, err)
                                     : write_paje(context, file, err));
    if (fflush(file) != 0 || ferror(file))
        return cv_fail(err, CLEAVE_EINPUT, "cannot write: %s",
                       strerror(errno != 0 ? errno : EIO));
    return CLEAVE_OK;
}
