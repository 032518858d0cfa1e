/* load_job.c -- plan and simulate a divisible load: the public calls.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/argument.h"
#include "model/platform/argument_check.h"
#include "engine/driver.h"
#include "model/bounds/rate_bound.h"
#include "model/platform/profile.h"
#include "sim/load/load_case.h"
#include "sim/load/forecast.h"
#include "sim/many/monte_carlo.h"
#include "sim/simgrid/simgrid_engine.h"

/* Accuracy of bounds. */
static const double EQUAL = 1e-9;

struct owned_schedule {
    struct cleave_schedule schedule; /* first: this is what callers hold */
    struct cv_load_case load_case;   /* platform and policy              */
    struct cv_planned planned;       /* owns reasons and texts           */
    struct cv_arena arena;           /* owns everything else             */
};

/* Chunks are numbered as they are ordered. */
static void note_item(const struct cleave_order *order, struct cleave_chunk *chunks,
                      uint64_t *ordered)
{
    if (order->kind == CLEAVE_SEND || order->kind == CLEAVE_OPEN)
        chunks[(*ordered)++].item = order->item;
}

/* Chunks, from the entries of a trace. */
static enum cleave_status gather_chunks(const struct cleave_trace *trace,
                                        size_t first_entry, uint64_t nchunks,
                                        struct owned_schedule *owned,
                                        struct cleave_error *err)
{
    uint32_t nworkers = owned->planned.view.nworkers;
    struct cleave_chunk *chunks = cv_array(&owned->arena, nchunks, sizeof *chunks);
    uint32_t *rounds = cv_array(&owned->arena, nworkers, sizeof *rounds);
    uint64_t ordered = 0;

    if (chunks == NULL || rounds == NULL)
        return cv_fail_memory(err, "the chunks of a plan");
    for (size_t i = first_entry; i < cleave_trace_count(trace); i++) {
        const struct cleave_entry *entry = cleave_trace_at(trace, i);
        const struct cleave_event *event = &entry->as.event;

        if (entry->is_order) {
            note_item(&entry->as.order, chunks, &ordered);
            continue;
        }
        if (event->kind == CLEAVE_SENT) {
            const uint64_t item = chunks[event->chunk].item;

            chunks[event->chunk] = (struct cleave_chunk){
                .worker = event->worker,
                .round = rounds[event->worker]++,
                .units = event->units,
                .send_start_s = event->start_s,
                .send_end_s = event->time_s,
                .return_start_s = NAN,
                .return_end_s = NAN,
                .item = item,
            };
            if (rounds[event->worker] > owned->schedule.rounds)
                owned->schedule.rounds = rounds[event->worker];
        } else if (event->kind == CLEAVE_EXTENDED && event->units > 0) {
            /* Without units at first, sending begins now. */
            if (!(chunks[event->chunk].units > 0))
                chunks[event->chunk].send_start_s = event->start_s;
            chunks[event->chunk].units += event->units;
            chunks[event->chunk].send_end_s = event->time_s;
        } else if (event->kind == CLEAVE_DONE) {
            chunks[event->chunk].units = event->units; /* extended or recalled since */
            chunks[event->chunk].compute_start_s = event->start_s;
            chunks[event->chunk].compute_end_s = event->time_s;
        } else if (event->kind == CLEAVE_RETURNED) {
            chunks[event->chunk].return_start_s = event->start_s;
            chunks[event->chunk].return_end_s = event->time_s;
        }
    }
    owned->schedule.chunks = chunks;
    owned->schedule.nchunks = nchunks;
    return CLEAVE_OK;
}

/* Workers without a chunk, with the reasons of the policy. */
static enum cleave_status gather_left_out(struct owned_schedule *owned,
                                          struct cleave_error *err)
{
    uint32_t nworkers = owned->planned.view.nworkers, nleft = nworkers;
    const char **reasons = cv_array(&owned->arena, nworkers, sizeof *reasons);
    bool *used = cv_array(&owned->arena, nworkers, sizeof *used);
    struct cleave_left_out *left_out;

