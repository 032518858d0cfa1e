/* load_case.c -- a job in the form of the simulator. SPDX-License-Identifier: MIT */
#include "sim/load/load_case.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "model/bounds/item_bounds.h"
#include "model/loads/loads.h"
#include "model/platform/profile.h"
#include "policy/compound/registry.h"
#include "sim/load/rated.h"
#include "sim/load/native.h"
#include "sim/simgrid/simgrid_engine.h"
static double sum_of(const double *sizes, uint64_t count)
{
    double sum = 0;

    for (uint64_t i = 0; i < count; i++)
        sum += sizes[i];
    return sum;
}
static enum cleave_status check(const struct cleave_job *job, struct cleave_error *err)
{
    const bool items = job->sizes != NULL, several = job->loads != NULL,
               lasts = job->lifespan_s > 0;
    const struct {
        double value;
        const char *expected;
    } numbers[] = {
        { job->result_ratio, "a result ratio of 0 or more" },
        { job->packaging_s, "a packing time of 0 or more" },
        { job->lifespan_s, "a positive lifespan" },
        { job->hold, "a hold of 0 or more units" },
    };
    const struct {
        bool both;
        const char *expected;
    } pairs[] = {
        { items && lasts, "items or a lifespan" },
        { items && job->reads != NULL, "items or a way in which commands read" },
        { job->in_turn && job->before_round,
          "messages in turn or results before the next round" },
        { lasts && job->load != 0, "a load or a lifespan" },
        { lasts && job->hold > 0, "a stream or a lifespan" },
        { several && items, "several loads or items" },
        { several && lasts, "several loads or a lifespan" },
        { several && job->reads != NULL,
          "several loads or a way in which commands read" },
        { several && (job->result_ratio > 0 || job->packaging_s > 0),
          "several loads or results" },
        { several && job->simgrid != NULL, "several loads or SimGrid" },
    };

    if (items && job->nitems == 0)
        return cv_fail(err, CLEAVE_EINPUT, "expected 1 or more items, got none");
    if (several && job->nloads == 0)
        return cv_fail(err, CLEAVE_EINPUT, "expected 1 or more loads, got none");
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (!(numbers[i].value >= 0) || isinf(numbers[i].value))
            return cv_fail(err, CLEAVE_EINPUT, "expected %s, got %g", numbers[i].expected,
                           numbers[i].value);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (pairs[i].both)
            return cv_fail(err, CLEAVE_EINPUT, "expected %s, got both",
                           pairs[i].expected);
    if (job->hold > 0 && job->reads == NULL)
        return cv_fail(
            err, CLEAVE_EINPUT,
            "expected a way in which commands read in addition to a hold, got none");
    return CLEAVE_OK;
}

static enum cleave_status set_command(struct cv_load_case *out,
                                      const struct cleave_job *job,
                                      struct cleave_error *err)
{
    out->command = (struct cv_command_model){ .name = "", .phi = 1 };
    if (job->reads == NULL)
        return CLEAVE_OK;
    CV_TRY(cv_command_find(job->reads, &out->command, err));
    out->load.opens = true;
    out->load.ahead = out->command.ahead;
    out->load.hold = job->hold;
    out->units = job->load;
    if (job->hold > 0) {
        if (!(job->load > 0) || isinf(job->load))
            return cv_fail(err, CLEAVE_EINPUT, "expected a positive load, got %g",
                           job->load);
        out->load.units_total = INFINITY;
    }
    return CLEAVE_OK;
}

struct cv_run cv_load_case_run(const struct cv_load_case *load_case,
                               const struct cleave_conditions *conditions)
{
    struct cv_run run = { .platform = load_case->platform };

    if (conditions != NULL)
        run.conditions = *conditions;
    run.conditions.nitems = load_case->load.nitems;
    if (load_case->load.opens || load_case->load.copies || run.conditions.answers_s > 0 ||
        run.conditions.stalls.every_s > 0 ||
        run.conditions.costs.kind != CLEAVE_COST_EVEN || run.conditions.nhangs > 0) {
        run.command = &load_case->command;
        run.units = load_case->units;
        run.hold = load_case->load.hold;
    }
    return run;
}

