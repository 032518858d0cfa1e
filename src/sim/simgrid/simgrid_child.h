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
/* An answer. When the program has died, the error is what SimGrid said last. */
enum cleave_status cv_simgrid_hear(struct cv_simgrid_child *child,
                                   struct cv_wire_answer *out, struct cleave_error *err);
/* What follows an answer. */
enum cleave_status cv_simgrid_hear_more(struct cv_simgrid_child *child, void *to,
                                        size_t bytes, struct cleave_error *err);
/* NULL is fine. */
void cv_simgrid_stop(struct cv_simgrid_child *child);

#endif