    if (reasons == NULL || used == NULL)
        return cv_fail_memory(err, "the workers left out");
    for (size_t k = 0; k < owned->schedule.nchunks; k++) {
        uint32_t w = owned->schedule.chunks[k].worker;

        nleft -= !used[w];
        used[w] = true;
    }
    for (const struct cv_left_out *n = owned->planned.notes.left_out; n != NULL;
         n = n->next) {
        if (n->worker >= nworkers)
            return cv_fail(err, CLEAVE_EPOLICY, "policy '%s' left out worker %u of %u",
                           owned->planned.policy->name, n->worker, nworkers);
        reasons[n->worker] = n->reason;
    }
    if (!CV_NEW(&owned->arena, left_out, nleft))
        return cv_fail_memory(err, "the workers left out");
    owned->schedule.left_out = left_out;
    owned->schedule.nleft_out = nleft;
    for (uint32_t w = 0; w < nworkers; w++)
        if (!used[w])
            *left_out++ = (struct cleave_left_out){
                w, reasons[w] != NULL ? reasons[w] : "the load ran out before its turn"
            };
    return CLEAVE_OK;
}

/* Oldest first. */
static enum cleave_status gather_facts(struct owned_schedule *owned,
                                       struct cleave_error *err)
{
    struct cleave_fact *facts;
    size_t count = 0;

    for (const struct cv_plan_fact *f = owned->planned.notes.facts; f != NULL;
         f = f->next)
        count++;
    if (count == 0)
        return CLEAVE_OK;
    if (!CV_NEW(&owned->arena, facts, count))
        return cv_fail_memory(err, "the facts of a plan");
    owned->schedule.facts = facts;
    owned->schedule.nfacts = count;
    for (const struct cv_plan_fact *f = owned->planned.notes.facts; f != NULL;
         f = f->next)
        facts[--count] = (struct cleave_fact){ f->name, f->value };
    return CLEAVE_OK;
}

/* A worker is paid from the begin of its first message to its last end. */
static enum cleave_status gather_cost(struct owned_schedule *owned,
                                      struct cleave_error *err)
{
    const struct cleave_platform *platform = owned->load_case.platform;
    struct cleave_schedule *schedule = &owned->schedule;
    const uint32_t n = owned->planned.view.nworkers;
    double *paid_s, *from_s;

    if (!cv_platform_costs(platform))
        return CLEAVE_OK;
    if (!CV_NEW(&owned->arena, paid_s, n) || !CV_NEW(&owned->arena, from_s, n))
        return cv_fail_memory(err, "the costs of a plan");
    for (uint32_t w = 0; w < n; w++)
        from_s[w] = INFINITY;
    for (size_t k = 0; k < schedule->nchunks; k++) {
        const struct cleave_chunk *chunk = &schedule->chunks[k];
        const uint32_t w = chunk->worker;

        from_s[w] = fmin(from_s[w], chunk->send_start_s);
        paid_s[w] = fmax(paid_s[w], isnan(chunk->return_end_s) ? chunk->compute_end_s
                                                               : chunk->return_end_s);
    }
    for (uint32_t w = 0; w < n; w++) {
        paid_s[w] = fmax(0, paid_s[w] - from_s[w]);
        schedule->cost += paid_s[w] * cleave_platform_cost(platform, w);
    }
    schedule->paid_s = paid_s;
    return CLEAVE_OK;
}

/* How leaders cut their chunks, which arrive in the order sent. */
static enum cleave_status gather_led(struct owned_schedule *owned,
                                     struct cleave_error *err)
{
    const struct cv_led_tree *tree = owned->load_case.platform->tree;
    const struct cleave_schedule *schedule = &owned->schedule;
    enum cleave_status status = CLEAVE_OK;
    struct cleave_led *led;
    struct cv_led_run run;

