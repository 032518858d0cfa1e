/* trace_header.c -- the first line of a trace. SPDX-License-Identifier: MIT
 *
 * Its fields have a fixed order, so that a file of another kind is refused at once. The
 * facts at its end have any order, and unknown facts are skipped. */
#include "io/trace_header.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <cleave/version.h>
#include "base/text.h"
#include "io/trace_policy_input.h"

#define FORMAT "cleave-trace-1"

static const char *const headers[2][6] = {
    [CLEAVE_TASK_LOAD] = { "format", "policy", "load", "port", "workers" },
    [CLEAVE_TASK_REDUCE] = { "format", "policy", "task", "nodes" },
};

/* --- writing ------------------------------------------------------------------------ */

static void put_text(struct cv_json *json, const char *key, const char *text)
{
    if (text != NULL)
        cv_field_text(json, key, text);
}

static void put_positive(struct cv_json *json, const char *key, double value)
{
    if (value > 0)
        cv_field_number(json, key, value);
}

static bool has_any(const struct cleave_trace_facts *facts)
{
    return facts->command != NULL || facts->engine != NULL || facts->noise != NULL ||
           facts->picked != NULL || facts->why != NULL || facts->bound.name != NULL ||
           facts->nleft_out > 0 || facts->lifespan_s > 0 || facts->failed > 0 ||
           facts->left > 0 || facts->told != NULL;
}

