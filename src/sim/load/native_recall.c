/* native_recall.c -- take back part of what a worker computes. SPDX-License-Identifier: MIT
 *
 * The computation then ends earlier. Recalls are rare, so nothing is kept for them in a chunk:
 * when the computation would have ended is computed again. */
#include "base/arena.h"
#include "base/fail.h"
#include "model/platform/profile.h"
#include "sim/load/native_internal.h"

/* When a computation came, or comes, to its first unit: after the latency. */
static double first_unit_at(const struct native *native, const struct chunk *chunk)
{
    double latency_s = native->workers[chunk->worker].compute_latency_s;

    if (native->noisy)
        latency_s *= cv_noise_factor(&native->run->noise, CV_COMPUTE, chunk->worker,
                                     chunk->nth, chunk->number);
    return chunk->start_s + latency_s;
}

/* When it was to end: as if it began now, but then. */
static double end_as_planned(struct native *native, const struct chunk *chunk)
{
    const double now_s = native->now_s;
    double end_s;

    native->now_s = chunk->start_s;
    end_s = cv_native_compute_end(native, chunk);
    native->now_s = now_s;
    return end_s;
}

/* The chunk loses units at its end, as far as they are not computed. Returns how many; the
 * computation then ends at *out_end_s. */
static double shorten(struct native *native, struct chunk *chunk, double units,
                      double *out_end_s)
{
    const double begin_s = first_unit_at(native, chunk);
    const double end_s = end_as_planned(native, chunk);
    const double from_s = native->now_s > begin_s ? native->now_s : begin_s;
    const struct cleave_profile profile = cv_profile_of(native->platform, chunk->worker);
    const double all_s = cv_profile_work(&profile, begin_s, end_s);
    const double rest_s = cv_profile_work(&profile, from_s, end_s);
    const double to_come = all_s > 0 && rest_s > 0 ? chunk->units * rest_s / all_s : 0;
    double taken = units < to_come ? units : to_come;

    if (taken > chunk->units) /* by rounding */
        taken = chunk->units;
    if (!(taken > 0))
        return 0;
    *out_end_s = cv_profile_end(&profile, from_s, rest_s * (1 - taken / to_come));
    chunk->units = chunk->units > taken ? chunk->units - taken : 0;
    return taken;
}

bool cv_native_report_room(struct native *native, size_t count)
{
    struct reports *reports = &native->reports;

    return CV_ROOM(reports->items, &reports->room, reports->count + count);
}

void cv_native_report(struct native *native, const struct cleave_event *event)
{
    native->reports.items[native->reports.count++] = *event;
    end_at(native, native->now_s, ENDS_REPORT, event->worker);
}

enum cleave_status cv_native_recall(struct native *native,
                                    const struct cleave_order *order,
                                    struct cleave_error *err)
{
    const uint32_t index = native->processors[order->worker].first;
    struct cleave_event report = { .kind = CLEAVE_RECALLED,
                                   .worker = order->worker,
                                   .start_s = native->now_s,
                                   .time_s = native->now_s };
    double end_s = 0;

    cv_event_heap_settle(&native->heap);
    if (!cv_event_heap_reserve(&native->heap, native->heap.count + 2) ||
        !cv_native_report_room(native, 1))
        return cv_fail_memory(err, "the recalls of a run");
    if (index != NONE) {
        report.chunk = native->chunks[index].number;
        report.units = shorten(native, &native->chunks[index], order->units, &end_s);
    }
    cv_native_report(native, &report);
    if (report.units > 0)
        compute_until(native, order->worker, end_s);
    return CLEAVE_OK;
}

/* Events of one time come in the order in which they were made, and so do the reports. */
void cv_native_reported(struct native *native, struct cleave_event *out)
{
    struct reports *reports = &native->reports;

    *out = reports->items[reports->first++];
    if (reports->first == reports->count)
        reports->first = reports->count = 0;
}
