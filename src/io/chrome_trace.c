/* chrome_trace.c -- a trace in Chrome's trace format, for Perfetto and chrome://tracing.
 * SPDX-License-Identifier: MIT
 *
 * One JSON object with a list of complete events ("ph": "X"), times in microseconds. The
 * master is one process and the workers are another; every port, link and processor is a
 * thread. Events of a thread may not overlap, so what a worker does at the same time goes
 * to further threads of it: events come by the time of their end, hence a thread is free
 * for one that begins after the end of its last. */
#include "io/chrome_trace.h"

#include "base/arena.h"
#include "base/fail.h"
#include "io/json_out.h"
#include "io/trace_spans.h"

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

    cv_json_on_line(json);
    cv_json_object(json);
    cv_field_text(json, "ph", "M");
    cv_field_text(json, "name", tid != NULL ? "thread_name" : "process_name");
    cv_field_count(json, "pid", pid);
    if (tid != NULL)
        cv_field_count(json, "tid", *tid);
    cv_field_object(json, "args");
    snprintf(text, sizeof text, "%.200s%s", name, role);
    cv_field_text(json, "name", text);
    cv_json_end(json);
    cv_json_end(json);
}

static void put_event(struct output *output, uint64_t pid, uint64_t tid, const char *name,
                      const struct cv_span *span)
{
    struct cv_json *json = &output->json;

    cv_json_on_line(json);
    cv_json_object(json);
    cv_field_text(json, "ph", "X");
    cv_field_text(json, "name", name);
    cv_field_text(json, "cat", cv_span_name(span->kind));
    cv_field_count(json, "pid", pid);
    cv_field_count(json, "tid", tid);
    cv_field_number(json, "ts", span->start_s * 1e6);
    cv_field_number(json, "dur", (span->end_s - span->start_s) * 1e6);
    cv_field_object(json, "args");
    if (output->context->platform != NULL) {
        cv_field_count(json, "chunk", span->chunk);
        cv_field_number(json, "units", span->units);
    } else {
        cv_field_count(json, "from", span->peer);
        cv_field_count(json, "to", span->worker);
    }
    cv_json_end(json);
    cv_json_end(json);
}

/* The event on a thread of `worker` that is free, from `first` on, `count` of them. The
 * last takes what comes. */
static void put_on_worker(struct output *output, uint32_t worker, unsigned first,
                          unsigned count, const char *name, const struct cv_span *span)
{
    const size_t base = (size_t)worker * THREADS;
    char number[CV_STORY_NAME_ROOM];
    unsigned thread = first;
    uint64_t tid;

    while (thread + 1 < first + count && span->start_s < output->free_s[base + thread])
        thread++;
    tid = base + thread + 1;
    if (!output->has_name[base + thread]) {
        output->has_name[base + thread] = true;
        put_name(output, CREW, &tid, cv_context_name(output->context, worker, number),
                 first == 0 ? " link" : "");
    }
    output->free_s[base + thread] = span->end_s;
    put_event(output, CREW, tid, name, span);
}

/* The master's port has a thread, and one for the way in if it can do both at once. Links
 * that share no port are seen at the workers. */
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
    char name[300], number[CV_STORY_NAME_ROOM];

    snprintf(name, sizeof name, "%s %.200s", cv_span_name(span->kind),
             cv_context_name(output->context, span->worker, number));
    switch (span->kind) {
    case CV_SPAN_SEND:
    case CV_SPAN_RETURN:
        put_on_port(output, name, span);
        put_on_worker(output, span->worker, 0, LINKS, cv_span_name(span->kind), span);
        break;
    default:
        put_on_worker(output, span->worker, LINKS, PROCESSORS, cv_span_name(span->kind),
                      span);
        break;
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
    cv_field_text(json, "policy", output->context->policy);
    if (output->context->platform != NULL)
        cv_field_number(json, "load", output->context->load);
    if (facts->command != NULL)
        cv_field_text(json, "command", facts->command);
    if (facts->bound.name != NULL)
        cv_field_number(json, "bound", facts->bound.value_s);
    cv_json_end(json);
}

enum cleave_status cv_chrome_write(const struct cv_trace_context *context, FILE *file,
                                   struct cleave_error *err)
{
    const size_t n = context->platform != NULL
                         ? cleave_platform_nworkers(context->platform)
                         : context->nodes;
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
