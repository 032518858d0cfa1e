/* load_world.c -- a master, its port, and workers that compute chunks.
 * SPDX-License-Identifier: MIT
 *
 * Messages wait in queues of the master's port: one queue (port one), one for each way
 * (duplex), or one per worker and way (multi). Chunks wait at their worker in the order of
 * arrival. SimGrid determines all durations.
 *
 * Simultaneous events come in the order in which their activities began. */
#include <math.h>
#include <simgrid/exec.h>
#include <stdlib.h>
#include <string.h>
#include "engine/simulated_command.h"
#include "simgrid/led_world.h"

enum { TRANSFER, COMPUTE, RETURN };

struct chunk {
    double units, factor[3];
    double weight; /* factor on the cost of an item */
    uint64_t number;
    uint32_t worker, owner;    /* owner: whom events name; another may stand in for it */
    bool back;                 /* a result */
    bool silent;               /* its arrival was reported earlier */
    struct activity *activity; /* while it is computed */
    bool passed_on;            /* a piece at a leader */
    bool computed;             /* ... all of it */
    double output;             /* output of a report */
    double start_s;            /* start of a piece at a leader */
    struct chunk *next;        /* in a queue */
    double begin;              /* place of the chunk in the load, if known */
    enum cleave_event_kind kind; /* a piece or a report: its event; 0: a whole chunk */
};

struct line {
    struct chunk *first, *last;
};

/* The piece that is the input of a copy: its arrival is not reported. */
static const enum cleave_event_kind COPY_INPUT = CLEAVE_DROPPED;

/* Stages of a command; it works after the end of its input. */
enum stage { WAITS, STARTS, READS, WORKS };

struct reader {
    uint32_t worker;
    struct chunk *chunk;      /* NULL: none */
    double begin, end, given; /* range of the chunk, and its end so far */
    double read;              /* position when the stage began */
    double spawn_s, ready_s, end_read_s;
    enum stage stage;
    struct activity *activity; /* for the stage, or NULL */
    bool opened, closed, started;
    bool copied;         /* the chunk has or had a copy, or is one */
    bool awaited;        /* a copy whose input has not arrived */
    struct reader *twin; /* that has the same chunk, or NULL */
};

struct open_load {
    struct cv_command_model command;
    struct cleave_conditions conditions;
    struct cv_record_law law; /* for items */
    bool gets_losses, copies, answered;
    bool *gone; /* owned: by worker: it is lost */
    uint32_t ngone;
    struct reader *readers; /* owned: by worker */
    struct cv_simulated_input input;
    struct line waiting; /* chunks that wait for their part of a stream */
};

struct load {
    struct line *ports; /* owned */
    uint32_t way_back;  /* index of the first port of results */
    bool line_each;
    struct line *processors, *results; /* owned: per worker */
    uint64_t sequence, numbered;
    double result_ratio, stream_rest;
    struct open_load *open; /* owned: if chunks may be opened, or NULL */
};

static void arrived(struct world *world, struct chunk *chunk, struct cleave_event *out);
static void begin_next(struct world *world, uint32_t worker);

static struct open_load *open_of(const struct world *world)
{
    return ((const struct load *)world->state)->open;
}

/* --- chunks and queues -------------------------------------------------------------- */

/* True: the chunk is the first. */
static bool line_join(struct line *line, struct chunk *chunk)
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

static struct chunk *line_leave(struct line *line)
{
    struct chunk *chunk = line->first;

    line->first = chunk->next;
    return chunk;
}

/* An activity about a chunk, in the order of such. */
static struct activity *load_activity(struct world *world, void *about)
{
    struct load *load = world->state;
    struct activity *activity = cv_world_activity(world);

    activity->key = load->sequence++;
    activity->about = about;
    return activity;
}

static struct chunk *new_chunk(struct world *world, const struct cv_wire_message *message)
{
    struct load *load = world->state;
    struct chunk *chunk = cv_world_take(world, 1, sizeof *chunk);

    chunk->worker = chunk->owner = message->order.worker;
    chunk->number = load->numbered++;
    chunk->weight = load->open != NULL && load->open->input.items
                        ? cv_record_factor(&load->open->law, message->order.item)
                        : 1;
    memcpy(chunk->factor, message->cost, sizeof chunk->factor);
    return chunk;
}

static void load_fill(const struct chunk *chunk, enum cleave_event_kind kind,
                      struct cleave_event *out)
{
    out->kind = kind;
    out->worker = chunk->owner;
    out->chunk = chunk->number;
    out->units = chunk->units;
}

static struct line *port_of(struct load *load, const struct chunk *chunk)
{
    return &load->ports[(chunk->back ? load->way_back : 0) +
                        (load->line_each ? chunk->worker : 0)];
}

static void transfer_ended(struct world *world, struct activity *activity,
                           struct cleave_event *out);

/* The chunk is the first in the queue of its port. Factors stretch latencies as well; as
 * links cannot do that, the activity waits before. */
