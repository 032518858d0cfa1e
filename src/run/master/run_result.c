/* run_result.c -- what came of a run. SPDX-License-Identifier: MIT */
#include "run/master/run_result.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/master/outlet_kept.h"

/* What users are given, and what it is made of. */
struct owned {
    struct cleave_execution_result
        result; /* first, so that one can be found by the other */
    struct cv_arena arena;
};

static const char *keep(struct cleave_execution_result *result, const char *text)
{
    const char *kept = cv_arena_text(&((struct owned *)result)->arena, text);

    return kept != NULL ? kept : "";
}

static void sum_worker(const struct cv_local *local, uint32_t place,
                       struct cleave_execution_result *result,
                       struct cleave_worker_result *out)
{
    const struct cv_tally *worker = &local->workers[place];

    out->name = keep(result, local->names[place]);
    out->chunks = worker->chunks;
    out->units = worker->units;
    out->busy_s = worker->busy_s;
    out->remote = local->host_of[place] != NULL;
    cv_time_fit_line(&worker->compute, &out->latency_s, &out->speed_ups);
    cv_time_fit_line(&worker->link, &out->link_latency_s, &out->bandwidth_ups);
    cv_time_fit_line(&worker->back, &out->return_latency_s, &out->return_bandwidth_ups);
    /* What is small comes in one go, and says nothing about the way back. */
    if (out->return_bandwidth_ups > out->bandwidth_ups) {
        out->return_bandwidth_ups = out->bandwidth_ups;
        out->return_latency_s = out->link_latency_s;
    }
}

/* Bytes in a second, if its processor or its link, whatever is slower, had never waited. */
static double rate_of(const struct cleave_worker_result *worker, double link_s)
{
    const double slower_s = fmax(worker->busy_s, link_s);

    return slower_s > 0 ? worker->units / slower_s : 0;
}

/* --- hosts that were of no use ------------------------------------------------------------ */

static void note_absent(struct cleave_execution_result *result, const char *name,
                        const char *reason)
{
    struct cleave_absent *at = &result->absent[result->nabsent++];

    at->name = keep(result, name);
    at->reason = keep(result, reason);
}

/* Whether all that was sent to a host had to be taken back: it costs more than it gives. */
static bool is_too_slow(const struct cv_local *local, const struct cv_host *host,
                        char *reason, size_t size)
{
    uint64_t chunks = 0, taken_back = 0;

    for (uint32_t i = 0; i < host->slots; i++) {
        chunks += local->workers[host->first + i].chunks;
        taken_back += local->workers[host->first + i].taken_back;
    }
    if (host->state != CV_HOST_READY || host->shares || chunks > 0 || taken_back == 0)
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

static enum cleave_status list_absent(const struct cv_local *local,
                                      struct cleave_execution_result *result)
{
    char reason[200];

    const struct cv_hosts *hosts = &local->hosts;

    result->absent = cv_array(&((struct owned *)result)->arena, hosts->count + 1,
                              sizeof *result->absent);
    if (result->absent == NULL)
        return CLEAVE_ENOMEM;
    for (size_t i = 0; i < hosts->count; i++)
        if (hosts->items[i]->state == CV_HOST_CONNECTING ||
            hosts->items[i]->state == CV_HOST_GREETED) {
            static const char late[] = "no answer before the others had done all";

            note_absent(result, hosts->items[i]->name, late);
            cv_hosts_note(hosts, "%s: left out: %s", hosts->items[i]->name, late);
        } else if (hosts->items[i]->state != CV_HOST_READY) {
            note_absent(result, hosts->items[i]->name, hosts->items[i]->reason);
        } else if (is_too_slow(local, hosts->items[i], reason, sizeof reason)) {
            note_absent(result, hosts->items[i]->name, reason);
            cv_hosts_note(hosts, "%s: left out: %s", hosts->items[i]->name, reason);
        }
    return CLEAVE_OK;
}

/* --- all of it ---------------------------------------------------------------------------- */

struct cleave_execution_result *cv_local_sum_up(const struct cv_local *local,
                                                const struct cv_muster *muster,
                                                double seconds)
{
    struct owned *owned = calloc(1, sizeof *owned);
    struct cleave_execution_result *result;
    double speed = 0;

    if (owned == NULL)
        return NULL;
    result = &owned->result;
    cv_arena_init(&owned->arena);
    result->workers =
        cv_array(&owned->arena, local->nworkers + 1u, sizeof *result->workers);
    if (result->workers == NULL || list_absent(local, result) != CLEAVE_OK ||
        cv_muster_platform(muster, local, &result->platform, NULL) != CLEAVE_OK) {
        cleave_execution_free(result);
        return NULL;
    }
    result->seconds = seconds;
    result->chunks = local->chunks;
    result->retries = local->retries;
    result->failed = local->failed;
    result->resumed = local->resumed;
    result->lost = local->lost;
    result->connect_s = local->connect_s;
    result->stopped_by = local->stopped_by;
    result->halted = local->halted;
    result->output_closed = local->output_closed;
    result->bad_ends = local->bad_ends;
    result->reduce_failed = local->reduce_failed;
    if (local->fold != NULL || local->kept != NULL) {
        const struct cv_fold_counts counts = local->kept != NULL
                                                 ? cv_kept_counts(local->kept)
                                                 : cv_fold_counts(local->fold);

        result->folds = counts.calls;
        result->retries += counts.retries;
    }
    result->input_bytes = local->done;
    if (local->gather != NULL)
        result->output_bytes = (double)cv_gather_usage(local->gather).written;
    for (uint32_t w = 0; w < local->first_spare; w++) {
        struct cleave_worker_result *worker = &result->workers[result->nworkers++];

        sum_worker(local, w, result, worker);
        speed += rate_of(worker, local->workers[w].link.time_s);
    }
    if (speed > 0)
        result->bound_s = local->done / speed;
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
