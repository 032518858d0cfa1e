/* native_open.c -- orders about chunks where commands read as they are fed.
 * SPDX-License-Identifier: MIT
 *
 * A chunk is one range of the load. Whoever gets its first unit gets the lowest that nobody
 * has; an open chunk is extended by what follows it. Units travel as those of other chunks
 * do, in pieces that wait for the port. What is on its way, or was fed, stays. */
#include "sim/load/native_open.h"

#include <math.h>
#include <stdlib.h>

#include "base/fail.h"
#include "sim/load/native_queues.h"

/* --- the input -------------------------------------------------------------------------- */

/* One for which nothing was left is over at once. There is room to report it. */
static void give_nothing(struct native *native, uint32_t index)
{
    const struct chunk *chunk = &native->chunks[index];
    struct cleave_event event = { .kind = CLEAVE_SENT,
                                  .worker = chunk->worker,
                                  .chunk = chunk->number,
                                  .start_s = native->now_s,
                                  .time_s = native->now_s };

    cv_native_report(native, &event);
    event.kind = CLEAVE_DONE;
    cv_native_report(native, &event);
    finish(native, index);
}

/* Chunks that wait get their part, first come first served. */
static void serve(struct native *native)
{
    struct native_open *open = native->open;

    while (open->wishes.first != NONE) {
        const uint32_t index = open->wishes.first;
        struct chunk *chunk = &native->chunks[index];
        const double request = chunk->units;

        if (!cv_simulated_input_take(&open->input, &chunk->units, &chunk->begin))
            return;
        open->wishes.first = chunk->next;
        open->nwishes--;
        open->input.wished -= request;
        if (request > 0 && !(chunk->units > 0))
            give_nothing(native, index);
        else
            join_queue(native, native->queue_each ? chunk->worker : 0, index, false);
    }
    open->input.wished = 0;
}

/* More of a stream comes as chunks are done. */
static void arrive(struct native *native)
{
    if (cv_simulated_input_arrive(&native->open->input))
        end_at(native, native->now_s, ENDS_STREAM, 0);
}

double cv_native_left(const void *engine)
{
    const struct native *native = engine;

    return cv_simulated_input_left(&native->open->input);
}

/* --- a run ------------------------------------------------------------------------------ */

enum cleave_status cv_native_open_begin(struct native *native, struct cleave_error *err)
{
    struct native_open *open = native->kept_open;
    const uint32_t n = native->nworkers;

    native->open = NULL;
    if (native->run->command == NULL)
        return CLEAVE_OK;
    if (open == NULL) {
        open = native->kept_open = calloc(1, sizeof *open);
        if (open != NULL)
            open->processes = calloc(n, sizeof *open->processes);
        if (open == NULL || open->processes == NULL)
            return cv_fail_memory(err, "the simulator");
    }
    native->open = open;
    open->command = native->run->command;
    open->nwishes = 0;
    open->wishes = (struct queue){ NONE, NONE };
    cv_simulated_input_begin(&open->input, native->run->units, native->run->hold, n,
                             open->command->record);
    if (!cv_free_ranges_reserve(&open->input.free))
        return cv_fail_memory(err, "the simulator");
    arrive(native);
    return CLEAVE_OK;
}

void cv_native_open_done(struct native *native)
{
    struct native_open *open = native->kept_open;

    if (open == NULL)
        return;
    cv_free_ranges_done(&open->input.free);
    free(open->processes);
    free(open);
}

/* --- orders ----------------------------------------------------------------------------- */

void cv_native_open_send(struct native *native, uint32_t index)
{
    struct native_open *open = native->open;
    struct chunk *chunk = &native->chunks[index];

    chunk->next = NONE;
    chunk->begin = 0; /* nothing is taken for a chunk without units */
    if (open->wishes.first == NONE)
        open->wishes.first = index;
    else
        native->chunks[open->wishes.last].next = index;
    open->wishes.last = index;
    open->nwishes++;
    open->input.wished += chunk->units;
    serve(native);
}

