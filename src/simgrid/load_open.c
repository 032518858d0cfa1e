/* load_open.c -- commands that are fed as they read. SPDX-License-Identifier: MIT
 *
 * The model is that of engine/command_model.h and the rules are those of the native engine:
 * a chunk is one range of the load, decided with its first unit. To read and to work is a
 * computation of SimGrid, whose length changes as units come and go. */
#include "simgrid/load_open.h"

#include <math.h>
#include <stdlib.h>

#include <simgrid/exec.h>

#include "engine/free_ranges.h"

/* Less of a load than this part of it is nothing. */
static const double GRAIN = 1e-12;

/* What a command does: it waits, starts up, reads, or works after that. */
enum stage { WAITS, STARTS, READS, WORKS };

struct reader {
    uint32_t worker;
    struct chunk *chunk;      /* NULL: none                                           */
    double begin, end, given; /* its range, and how far that has come                 */
    double read;              /* when the stage began                                 */
    double spawn_s, ready_s, end_read_s;
    enum stage stage;
    struct activity *activity; /* of the stage; NULL: none                             */
    bool opened, closed, started;
};

struct open_load {
    struct cv_command_model command;
    struct reader *readers; /* owned: by worker */
    struct cv_free_ranges free;
    double units, hold, share, arrived, finished, wished;
    bool ended;
    struct line wishes;
    void (*next)(struct world *world, uint32_t worker);
};

static struct open_load *open_of(const struct world *world)
{
    return ((const struct load *)world->state)->open;
}

static void must(struct world *world, bool good)
{
    if (!good)
        cv_world_fail(world, CLEAVE_ENOMEM, "out of memory for the parts of a load");
}

/* --- to report at once ------------------------------------------------------------------ */

static void reported(struct world *world, struct activity *activity,
                     struct cleave_event *out)
{
    struct chunk *note = activity->about;

    (void)world;
    activity->start_s = activity->end_s;
    cv_load_fill(note, note->kind, out);
    out->output = note->report;
    free(note);
}

static void report(struct world *world, const struct chunk *about, uint32_t worker,
                   enum cleave_event_kind kind, double units, double output)
{
    struct chunk *note = cv_world_take(world, 1, sizeof *note);
    struct activity *activity = cv_load_activity(world, note);

    note->worker = worker;
    note->number = about != NULL ? about->number : 0;
    note->units = units;
    note->kind = kind;
    note->report = output;
    activity->at_once = true;
    activity->ended = reported;
    cv_world_begin(world, activity);
}

/* --- the input -------------------------------------------------------------------------- */

static bool has_all_come(const struct open_load *open)
{
    return !(open->arrived < open->units);
}

static bool take_range(struct open_load *open, struct chunk *chunk)
{
    if (open->hold > 0 && !has_all_come(open)) {
        const double units = fmin(chunk->units, open->share);

        if (open->free.count == 0 ||
            open->free.items[0].end - open->free.items[0].begin < units)
            return false;
        chunk->units = units;
    }
    chunk->units = cv_free_ranges_take_first(&open->free, chunk->units, &chunk->begin);
    return true;
}

static void serve(struct world *world)
{
    struct open_load *open = open_of(world);

    while (open->wishes.first != NULL) {
        struct chunk *chunk = open->wishes.first;
        const double asked = chunk->units;

        if (!take_range(open, chunk))
            return;
        cv_line_leave(&open->wishes);
        open->wished -= asked;
        if (asked > 0 && !(chunk->units > 0)) { /* nothing was left for it */
            report(world, chunk, chunk->worker, CLEAVE_SENT, 0, 0);
            report(world, chunk, chunk->worker, CLEAVE_DONE, 0, 0);
            cv_load_finish(world, chunk);
        } else {
            cv_load_send(world, chunk);
        }
    }
    open->wished = 0;
}

static void input_ended(struct world *world, struct activity *activity,
                        struct cleave_event *out)
{
    activity->start_s = activity->end_s;
    open_of(world)->ended = true;
    out->kind = CLEAVE_ENDED;
    out->units = cv_open_left(world);
}

