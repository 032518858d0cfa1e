/* paje_trace.c -- a trace in the Paje format, for ViTE and pj_dump.
 * SPDX-License-Identifier: MIT
 *
 * A Paje file defines its kinds of lines, then the containers, then what changes, in order
 * of time. Every span becomes a state that is pushed and popped, so that states may
 * overlap, and every transfer an arrow from where it leaves to where it arrives. What ends
 * comes before what begins at the same time; spans without length leave only their arrow. */
#include "io/paje_trace.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/fail.h"
#include "io/trace_spans.h"

/* The kinds of lines: their number, name and fields, in the order in which they stand. */
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

/* Types, and the values of states with colours that all can tell apart. */
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
                            "3 cm C \"combine\" \"0.80 0.47 0.65\"\n";

/* In the order of lines of the same time; an arrow without length ends after it began. */
enum action { POP, END_LINK, START_LINK, END_AT_ONCE, PUSH };

/* A line of the file. */
struct change {
    double time_s;
    enum action action;
    size_t order; /* of equal time and action: as they came */
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
    const uint32_t worker = span->worker + 1, peer = span->peer + 1;

    switch (span->kind) {
    case CV_SPAN_SEND:
        add_state(changes, span, order, 'P', "ps", 0);
        add_state(changes, span, order, 'L', "ls", worker);
        add_link(changes, span, order, 'A', 0, worker);
        break;
    case CV_SPAN_RETURN:
        add_state(changes, span, order, 'P', "pr", 0);
        add_state(changes, span, order, 'L', "lr", worker);
        add_link(changes, span, order, 'B', worker, 0);
        break;
    case CV_SPAN_TRANSFER:
        add_state(changes, span, order, 'L', "lt", peer);
        add_state(changes, span, order, 'L', "lt", worker);
        add_link(changes, span, order, 'D', peer, worker);
        break;
    case CV_SPAN_COMPUTE:
        add_state(changes, span, order, 'C', "cc", worker);
        break;
    case CV_SPAN_LOST:
        add_state(changes, span, order, 'C', "cl", worker);
        break;
    case CV_SPAN_RECALL:
        add_state(changes, span, order, 'C', "cr", worker);
        break;
    case CV_SPAN_COMBINE:
    case CV_SPAN_FOLD:
        add_state(changes, span, order, 'C', "cm", worker);
        break;
    case CV_SPAN_KINDS:
        break;
    }
}

static int by_time(const void *a, const void *b)
{
    const struct change *x = a, *y = b;

    if (x->time_s != y->time_s)
        return x->time_s < y->time_s ? -1 : 1;
    if (x->action != y->action)
        return x->action < y->action ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
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

/* A name between quotes; the format has no way to put a quote inside. */
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
    char number[CV_STORY_NAME_ROOM];

    fprintf(file, "4 0 r R 0 ");
    write_name(file, context->policy);
    if (context->platform != NULL)
        fprintf(file, "4 0 m M r \"master\"\n");
    for (uint32_t i = 0; i < n; i++) {
        fprintf(file, "4 0 w%lu W r ", (unsigned long)i);
        write_name(file, cv_context_name(context, i, number));
    }
}

enum cleave_status cv_paje_write(const struct cv_trace_context *context, FILE *file,
                                 struct cleave_error *err)
{
    const uint32_t n = context->platform != NULL
                           ? cleave_platform_nworkers(context->platform)
                           : context->nodes;
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
