/* trace_policy_input.c -- the input of a policy, in the header of its trace.
 * SPDX-License-Identifier: MIT
 *
 * A worker is a list of its costs, in the order of cv_worker_fields. `alike` is the number of
 * further workers that equal the last one, mostly places that no worker took. Without
 * `units` the load is a stream. */
#include "io/trace_policy_input.h"

#include <math.h>
#include <string.h>
#include "model/platform/platform_internal.h"

/* Most workers that `alike` may add: a short header must not ask for much memory. */
enum { ALIKE_MOST = 1000000 };

/* --- writing ------------------------------------------------------------------------ */

static void put_flag(struct cv_json *json, const char *key, bool value)
{
    if (value)
        cv_field_bool(json, key, true);
}

static void put_positive(struct cv_json *json, const char *key, double value)
{
    if (value > 0)
        cv_field_number(json, key, value);
}

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

/* An open chunk and the commands that read it. */
static void put_opens(struct cv_json *json, const struct cleave_view *view)
{
    if (!view->opens)
        return;
    put_flag(json, "opens", true);
    cv_field_number(json, "ahead", view->ahead);
    cv_field_number(json, "hold", view->hold);
    cv_field_number(json, "unequal", view->unequal);
    put_positive(json, "burst", view->burst_s);
    put_positive(json, "varies", view->varies);
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
    cv_field_number(json, "result_ratio", view->result_ratio);
    cv_field_number(json, "lifespan", view->lifespan_s);
    cv_field_number(json, "error", view->error);
    put_flag(json, "sends_first", view->sends_first);
    put_flag(json, "before_round", view->before_round);
    put_flag(json, "real", view->real);
    put_flag(json, "measured", view->measured);
    put_opens(json, view);
    if (view->folders > 0) {
        cv_field_count(json, "folders", view->folders);
        put_flag(json, "folds_apart", view->folds_apart);
    }
    if (told->reads != NULL) {
        cv_field_text(json, "reads", told->reads);
        cv_field_number(json, "supply", told->input);
    }
    put_flag(json, "changing", told->changing);
    put_numbers(json, "sizes", view->nitems > 0 ? view->sizes : NULL, view->nitems);
    put_workers(json, view);
    put_profiles(json, view);
    put_numbers(json, "memory", view->memory, view->nworkers); /* 0: any */
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
        put_numbers(json, "compute_each", view->compute_each_s, view->nworkers);
        put_numbers(json, "ready", view->ready_s, view->nworkers);
        if (view->ready_s != NULL)
            cv_field_count(json, "ready_model", view->ready_model);
    } else {
        put_load(json, told);
    }
    cv_json_end(json);
}

/* --- reading ------------------------------------------------------------------------ */

struct reading {
    struct cv_trace_lines *lines;
    struct cleave_policy_input *told;
    const char *field; /* that is being read */
};

static enum cleave_status read_positive(void *context, void *element)
{
    const struct reading *reading = context;

    return cv_trace_positive(reading->lines, reading->field, element);
}

/* A list of numbers of at least 0. */
static enum cleave_status read_numbers(struct reading *reading, double **out,
                                       size_t *out_count)
{
    return cv_trace_list(reading->lines, '[', sizeof **out, SIZE_MAX, read_positive,
                         reading, out, out_count);
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
            return cv_trace_fail(reading->lines, at, reading->field,
                                 "expected %zu numbers, got %s", count,
                                 more ? "more" : "fewer");
        if (more)
            CV_TRY(read_positive(reading, &out[i]));
    }
    return CLEAVE_OK;
}

static enum cleave_status read_worker(void *context, void *element)
{
    double costs[CV_WORKER_FIELDS] = { 0 };

    CV_TRY(read_exactly(context, CV_WORKER_FIELDS, costs));
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

    CV_TRY(cv_trace_list(lines, '[', sizeof *workers, CLEAVE_MAX_WORKERS, read_worker,
                         reading, &workers, &count));
    if (count > CLEAVE_MAX_WORKERS)
        return cv_trace_fail(lines, at, reading->field,
                             "expected the costs of %u workers or more, got too many",
                             lines->nworkers);
    reading->told->view.workers = workers;
    reading->told->view.nworkers = (uint32_t)count;
    return CLEAVE_OK;
}

