/* trace_policy_input.c -- write what a policy was told into the header of its trace.
 * SPDX-License-Identifier: MIT
 *
 * A worker is a list of its costs, in the order of cv_worker_fields; `alike` more are as
 * the last one, mostly places that nobody took. Without `units` the load is a stream. */
#include "io/trace_policy_input.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/arena.h"
#include "io/json_out.h"
#include "io/trace_line.h"
#include "model/platform/platform_internal.h"

/* --- profiles and memory of workers, in the header of a trace ---------------------- */

/* Members "profiles" and "memory" of the object that is open, if the view has them. Each is a
 * list with an entry per worker: time, factor, time, factor, .. and units, 0 for any. */
static void trace_limits_write(struct cv_json *json, const struct cleave_view *view)
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

/* A list of numbers of at least 0, however many, in the arena. */
static enum cleave_status trace_numbers_read(struct cv_trace_lines *lines,
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
    CV_TRY(trace_numbers_read(lines, arena, "profiles", &numbers, &count));
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

/* Read what is behind either key into the view; it lives in the arena. */
static enum cleave_status trace_profiles_read(struct cv_trace_lines *lines,
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

static enum cleave_status trace_memory_read(struct cv_trace_lines *lines,
                                            struct cv_arena *arena,
                                            struct cleave_view *view)
{
    double *memory = NULL;
    size_t count = 0;

    CV_TRY(trace_numbers_read(lines, arena, "memory", &memory, &count));
    if (count != lines->nworkers)
        return wrong_count(lines, "memory");
    for (size_t w = 0; w < count; w++)
        memory[w] = memory[w] > 0 ? memory[w] : INFINITY;
    view->memory = memory;
    return CLEAVE_OK;
}

/* --- write what a policy was told into the header of its trace --------------------- */

static void put_flag(struct cv_json *json, const char *key, bool value)
{
    if (!value)
        return;
    cv_field_bool(json, key, true);
}

/* Results are reduced, so many at a time. */
static void put_folders(struct cv_json *json, const struct cleave_view *view)
{
    if (view->folders == 0)
        return;
    cv_field_count(json, "folders", view->folders);
    put_flag(json, "folds_apart", view->folds_apart);
}

/* Chunks may be opened, and what is known of those who read them. */
static void put_opens(struct cv_json *json, const struct cleave_view *view)
{
    if (!view->opens)
        return;
    put_flag(json, "opens", true);
    cv_field_number(json, "ahead", view->ahead);
    cv_field_number(json, "hold", view->hold);
    cv_field_number(json, "unequal", view->unequal);
    if (view->burst_s > 0)
        cv_field_number(json, "burst", view->burst_s);
    if (view->varies > 0)
        cv_field_number(json, "varies", view->varies);
}

static void put_reads(struct cv_json *json, const struct cleave_policy_input *told)
{
    if (told->reads == NULL)
        return;
    cv_field_text(json, "reads", told->reads);
    cv_field_number(json, "supply", told->input);
}

static void put_sizes(struct cv_json *json, const struct cleave_view *view)
{
    if (view->nitems == 0)
        return;
    cv_field_list(json, "sizes");
    for (uint64_t i = 0; i < view->nitems; i++)
        cv_json_number(json, view->sizes[i]);
    cv_json_end(json);
}

static void put_settings(struct cv_json *json, const struct cleave_policy_input *told)
{
    if (told->nsettings == 0)
        return;
    cv_field_object(json, "params");
    for (size_t i = 0; i < told->nsettings; i++) {
        cv_field_text(json, told->settings[i].key, told->settings[i].value);
    }
    cv_json_end(json);
}

/* One number per node, if there are such numbers. */
static void put_each(struct cv_json *json, const char *key, uint32_t n,
                     const double *each_s)
{
    if (each_s == NULL)
        return;
    cv_field_list(json, key);
    for (uint32_t i = 0; i < n; i++)
        cv_json_number(json, each_s[i]);
    cv_json_end(json);
}

static bool are_alike(const struct cleave_worker *a, const struct cleave_worker *b)
{
    bool alike = true;

    for (size_t i = 0; i < CV_WORKER_FIELDS; i++)
        alike &= cv_worker_cost_of(a, &cv_worker_fields[i]) ==
                 cv_worker_cost_of(b, &cv_worker_fields[i]);
    return alike;
}

/* How many of the last ones need not be written. */
static uint32_t count_alike(const struct cleave_view *view)
{
    const struct cleave_worker *last = view->workers + view->nworkers - 1;
    uint32_t alike = 0;

    while (alike + 1 < view->nworkers && alike < CV_TRACE_ALIKE_MOST &&
           are_alike(last - alike - 1, last))
        alike++;
    return alike;
}

static void put_workers(struct cv_json *json, const struct cleave_view *view)
{
    const uint32_t alike = count_alike(view);

    cv_field_list(json, "workers");
    for (uint32_t w = 0; w < view->nworkers - alike; w++) {
        cv_json_list(json);
        for (size_t i = 0; i < CV_WORKER_FIELDS; i++)
            cv_json_number(json,
                           cv_worker_cost_of(&view->workers[w], &cv_worker_fields[i]));
        cv_json_end(json);
    }
    cv_json_end(json);
    if (alike > 0) {
        cv_field_count(json, "alike", alike);
    }
}

void cv_trace_policy_input_write(struct cv_json *json,
                                 const struct cleave_policy_input *told)
{
    const struct cleave_view *view = &told->view;

    cv_field_object(json, "told");
    cv_field_count(json, "seed", view->seed);
    put_settings(json, told);
    if (view->workers == NULL) {
        cv_field_number(json, "transfer", view->transfer_s);
        cv_field_number(json, "compute", view->compute_s);
        put_each(json, "compute_each", view->nworkers, view->compute_each_s);
        put_each(json, "ready", view->nworkers, view->ready_s);
        if (view->ready_s != NULL) {
            cv_field_count(json, "ready_model", view->ready_model);
        }
    } else {
        if (isfinite(view->units_total))
            cv_field_number(json, "units", view->units_total);
        cv_field_number(json, "result_ratio", view->result_ratio);
        cv_field_number(json, "lifespan", view->lifespan_s);
        cv_field_number(json, "error", view->error);
        put_flag(json, "sends_first", view->sends_first);
        put_flag(json, "before_round", view->before_round);
        put_flag(json, "real", view->real);
        put_flag(json, "measured", view->measured);
        put_opens(json, view);
        put_folders(json, view);
        put_reads(json, told);
        put_flag(json, "changing", told->changing);
        put_sizes(json, view);
        put_workers(json, view);
        trace_limits_write(json, view);
    }
    cv_json_end(json);
}

/* --- read what a policy was told from the header of its trace ---------------------- */

struct reading {
    struct cv_trace_lines *lines;
    struct cv_arena *arena;
    struct cleave_policy_input *told;
};

static enum cleave_status short_of_memory(const struct reading *reading)
{
    return cv_fail_memory(reading->lines->err, "the facts of a trace");
}

static enum cleave_status keep_text(const struct reading *reading, const char *text,
                                    const char **out)
{
    *out = cv_arena_text(reading->arena, text);
    return *out != NULL ? CLEAVE_OK : short_of_memory(reading);
}

/* A list of exactly `count` numbers. */
static enum cleave_status read_costs(const struct reading *reading, const char *field,
                                     uint32_t count, double *out)
{
    struct cv_json_in *in = &reading->lines->in;
    struct cv_place place;
    bool first = true, more = true;

    cv_json_in_skip(in);
    place = cv_json_in_place(in, in->at);
    place.field = field;
    CV_TRY(cv_json_in_open(in, '[', reading->lines->err));
    for (uint32_t i = 0; more; i++) {
        CV_TRY(cv_json_in_more(in, ']', &first, &more, reading->lines->err));
        if (more != (i < count))
            return cv_fail_at(reading->lines->err, &place, "expected %u numbers, got %s",
                              count, more ? "more" : "fewer");
        if (more)
            CV_TRY(cv_trace_positive(reading->lines, field, &out[i]));
    }
    return CLEAVE_OK;
}

/* Copy what was read into the arena, and let go of where it was. */
static enum cleave_status keep_workers(const struct reading *reading,
                                       struct cleave_worker *workers, uint32_t count,
                                       enum cleave_status status)
{
    struct cleave_worker *kept =
        status == CLEAVE_OK ? cv_array(reading->arena, count, sizeof *kept) : NULL;

    if (kept != NULL && count > 0)
        memcpy(kept, workers, count * sizeof *kept);
    free(workers);
    if (status != CLEAVE_OK)
        return status;
    if (kept == NULL)
        return short_of_memory(reading);
    reading->told->view.workers = kept;
    reading->told->view.nworkers = count;
    return CLEAVE_OK;
}

static enum cleave_status read_workers(const struct reading *reading)
{
    struct cv_json_in *in = &reading->lines->in;
    struct cleave_worker *workers = NULL;
    enum cleave_status status;
    struct cv_place place;
    bool first = true, more = true;
    size_t room = 0;
    uint32_t count = 0;

    cv_json_in_skip(in);
    place = cv_json_in_place(in, in->at);
    place.field = "workers";
    status = cv_json_in_open(in, '[', reading->lines->err);
    while (status == CLEAVE_OK) {
        double costs[CV_WORKER_FIELDS] = { 0 };

        status = cv_json_in_more(in, ']', &first, &more, reading->lines->err);
        if (status != CLEAVE_OK || !more || count == CLEAVE_MAX_WORKERS)
            break;
        if (!CV_ROOM(workers, &room, count + 1u)) {
            status = short_of_memory(reading);
            break;
        }
        status = read_costs(reading, "workers", CV_WORKER_FIELDS, costs);
        for (size_t i = 0; i < CV_WORKER_FIELDS; i++)
            *cv_worker_cost(&workers[count], &cv_worker_fields[i]) = costs[i];
        count++;
    }
    if (status == CLEAVE_OK && more)
        status = cv_fail_at(reading->lines->err, &place,
                            "expected the costs of %u workers or more, got too many",
                            reading->lines->nworkers);
    return keep_workers(reading, workers, count, status);
}

/* As many more as the last of those that were read. */
static enum cleave_status read_alike(const struct reading *reading)
{
    struct cleave_view *view = &reading->told->view;
    struct cv_json_in *in = &reading->lines->in;
    const uint32_t listed = view->workers != NULL ? view->nworkers : 0;
    struct cleave_worker *all;
    struct cv_place place;
    uint64_t alike = 0;

    cv_json_in_skip(in);
    place = cv_json_in_place(in, in->at);
    place.field = "alike";
    CV_TRY(cv_json_in_count(in, &alike, reading->lines->err));
    if (listed == 0 || alike > CV_TRACE_ALIKE_MOST || listed + alike > CLEAVE_MAX_WORKERS)
        return cv_fail_at(reading->lines->err, &place,
                          "expected at most %d workers like the last one",
                          CV_TRACE_ALIKE_MOST);
    all = cv_array(reading->arena, listed + alike, sizeof *all);
    if (all == NULL)
        return short_of_memory(reading);
    for (uint64_t i = 0; i < listed + alike; i++)
        all[i] = view->workers[i < listed ? i : listed - 1];
    view->workers = all;
    view->nworkers = (uint32_t)(listed + alike);
    return CLEAVE_OK;
}

static enum cleave_status read_each(const struct reading *reading, const char *key,
                                    const double **out)
{
    struct cv_json_in *in = &reading->lines->in;
    const uint32_t count = reading->lines->nworkers;
    double *each_s;

    /* A header of a few bytes may claim any number of nodes: is there such a list? */
    if ((size_t)(in->end - in->at) / 2 < count) {
        struct cv_place place = cv_json_in_place(in, in->at);

        place.field = key;
        return cv_fail_at(reading->lines->err, &place, "expected %u numbers, got fewer",
                          count);
    }
    each_s = cv_array(reading->arena, count, sizeof *each_s);
    if (each_s == NULL)
        return short_of_memory(reading);
    CV_TRY(read_costs(reading, key, count, each_s));
    *out = each_s;
    return CLEAVE_OK;
}

/* A number that a later version may have more of is a mistake here. */
static enum cleave_status read_ready_model(const struct reading *reading)
{
    struct cv_json_in *in = &reading->lines->in;
    struct cv_place place = cv_json_in_place(in, in->at);
    uint64_t model = 0;

    CV_TRY(cv_json_in_count(in, &model, reading->lines->err));
    place.field = "ready_model";
    if (model > CLEAVE_READY_MERGE)
        return cv_fail_at(reading->lines->err, &place, "expected 0, 1 or 2");
    reading->told->view.ready_model = (enum cleave_ready_model)model;
    return CLEAVE_OK;
}

/* How the commands of forecasts read. */
static enum cleave_status read_reads(const struct reading *reading)
{
    struct cv_trace_lines *lines = reading->lines;
    const char *name;

    CV_TRY(cv_json_in_text(&lines->in, &name, lines->err));
    return keep_text(reading, name, &reading->told->reads);
}

/* The sizes of items, as many as there are. */
static enum cleave_status read_sizes(const struct reading *reading)
{
    double *sizes;
    size_t count;

    CV_TRY(trace_numbers_read(reading->lines, reading->arena, "sizes", &sizes, &count));
    reading->told->view.sizes = sizes;
    reading->told->view.nitems = count;
    return CLEAVE_OK;
}

static enum cleave_status read_settings(const struct reading *reading)
{
    struct cv_json_in *in = &reading->lines->in;
    struct cleave_setting *settings = NULL, *kept;
    size_t capacity = 0, count = 0;
    enum cleave_status status;
    bool first = true, more;
    const char *text;

    status = cv_json_in_open(in, '{', reading->lines->err);
    while (status == CLEAVE_OK) {
        status = cv_json_in_more(in, '}', &first, &more, reading->lines->err);
        if (status != CLEAVE_OK || !more)
            break;
        if (!CV_ROOM(settings, &capacity, count + 1)) {
            status = short_of_memory(reading);
            break;
        }
        status = cv_json_in_key(in, &text, reading->lines->err);
        if (status == CLEAVE_OK)
            status = keep_text(reading, text, &settings[count].key);
        if (status == CLEAVE_OK)
            status = cv_json_in_text(in, &text, reading->lines->err);
        if (status == CLEAVE_OK)
            status = keep_text(reading, text, &settings[count++].value);
    }
    kept = status == CLEAVE_OK ? cv_array(reading->arena, count, sizeof *kept) : NULL;
    if (kept != NULL && count > 0)
        memcpy(kept, settings, count * sizeof *kept);
    else if (kept == NULL && status == CLEAVE_OK)
        status = short_of_memory(reading);
    free(settings);
    if (status == CLEAVE_OK) {
        reading->told->settings = kept;
        reading->told->nsettings = count;
    }
    return status;
}

static enum cleave_status read_folders(const struct reading *reading)
{
    uint64_t count;

    CV_TRY(cv_json_in_count(&reading->lines->in, &count, reading->lines->err));
    reading->told->view.folders = count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
    return CLEAVE_OK;
}

static enum cleave_status read_member(const struct reading *reading, const char *key)
{
    struct cv_trace_lines *lines = reading->lines;
    struct cleave_view *view = &reading->told->view;
    const struct {
        const char *key;
        double *value;
    } numbers[] = {
        { "units", &view->units_total },   { "result_ratio", &view->result_ratio },
        { "lifespan", &view->lifespan_s }, { "error", &view->error },
        { "transfer", &view->transfer_s }, { "compute", &view->compute_s },
        { "ahead", &view->ahead },         { "hold", &view->hold },
        { "unequal", &view->unequal },     { "burst", &view->burst_s },
        { "varies", &view->varies },       { "supply", &reading->told->input },
    };
    const struct {
        const char *key;
        bool *value;
    } flags[] = {
        { "sends_first", &view->sends_first },    { "real", &view->real },
        { "measured", &view->measured },          { "opens", &view->opens },
        { "changing", &reading->told->changing }, { "folds_apart", &view->folds_apart },
        { "before_round", &view->before_round },
    };

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (strcmp(key, numbers[i].key) == 0)
            return cv_trace_positive(reading->lines, numbers[i].key, numbers[i].value);
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (strcmp(key, flags[i].key) == 0)
            return cv_json_in_bool(&lines->in, flags[i].value, lines->err);
    if (strcmp(key, "seed") == 0)
        return cv_json_in_count(&lines->in, &view->seed, lines->err);
    if (strcmp(key, "folders") == 0)
        return read_folders(reading);
    if (strcmp(key, "reads") == 0)
        return read_reads(reading);
    if (strcmp(key, "params") == 0)
        return read_settings(reading);
    if (strcmp(key, "sizes") == 0 && lines->task == CLEAVE_TASK_LOAD)
        return read_sizes(reading);
    if (strcmp(key, "workers") == 0 && lines->task == CLEAVE_TASK_LOAD)
        return read_workers(reading);
    if (strcmp(key, "alike") == 0 && lines->task == CLEAVE_TASK_LOAD)
        return read_alike(reading);
    if (strcmp(key, "profiles") == 0 && lines->task == CLEAVE_TASK_LOAD)
        return trace_profiles_read(lines, reading->arena, view);
    if (strcmp(key, "memory") == 0 && lines->task == CLEAVE_TASK_LOAD)
        return trace_memory_read(lines, reading->arena, view);
    if (strcmp(key, "compute_each") == 0 && lines->task == CLEAVE_TASK_REDUCE)
        return read_each(reading, "compute_each", &view->compute_each_s);
    if (strcmp(key, "ready") == 0 && lines->task == CLEAVE_TASK_REDUCE)
        return read_each(reading, "ready", &view->ready_s);
    if (strcmp(key, "ready_model") == 0)
        return read_ready_model(reading);
    return cv_trace_skip(lines);
}

enum cleave_status cv_trace_policy_input_read(struct cv_trace_lines *lines,
                                              struct cv_arena *arena,
                                              struct cleave_policy_input *out)
{
    struct cleave_policy_input told = { .view = { .nworkers = lines->nworkers,
                                                  .port = lines->port,
                                                  .units_total = INFINITY } };
    const struct reading reading = { lines, arena, &told };
    struct cv_place place;
    bool first = true;
    const char *key;

    cv_json_in_skip(&lines->in);
    place = cv_json_in_place(&lines->in, lines->in.at);
    place.field = "told";
    CV_TRY(cv_json_in_open(&lines->in, '{', lines->err));
    for (;;) {
        char name[24];

        CV_TRY(cv_trace_key(lines, &first, &key));
        if (key == NULL)
            break;
        snprintf(name, sizeof name, "%s", key); /* values that are texts overwrite it */
        CV_TRY(read_member(&reading, name));
    }
    if (lines->task == CLEAVE_TASK_LOAD && told.view.workers == NULL)
        return cv_fail_at(lines->err, &place, "expected the costs of the workers");
    /* There may be more than the header names, by places that nobody took in a real run. */
    if (lines->task == CLEAVE_TASK_LOAD && told.view.nworkers < lines->nworkers)
        return cv_fail_at(lines->err, &place,
                          "expected the costs of %u workers or more, got fewer",
                          lines->nworkers);
    if (lines->task == CLEAVE_TASK_REDUCE)
        told.view.units_total = 0;
    told.view.units_left = told.view.units_total;
    *out = told;
    return CLEAVE_OK;
}
