/* simgrid_engine.h -- SimGrid as an engine. SPDX-License-Identifier: MIT */
#ifndef CV_SIMGRID_ENGINE_H
#define CV_SIMGRID_ENGINE_H
#include <cleave/simgrid.h>
#include "engine/engine.h"
#include "engine/simgrid_wire.h"
#include "model/reduce/reduce_costs.h"

/* The source of the engines below. */
struct cv_simgrid_source {
    const struct cleave_simgrid *where; /* NULL: a star                                 */
    const struct cv_reduce_costs *costs; /* costs of a reduction */
    bool plain;                          /* reduction: a node does one thing at a time */
    /* For benchmarks: at its end each engine repeats its last run within SimGrid's process
     * and stores the seconds. */
    uint32_t repeats;
    double *out_repeat_s;
};

/* For loads and reductions. */
extern const struct cv_engine cv_engine_simgrid;
/* For runs with cv_run.command: it knows the units left. */
extern const struct cv_engine cv_engine_simgrid_open;

/* The process cleave-simgrid; the functions below are for tests. */
struct cv_simgrid_child;

/* A process at the other end of a socket, which the child owns. */
enum cleave_status cv_simgrid_adopt(int socket, struct cv_simgrid_child **out,
                                    struct cleave_error *err);
/* `child` may be NULL. */
void cv_simgrid_stop(struct cv_simgrid_child *child);

/* Limits of a possible event. */
struct cv_simgrid_bounds {
    uint32_t nodes;  /* workers, or nodes of a reduction */
    uint64_t chunks; /* ordered so far */
    double now_s;    /* time of the previous event */
};

/* The next event; *out_any is false if nothing is running. */
enum cleave_status cv_simgrid_hear_event(struct cv_simgrid_child *child,
                                         const struct cv_simgrid_bounds *bounds,
                                         struct cleave_event *out, bool *out_any,
                                         struct cleave_error *err);
/* Measured costs. */
enum cleave_status cv_simgrid_hear_star(struct cv_simgrid_child *child,
                                        const struct cleave_simgrid *where,
                                        enum cleave_port port,
                                        struct cleave_platform **out,
                                        struct cleave_error *err);
enum cleave_status cv_simgrid_hear_pairs(struct cv_simgrid_child *child,
                                         struct cleave_pair_costs *out,
                                         struct cleave_error *err);

#endif