static void begin_transfer(struct world *world, struct chunk *chunk)
{
    const struct load *load = world->state;
    const struct cleave_worker *worker = &world->workers[chunk->worker];
    const double latency_s = chunk->back ? worker->return_latency_s : worker->latency_s;
    const double rate =
        chunk->back ? worker->return_bandwidth_ups : worker->bandwidth_ups;
    const double factor = chunk->factor[chunk->back ? RETURN : TRANSFER];
    const double units = factor * chunk->units * (chunk->back ? load->result_ratio : 1);
    struct activity *activity = load_activity(world, chunk);

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
        if (!(activity->usual_s > 0) || (!(units > 0) && !world->latency_on_links))
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

    line_leave(port);
    if (chunk->back) {
        load_fill(chunk, CLEAVE_RETURNED, out);
        free(chunk);
    } else {
        arrived(world, chunk, out);
    }
    if (port->first != NULL)
        begin_transfer(world, port->first);
}

/* Wait for the port, and be sent. */
static void load_send(struct world *world, struct chunk *chunk)
{
    if (line_join(port_of(world->state, chunk), chunk))
        begin_transfer(world, chunk);
}

/* Flops that a computation still has to do. */
static double rest_flops(const struct activity *activity)
{
    return activity->exec != NULL ? sg_exec_get_remaining(activity->exec)
                                  : activity->flops;
}

static void change_flops(struct activity *activity, double flops)
{
    activity->flops = flops;
    if (activity->exec != NULL)
        cv_world_change(activity);
}

/* Flops of a unit. */
static double load_unit_flops(const struct world *world, const struct chunk *chunk)
{
    return chunk->factor[COMPUTE] *
           (cv_world_is_star(world) ? CV_STAR_UNIT : world->told.unit_flops);
}

/* The result of a computed chunk may be asked for, or the chunk is forgotten. */
static void load_finish(struct world *world, struct chunk *chunk)
{
    struct load *load = world->state;

    if (load->result_ratio > 0)
        line_join(&load->results[chunk->owner], chunk);
    else
        free(chunk);
}

/* --- the input of commands ---------------------------------------------------------- */

static void reserve_range(struct world *world)
{
    if (!cv_free_ranges_reserve(&open_of(world)->input.free))
        cv_world_fail(world, CLEAVE_ENOMEM, "out of memory for the parts of a load");
}

static void reported(struct world *world, struct activity *activity,
                     struct cleave_event *out)
{
    struct chunk *note = activity->about;

    (void)world;
    activity->start_s = activity->end_s;
    load_fill(note, note->kind, out);
    out->output = note->output;
    free(note);
}

/* Report an event now, for a chunk or a worker that has none. */
static void open_report(struct world *world, const struct chunk *about, uint32_t worker,
                        enum cleave_event_kind kind, double units, double output)
{
    struct chunk *note = cv_world_take(world, 1, sizeof *note);
    struct activity *activity = load_activity(world, note);

    note->worker = note->owner = worker;
    note->number = about != NULL ? about->number : 0;
    note->units = units;
    note->kind = kind;
    note->output = output;
    activity->ended = reported;
    cv_world_begin(world, activity);
}

static void open_serve(struct world *world)
{
    struct open_load *open = open_of(world);

    while (open->waiting.first != NULL) {
        struct chunk *chunk = open->waiting.first;
        const double request = chunk->units;

        if (!cv_simulated_input_take(&open->input, &chunk->units, &chunk->begin))
            return;
        line_leave(&open->waiting);
        open->input.wished -= request;
        if (request > 0 && !(chunk->units > 0)) { /* nothing was left for it */
            open_report(world, chunk, chunk->worker, CLEAVE_SENT, 0, 0);
            open_report(world, chunk, chunk->worker, CLEAVE_DONE, 0, 0);
            load_finish(world, chunk);
        } else {
            load_send(world, chunk);
        }
    }
    open->input.wished = 0;
}

/* Units that no worker was given or promised. */
static double open_left(const struct world *world)
{
    const struct open_load *open = open_of(world);

    return open != NULL ? cv_simulated_input_left(&open->input) : INFINITY;
}

static void stream_ended(struct world *world, struct activity *activity,
                         struct cleave_event *out)
{
    const struct load *load = world->state;

    activity->start_s = activity->end_s;
    out->kind = CLEAVE_ENDED;
    if (load->open != NULL)
        load->open->input.ended = true;
    out->units = load->open != NULL ? open_left(world) : load->stream_rest;
}

static void open_arrive(struct world *world)
{
    struct activity *activity;

    reserve_range(world);
    if (!cv_simulated_input_arrive(&open_of(world)->input))
        return;
    activity = load_activity(world, NULL);
    activity->ended = stream_ended;
    cv_world_begin(world, activity);
}

/* --- a command that starts up, reads and works -------------------------------------- */

/* The model of engine/simulated_command.h. Reading and working are computations of SimGrid,
 * whose length changes when units arrive or are recalled. */

/* Flops for a range of a chunk, all of them. */
static double work_flops(const struct world *world, const struct reader *reader,
                         double begin, double end)
{
    return cv_simulated_input_cost(&open_of(world)->input, begin, end) *
           reader->chunk->weight * load_unit_flops(world, reader->chunk);
}

/* Time to read all units that were given. */
static double reader_flops(const struct world *world, const struct reader *reader,
                           double from)
{
    return open_of(world)->command.phi * work_flops(world, reader, from, reader->given);
}

