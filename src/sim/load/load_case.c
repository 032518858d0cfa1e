/* load_case.c -- a job as the simulator takes it. SPDX-License-Identifier: MIT */
#include "sim/load/load_case.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "model/bounds/item_bounds.h"
#include "model/platform/profile.h"
#include "policy/compound/registry.h"
#include "sim/load/native.h"
#include "sim/simgrid/simgrid_engine.h"

/* Items are what they are. */
static enum cleave_status check_items(const struct cleave_job *job,
                                      struct cleave_error *err)
{
    if (job->sizes == NULL)
        return CLEAVE_OK;
    if (job->nitems == 0)
        return cv_fail(err, CLEAVE_EINPUT, "expected 1 or more items, got none");
    if (job->lifespan_s > 0)
        return cv_fail(err, CLEAVE_EINPUT, "expected items or a lifespan, got both");
    if (job->reads != NULL)
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected items or a way in which commands read, got both");
    return CLEAVE_OK;
}

static double sum_of(const double *sizes, uint64_t count)
{
    double sum = 0;

    for (uint64_t i = 0; i < count; i++)
        sum += sizes[i];
    return sum;
}

static enum cleave_status check(const struct cleave_job *job, struct cleave_error *err)
{
    CV_TRY(check_items(job, err));
    if (!(job->result_ratio >= 0) || isinf(job->result_ratio))
        return cv_fail(err, CLEAVE_EINPUT, "expected a result ratio of 0 or more, got %g",
                       job->result_ratio);
    if (!(job->packaging_s >= 0) || isinf(job->packaging_s))
        return cv_fail(err, CLEAVE_EINPUT, "expected a packing time of 0 or more, got %g",
                       job->packaging_s);
    if (job->in_turn && job->before_round)
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected messages in turn or results before the next round, got "
                       "both");
    if (!(job->lifespan_s >= 0) || isinf(job->lifespan_s))
        return cv_fail(err, CLEAVE_EINPUT, "expected a positive lifespan, got %g",
                       job->lifespan_s);
    if (job->lifespan_s > 0 && job->load != 0)
        return cv_fail(err, CLEAVE_EINPUT, "expected a load or a lifespan, got both");
    if (!(job->hold >= 0) || isinf(job->hold))
        return cv_fail(err, CLEAVE_EINPUT, "expected a hold of 0 or more units, got %g",
                       job->hold);
    if (job->hold > 0 && job->reads == NULL)
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected a way in which commands read beside a hold, got none");
    if (job->hold > 0 && job->lifespan_s > 0)
        return cv_fail(err, CLEAVE_EINPUT, "expected a stream or a lifespan, got both");
    return CLEAVE_OK;
}

/* Chunks may be opened. */
static enum cleave_status set_command(struct cv_load_case *out,
                                      const struct cleave_job *job,
                                      struct cleave_error *err)
{
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
        out->load.units = INFINITY;
    }
    return CLEAVE_OK;
}

struct cv_run cv_load_case_run(const struct cv_load_case *load_case)
{
    struct cv_run run = { .platform = load_case->platform };

    if (load_case->load.opens) {
        run.command = &load_case->command;
        run.units = load_case->units;
        run.hold = load_case->load.hold;
    }
    return run;
}

const struct cv_engine *cv_load_case_engine(const struct cv_load_case *load_case,
                                            const struct cleave_simgrid *simgrid)
{
    if (simgrid != NULL)
        return load_case->load.opens ? &cv_engine_simgrid_open : &cv_engine_simgrid;
    return load_case->load.opens ? &cv_engine_native_open : &cv_engine_native;
}

double cv_load_case_units(const struct cv_load_case *load_case,
                          const struct cv_planned *planned)
{
    return isinf(planned->view.units_total) ? load_case->units
                                            : planned->view.units_total;
}

/* A unit costs a worker the time to unpack it, to compute it and to pack its result. */
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
    out->platform = &out->packed;
    return CLEAVE_OK;
}

