/* assigned_units.h -- how much of a load was given to workers. SPDX-License-Identifier: MIT
 *
 * What is ordered is not what is given: records are not divisible, and a stream gives no
 * more than it has. Orders count with what was asked for until it is known what came. */
#ifndef CV_ASSIGNED_UNITS_H
#define CV_ASSIGNED_UNITS_H
#include <cleave/policy.h>

struct cv_assigned_units {
    double units;    /* in all                                                         */
    double *request; /* owned: by chunk, from `first` on; NAN: it is known what came   */
    uint64_t first;  /* chunk                                                          */
    size_t count, room;
};

/* Begin again. */
void cv_assigned_units_clear(struct cv_assigned_units *handed);
void cv_assigned_units_done(struct cv_assigned_units *handed);

/* The next chunk was ordered: chunks are numbered as they come. False: no memory. */
bool cv_assigned_units_ask(struct cv_assigned_units *handed, double units);
/* A CLEAVE_SENT, CLEAVE_RECALLED or CLEAVE_LOST event. */
void cv_assigned_units_note(struct cv_assigned_units *handed,
                            const struct cleave_event *event);

#endif
