/* trace_header.c -- the first line of a trace. SPDX-License-Identifier: MIT
 *
 * Its fields come in a fixed order, so that a file that is no trace is known at once; the
 * facts at its end come in any order, and those that are not known are skipped. */
#include "io/trace_header.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <cleave/version.h>
#include "base/text.h"
#include "io/trace_file.h"
#include "io/trace_policy_input.h"

/* --- what is known of a run as a whole, in the header of its trace ----------------- */

/* --- writing ------------------------------------------------------------------------ */

static void put_text(struct cv_json *json, const char *key, const char *text)
{
    if (text == NULL)
        return;
    cv_field_text(json, key, text);
}

static bool has_any(const struct cleave_trace_facts *facts)
{
    return facts->command != NULL || facts->engine != NULL || facts->noise != NULL ||
           facts->picked != NULL || facts->why != NULL || facts->bound.name != NULL ||
           facts->nleft_out > 0 || facts->lifespan_s > 0 || facts->failed > 0 ||
           facts->left > 0 || facts->told != NULL;
}

void cv_trace_facts_write(struct cv_json *json, const struct cleave_trace_facts *facts,
                          const struct cleave_platform *platform)
{
    if (!has_any(facts))
        return;
    cv_field_object(json, "about");
    put_text(json, "version", CLEAVE_VERSION);
    put_text(json, "command", facts->command);
    put_text(json, "engine", facts->engine);
    put_text(json, "noise", facts->noise);
    put_text(json, "picked", facts->picked);
    put_text(json, "why", facts->why);
    if (facts->lifespan_s > 0)
        cv_field_number(json, "lifespan", facts->lifespan_s);
    if (facts->failed > 0)
        cv_field_number(json, "failed", facts->failed);
    if (facts->left > 0)
        cv_field_number(json, "left", facts->left);
    if (facts->bound.name != NULL && isfinite(facts->bound.value_s)) {
        cv_field_object(json, "bound");
        put_text(json, "name", facts->bound.name);
        cv_field_number(json, "value", facts->bound.value_s);
        cv_json_end(json);
    }
    if (facts->nleft_out > 0 && platform != NULL) {
        cv_field_list(json, "left_out");
        for (size_t i = 0; i < facts->nleft_out; i++) {
            cv_json_object(json);
            put_text(json, "worker",
                     cleave_platform_worker_name(platform, facts->left_out[i].worker));
            put_text(json, "reason", facts->left_out[i].reason);
            cv_json_end(json);
        }
        cv_json_end(json);
    }
    if (facts->told != NULL)
        cv_trace_policy_input_write(json, facts->told);
    cv_json_end(json);
}

/* --- reading ------------------------------------------------------------------------ */

struct reading {
    struct cv_trace_lines *lines;
    struct cv_arena *arena;
    struct cleave_trace_facts facts;
    struct cleave_policy_input told;
};

static enum cleave_status keep_text(struct reading *reading, const char **out)
{
    const char *text;

    CV_TRY(cv_json_in_text(&reading->lines->in, &text, reading->lines->err));
    *out = cv_arena_text(reading->arena, text);
    return *out != NULL ? CLEAVE_OK
                        : cv_fail_memory(reading->lines->err, "the facts of a trace");
}

static enum cleave_status read_bound(struct reading *reading)
{
    struct cv_trace_lines *lines = reading->lines;
    bool first = true;
    const char *key;

    CV_TRY(cv_json_in_open(&lines->in, '{', lines->err));
    for (;;) {
        CV_TRY(cv_trace_key(lines, &first, &key));
        if (key == NULL)
            return CLEAVE_OK;
        if (strcmp(key, "name") == 0)
            CV_TRY(keep_text(reading, &reading->facts.bound.name));
        else if (strcmp(key, "value") == 0)
            CV_TRY(
                cv_json_in_number(&lines->in, &reading->facts.bound.value_s, lines->err));
        else
            CV_TRY(cv_trace_skip(lines));
    }
}

/* {"worker": NAME, "reason": TEXT} */
static enum cleave_status read_one_left_out(struct reading *reading,
                                            struct cleave_left_out *out)
{
    struct cv_trace_lines *lines = reading->lines;
    bool first = true;
    const char *key;

