/* assigned_units.c -- how much of a load was given to workers. SPDX-License-Identifier: MIT */
#include "engine/assigned_units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

void cv_assigned_units_clear(struct cv_assigned_units *handed)
{
    handed->units = 0;
    handed->first = 0;
    handed->count = 0;
}

void cv_assigned_units_done(struct cv_assigned_units *handed)
{
    free(handed->request);
    *handed = (struct cv_assigned_units){ .units = 0 };
}

/* Forget the oldest chunks as far as it is known what came of them. */
static void forget(struct cv_assigned_units *handed)
{
    size_t known = 0;

    while (known < handed->count && isnan(handed->request[known]))
        known++;
    if (known == 0) /* perhaps because there is no list yet */
        return;
    memmove(handed->request, handed->request + known,
            (handed->count - known) * sizeof *handed->request);
    handed->count -= known;
    handed->first += known;
}

/* At least half of it is free then, so that it is not looked through for every order. */
static bool grow_array(struct cv_assigned_units *handed)
{
    forget(handed);
    if (handed->count < handed->room / 2)
        return true;
    return CV_ROOM(handed->request, &handed->room, 2 * handed->count + 8);
}

bool cv_assigned_units_ask(struct cv_assigned_units *handed, double units)
{
    if (handed->count == handed->room && !grow_array(handed))
        return false;
    handed->request[handed->count++] = units;
    handed->units += units;
    return true;
}

void cv_assigned_units_note(struct cv_assigned_units *handed,
                            const struct cleave_event *event)
{
    const bool there =
        event->chunk >= handed->first && event->chunk - handed->first < handed->count;
    double *request = there ? &handed->request[event->chunk - handed->first] : NULL;
    const bool open = there && !isnan(*request);

    if (event->kind == CLEAVE_SENT && open) {
        handed->units += event->units - *request;
        *request = NAN;
    } else if (event->kind == CLEAVE_RECALLED) {
        handed->units -= event->units;
        if (open)
            *request -= event->units;
    } else if (event->kind == CLEAVE_LOST) {
        handed->units -= open ? *request : event->units;
        if (open)
            *request = NAN;
    }
}
