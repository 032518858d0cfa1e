/* load_world.c -- a master, its port, and workers that compute chunks.
 * SPDX-License-Identifier: MIT
 *
 * Whoever wants to send stands in a line of the master's port: one line in all (port one),
 * one for each way (duplex), or one per worker and way (multi). Chunks stand in a line at
 * their worker as they arrive. How long anything takes is SimGrid's answer.
 *
 * Simultaneous events come in the order in which their activities began. */
#include <stdlib.h>

#include <simgrid/exec.h>

#include "simgrid/world.h"

enum { TRANSFER, COMPUTE, RETURN };

struct chunk {
    double units, factor[3];
    uint64_t number;
    uint32_t worker;
    bool back;                 /* it is a result by now       */
    struct activity *activity; /* while it is computed        */
    double report;             /* of a recall: units          */
    struct chunk *next;        /* in a line                   */
};

struct line {
    struct chunk *first, *last;
};

struct load {
    struct line *ports; /* owned */
    uint32_t way_back;  /* the first line of results */
    bool line_each;
    struct line *processors, *results; /* owned: per worker */
    uint64_t sequence, numbered;
    double result_ratio, stream_rest;
};

static bool join(struct line *line, struct chunk *chunk)
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

static struct chunk *leave(struct line *line)
{
    struct chunk *chunk = line->first;

    line->first = chunk->next;
    return chunk;
}

static struct activity *activity_about(struct world *world, struct chunk *chunk)
{
    struct load *load = world->state;
    struct activity *activity = cv_world_activity(world);

    activity->key = load->sequence++;
    activity->about = chunk;
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
    struct activity *activity = activity_about(world, chunk);

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

static void compute_ended(struct world *world, struct activity *activity,
                          struct cleave_event *out);

/* What a unit of the chunk is in flops. */
static double unit_flops(const struct world *world, const struct chunk *chunk)
{
    return chunk->factor[COMPUTE] *
           (cv_world_is_star(world) ? CV_STAR_UNIT : world->told.unit_flops);
}

static void begin_compute(struct world *world, struct chunk *chunk)
{
    const struct cleave_worker *worker = &world->workers[chunk->worker];
    struct activity *activity = activity_about(world, chunk);

    activity->to = world->hosts[chunk->worker];
    activity->delay_s = chunk->factor[COMPUTE] * worker->compute_latency_s;
    activity->flops = chunk->units * unit_flops(world, chunk);
    activity->ended = compute_ended;
    activity->at_once = !(activity->delay_s > 0) && !(activity->flops > 0);
    chunk->activity = activity;
    cv_world_begin(world, activity);
}

static void fill(const struct chunk *chunk, enum cleave_event_kind kind,
                 struct cleave_event *out)
{
    out->kind = kind;
    out->worker = chunk->worker;
    out->chunk = chunk->number;
    out->units = chunk->units;
}

static void transfer_ended(struct world *world, struct activity *activity,
                           struct cleave_event *out)
{
    struct load *load = world->state;
    struct chunk *chunk = activity->about;
    struct line *port = port_of(load, chunk);

    leave(port);
    fill(chunk, chunk->back ? CLEAVE_RETURNED : CLEAVE_SENT, out);
    if (chunk->back)
        free(chunk);
    else if (join(&load->processors[chunk->worker], chunk))
        begin_compute(world, chunk);
    if (port->first != NULL)
        begin_transfer(world, port->first);
}

static void compute_ended(struct world *world, struct activity *activity,
                          struct cleave_event *out)
{
    struct load *load = world->state;
    struct chunk *chunk = activity->about;
    struct line *processor = &load->processors[chunk->worker];

    leave(processor);
    fill(chunk, CLEAVE_DONE, out);
    chunk->activity = NULL;
    if (load->result_ratio > 0)
        join(&load->results[chunk->worker], chunk);
    else
        free(chunk);
    if (processor->first != NULL)
        begin_compute(world, processor->first);
}

/* --- orders --------------------------------------------------------------------------- */

static void send_chunk(struct world *world, const struct cv_wire_message *message)
{
    struct load *load = world->state;
    struct chunk *chunk = cv_world_take(world, 1, sizeof *chunk);

    chunk->units = message->order.units;
    chunk->worker = message->order.worker;
    chunk->number = load->numbered++;
    for (int i = 0; i < 3; i++)
        chunk->factor[i] = message->cost[i];
    if (join(port_of(load, chunk), chunk))
        begin_transfer(world, chunk);
}

static void send_back(struct world *world, const struct cleave_order *order)
{
    struct load *load = world->state;
    struct line *results = &load->results[order->worker], rest = { NULL, NULL };
    struct chunk *wanted = NULL;

    while (results->first != NULL) {
        struct chunk *chunk = leave(results);

        if (chunk->number == order->chunk)
            wanted = chunk;
        else
            join(&rest, chunk);
    }
    *results = rest;
    if (wanted == NULL)
        cv_world_fail(world, CLEAVE_EENGINE, "there is no result of chunk %llu",
                      (unsigned long long)order->chunk);
    wanted->back = true;
    if (join(port_of(load, wanted), wanted))
        begin_transfer(world, wanted);
}

static void woken(struct world *world, struct activity *activity,
                  struct cleave_event *out)
{
    struct chunk *note = activity->about;