static void arrive(struct world *world)
{
    struct open_load *open = open_of(world);
    const double upto =
        open->hold > 0 ? fmin(open->units, open->finished + open->hold) : open->units;
    struct activity *activity;

    if (!(upto > open->arrived))
        return;
    must(world, cv_free_ranges_reserve(&open->free));
    cv_free_ranges_add(&open->free, open->arrived, upto);
    open->arrived = upto;
    if (!(open->hold > 0) || !has_all_come(open))
        return;
    activity = cv_load_activity(world, NULL);
    activity->at_once = true;
    activity->ended = input_ended;
    cv_world_begin(world, activity);
}

double cv_open_left(const struct world *world)
{
    const struct open_load *open = open_of(world);

    if (open == NULL || (open->hold > 0 && !open->ended))
        return INFINITY;
    return fmax(0, cv_free_ranges_sum(&open->free) - open->wished);
}

/* --- commands --------------------------------------------------------------------------- */

/* Flops to read so many units, and to work after that. */
static double reading(const struct world *world, const struct reader *reader,
                      double units)
{
    return units * open_of(world)->command.phi * cv_load_unit_flops(world, reader->chunk);
}

static double read_so_far(const struct world *world, const struct reader *reader)
{
    const struct activity *activity = reader->activity;
    const double all = reader->chunk != NULL ? reading(world, reader, 1) : 0;
    double rest;

    if (reader->stage == WORKS)
        return reader->end;
    if (activity == NULL || reader->stage == WAITS)
        return reader->read;
    if (activity->over && (reader->stage == READS || !(all > 0)))
        return reader->given;
    if (reader->stage != READS)
        return reader->read;
    if (!(all > 0)) /* it has not started up */
        return reader->read;
    rest =
        activity->exec != NULL ? sg_exec_get_remaining(activity->exec) : activity->flops;
    return fmax(reader->begin, reader->given - rest / all); /* but for rounding */
}

/* What was to read from this instant on does: then it is known how far it is. */
static void await_reading(const struct reader *reader)
{
    if (reader->activity != NULL && reader->stage == READS &&
        !(reader->activity->delay_s > 0))
        cv_world_await(reader->activity);
}

static void told(struct world *world, struct activity *activity,
                 struct cleave_event *out);

/* What is left to do when the end of the input was read. */
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
    activity->flops = (reader->end - reader->begin) * (1 - command->phi) *
                      cv_load_unit_flops(world, reader->chunk);
}

/* Its course has changed: among simultaneous ends it counts from now on. */
static void renew(struct world *world, const struct reader *reader)
{
    struct load *load = world->state;

    if (reader->activity != NULL && !reader->activity->over && reader->stage != STARTS)
        reader->activity->key = load->sequence++;
}

static struct activity *new_activity(struct world *world, struct reader *reader)
{
    struct activity *activity = cv_load_activity(world, reader);

    reader->activity = activity;
    activity->to = world->hosts[reader->worker];
    activity->ended = told;
    return activity;
}

static void begin_work(struct world *world, struct reader *reader)
{
    struct activity *activity = new_activity(world, reader);

    set_work(world, reader, activity);
    activity->at_once = !(activity->delay_s > 0) && !(activity->flops > 0);
    cv_world_begin(world, activity);
}

/* All that has come was read. */
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

static void begin_reading(struct world *world, struct reader *reader, double delay_s)
{
    const double flops = reading(world, reader, reader->given - reader->read);
    struct activity *activity;

    if (!(delay_s > 0) && !(flops > 0)) {
        reader->read = reader->given;
        reader->stage = WAITS;
        if (reader->given < reader->end)
            return;
        if (reader->closed) {
            begin_work(world, reader);
            return;
        }
    }
    activity = new_activity(world, reader);
    reader->stage = READS;
    activity->delay_s = delay_s;
    activity->flops = flops;
    activity->then = after_reading;
    activity->at_once = !(delay_s > 0) && !(flops > 0);
    cv_world_begin(world, activity);
}

