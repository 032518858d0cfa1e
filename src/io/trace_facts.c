/* trace_facts.c -- what is known of a run as a whole, in the header of its trace.
 * SPDX-License-Identifier: MIT */
#include "io/trace_facts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cleave/version.h>
#include "io/trace_policy_input.h"

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

enum cleave_status cv_trace_facts_read(struct cv_trace_lines *lines,
                                       struct cv_arena *arena, struct cleave_trace *trace)
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
