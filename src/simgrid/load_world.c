/* load_world.c -- a master, its port, and workers that compute chunks.
 * SPDX-License-Identifier: MIT
 *
 * Whoever wants to send stands in a line of the master's port: one line in all (port one),
 * one for each way (duplex), or one per worker and way (multi). Chunks stand in a line at
 * their worker as they arrive. How long anything takes is SimGrid's answer.
 *
 * Simultaneous events come in the order in which their activities began. */
#include <math.h>
#include <simgrid/exec.h>
#include <stdlib.h>
#include "engine/simulated_command.h"
#include "simgrid/world.h"

enum { TRANSFER, COMPUTE, RETURN };

struct chunk {
    double units, factor[3];
    uint64_t number;
    uint32_t worker;
    bool back;                   /* it is a result by now       */
    struct activity *activity;   /* while it is computed        */
    double report;               /* of a recall: units          */
    struct chunk *next;          /* in a line                   */
    double begin;                /* where in the load it begins, if that is known   */
    enum cleave_event_kind kind; /* what is to be reported when it has arrived    */
    /* It has arrived: begin what follows, and fill the event. */
    void (*arrived)(struct world *world, struct chunk *chunk, struct cleave_event *out);
};

struct line {
    struct chunk *first, *last;
};

struct open_load; /* load_world.c */

struct load {
    struct line *ports; /* owned */
    uint32_t way_back;  /* the first line of results */
    bool line_each;
    struct line *processors, *results; /* owned: per worker */
    uint64_t sequence, numbered;
    double result_ratio, stream_rest;
    struct open_load *open; /* owned: where chunks may be opened, or NULL */
};

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
    struct cv_simulated_input input;
    struct line wishes; /* chunks that wait for their part of a stream */
    void (*next)(struct world *world, uint32_t worker);
};

static void begin(struct world *world, const struct cv_wire_message *run);
static void open(struct world *world);
static void transfer_ended(struct world *world, struct activity *activity,
                           struct cleave_event *out);
static void told(struct world *world, struct activity *activity,
                 struct cleave_event *out);
static void load_fill(const struct chunk *chunk, enum cleave_event_kind kind,
                      struct cleave_event *out);
static double open_left(const struct world *world);
static void compute_ended(struct world *world, struct activity *activity,
                          struct cleave_event *out);

static inline struct open_load *cv_open_of(const struct world *world)
{
    return ((const struct load *)world->state)->open;
}

/* --- load_world.c ----------------------------------------------------------------------- */

/* --- load_world.c ---------------------------------------------------------------------- */

/* --- chunks of a load, and the lines that they stand in ---------------------------- */

/* Stand in a line; true for the first. */
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

    line_leave(port);
    if (chunk->back) {
        load_fill(chunk, CLEAVE_RETURNED, out);
        free(chunk);
    } else {
        chunk->arrived(world, chunk, out);
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

/* What a unit of the chunk is in flops. */
static double load_unit_flops(const struct world *world, const struct chunk *chunk)
{
    return chunk->factor[COMPUTE] *
           (cv_world_is_star(world) ? CV_STAR_UNIT : world->told.unit_flops);
}

static void load_fill(const struct chunk *chunk, enum cleave_event_kind kind,
                      struct cleave_event *out)
{
    out->kind = kind;
    out->worker = chunk->worker;
    out->chunk = chunk->number;
    out->units = chunk->units;
}

/* Its result may be asked for, or it is forgotten. */
static void load_finish(struct world *world, struct chunk *chunk)
{
    struct load *load = world->state;

    if (load->result_ratio > 0)
        line_join(&load->results[chunk->worker], chunk);
    else
        free(chunk);
}

/* --- the input of commands: who has what of it, and what waits for more ------------ */

/* Memory, or the end. */
static void open_must(struct world *world, bool good)
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
    load_fill(note, note->kind, out);
    out->output = note->report;
    free(note);
}

