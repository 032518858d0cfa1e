/* simgrid_answers.c -- what cleave-simgrid says, checked. SPDX-License-Identifier: MIT
 *
 * It is of the same build, but it is another program, with a large library in it: what it
 * says is looked at before anything is counted or indexed by it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "model/platform/platform_internal.h"
#include "sim/simgrid/simgrid_child.h"

/* Bytes of workers and names that are believed. */
static const uint64_t STAR_MOST = UINT64_C(1) << 30;

/* --- events --------------------------------------------------------------------------------- */

static bool is_time(double time_s)
{
    return isfinite(time_s) && time_s >= 0;
}

/* Whether it can have happened, as far as that can be told here. */
static bool is_possible(const struct cleave_event *event,
                        const struct cv_simgrid_bounds *bounds)
{
    unsigned char more;

    memcpy(&more, &event->more, 1);
    if (more > 1 || !is_time(event->time_s) || event->time_s < bounds->now_s ||
        !is_time(event->start_s) || !is_time(event->read_s) ||
        event->read_s > event->time_s || !is_time(event->output) ||
        !is_time(event->cpu_s) || !(isfinite(event->units) && event->units >= 0))
        return false;
    switch (event->kind) {
    case CLEAVE_RECALLED:
    case CLEAVE_PROGRESS: /* maybe of somebody who has no chunk */
        return event->worker < bounds->nodes &&
               (event->chunk < bounds->chunks ||
                (event->chunk == 0 && event->units == 0));
    case CLEAVE_SENT:
    case CLEAVE_DONE:
    case CLEAVE_RETURNED:
    case CLEAVE_STARTED:
    case CLEAVE_DRAINED:
    case CLEAVE_EXTENDED:
        return event->worker < bounds->nodes && event->chunk < bounds->chunks;
    case CLEAVE_ARRIVED:
    case CLEAVE_COMBINED:
        return event->worker < bounds->nodes && event->peer < bounds->nodes;
    case CLEAVE_WAKE:
        return event->worker < bounds->nodes;
    default:
        return event->kind == CLEAVE_ENDED;
    }
}

enum cleave_status cv_simgrid_hear_event(struct cv_simgrid_child *child,
                                         const struct cv_simgrid_bounds *bounds,
                                         struct cleave_event *out, bool *out_any,
                                         struct cleave_error *err)
{
    struct cv_wire_answer answer;

    CV_TRY(cv_simgrid_hear(child, 1u << CV_WIRE_EVENT | 1u << CV_WIRE_NOTHING, &answer,
                           err));
    if (answer.reply == CV_WIRE_EVENT) {
        if (!is_possible(&answer.event, bounds))
            return cv_fail(err, CLEAVE_EENGINE,
                           "SimGrid told of an event that cannot have happened");
        *out = answer.event;
    }
    *out_any = answer.reply == CV_WIRE_EVENT;
    return CLEAVE_OK;
}

/* --- what was measured ------------------------------------------------------------------------ */

static enum cleave_status no_star(struct cleave_error *err)
{
    return cv_fail(err, CLEAVE_EENGINE,
                   "SimGrid measured workers, but their number and their names do not "
                   "belong together");
}

/* Names one behind the other, each with its zero; *out_end is where the last one ends. */
static enum cleave_status read_names(const char *bytes, size_t length,
                                     struct cv_group *groups, uint32_t n, size_t *out_end,
                                     struct cleave_error *err)
{
    size_t at = 0;

    for (uint32_t i = 0; i < n; i++) {
        if (at >= length)
            return no_star(err);
        CV_TRY(cv_worker_name_check(bytes + at, "hosts with names", err));
        groups[i].name = bytes + at;
        groups[i].count = 1;
        at += strlen(bytes + at) + 1;
    }
    *out_end = at;
    return at <= length ? CLEAVE_OK : no_star(err);
}

/* Workers first, then their names, then lines about those that were left out. */
static enum cleave_status make_platform(const char *bytes, uint32_t n, size_t length,
                                        const struct cleave_simgrid *where,
                                        enum cleave_port port,
                                        struct cleave_platform **out,
                                        struct cleave_error *err)
{
    const struct cleave_worker *workers = (const void *)bytes;
    const size_t names = n * sizeof *workers;
    struct cv_group *groups = calloc(n, sizeof *groups);
    enum cleave_status status;
    size_t end = 0;

    if (groups == NULL)
        return cv_fail_memory(err, "the workers of a topology");
    status = read_names(bytes + names, length - names, groups, n, &end, err);
    if (status == CLEAVE_OK && where->left_out != NULL)
        snprintf(where->left_out, where->left_out_size, "%.*s",
                 (int)(length - names - end), bytes + names + end);
    if (status == CLEAVE_OK)
        status = cv_platform_build(port, workers, groups, n, out, NULL, err);
    free(groups);
    return status;
}

enum cleave_status cv_simgrid_hear_star(struct cv_simgrid_child *child,
                                        const struct cleave_simgrid *where,
                                        enum cleave_port port,
                                        struct cleave_platform **out,
                                        struct cleave_error *err)
{
    struct cv_wire_answer answer;
    enum cleave_status status;
    char *bytes;

    CV_TRY(cv_simgrid_hear(child, 1u << CV_WIRE_STAR, &answer, err));
    if (answer.count == 0 || answer.bytes > STAR_MOST ||
        answer.bytes / (sizeof(struct cleave_worker) + 1) < answer.count)
        return no_star(err);
    bytes = calloc(1, answer.bytes + 1);
    status = bytes == NULL ? cv_fail_memory(err, "the workers of a topology")
                           : cv_simgrid_hear_more(child, bytes, answer.bytes, err);
    if (status == CLEAVE_OK)
        status = make_platform(bytes, answer.count, answer.bytes, where, port, out, err);
    free(bytes);
    return status;
}

enum cleave_status cv_simgrid_hear_pairs(struct cv_simgrid_child *child,
                                         struct cleave_pair_costs *out,
                                         struct cleave_error *err)
{
    struct cv_wire_answer answer;

    CV_TRY(cv_simgrid_hear(child, 1u << CV_WIRE_PAIRS, &answer, err));
    for (int i = 0; i < 3; i++) /* the second and third may not be known */
        if (!is_time(answer.seconds[i]) && (i == 0 || !isnan(answer.seconds[i])))
            return cv_fail(err, CLEAVE_EENGINE,
                           "SimGrid measured transfers that take no possible time");
    *out = (struct cleave_pair_costs){ answer.count, answer.seconds[0], answer.seconds[1],
                                       answer.seconds[2] };
    return CLEAVE_OK;
}
