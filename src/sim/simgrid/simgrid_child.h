/* simgrid_child.h -- the program cleave-simgrid, started and talked to.
 * SPDX-License-Identifier: MIT */
#ifndef CV_SIMGRID_CHILD_H
#define CV_SIMGRID_CHILD_H
#include <cleave/simgrid.h>
#include "engine/simgrid_wire.h"

struct cv_simgrid_child;

/* What a world is opened with: counts and sizes in `told` that follow from the rest are
 * filled in. */
struct cv_simgrid_opening {
    struct cv_wire_open told;
    const struct cleave_simgrid *where;     /* NULL: a star                             */
    const struct cleave_platform *platform; /* of a load; NULL else                     */
};

/* Start the program and open a world in it. */
enum cleave_status cv_simgrid_start(const struct cv_simgrid_opening *opening,
                                    struct cv_simgrid_child **out,
                                    struct cleave_error *err);
/* Messages are kept until something is to be heard. */
enum cleave_status cv_simgrid_say(struct cv_simgrid_child *child,
                                  const struct cv_wire_message *message,
                                  struct cleave_error *err);
/* The same of a world that is there already, at the other end of a socket, which is the
 * child's from now on. */
enum cleave_status cv_simgrid_adopt(int socket, struct cv_simgrid_child **out,
                                    struct cleave_error *err);
/* An answer, which has to be one of `replies`: bits 1u << CV_WIRE_... When the program has
 * died, the error is what SimGrid said last. */
enum cleave_status cv_simgrid_hear(struct cv_simgrid_child *child, unsigned replies,
                                   struct cv_wire_answer *out, struct cleave_error *err);
/* NULL is fine. */
void cv_simgrid_stop(struct cv_simgrid_child *child);

/* --- answers, checked (simgrid_child.c) ----------------------------------------------------- */

/* What an event may be about. */
struct cv_simgrid_bounds {
    uint32_t nodes;  /* workers, or nodes of a reduction */
    uint64_t chunks; /* ordered so far                   */
    double now_s;    /* of the event before              */
};

/* What happened next; *out_any: false if nothing is under way. */
enum cleave_status cv_simgrid_hear_event(struct cv_simgrid_child *child,
                                         const struct cv_simgrid_bounds *bounds,
                                         struct cleave_event *out, bool *out_any,
                                         struct cleave_error *err);
/* What was measured. */
enum cleave_status cv_simgrid_hear_star(struct cv_simgrid_child *child,
                                        const struct cleave_simgrid *where,
                                        enum cleave_port port,
                                        struct cleave_platform **out,
                                        struct cleave_error *err);
enum cleave_status cv_simgrid_hear_pairs(struct cv_simgrid_child *child,
                                         struct cleave_pair_costs *out,
                                         struct cleave_error *err);

#endif