const struct cv_engine *cv_load_case_engine(const struct cv_run *run,
                                            const struct cleave_simgrid *simgrid)
{
    if (run->conditions.nrates > 0)
        return run->command != NULL ? &cv_engine_rated_rough : &cv_engine_rated;
    if (simgrid != NULL)
        return run->command != NULL ? &cv_engine_simgrid_open : &cv_engine_simgrid;
    return run->command != NULL ? &cv_engine_native_open : &cv_engine_native;
}

enum cleave_status cv_load_case_check(const struct cv_load_case *load_case, double units,
                                      const struct cleave_conditions *conditions,
                                      struct cleave_error *err)
{
    const uint32_t n = cleave_platform_nworkers(load_case->platform);
    const struct cleave_cost_law *costs = &conditions->costs;
    uint32_t live = 0;

    if (!(conditions->answers_s >= 0) || isinf(conditions->answers_s))
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected answers that take 0 s or more, got %g s",
                       conditions->answers_s);
    if (costs->kind != CLEAVE_COST_EVEN && load_case->load.nitems == 0 &&
        !(units / costs->record <= CV_RECORDS_MOST))
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected at most %g records whose costs are drawn, got %g of %g "
                       "units: larger records are fewer",
                       CV_RECORDS_MOST, units / costs->record, costs->record);
    for (size_t i = 0; i < conditions->nrates; i++) {
        const struct cleave_rate *rate = &conditions->rates[i];

        if (load_case->load.nitems == 0)
            return cv_fail(err, CLEAVE_EINPUT, "expected items, which rates count");
        if (!(rate->amount > 0 && rate->period_s > 0) || rate->first >= n ||
            rate->count > n - rate->first)
            return cv_fail(err, CLEAVE_EINPUT, "expected a rate above 0 of %u workers",
                           n);
        for (uint64_t k = 0; rate->by_weight && k < load_case->load.nitems; k++)
            if (load_case->load.sizes[k] > rate->amount)
                return cv_fail(
                    err, CLEAVE_EINPUT,
                    "expected at least %g in %g s, the size of item %llu, got %g",
                    load_case->load.sizes[k], rate->period_s, (unsigned long long)k + 1,
                    rate->amount);
    }
    for (size_t i = 0; i < conditions->nhangs; i++)
        if (conditions->hangs[i].worker >= n || !(conditions->hangs[i].time_s >= 0) ||
            isinf(conditions->hangs[i].time_s))
            return cv_fail(err, CLEAVE_EINPUT,
                           "expected one of %u workers that hangs at a time of 0 or "
                           "more, got worker %u at %g s",
                           n, conditions->hangs[i].worker, conditions->hangs[i].time_s);
    for (uint32_t w = 0; w < n; w++) {
        size_t i = 0;

        while (i < conditions->nhangs && conditions->hangs[i].worker != w)
            i++;
        live += i == conditions->nhangs;
    }
    if (live == 0)
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected a worker that does not hang, got none of %u", n);
    return CLEAVE_OK;
}

double cv_load_case_units(const struct cv_load_case *load_case,
                          const struct cv_planned *planned)
{
    return isinf(planned->view.units_total) ? load_case->units
                                            : planned->view.units_total;
}

/* A unit costs the time to unpack it, to compute it and to pack its result. */
static enum cleave_status pack(struct cv_load_case *out, const struct cleave_job *job,
                               struct cleave_error *err)
{
    const double extra_s = (1 + job->result_ratio) * job->packaging_s;
    const uint32_t n = cleave_platform_nworkers(job->platform);

