/* trace_header.c -- the first line of a trace. SPDX-License-Identifier: MIT
 *
 * Its fields have a fixed order, so that a file of another kind is refused at once. The
 * facts at its end have any order, and unknown facts are skipped. */
#include "io/trace_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <cleave/version.h>
#include "base/text.h"
#include "model/platform/platform_internal.h"

/* --- the input of a policy, in the header of its trace ----------------------------- */

/* A worker is a list of its costs, in the order of cv_worker_fields. `alike` is the number of
 * further workers that equal the last one, mostly places that no worker took. Without
 * `units` the load is a stream. */

/* Most workers that `alike` may add: a short header must not ask for much memory. */
enum { ALIKE_MOST = 1000000 };

static void put_numbers(struct cv_json *json, const char *key, const double *numbers,
                        uint64_t count)
{
    if (numbers == NULL)
        return;
    cv_field_list(json, key);
    for (uint64_t i = 0; i < count; i++)
        cv_json_number(json, isinf(numbers[i]) ? 0 : numbers[i]);
    cv_json_end(json);
}

static void put_settings(struct cv_json *json, const struct cleave_policy_input *told)
{
    if (told->nsettings == 0)
        return;
    cv_field_object(json, "params");
    for (size_t i = 0; i < told->nsettings; i++)
        cv_field_text(json, told->settings[i].key, told->settings[i].value);
    cv_json_end(json);
}

/* Copies, open chunks, and the commands that read them. */
static void put_opens(struct cv_json *json, const struct cleave_view *view)
{
    cv_fields(json, "copies ?%d", view->copies);
    if (!view->opens)
        return;
    cv_fields(json, "opens %d, ahead %g, hold %g, unequal %g", true, view->ahead,
              view->hold, view->unequal);
    if (view->groups != NULL) {
        cv_field_list(json, "groups");
        for (uint32_t w = 0; w < view->nworkers; w++)
            cv_json_number(json, view->groups[w]);
        cv_json_end(json);
    }
    cv_fields(json, "burst ?%g, varies ?%g", view->burst_s, view->varies);
}

static bool are_equal(const struct cleave_worker *a, const struct cleave_worker *b)
{
    bool equal = true;

    for (size_t i = 0; i < CV_WORKER_FIELDS; i++)
        equal &= cv_worker_cost_of(a, &cv_worker_fields[i]) ==
                 cv_worker_cost_of(b, &cv_worker_fields[i]);
    return equal;
}

static void put_workers(struct cv_json *json, const struct cleave_view *view)
{
    const struct cleave_worker *last = view->workers + view->nworkers - 1;
    uint32_t alike = 0;

    while (alike + 1 < view->nworkers && alike < ALIKE_MOST &&
           are_equal(last - alike - 1, last))
        alike++;
    cv_field_list(json, "workers");
    for (uint32_t w = 0; w < view->nworkers - alike; w++) {
        cv_json_list(json);
        for (size_t i = 0; i < CV_WORKER_FIELDS; i++)
            cv_json_number(json,
                           cv_worker_cost_of(&view->workers[w], &cv_worker_fields[i]));
        cv_json_end(json);
    }
    cv_json_end(json);
    if (alike > 0)
        cv_field_count(json, "alike", alike);
}

