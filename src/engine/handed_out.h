/* handed_out.h -- how much of a load was given to workers. SPDX-License-Identifier: MIT
 *
 * What is ordered is not what is given: records are not divisible, and a stream gives no
 * more than it has. Orders count with what was asked for until it is known what came. */
#ifndef CV_HANDED_OUT_H
#define CV_HANDED_OUT_H
#include <cleave/policy.h>

struct cv_handed_out {
    double units;   /* in all                                                         */
    double *asked;  /* owned: by chunk, from `first` on; NAN: it is known what came   */
    uint64_t first; /* chunk                                                          */
    size_t count, room;
};

/* Begin again. */
void cv_handed_out_clear(struct cv_handed_out *handed);
void cv_handed_out_done(struct cv_handed_out *handed);

/* The next chunk was ordered: chunks are numbered as they come. False: no memory. */
bool cv_handed_out_ask(struct cv_handed_out *handed, double units);
/* A CLEAVE_SENT, CLEAVE_RECALLED or CLEAVE_LOST event. */
void cv_handed_out_note(struct cv_handed_out *handed, const struct cleave_event *event);

#endif