static enum cleave_status read_alike(struct reading *reading)
{
    struct cleave_view *view = &reading->told->view;
    struct cv_trace_lines *lines = reading->lines;
    const uint32_t listed = view->workers != NULL ? view->nworkers : 0;
    const char *at = cv_json_in_skip(&lines->in);
    struct cleave_worker *all;
    uint64_t alike = 0;

    CV_TRY(cv_json_in_count(&lines->in, &alike));
    if (listed == 0 || alike > ALIKE_MOST || listed + alike > CLEAVE_MAX_WORKERS)
        return cv_trace_fail(lines, at, reading->field,
                             "expected at most %d workers like the last one", ALIKE_MOST);
    if (!CV_NEW(lines->arena, all, listed + alike))
        return cv_fail_memory(lines->in.err, "the header of a trace");
    for (uint64_t i = 0; i < listed + alike; i++)
        all[i] = view->workers[i < listed ? i : listed - 1];
    view->workers = all;
    view->nworkers = (uint32_t)(listed + alike);
    return CLEAVE_OK;
}

/* One number per node. */
static enum cleave_status read_each(struct reading *reading, const double **out)
{
    struct cv_trace_lines *lines = reading->lines;
    const uint32_t count = lines->nworkers;
    double *each_s;

    /* A short header must not ask for much memory. */
    if ((size_t)(lines->in.end - lines->in.at) / 2 < count)
        return cv_trace_fail(lines, lines->in.at, reading->field,
                             "expected %u numbers, got fewer", count);
    if (!CV_NEW(lines->arena, each_s, count))
        return cv_fail_memory(lines->in.err, "the header of a trace");
    *out = each_s;
    return read_exactly(reading, count, each_s);
}

static enum cleave_status fail_count(struct reading *reading)
{
    return cv_trace_fail(reading->lines, reading->lines->in.at, reading->field,
                         "expected an entry for each of %u workers",
                         reading->lines->nworkers);
}

/* Pairs of time and factor in increasing time, as in platform files. */
static enum cleave_status read_profile(void *context, void *element)
{
    struct reading *reading = context;
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
            return cv_trace_fail(lines, at, reading->field, "expected increasing times");
    }
    if (count % 2 != 0 || count / 2 > UINT32_MAX)
        return cv_trace_fail(lines, at, reading->field,
                             "expected pairs of time and factor");
    *(struct cleave_profile *)element =
        (struct cleave_profile){ count > 0 ? steps : NULL, (uint32_t)(count / 2) };
    return CLEAVE_OK;
}

static enum cleave_status read_profiles(struct reading *reading)
{
    struct cleave_profile *profiles;
    size_t count;

    CV_TRY(cv_trace_list(reading->lines, '[', sizeof *profiles, reading->lines->nworkers,
                         read_profile, reading, &profiles, &count));
    reading->told->view.profiles = profiles;
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
    reading->told->view.memory = memory;
    return CLEAVE_OK;
}

static enum cleave_status read_ready_model(struct reading *reading)
{
    struct cv_trace_lines *lines = reading->lines;
    const char *at = lines->in.at;
    uint64_t model = 0;

    CV_TRY(cv_json_in_count(&lines->in, &model));
    if (model > CLEAVE_READY_MERGE)
        return cv_trace_fail(lines, at, reading->field, "expected 0, 1 or 2");
    reading->told->view.ready_model = (enum cleave_ready_model)model;
    return CLEAVE_OK;
}

static enum cleave_status read_sizes(struct reading *reading)
{
    double *sizes;
    size_t count;

    CV_TRY(read_numbers(reading, &sizes, &count));
    reading->told->view.sizes = sizes;
    reading->told->view.nitems = count;
    return CLEAVE_OK;
}

static enum cleave_status read_setting(void *context, void *element)
{
    struct cv_trace_lines *lines = context;
    struct cleave_setting *setting = element;
    const char *key;

    CV_TRY(cv_json_in_key(&lines->in, &key));
    setting->key = cv_arena_text(lines->arena, key);
    if (setting->key == NULL)
        return cv_fail_memory(lines->in.err, "the header of a trace");
    return cv_trace_text(lines, &setting->value);
}

static enum cleave_status read_folders(struct reading *reading)
{
    uint64_t count;

