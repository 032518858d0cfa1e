/* replay_trace.c -- run the policy of a trace again: the public call.
 * SPDX-License-Identifier: MIT
 *
 * A policy knows its input, which the header of a trace holds, and the events. So its
 * orders must be the same to the last bit. */
#include <cleave/trace.h>

#include <math.h>
#include <stdio.h>

#include "base/argument.h"
#include "engine/simulated_command.h"
#include "engine/driver.h"
#include "engine/replay.h"
#include "model/platform/platform_internal.h"
#include "policy/compound/registry.h"
#include "sim/load/forecast.h"

struct again {
    const struct cleave_policy_input *told;
    const struct cleave_policy *policy;
    struct cleave_platform *platform; /* owned; NULL for a reduction */
    struct cv_planned planned;
};

static enum cleave_status find_policy(const struct cleave_trace *trace,
                                      const struct cleave_policy *own_policy,
                                      struct again *again, struct cleave_error *err)
{
    const struct cleave_trace_facts *facts = cleave_trace_facts(trace);

    if (facts->told == NULL)
        return cv_fail(err, CLEAVE_EINPUT,
                       "the trace (of cleave %s) has no events of its policy; traces of "
                       "runs with this version have them, unless the plan was given",
                       facts->version != NULL ? facts->version : "0.1.0 or before");
    if (facts->policy == NULL && own_policy == NULL)
        return cv_fail(err, CLEAVE_EINPUT, "the trace does not name its policy");
    again->told = facts->told;
    CV_TRY(cv_policy_choose(
        &(struct cv_policy_request){
            .task = facts->told->view.workers == NULL ? CLEAVE_TASK_REDUCE
                    : facts->told->view.nitems > 0    ? CLEAVE_TASK_ITEMS
                                                      : CLEAVE_TASK_LOAD,
            .preset = facts->policy,
            .own = own_policy },
        &again->policy, err));
    if (facts->told->changing && facts->told->view.profiles == NULL &&
        (again->policy->uses_profiles ||
         (again->policy->needs & CLEAVE_NEEDS_FORECAST) != 0))
        return cv_fail(err, CLEAVE_EINPUT,
                       "policy '%s' planned for workers that change with time, whose "
                       "profiles the trace does not hold",
                       again->policy->name);
    if (facts->told->view.opens && facts->told->reads == NULL &&
        (again->policy->needs & CLEAVE_NEEDS_FORECAST) != 0)
        return cv_fail(
            err, CLEAVE_EINPUT,
            "policy '%s' had forecasts for commands that read in a way which the "
            "trace does not hold",
            again->policy->name);
    return CLEAVE_OK;
}

/* Workers with their profiles and memory. */
static enum cleave_status make_platform(const struct cleave_view *view,
                                        struct cleave_platform **out,
                                        struct cleave_error *err)
{
    enum { NAME_ROOM = 16 };
    enum cleave_status status;
    struct cv_arena arena;
    struct cv_group *groups;
    char *names;

    if (view->profiles == NULL && view->memory == NULL)
        return cleave_platform_new(view->port, view->workers, view->nworkers, out, err);
    cv_arena_init(&arena);
    groups = cv_array(&arena, view->nworkers, sizeof *groups);
    names = cv_array(&arena, view->nworkers, NAME_ROOM);
    for (uint32_t w = 0; groups != NULL && names != NULL && w < view->nworkers; w++) {
        groups[w] =
            (struct cv_group){ .name = &names[(size_t)w * NAME_ROOM], .count = 1 };
        snprintf(&names[(size_t)w * NAME_ROOM], NAME_ROOM, "w%u", w);
        if (view->profiles != NULL) {
            groups[w].steps = view->profiles[w].steps;
            groups[w].nsteps = view->profiles[w].nsteps;
        }
        if (view->memory != NULL && !isinf(view->memory[w]))
            groups[w].memory = view->memory[w];
    }
    status = groups != NULL && names != NULL
                 ? cv_platform_build(view->port, view->workers, groups, view->nworkers,
                                     out, NULL, err)
                 : cv_fail_memory(err, "a platform");
    cv_arena_done(&arena);
    return status;
}