    if (tree == NULL || owned->load_case.load.opens)
        return CLEAVE_OK;
    if (!CV_NEW(&owned->arena, led, tree->nnodes))
        return cv_fail_memory(err, "the leaders of a plan");
    if (cv_led_run_init(&run, tree, owned->planned.view.nworkers))
        run.units = calloc(tree->nnodes, sizeof *run.units);
    if (run.units == NULL)
        status = cv_fail_memory(err, "the leaders of a plan");
    for (size_t k = 0; status == CLEAVE_OK && k < schedule->nchunks; k++)
        cv_led_take(&run, schedule->chunks[k].worker, schedule->chunks[k].send_end_s,
                    schedule->chunks[k].units, 1);
    for (uint32_t v = 0; status == CLEAVE_OK && v < tree->nnodes; v++) {
        const uint32_t parent = tree->nodes[v].parent;

        led[v] = (struct cleave_led){
            .name = tree->nodes[v].name,
            .leader = parent == CV_NO_LEADER ? NULL : tree->nodes[parent].name,
            .count = tree->nodes[v].count,
            .units = run.units[v],
        };
    }
    cv_led_run_done(&run);
    owned->schedule.led = led;
    owned->schedule.nled = tree->nnodes;
    return status;
}

/* Ends of several loads, their bounds alone, and the phases of the policy. */
static enum cleave_status gather_loads(struct owned_schedule *owned,
                                       struct cleave_error *err)
{
    const size_t count = owned->planned.view.nloads;
    struct cleave_schedule *schedule = &owned->schedule;
    double *ends_s = cv_array(&owned->arena, count, sizeof *ends_s);
    double *alone_s = cv_array(&owned->arena, count, sizeof *alone_s);

    if (count == 0)
        return CLEAVE_OK;
    if (ends_s == NULL || alone_s == NULL)
        return cv_fail_memory(err, "the loads of a plan");
    for (size_t i = 0; i < schedule->nchunks; i++) {
        const struct cleave_chunk *chunk = &schedule->chunks[i];

        ends_s[chunk->item] = fmax(ends_s[chunk->item], chunk->compute_end_s);
    }
    for (size_t k = 0; k < count; k++)
        alone_s[k] = owned->planned.loads[k].alone_s;
    schedule->ends_s = ends_s;
    schedule->alone_s = alone_s;
    schedule->phases = owned->planned.notes.phases;
    schedule->nphases = owned->planned.notes.nphases;
    return CLEAVE_OK;
}

static bool meets_bound(const struct cleave_schedule *schedule)
{
    if (schedule->lifespan_s > 0)
        return schedule->load >= schedule->bound.value_s * (1 - EQUAL);
    return schedule->value <= schedule->bound.value_s * (1 + EQUAL);
}

static enum cleave_status gather_bounds(struct owned_schedule *owned,
                                        struct cleave_error *err)
{
    struct cleave_bound *bounds = cv_array(&owned->arena, CV_MAX_BOUNDS, sizeof *bounds);
    size_t tightest = 0, count = 0;

    if (bounds != NULL)
        count = cv_load_case_bounds(&owned->load_case, &owned->planned, &owned->arena,
                                    bounds, &tightest);
    if (count == 0)
        return cv_fail_memory(err, "the bounds");
    owned->schedule.bounds = bounds;
    owned->schedule.nbounds = count;
    owned->schedule.bound = bounds[tightest];
    if (meets_bound(&owned->schedule))
        owned->schedule.optimal = true;
    return CLEAVE_OK;
}

static enum cleave_status run_once(struct owned_schedule *owned,
                                   const struct cleave_simgrid *simgrid,
                                   struct cleave_trace *trace, struct cleave_error *err)
{
    const struct cv_simgrid_source source = { .where = simgrid };
    const struct cv_run run = cv_load_case_run(&owned->load_case, NULL);
    size_t first_entry = cleave_trace_count(trace);
    struct cleave_schedule *schedule = &owned->schedule;
    struct cv_outcome outcome;