    CV_TRY(cv_json_in_count(&reading->lines->in, &count));
    reading->told->view.folders = count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
    return CLEAVE_OK;
}

/* Members that only a load, or only a reduction, has. */
static enum cleave_status read_of_task(struct reading *reading)
{
    static const struct {
        const char *key;
        enum cleave_status (*read)(struct reading *reading);
    } members[] = {
        { "sizes", read_sizes },   { "workers", read_workers },   { "alike", read_alike },
        { "memory", read_memory }, { "profiles", read_profiles },
    };
    struct cleave_view *view = &reading->told->view;
    const bool load = reading->lines->task == CLEAVE_TASK_LOAD;

    for (size_t i = 0; load && i < sizeof members / sizeof *members; i++)
        if (strcmp(reading->field, members[i].key) == 0)
            return members[i].read(reading);
    if (strcmp(reading->field, "compute_each") == 0 && !load)
        return read_each(reading, &view->compute_each_s);
    if (strcmp(reading->field, "ready") == 0 && !load)
        return read_each(reading, &view->ready_s);
    return cv_trace_skip(reading->lines);
}

static enum cleave_status read_member(void *context, const char *key)
{
    struct reading *reading = context;
    struct cv_trace_lines *lines = reading->lines;
    struct cleave_policy_input *told = reading->told;
    struct cleave_view *view = &told->view;
    const struct {
        const char *key;
        double *number;
        bool *flag;
    } members[] = {
        { "units", &view->units_total, NULL },
        { "result_ratio", &view->result_ratio, NULL },
        { "lifespan", &view->lifespan_s, NULL },
        { "error", &view->error, NULL },
        { "transfer", &view->transfer_s, NULL },
        { "compute", &view->compute_s, NULL },
        { "ahead", &view->ahead, NULL },
        { "hold", &view->hold, NULL },
        { "unequal", &view->unequal, NULL },
        { "burst", &view->burst_s, NULL },
        { "varies", &view->varies, NULL },
        { "supply", &told->input, NULL },
        { "sends_first", NULL, &view->sends_first },
        { "real", NULL, &view->real },
        { "measured", NULL, &view->measured },
        { "opens", NULL, &view->opens },
        { "changing", NULL, &told->changing },
        { "folds_apart", NULL, &view->folds_apart },
        { "before_round", NULL, &view->before_round },
    };

    reading->field = key;
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (strcmp(key, members[i].key) == 0)
            return members[i].number != NULL
                       ? cv_trace_positive(lines, key, members[i].number)
                       : cv_json_in_bool(&lines->in, members[i].flag);
    if (strcmp(key, "seed") == 0)
        return cv_json_in_count(&lines->in, &view->seed);
    if (strcmp(key, "folders") == 0)
        return read_folders(reading);
    if (strcmp(key, "reads") == 0)
        return cv_trace_text(lines, &told->reads);
    if (strcmp(key, "params") == 0)
        return cv_trace_list(lines, '{', sizeof *told->settings, SIZE_MAX, read_setting,
                             lines, &told->settings, &told->nsettings);
    return strcmp(key, "ready_model") == 0 ? read_ready_model(reading)
                                           : read_of_task(reading);
}

enum cleave_status cv_trace_policy_input_read(struct cv_trace_lines *lines,
                                              struct cleave_policy_input *out)
{
    struct cleave_policy_input told = { .view = { .nworkers = lines->nworkers,
                                                  .port = lines->port,
                                                  .units_total = INFINITY } };
    struct reading reading = { lines, &told, NULL };
    const char *at = cv_json_in_skip(&lines->in);

    CV_TRY(cv_trace_object(lines, read_member, &reading));
    if (lines->task == CLEAVE_TASK_LOAD && told.view.workers == NULL)
        return cv_trace_fail(lines, at, "told", "expected the costs of the workers");
    /* More workers than the header names are places that no worker took in a real run. */
    if (lines->task == CLEAVE_TASK_LOAD && told.view.nworkers < lines->nworkers)
        return cv_trace_fail(lines, at, "told",
                             "expected the costs of %u workers or more, got fewer",
                             lines->nworkers);
    if (lines->task == CLEAVE_TASK_REDUCE)
        told.view.units_total = 0;
    told.view.units_left = told.view.units_total;
    *out = told;
    return CLEAVE_OK;
}