    out->workers = calloc(n, sizeof *out->workers);
    if (out->workers == NULL)
        return cv_fail_memory(err, "the workers");
    for (uint32_t i = 0; i < n; i++) {
        out->workers[i] = cleave_platform_workers(job->platform)[i];
        out->workers[i].speed_ups /= 1 + out->workers[i].speed_ups * extra_s;
    }
    out->packed = *job->platform;
    out->packed.workers = out->workers;
    if (job->platform->tree != NULL) {
        out->packed.tree = cv_led_packed(job->platform->tree, extra_s, &out->arena);
        if (out->packed.tree == NULL)
            return cv_fail_memory(err, "the workers");
        for (uint32_t i = 0; i < n; i++)
            out->workers[i] =
                cv_led_stand_in(&out->packed.tree->nodes[out->packed.tree->top[i]]);
    }
    out->platform = &out->packed;
    return CLEAVE_OK;
}

/* The simulator does not know how a leader would share one item, or a profile. */
static enum cleave_status check_leaders(const struct cleave_job *job,
                                        struct cleave_error *err)
{
    const struct cleave_platform *platform = job->platform;
    uint32_t nsteps;

    for (uint32_t w = 0; platform->tree != NULL && w < platform->nworkers; w++) {
        if (!cv_led_leads(platform->tree, w))
            continue;
        if (job->loads != NULL)
            return cv_fail(err, CLEAVE_EINPUT,
                           "worker '%s' leads others (via:): expected workers without "
                           "leaders for several loads",
                           platform->names[w]);
        if (job->sizes != NULL)
            return cv_fail(err, CLEAVE_EINPUT,
                           "worker '%s' leads others (via:), and leaders cut chunks: "
                           "expected workers without leaders for items",
                           platform->names[w]);
        if (cleave_platform_profile(platform, w, &nsteps) != NULL)
            return cv_fail(err, CLEAVE_EINPUT,
                           "worker '%s' leads others (via:) and has a profile, or times: "
                           "expected one of them in a plan",
                           platform->names[w]);
    }
    return CLEAVE_OK;
}

/* Whether all workers together, without links and latencies, end in a countable time. */
static enum cleave_status check_end(const struct cv_load_case *load_case,
                                    struct cleave_error *err)
{
    const struct cleave_worker *workers = cleave_platform_workers(load_case->platform);
    const uint32_t n = cleave_platform_nworkers(load_case->platform);
    double speed_ups = 0;

    for (uint32_t w = 0; w < n; w++)
        speed_ups += workers[w].speed_ups;
    if (isfinite(load_case->load.units_total) &&
        isinf(load_case->load.units_total / speed_ups))
        return cv_fail(err, CLEAVE_EINPUT,
                       "%g units take these workers longer than can be counted",
                       load_case->load.units_total);
    return CLEAVE_OK;
}

/* Check several loads, and set their bounds alone. */
static enum cleave_status open_loads(struct cv_load_case *out,
                                     const struct cleave_job *job,
                                     struct cleave_error *err)
{
    const struct cleave_view view = {
        .workers = cleave_platform_workers(job->platform),
        .nworkers = cleave_platform_nworkers(job->platform),
        .port = cleave_platform_port(job->platform),
        .loads = job->loads,
        .nloads = job->nloads,
    };
    double *units = cv_array(&out->arena, job->nloads, sizeof *units);
    struct cleave_load *loads = cv_array(&out->arena, job->nloads, sizeof *loads);
    struct cv_loads model;

    for (size_t k = 0; units != NULL && k < job->nloads; k++) {
        const struct cleave_load *load = &job->loads[k];

        if (!(load->units > 0) || isinf(load->units) || !(load->weight > 0) ||
            isinf(load->weight) || !(load->release_s >= 0) || isinf(load->release_s) ||
            !(load->transfer >= 0) || isinf(load->transfer))
            return cv_fail(err, CLEAVE_EINPUT,
                           "load '%s': expected units and weight above 0, release and "
                           "transfer of 0 or more",
                           load->name);
        for (uint32_t i = 0; i < view.nworkers; i++)
            if (!(load->compute[i] > 0) || isinf(load->compute[i]))
                return cv_fail(err, CLEAVE_EINPUT,
                               "load '%s': expected compute above 0, got %g", load->name,
                               load->compute[i]);
        units[k] = load->units;
        out->load.units_total += load->units;
    }
    if (units == NULL || loads == NULL ||
        !cv_loads_init(&model, &view, units, &out->arena))
        return cv_fail_memory(err, "the loads");
    for (uint32_t k = 0; k < job->nloads; k++) {
        loads[k] = job->loads[k];
        loads[k].alone_s = cv_loads_alone(&model, k, NULL);
        if (!isfinite(loads[k].alone_s))
            return cv_fail(err, CLEAVE_EINPUT,
                           "load '%s' takes these workers longer than can be counted",
                           loads[k].name);
    }
    out->load.loads = loads;
    out->load.nloads = job->nloads;
    out->load.goal = job->goal;
    return CLEAVE_OK;
}