    CV_TRY(cv_driver_run_once(&owned->planned, cv_load_case_engine(&run, simgrid),
                              simgrid != NULL ? &source : NULL, &run, trace, &outcome,
                              err));
    schedule->makespan_s = outcome.makespan_s;
    schedule->value = outcome.value;
    if (outcome.makespan_s > 0)
        schedule->utilisation =
            outcome.busy_s / (outcome.makespan_s * owned->planned.view.nworkers);
    return gather_chunks(trace, first_entry, outcome.chunks, owned, err);
}

static enum cleave_status fill_schedule(struct owned_schedule *owned,
                                        const struct cleave_simgrid *simgrid,
                                        struct cleave_trace *trace,
                                        struct cleave_error *err)
{
    struct cleave_schedule *schedule = &owned->schedule;

    CV_TRY(run_once(owned, simgrid, trace, err));
    schedule->policy = owned->planned.policy->name;
    schedule->picked = owned->planned.notes.picked;
    schedule->why = owned->planned.notes.why;
    schedule->proved = owned->planned.notes.proved;
    /* Proofs concern schedules of one round; other schedules have the bound. */
    schedule->optimal = owned->planned.notes.optimal &&
                        owned->planned.policy->one_round &&
                        owned->planned.view.result_ratio > 0;
    schedule->load = cv_load_case_units(&owned->load_case, &owned->planned);
    schedule->lifespan_s = owned->load_case.load.lifespan_s;
    schedule->result_ratio = owned->planned.view.result_ratio;
    CV_TRY(gather_left_out(owned, err));
    CV_TRY(gather_cost(owned, err));
    CV_TRY(gather_facts(owned, err));
    CV_TRY(gather_loads(owned, err));
    CV_TRY(gather_bounds(owned, err));
    CV_TRY(gather_led(owned, err));
    if (simgrid != NULL && simgrid->topology != NULL) {
        /* Proofs concern declared costs, not shared links. */
        schedule->proved = NULL;
        schedule->optimal = false;
    }
    if (owned->load_case.platform->tree != NULL ||
        cv_is_changing(owned->load_case.platform)) {
        /* Proofs of policies concern stars with steady speeds. */
        schedule->proved = NULL;
        schedule->optimal = !owned->load_case.load.opens && meets_bound(schedule);
    }
    return CLEAVE_OK;
}

enum cleave_status cleave_plan_load(const struct cleave_job *job,
                                    struct cleave_schedule **out,
                                    struct cleave_error *err)
{
    struct owned_schedule *owned;
    struct cleave_trace *trace;
    enum cleave_status status;

    CV_TRY(cv_check_job(job, err));
    CV_EXPECT_POINTER(out, err, "out");
    owned = calloc(1, sizeof *owned);
    if (owned == NULL)
        return cv_fail_memory(err, "a schedule");
    trace = job->trace;
    cv_arena_init(&owned->arena);
    status = cv_load_case_open(&owned->load_case, job, err);
    if (status == CLEAVE_OK)
        status = cv_load_case_plan(&owned->load_case, job, &owned->planned, err);
    if (status == CLEAVE_OK && trace == NULL)
        status = cleave_trace_new(&trace, err);
    if (status == CLEAVE_OK)
        status = fill_schedule(owned, job->simgrid, trace, err);
    if (trace != job->trace)
        cleave_trace_free(trace);
    if (status != CLEAVE_OK) {
        cleave_schedule_free(&owned->schedule);
        return status;
    }
    *out = &owned->schedule;
    return CLEAVE_OK;
}

void cleave_schedule_free(struct cleave_schedule *schedule)
{
    struct owned_schedule *owned = (struct owned_schedule *)schedule;

    if (owned == NULL)
        return;
    cv_planned_done(&owned->planned);
    cv_load_case_close(&owned->load_case);
    cv_arena_done(&owned->arena);
    free(owned);
}