static double reader_position(const struct world *world, const struct reader *reader)
{
    const struct activity *activity = reader->activity;
    const double all = reader->chunk != NULL
                           ? open_of(world)->command.phi * reader->chunk->weight *
                                 load_unit_flops(world, reader->chunk)
                           : 0;
    const struct cv_simulated_input *input = &open_of(world)->input;

    if (reader->stage == WORKS)
        return reader->end;
    if (activity == NULL || reader->stage == WAITS)
        return reader->read;
    if (activity->over && (reader->stage == READS || !(all > 0)))
        return reader->given;
    if (reader->stage != READS || !(all > 0)) /* not started up */
        return reader->read;
    return fmax(reader->begin, /* rounding */
                cv_simulated_input_reach(input, reader->begin,
                                         cv_simulated_input_cost(input, reader->begin,
                                                                 reader->given) -
                                             rest_flops(activity) / all));
}

/* If reading begins in this instant, let it begin: then the position is known. */
static void reader_await(const struct reader *reader)
{
    if (reader->activity != NULL && reader->stage == READS &&
        !(reader->activity->delay_s > 0))
        cv_world_await(reader->activity);
}

static void told(struct world *world, struct activity *activity,
                 struct cleave_event *out);

/* The work after the end of the input. */
static void set_work(struct world *world, struct reader *reader,
                     struct activity *activity)
{
    const struct cv_command_model *command = &open_of(world)->command;
    const double latency_s = world->workers[reader->worker].compute_latency_s;

    reader->end_read_s = cv_world_now(world);
    reader->stage = WORKS;
    activity->then = NULL;
    activity->delay_s = reader->chunk->factor[COMPUTE] *
                        (latency_s - cv_command_before_s(command, latency_s));
    activity->flops =
        (1 - command->phi) * work_flops(world, reader, reader->begin, reader->end);
}

/* The activity changed: its place among simultaneous ends is by now. */
static void reader_renew(struct world *world, const struct reader *reader)
{
    struct load *load = world->state;

    if (reader->activity != NULL && !reader->activity->over && reader->stage != STARTS)
        reader->activity->key = load->sequence++;
}

static struct activity *reader_activity(struct world *world, struct reader *reader)
{
    struct activity *activity = load_activity(world, reader);

    reader->activity = activity;
    activity->to = world->hosts[reader->worker];
    activity->ended = told;
    return activity;
}

static void reader_work(struct world *world, struct reader *reader)
{
    struct activity *activity = reader_activity(world, reader);

    set_work(world, reader, activity);
    cv_world_begin(world, activity);
}

/* Everything given was read. */
static enum activity_turn after_reading(struct world *world, struct activity *activity)
{
    struct reader *reader = activity->about;

    if (reader->activity != activity)
        return CV_TURN_GONE;
    reader->read = reader->given;
    if (reader->given < reader->end) {
        reader->stage = WAITS;
        reader->activity = NULL;
        return CV_TURN_GONE;
    }
    if (!reader->closed)
        return CV_TURN_END;
    set_work(world, reader, activity);
    return activity->delay_s > 0 || activity->flops > 0 ? CV_TURN_ON : CV_TURN_END;
}

static void reader_read(struct world *world, struct reader *reader, double delay_s)
{
    const double flops = reader_flops(world, reader, reader->read);
    struct activity *activity;

    if (!(delay_s > 0) && !(flops > 0)) {
        reader->read = reader->given;
        reader->stage = WAITS;
        if (reader->given < reader->end)
            return;
        if (reader->closed) {
            reader_work(world, reader);
            return;
        }
    }
    activity = reader_activity(world, reader);
    reader->stage = READS;
    activity->delay_s = delay_s;
    activity->flops = flops;
    activity->then = after_reading;
    cv_world_begin(world, activity);
}

static enum activity_turn after_start(struct world *world, struct activity *activity)
{
    const struct reader *reader = activity->about;

    (void)world;
    return reader->activity == activity ? CV_TURN_END : CV_TURN_GONE;
}

/* Units arrived at a command whose start was not reported. */
static void reader_start(struct world *world, struct reader *reader)
{
    struct activity *activity = reader_activity(world, reader);

    reader->stage = STARTS;
    activity->delay_s = fmax(0, reader->ready_s - cv_world_now(world));
    activity->usual_s = activity->delay_s;
    activity->then = after_start;
    cv_world_begin(world, activity);
}

static void open_finished(struct world *world, double units)
{
    open_of(world)->input.finished += units;
    open_arrive(world);
    open_serve(world);
}

static void drop(struct world *world, struct reader *reader);

static void done(struct world *world, struct reader *reader, struct cleave_event *out)
{
    struct load *load = world->state;
    struct chunk *chunk = reader->chunk;
    struct reader *twin = reader->twin;

    chunk->units = out->units;
    if (reader->opened && out->units > 0)
        out->read_s = reader->end_read_s;
    reader->chunk = NULL;
    reader->twin = NULL;
    line_leave(&load->processors[reader->worker]);
    load_finish(world, chunk);
    begin_next(world, reader->worker);
    if (!(load->open->conditions.answers_s > 0))
        open_finished(world, out->units);
    if (twin != NULL)
        drop(world, twin);
}

