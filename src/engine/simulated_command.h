/* simulated_command.h -- how a simulated command takes its input.
 * SPDX-License-Identifier: MIT
 *
 * A command that a worker of speed S runs for a chunk of n units: from its start it takes
 * the latency until it reads; reading takes n (1/pipe + phi/S), and after the end of its
 * input it takes n (1 - phi)/S until it ends. One that is late starts up after the end of
 * its input instead. What it was given before it reads it cannot be recalled. */
#ifndef CV_SIMULATED_COMMAND_H
#define CV_SIMULATED_COMMAND_H
#include <cleave/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cv_command_model {
    const char *name; /* static; set by cv_command_find                            */
    double phi;       /* part of the work that is done while it reads, 0 to 1      */
    bool emits;       /* its output comes while it reads, not at its end           */
    bool late;        /* it starts up after it has read the end of its input       */
    double pipe_ups;  /* units that it can be fed in a second; 0: any number       */
    double ahead;     /* units that it is fed before it reads them                 */
    double record;    /* units of a record: no chunk is given less, or leaves less  */
    double
        gulp_s; /* it reads at once what it works on for so long, and nothing meanwhile;
                      0: it reads as it works                                         */
    double start_spread; /* start-ups take e^-x to e^x times as long; 0: as declared  */
};

/* "stream", "count", "slurp", "late" or "mix": see cleave_job.reads. */
enum cleave_status cv_command_find(const char *name, struct cv_command_model *out,
                                   struct cleave_error *err);

/* How much of a latency comes before the first unit is read; the rest comes after the end
 * of the input. */
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
/* Make room for one that is to be added; false when memory is short. */
bool cv_free_ranges_reserve(struct cv_free_ranges *ranges);
/* Nobody has [begin, end) any more. */
void cv_free_ranges_add(struct cv_free_ranges *ranges, double begin, double end);
/* Take up to `units`, or a record, from the lowest range; returns how many, maybe none, and where. */
double cv_free_ranges_take_first(struct cv_free_ranges *ranges, double units,
                                 double *out_begin);
/* The same from `begin` on: none if that is not free. There is room for one more range. */
double cv_free_ranges_take_at(struct cv_free_ranges *ranges, double units, double begin);

struct cv_simulated_input {
    struct cv_free_ranges free; /* owned                                               */
    double units, hold;       /* all there is; of a stream that may wait or be at work */
    double share;             /* of a stream: the largest chunk that is sent          */
    double arrived, finished; /* so much has come, and is done                        */
    double wished;            /* by chunks that wait for their part                   */
    bool ended;               /* that the stream has ended was told                    */
};

/* Nothing has come yet. `hold`: 0 if it is no stream. `record`: the smallest part. */
void cv_simulated_input_begin(struct cv_simulated_input *input, double units, double hold,
                              uint32_t nworkers, double record);
/* What is there by now comes; there is room for a range more. True: a stream has come to its
 * end with it. */
bool cv_simulated_input_arrive(struct cv_simulated_input *input);
/* Take a chunk of up to *units from the lowest range: how many there are, and where. False:
 * a stream has to go on first. */
bool cv_simulated_input_take(struct cv_simulated_input *input, double *units,
                             double *out_begin);
/* Units that nobody was given or promised. */
double cv_simulated_input_left(const struct cv_simulated_input *input);

#endif
