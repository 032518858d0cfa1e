/* trace_limits.c -- profiles and memory of workers, in the header of a trace.
 * SPDX-License-Identifier: MIT */
#include "io/trace_limits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void cv_trace_limits_write(struct cv_json *json, const struct cleave_view *view)
{
    if (view->profiles != NULL) {
        cv_field_list(json, "profiles");
        for (uint32_t w = 0; w < view->nworkers; w++) {
            cv_json_list(json);
            for (uint32_t i = 0; i < view->profiles[w].nsteps; i++) {
                cv_json_number(json, view->profiles[w].steps[i].from_s);
                cv_json_number(json, view->profiles[w].steps[i].factor);
            }
            cv_json_end(json);
        }
        cv_json_end(json);
    }
    if (view->memory != NULL) {
        cv_field_list(json, "memory");
        for (uint32_t w = 0; w < view->nworkers; w++)
            cv_json_number(json, isinf(view->memory[w]) ? 0 : view->memory[w]);
        cv_json_end(json);
    }
}

enum cleave_status cv_trace_numbers_read(struct cv_trace_lines *lines,
                                         struct cv_arena *arena, const char *field,
                                         double **out, size_t *out_count)
{
    double *numbers = NULL;
    enum cleave_status status;
    bool first = true, more;
    size_t room = 0, count = 0;

    status = cv_json_in_open(&lines->in, '[', lines->err);
    while (status == CLEAVE_OK) {
        status = cv_json_in_more(&lines->in, ']', &first, &more, lines->err);
        if (status != CLEAVE_OK || !more)
            break;
        status = CV_ROOM(numbers, &room, count + 1)
                     ? cv_trace_positive(lines, field, &numbers[count++])
                     : cv_fail_memory(lines->err, "the facts of a trace");
    }
    *out = status == CLEAVE_OK ? cv_array(arena, count, sizeof *numbers) : NULL;
    if (status == CLEAVE_OK && *out == NULL)
        status = cv_fail_memory(lines->err, "the facts of a trace");
    if (status == CLEAVE_OK && count > 0)
        memcpy(*out, numbers, count * sizeof *numbers);
    *out_count = count;
    free(numbers);
    return status;
}

static enum cleave_status wrong_count(struct cv_trace_lines *lines, const char *field)
{
    struct cv_place place = cv_json_in_place(&lines->in, lines->in.at);

    place.field = field;
    return cv_fail_at(lines->err, &place, "expected an entry for each of %u workers",
                      lines->nworkers);
}

/* Pairs in increasing time, as platform files have them. */
static enum cleave_status read_profile(struct cv_trace_lines *lines,
                                       struct cv_arena *arena, struct cleave_profile *out)
{
    struct cv_place place = cv_json_in_place(&lines->in, lines->in.at);
    struct cleave_step *steps;
    double *numbers = NULL;
    size_t count = 0;

    place.field = "profiles";
    CV_TRY(cv_trace_numbers_read(lines, arena, "profiles", &numbers, &count));
    steps = cv_array(arena, count / 2, sizeof *steps);
    if (steps == NULL)
        return cv_fail_memory(lines->err, "the facts of a trace");
    for (size_t i = 0; i < count / 2; i++) {
        steps[i] = (struct cleave_step){ numbers[2 * i], numbers[2 * i + 1] };
        if (i > 0 && !(steps[i].from_s > steps[i - 1].from_s))
            return cv_fail_at(lines->err, &place, "expected increasing times");
    }
    if (count % 2 != 0 || count / 2 > UINT32_MAX)
        return cv_fail_at(lines->err, &place, "expected pairs of time and factor");
    *out = (struct cleave_profile){ count > 0 ? steps : NULL, (uint32_t)(count / 2) };
    return CLEAVE_OK;
}

enum cleave_status cv_trace_profiles_read(struct cv_trace_lines *lines,
                                          struct cv_arena *arena,
                                          struct cleave_view *view)
{
    struct cleave_profile *profiles;
    bool first = true, more;
    uint32_t n = 0;

    if ((size_t)(lines->in.end - lines->in.at) / 2 < lines->nworkers)
        return wrong_count(lines, "profiles");
    profiles = cv_array(arena, lines->nworkers, sizeof *profiles);
    if (profiles == NULL)
        return cv_fail_memory(lines->err, "the facts of a trace");
    CV_TRY(cv_json_in_open(&lines->in, '[', lines->err));
    for (;; n++) {
        CV_TRY(cv_json_in_more(&lines->in, ']', &first, &more, lines->err));
        if (!more || n == lines->nworkers)
            break;
        CV_TRY(read_profile(lines, arena, &profiles[n]));
    }
    if (more || n < lines->nworkers)
        return wrong_count(lines, "profiles");
    view->profiles = profiles;
    return CLEAVE_OK;
}

enum cleave_status cv_trace_memory_read(struct cv_trace_lines *lines,
                                        struct cv_arena *arena, struct cleave_view *view)
{
    double *memory = NULL;
    size_t count = 0;

    CV_TRY(cv_trace_numbers_read(lines, arena, "memory", &memory, &count));
    if (count != lines->nworkers)
        return wrong_count(lines, "memory");
    for (size_t w = 0; w < count; w++)
        memory[w] = memory[w] > 0 ? memory[w] : INFINITY;
    view->memory = memory;
    return CLEAVE_OK;
}
