/* load_open.c -- orders about commands that are fed as they read.
 * SPDX-License-Identifier: MIT
 *
 * The rules are those of the native engine: a chunk is one range of the load, decided with
 * its first unit, and what is on its way or was fed stays. */
#include "simgrid/load_open.h"

#include <math.h>
#include <stdlib.h>

void cv_open_send(struct world *world, struct chunk *chunk)
{
    struct open_load *open = cv_open_of(world);

    cv_line_join(&open->wishes, chunk);
    open->input.wished += chunk->units;
    cv_open_serve(world);
}

void cv_open_begin_sent(struct world *world, struct chunk *chunk)
{
    struct reader *reader = &cv_open_of(world)->readers[chunk->worker];
    const double latency_s =
        cv_command_before_s(&cv_open_of(world)->command,
                            world->workers[chunk->worker].compute_latency_s);

    *reader = (struct reader){ .worker = chunk->worker,
                               .chunk = chunk,
                               .begin = chunk->begin,
                               .end = chunk->begin + chunk->units,
                               .given = chunk->begin + chunk->units,
                               .read = chunk->begin,
                               .spawn_s = cv_world_now(world),
                               .closed = true };
    cv_reader_read(world, reader, chunk->factor[COMPUTE] * latency_s);
}

static void piece_arrived(struct world *world, struct chunk *piece,
                          struct cleave_event *out)
{
    struct open_load *open = cv_open_of(world);
    struct reader *reader = &open->readers[piece->worker];
    struct activity *activity;

    cv_load_fill(piece, piece->kind, out);
    cv_reader_await(reader);
    activity = reader->activity;
    reader->read = cv_reader_position(world, reader);
    reader->given += piece->units;
    if (reader->end - reader->given <= open->input.free.grain)
        reader->given = reader->end;
    cv_reader_renew(world, reader);
    if (!reader->started) {
        if (activity == NULL)
            cv_reader_start(world, reader);
    } else if (activity == NULL) {
        cv_reader_read(world, reader, 0);
    } else if (activity->exec != NULL) {
        activity->flops = cv_reader_flops(world, reader, reader->given - reader->read);
        cv_world_change(activity);
    } else {
        activity->flops = cv_reader_flops(world, reader, reader->given - reader->read);
    }
    free(piece);
}

static void send_piece(struct world *world, struct reader *reader, double units,
                       enum cleave_event_kind kind)
{
    struct chunk *piece;

    if (!(units > 0)) {
        cv_open_report(world, reader->chunk, reader->worker, kind, 0, 0);
        return;
    }
    piece = cv_world_take(world, 1, sizeof *piece);
    *piece = *reader->chunk;
    piece->units = units;
    piece->kind = kind;
    piece->arrived = piece_arrived;
    cv_load_send(world, piece);
}

static double lengthen(struct world *world, struct reader *reader, double units)
{
    struct open_load *open = cv_open_of(world);
    double begin = 0, taken;

    cv_open_must(world, cv_free_ranges_reserve(&open->input.free));
    if (!reader->started && !(reader->end > reader->begin)) {
        taken = cv_free_ranges_take_first(&open->input.free, units, &begin);
        reader->begin = reader->end = reader->given = reader->read = begin;
    } else {
        taken = cv_free_ranges_take_at(&open->input.free, units, reader->end);
    }
    reader->end += taken;
    if (taken > 0 && reader->stage == READS)
        cv_reader_take_back(world, reader);
    return taken;
}

static void open_chunk(struct world *world, const struct cv_wire_message *message)
{
    struct load *load = world->state;
    const uint32_t w = message->order.worker;
    struct reader *reader = &load->open->readers[w];
    struct chunk *chunk = cv_world_take(world, 1, sizeof *chunk);

    chunk->worker = w;
    chunk->number = load->numbered++;
    for (int i = 0; i < 3; i++)
        chunk->factor[i] = message->cost[i];
    cv_line_join(&load->processors[w], chunk);
    *reader = (struct reader){
        .worker = w, .chunk = chunk, .spawn_s = cv_world_now(world), .opened = true
    };
    reader->ready_s =
        reader->spawn_s +
        chunk->factor[COMPUTE] * cv_command_before_s(&load->open->command,
                                                     world->workers[w].compute_latency_s);
    send_piece(world, reader, lengthen(world, reader, message->order.units), CLEAVE_SENT);
}