static void told(struct world *world, struct activity *activity, struct cleave_event *out)
{
    struct reader *reader = activity->about;
    const enum stage stage = reader->stage;

    activity->start_s = reader->spawn_s;
    reader->activity = NULL;
    load_fill(reader->chunk,
              stage == STARTS  ? CLEAVE_STARTED
              : stage == READS ? CLEAVE_DRAINED
                               : CLEAVE_DONE,
              out);
    out->units = reader->end - reader->begin;
    if (stage == STARTS) {
        reader->started = open_of(world)->input.begun = true;
        reader_read(world, reader, 0);
    } else if (stage == READS) {
        reader->stage = WAITS;
        reader->read = reader->given;
        out->output = open_of(world)->command.emits ? out->units : 0;
        if (reader->closed) /* in this instant */
            reader_work(world, reader);
    } else {
        done(world, reader, out);
    }
}

/* Cancel a report that the command has read everything, or has started. */
static void reader_take_back(struct world *world, struct reader *reader)
{
    if (reader->activity == NULL || !reader->activity->over)
        return;
    cv_world_drop(world, reader->activity);
    reader->activity = NULL;
    if (reader->stage == READS)
        reader->read = reader->given;
    reader->stage = WAITS;
}

/* --- workers that are lost ------------------------------------------------------------ */

/* Nothing comes of a chunk. */
static void lose(struct world *world, struct chunk *chunk)
{
    open_report(world, chunk, chunk->owner, CLEAVE_LOST, chunk->units, 0);
    free(chunk);
}

/* Chunks that a worker has or is about to be sent. */
static size_t count_chunks(const struct world *world, uint32_t worker)
{
    const struct load *load = world->state;
    const struct line *lines[] = { &load->processors[worker],
                                   &load->ports[load->line_each ? worker : 0],
                                   &load->open->waiting };
    size_t count = 0;

    for (int k = 0; k < 3; k++)
        for (const struct chunk *c = lines[k]->first; c != NULL; c = c->next)
            count += c->worker == worker && !c->back;
    return count;
}

/* The worker that is to get a chunk: never a lost worker. */
static uint32_t stand_in(const struct world *world, uint32_t worker)
{
    const bool *gone = open_of(world)->gone;
    size_t least = SIZE_MAX;

    if (!gone[worker])
        return worker;
    for (uint32_t w = 0; w < world->told.nodes; w++) {
        const size_t count = gone[w] ? SIZE_MAX : count_chunks(world, w);

        if (count < least) {
            least = count;
            worker = w;
        }
    }
    return worker;
}

static enum activity_turn discarded(struct world *world, struct activity *activity)
{
    (void)world;
    (void)activity;
    return CV_TURN_GONE;
}

static void reader_stop(struct world *world, struct reader *reader)
{
    struct activity *activity = reader->activity;

    reader->activity = NULL;
    reader->chunk = NULL;
    reader->awaited = false;
    reader->twin = NULL;
    if (activity == NULL)
        return;
    /* A computation that begins in this instant cannot be ended before. */
    if (!(activity->delay_s > 0) && activity->flops > 0)
        cv_world_await(activity);
    if (activity->over) {
        cv_world_drop(world, activity);
        return;
    }
    activity->then = discarded;
    change_flops(activity, 0);
}

/* The chunk is no longer in a queue; `reader` is NULL if it had not begun. */
static void lose_one(struct world *world, struct chunk *chunk, struct reader *reader)
{
    struct open_load *open = open_of(world);
    struct reader *twin = reader != NULL ? reader->twin : NULL;

    if (reader != NULL) {
        chunk->begin = reader->begin;
        chunk->units = reader->end - reader->begin;
        reader_stop(world, reader);
    }
    if (twin != NULL) {
        twin->twin = NULL;
        open_report(world, chunk, chunk->owner, CLEAVE_DROPPED, 0, 0);
        free(chunk);
    } else if (open->gets_losses) {
        reserve_range(world);
        cv_simulated_input_return(&open->input, chunk->begin,
                                  chunk->begin + chunk->units);
        lose(world, chunk);
    } else {
        chunk->silent = true;
        chunk->worker = stand_in(world, chunk->worker);
        load_send(world, chunk);
    }
}

/* Handle units that arrive at a lost worker. Units in transit to an open chunk arrive
 * first. */
static void lose_all(struct world *world, uint32_t worker)
{
    struct load *load = world->state;
    struct reader *reader = &load->open->readers[worker];
    struct line *line = &load->processors[worker];

    while (line->first != NULL) {
        const bool begun = reader->chunk == line->first;

        if (begun && reader->given < reader->end && !reader->awaited)
            return;
        lose_one(world, line_leave(line), begun ? reader : NULL);
    }
    open_serve(world);
}

/* The twin is done. */
static void drop(struct world *world, struct reader *reader)
{
    struct load *load = world->state;
    struct chunk *chunk = line_leave(&load->processors[reader->worker]);

    open_report(world, chunk, chunk->owner, CLEAVE_DROPPED, 0, 0);
    reader_stop(world, reader);
    free(chunk);
    begin_next(world, reader->worker);
}

/* --- orders about open chunks ------------------------------------------------------- */

/* As in the native engine, a chunk is one range of the load, decided with its first unit;
 * units that were sent or fed are not recalled. */

