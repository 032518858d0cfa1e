/* supply.h -- the load of a simulated run, as commands get it. SPDX-License-Identifier: MIT
 *
 * What of it nobody has, and how much of a stream has come: that goes on as chunks are done,
 * since only so much may wait or be at work. Both simulators have one. */
#ifndef CV_SUPPLY_H
#define CV_SUPPLY_H
#include <stdint.h>
#include "engine/free_ranges.h"

struct cv_supply {
    struct cv_free_ranges free; /* owned                                               */
    double units, hold;       /* all there is; of a stream that may wait or be at work */
    double share;             /* of a stream: the largest chunk that is sent          */
    double arrived, finished; /* so much has come, and is done                        */
    double wished;            /* by chunks that wait for their part                   */
    bool ended;               /* that the stream has ended was told                    */
};

/* Nothing has come yet. `hold`: 0 if it is no stream. `record`: the smallest part. */
void cv_supply_begin(struct cv_supply *supply, double units, double hold,
                     uint32_t nworkers, double record);
/* What is there by now comes; there is room for a range more. True: a stream has come to its
 * end with it. */
bool cv_supply_arrive(struct cv_supply *supply);
/* Take a chunk of up to *units from the lowest range: how many there are, and where. False:
 * a stream has to go on first. */
bool cv_supply_take(struct cv_supply *supply, double *units, double *out_begin);
/* Units that nobody was given or promised. */
double cv_supply_left(const struct cv_supply *supply);

#endif
