/* simulated_command.h -- simulated commands: how they read, and the load they are given.
 * SPDX-License-Identifier: MIT
 *
 * A command that a worker of speed S runs for a chunk of n units: after its start the
 * latency passes until it reads; reading takes n (1/pipe + phi/S), and after the end of
 * its input it takes n (1 - phi)/S until it ends. A late command starts up after the end
 * of its input instead. Units that were fed and not read cannot be recalled. */
#ifndef CV_SIMULATED_COMMAND_H
#define CV_SIMULATED_COMMAND_H
#include <cleave/policy.h>
#include <cleave/run.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cv_command_model {
    const char *name; /* static; set by cv_command_find                            */
    double phi;       /* part of the work that is done while reading, 0 to 1 */
    bool emits;       /* output comes while the command reads, not at its end */
    bool late;        /* the latency comes after the end of the input */
    double pipe_ups;  /* units per second that it can be fed; 0: any number */
    double ahead;     /* units that are fed before they are read */
    double record;    /* units of a record: the smallest chunk, and the smallest rest */
    double gulp_s;    /* work of this time is read at once; 0: it reads as it works */
    double start_spread; /* start-ups take e^-x to e^x times as long; 0: as declared */
};

/* "stream", "count", "slurp", "late" or "mix": see cleave_job.reads. */
enum cleave_status cv_command_find(const char *name, struct cv_command_model *out,
                                   struct cleave_error *err);

/* The reports of a worker, which may therefore arrive late. */
static inline bool cv_is_answer(enum cleave_event_kind kind)
{
    return kind == CLEAVE_PROGRESS || kind == CLEAVE_RECALLED || kind == CLEAVE_DRAINED ||
           kind == CLEAVE_STARTED || kind == CLEAVE_DONE || kind == CLEAVE_DROPPED;
}

/* A worker that hangs is lost after this time unless the conditions have another. */
static const double CV_HOST_TIMEOUT_S = 10;

/* The part of a latency before the first unit is read; the rest follows the end of the
 * input. */
double cv_command_before_s(const struct cv_command_model *command, double latency_s);

struct cv_free_range {
    double begin, end;
};

struct cv_free_ranges {
    struct cv_free_range *items; /* owned */
    size_t count, room;
    double grain, record;
};

void cv_free_ranges_done(struct cv_free_ranges *ranges);
/* For one more range; false: no memory. */
bool cv_free_ranges_reserve(struct cv_free_ranges *ranges);
void cv_free_ranges_add(struct cv_free_ranges *ranges, double begin, double end);
/* Where the largest range begins; INFINITY: there is none. */
double cv_free_ranges_largest(const struct cv_free_ranges *ranges);
/* Take from `begin`; 0 if it is not free. One more range must be reserved. */
double cv_free_ranges_take_at(struct cv_free_ranges *ranges, double units, double begin);

struct cv_simulated_input {
    struct cv_free_ranges free; /* owned                                               */
    double units, hold; /* the load; units of a stream that may wait or be computed */
    double share;       /* largest chunk of a stream */
    double equal_share; /* of all units */
    bool begun;         /* a command has read something */
    double arrived, finished; /* units so far */
    double wished;            /* units of chunks that wait for a stream */
    bool ended;               /* CLEAVE_ENDED was reported */
    bool items;               /* chunks are items, which have no place */
    double given;             /* units of items that chunks have or had */
    /* If records differ: the cost of all before each; else NULL */
    double *costs; /* owned */
    size_t nrecords, cost_room;
    double record;
};

/* Most records whose costs are drawn. */
#define CV_RECORDS_MOST 1e7

/* `hold`: 0 if it is not a stream. `record`: the smallest part. */
void cv_simulated_input_begin(struct cv_simulated_input *input, double units, double hold,
                              uint32_t nworkers, double record);
/* Let input arrive; one more range must be reserved. True: this was the end of a stream. */
bool cv_simulated_input_arrive(struct cv_simulated_input *input);
/* Take a chunk of up to *units from the lowest range: how many, and where. False: the
 * stream must continue first. */
bool cv_simulated_input_take(struct cv_simulated_input *input, double *units,
                             double *out_begin);
/* Take up to `units`, or a record, for a new open chunk; returns how many, and where: in the largest
 * range, or the first one of a stream. If that range could extend another open chunk (`extends`), it
 * is used from its end. Until a command has read something, an equal share stays free for each chunk
 * if possible, so that tests can grow. One more range must be reserved. */
double cv_simulated_input_place(struct cv_simulated_input *input, double units,
                                bool extends, double *out_begin);
/* Units of a chunk are free again; one more range must be reserved. */
void cv_simulated_input_return(struct cv_simulated_input *input, double begin,
                               double end);
/* Units that no chunk has or waits for. */
double cv_simulated_input_left(const struct cv_simulated_input *input);

/* Draw what records cost, which is even before; false: no memory. */
bool cv_simulated_input_draw(struct cv_simulated_input *input,
                             const struct cleave_cost_law *law, uint64_t seed,
                             uint32_t run);
/* The cost of a range, in units of mean cost, and the range for a cost. */
double cv_simulated_input_cost(const struct cv_simulated_input *input, double begin,
                               double end);
double cv_simulated_input_reach(const struct cv_simulated_input *input, double begin,
                                double cost);
void cv_simulated_input_done(struct cv_simulated_input *input);

#endif