static void open_send(struct world *world, struct chunk *chunk)
{
    struct open_load *open = open_of(world);

    if (open->gone[chunk->worker] && open->gets_losses) {
        lose(world, chunk);
        return;
    }
    chunk->worker = stand_in(world, chunk->worker);
    line_join(&open->waiting, chunk);
    open->input.wished += chunk->units;
    open_serve(world);
}

static void open_begin_sent(struct world *world, struct chunk *chunk)
{
    struct reader *reader = &open_of(world)->readers[chunk->worker];
    const double latency_s =
        cv_command_before_s(&open_of(world)->command,
                            world->workers[chunk->worker].compute_latency_s);

    *reader = (struct reader){ .worker = chunk->worker,
                               .chunk = chunk,
                               .begin = chunk->begin,
                               .end = chunk->begin + chunk->units,
                               .given = chunk->begin + chunk->units,
                               .read = chunk->begin,
                               .spawn_s = cv_world_now(world),
                               .closed = true };
    reader_read(world, reader, chunk->factor[COMPUTE] * latency_s);
}

static void piece_arrived(struct world *world, struct chunk *piece,
                          struct cleave_event *out)
{
    struct open_load *open = open_of(world);
    struct reader *reader = &open->readers[piece->worker];
    struct activity *activity;

    if (piece->kind == COPY_INPUT) {
        if (reader->awaited && reader->chunk->number == piece->number) {
            reader->awaited = false;
            reader->given = reader->end;
            reader->spawn_s = cv_world_now(world);
            reader_read(
                world, reader,
                reader->chunk->factor[COMPUTE] *
                    cv_command_before_s(&open->command,
                                        world->workers[piece->worker].compute_latency_s));
        }
        free(piece);
        return;
    }
    load_fill(piece, piece->kind, out);
    reader_await(reader);
    activity = reader->activity;
    reader->read = reader_position(world, reader);
    reader->given += piece->units;
    if (reader->end - reader->given <= open->input.free.grain)
        reader->given = reader->end;
    reader_renew(world, reader);
    if (!reader->started) {
        if (activity == NULL)
            reader_start(world, reader);
    } else if (activity == NULL) {
        reader_read(world, reader, 0);
    } else {
        change_flops(activity, reader_flops(world, reader, reader->read));
    }
    free(piece);
}

static void send_piece(struct world *world, struct reader *reader, double units,
                       enum cleave_event_kind kind)
{
    struct chunk *piece;

    if (!(units > 0)) {
        open_report(world, reader->chunk, reader->worker, kind, 0, 0);
        return;
    }
    piece = cv_world_take(world, 1, sizeof *piece);
    *piece = *reader->chunk;
    piece->units = units;
    piece->kind = kind;
    load_send(world, piece);
}

/* Whether the largest free range could extend an open chunk. */
static bool could_extend(struct world *world)
{
    const struct open_load *open = open_of(world);
    const struct cv_free_ranges *free = &open->input.free;
    const double begin = cv_free_ranges_largest(free);

    for (uint32_t w = 0; w < world->told.nodes; w++) {
        const struct reader *reader = &open->readers[w];

        if (reader->opened && !reader->closed && reader->end > reader->begin &&
            fabs(reader->end - begin) <= free->grain)
            return true;
    }
    return false;
}

static double lengthen(struct world *world, struct reader *reader, double units)
{
    struct open_load *open = open_of(world);
    double begin = 0, taken;

    reserve_range(world);
    if (!reader->started && !(reader->end > reader->begin)) {
        taken =
            cv_simulated_input_place(&open->input, units, could_extend(world), &begin);
        reader->begin = reader->end = reader->given = reader->read = begin;
    } else {
        taken = cv_free_ranges_take_at(&open->input.free, units, reader->end);
    }
    reader->end += taken;
    if (taken > 0 && reader->stage == READS)
        reader_take_back(world, reader);
    return taken;
}

static void open_chunk(struct world *world, const struct cv_wire_message *message)
{
    struct load *load = world->state;
    const uint32_t w = message->order.worker;
    struct reader *reader = &load->open->readers[w];
    struct chunk *chunk = new_chunk(world, message);

    if (load->open->gone[w]) {
        chunk->units = message->order.units;
        lose(world, chunk);
        return;
    }
    line_join(&load->processors[w], chunk);
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
    reader->closed = true;
    if (reader->stage == READS)
        reader_take_back(world, reader);
    reader_renew(world, reader);
    if (reader->activity != NULL || reader->given < reader->end)
        return; /* noticed later */
    if (reader->started) {
        reader_work(world, reader);
        return;
    }
    /* A command without input is killed. */
    reader->stage = WORKS;
    cv_world_begin(world, reader_activity(world, reader));
}

static void look(struct world *world, const struct reader *reader, uint32_t worker)
{
    const double read =
        reader->chunk != NULL ? reader_position(world, reader) - reader->begin : 0;

    open_report(world, reader->chunk, worker, CLEAVE_PROGRESS, read,
                open_of(world)->command.emits ? read : 0);
}

