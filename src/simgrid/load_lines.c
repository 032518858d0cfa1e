/* load_lines.c -- chunks of a load, and the lines that they stand in.
 * SPDX-License-Identifier: MIT */
#include "simgrid/load_lines.h"

#include <stdlib.h>

bool cv_line_join(struct line *line, struct chunk *chunk)
{
    const bool alone = line->first == NULL;

    chunk->next = NULL;
    if (alone)
        line->first = chunk;
    else
        line->last->next = chunk;
    line->last = chunk;
    return alone;
}

struct chunk *cv_line_leave(struct line *line)
{
    struct chunk *chunk = line->first;

    line->first = chunk->next;
    return chunk;
}

struct activity *cv_load_activity(struct world *world, void *about)
{
    struct load *load = world->state;
    struct activity *activity = cv_world_activity(world);

    activity->key = load->sequence++;
    activity->about = about;
    return activity;
}

static struct line *port_of(struct load *load, const struct chunk *chunk)
{
    return &load->ports[(chunk->back ? load->way_back : 0) +
                        (load->line_each ? chunk->worker : 0)];
}

static void transfer_ended(struct world *world, struct activity *activity,
                           struct cleave_event *out);

/* The chunk is the first in its port's line. Factors stretch latencies as well; links do
 * not know about that, so that then whoever sends waits before. */
static void begin_transfer(struct world *world, struct chunk *chunk)
{
    const struct load *load = world->state;
    const struct cleave_worker *worker = &world->workers[chunk->worker];
    const double latency_s = chunk->back ? worker->return_latency_s : worker->latency_s;
    const double rate =
        chunk->back ? worker->return_bandwidth_ups : worker->bandwidth_ups;
    const double factor = chunk->factor[chunk->back ? RETURN : TRANSFER];
    const double units = factor * chunk->units * (chunk->back ? load->result_ratio : 1);
    struct activity *activity = cv_load_activity(world, chunk);

    activity->from = chunk->back ? world->hosts[chunk->worker] : world->master;
    activity->to = chunk->back ? world->master : world->hosts[chunk->worker];
    activity->ended = transfer_ended;
    if (!cv_world_is_star(world)) {
        activity->bytes = units * world->told.unit_bytes;
    } else {
        activity->bytes = units;
        activity->link =
            chunk->back ? &world->up[chunk->worker] : &world->down[chunk->worker];
        activity->delay_s = world->latency_on_links ? 0 : factor * latency_s;
        activity->usual_s = factor * latency_s + units / rate;
        activity->at_once = !(activity->usual_s > 0);
        if (!(activity->bytes > 0) && !world->latency_on_links)
            activity->from = NULL;
    }
    cv_world_begin(world, activity);
}

static void transfer_ended(struct world *world, struct activity *activity,
                           struct cleave_event *out)
{
    struct load *load = world->state;
    struct chunk *chunk = activity->about;
    struct line *port = port_of(load, chunk);

    cv_line_leave(port);
    if (chunk->back) {
        cv_load_fill(chunk, CLEAVE_RETURNED, out);
        free(chunk);
    } else {
        chunk->arrived(world, chunk, out);
    }
    if (port->first != NULL)
        begin_transfer(world, port->first);
}

void cv_load_send(struct world *world, struct chunk *chunk)
{
    if (cv_line_join(port_of(world->state, chunk), chunk))
        begin_transfer(world, chunk);
}

double cv_load_unit_flops(const struct world *world, const struct chunk *chunk)
{
    return chunk->factor[COMPUTE] *
           (cv_world_is_star(world) ? CV_STAR_UNIT : world->told.unit_flops);
}

void cv_load_fill(const struct chunk *chunk, enum cleave_event_kind kind,
                  struct cleave_event *out)
{
    out->kind = kind;
    out->worker = chunk->worker;
    out->chunk = chunk->number;
    out->units = chunk->units;
}

void cv_load_finish(struct world *world, struct chunk *chunk)
{
    struct load *load = world->state;

    if (load->result_ratio > 0)
        cv_line_join(&load->results[chunk->worker], chunk);
    else
        free(chunk);
}
