/* execute.c -- cleave_execute, and the result of a run. SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cleave/execute.h>
#include "base/argument.h"
#include "base/compare.h"
#include "base/fail.h"
#include "model/bounds/rate_bound.h"
#include "run/execute/execution.h"
#include "run/master/exec_run.h"
#include "run/master/worker_setup.h"
#include "run/split/format_guess.h"

/* --- the result of a run ----------------------------------------------------------- */

/* The public result and the memory it points to. */
struct owned {
    struct cleave_execution_result result; /* first */
    struct cv_arena arena;
};

static const char *keep(struct cleave_execution_result *result, const char *text)
{
    const char *kept = cv_arena_text(&((struct owned *)result)->arena, text);

    return kept != NULL ? kept : "";
}

/* Seconds that starts of commands took: as seen, else from the fit of chunk sizes and
 * times. NAN: unknown, as with persistent commands. */
static double starts_of(const struct cv_worker_stats *tally,
                        const struct cleave_worker_result *worker, bool stays)
{
    if (tally->starts > 0)
        return fmin(tally->starts_s / (double)tally->starts *
                        (double)(tally->starts > worker->chunks ? tally->starts
                                                                : worker->chunks),
                    worker->busy_s);
    return worker->latency_s > 0 && !stays
               ? fmin(worker->latency_s * (double)worker->chunks, worker->busy_s)
               : NAN;
}

static void sum_worker(const struct cv_exec_run *run, uint32_t place,
                       struct cleave_execution_result *result,
                       struct cleave_worker_result *out)
{
    const struct cv_worker_stats *worker = &run->pool.tallies[place];

    out->name = keep(result, run->pool.names[place]);
    out->chunks = worker->chunks;
    out->failures = worker->failures;
    out->later = worker->later;
    if (run->pool.health.count > 0)
        out->rests =
            run->pool.health.items[cv_worker_pool_domain(&run->pool, place)].rests;
    out->units = worker->units;
    out->busy_s = worker->busy_s;
    out->remote = run->pool.host_of[place] != NULL;
    cv_time_fit_line(&worker->compute, &out->latency_s, &out->speed_ups);
    cv_time_fit_line(&worker->link, &out->link_latency_s, &out->bandwidth_ups);
    cv_time_fit_line(&worker->back, &out->return_latency_s, &out->return_bandwidth_ups);
    /* Small outputs arrive at once and do not show the bandwidth of the way back. */
    if (out->return_bandwidth_ups > out->bandwidth_ups) {
        out->return_bandwidth_ups = out->bandwidth_ups;
        out->return_latency_s = out->link_latency_s;
    }
    out->starts_s = starts_of(worker, out, run->request->persistent);
    /* Seen starts are better than the fit, but no work takes no time. */
    if (worker->starts > 0 && out->units > 0) {
        out->latency_s = worker->starts_s / (double)worker->starts;
        out->speed_ups =
            out->units / fmax(out->busy_s - out->starts_s, 0.01 * out->busy_s);
    }
}

/* --- hosts that were of no use ------------------------------------------------------------ */

static void note_absent(struct cleave_execution_result *result, const char *name,
                        const char *reason)
{
    struct cleave_absent *at = &result->absent[result->nabsent++];

    at->name = keep(result, name);
    at->reason = keep(result, reason);
}

/* A shorter transfer does not show a slow link: the run was over, or a core was busy. */
static const double SLOW_S = 0.5;

/* Whether everything sent to a host had to be taken back. */
static bool is_too_slow(const struct cv_exec_run *run, const struct cv_host *host,
                        char *reason, size_t size)
{
    uint64_t chunks = 0;
    double longest_s = 0;

    for (uint32_t i = 0; host->first != CV_HOST_NOWHERE && i < host->slots; i++) {
        chunks += run->pool.tallies[host->first + i].chunks;
        longest_s = fmax(longest_s, run->pool.tallies[host->first + i].taken_back_s);
    }
    if (host->state != CV_HOST_READY || host->shares || host->sees || chunks > 0 ||
        longest_s < SLOW_S)
        return false;
    if (host->rate_Bps > 0)
        snprintf(reason, size,
                 "its link, which moves %.3g bytes in a second, is so slow that it costs "
                 "more than it gives",
                 host->rate_Bps);
    else
        snprintf(reason, size,
                 "its link is so slow that nothing got there before the others had done "
                 "all");
    return true;
}