    (void)world;
    activity->start_s = activity->end_s;
    out->kind = CLEAVE_WAKE;
    out->worker = note->worker;
    free(note);
}

static void wake_at(struct world *world, const struct cleave_order *order)
{
    struct chunk *note = cv_world_take(world, 1, sizeof *note);
    struct activity *activity = activity_about(world, note);

    note->worker = order->worker;
    activity->delay_s = order->time_s - cv_world_now(world);
    activity->usual_s = activity->wanted_s = order->time_s;
    activity->at_once = !(activity->delay_s > 0);
    activity->ended = woken;
    cv_world_begin(world, activity);
}

static void recalled(struct world *world, struct activity *activity,
                     struct cleave_event *out)
{
    struct chunk *note = activity->about;

    (void)world;
    activity->start_s = activity->end_s;
    fill(note, CLEAVE_RECALLED, out);
    out->units = note->report;
    free(note);
}

/* Take units back from what a worker computes, as far as it has not come to them. */
static void recall(struct world *world, const struct cleave_order *order)
{
    struct load *load = world->state;
    struct chunk *chunk = load->processors[order->worker].first;
    struct chunk *note = cv_world_take(world, 1, sizeof *note);
    struct activity *report = activity_about(world, note);

    note->worker = order->worker;
    if (chunk != NULL) {
        struct activity *activity = chunk->activity;
        const double rest = activity->exec != NULL ? sg_exec_get_remaining(activity->exec)
                                                   : activity->flops;
        const double to_come = rest / unit_flops(world, chunk);

        note->number = chunk->number;
        note->report = order->units < to_come ? order->units : to_come;
        if (note->report > 0 && to_come > 0) {
            activity->flops = rest * (1 - note->report / to_come);
            chunk->units = chunk->units > note->report ? chunk->units - note->report : 0;
            activity->key = load->sequence++;
            if (activity->exec != NULL)
                cv_world_change(activity);
        }
    }
    report->at_once = true;
    report->ended = recalled;
    cv_world_begin(world, report);
}

static void submit(struct world *world, const struct cv_wire_message *message)
{
    switch (message->order.kind) {
    case CLEAVE_SEND:
        send_chunk(world, message);
        break;
    case CLEAVE_RETURN:
        send_back(world, &message->order);
        break;
    case CLEAVE_WAKE_AT:
        wake_at(world, &message->order);
        break;
    case CLEAVE_RECALL:
        recall(world, &message->order);
        break;
    default:
        cv_world_fail(world, CLEAVE_EENGINE, "an order of another task");
    }
}

/* --- runs ----------------------------------------------------------------------------- */

static void stream_ended(struct world *world, struct activity *activity,
                         struct cleave_event *out)
{
    const struct load *load = world->state;

    activity->start_s = activity->end_s;
    out->kind = CLEAVE_ENDED;
    out->units = load->stream_rest;
}

static void begin(struct world *world, const struct cv_wire_message *run)
{
    struct load *load = world->state;

    load->sequence = load->numbered = 0;
    load->result_ratio = run->result_ratio;
    load->stream_rest = run->stream_rest;
    if (cv_world_is_star(world)) {
        cv_star_latency(world, run->noisy == 0);
        cv_weather_begin(world);
    }
    if (run->stream_end_s > 0) {
        struct activity *activity = activity_about(world, NULL);

        activity->delay_s = activity->usual_s = run->stream_end_s;
        activity->wanted_s = run->stream_end_s;
        activity->ended = stream_ended;
        cv_world_begin(world, activity);
    }
}

static void open(struct world *world)
{
    const uint32_t n = world->told.nodes;
    struct load *load = cv_world_take(world, 1, sizeof *load);

    load->line_each = world->told.port == CLEAVE_PORT_MULTI;
    load->way_back = world->told.port == CLEAVE_PORT_ONE      ? 0
                     : world->told.port == CLEAVE_PORT_DUPLEX ? 1
                                                              : n;
    load->ports = cv_world_take(world, load->way_back + (load->line_each ? n : 1),
                                sizeof *load->ports);
    load->processors = cv_world_take(world, n, sizeof *load->processors);
    load->results = cv_world_take(world, n, sizeof *load->results);
    world->state = load;
}

const struct world_task cv_load_task = { open, begin, submit };