/* Per worker: time, factor, time, factor, .. */
static void put_profiles(struct cv_json *json, const struct cleave_view *view)
{
    if (view->profiles == NULL)
        return;
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

static void put_load(struct cv_json *json, const struct cleave_policy_input *told)
{
    const struct cleave_view *view = &told->view;

    if (isfinite(view->units_total))
        cv_field_number(json, "units", view->units_total);
    cv_fields(
        json,
        "result_ratio %g, lifespan %g, error %g, sends_first ?%d, before_round ?%d, "
        "real ?%d, measured ?%d",
        view->result_ratio, view->lifespan_s, view->error, view->sends_first,
        view->before_round, view->real, view->measured);
    put_opens(json, view);
    cv_fields(json, "folders ?%u, folds_apart ?%d", view->folders,
              view->folders > 0 && view->folds_apart);
    if (told->reads != NULL)
        cv_fields(json, "reads %s, supply %g", told->reads, told->input);
    cv_fields(json, "changing ?%d", told->changing);
    put_numbers(json, "sizes", view->nitems > 0 ? view->sizes : NULL, view->nitems);
    put_workers(json, view);
    put_profiles(json, view);
    put_numbers(json, "memory", view->memory, view->nworkers); /* 0: any */
}

/* Write the member "told". */
static void trace_policy_input_write(struct cv_json *json,
                                     const struct cleave_policy_input *told)
{
    const struct cleave_view *view = &told->view;

    cv_field_object(json, "told");
    cv_field_count(json, "seed", view->seed);
    put_settings(json, told);
    if (view->workers == NULL) {
        cv_fields(json, "transfer %g, compute %g", view->transfer_s, view->compute_s);
        put_numbers(json, "compute_each", view->compute_each_s, view->nworkers);
        put_numbers(json, "ready", view->ready_s, view->nworkers);
        if (view->ready_s != NULL)
            cv_field_count(json, "ready_model", view->ready_model);
    } else {
        put_load(json, told);
    }
    cv_json_end(json);
}

static int compare_names(const void *left, const void *right)
{
    const struct cv_trace_name *a = left, *b = right;

    return strcmp(a->name, b->name);
}

enum cleave_status cv_trace_worker(struct cv_trace_lines *lines, const char *field,
                                   uint32_t *out)
{
    const char *at = cv_json_in_skip(&lines->in), *text;
    const struct cv_trace_name *found;
    uint64_t number;

    if (lines->task == CLEAVE_TASK_REDUCE) {
        CV_TRY(cv_json_in_count(&lines->in, &number));
        if (number >= lines->nworkers)
            return cv_json_in_fail(&lines->in, at, field,
                                   "expected a node below %lu, got %llu",
                                   (unsigned long)lines->nworkers,
                                   (unsigned long long)number);
        *out = (uint32_t)number;
        return CLEAVE_OK;
    }
    CV_TRY(cv_json_in_text(&lines->in, &text));
    found = bsearch(&(struct cv_trace_name){ .name = text }, lines->names,
                    lines->nworkers, sizeof *lines->names, compare_names);
    if (found == NULL)
        return cv_json_in_fail_got(&lines->in, at, field,
                                   lines->platform != NULL
                                       ? "expected a worker of the platform"
                                       : "expected a worker of the header",
                                   text);
    *out = found->worker;
    return CLEAVE_OK;
}

/* Any value, for members of later versions. */
static enum cleave_status skip(struct cv_trace_lines *lines, unsigned depth)
{
    struct cv_json_in *in = &lines->in;
    const char c = cv_json_in_peek(in);
    bool first = true, more = true;
    const char *text;
    double number;

    if (depth > CV_JSON_DEPTH)
        return cv_json_in_fail(&lines->in, in->at, NULL,
                               "expected fewer brackets inside brackets");
    if (c == '"')
        return cv_json_in_text(in, &text);
    if (c == 'n')
        return cv_json_in_null(in);
    if (c == 't' || c == 'f')
        return cv_json_in_bool(in, &more);
    if (c != '{' && c != '[')
        return cv_json_in_number(in, &number);
    CV_TRY(cv_json_in_open(in, c));
    for (;;) {
        CV_TRY(cv_json_in_more(in, c == '{' ? '}' : ']', &first, &more));
        if (!more)
            return CLEAVE_OK;
        if (c == '{')
            CV_TRY(cv_json_in_key(in, &text));
        CV_TRY(skip(lines, depth + 1));
    }
}

/* A string, copied into the arena. */
static enum cleave_status read_text(struct cv_trace_lines *lines, const char **out)
{
    const char *text;

    CV_TRY(cv_json_in_text(&lines->in, &text));
    *out = cv_arena_text(lines->arena, text);
    return *out != NULL ? CLEAVE_OK
                        : cv_fail_memory(lines->in.err, "the header of a trace");
}

/* The header that is being read. */
struct reading {
    struct cv_trace_lines *lines;
    struct cleave_trace_facts facts;
    struct cleave_policy_input told;
    const char *field; /* a list or an object that is being read */
    size_t ngroups;    /* workers with a group */
};

/* A list, or an object if `bracket` is '{', of elements of `size` bytes that `read` takes;
 * *out is an array of *out_count in the arena. If there are more than `most`, reading stops
 * and *out_count is most + 1. */
static enum cleave_status
read_list(struct reading *reading, char bracket, size_t size, size_t most,
          enum cleave_status (*read)(struct reading *reading, void *element), void *out,
          size_t *out_count)
{
    struct cv_trace_lines *lines = reading->lines;
    enum cleave_status status = cv_json_in_open(&lines->in, bracket);
    char *elements = NULL;
    void *kept = NULL;
    bool first = true, more;
    size_t capacity = 0, count = 0;

    while (status == CLEAVE_OK) {
        status = cv_json_in_more(&lines->in, bracket == '{' ? '}' : ']', &first, &more);
        if (status != CLEAVE_OK || !more || count++ == most)
            break;
        if (count > capacity && !cv_grow_array(&elements, &capacity, count, size))
            status = cv_fail_memory(lines->in.err, "the header of a trace");
        else
            status = read(reading, elements + (count - 1) * size);
    }
    if (status == CLEAVE_OK && count <= most) {
        kept = cv_array(lines->arena, count, size);
        if (kept == NULL)
            status = cv_fail_memory(lines->in.err, "the header of a trace");
        else if (count > 0)
            memcpy(kept, elements, count * size);
    }
    free(elements);
    memcpy(out, &kept, sizeof kept);
    *out_count = count;
    return status;
}

/* A member of an object, and where its value goes. */
struct member {
    const char *key; /* NULL ends a table */
    enum { TEXT, NUMBER, POSITIVE, COUNT, FLAG, WORKER, LIST, READ } type;
    void *value;
    size_t *count; /* of a list, with the size of an element */
    size_t size;
    char bracket;
    enum cleave_status (*element)(struct reading *reading, void *element);
    enum cleave_status (*read)(struct reading *reading); /* for READ */
    enum { BOTH, LOAD, REDUCTION } of;                   /* other tasks do not read it */
};

#define LIST_OF(items, n, opens, reads)                                        \
    LIST, &(items), .count = (n), .size = sizeof *(items), .bracket = (opens), \
                    .element = (reads)

static enum cleave_status read_member(struct reading *reading, const char *key,
                                      const struct member *member)
{
    struct cv_trace_lines *lines = reading->lines;
    const bool load = lines->task == CLEAVE_TASK_LOAD;

    while (member->key != NULL &&
           (strcmp(member->key, key) != 0 || member->of == (load ? REDUCTION : LOAD)))
        member++;
    if (member->key == NULL)
        return skip(lines, 0);
    switch (member->type) {
    case TEXT:
        return read_text(lines, member->value);
    case NUMBER:
        return cv_json_in_number(&lines->in, member->value);
    case POSITIVE:
        return cv_json_in_positive(&lines->in, key, member->value);
    case COUNT:
        return cv_json_in_count(&lines->in, member->value);
    case FLAG:
        return cv_json_in_bool(&lines->in, member->value);
    case WORKER:
        return cv_trace_worker(lines, reading->field, member->value);
    default:
        reading->field = key;
        return member->type == READ
                   ? member->read(reading)
                   : read_list(reading, member->bracket, member->size, SIZE_MAX,
                               member->element, member->value, member->count);
    }
}

/* An object; unknown members are skipped. */
static enum cleave_status read_object(struct reading *reading,
                                      const struct member *members)
{
    struct cv_json_in *in = &reading->lines->in;
    bool first = true, more;
    const char *key;
    char name[24]; /* a copy: a value that is a string replaces the key */

    CV_TRY(cv_json_in_open(in, '{'));
    for (;;) {
        CV_TRY(cv_json_in_more(in, '}', &first, &more));
        if (!more)
            return CLEAVE_OK;
        CV_TRY(cv_json_in_key(in, &key));
        snprintf(name, sizeof name, "%s", key);
        CV_TRY(read_member(reading, name, members));
    }
}

static enum cleave_status read_positive(struct reading *reading, void *element)
{
    return cv_json_in_positive(&reading->lines->in, reading->field, element);
}

/* A list of numbers of at least 0. */
static enum cleave_status read_numbers(struct reading *reading, double **out,
                                       size_t *out_count)
{
    return read_list(reading, '[', sizeof **out, SIZE_MAX, read_positive, out, out_count);
}

/* A list of exactly `count` numbers. */
static enum cleave_status read_exactly(struct reading *reading, size_t count, double *out)
{
    struct cv_json_in *in = &reading->lines->in;
    const char *at = cv_json_in_skip(in);
    bool first = true, more = true;

    CV_TRY(cv_json_in_open(in, '['));
    for (size_t i = 0; more; i++) {
        CV_TRY(cv_json_in_more(in, ']', &first, &more));
        if (more != (i < count))
            return cv_json_in_fail(&reading->lines->in, at, reading->field,
                                   "expected %zu numbers, got %s", count,
                                   more ? "more" : "fewer");
        if (more)
            CV_TRY(read_positive(reading, &out[i]));
    }
    return CLEAVE_OK;
}

static enum cleave_status read_worker(struct reading *reading, void *element)
{
    double costs[CV_WORKER_FIELDS] = { 0 };

    CV_TRY(read_exactly(reading, CV_WORKER_FIELDS, costs));
    for (size_t i = 0; i < CV_WORKER_FIELDS; i++)
        *cv_worker_cost(element, &cv_worker_fields[i]) = costs[i];
    return CLEAVE_OK;
}

static enum cleave_status read_workers(struct reading *reading)
{
    struct cv_trace_lines *lines = reading->lines;
    const char *at = cv_json_in_skip(&lines->in);
    struct cleave_worker *workers;
    size_t count;

    CV_TRY(read_list(reading, '[', sizeof *workers, CLEAVE_MAX_WORKERS, read_worker,
                     &workers, &count));
    if (count > CLEAVE_MAX_WORKERS)
        return cv_json_in_fail(&lines->in, at, reading->field,
                               "expected the costs of %u workers or more, got too many",
                               lines->nworkers);
    reading->told.view.workers = workers;
    reading->told.view.nworkers = (uint32_t)count;
    return CLEAVE_OK;
}

static enum cleave_status read_alike(struct reading *reading)
{
    struct cleave_view *view = &reading->told.view;
    struct cv_trace_lines *lines = reading->lines;
    const uint32_t listed = view->workers != NULL ? view->nworkers : 0;
    const char *at = cv_json_in_skip(&lines->in);
    struct cleave_worker *all;
    uint64_t alike = 0;

    CV_TRY(cv_json_in_count(&lines->in, &alike));
    if (listed == 0 || alike > ALIKE_MOST || listed + alike > CLEAVE_MAX_WORKERS)
        return cv_json_in_fail(&lines->in, at, reading->field,
                               "expected at most %d workers like the last one",
                               ALIKE_MOST);
    if (!CV_NEW(lines->arena, all, listed + alike))
        return cv_fail_memory(lines->in.err, "the header of a trace");
    for (uint64_t i = 0; i < listed + alike; i++)
        all[i] = view->workers[i < listed ? i : listed - 1];
    view->workers = all;
    view->nworkers = (uint32_t)(listed + alike);
    return CLEAVE_OK;
}

/* One number per node. */
static enum cleave_status read_each(struct reading *reading)
{
    struct cv_trace_lines *lines = reading->lines;
    const uint32_t count = lines->nworkers;
    double *each_s;

    /* A short header must not ask for much memory. */
    if ((size_t)(lines->in.end - lines->in.at) / 2 < count)
        return cv_json_in_fail(&lines->in, lines->in.at, reading->field,
                               "expected %u numbers, got fewer", count);
    if (!CV_NEW(lines->arena, each_s, count))
        return cv_fail_memory(lines->in.err, "the header of a trace");
    if (strcmp(reading->field, "ready") == 0)
        reading->told.view.ready_s = each_s;
    else
        reading->told.view.compute_each_s = each_s;
    return read_exactly(reading, count, each_s);
}

static enum cleave_status fail_count(struct reading *reading)
{
    return cv_json_in_fail(&reading->lines->in, reading->lines->in.at, reading->field,
                           "expected an entry for each of %u workers",
                           reading->lines->nworkers);
}

/* Pairs of time and factor in increasing time, as in platform files. */
static enum cleave_status read_profile(struct reading *reading, void *element)
{
    struct cv_trace_lines *lines = reading->lines;
    const char *at = lines->in.at;
    struct cleave_step *steps;
    double *numbers;
    size_t count;

    CV_TRY(read_numbers(reading, &numbers, &count));
    if (!CV_NEW(lines->arena, steps, count / 2))
        return cv_fail_memory(lines->in.err, "the header of a trace");
    for (size_t i = 0; i < count / 2; i++) {
        steps[i] = (struct cleave_step){ numbers[2 * i], numbers[2 * i + 1] };
        if (i > 0 && !(steps[i].from_s > steps[i - 1].from_s))
            return cv_json_in_fail(&lines->in, at, reading->field,
                                   "expected increasing times");
    }
    if (count % 2 != 0 || count / 2 > UINT32_MAX)
        return cv_json_in_fail(&lines->in, at, reading->field,
                               "expected pairs of time and factor");
    *(struct cleave_profile *)element =
        (struct cleave_profile){ count > 0 ? steps : NULL, (uint32_t)(count / 2) };
    return CLEAVE_OK;
}

static enum cleave_status read_profiles(struct reading *reading)
{
    struct cleave_profile *profiles;
    size_t count;

    CV_TRY(read_list(reading, '[', sizeof *profiles, reading->lines->nworkers,
                     read_profile, &profiles, &count));
    reading->told.view.profiles = profiles;
    return count == reading->lines->nworkers ? CLEAVE_OK : fail_count(reading);
}

static enum cleave_status read_memory(struct reading *reading)
{
    double *memory;
    size_t count;

    CV_TRY(read_numbers(reading, &memory, &count));
    if (count != reading->lines->nworkers)
        return fail_count(reading);
    for (size_t w = 0; w < count; w++)
        memory[w] = memory[w] > 0 ? memory[w] : INFINITY;
    reading->told.view.memory = memory;
    return CLEAVE_OK;
}

static enum cleave_status read_ready_model(struct reading *reading)
{
    struct cv_trace_lines *lines = reading->lines;
    const char *at = lines->in.at;
    uint64_t model = 0;

    CV_TRY(cv_json_in_count(&lines->in, &model));
    if (model > CLEAVE_READY_MERGE)
        return cv_json_in_fail(&lines->in, at, reading->field, "expected 0, 1 or 2");
    reading->told.view.ready_model = (enum cleave_ready_model)model;
    return CLEAVE_OK;
}

static enum cleave_status read_sizes(struct reading *reading)
{
    double *sizes;
    size_t count;

    CV_TRY(read_numbers(reading, &sizes, &count));
    reading->told.view.sizes = sizes;
    reading->told.view.nitems = count;
    return CLEAVE_OK;
}

static enum cleave_status read_groups(struct reading *reading)
{
    struct cv_trace_lines *lines = reading->lines;
    const char *at = lines->in.at;
    double *numbers;
    uint32_t *groups;
    size_t count;

    CV_TRY(read_numbers(reading, &numbers, &count));
    if (!CV_NEW(lines->arena, groups, count))
        return cv_fail_memory(lines->in.err, "the header of a trace");
    for (size_t w = 0; w < count; w++) {
        if (!(numbers[w] >= 0 && numbers[w] < (double)count))
            return cv_json_in_fail(&lines->in, at, reading->field,
                                   "expected the number of a group for each worker");
        groups[w] = (uint32_t)numbers[w];
    }
    reading->told.view.groups = groups;
    reading->ngroups = count;
    return CLEAVE_OK;
}

static enum cleave_status read_setting(struct reading *reading, void *element)
{
    struct cv_trace_lines *lines = reading->lines;
    struct cleave_setting *setting = element;
    const char *key;

    CV_TRY(cv_json_in_key(&lines->in, &key));
    setting->key = cv_arena_text(lines->arena, key);
    if (setting->key == NULL)
        return cv_fail_memory(lines->in.err, "the header of a trace");
    return read_text(lines, &setting->value);
}

static enum cleave_status read_folders(struct reading *reading)
{
    uint64_t count;

    CV_TRY(cv_json_in_count(&reading->lines->in, &count));
    reading->told.view.folders = count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
    return CLEAVE_OK;
}

/* The value of "told", when port and number of workers are known. */
static enum cleave_status read_told(struct reading *reading)
{
    struct cv_trace_lines *lines = reading->lines;
    struct cleave_policy_input *told = &reading->told;
    struct cleave_view *view = &told->view;
    const struct member members[] = {
        { .key = "seed", COUNT, &view->seed },
        { .key = "units", POSITIVE, &view->units_total },
        { .key = "result_ratio", POSITIVE, &view->result_ratio },
        { .key = "lifespan", POSITIVE, &view->lifespan_s },
        { .key = "error", POSITIVE, &view->error },
        { .key = "transfer", POSITIVE, &view->transfer_s },
        { .key = "compute", POSITIVE, &view->compute_s },
        { .key = "ahead", POSITIVE, &view->ahead },
        { .key = "hold", POSITIVE, &view->hold },
        { .key = "unequal", POSITIVE, &view->unequal },
        { .key = "burst", POSITIVE, &view->burst_s },
        { .key = "varies", POSITIVE, &view->varies },
        { .key = "supply", POSITIVE, &told->input },
        { .key = "sends_first", FLAG, &view->sends_first },
        { .key = "real", FLAG, &view->real },
        { .key = "measured", FLAG, &view->measured },
        { .key = "opens", FLAG, &view->opens },
        { .key = "copies", FLAG, &view->copies },
        { .key = "changing", FLAG, &told->changing },
        { .key = "folds_apart", FLAG, &view->folds_apart },
        { .key = "before_round", FLAG, &view->before_round },
        { .key = "reads", TEXT, &told->reads },
        { .key = "folders", READ, .read = read_folders },
        { .key = "params", LIST_OF(told->settings, &told->nsettings, '{', read_setting) },
        { .key = "ready_model", READ, .read = read_ready_model },
        { .key = "sizes", READ, .read = read_sizes, .of = LOAD },
        { .key = "workers", READ, .read = read_workers, .of = LOAD },
        { .key = "alike", READ, .read = read_alike, .of = LOAD },
        { .key = "memory", READ, .read = read_memory, .of = LOAD },
        { .key = "profiles", READ, .read = read_profiles, .of = LOAD },
        { .key = "groups", READ, .read = read_groups, .of = LOAD },
        { .key = "compute_each", READ, .read = read_each, .of = REDUCTION },
        { .key = "ready", READ, .read = read_each, .of = REDUCTION },
        { .key = NULL },
    };
    const char *at = cv_json_in_skip(&lines->in);

    *told = (struct cleave_policy_input){ .view = { .nworkers = lines->nworkers,
                                                    .port = lines->port,
                                                    .units_total = INFINITY } };
    reading->facts.told = told;
    CV_TRY(read_object(reading, members));
    if (view->groups != NULL && reading->ngroups != view->nworkers)
        return cv_json_in_fail(&lines->in, at, "groups",
                               "expected the number of a group for each worker");
    if (lines->task == CLEAVE_TASK_LOAD && view->workers == NULL)
        return cv_json_in_fail(&lines->in, at, "told",
                               "expected the costs of the workers");
    /* More workers than the header names are places that no worker took in a real run. */
    if (lines->task == CLEAVE_TASK_LOAD && view->nworkers < lines->nworkers)
        return cv_json_in_fail(&lines->in, at, "told",
                               "expected the costs of %u workers or more, got fewer",
                               lines->nworkers);
    if (lines->task == CLEAVE_TASK_REDUCE)
        view->units_total = 0;
    view->units_left = view->units_total;
    return CLEAVE_OK;
}

/* --- the first line of a trace ----------------------------------------------------- */

#define FORMAT "cleave-trace-1"

static const char *const headers[2][6] = {
    [CLEAVE_TASK_LOAD] = { "format", "policy", "load", "port", "workers" },
    [CLEAVE_TASK_REDUCE] = { "format", "policy", "task", "nodes" },
};

static bool has_any(const struct cleave_trace_facts *facts)
{
    return facts->command != NULL || facts->engine != NULL || facts->noise != NULL ||
           facts->picked != NULL || facts->why != NULL || facts->bound.name != NULL ||
           facts->nleft_out > 0 || facts->lifespan_s > 0 || facts->failed > 0 ||
           facts->left > 0 || facts->nfailures > 0 || facts->nstarts > 0 ||
           facts->told != NULL;
}

static void put_failures(struct cv_json *json, const struct cleave_trace_facts *facts,
                         const struct cleave_platform *platform)
{
    cv_field_list(json, "failures");
    for (size_t i = 0; i < facts->nfailures; i++) {
        const struct cleave_trace_failure *failure = &facts->failures[i];

        cv_fields(json,
                  "{worker %s, chunk %llu, attempts %llu, what ?%s, how ?%s, stderr ?%s}",
                  cleave_platform_worker_name(platform, failure->worker),
                  (unsigned long long)failure->chunk,
                  (unsigned long long)failure->attempts, failure->what, failure->how,
                  failure->errors);
    }
    cv_json_end(json);
}

static void write_facts(struct cv_json *json, const struct cleave_trace_facts *facts,
                        const struct cleave_platform *platform)
{
    if (!has_any(facts))
        return;
    cv_field_object(json, "about");
    cv_fields(json,
              "version %s, command ?%s, engine ?%s, noise ?%s, picked ?%s, why ?%s, "
              "lifespan ?%g, failed ?%g, left ?%g",
              CLEAVE_VERSION, facts->command, facts->engine, facts->noise, facts->picked,
              facts->why, facts->lifespan_s, facts->failed, facts->left);
    if (facts->bound.name != NULL && isfinite(facts->bound.value_s))
        cv_fields(json, "bound {name %s, value %g}", facts->bound.name,
                  facts->bound.value_s);
    if (facts->nleft_out > 0 && platform != NULL) {
        cv_field_list(json, "left_out");
        for (size_t i = 0; i < facts->nleft_out; i++)
            cv_fields(json, "{worker %s, reason ?%s}",
                      cleave_platform_worker_name(platform, facts->left_out[i].worker),
                      facts->left_out[i].reason);
        cv_json_end(json);
    }
    if (facts->nfailures > 0 && platform != NULL)
        put_failures(json, facts, platform);
    if (facts->nstarts > 0) /* null: not known */
        put_numbers(json, "starts", facts->starts_s, facts->nstarts);
    if (facts->told != NULL)
        trace_policy_input_write(json, facts->told);
    cv_json_end(json);
}

void cv_trace_header_write(struct cv_json *json, const struct cv_trace_workers *workers,
                           const char *policy, double load,
                           const struct cleave_trace_facts *facts)
{
    const struct cleave_platform *platform = workers->platform;

    cv_json_object(json);
    cv_fields(json, "format %s, policy %s", FORMAT, policy);
    if (platform != NULL) {
        cv_fields(json, "load %g, port %s", load,
                  cleave_port_name(cleave_platform_port(platform)));
        cv_field_list(json, "workers");
        for (uint32_t i = 0; i < workers->count; i++)
            cv_json_text(json, cleave_platform_worker_name(platform, i));
        cv_json_end(json);
    } else {
        cv_fields(json, "task %s, nodes %u", "reduce", workers->count);
    }
    write_facts(json, facts, platform);
    cv_json_end(json);
    cv_json_close(json);
}

static enum cleave_status read_bound(struct reading *reading)
{
    const struct member members[] = {
        { .key = "name", TEXT, &reading->facts.bound.name },
        { .key = "value", NUMBER, &reading->facts.bound.value_s },
        { .key = NULL },
    };

    return read_object(reading, members);
}

static enum cleave_status read_left_out(struct reading *reading, void *element)
{
    struct cleave_left_out *left_out = element;
    const struct member members[] = {
        { .key = "worker", WORKER, &left_out->worker },
        { .key = "reason", TEXT, &left_out->reason },
        { .key = NULL },
    };

    *left_out = (struct cleave_left_out){ 0, "" };
    return read_object(reading, members);
}

static enum cleave_status read_failure(struct reading *reading, void *element)
{
    struct cleave_trace_failure *failure = element;
    const struct member members[] = {
        { .key = "worker", WORKER, &failure->worker },
        { .key = "chunk", COUNT, &failure->chunk },
        { .key = "attempts", COUNT, &failure->attempts },
        { .key = "what", TEXT, &failure->what },
        { .key = "how", TEXT, &failure->how },
        { .key = "stderr", TEXT, &failure->errors },
        { .key = NULL },
    };

    *failure = (struct cleave_trace_failure){ .what = "", .how = "" };
    return read_object(reading, members);
}

static enum cleave_status read_start(struct reading *reading, void *element)
{
    struct cv_json_in *in = &reading->lines->in;
    double *start_s = element;

    *start_s = NAN;
    return cv_json_in_peek(in) == 'n' ? cv_json_in_null(in)
                                      : cv_json_in_positive(in, "starts", start_s);
}

static enum cleave_status read_facts(struct reading *reading)
{
    struct cleave_trace_facts *facts = &reading->facts;
    const struct member members[] = {
        { .key = "version", TEXT, &facts->version },
        { .key = "command", TEXT, &facts->command },
        { .key = "engine", TEXT, &facts->engine },
        { .key = "noise", TEXT, &facts->noise },
        { .key = "picked", TEXT, &facts->picked },
        { .key = "why", TEXT, &facts->why },
        { .key = "lifespan", NUMBER, &facts->lifespan_s },
        { .key = "failed", NUMBER, &facts->failed },
        { .key = "left", NUMBER, &facts->left },
        { .key = "bound", READ, .read = read_bound },
        { .key = "left_out",
          LIST_OF(facts->left_out, &facts->nleft_out, '[', read_left_out) },
        { .key = "failures",
          LIST_OF(facts->failures, &facts->nfailures, '[', read_failure) },
        { .key = "starts", LIST_OF(facts->starts_s, &facts->nstarts, '[', read_start) },
        { .key = "told", READ, .read = read_told },
        { .key = NULL },
    };

    return read_object(reading, members);
}

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
    return cv_json_in_fail_got(&lines->in, at, field, expected, text);
}