    *out = (struct cleave_left_out){ 0, "" };
    CV_TRY(cv_json_in_open(&lines->in, '{', lines->err));
    for (;;) {
        CV_TRY(cv_trace_key(lines, &first, &key));
        if (key == NULL)
            return CLEAVE_OK;
        if (strcmp(key, "worker") == 0)
            CV_TRY(cv_trace_worker(lines, "left_out", &out->worker));
        else if (strcmp(key, "reason") == 0)
            CV_TRY(keep_text(reading, &out->reason));
        else
            CV_TRY(cv_trace_skip(lines));
    }
}

static enum cleave_status read_left_out(struct reading *reading)
{
    struct cv_trace_lines *lines = reading->lines;
    struct cleave_left_out *items = NULL, *kept;
    size_t capacity = 0, count = 0;
    enum cleave_status status;
    bool first = true, more;

    status = cv_json_in_open(&lines->in, '[', lines->err);
    while (status == CLEAVE_OK) {
        status = cv_json_in_more(&lines->in, ']', &first, &more, lines->err);
        if (status != CLEAVE_OK || !more)
            break;
        status = CV_ROOM(items, &capacity, count + 1)
                     ? read_one_left_out(reading, &items[count++])
                     : cv_fail_memory(lines->err, "the facts of a trace");
    }
    kept = status == CLEAVE_OK ? cv_array(reading->arena, count, sizeof *kept) : NULL;
    if (kept != NULL && count > 0)
        memcpy(kept, items, count * sizeof *kept);
    else if (kept == NULL && status == CLEAVE_OK)
        status = cv_fail_memory(lines->err, "the facts of a trace");
    free(items);
    if (status == CLEAVE_OK) {
        reading->facts.left_out = kept;
        reading->facts.nleft_out = count;
    }
    return status;
}

static enum cleave_status read_member(struct reading *reading, const char *key)
{
    struct cleave_trace_facts *facts = &reading->facts;
    const struct {
        const char *key;
        const char **text;
    } texts[] = {
        { "version", &facts->version }, { "command", &facts->command },
        { "engine", &facts->engine },   { "noise", &facts->noise },
        { "picked", &facts->picked },   { "why", &facts->why },
    };
    const struct {
        const char *key;
        double *number;
    } numbers[] = {
        { "lifespan", &facts->lifespan_s },
        { "failed", &facts->failed },
        { "left", &facts->left },
    };

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcmp(key, texts[i].key) == 0)
            return keep_text(reading, texts[i].text);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (strcmp(key, numbers[i].key) == 0)
            return cv_json_in_number(&reading->lines->in, numbers[i].number,
                                     reading->lines->err);
    if (strcmp(key, "bound") == 0)
        return read_bound(reading);
    if (strcmp(key, "left_out") == 0)
        return read_left_out(reading);
    if (strcmp(key, "told") == 0) {
        CV_TRY(
            cv_trace_policy_input_read(reading->lines, reading->arena, &reading->told));
        facts->told = &reading->told;
        return CLEAVE_OK;
    }
    return cv_trace_skip(reading->lines);
}

/* Read the object behind "about" into the trace. Members that are not known are skipped,
 * so that later versions may add some. */
static enum cleave_status trace_facts_read(struct cv_trace_lines *lines,
                                           struct cv_arena *arena,
                                           struct cleave_trace *trace)
{
    struct reading reading = { .lines = lines, .arena = arena };
    bool first = true;
    const char *key;

    CV_TRY(cv_json_in_open(&lines->in, '{', lines->err));
    for (;;) {
        CV_TRY(cv_trace_key(lines, &first, &key));
        if (key == NULL)
            break;
        CV_TRY(read_member(&reading, key));
    }
    return cleave_trace_describe(trace, &reading.facts, lines->err);
}

/* --- the first line of a trace ----------------------------------------------------- */

static const char *const load_header[] = { "format", "policy", "load", "port",
                                           "workers" };
static const char *const reduce_header[] = { "format", "policy", "task", "nodes" };

/* What is read, and into what. */
struct header_reading {
    struct cv_trace_lines *lines;
    struct cv_arena *arena;
    struct cv_trace_header *out;
};

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

/* A string that is kept. */
static enum cleave_status header_keep_text(struct header_reading *header_reading,
                                           const char **out)
{
    const char *text;

    CV_TRY(
        cv_json_in_text(&header_reading->lines->in, &text, header_reading->lines->err));
    *out = cv_arena_text(header_reading->arena, text);
    return *out != NULL
               ? CLEAVE_OK
               : cv_fail_memory(header_reading->lines->err, "the header of a trace");
}

/* The names of the workers, which must be those of the platform. */
static enum cleave_status match_workers(struct cv_trace_lines *lines)
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

