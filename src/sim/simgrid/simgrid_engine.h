/* simgrid_engine.h -- SimGrid as an engine. SPDX-License-Identifier: MIT */
#ifndef CV_SIMGRID_ENGINE_H
#define CV_SIMGRID_ENGINE_H
#include <cleave/simgrid.h>
#include "engine/engine.h"
#include "model/reduce/reduce_costs.h"

/* What the engines below take as their source. */
struct cv_simgrid_source {
    const struct cleave_simgrid *where; /* NULL: a star                                 */
    const struct cv_reduce_costs
        *costs; /* of a reduction                               */
    bool plain; /* of a reduction: a node does one thing at once */
    /* For measuring: at its end each engine repeats its last run so often, within
     * SimGrid's process, and puts the seconds that took here. */
    uint32_t repeats;
    double *out_repeat_s;
};

extern const struct cv_engine cv_engine_simgrid;
/* The same for runs that say how commands read (cv_run.command): it knows what is left. */
extern const struct cv_engine cv_engine_simgrid_open;
extern const struct cv_engine cv_engine_simgrid_reduce;

#endif