void cv_native_open_start(struct native *native, uint32_t index)
{
    const struct chunk *chunk = &native->chunks[index];
    const struct process process = { .begin = chunk->begin,
                                     .end = chunk->begin + chunk->units,
                                     .given = chunk->begin + chunk->units,
                                     .closed = true };

    cv_native_process_start(native, chunk->worker, &process);
}

static void report(struct native *native, const struct cleave_order *order,
                   const struct cleave_event *event)
{
    struct cleave_event full = *event;
    const uint32_t index = native->processors[order->worker].first;

    full.worker = order->worker;
    full.chunk = index != NONE ? native->chunks[index].number : 0;
    full.start_s = full.time_s = native->now_s;
    cv_native_report(native, &full);
}

/* Send units of the open chunk of a worker on their way; `kind` is told when they are
 * there. Nothing is there at once. */
static enum cleave_status send_piece(struct native *native,
                                     const struct cleave_order *order, double units,
                                     enum cleave_event_kind kind,
                                     struct cleave_error *err)
{
    const struct chunk *whole;
    uint32_t index = NONE;

    if (!(units > 0)) {
        report(native, order, &(struct cleave_event){ .kind = kind });
        return CLEAVE_OK;
    }
    CV_TRY(cv_native_new_chunk(native, &index, err));
    whole = &native->chunks[native->processors[order->worker].first];
    native->chunks[index] = (struct chunk){ .units = units,
                                            .number = whole->number,
                                            .worker = order->worker,
                                            .nth = whole->nth,
                                            .piece = kind };
    join_queue(native, native->queue_each ? order->worker : 0, index, false);
    return CLEAVE_OK;
}

/* Give the open chunk of a worker up to so many units; returns how many. */
static double lengthen(struct native *native, uint32_t worker, double units)
{
    struct process *process = &native->open->processes[worker];
    double begin = 0, taken;

    cv_native_process_catch_up(native, worker);
    if (!process->started && !(process->end > process->begin)) {
        taken = cv_free_ranges_take_first(&native->open->input.free, units, &begin);
        process->begin = process->end = process->given = process->read = begin;
    } else {
        taken = cv_free_ranges_take_at(&native->open->input.free, units, process->end);
    }
    process->end += taken;
    if (taken > 0)
        cv_native_process_plan(native, worker); /* it is not drained any more */
    return taken;
}

static enum cleave_status open_chunk(struct native *native,
                                     const struct cleave_order *order,
                                     struct cleave_error *err)
{
    const struct process process = { .opened = true };
    uint32_t index = NONE;

    CV_TRY(cv_native_new_chunk(native, &index, err));
    native->chunks[index] = (struct chunk){ .number = native->numbered++,
                                            .worker = order->worker,
                                            .nth = native->nth[order->worker]++ };
    enqueue(native, &native->processors[order->worker], index);
    cv_native_process_start(native, order->worker, &process);
    return send_piece(native, order, lengthen(native, order->worker, order->units),
                      CLEAVE_SENT, err);
}

/* How far it seems to have read: what it reads at once has left the pipe before it is
 * worked on. At first the pipe is narrow. */
static double reached(const struct native *native, uint32_t worker)
{
    enum { NARROW = 4 };
    const struct cv_command_model *command = native->open->command;
    const struct process *process = &native->open->processes[worker];
    const double read = process->read - process->begin;
    const double gulp =
        read < NARROW * command->ahead
            ? fmin(command->ahead, command->gulp_s * native->workers[worker].speed_ups)
            : command->gulp_s * native->workers[worker].speed_ups;

    if (!(gulp > 0) || !process->started)
        return process->read;
    return fmin(process->given, process->begin + (floor(read / gulp) + 1) * gulp);
}

static void look(struct native *native, const struct cleave_order *order)
{
    struct cleave_event seen = { .kind = CLEAVE_PROGRESS };

    if (native->processors[order->worker].first != NONE) {
        cv_native_process_catch_up(native, order->worker);
        seen.units =
            reached(native, order->worker) - native->open->processes[order->worker].begin;
        seen.output = native->open->command->emits ? seen.units : 0;
    }
    report(native, order, &seen);
}