static enum cleave_status list_absent(const struct cv_exec_run *run,
                                      struct cleave_execution_result *result)
{
    char reason[200];

    const struct cv_hosts *hosts = &run->pool.hosts;

    result->absent =
        cv_array(&((struct owned *)result)->arena, hosts->count + run->pool.nworkers + 1,
                 sizeof *result->absent);
    if (result->absent == NULL)
        return CLEAVE_ENOMEM;
    for (uint32_t p = 0; p < run->pool.health.count; p++)
        if (run->pool.health.items[p].out) {
            cv_worker_health_reason(&run->pool.health.items[p], reason, sizeof reason);
            note_absent(result, cv_worker_pool_domain_name(&run->pool, p), reason);
        }
    for (size_t i = 0; i < hosts->count; i++)
        if (hosts->items[i]->state <= CV_HOST_GREETED) {
            static const char late[] = "no answer before the others had done all";

            note_absent(result, hosts->items[i]->name, late);
            cv_host_tell_absent(hosts->items[i], late);
        } else if (hosts->items[i]->state != CV_HOST_READY) {
            note_absent(result, hosts->items[i]->name, hosts->items[i]->reason);
        } else if (is_too_slow(run, hosts->items[i], reason, sizeof reason)) {
            note_absent(result, hosts->items[i]->name, reason);
            cv_hosts_note(hosts, "%s: left out: %s", hosts->items[i]->name, reason);
        }
    return CLEAVE_OK;
}

/* --- what became of the input ------------------------------------------------------------- */

/* Count the file ranges of a set of addresses, and store them if `out` is not NULL. */
static size_t put_ranges(const struct cv_source *source, const struct cv_range_set *set,
                         struct cleave_execution_result *result,
                         struct cleave_input_range *out)
{
    const char *name = NULL, *kept = NULL;
    struct cv_range range;
    size_t count = 0;

    for (uint64_t at = 0; cv_range_set_find(set, at, &range); at = range.end) {
        uint64_t begin = range.begin, end;

        for (; begin < range.end; begin = end, count++) {
            const struct cv_source_span file = cv_source_span_at(source, begin);

            end = range.end < file.end ? range.end : file.end;
            if (out == NULL)
                continue;
            kept = name == file.name ? kept : keep(result, file.name);
            name = file.name;
            out[count] =
                (struct cleave_input_range){ kept, begin - file.begin, end - file.begin };
        }
    }
    return count;
}

static enum cleave_status list_ranges(const struct cv_source *source,
                                      const struct cv_range_set *set,
                                      struct cleave_execution_result *result,
                                      struct cleave_input_range **out, size_t *out_count)
{
    const size_t count = put_ranges(source, set, result, NULL);

    *out = cv_array(&((struct owned *)result)->arena, count + 1, sizeof **out);
    if (*out == NULL)
        return CLEAVE_ENOMEM;
    *out_count = put_ranges(source, set, result, *out);
    return CLEAVE_OK;
}

CV_ORDER_BY(in_order, struct cv_bad_records, begin)

static enum cleave_status list_bad(const struct cv_exec_run *run,
                                   struct cleave_execution_result *result)
{
    const struct cv_failure_notes *failures = &run->failures;
    struct cv_arena *arena = &((struct owned *)result)->arena;
    const size_t count = failures->nbad;
    struct cv_bad_records *bad = cv_array(arena, count + 1, sizeof *bad);

    result->bad_records = cv_array(arena, count + 1, sizeof *result->bad_records);
    if (bad == NULL || result->bad_records == NULL)
        return CLEAVE_ENOMEM;
    if (count > 0)
        memcpy(bad, failures->bad, count * sizeof *bad);
    qsort(bad, count, sizeof *bad, in_order);
    for (size_t i = 0; i < count; i++) {
        const struct cv_source_span file =
            cv_source_span_at(run->queue.source, bad[i].begin);

        result->bad_records[i] = (struct cleave_bad_records){ { keep(result, file.name),
                                                                bad[i].begin - file.begin,
                                                                bad[i].end - file.begin },
                                                              bad[i].first,
                                                              bad[i].count };
    }
    result->nbad_records = count;
    return CLEAVE_OK;
}