/* Make the sorted list by which workers are found; no two names may be equal. Without
 * names, the workers have the names of the platform. */
static enum cleave_status sort_names(struct cv_trace_lines *lines, const char **given,
                                     struct cv_trace_header *out)
{
    struct cv_trace_name *names = cv_array(lines->arena, out->nworkers, sizeof *names);
    char shown[64];

    if (names == NULL)
        return cv_fail_memory(lines->in.err, "the names of workers");
    for (uint32_t i = 0; i < out->nworkers; i++)
        names[i] = (struct cv_trace_name){
            given != NULL ? given[i] : cleave_platform_worker_name(lines->platform, i), i
        };
    qsort(names, out->nworkers, sizeof *names, compare_names);
    lines->names = names;
    lines->nworkers = out->nworkers;
    for (uint32_t i = 1; i < out->nworkers; i++) {
        const char *name = names[i].name;

        if (strcmp(names[i - 1].name, name) == 0)
            return cv_json_in_fail(&lines->in, lines->in.at, "workers",
                                   "expected different names, got two workers '%s'",
                                   cv_shown(name, strlen(name), shown, sizeof shown));
    }
    return CLEAVE_OK;
}

/* Read the names of the workers, which must equal the names of the platform. */
static enum cleave_status match_workers(struct cv_trace_lines *lines,
                                        struct cv_trace_header *out)
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
    out->nworkers = count;
    return !more && n == count
               ? sort_names(lines, NULL, out)
               : cv_json_in_fail(&lines->in, lines->in.at, "workers",
                                 "expected the %lu workers of the platform, got %s",
                                 (unsigned long)count, more ? "more" : "fewer");
}