/* What the worker reads loses units at its end, as far as it was not given them. */
static void recall(struct native *native, const struct cleave_order *order)
{
    struct cleave_event recalled = { .kind = CLEAVE_RECALLED };
    struct process *process = &native->open->processes[order->worker];

    if (native->processors[order->worker].first != NONE &&
        !(process->given < process->end)) {
        cv_native_process_catch_up(native, order->worker);
        recalled.units =
            fmin(order->units, process->end - reached(native, order->worker) -
                                   native->open->command->ahead);
        if (recalled.units < native->open->input.free.record)
            recalled.units = 0;
    }
    report(native, order, &recalled);
    if (!(recalled.units > 0))
        return;
    cv_free_ranges_add(&native->open->input.free, process->end - recalled.units,
                       process->end);
    process->end -= recalled.units;
    if (process->end - process->begin <= native->open->input.free.grain)
        process->end = process->begin; /* but for rounding */
    process->given = process->end;
    cv_native_process_plan(native, order->worker);
    serve(native);
}

enum cleave_status cv_native_open_submit(struct native *native,
                                         const struct cleave_order *order,
                                         struct cleave_error *err)
{
    switch (order->kind) {
    case CLEAVE_OPEN:
        return open_chunk(native, order, err);
    case CLEAVE_EXTEND:
        return send_piece(native, order, lengthen(native, order->worker, order->units),
                          CLEAVE_EXTENDED, err);
    case CLEAVE_CLOSE:
        cv_native_process_catch_up(native, order->worker);
        native->open->processes[order->worker].closed = true;
        cv_native_process_plan(native, order->worker);
        return CLEAVE_OK;
    case CLEAVE_QUERY:
        look(native, order);
        return CLEAVE_OK;
    default:
        recall(native, order);
        return CLEAVE_OK;
    }
}

/* --- events ----------------------------------------------------------------------------- */

void cv_native_open_arrived(struct native *native, const struct chunk *piece,
                            struct cleave_event *out)
{
    *out = (struct cleave_event){ .kind = piece->piece,
                                  .worker = piece->worker,
                                  .chunk = piece->number,
                                  .units = piece->units,
                                  .start_s = piece->start_s,
                                  .time_s = native->now_s };
    cv_native_process_give(native, piece->worker, piece->units);
}

void cv_native_open_finished(struct native *native, double units)
{
    native->open->input.finished += units;
    arrive(native);
    serve(native);
}

void cv_native_open_ended(struct native *native, struct cleave_event *out)
{
    native->open->input.ended = true;
    *out = (struct cleave_event){ .kind = CLEAVE_ENDED,
                                  .units = cv_native_left(native),
                                  .start_s = native->now_s,
                                  .time_s = native->now_s };
}

enum cleave_status cv_native_open_room(struct native *native, struct cleave_error *err)
{
    struct native_open *open = native->open;

    /* An event of each port and process, and one that it replaces; reports. */
    cv_event_heap_settle(&native->heap);
    if (!cv_event_heap_reserve(&native->heap, native->heap.count + native->nqueues +
                                                  2 * (size_t)native->nworkers +
                                                  2 * open->nwishes + 8) ||
        !cv_native_report_room(native, 2 * open->nwishes + 4) ||
        !cv_free_ranges_reserve(&open->input.free))
        return cv_fail_memory(err, "the events of a run");
    return CLEAVE_OK;
}

void cv_native_open_drop(struct native *native)
{
    struct cv_event_heap *heap = &native->heap;

    cv_event_heap_settle(heap);
    while (heap->count > 0) {
        const uint64_t key = heap->items[0].key;
        const uint32_t place = (uint32_t)(key >> KIND_BITS) & ((1u << PLACE_BITS) - 1);

        if ((key & ((1u << KIND_BITS) - 1)) != ENDS_PROCESS ||
            native->open->processes[place].key == key)
            return;
        cv_event_heap_take(heap);
        cv_event_heap_settle(heap);
    }
}