/* The result of a reduction was not written: everything that did not fail is left. */
static enum cleave_status leave_all(const struct cv_order_queue *queue,
                                    struct cv_range_set *left,
                                    struct cleave_execution_result *result)
{
    const struct cv_range_set *failed = &queue->coverage.failed;
    struct cv_range range;

    CV_TRY(cv_range_set_put(left, 0, cv_source_extent(queue->source), NULL));
    for (uint64_t at = 0; cv_range_set_find(failed, at, &range); at = range.end)
        CV_TRY(cv_range_set_remove(left, range.begin, range.end, NULL));
    result->unwritten = result->chunks - result->failed + result->resumed;
    result->unwritten_bytes =
        result->input_bytes + result->resumed_bytes - (double)failed->total;
    result->chunks = result->failed;
    result->input_bytes = (double)failed->total;
    result->resumed = 0;
    result->resumed_bytes = 0;
    return CLEAVE_OK;
}

/* Chunks whose output was not completely written are left, although their commands succeeded. */
static enum cleave_status leave_unwritten(const struct cv_exec_run *run,
                                          struct cv_range_set *left,
                                          struct cleave_execution_result *result)
{
    struct cv_unwritten_output at;
    struct cv_range failed;

    if (run->request->reduce.command != NULL)
        return run->written ? CLEAVE_OK : leave_all(&run->queue, left, result);
    for (size_t i = 0; cv_ordered_output_unwritten(run->outputs, i, &at); i++) {
        const double bytes = (double)(at.end - at.begin);

        if (at.begin == at.end ||
            (cv_range_set_find(&run->queue.coverage.failed, at.begin, &failed) &&
             failed.begin <= at.begin))
            continue;
        CV_TRY(cv_range_set_put(left, at.begin, at.end, NULL));
        result->unwritten++;
        result->unwritten_bytes += bytes;
        *(at.resumed ? &result->resumed : &result->chunks) -= 1;
        *(at.resumed ? &result->resumed_bytes : &result->input_bytes) -= bytes;
    }
    return CLEAVE_OK;
}

static enum cleave_status account(const struct cv_exec_run *run,
                                  struct cleave_execution_result *result)
{
    const struct cv_order_queue *queue = &run->queue;
    const struct cv_input_coverage *coverage = &queue->coverage;
    enum cleave_status status;
    struct cv_range_set left;

    cv_range_set_init(&left);
    status =
        cv_input_coverage_left(coverage, cv_source_extent(queue->source), &left, NULL);
    CV_THEN(status, leave_unwritten(run, &left, result));
    CV_THEN(status, list_ranges(queue->source, &left, result, &result->left_ranges,
                                &result->nleft_ranges));
    CV_THEN(status, list_ranges(queue->source, &coverage->failed, result,
                                &result->failed_ranges, &result->nfailed_ranges));
    result->left_bytes = (double)left.total;
    result->failed_bytes = (double)coverage->failed.total;
    result->left_unread = isinf(cv_source_total(queue->source));
    cv_range_set_done(&left);
    return status;
}

/* --- where the time went ------------------------------------------------------------------ */

/* Sum over the workers. If starts are known for some only, the others are assumed to
 * be like them. */
