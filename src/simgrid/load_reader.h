/* load_reader.h -- commands that are fed as they read: what they have and do.
 * SPDX-License-Identifier: MIT
 *
 * load_input.c knows what of the load nobody has, load_reader.c what commands do, and
 * load_open.c what orders do to them. */
#ifndef CV_LOAD_READER_H
#define CV_LOAD_READER_H
#include "engine/simulated_input.h"
#include "simgrid/load_lines.h"

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

static inline struct open_load *cv_open_of(const struct world *world)
{
    return ((const struct load *)world->state)->open;
}

/* --- load_input.c ----------------------------------------------------------------------- */

/* Memory, or the end. */
void cv_open_must(struct world *world, bool good);
/* Tell something at once, of a chunk or of a worker that has none. */
void cv_open_report(struct world *world, const struct chunk *about, uint32_t worker,
                    enum cleave_event_kind kind, double units, double output);
/* More of a stream comes; chunks that wait for it get their part. */
void cv_open_arrive(struct world *world);
void cv_open_serve(struct world *world);

/* --- load_reader.c ---------------------------------------------------------------------- */

/* Flops to read so many units. */
double cv_reader_flops(const struct world *world, const struct reader *reader,
                       double units);
/* How far it has read. */
double cv_reader_position(const struct world *world, const struct reader *reader);
/* What was to read from this instant on does: then it is known how far it is. */
void cv_reader_await(const struct reader *reader);
/* Its course has changed: among simultaneous ends it counts from now on. */
void cv_reader_renew(struct world *world, const struct reader *reader);
struct activity *cv_reader_activity(struct world *world, struct reader *reader);
/* It starts up, reads what has come, or works after the end of its input. */
void cv_reader_start(struct world *world, struct reader *reader);
void cv_reader_read(struct world *world, struct reader *reader, double delay_s);
void cv_reader_work(struct world *world, struct reader *reader);
/* It was about to tell that it has read all, or that it starts, but that is not so any
 * more, or is not all. */
void cv_reader_take_back(struct world *world, struct reader *reader);
/* Units that nobody was given or promised. */
double cv_open_left(const struct world *world);

#endif