static void shorten(struct world *world, struct reader *reader)
{
    struct activity *activity = reader->activity;

    if (reader->opened && !reader->started && !(reader->end > reader->begin)) {
        reader_take_back(world, reader);
        reader->activity = NULL; /* freed when it ends */
        reader->stage = WAITS;
        if (reader->closed)
            close_chunk(world, reader);
        return;
    }
    reader_renew(world, reader);
    if (activity == NULL || reader->stage != READS)
        return;
    change_flops(activity, reader_flops(world, reader, reader->read));
}

static void recall(struct world *world, struct reader *reader,
                   const struct cleave_order *order)
{
    struct open_load *open = open_of(world);
    double units = 0, read = 0;

    if (reader->chunk != NULL && reader->twin == NULL && !(reader->given < reader->end)) {
        read = reader_position(world, reader);
        units = fmin(order->units, reader->end - read - open->command.ahead);
        if (units < open->input.free.record)
            units = 0;
        else if (reader->stage == READS)
            reader->read = read;
    }
    /* With answers that take time, the output is the place of the part. */
    open_report(world, reader->chunk, order->worker, CLEAVE_RECALLED, units,
                open->conditions.answers_s > 0 ? reader->end - units : 0);
    if (!(units > 0))
        return;
    reserve_range(world);
    if (!(open->conditions.answers_s > 0))
        cv_simulated_input_return(&open->input, reader->end - units, reader->end);
    reader->end -= units;
    if (reader->end - read <= open->input.free.grain)
        reader->end = read;
    if (reader->end - reader->begin <= open->input.free.grain)
        reader->end = reader->begin;
    reader->given = reader->end;
    shorten(world, reader);
    open_serve(world);
}

/* An open chunk is closed in any case; the command starts when all input has arrived. */
static void copy_chunk(struct world *world, const struct cv_wire_message *message)
{
    struct load *load = world->state;
    const uint32_t w = message->order.worker;
    struct reader *reader = &load->open->readers[w];
    struct reader *original = &load->open->readers[message->order.peer];
    const struct cleave_order all = { .worker = message->order.peer, .units = INFINITY };
    struct chunk *chunk;
    bool may;

    reader_await(original);
    may = original->chunk != NULL && !original->copied &&
          !(original->given < original->end) && !load->open->gone[w] &&
          load->processors[w].first == NULL;
    if (original->chunk != NULL && !original->closed) {
        if (may)
            recall(world, original, &all);
        close_chunk(world, original);
    }
    if (!may || !(original->end > original->begin)) {
        open_report(world, NULL, w, CLEAVE_DROPPED, 0, 0);
        return;
    }
    chunk = cv_world_take(world, 1, sizeof *chunk);
    *chunk = *original->chunk;
    chunk->worker = chunk->owner = w;
    chunk->silent = false;
    if (!load->open->input.items)
        memcpy(chunk->factor, message->cost, sizeof chunk->factor);
    line_join(&load->processors[w], chunk);
    *reader = (struct reader){ .worker = w,
                               .chunk = chunk,
                               .begin = original->begin,
                               .end = original->end,
                               .given = original->begin,
                               .read = original->begin,
                               .spawn_s = cv_world_now(world),
                               .closed = true,
                               .copied = true,
                               .awaited = true,
                               .twin = original };
    original->copied = true;
    original->twin = reader;
    send_piece(world, reader, reader->end - reader->begin, COPY_INPUT);
}

/* An order to open, extend, close, look, recall or copy. */
static void open_obey(struct world *world, const struct cv_wire_message *message)
{
    struct reader *reader = &open_of(world)->readers[message->order.worker];
    const enum cleave_order_kind kind = message->order.kind;

    /* A chunk may be lost in this instant, and CLEAVE_LOST not yet told. */
    if (reader->chunk == NULL && (kind == CLEAVE_EXTEND || kind == CLEAVE_CLOSE))
        return;
    reader_await(reader);
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
    case CLEAVE_COPY:
        copy_chunk(world, message);
        break;
    default:
        recall(world, reader, &message->order);
        break;
    }
}

static void open_begin(struct world *world, const struct cv_wire_message *run)
{
    struct load *load = world->state;
    const uint32_t n = world->told.nodes;
    struct open_load *open;

    if (load->open != NULL) {
        cv_simulated_input_done(&load->open->input);
        free(load->open->readers);
        free(load->open->gone);
        free(load->open);
        load->open = NULL;
    }
    if (!run->opens)
        return;
    open = load->open = cv_world_take(world, 1, sizeof *open);
    open->readers = cv_world_take(world, n, sizeof *open->readers);
    open->command = run->command;
    open->gone = cv_world_take(world, n, sizeof *open->gone);
    open->conditions = run->conditions;
    open->gets_losses = run->gets_losses != 0;
    open->copies = run->copies != 0;
    cv_simulated_input_begin(&open->input, run->units, run->hold, n, run->command.record);
    open->input.items = run->items != 0;
    cv_record_law_begin(&open->law, &run->conditions.costs, run->seed, run->run);
    if (!cv_simulated_input_draw(&open->input, &run->conditions.costs, run->seed,
                                 run->run))
        cv_world_fail(world, CLEAVE_ENOMEM, "out of memory for the costs of records");
    for (uint32_t w = 0; run->conditions.stalls.every_s > 0 && w < n; w++) {
        struct cv_standstill still;

        cv_standstill_begin(&still, &run->conditions.stalls, INFINITY, run->seed,
                            run->run, w);
        cv_standstill_go(world, &still, w);
    }
    open_arrive(world);
}