static enum cleave_status read_name(struct reading *reading, void *element)
{
    return read_text(reading->lines, element);
}

static enum cleave_status read_worker_names(struct cv_trace_lines *lines,
                                            struct cv_trace_header *out)
{
    const char *at = cv_json_in_skip(&lines->in);
    size_t count;

    CV_TRY(read_list(&(struct reading){ .lines = lines }, '[', sizeof *out->names,
                     CLEAVE_MAX_WORKERS, read_name, &out->names, &count));
    if (count == 0 || count > CLEAVE_MAX_WORKERS)
        return cv_json_in_fail(&lines->in, at, "workers",
                               "expected from 1 to %u workers, got %s",
                               CLEAVE_MAX_WORKERS, count > 0 ? "more" : "none");
    out->nworkers = (uint32_t)count;
    return sort_names(lines, out->names, out);
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
    return cv_json_in_fail_got(&lines->in, at, "port", "expected one, duplex or multi",
                               text);
}

static enum cleave_status read_nodes(struct cv_trace_lines *lines,
                                     struct cv_trace_header *out)
{
    const char *at = cv_json_in_skip(&lines->in);
    uint64_t nodes;

    CV_TRY(cv_json_in_count(&lines->in, &nodes));
    if (nodes < 1 || nodes > UINT32_MAX)
        return cv_json_in_fail(&lines->in, at, "nodes",
                               "expected from 1 to %lu nodes, got %llu",
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
        return read_text(lines, &out->policy);
    if (strcmp(name, "load") == 0)
        return cv_json_in_number(&lines->in, &out->load);
    if (strcmp(name, "port") == 0)
        return read_port(lines, out);
    if (strcmp(name, "workers") == 0)
        return lines->platform != NULL ? match_workers(lines, out)
                                       : read_worker_names(lines, out);
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
    return cv_json_in_fail(&lines->in, at, NULL, "expected the field '%s' of a trace%s",
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
            CV_TRY(read_facts(&reading));
            CV_TRY(cleave_trace_describe(trace, &reading.facts, lines->in.err));
            CV_TRY(cv_json_in_more(&lines->in, '}', first, &more));
            at = cv_json_in_skip(&lines->in);
        }
    }
    return more ? cv_json_in_fail(&lines->in, at, NULL, "expected the end of the header")
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