/* Tell something at once, of a chunk or of a worker that has none. */
static void open_report(struct world *world, const struct chunk *about, uint32_t worker,
                        enum cleave_event_kind kind, double units, double output)
{
    struct chunk *note = cv_world_take(world, 1, sizeof *note);
    struct activity *activity = load_activity(world, note);

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

static void open_serve(struct world *world)
{
    struct open_load *open = cv_open_of(world);

    while (open->wishes.first != NULL) {
        struct chunk *chunk = open->wishes.first;
        const double request = chunk->units;

        if (!cv_simulated_input_take(&open->input, &chunk->units, &chunk->begin))
            return;
        line_leave(&open->wishes);
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

static void input_ended(struct world *world, struct activity *activity,
                        struct cleave_event *out)
{
    activity->start_s = activity->end_s;
    cv_open_of(world)->input.ended = true;
    out->kind = CLEAVE_ENDED;
    out->units = open_left(world);
}

/* More of a stream comes; chunks that wait for it get their part. */
static void open_arrive(struct world *world)
{
    struct cv_simulated_input *input = &cv_open_of(world)->input;
    struct activity *activity;

    open_must(world, cv_free_ranges_reserve(&input->free));
    if (!cv_simulated_input_arrive(input))
        return;
    activity = load_activity(world, NULL);
    activity->at_once = true;
    activity->ended = input_ended;
    cv_world_begin(world, activity);
}

/* Units that nobody was given or promised. */
static double open_left(const struct world *world)
{
    const struct open_load *open = cv_open_of(world);

    return open != NULL ? cv_simulated_input_left(&open->input) : INFINITY;
}

/* --- a command that starts up, reads and works ------------------------------------- */

/* The model is that of engine/command_model.h. To read and to work is a computation of
 * SimGrid, whose length changes as units come and go. */

/* Flops to read so many units, and to work after that. */
static double reader_flops(const struct world *world, const struct reader *reader,
                           double units)
{
    return units * cv_open_of(world)->command.phi * load_unit_flops(world, reader->chunk);
}

/* How far it has read. */
static double reader_position(const struct world *world, const struct reader *reader)
{
    const struct activity *activity = reader->activity;
    const double all = reader->chunk != NULL ? reader_flops(world, reader, 1) : 0;
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
static void reader_await(const struct reader *reader)
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
    const struct cv_command_model *command = &cv_open_of(world)->command;
    const double latency_s = world->workers[reader->worker].compute_latency_s;

    reader->end_read_s = cv_world_now(world);
    reader->stage = WORKS;
    activity->then = NULL;
    activity->delay_s = reader->chunk->factor[COMPUTE] *
                        (latency_s - cv_command_before_s(command, latency_s));
    activity->flops = (reader->end - reader->begin) * (1 - command->phi) *
                      load_unit_flops(world, reader->chunk);
}

/* Its course has changed: among simultaneous ends it counts from now on. */
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

static void reader_read(struct world *world, struct reader *reader, double delay_s)
{
    const double flops = reader_flops(world, reader, reader->given - reader->read);
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
static void reader_start(struct world *world, struct reader *reader)
{
    struct activity *activity = reader_activity(world, reader);

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
    line_leave(&load->processors[reader->worker]);
    load_finish(world, chunk);
    load->open->next(world, reader->worker);
    load->open->input.finished += out->units;
    open_arrive(world);
    open_serve(world);
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
        reader->started = true;
        reader_read(world, reader, 0);
    } else if (stage == READS) {
        reader->stage = WAITS;
        reader->read = reader->given;
        if (reader->closed) /* in this very instant */
            reader_work(world, reader);
    } else {
        done(world, reader, out);
    }
}

/* It was about to tell that it has read all, or that it starts, but that is not so any
 * more, or is not all. */
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

/* --- orders about commands that are fed as they read ------------------------------- */

/* The rules are those of the native engine: a chunk is one range of the load, decided with
 * its first unit, and what is on its way or was fed stays. */

/* A chunk is to be sent as a whole, and its turn at its worker has come. */
static void open_send(struct world *world, struct chunk *chunk)
{
    struct open_load *open = cv_open_of(world);

    line_join(&open->wishes, chunk);
    open->input.wished += chunk->units;
    open_serve(world);
}

static void open_begin_sent(struct world *world, struct chunk *chunk)
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
    reader_read(world, reader, chunk->factor[COMPUTE] * latency_s);
}

static void piece_arrived(struct world *world, struct chunk *piece,
                          struct cleave_event *out)
{
    struct open_load *open = cv_open_of(world);
    struct reader *reader = &open->readers[piece->worker];
    struct activity *activity;

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
    } else if (activity->exec != NULL) {
        activity->flops = reader_flops(world, reader, reader->given - reader->read);
        cv_world_change(activity);
    } else {
        activity->flops = reader_flops(world, reader, reader->given - reader->read);
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
    piece->arrived = piece_arrived;
    load_send(world, piece);
}

static double lengthen(struct world *world, struct reader *reader, double units)
{
    struct open_load *open = cv_open_of(world);
    double begin = 0, taken;

    open_must(world, cv_free_ranges_reserve(&open->input.free));
    if (!reader->started && !(reader->end > reader->begin)) {
        taken = cv_free_ranges_take_first(&open->input.free, units, &begin);
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
    struct chunk *chunk = cv_world_take(world, 1, sizeof *chunk);

    chunk->worker = w;
    chunk->number = load->numbered++;
    for (int i = 0; i < 3; i++)
        chunk->factor[i] = message->cost[i];
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
    struct activity *activity;

    reader->closed = true;
    if (reader->stage == READS)
        reader_take_back(world, reader);
    reader_renew(world, reader);
    if (reader->activity != NULL || reader->given < reader->end)
        return; /* it will be noticed */
    if (reader->started) {
        reader_work(world, reader);
        return;
    }
    /* It was given nothing: it is killed. */
    activity = reader_activity(world, reader);
    reader->stage = WORKS;
    activity->at_once = true;
    cv_world_begin(world, activity);
}

static void look(struct world *world, const struct reader *reader, uint32_t worker)
{
    const double read =
        reader->chunk != NULL ? reader_position(world, reader) - reader->begin : 0;

    open_report(world, reader->chunk, worker, CLEAVE_PROGRESS, read,
                cv_open_of(world)->command.emits ? read : 0);
}

/* The reading, or what is to be read, is shorter now. */
static void shorten(struct world *world, struct reader *reader)
{
    struct activity *activity = reader->activity;

    if (reader->opened && !reader->started && !(reader->end > reader->begin)) {
        reader_take_back(world, reader);
        reader->activity = NULL; /* it is forgotten when its time comes */
        reader->stage = WAITS;
        if (reader->closed)
            close_chunk(world, reader);
        return;
    }
    reader_renew(world, reader);
    if (activity == NULL || reader->stage != READS)
        return;
    activity->flops = reader_flops(world, reader, reader->given - reader->read);
    if (activity->exec != NULL)
        cv_world_change(activity);
}

static void recall(struct world *world, struct reader *reader,
                   const struct cleave_order *order)
{
    struct open_load *open = cv_open_of(world);
    double units = 0;

    if (reader->chunk != NULL && !(reader->given < reader->end)) {
        const double read = reader_position(world, reader);

        units = fmin(order->units, reader->end - read - open->command.ahead);
        if (units < open->input.free.record)
            units = 0;
        else if (reader->stage == READS)
            reader->read = read;
    }
    open_report(world, reader->chunk, order->worker, CLEAVE_RECALLED, units, 0);
    if (!(units > 0))
        return;
    open_must(world, cv_free_ranges_reserve(&open->input.free));
    cv_free_ranges_add(&open->input.free, reader->end - units, reader->end);
    reader->end -= units;
    if (reader->end - reader->begin <= open->input.free.grain)
        reader->end = reader->begin;
    reader->given = reader->end;
    shorten(world, reader);
    open_serve(world);
}

/* An order to open, extend, close, look or recall. */
static void open_obey(struct world *world, const struct cv_wire_message *message)
{
    struct reader *reader = &cv_open_of(world)->readers[message->order.worker];

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
    default:
        recall(world, reader, &message->order);
        break;
    }
}

/* --- a run ------------------------------------------------------------------------------ */

/* A run begins; `next` begins what is first in a worker's line. */
static void open_begin(struct world *world, const struct cv_wire_message *run,
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
    open_arrive(world);
}

/* --- a master, its port, and workers that compute chunks --------------------------- */

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
        open_begin_sent(world, chunk);
    else if (chunk != NULL)
        begin_compute(world, chunk);
}

static void chunk_arrived(struct world *world, struct chunk *chunk,
                          struct cleave_event *out)
{
    struct load *load = world->state;

