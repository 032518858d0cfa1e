/* trace_policy_input.c -- write what a policy was told into the header of its trace.
 * SPDX-License-Identifier: MIT
 *
 * A worker is a list of its costs, in the order of cv_worker_fields; `alike` more are as
 * the last one, mostly places that nobody took. Without `units` the load is a stream. */
#include "io/trace_policy_input.h"

#include <math.h>

#include "io/trace_limits.h"
#include "model/platform/worker_fields.h"

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
        cv_trace_limits_write(json, view);
    }
    cv_json_end(json);
}