static enum activity_turn after_start(struct world *world, struct activity *activity)
{
    const struct reader *reader = activity->about;

    (void)world;
    return reader->activity == activity ? CV_TURN_END : CV_TURN_GONE;
}

/* Units are there for one that has not told yet that it reads. */
static void begin_start(struct world *world, struct reader *reader)
{
    struct activity *activity = new_activity(world, reader);

    reader->stage = STARTS;
    activity->delay_s = fmax(0, reader->ready_s - cv_world_now(world));
    activity->usual_s = activity->delay_s;
    activity->at_once = !(activity->delay_s > 0);
    activity->then = after_start;
    cv_world_begin(world, activity);
}

static void done(struct world *world, struct reader *reader, struct cleave_event *out)
{
    struct load *load = world->state;
    struct chunk *chunk = reader->chunk;

    chunk->units = out->units;
    if (reader->opened && out->units > 0)
        out->read_s = reader->end_read_s;
    reader->chunk = NULL;
    cv_line_leave(&load->processors[reader->worker]);
    cv_load_finish(world, chunk);
    load->open->next(world, reader->worker);
    load->open->finished += out->units;
    arrive(world);
    serve(world);
}

static void told(struct world *world, struct activity *activity, struct cleave_event *out)
{
    struct reader *reader = activity->about;
    const enum stage stage = reader->stage;

    activity->start_s = reader->spawn_s;
    reader->activity = NULL;
    cv_load_fill(reader->chunk,
                 stage == STARTS  ? CLEAVE_STARTED
                 : stage == READS ? CLEAVE_DRAINED
                                  : CLEAVE_DONE,
                 out);
    out->units = reader->end - reader->begin;
    if (stage == STARTS) {
        reader->started = true;
        begin_reading(world, reader, 0);
    } else if (stage == READS) {
        reader->stage = WAITS;
        reader->read = reader->given;
        if (reader->closed) /* in this very instant */
            begin_work(world, reader);
    } else {
        done(world, reader, out);
    }
}

/* It was about to tell that it has read all, or that it starts, but that is not so any
 * more, or is not all. */
static void take_back(struct world *world, struct reader *reader)
{
    if (reader->activity == NULL || !reader->activity->over)
        return;
    cv_world_drop(world, reader->activity);
    reader->activity = NULL;
    if (reader->stage == READS)
        reader->read = reader->given;
    reader->stage = WAITS;
}

/* --- orders ----------------------------------------------------------------------------- */

void cv_open_send(struct world *world, struct chunk *chunk)
{
    struct open_load *open = open_of(world);

    cv_line_join(&open->wishes, chunk);
    open->wished += chunk->units;
    serve(world);
}

void cv_open_begin_sent(struct world *world, struct chunk *chunk)
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
    begin_reading(world, reader, chunk->factor[COMPUTE] * latency_s);
}

static void piece_arrived(struct world *world, struct chunk *piece,
                          struct cleave_event *out)
{
    struct open_load *open = open_of(world);
    struct reader *reader = &open->readers[piece->worker];
    struct activity *activity;

    cv_load_fill(piece, piece->kind, out);
    await_reading(reader);
    activity = reader->activity;
    reader->read = read_so_far(world, reader);
    reader->given += piece->units;
    if (reader->end - reader->given <= open->free.grain)
        reader->given = reader->end;
    renew(world, reader);
    if (!reader->started) {
        if (activity == NULL)
            begin_start(world, reader);
    } else if (activity == NULL) {
        begin_reading(world, reader, 0);
    } else if (activity->exec != NULL) {
        activity->flops = reading(world, reader, reader->given - reader->read);
        cv_world_change(activity);
    } else {
        activity->flops = reading(world, reader, reader->given - reader->read);
    }
    free(piece);
}

