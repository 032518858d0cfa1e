/* simulated_input.h -- the load of a simulated run, as commands get it. SPDX-License-Identifier: MIT
 *
 * What of it nobody has, and how much of a stream has come: that goes on as chunks are done,
 * since only so much may wait or be at work. Both simulators have one. */
#ifndef CV_SIMULATED_INPUT_H
#define CV_SIMULATED_INPUT_H
#include <stdint.h>
#include "engine/free_ranges.h"

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