/* The same names sorted, to find workers by; no two may be equal. */
static enum cleave_status sort_names(struct header_reading *header_reading)
{
    const struct cv_trace_header *header = header_reading->out;
    struct cv_trace_name *names =
        cv_array(header_reading->arena, header->nworkers, sizeof *names);
    struct cv_place place =
        cv_json_in_place(&header_reading->lines->in, header_reading->lines->in.at);
    char shown[64];

    if (names == NULL)
        return cv_fail_memory(header_reading->lines->err, "the names of workers");
    for (uint32_t i = 0; i < header->nworkers; i++)
        names[i] = (struct cv_trace_name){ header->names[i], i };
    qsort(names, header->nworkers, sizeof *names, cv_trace_name_compare);
    header_reading->lines->names = names;
    header_reading->lines->nworkers = header->nworkers;
    place.field = "workers";
    for (uint32_t i = 1; i < header->nworkers; i++) {
        const char *name = names[i].name;

        if (strcmp(names[i - 1].name, name) == 0)
            return cv_fail_at(header_reading->lines->err, &place,
                              "expected different names, got two workers '%s'",
                              cv_shown(name, strlen(name), shown, sizeof shown));
    }
    return CLEAVE_OK;
}

/* Names of workers that nothing is known of beforehand. */
static enum cleave_status read_workers(struct header_reading *header_reading)
{
    struct cv_trace_lines *lines = header_reading->lines;
    struct cv_place place;
    size_t capacity = 0, count = 0;
    const char **names = NULL;
    enum cleave_status status;
    bool first = true, more = false;

    cv_json_in_skip(&lines->in);
    place = cv_json_in_place(&lines->in, lines->in.at);
    status = cv_json_in_open(&lines->in, '[', lines->err);
    while (status == CLEAVE_OK) {
        status = cv_json_in_more(&lines->in, ']', &first, &more, lines->err);
        if (status != CLEAVE_OK || !more || count == CLEAVE_MAX_WORKERS)
            break;
        if (!CV_ROOM(names, &capacity, count + 1)) {
            status = cv_fail_memory(lines->err, "the names of workers");
            break;
        }
        status = header_keep_text(header_reading, &names[count++]);
    }
    place.field = "workers";
    if (status == CLEAVE_OK && (more || count == 0))
        status = cv_fail_at(lines->err, &place, "expected from 1 to %u workers, got %s",
                            CLEAVE_MAX_WORKERS, more ? "more" : "none");
    if (status == CLEAVE_OK) {
        header_reading->out->names =
            cv_array(header_reading->arena, count, sizeof *names);
        header_reading->out->nworkers = (uint32_t)count;
        if (header_reading->out->names != NULL)
            memcpy(header_reading->out->names, names, count * sizeof *names);
        else
            status = cv_fail_memory(lines->err, "the names of workers");
    }
    free(names);
    return status == CLEAVE_OK ? sort_names(header_reading) : status;
}

static enum cleave_status read_port(struct header_reading *header_reading)
{
    static const enum cleave_port ports[] = { CLEAVE_PORT_ONE, CLEAVE_PORT_DUPLEX,
                                              CLEAVE_PORT_MULTI };
    struct cv_trace_lines *lines = header_reading->lines;
    const char *at, *text;

    if (lines->platform != NULL) {
        lines->port = header_reading->out->port = cleave_platform_port(lines->platform);
        return expect_text(lines, "port", cleave_port_name(header_reading->out->port));
    }
    cv_json_in_skip(&lines->in);
    at = lines->in.at;
    CV_TRY(cv_json_in_text(&lines->in, &text, lines->err));
    for (size_t i = 0; i < sizeof ports / sizeof *ports; i++) {
        if (strcmp(text, cleave_port_name(ports[i])) == 0) {
            lines->port = header_reading->out->port = ports[i];
            return CLEAVE_OK;
        }
    }
    return cv_trace_fail(lines, at, "port", "expected one, duplex or multi", text);
}

static enum cleave_status read_nodes(struct header_reading *header_reading)
{
    struct cv_trace_lines *lines = header_reading->lines;
    struct cv_place place;
    uint64_t nodes;

    cv_json_in_skip(&lines->in);
    place = cv_json_in_place(&lines->in, lines->in.at);
    place.field = "nodes";
    CV_TRY(cv_json_in_count(&lines->in, &nodes, lines->err));
    if (nodes < 1 || nodes > UINT32_MAX)
        return cv_fail_at(lines->err, &place, "expected from 1 to %lu nodes, got %llu",
                          (unsigned long)UINT32_MAX, (unsigned long long)nodes);
    lines->nworkers = header_reading->out->nworkers = (uint32_t)nodes;
    return CLEAVE_OK;
}