static void write_facts(struct cv_json *json, const struct cleave_trace_facts *facts,
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
    put_positive(json, "lifespan", facts->lifespan_s);
    put_positive(json, "failed", facts->failed);
    put_positive(json, "left", facts->left);
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

void cv_trace_header_write(struct cv_json *json, const struct cv_trace_workers *workers,
                           const char *policy, double load,
                           const struct cleave_trace_facts *facts)
{
    const struct cleave_platform *platform = workers->platform;

    cv_json_object(json);
    cv_field_text(json, "format", FORMAT);
    cv_field_text(json, "policy", policy);
    if (platform != NULL) {
        cv_field_number(json, "load", load);
        cv_field_text(json, "port", cleave_port_name(cleave_platform_port(platform)));
        cv_field_list(json, "workers");
        for (uint32_t i = 0; i < workers->count; i++)
            cv_json_text(json, cleave_platform_worker_name(platform, i));
        cv_json_end(json);
    } else {
        cv_field_text(json, "task", "reduce");
        cv_field_count(json, "nodes", workers->count);
    }
    write_facts(json, facts, platform);
    cv_json_end(json);
    cv_json_close(json);
}

/* --- reading facts ------------------------------------------------------------------ */

struct reading {
    struct cv_trace_lines *lines;
    struct cleave_trace_facts facts;
    struct cleave_policy_input told;
    struct cleave_left_out *left_out; /* the element that is being read */
};

static enum cleave_status read_bound(void *context, const char *key)
{
    struct reading *reading = context;

    if (strcmp(key, "name") == 0)
        return cv_trace_text(reading->lines, &reading->facts.bound.name);
    if (strcmp(key, "value") == 0)
        return cv_json_in_number(&reading->lines->in, &reading->facts.bound.value_s);
    return cv_trace_skip(reading->lines);
}

static enum cleave_status read_left_out_key(void *context, const char *key)
{
    struct reading *reading = context;

    if (strcmp(key, "worker") == 0)
        return cv_trace_worker(reading->lines, "left_out", &reading->left_out->worker);
    if (strcmp(key, "reason") == 0)
        return cv_trace_text(reading->lines, &reading->left_out->reason);
    return cv_trace_skip(reading->lines);
}

/* {"worker": NAME, "reason": TEXT} */
static enum cleave_status read_left_out(void *context, void *element)
{
    struct reading *reading = context;

    reading->left_out = element;
    *reading->left_out = (struct cleave_left_out){ 0, "" };
    return cv_trace_object(reading->lines, read_left_out_key, reading);
}

static enum cleave_status read_fact(void *context, const char *key)
{
    struct reading *reading = context;
    struct cv_trace_lines *lines = reading->lines;
    struct cleave_trace_facts *facts = &reading->facts;
    const struct {
        const char *key;
        const char **text;
        double *number;
    } members[] = {
        { "version", &facts->version, NULL },     { "command", &facts->command, NULL },
        { "engine", &facts->engine, NULL },       { "noise", &facts->noise, NULL },
        { "picked", &facts->picked, NULL },       { "why", &facts->why, NULL },
        { "lifespan", NULL, &facts->lifespan_s }, { "failed", NULL, &facts->failed },
        { "left", NULL, &facts->left },
    };

    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (strcmp(key, members[i].key) == 0)
            return members[i].text != NULL
                       ? cv_trace_text(lines, members[i].text)
                       : cv_json_in_number(&lines->in, members[i].number);
    if (strcmp(key, "bound") == 0)
        return cv_trace_object(lines, read_bound, reading);
    if (strcmp(key, "left_out") == 0)
        return cv_trace_list(lines, '[', sizeof *facts->left_out, SIZE_MAX, read_left_out,
                             reading, &facts->left_out, &facts->nleft_out);
    if (strcmp(key, "told") == 0) {
        facts->told = &reading->told;
        return cv_trace_policy_input_read(lines, &reading->told);
    }
    return cv_trace_skip(lines);
}

/* --- reading the header ------------------------------------------------------------- */

/* A string that must be `wanted`. */
static enum cleave_status expect_text(struct cv_trace_lines *lines, const char *field,
                                      const char *wanted)
{
    const char *at = cv_json_in_skip(&lines->in), *text;
    char expected[160];

    CV_TRY(cv_json_in_text(&lines->in, &text));
    if (strcmp(text, wanted) == 0)
        return CLEAVE_OK;
    snprintf(expected, sizeof expected, "expected '%s'", wanted);
    return cv_trace_fail_got(lines, at, field, expected, text);
}

/* The names of the workers, which must be those of the platform. */
static enum cleave_status match_workers(struct cv_trace_lines *lines)
{
    uint32_t count = lines->nworkers, n = 0;
    bool first = true, more;

    CV_TRY(cv_json_in_open(&lines->in, '['));
    for (;; n++) {
        CV_TRY(cv_json_in_more(&lines->in, ']', &first, &more));
        if (!more || n == count)
            break;
        CV_TRY(expect_text(lines, "workers",
                           cleave_platform_worker_name(lines->platform, n)));
    }
    return !more && n == count
               ? CLEAVE_OK
               : cv_trace_fail(lines, lines->in.at, "workers",
                               "expected the %lu workers of the platform, got %s",
                               (unsigned long)count, more ? "more" : "fewer");
}

/* Make the sorted list by which workers are found; no two names may be equal. */
static enum cleave_status sort_names(struct cv_trace_lines *lines,
                                     const struct cv_trace_header *header)
{
    struct cv_trace_name *names = cv_array(lines->arena, header->nworkers, sizeof *names);
    char shown[64];

    if (names == NULL)
        return cv_fail_memory(lines->in.err, "the names of workers");
    for (uint32_t i = 0; i < header->nworkers; i++)
        names[i] = (struct cv_trace_name){ header->names[i], i };
    qsort(names, header->nworkers, sizeof *names, cv_trace_name_compare);
    lines->names = names;
    lines->nworkers = header->nworkers;
    for (uint32_t i = 1; i < header->nworkers; i++) {
        const char *name = names[i].name;

        if (strcmp(names[i - 1].name, name) == 0)
            return cv_trace_fail(lines, lines->in.at, "workers",
                                 "expected different names, got two workers '%s'",
                                 cv_shown(name, strlen(name), shown, sizeof shown));
    }
    return CLEAVE_OK;
}

static enum cleave_status read_name(void *context, void *element)
{
    return cv_trace_text(context, element);
}

static enum cleave_status read_workers(struct cv_trace_lines *lines,
                                       struct cv_trace_header *out)
{
    const char *at = cv_json_in_skip(&lines->in);
    size_t count;

    CV_TRY(cv_trace_list(lines, '[', sizeof *out->names, CLEAVE_MAX_WORKERS, read_name,
                         lines, &out->names, &count));
    if (count == 0 || count > CLEAVE_MAX_WORKERS)
        return cv_trace_fail(lines, at, "workers",
                             "expected from 1 to %u workers, got %s", CLEAVE_MAX_WORKERS,
                             count > 0 ? "more" : "none");
    out->nworkers = (uint32_t)count;
    return sort_names(lines, out);
}

static enum cleave_status read_port(struct cv_trace_lines *lines,
                                    struct cv_trace_header *out)
{
    const char *at = cv_json_in_skip(&lines->in), *text;

    if (lines->platform != NULL) {
        lines->port = out->port = cleave_platform_port(lines->platform);
        return expect_text(lines, "port", cleave_port_name(out->port));
    }
    CV_TRY(cv_json_in_text(&lines->in, &text));
    for (enum cleave_port port = CLEAVE_PORT_ONE; port <= CLEAVE_PORT_MULTI; port++)
        if (strcmp(text, cleave_port_name(port)) == 0) {
            lines->port = out->port = port;
            return CLEAVE_OK;
        }
    return cv_trace_fail_got(lines, at, "port", "expected one, duplex or multi", text);
}

static enum cleave_status read_nodes(struct cv_trace_lines *lines,
                                     struct cv_trace_header *out)
{
    const char *at = cv_json_in_skip(&lines->in);
    uint64_t nodes;

    CV_TRY(cv_json_in_count(&lines->in, &nodes));
    if (nodes < 1 || nodes > UINT32_MAX)
        return cv_trace_fail(lines, at, "nodes", "expected from 1 to %lu nodes, got %llu",
                             (unsigned long)UINT32_MAX, (unsigned long long)nodes);
    lines->nworkers = out->nworkers = (uint32_t)nodes;
    return CLEAVE_OK;
}

static enum cleave_status read_value(struct cv_trace_lines *lines, const char *name,
                                     struct cv_trace_header *out)
{
    if (strcmp(name, "format") == 0)
        return expect_text(lines, name, FORMAT);
    if (strcmp(name, "policy") == 0)
        return cv_trace_text(lines, &out->policy);
    if (strcmp(name, "load") == 0)
        return cv_json_in_number(&lines->in, &out->load);
    if (strcmp(name, "port") == 0)
        return read_port(lines, out);
    if (strcmp(name, "workers") == 0)
        return lines->platform != NULL ? match_workers(lines) : read_workers(lines, out);
    if (strcmp(name, "task") == 0)
        return expect_text(lines, name, "reduce");
    return read_nodes(lines, out);
}

/* The key of field `i`. The third key tells the task of a trace that may be of any. */
static enum cleave_status read_key(struct cv_trace_lines *lines, size_t i, bool more)
{
    const char *at = cv_json_in_skip(&lines->in), *key;

    if (more) {
        CV_TRY(cv_json_in_key(&lines->in, &key));
        if (lines->any && i == 2 && strcmp(key, headers[CLEAVE_TASK_REDUCE][i]) == 0)
            lines->task = CLEAVE_TASK_REDUCE;
        if (strcmp(key, headers[lines->task][i]) == 0)
            return CLEAVE_OK;
    }
    return cv_trace_fail(lines, at, NULL, "expected the field '%s' of a trace%s",
                         headers[lines->task][i],
                         lines->task == CLEAVE_TASK_LOAD || i < 2 ? ""
                                                                  : " of a reduction");
}

/* The optional facts, and the end of the line. */
static enum cleave_status read_rest(struct cv_trace_lines *lines, bool *first,
                                    struct cleave_trace *trace)
{
    struct reading reading = { .lines = lines };
    const char *at, *key;
    bool more;

    CV_TRY(cv_json_in_more(&lines->in, '}', first, &more));
    at = cv_json_in_skip(&lines->in);
    if (more) {
        CV_TRY(cv_json_in_key(&lines->in, &key));
        if (strcmp(key, "about") == 0) {
            CV_TRY(cv_trace_object(lines, read_fact, &reading));
            CV_TRY(cleave_trace_describe(trace, &reading.facts, lines->in.err));
            CV_TRY(cv_json_in_more(&lines->in, '}', first, &more));
            at = cv_json_in_skip(&lines->in);
        }
    }
    return more ? cv_trace_fail(lines, at, NULL, "expected the end of the header")
                : cv_json_in_end(&lines->in);
}

enum cleave_status cv_trace_header_read(struct cv_trace_lines *lines,
                                        struct cleave_trace *trace,
                                        struct cv_trace_header *out)
{
    bool first = true, more;

    lines->task =
        lines->platform != NULL || lines->any ? CLEAVE_TASK_LOAD : CLEAVE_TASK_REDUCE;
    CV_TRY(cv_json_in_open(&lines->in, '{'));
    for (size_t i = 0; headers[lines->task][i] != NULL; i++) {
        CV_TRY(cv_json_in_more(&lines->in, '}', &first, &more));
        CV_TRY(read_key(lines, i, more));
        CV_TRY(read_value(lines, headers[lines->task][i], out));
    }
    out->task = lines->task;
    CV_TRY(cleave_trace_describe(trace,
                                 &(struct cleave_trace_facts){ .policy = out->policy },
                                 lines->in.err));
    return read_rest(lines, &first, trace);
}