/* Raise the bound to what rates allow: every item could be as short as the smallest one. */
static void bound_rates(const struct cv_load_case *load_case,
                        const struct cleave_conditions *conditions,
                        struct cleave_bound *bound)
{
    const uint32_t n = cleave_platform_nworkers(load_case->platform);
    const struct cleave_worker *workers = cleave_platform_workers(load_case->platform);
    struct cv_rated_workers *groups = calloc(conditions->nrates + 1, sizeof *groups);
    double least = INFINITY, bound_s;

    for (uint64_t i = 0; i < load_case->load.nitems; i++)
        least = fmin(least, load_case->load.sizes[i]);
    for (uint32_t w = 0; groups != NULL && w < n; w++) {
        size_t i = 0;

        while (i < conditions->nrates &&
               (w < conditions->rates[i].first ||
                w - conditions->rates[i].first >= conditions->rates[i].count))
            i++;
        groups[i].workers++;
        groups[i].speed_ups +=
            1 / fmax(1e-9, workers[w].compute_latency_s + least / workers[w].speed_ups);
        if (i == conditions->nrates)
            continue;
        groups[i].period_s = conditions->rates[i].period_s;
        groups[i].amount = conditions->rates[i].by_weight
                               ? conditions->rates[i].amount / fmax(least, 1e-300)
                               : conditions->rates[i].amount;
    }
    bound_s = groups != NULL && conditions->nrates > 0
                  ? cv_rate_bound_s(groups, conditions->nrates + 1,
                                    (double)load_case->load.nitems)
                  : 0;
    free(groups);
    if (bound_s > bound->value_s)
        *bound = (struct cleave_bound){ "rates", bound_s };
}

enum cleave_status
cv_load_case_simulate(const struct cv_load_case *load_case, const struct cleave_job *job,
                      const struct cleave_trial *trial, const struct cv_after_run *after,
                      struct cleave_stats *out, struct cleave_error *err)
{
    const struct cv_simgrid_source source = { .where = job->simgrid };
    const bool native = job->simgrid == NULL;
    struct cv_run first = cv_load_case_run(load_case, &trial->conditions);
    struct cleave_bound bounds[CV_MAX_BOUNDS];
    struct cleave_stats stats;
    struct cv_planned planned;
    enum cleave_status status;
    size_t tightest;

    first.noise.drawn = trial->noise;
    first.noise.seed = job->seed;
    CV_TRY(cv_load_case_plan(load_case, job, &planned, err));
    status = cv_load_case_check(load_case, cv_load_case_units(load_case, &planned),
                                &trial->conditions, err);
    if (status == CLEAVE_OK)
        status = cv_monte_carlo(&planned, cv_load_case_engine(&first, job->simgrid),
                                native ? NULL : &source, &first, trial, after, job->trace,
                                &stats, err);
    if (status == CLEAVE_OK &&
        cv_load_case_bounds(load_case, &planned, &planned.arena, bounds, &tightest) == 0)
        status = cv_fail_memory(err, "the bounds");
    if (status == CLEAVE_OK) {
        stats.load = cv_load_case_units(load_case, &planned);
        stats.bound = bounds[tightest];
        bound_rates(load_case, &trial->conditions, &stats.bound);
        stats.picked = planned.notes.picked;
        *out = stats;
    }
    cv_planned_done(&planned);
    return status;
}

enum cleave_status cleave_simulate_load(const struct cleave_job *job,
                                        const struct cleave_trial *trial,
                                        struct cleave_stats *out,
                                        struct cleave_error *err)
{
    struct cv_load_case load_case;
    enum cleave_status status;

    CV_TRY(cv_check_job(job, err));
    CV_TRY(cv_check_trial(trial, err));
    CV_EXPECT_POINTER(out, err, "out");
    status = cv_load_case_open(&load_case, job, err);
    if (status == CLEAVE_OK)
        status = cv_load_case_simulate(&load_case, job, trial, NULL, out, err);
    cv_load_case_close(&load_case);
    return status;
}