/* --- answers that take time, workers that hang ---------------------------------------- */

/* Something that was given since has made a report outdated. */
static bool is_outdated(const struct reader *reader, const struct cleave_event *event)
{
    return event->kind == CLEAVE_DRAINED &&
           (reader->chunk == NULL || reader->chunk->number != event->chunk ||
            reader->closed || reader->stage != WAITS ||
            event->units < reader->end - reader->begin);
}

static void answered(struct world *world, struct activity *activity,
                     struct cleave_event *out)
{
    struct open_load *open = open_of(world);
    struct cleave_event *event = activity->about;

    *out = *event;
    activity->start_s = event->start_s;
    open->answered = true;
    free(event);
    if (out->kind == CLEAVE_DONE) {
        open_finished(world, out->units);
    } else if (out->kind == CLEAVE_RECALLED) {
        reserve_range(world);
        cv_simulated_input_return(&open->input, out->output, out->output + out->units);
        out->output = 0;
        open_serve(world);
    } else if (is_outdated(&open->readers[out->worker], out)) {
        out->kind = CLEAVE_START;
    }
}

static bool load_holds(struct world *world, struct cleave_event *event)
{
    struct open_load *open = open_of(world);
    const bool again = open != NULL && open->answered;
    struct cleave_event *answer;
    struct activity *activity;

    if (open == NULL)
        return event->kind == CLEAVE_START;
    open->answered = false;
    if (open->copies || open->conditions.answers_s > 0 || open->conditions.nhangs > 0)
        event->more = false;
    for (uint32_t w = 0; open->ngone > 0 && w < world->told.nodes; w++)
        if (open->gone[w])
            lose_all(world, w);
    if (!(open->conditions.answers_s > 0) || !cv_is_answer(event->kind) || again)
        return event->kind == CLEAVE_START;
    answer = cv_world_take(world, 1, sizeof *answer);
    *answer = *event;
    activity = load_activity(world, answer);
    activity->delay_s = activity->usual_s = open->conditions.answers_s;
    activity->ended = answered;
    cv_world_begin(world, activity);
    return true;
}

static void worker_lost(struct world *world, struct activity *activity,
                        struct cleave_event *out)
{
    struct open_load *open = open_of(world);

    out->kind = CLEAVE_START;
    open->gone[activity->worker] = true;
    open->ngone++;
}

static void load_hang(struct world *world, uint32_t worker, double time_s)
{
    static const struct cleave_stalls none = { 0, 0 };
    const double timeout_s = open_of(world)->conditions.timeout_s;
    struct activity *activity = load_activity(world, NULL);
    struct cv_standstill still;

    cv_standstill_begin(&still, &none, time_s, 0, 0, worker);
    cv_standstill_go(world, &still, worker);
    activity->worker = worker;
    activity->delay_s = activity->usual_s = activity->wanted_s =
        time_s + (timeout_s > 0 ? timeout_s : CV_HOST_TIMEOUT_S);
    activity->ended = worker_lost;
    cv_world_begin(world, activity);
}

/* --- computations, orders and runs -------------------------------------------------- */

static void compute_ended(struct world *world, struct activity *activity,
                          struct cleave_event *out);

static void begin_compute(struct world *world, struct chunk *chunk)
{
    const struct cleave_worker *worker = &world->workers[chunk->worker];
    struct activity *activity = load_activity(world, chunk);

    activity->to = world->hosts[chunk->worker];
    activity->delay_s = chunk->factor[COMPUTE] * worker->compute_latency_s;
    activity->flops = chunk->units * load_unit_flops(world, chunk);
    activity->ended = compute_ended;
    chunk->activity = activity;
    cv_world_begin(world, activity);
}

static void begin_next(struct world *world, uint32_t worker)
{
    struct load *load = world->state;
    struct chunk *chunk = load->processors[worker].first;

    if (chunk != NULL && load->open != NULL)
        open_begin_sent(world, chunk);
    else if (chunk != NULL)
        begin_compute(world, chunk);
}

/* Pieces of a leader are reported in order. */
static void report_piece(struct world *world, struct activity *activity,
                         struct cleave_event *out);

static void report_computed(struct world *world, const struct line *processor)
{
    struct activity *activity;

    if (processor->first == NULL || !processor->first->computed)
        return;
    activity = load_activity(world, processor->first);
    activity->ended = report_piece;
    cv_world_begin(world, activity);
}

static void report_piece(struct world *world, struct activity *activity,
                         struct cleave_event *out)
{
    struct load *load = world->state;
    struct chunk *chunk = activity->about;
    struct line *processor = &load->processors[chunk->worker];

    activity->start_s = chunk->start_s;
    line_leave(processor);
    load_fill(chunk, CLEAVE_DONE, out);
    load_finish(world, chunk);
    if (processor->first != NULL)
        processor->first->start_s = cv_world_now(world);
    report_computed(world, processor);
}

