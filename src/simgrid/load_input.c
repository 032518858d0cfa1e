/* load_input.c -- the input of commands: who has what of it, and what waits for more.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>

#include "simgrid/load_reader.h"

void cv_open_must(struct world *world, bool good)
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

void cv_open_report(struct world *world, const struct chunk *about, uint32_t worker,
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

void cv_open_serve(struct world *world)
{
    struct open_load *open = cv_open_of(world);

    while (open->wishes.first != NULL) {
        struct chunk *chunk = open->wishes.first;
        const double request = chunk->units;

        if (!cv_simulated_input_take(&open->input, &chunk->units, &chunk->begin))
            return;
        cv_line_leave(&open->wishes);
        open->input.wished -= request;
        if (request > 0 && !(chunk->units > 0)) { /* nothing was left for it */
            cv_open_report(world, chunk, chunk->worker, CLEAVE_SENT, 0, 0);
            cv_open_report(world, chunk, chunk->worker, CLEAVE_DONE, 0, 0);
            cv_load_finish(world, chunk);
        } else {
            cv_load_send(world, chunk);
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
    out->units = cv_open_left(world);
}

void cv_open_arrive(struct world *world)
{
    struct cv_simulated_input *input = &cv_open_of(world)->input;
    struct activity *activity;

    cv_open_must(world, cv_free_ranges_reserve(&input->free));
    if (!cv_simulated_input_arrive(input))
        return;
    activity = cv_load_activity(world, NULL);
    activity->at_once = true;
    activity->ended = input_ended;
    cv_world_begin(world, activity);
}

double cv_open_left(const struct world *world)
{
    const struct open_load *open = cv_open_of(world);

    return open != NULL ? cv_simulated_input_left(&open->input) : INFINITY;
}