static void send_piece(struct world *world, struct reader *reader, double units,
                       enum cleave_event_kind kind)
{
    struct chunk *piece;

    if (!(units > 0)) {
        report(world, reader->chunk, reader->worker, kind, 0, 0);
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
    struct open_load *open = open_of(world);
    double begin = 0, taken;

    must(world, cv_free_ranges_reserve(&open->free));
    if (!reader->started && !(reader->end > reader->begin)) {
        taken = cv_free_ranges_take_first(&open->free, units, &begin);
        reader->begin = reader->end = reader->given = reader->read = begin;
    } else {
        taken = cv_free_ranges_take_at(&open->free, units, reader->end);
    }
    reader->end += taken;
    if (taken > 0 && reader->stage == READS)
        take_back(world, reader);
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
        take_back(world, reader);
    renew(world, reader);
    if (reader->activity != NULL || reader->given < reader->end)
        return; /* it will be noticed */
    if (reader->started) {
        begin_work(world, reader);
        return;
    }
    /* It was given nothing: it is killed. */
    activity = new_activity(world, reader);
    reader->stage = WORKS;
    activity->at_once = true;
    cv_world_begin(world, activity);
}

static void look(struct world *world, const struct reader *reader, uint32_t worker)
{
    const double read =
        reader->chunk != NULL ? read_so_far(world, reader) - reader->begin : 0;

    report(world, reader->chunk, worker, CLEAVE_SEEN, read,
           open_of(world)->command.emits ? read : 0);
}

/* The reading, or what is to be read, is shorter now. */
static void shorten(struct world *world, struct reader *reader)
{
    struct activity *activity = reader->activity;

    if (reader->opened && !reader->started && !(reader->end > reader->begin)) {
        take_back(world, reader);
        reader->activity = NULL; /* it is forgotten when its time comes */
        reader->stage = WAITS;
        if (reader->closed)
            close_chunk(world, reader);
        return;
    }
    renew(world, reader);
    if (activity == NULL || reader->stage != READS)
        return;
    activity->flops = reading(world, reader, reader->given - reader->read);
    if (activity->exec != NULL)
        cv_world_change(activity);
}

static void recall(struct world *world, struct reader *reader,
                   const struct cleave_order *order)
{
    struct open_load *open = open_of(world);
    double units = 0;

    if (reader->chunk != NULL && !(reader->given < reader->end)) {
        const double read = read_so_far(world, reader);

        units = fmin(order->units, reader->end - read - open->command.ahead);
        if (units < open->free.record)
            units = 0;
        else if (reader->stage == READS)
            reader->read = read;
    }
    report(world, reader->chunk, order->worker, CLEAVE_RECALLED, units, 0);
    if (!(units > 0))
        return;
    must(world, cv_free_ranges_reserve(&open->free));
    cv_free_ranges_add(&open->free, reader->end - units, reader->end);
    reader->end -= units;
    if (reader->end - reader->begin <= open->free.grain)
        reader->end = reader->begin;
    reader->given = reader->end;
    shorten(world, reader);
    serve(world);
}

void cv_open_obey(struct world *world, const struct cv_wire_message *message)
{
    struct reader *reader = &open_of(world)->readers[message->order.worker];

    await_reading(reader);
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
    case CLEAVE_LOOK:
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
    const uint32_t n = world->told.nodes, parts = n + 1 + n / 4; /* as in a real run */
    struct open_load *open;

    if (load->open != NULL) {
        cv_free_ranges_done(&load->open->free);
        free(load->open->readers);
        free(load->open);
        load->open = NULL;
    }
    if (!run->opens)
        return;
    open = load->open = cv_world_take(world, 1, sizeof *open);
    open->readers = cv_world_take(world, n, sizeof *open->readers);
    open->command = run->command;
    open->units = run->units;
    open->hold = run->hold;
    open->share = run->hold / parts;
    open->next = next;
    cv_free_ranges_clear(&open->free, GRAIN * run->units, run->command.record);
    arrive(world);
}