enum cleave_status cv_load_case_open(struct cv_load_case *out,
                                     const struct cleave_job *job,
                                     struct cleave_error *err)
{
    const bool items = job->sizes != NULL, several = job->loads != NULL;

    *out = (struct cv_load_case){ .platform = job->platform };
    CV_TRY(check(job, err));
    CV_TRY(check_leaders(job, err));
    CV_TRY(cv_policy_choose(&(struct cv_policy_request){ .task = items ? CLEAVE_TASK_ITEMS
                                                                 : several
                                                                     ? CLEAVE_TASK_LOADS
                                                                     : CLEAVE_TASK_LOAD,
                                                         .name = job->policy,
                                                         .preset = items     ? "items"
                                                                   : several ? "plan"
                                                                             : "auto",
                                                         .own = job->own_policy },
                            &out->policy, err));
    out->load =
        (struct cleave_view){ .units_total =
                                  items ? sum_of(job->sizes, job->nitems) : job->load,
                              .lifespan_s = job->lifespan_s,
                              .result_ratio = job->result_ratio,
                              .sends_first = !job->in_turn,
                              .before_round = job->before_round,
                              .error = job->error,
                              .copies = job->copies,
                              .seed = job->seed,
                              .sizes = job->sizes,
                              .nitems = items ? job->nitems : 0 };
    if (several)
        CV_TRY(open_loads(out, job, err));
    CV_TRY(set_command(out, job, err));
    if (job->packaging_s > 0)
        CV_TRY(pack(out, job, err));
    return check_end(out, err);
}

void cv_load_case_close(struct cv_load_case *load_case)
{
    free(load_case->workers);
    load_case->workers = NULL;
    cv_arena_done(&load_case->arena);
}

enum cleave_status cv_planned_run_once(const struct cv_planned *planned,
                                       const struct cv_engine *engine,
                                       const struct cv_run *run, double *out_s,
                                       struct cleave_error *err)
{
    struct cv_outcome outcome;

    CV_TRY(cv_driver_run_once(planned, engine, NULL, run, NULL, &outcome, err));
    *out_s = outcome.makespan_s;
    return CLEAVE_OK;
}

/* --- bounds ------------------------------------------------------------------------- */

/* Units per second of a link that takes no time. */
static const double FAST_LINK = 1e30;

_Static_assert((int)CV_MAX_LOADS_BOUNDS <= (int)CV_MAX_BOUNDS, "room for all bounds");
_Static_assert((int)CV_MAX_ITEM_BOUNDS <= (int)CV_MAX_BOUNDS, "room for all bounds");

/* A command may start while its input is sent, and read the part that has arrived: then
 * either starts or links cost nothing. NULL: no memory. */
static const struct cleave_worker *as_if_for_nothing(const struct cleave_worker *workers,
                                                     uint32_t n, bool starts,
                                                     struct cv_arena *arena)
{
    struct cleave_worker *out = cv_array(arena, n, sizeof *out);

    for (uint32_t w = 0; out != NULL && w < n; w++) {
        out[w] = workers[w];
        if (starts) {
            out[w].compute_latency_s = 0;
        } else {
            out[w].latency_s = out[w].return_latency_s = 0;
            out[w].bandwidth_ups = out[w].return_bandwidth_ups = FAST_LINK;
        }
    }
    return out;
}

