/* trace_writer.c -- write a trace as JSON lines. SPDX-License-Identifier: MIT */
#include "io/trace_file.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "io/json_out.h"

static void put_number(struct cv_json *json, const char *key, double value)
{
    cv_json_key(json, key);
    cv_json_number(json, value);
}

static void put_text(struct cv_json *json, const char *key, const char *text)
{
    cv_json_key(json, key);
    cv_json_text(json, text);
}

static void write_header(struct cv_json *json, const struct cleave_platform *platform,
                         const char *policy, double load)
{
    cv_json_object(json);
    put_text(json, "format", CV_TRACE_FORMAT);
    put_text(json, "policy", policy);
    put_number(json, "load", load);
    put_text(json, "port", cleave_port_name(cleave_platform_port(platform)));
    cv_json_key(json, "workers");
    cv_json_list(json);
    for (uint32_t i = 0; i < cleave_platform_nworkers(platform); i++)
        cv_json_text(json, cleave_platform_worker_name(platform, i));
    cv_json_end(json);
    cv_json_end(json);
    cv_json_close(json);
}

static void write_event(struct cv_json *json, const struct cleave_event *event,
                        const struct cleave_platform *platform)
{
    static const char *const kinds[] = {
        [CLEAVE_START] = "start",
        [CLEAVE_SENT] = "sent",
        [CLEAVE_DONE] = "done",
        [CLEAVE_WAKE] = "wake",
    };

    cv_json_object(json);
    put_text(json, "event", kinds[event->kind]);
    if (event->kind == CLEAVE_SENT || event->kind == CLEAVE_DONE) {
        put_text(json, "worker", cleave_platform_worker_name(platform, event->worker));
        cv_json_key(json, "chunk");
        cv_json_count(json, event->chunk);
        put_number(json, "units", event->units);
    }
    put_number(json, "start", event->start_s);
    put_number(json, "end", event->time_s);
    if (event->more) {
        cv_json_key(json, "more");
        cv_json_bool(json, true);
    }
    cv_json_end(json);
    cv_json_close(json);
}

static void write_order(struct cv_json *json, const struct cleave_order *order,
                        const struct cleave_platform *platform)
{
    cv_json_object(json);
    if (order->kind == CLEAVE_SEND) {
        put_text(json, "order", "send");
        put_text(json, "worker", cleave_platform_worker_name(platform, order->worker));
        put_number(json, "units", order->units);
    } else {
        put_text(json, "order", "wake");
        put_number(json, "time", order->time_s);
    }
    cv_json_end(json);
    cv_json_close(json);
}

static bool is_good(double value)
{
    return isfinite(value) && value >= 0;
}

/* What cannot be written so that it can be read again. */
static const char *find_fault(const struct cleave_entry *entry, uint32_t nworkers)
{
    const struct cleave_event *event = &entry->as.event;
    const struct cleave_order *order = &entry->as.order;

    if (entry->is_order) {
        if (order->kind == CLEAVE_WAKE_AT)
            return is_good(order->time_s) ? NULL : "a time below 0 or not finite";
        if (order->worker >= nworkers)
            return "a worker that the platform does not have";
        return is_good(order->units) ? NULL : "units below 0 or not finite";
    }
    if (!is_good(event->start_s) || !is_good(event->time_s))
        return "a time below 0 or not finite";
    if (event->start_s > event->time_s)
        return "an end before its start";
    if (event->kind != CLEAVE_SENT && event->kind != CLEAVE_DONE)
        return NULL;
    if (event->worker >= nworkers)
        return "a worker that the platform does not have";
    return is_good(event->units) ? NULL : "units below 0 or not finite";
}

enum cleave_status cleave_trace_save(const struct cleave_trace *trace,
                                     const struct cleave_platform *platform,
                                     const char *policy, double load, FILE *file,
                                     struct cleave_error *err)
{
    uint32_t nworkers = cleave_platform_nworkers(platform);
    struct cv_json json;

    if (!isfinite(load))
        return cv_fail(err, CLEAVE_EINPUT, "expected a finite load");
    errno = 0;
    cv_json_init(&json, file, false);
    write_header(&json, platform, policy, load);
    for (size_t i = 0; i < cleave_trace_count(trace) && !json.failed; i++) {
        const struct cleave_entry *entry = cleave_trace_at(trace, i);
        const char *fault = find_fault(entry, nworkers);

        if (fault != NULL)
            return cv_fail(err, CLEAVE_EINPUT, "entry %zu of the trace has %s", i, fault);
        if (entry->is_order)
            write_order(&json, &entry->as.order, platform);
        else
            write_event(&json, &entry->as.event, platform);
    }
    if (fflush(file) != 0 || json.failed)
        return cv_fail(err, CLEAVE_EINPUT, "cannot write: %s",
                       strerror(errno != 0 ? errno : EIO));
    return CLEAVE_OK;
}
