/* tailor.h -- the command of one piece, where not all have the same.
 * SPDX-License-Identifier: MIT */
#ifndef CV_TAILOR_H
#define CV_TAILOR_H
#include "run/kit/process.h"

/* What it adds to the command that it is made from, of which the rest is borrowed. Nothing
 * of it changes while a process of it runs. */
struct cv_tailored {
    struct cv_command command;
    char **words; /* owned: one block */
    size_t argv_room, script_room;
};

void cv_tailored_done(struct cv_tailored *tailored);
/* A descriptor from which nothing can be read. */
enum cleave_status cv_null_open(int *out, struct cleave_error *err);

#endif