static size_t bounds_for(const struct cv_load_case *load_case,
                         const struct cv_planned *planned,
                         const struct cleave_worker *workers, struct cv_arena *arena,
                         struct cleave_bound *out, size_t *out_tightest)
{
    const struct cleave_view *view = &planned->view;
    bool *leads = load_case->platform->tree != NULL
                      ? cv_array(arena, view->nworkers, sizeof *leads)
                      : NULL;
    const struct cv_bound_query query = {
        .workers = workers,
        .profiles = view->profiles,
        .nworkers = view->nworkers,
        .port = view->port,
        .load = cv_load_case_units(load_case, planned),
        .lifespan_s = load_case->load.lifespan_s,
        .result_ratio = view->result_ratio,
        .one_round = view->result_ratio > 0 && planned->policy->one_round,
        .memory = load_case->load.opens ? NULL : view->memory,
        .leads = leads,
        .tree = load_case->load.opens ? NULL : load_case->platform->tree,
    };

    for (uint32_t w = 0; leads != NULL && w < view->nworkers; w++)
        leads[w] = cv_led_leads(load_case->platform->tree, w);
    if (leads == NULL && load_case->platform->tree != NULL)
        return 0;
    return workers == NULL ? 0 : cv_load_bounds(&query, arena, out, out_tightest);
}

static size_t item_bounds(const struct cleave_view *view,
                          const struct cleave_worker *workers, struct cv_arena *arena,
                          struct cleave_bound *out, size_t *out_tightest)
{
    const struct cv_item_query query = { .workers = workers,
                                         .nworkers = view->nworkers,
                                         .port = view->port,
                                         .sizes = view->sizes,
                                         .nitems = view->nitems };

    return workers == NULL ? 0 : cv_item_bounds(&query, arena, out, out_tightest);
}

/* As if no load were hidden from the policy. */
static size_t several_bounds(const struct cv_planned *planned, struct cv_arena *arena,
                             struct cleave_bound *out, size_t *out_tightest)
{
    double *units = cv_array(arena, planned->view.nloads, sizeof *units);
    struct cleave_view view = planned->view;
    struct cv_loads loads;

    view.workers = cv_platform_at_peak(view.workers, view.profiles, view.nworkers, arena);
    view.loads = planned->loads;
    for (size_t k = 0; units != NULL && k < view.nloads; k++)
        units[k] = view.loads[k].units;
    return units != NULL && view.workers != NULL &&
                   cv_loads_init(&loads, &view, units, arena)
               ? cv_loads_bounds(&loads, view.goal, arena, out, out_tightest)
               : 0;
}

size_t cv_load_case_bounds(const struct cv_load_case *load_case,
                           const struct cv_planned *planned, struct cv_arena *arena,
                           struct cleave_bound *out, size_t *out_tightest)
{
    const uint32_t n = planned->view.nworkers;
    const struct cleave_worker *workers = planned->view.workers;
    struct cleave_bound links[CV_MAX_BOUNDS];
    size_t tightest = 0, nlinks, count;
    bool tighter;

    if (planned->loads != NULL)
        return several_bounds(planned, arena, out, out_tightest);
    if (planned->view.nitems > 0)
        return item_bounds(&planned->view,
                           cv_platform_at_peak(workers, planned->view.profiles, n, arena),
                           arena, out, out_tightest);
    if (!load_case->load.opens)
        return bounds_for(load_case, planned, workers, arena, out, out_tightest);
    nlinks = bounds_for(load_case, planned, as_if_for_nothing(workers, n, true, arena),
                        arena, links, &tightest);
    count = bounds_for(load_case, planned, as_if_for_nothing(workers, n, false, arena),
                       arena, out, out_tightest);
    if (nlinks == 0 || count == 0)
        return 0;
    tighter = load_case->load.lifespan_s > 0
                  ? links[tightest].value_s < out[*out_tightest].value_s
                  : links[tightest].value_s > out[*out_tightest].value_s;
    if (!tighter)
        return count;
    memcpy(out, links, nlinks * sizeof *out);
    *out_tightest = tightest;
    return nlinks;
}