static void sum_time(struct cleave_execution_result *result, double folds_s)
{
    const double whole_s = result->there * fmax(0, result->seconds - result->connect_s);
    double busy_s = 0, chunks = 0, seen_s = 0, seen = 0;

    for (uint32_t w = 0; w < result->nworkers; w++) {
        const struct cleave_worker_result *worker = &result->workers[w];

        busy_s += worker->busy_s;
        chunks += (double)worker->chunks;
        if (worker->chunks == 0 || isnan(worker->starts_s))
            continue;
        seen += (double)worker->chunks;
        seen_s += worker->starts_s;
    }
    result->starts_s = seen > 0 ? fmin(busy_s, seen_s / seen * chunks) : NAN;
    result->work_s = busy_s - (seen > 0 ? result->starts_s : 0);
    result->folds_s = fmin(folds_s, fmax(0, whole_s - busy_s));
    result->waiting_s = fmax(0, whole_s - busy_s - result->folds_s);
    /* No worker starts before the input, and none ends before all input has arrived
     * and the output is taken. */
    result->alone_s = chunks > 0 ? result->input_first_s + result->work_s +
                                       (seen > 0 ? seen_s / seen : 0)
                                 : NAN;
    if (result->alone_s < fmax(result->input_s, result->blocked_s))
        result->alone_s = fmax(result->input_s, result->blocked_s);
}

/* CPU time of the master, and time of a shared port. */
static void sum_master(const struct cv_exec_run *run,
                       struct cleave_execution_result *result)
{
    result->master_s = fmax(0, cv_cpu_clock_s() - run->pool.cpu_s);
    result->port_s = run->pool.hosts.count > 0 && run->pool.hosts.one_port ? 0 : NAN;
    for (uint32_t w = 0; w < run->pool.first_spare; w++)
        result->port_s += run->pool.tallies[w].link.time_s;
}

/* --- all of it ---------------------------------------------------------------------------- */

static void copy_counts(const struct cv_exec_run *run, const struct cv_fold_counts *folds,
                        struct cleave_execution_result *result)
{
    const struct cv_order_queue *queue = &run->queue;

    result->chunks = queue->chunks;
    result->retries = queue->retries + folds->retries;
    result->folds = folds->calls;
    result->failed = queue->failed;
    result->parted = queue->parted;
    result->resumed = queue->resumed;
    result->resumed_bytes = queue->resumed_units;
    result->lost = queue->lost - queue->given_back;
    result->later = queue->later;
    result->backups = queue->backups;
    result->bad_ends = queue->bad_ends;
    result->input_bytes = queue->done;
    result->sent_bytes = (double)run->pool.hosts.sent_bytes;
    result->connect_s = run->pool.connect_s;
    result->stopped_by = run->stopped_by;
    result->halted = run->halted;
    result->output_closed = run->output_closed;
    result->reduce_failed = run->reduce_failed;
    if (run->outputs != NULL) {
        const struct cv_ordered_output_usage usage =
            cv_ordered_output_usage(run->outputs);

        result->output_bytes = (double)usage.written;
        result->blocked_s = usage.blocked_s;
        result->cut_bytes = (double)usage.cut;
        result->header_goes_on = usage.head_goes_on;
        snprintf(result->same_line, sizeof result->same_line, "%s",
                 cv_ordered_output_same_line(run->outputs));
        result->same_lines = cv_ordered_output_same_lines(run->outputs);
        result->numbered_alike = cv_ordered_output_numbered_alike(run->outputs);
    }
}

/* Format and arrival time of the input. */
static void note_input(const struct cv_source *source, double began_s,
                       struct cleave_execution_result *result)
{
    const struct cv_format_guess *like = cv_source_like(source);

    result->header = cv_source_has_head(source);
    if (like != NULL) {
        result->seems = like->what;
        result->seems_advice = like->advice;
        result->seems_endless = like->endless;
    }
    if (cv_source_ended_s(source) > 0)
        result->input_s = fmax(0, cv_source_ended_s(source) - began_s);
    if (cv_source_first_s(source) > 0)
        result->input_first_s = fmax(0, cv_source_first_s(source) - began_s);
}

/* A run that took at most this part more than its bound was as short as it could be. */
static const double NEAR_BOUND = 1.1;
/* A worker with less idle time than this part did the last work. */
static const double IDLE = 0.1;

