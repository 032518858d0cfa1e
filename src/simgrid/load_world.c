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

#include "simgrid/load_open.h"

static void compute_ended(struct world *world, struct activity *activity,
                          struct cleave_event *out);

static void begin_compute(struct world *world, struct chunk *chunk)
{
    const struct cleave_worker *worker = &world->workers[chunk->worker];
    struct activity *activity = cv_load_activity(world, chunk);

    activity->to = world->hosts[chunk->worker];
    activity->delay_s = chunk->factor[COMPUTE] * worker->compute_latency_s;
    activity->flops = chunk->units * cv_load_unit_flops(world, chunk);
    activity->ended = compute_ended;
    activity->at_once = !(activity->delay_s > 0) && !(activity->flops > 0);
    chunk->activity = activity;
    cv_world_begin(world, activity);
}

/* The next in its worker's line. */
static void begin_next(struct world *world, uint32_t worker)
{
    struct load *load = world->state;
    struct chunk *chunk = load->processors[worker].first;

    if (chunk != NULL && load->open != NULL)
        cv_open_begin_sent(world, chunk);
    else if (chunk != NULL)
        begin_compute(world, chunk);
}

static void chunk_arrived(struct world *world, struct chunk *chunk,
                          struct cleave_event *out)
{
    struct load *load = world->state;

    cv_load_fill(chunk, CLEAVE_SENT, out);
    if (cv_line_join(&load->processors[chunk->worker], chunk))
        begin_next(world, chunk->worker);
}

static void compute_ended(struct world *world, struct activity *activity,
                          struct cleave_event *out)
{
    struct load *load = world->state;
    struct chunk *chunk = activity->about;
    struct line *processor = &load->processors[chunk->worker];

    cv_line_leave(processor);
    cv_load_fill(chunk, CLEAVE_DONE, out);
    chunk->activity = NULL;
    cv_load_finish(world, chunk);
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
    chunk->arrived = chunk_arrived;
    for (int i = 0; i < 3; i++)
        chunk->factor[i] = message->cost[i];
    if (load->open != NULL)
        cv_open_send(world, chunk);
    else
        cv_load_send(world, chunk);
}

static void send_back(struct world *world, const struct cleave_order *order)
{
    struct load *load = world->state;
    struct line *results = &load->results[order->worker], rest = { NULL, NULL };
    struct chunk *wanted = NULL;

    while (results->first != NULL) {
        struct chunk *chunk = cv_line_leave(results);

        if (chunk->number == order->chunk)
            wanted = chunk;
        else
            cv_line_join(&rest, chunk);
    }
    *results = rest;
    if (wanted == NULL)
        cv_world_fail(world, CLEAVE_EENGINE, "there is no result of chunk %llu",
                      (unsigned long long)order->chunk);
    wanted->back = true;
    cv_load_send(world, wanted);
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
    struct activity *activity = cv_load_activity(world, note);

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
    cv_load_fill(note, CLEAVE_RECALLED, out);
    out->units = note->report;
    free(note);
}

/* Take units back from what a worker computes, as far as it has not come to them. */
static void recall(struct world *world, const struct cleave_order *order)
{
    struct load *load = world->state;
    struct chunk *chunk = load->processors[order->worker].first;
    struct chunk *note = cv_world_take(world, 1, sizeof *note);
    struct activity *report = cv_load_activity(world, note);

    note->worker = order->worker;
    if (chunk != NULL) {
        struct activity *activity = chunk->activity;
        double rest, to_come;

        /* One that has come just now may be about to start: then its rest is fixed, but not to be seen. */
        if (!(activity->delay_s > 0) && activity->flops > 0)
            cv_world_await(activity);
        rest = activity->exec != NULL ? sg_exec_get_remaining(activity->exec)
                                      : activity->flops;
        to_come = rest / cv_load_unit_flops(world, chunk);

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
    const struct load *load = world->state;

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
        if (load->open == NULL) {
            recall(world, &message->order);
            break;
        }
        cv_open_obey(world, message);
        break;
    case CLEAVE_OPEN:
    case CLEAVE_EXTEND:
    case CLEAVE_CLOSE:
    case CLEAVE_QUERY:
        if (load->open != NULL) {
            cv_open_obey(world, message);
            break;
        }
        cv_world_fail(world, CLEAVE_EENGINE, "chunks cannot be opened");
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
    cv_open_begin(world, run, begin_next);
    if (cv_world_is_star(world)) {
        cv_star_latency(world, run->noisy == 0);
        cv_weather_begin(world);
    }
    if (run->stream_end_s > 0) {
        struct activity *activity = cv_load_activity(world, NULL);

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

const struct world_task cv_load_task = { open, begin, submit, cv_open_left };