    load_fill(chunk, CLEAVE_SENT, out);
    if (line_join(&load->processors[chunk->worker], chunk))
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
    struct activity *activity = load_activity(world, note);

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
    load_fill(note, CLEAVE_RECALLED, out);
    out->units = note->report;
    free(note);
}

/* Take units back from what a worker computes, as far as it has not come to them. */
static void world_recall(struct world *world, const struct cleave_order *order)
{
    struct load *load = world->state;
    struct chunk *chunk = load->processors[order->worker].first;
    struct chunk *note = cv_world_take(world, 1, sizeof *note);
    struct activity *report = load_activity(world, note);

    note->worker = order->worker;
    if (chunk != NULL) {
        struct activity *activity = chunk->activity;
        double rest, to_come;

        /* One that has come just now may be about to start: then its rest is fixed, but not to be seen. */
        if (!(activity->delay_s > 0) && activity->flops > 0)
            cv_world_await(activity);
        rest = activity->exec != NULL ? sg_exec_get_remaining(activity->exec)
                                      : activity->flops;
        to_come = rest / load_unit_flops(world, chunk);

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
            world_recall(world, &message->order);
            break;
        }
        open_obey(world, message);
        break;
    case CLEAVE_OPEN:
    case CLEAVE_EXTEND:
    case CLEAVE_CLOSE:
    case CLEAVE_QUERY:
        if (load->open != NULL) {
            open_obey(world, message);
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
    open_begin(world, run, begin_next);
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

const struct world_task cv_load_task = { open, begin, submit, open_left };