/* `record_s`: the time that the heaviest record takes on the fastest worker. */
static const char *find_limit(const struct cleave_execution_result *result,
                              double record_s)
{
    const double time_s = result->seconds - result->connect_s;
    const bool rated = result->bound_s > result->unlimited_s;
    double busy_s = 0, first_s = INFINITY, last_s = 0;

    if (time_s <= NEAR_BOUND * result->bound_s)
        return rated                                               ? "rates"
               : result->weight > 0 && record_s >= result->bound_s ? "record"
                                                                   : "workers";
    for (uint32_t w = 0; w < result->nworkers; w++) {
        if (result->workers[w].chunks == 0)
            continue;
        busy_s = fmax(busy_s, result->workers[w].busy_s);
        first_s = fmin(first_s, result->workers[w].ended_s);
        last_s = fmax(last_s, result->workers[w].ended_s);
    }
    return busy_s > (1 - IDLE) * time_s                        ? "one worker"
           : last_s - first_s > (time_s - result->bound_s) / 2 ? "tail"
           : rated                                             ? "rates"
                                                               : "waiting";
}

/* `speed`: of all workers. */
static void bound_rates(const struct cv_exec_run *run, double speed,
                        struct cleave_execution_result *result)
{
    const size_t count = run->rates.ngroups;
    struct cv_rated_workers *groups = calloc(count + 1, sizeof *groups);

    for (size_t i = 0; groups != NULL && i < count; i++) {
        const struct cv_rate_group *group = &run->rates.groups[i];

        for (uint32_t w = 0; w < result->nworkers; w++) {
            if (run->rates.members[w].group != group)
                continue;
            groups[i].workers++;
            if (result->workers[w].busy_s > 0)
                groups[i].speed_ups +=
                    result->workers[w].units / result->workers[w].busy_s;
        }
        speed -= groups[i].speed_ups;
        groups[i].period_s = group->rate.period_s;
        groups[i].amount = group->started > 0
                               ? group->rate.amount * group->units / group->started
                               : group->rate.amount;
    }
    if (groups != NULL) {
        groups[count].speed_ups = fmax(0, speed);
        result->bound_s = fmax(result->bound_s,
                               cv_rate_bound_s(groups, count + 1, run->queue.done_units));
    }
    free(groups);
}

/* Indices of one requested worker follow one another, and the last one to end counts. */
static double sum_costs(const struct cv_exec_run *run,
                        const struct cleave_execution_result *result)
{
    const uint32_t *asked_of = run->pool.asked_of;
    double cost = 0, end_s = 0;

    for (uint32_t w = 0; w < result->nworkers; w++) {
        double more_s;

        if (w == 0 || asked_of[w] != asked_of[w - 1])
            end_s = result->connect_s;
        more_s = fmax(0, result->workers[w].ended_s - end_s);
        end_s += more_s;
        cost +=
            more_s * cleave_platform_cost(run->request->workers.platform, asked_of[w]);
    }
    return cost;
}

/* Each worker, and the time if none had ever waited. */
static void sum_workers(const struct cv_exec_run *run, double began_s,
                        struct cleave_execution_result *result)
{
    double speed = 0, fastest = 0;

    for (uint32_t w = 0; w < run->pool.first_spare; w++) {
        struct cleave_worker_result *worker = &result->workers[result->nworkers++];
        double slower_s, own; /* slower_s: of CPU and link */

        sum_worker(run, w, result, worker);
        slower_s = fmax(worker->busy_s, run->pool.tallies[w].link.time_s);
        own = slower_s > 0 ? worker->units / slower_s : 0;
        speed += own;
        fastest = fmax(fastest, own);
        if (worker->chunks > 0)
            worker->ended_s = run->pool.tallies[w].ended_s - began_s;
        result->there += worker->chunks > 0 || cv_worker_pool_there(&run->pool, w);
    }
    if (run->request->workers.platform != NULL)
        result->cost = sum_costs(run, result);
    if (!(speed > 0))
        return;
    result->bound_s = result->unlimited_s =
        fmax(run->queue.done_units / speed, result->heaviest / fastest);
    if (run->rates.ngroups > 0)
        bound_rates(run, speed, result);
    if (run->rates.ngroups > 0 || result->weight > 0)
        result->limited_by = find_limit(result, result->heaviest / fastest);
}

/* NULL: out of memory. */
static struct cleave_execution_result *new_result(double seconds)
{
    struct owned *owned = calloc(1, sizeof *owned);

