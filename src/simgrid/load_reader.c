/* load_reader.c -- a command that starts up, reads and works. SPDX-License-Identifier: MIT
 *
 * The model is that of engine/command_model.h. To read and to work is a computation of
 * SimGrid, whose length changes as units come and go. */
#include "simgrid/load_reader.h"

#include <math.h>

#include <simgrid/exec.h>

/* Flops to read so many units, and to work after that. */
double cv_reader_flops(const struct world *world, const struct reader *reader,
                       double units)
{
    return units * cv_open_of(world)->command.phi *
           cv_load_unit_flops(world, reader->chunk);
}

double cv_reader_position(const struct world *world, const struct reader *reader)
{
    const struct activity *activity = reader->activity;
    const double all = reader->chunk != NULL ? cv_reader_flops(world, reader, 1) : 0;
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
void cv_reader_await(const struct reader *reader)
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
                      cv_load_unit_flops(world, reader->chunk);
}

/* Its course has changed: among simultaneous ends it counts from now on. */
void cv_reader_renew(struct world *world, const struct reader *reader)
{
    struct load *load = world->state;

    if (reader->activity != NULL && !reader->activity->over && reader->stage != STARTS)
        reader->activity->key = load->sequence++;
}

struct activity *cv_reader_activity(struct world *world, struct reader *reader)
{
    struct activity *activity = cv_load_activity(world, reader);

    reader->activity = activity;
    activity->to = world->hosts[reader->worker];
    activity->ended = told;
    return activity;
}

void cv_reader_work(struct world *world, struct reader *reader)
{
    struct activity *activity = cv_reader_activity(world, reader);

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

void cv_reader_read(struct world *world, struct reader *reader, double delay_s)
{
    const double flops = cv_reader_flops(world, reader, reader->given - reader->read);
    struct activity *activity;

    if (!(delay_s > 0) && !(flops > 0)) {
        reader->read = reader->given;
        reader->stage = WAITS;
        if (reader->given < reader->end)
            return;
        if (reader->closed) {
            cv_reader_work(world, reader);
            return;
        }
    }
    activity = cv_reader_activity(world, reader);
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
void cv_reader_start(struct world *world, struct reader *reader)
{
    struct activity *activity = cv_reader_activity(world, reader);

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
    load->open->input.finished += out->units;
    cv_open_arrive(world);
    cv_open_serve(world);
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
        cv_reader_read(world, reader, 0);
    } else if (stage == READS) {
        reader->stage = WAITS;
        reader->read = reader->given;
        if (reader->closed) /* in this very instant */
            cv_reader_work(world, reader);
    } else {
        done(world, reader, out);
    }
}

/* It was about to tell that it has read all, or that it starts, but that is not so any
 * more, or is not all. */
void cv_reader_take_back(struct world *world, struct reader *reader)
{
    if (reader->activity == NULL || !reader->activity->over)
        return;
    cv_world_drop(world, reader->activity);
    reader->activity = NULL;
    if (reader->stage == READS)
        reader->read = reader->given;
    reader->stage = WAITS;
}