/* All workers together, without a link or latency in their way, end before time does. */
static enum cleave_status check_end(const struct cv_load_case *load_case,
                                    struct cleave_error *err)
{
    const struct cleave_worker *workers = cleave_platform_workers(load_case->platform);
    const uint32_t n = cleave_platform_nworkers(load_case->platform);
    double speed_ups = 0;

    for (uint32_t w = 0; w < n; w++)
        speed_ups += workers[w].speed_ups;
    if (isfinite(load_case->load.units) && isinf(load_case->load.units / speed_ups))
        return cv_fail(err, CLEAVE_EINPUT,
                       "%g units take these workers longer than can be counted",
                       load_case->load.units);
    return CLEAVE_OK;
}

enum cleave_status cv_load_case_open(struct cv_load_case *out,
                                     const struct cleave_job *job,
                                     struct cleave_error *err)
{
    const bool items = job->sizes != NULL;

    *out = (struct cv_load_case){ .platform = job->platform };
    CV_TRY(check(job, err));
    CV_TRY(
        cv_policy_choose(&(struct cv_policy_request){ .task = items ? CLEAVE_TASK_ITEMS
                                                                    : CLEAVE_TASK_LOAD,
                                                      .name = job->policy,
                                                      .preset = items ? "items" : "auto",
                                                      .own = job->own_policy },
                         &out->policy, err));
    out->load =
        (struct cv_load){ .units = items ? sum_of(job->sizes, job->nitems) : job->load,
                          .lifespan_s = job->lifespan_s,
                          .result_ratio = job->result_ratio,
                          .sends_first = !job->in_turn,
                          .before_round = job->before_round,
                          .error = job->error,
                          .seed = job->seed,
                          .sizes = job->sizes,
                          .nitems = items ? job->nitems : 0 };
    CV_TRY(set_command(out, job, err));
    if (job->packaging_s > 0)
        CV_TRY(pack(out, job, err));
    return check_end(out, err);
}

void cv_load_case_close(struct cv_load_case *load_case)
{
    free(load_case->workers);
    load_case->workers = NULL;
}

enum cleave_status cv_planned_run_once(const struct cv_planned *planned,
                                       const struct cv_engine *engine,
                                       const struct cv_run *run, double *out_s,
                                       struct cleave_error *err)
{
    struct cv_driver *driver = NULL;
    struct cv_outcome outcome;
    enum cleave_status status =
        cv_driver_open(planned, engine, run->platform, NULL, &driver, err);

    if (status == CLEAVE_OK)
        status = cv_driver_run(driver, run, NULL, &outcome, err);
    if (status == CLEAVE_OK)
        *out_s = outcome.makespan_s;
    cv_driver_close(driver);
    return status;
}

enum cleave_status cv_planned_makespan(const struct cv_planned *planned,
                                       const struct cleave_platform *platform,
                                       double *out_s, struct cleave_error *err)
{
    const struct cv_run run = { .platform = platform };

    return cv_planned_run_once(planned, &cv_engine_native, &run, out_s, err);
}

/* --- what no schedule of a case can beat ------------------------------------------- */

/* Units per second of a link that takes no time to speak of. */
static const double FAST_LINK = 1e30;

_Static_assert((int)CV_MAX_ITEM_BOUNDS <= (int)CV_MAX_BOUNDS, "room for all bounds");

/* A command may start up while its input is on its way, and read what has come: then either
 * starts or links cost nothing. NULL when memory is short. */
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
    };

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

size_t cv_load_case_bounds(const struct cv_load_case *load_case,
                           const struct cv_planned *planned, struct cv_arena *arena,
                           struct cleave_bound *out, size_t *out_tightest)
{
    const uint32_t n = planned->view.nworkers;
    const struct cleave_worker *workers = planned->view.workers;
    struct cleave_bound links[CV_MAX_BOUNDS];
    size_t tightest = 0, nlinks, count;
    bool tighter;

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