static void close_chunk(struct world *world, struct reader *reader)
{
    struct activity *activity;

    reader->closed = true;
    if (reader->stage == READS)
        cv_reader_take_back(world, reader);
    cv_reader_renew(world, reader);
    if (reader->activity != NULL || reader->given < reader->end)
        return; /* it will be noticed */
    if (reader->started) {
        cv_reader_work(world, reader);
        return;
    }
    /* It was given nothing: it is killed. */
    activity = cv_reader_activity(world, reader);
    reader->stage = WORKS;
    activity->at_once = true;
    cv_world_begin(world, activity);
}

static void look(struct world *world, const struct reader *reader, uint32_t worker)
{
    const double read =
        reader->chunk != NULL ? cv_reader_position(world, reader) - reader->begin : 0;

    cv_open_report(world, reader->chunk, worker, CLEAVE_PROGRESS, read,
                   cv_open_of(world)->command.emits ? read : 0);
}

/* The reading, or what is to be read, is shorter now. */
static void shorten(struct world *world, struct reader *reader)
{
    struct activity *activity = reader->activity;

    if (reader->opened && !reader->started && !(reader->end > reader->begin)) {
        cv_reader_take_back(world, reader);
        reader->activity = NULL; /* it is forgotten when its time comes */
        reader->stage = WAITS;
        if (reader->closed)
            close_chunk(world, reader);
        return;
    }
    cv_reader_renew(world, reader);
    if (activity == NULL || reader->stage != READS)
        return;
    activity->flops = cv_reader_flops(world, reader, reader->given - reader->read);
    if (activity->exec != NULL)
        cv_world_change(activity);
}

static void recall(struct world *world, struct reader *reader,
                   const struct cleave_order *order)
{
    struct open_load *open = cv_open_of(world);
    double units = 0;

    if (reader->chunk != NULL && !(reader->given < reader->end)) {
        const double read = cv_reader_position(world, reader);

        units = fmin(order->units, reader->end - read - open->command.ahead);
        if (units < open->input.free.record)
            units = 0;
        else if (reader->stage == READS)
            reader->read = read;
    }
    cv_open_report(world, reader->chunk, order->worker, CLEAVE_RECALLED, units, 0);
    if (!(units > 0))
        return;
    cv_open_must(world, cv_free_ranges_reserve(&open->input.free));
    cv_free_ranges_add(&open->input.free, reader->end - units, reader->end);
    reader->end -= units;
    if (reader->end - reader->begin <= open->input.free.grain)
        reader->end = reader->begin;
    reader->given = reader->end;
    shorten(world, reader);
    cv_open_serve(world);
}

void cv_open_obey(struct world *world, const struct cv_wire_message *message)
{
    struct reader *reader = &cv_open_of(world)->readers[message->order.worker];

    cv_reader_await(reader);
    switch (message->order.kind) {
    case CLEAVE_OPEN:
        open_chunk(world, message);
        break;
    case CLEAVE_EXTEND:
        send_piece(world, reader, lengthen(world, reader, message->order.units),
                   CLEAVE_EXTENDED);
        break;
    case CLEAVE_CLOSE:
        close_chunk(world, reader);
        break;
    case CLEAVE_QUERY:
        look(world, reader, message->order.worker);
        break;
    default:
        recall(world, reader, &message->order);
        break;
    }
}

/* --- a run ------------------------------------------------------------------------------ */

void cv_open_begin(struct world *world, const struct cv_wire_message *run,
                   void (*next)(struct world *world, uint32_t worker))
{
    struct load *load = world->state;
    const uint32_t n = world->told.nodes;
    struct open_load *open;

    if (load->open != NULL) {
        cv_free_ranges_done(&load->open->input.free);
        free(load->open->readers);
        free(load->open);
        load->open = NULL;
    }
    if (!run->opens)
        return;
    open = load->open = cv_world_take(world, 1, sizeof *open);
    open->readers = cv_world_take(world, n, sizeof *open->readers);
    open->command = run->command;
    open->next = next;
    cv_simulated_input_begin(&open->input, run->units, run->hold, n, run->command.record);
    cv_open_arrive(world);
}