static enum cleave_status read_value(struct header_reading *header_reading,
                                     const char *name)
{
    struct cv_trace_lines *lines = header_reading->lines;

    if (strcmp(name, "format") == 0)
        return expect_text(lines, name, CV_TRACE_FORMAT);
    if (strcmp(name, "policy") == 0)
        return header_keep_text(header_reading, &header_reading->out->policy);
    if (strcmp(name, "load") == 0)
        return cv_json_in_number(&lines->in, &header_reading->out->load, lines->err);
    if (strcmp(name, "port") == 0)
        return read_port(header_reading);
    if (strcmp(name, "workers") == 0)
        return lines->platform != NULL ? match_workers(lines)
                                       : read_workers(header_reading);
    if (strcmp(name, "task") == 0)
        return expect_text(lines, name, "reduce");
    return read_nodes(header_reading);
}

/* The key of field `i`, which also tells what a trace is about if nobody knows. */
static enum cleave_status read_key(struct header_reading *header_reading, size_t i,
                                   bool more)
{
    struct cv_trace_lines *lines = header_reading->lines;
    const char *const *names =
        lines->task == CLEAVE_TASK_LOAD ? load_header : reduce_header;
    struct cv_place place;
    const char *at, *key;

    cv_json_in_skip(&lines->in);
    at = lines->in.at;
    if (more) {
        CV_TRY(cv_json_in_key(&lines->in, &key, lines->err));
        if (lines->any && i == 2 && strcmp(key, reduce_header[i]) == 0) {
            lines->task = CLEAVE_TASK_REDUCE;
            return CLEAVE_OK;
        }
        if (strcmp(key, names[i]) == 0)
            return CLEAVE_OK;
    }
    place = cv_json_in_place(&lines->in, at);
    return cv_fail_at(lines->err, &place, "expected the field '%s' of a trace%s",
                      names[i],
                      lines->task == CLEAVE_TASK_LOAD || i < 2 ? "" : " of a reduction");
}

/* What may follow: the facts. */
static enum cleave_status read_rest(struct header_reading *header_reading, bool *first,
                                    struct cleave_trace *trace)
{
    struct cv_trace_lines *lines = header_reading->lines;
    const char *at, *key;
    struct cv_place place;
    bool more;

    CV_TRY(cv_json_in_more(&lines->in, '}', first, &more, lines->err));
    if (more) {
        cv_json_in_skip(&lines->in);
        at = lines->in.at;
        CV_TRY(cv_json_in_key(&lines->in, &key, lines->err));
        if (strcmp(key, "about") == 0) {
            CV_TRY(trace_facts_read(lines, header_reading->arena, trace));
            CV_TRY(cv_json_in_more(&lines->in, '}', first, &more, lines->err));
            cv_json_in_skip(&lines->in);
            at = lines->in.at;
        }
        if (more) {
            place = cv_json_in_place(&lines->in, at);
            return cv_fail_at(lines->err, &place, "expected the end of the header");
        }
    }
    return cv_json_in_end(&lines->in, lines->err);
}

enum cleave_status cv_trace_header_read(struct cv_trace_lines *lines,
                                        struct cv_arena *arena,
                                        struct cleave_trace *trace,
                                        struct cv_trace_header *out)
{
    struct header_reading header_reading = { lines, arena, out };
    bool first = true, more;
    size_t count = 3;

    lines->task =
        lines->platform != NULL || lines->any ? CLEAVE_TASK_LOAD : CLEAVE_TASK_REDUCE;
    CV_TRY(cv_json_in_open(&lines->in, '{', lines->err));
    for (size_t i = 0; i < count; i++) {
        CV_TRY(cv_json_in_more(&lines->in, '}', &first, &more, lines->err));
        CV_TRY(read_key(&header_reading, i, more));
        CV_TRY(read_value(&header_reading, lines->task == CLEAVE_TASK_LOAD
                                               ? load_header[i]
                                               : reduce_header[i]));
        count = lines->task == CLEAVE_TASK_LOAD
                    ? sizeof load_header / sizeof *load_header
                    : sizeof reduce_header / sizeof *reduce_header;
    }
    out->task = lines->task;
    CV_TRY(cleave_trace_describe(trace,
                                 &(struct cleave_trace_facts){ .policy = out->policy },
                                 lines->err));
    return read_rest(&header_reading, &first, trace);
}