/* All parts of a piece are computed. */
static void piece_computed(struct world *world, void *about, struct cleave_event *out)
{
    struct load *load = world->state;
    struct chunk *chunk = about;
    struct line *processor = &load->processors[chunk->worker];

    (void)out;
    chunk->computed = true;
    if (processor->first == chunk)
        report_computed(world, processor);
}

static void pass_on(struct world *world, struct chunk *chunk)
{
    struct load *load = world->state;
    const struct led_piece piece = { .worker = chunk->worker,
                                     .units = chunk->units,
                                     .factor = chunk->factor[COMPUTE],
                                     .sequence = &load->sequence,
                                     .about = chunk,
                                     .computed = piece_computed };

    chunk->passed_on = true;
    chunk->start_s = cv_world_now(world);
    line_join(&load->processors[chunk->worker], chunk);
    cv_led_share(world, &piece);
}

static void arrived(struct world *world, struct chunk *chunk, struct cleave_event *out)
{
    struct load *load = world->state;

    if (chunk->kind != 0) {
        piece_arrived(world, chunk, out);
        return;
    }
    if (!chunk->silent)
        load_fill(chunk, CLEAVE_SENT, out);
    if (load->open == NULL && cv_led_is_leader(world, chunk->worker))
        pass_on(world, chunk);
    else if (line_join(&load->processors[chunk->worker], chunk))
        begin_next(world, chunk->worker);
}

static void compute_ended(struct world *world, struct activity *activity,
                          struct cleave_event *out)
{
    struct load *load = world->state;
    struct chunk *chunk = activity->about;
    struct line *processor = &load->processors[chunk->worker];

    line_leave(processor);
    load_fill(chunk, CLEAVE_DONE, out);
    chunk->activity = NULL;
    load_finish(world, chunk);
    if (processor->first != NULL)
        begin_compute(world, processor->first);
}

static void send_chunk(struct world *world, const struct cv_wire_message *message)
{
    struct chunk *chunk = new_chunk(world, message);

    chunk->units = message->order.units;
    if (open_of(world) != NULL)
        open_send(world, chunk);
    else
        load_send(world, chunk);
}

static void send_back(struct world *world, const struct cleave_order *order)
{
    struct load *load = world->state;
    struct line *results = &load->results[order->worker], rest = { NULL, NULL };
    struct chunk *wanted = NULL;

    while (results->first != NULL) {
        struct chunk *chunk = line_leave(results);

        if (chunk->number == order->chunk)
            wanted = chunk;
        else
            line_join(&rest, chunk);
    }
    *results = rest;
    if (wanted == NULL)
        cv_world_fail(world, CLEAVE_EENGINE, "there is no result of chunk %llu",
                      (unsigned long long)order->chunk);
    wanted->back = true;
    load_send(world, wanted);
}

/* Take units back that a worker has not computed. */
static void world_recall(struct world *world, const struct cleave_order *order)
{
    struct load *load = world->state;
    struct chunk *chunk = load->processors[order->worker].first;
    struct activity *activity;
    double rest, to_come, units;

    if (chunk == NULL || chunk->passed_on) {
        open_report(world, chunk, order->worker, CLEAVE_RECALLED, 0, 0);
        return;
    }
    activity = chunk->activity;
    /* If the computation begins in this instant, its rest shows when it has begun. */
    if (!(activity->delay_s > 0) && activity->flops > 0)
        cv_world_await(activity);
    rest = rest_flops(activity);
    to_come = rest / load_unit_flops(world, chunk);
    units = order->units < to_come ? order->units : to_come;
    open_report(world, chunk, order->worker, CLEAVE_RECALLED, units, 0);
    if (!(units > 0 && to_come > 0))
        return;
    chunk->units = chunk->units > units ? chunk->units - units : 0;
    activity->key = load->sequence++;
    change_flops(activity, rest * (1 - units / to_come));
}

static void submit(struct world *world, const struct cv_wire_message *message)
{
    struct load *load = world->state;

    switch (message->order.kind) {
    case CLEAVE_SEND:
        send_chunk(world, message);
        break;
    case CLEAVE_RETURN:
        send_back(world, &message->order);
        break;
    case CLEAVE_WAKE_AT:
        cv_world_wake(world, load->sequence++, &message->order);
        break;
    case CLEAVE_COMBINE:
        cv_world_fail(world, CLEAVE_EENGINE, "an order of another task");
    default:
        if (load->open != NULL)
            open_obey(world, message);
        else if (message->order.kind == CLEAVE_RECALL)
            world_recall(world, &message->order);
        else
            cv_world_fail(world, CLEAVE_EENGINE, "chunks cannot be opened");
    }
}

static void begin(struct world *world, const struct cv_wire_message *run)
{
    struct load *load = world->state;

    load->sequence = load->numbered = 0;
    load->result_ratio = run->result_ratio;
    load->stream_rest = run->stream_rest;
    open_begin(world, run);
    if (world->led != NULL)
        cv_led_begin(world);
    if (cv_world_is_star(world)) {
        cv_star_latency(world, run->noisy == 0);
        cv_weather_begin(world);
    }
    if (run->stream_end_s > 0) {
        struct activity *activity = load_activity(world, NULL);

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

const struct world_task cv_load_task = { open,      begin,     submit,
                                         open_left, load_hang, load_holds };
