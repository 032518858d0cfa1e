/* command_model.h -- how a simulated command takes its input.
 * SPDX-License-Identifier: MIT
 *
 * A command that a worker of speed S runs for a chunk of n units: from its start it takes
 * the latency until it reads; reading takes n (1/pipe + phi/S), and after the end of its
 * input it takes n (1 - phi)/S until it ends. One that is late starts up after the end of
 * its input instead. What it was given before it reads it cannot be recalled. */
#ifndef CV_COMMAND_MODEL_H
#define CV_COMMAND_MODEL_H
#include <stdbool.h>
#include <cleave/error.h>

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

#endif