static enum cleave_status plan_load(struct again *again, struct cleave_error *err)
{
    const struct cleave_policy_input *told = again->told;
    const struct cleave_view *view = &told->view;
    struct cv_command_model command;
    struct cv_forecast forecast;

    CV_TRY(make_platform(view, &again->platform, err));
    forecast = cv_native_forecast(again->platform);
    if (view->opens && told->reads != NULL) {
        CV_TRY(cv_command_find(told->reads, &command, err));
        forecast.command = &command;
        forecast.units = told->input;
    }
    return cv_planned_init(&again->planned, again->policy, told->settings,
                           told->nsettings, again->platform,
                           cleave_platform_workers(again->platform), view,
                           view->real ? NULL : &forecast, NULL, err);
}

static enum cleave_status make_plan(struct again *again, const struct cleave_trace *trace,
                                    struct cleave_error *err)
{
    const struct cleave_view *view = &again->told->view;

    if (view->workers != NULL)
        return plan_load(again, err);
    /* Every node except one has sent its partial. */
    if (view->nworkers > cleave_trace_count(trace))
        return cv_fail(err, CLEAVE_EINPUT,
                       "the trace is too short for a reduction of %u nodes",
                       view->nworkers);
    return cv_planned_reduce_view(&again->planned, again->policy, again->told->settings,
                                  again->told->nsettings, view, err);
}

static enum cleave_status drive(const struct again *again,
                                const struct cleave_trace *trace,
                                struct cleave_replayed *out, struct cleave_error *err)
{
    const struct cv_replay_source source = { trace, again->told->view.nworkers, out };
    const struct cv_run run = { .platform = again->platform,
                                .ready_s = again->told->view.ready_s,
                                .ready_model = again->told->view.ready_model };
    /* Only the engine knew the units left, as events then tell. */
    const bool knew =
        again->told->view.real || again->told->view.opens ||
        (cleave_trace_count(trace) > 0 && cleave_trace_at(trace, 0)->knows_left);
    struct cv_outcome outcome;

    return cv_driver_run_once(&again->planned,
                              knew ? &cv_engine_replay_real : &cv_engine_replay, &source,
                              &run, NULL, &outcome, err);
}

static bool is_fold(const struct cleave_entry *entry)
{
    return !entry->is_order && entry->as.event.kind == CLEAVE_FOLDED;
}

/* A copy without folds, which policies do not get; NULL if there are none. Folds come
 * last, so that entries keep their numbers. */
static enum cleave_status without_folds(const struct cleave_trace *trace,
                                        struct cleave_trace **out,
                                        struct cleave_error *err)
{
    size_t heard = 0, count = cleave_trace_count(trace);
    enum cleave_status status;

    for (size_t i = 0; i < count; i++)
        heard += !is_fold(cleave_trace_at(trace, i));
    *out = NULL;
    if (heard == count)
        return CLEAVE_OK;
    status = cleave_trace_new(out, err);
    for (size_t i = 0; i < count && status == CLEAVE_OK; i++)
        if (!is_fold(cleave_trace_at(trace, i)))
            status = cleave_trace_add(*out, cleave_trace_at(trace, i), err);
    if (status != CLEAVE_OK) {
        cleave_trace_free(*out);
        *out = NULL;
    }
    return status;
}

enum cleave_status cleave_replay(const struct cleave_trace *trace,
                                 const struct cleave_policy *own_policy,
                                 struct cleave_replayed *out, struct cleave_error *err)
{
    struct again again = { .told = NULL };
    struct cleave_replayed found = { .same = false };
    struct cleave_trace *heard = NULL;
    enum cleave_status status;

    CV_EXPECT_POINTER(trace, err, "trace");
    CV_EXPECT_POINTER(out, err, "out");
    CV_TRY(find_policy(trace, own_policy, &again, err));
    CV_TRY(without_folds(trace, &heard, err));
    status = make_plan(&again, trace, err);
    if (status == CLEAVE_OK) {
        status = drive(&again, heard != NULL ? heard : trace, &found, err);
        cv_planned_done(&again.planned);
    }
    cleave_trace_free(heard);
    cleave_platform_free(again.platform);
    /* A difference is a result; the end of an interrupted run is not an error. */
    if (found.same || found.has_recorded || found.has_now)
        status = CLEAVE_OK;
    if (status == CLEAVE_OK)
        *out = found;
    return status;
}