    if (owned == NULL)
        return NULL;
    cv_arena_init(&owned->arena);
    owned->result.seconds = seconds;
    return &owned->result;
}

/* NULL: out of memory. */
static struct cleave_execution_result *run_sum_up(const struct cv_exec_run *run,
                                                  const struct cv_worker_setup *setup,
                                                  double seconds)
{
    const struct cv_fold_counts folds = cv_result_sink_counts(run->results);
    const double began_s = cv_clock_s() - seconds;
    struct cleave_execution_result *result = new_result(seconds);

    if (result == NULL)
        return NULL;
    result->workers = cv_array(&((struct owned *)result)->arena, run->pool.nworkers + 1u,
                               sizeof *result->workers);
    if (result->workers == NULL || list_absent(run, result) != CLEAVE_OK ||
        list_bad(run, result) != CLEAVE_OK ||
        cv_worker_setup_platform(setup, &run->pool, run->request->listener.trace,
                                 &result->platform, NULL) != CLEAVE_OK) {
        cleave_execution_free(result);
        return NULL;
    }
    copy_counts(run, &folds, result);
    if (account(run, result) != CLEAVE_OK) {
        cleave_execution_free(result);
        return NULL;
    }
    note_input(run->queue.source, began_s, result);
    if (cv_source_is_weighed(run->queue.source)) {
        result->weight = run->queue.done_units;
        result->heaviest = cv_source_heaviest(run->queue.source);
    }
    sum_workers(run, began_s, result);
    sum_time(result, folds.seconds);
    sum_master(run, result);
    return result;
}

void cleave_execution_free(struct cleave_execution_result *result)
{
    if (result == NULL)
        return;
    cleave_platform_free(result->platform);
    cv_arena_done(&((struct owned *)result)->arena);
    free(result);
}

/* --- cleave_execute ---------------------------------------------------------------- */

/* Folds are not events of the policy: they follow everything else in the trace. */
static enum cleave_status note_folds(const struct cv_exec_run *run,
                                     enum cleave_status status, struct cleave_error *err)
{
    struct cleave_error other;
    enum cleave_status written;

    if (run->folds.count == 0)
        return status;
    written = cv_fold_log_write(&run->folds, run->events.began_s,
                                run->request->listener.trace, &other);
    return status != CLEAVE_OK || written == CLEAVE_OK ? status
                                                       : cv_fail_again(err, &other);
}

enum cleave_status cleave_execute(const struct cleave_execution *request,
                                  struct cleave_execution_result **out,
                                  struct cleave_error *err)
{
    struct cleave_execution filled;
    struct cv_execution execution = { .request = &filled, .began_s = cv_clock_s() };
    enum cleave_status status;

    CV_EXPECT_POINTER(out, err, "out");
    *out = NULL;
    CV_EXPECT_POINTER(request, err, "execution");
    filled = *request;
    cv_execution_prepare(&execution, &filled);
    status = cv_execution_open_base(&execution, err);
    CV_THEN(status, cv_execution_opened(&execution.run,
                                        cv_execution_open(&execution, true, err), err));
    if (status != CLEAVE_OK && execution.run.stopped_by != 0) {
        status = cv_fail_stopped(err);
        *out = new_result(cv_clock_s() - execution.began_s);
        if (*out != NULL) {
            (*out)->stopped_by = execution.run.stopped_by;
            (*out)->left_unread = true;
        }
    } else if (status == CLEAVE_OK) {
        status = cv_execution_run(&execution, err);
        status = note_folds(&execution.run, status, err);
        cv_note_failures_end(&execution.run);
        cv_note_rests(&execution.run);
        *out = run_sum_up(&execution.run, &execution.setup,
                          cv_clock_s() - execution.began_s);
        if (*out == NULL && status == CLEAVE_OK)
            status = cv_fail_memory(err, "the summary");
    }
    if (execution.run.stopped_by == CLEAVE_CANCELLED && status == CLEAVE_ESTOPPED)
        cv_fail(err, CLEAVE_ESTOPPED, "stopped by cleave_cancel");
    cv_execution_close(&execution);
    return status;
}
