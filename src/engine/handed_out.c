/* handed_out.c -- how much of a load was given to workers. SPDX-License-Identifier: MIT */
#include "engine/handed_out.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

void cv_handed_out_clear(struct cv_handed_out *handed)
{
    handed->units = 0;
    handed->first = 0;
    handed->count = 0;
}

void cv_handed_out_done(struct cv_handed_out *handed)
{
    free(handed->asked);
    *handed = (struct cv_handed_out){ .units = 0 };
}

/* Forget the oldest chunks as far as it is known what came of them. */
static void forget(struct cv_handed_out *handed)
{
    size_t known = 0;

    while (known < handed->count && isnan(handed->asked[known]))
        known++;
    if (known == 0) /* perhaps because there is no list yet */
        return;
    memmove(handed->asked, handed->asked + known,
            (handed->count - known) * sizeof *handed->asked);
    handed->count -= known;
    handed->first += known;
}

/* At least half of it is free then, so that it is not looked through for every order. */
static bool make_room(struct cv_handed_out *handed)
{
    forget(handed);
    if (handed->count < handed->room / 2)
        return true;
    return CV_ROOM(handed->asked, &handed->room, 2 * handed->count + 8);
}

bool cv_handed_out_ask(struct cv_handed_out *handed, double units)
{
    if (handed->count == handed->room && !make_room(handed))
        return false;
    handed->asked[handed->count++] = units;
    handed->units += units;
    return true;
}

void cv_handed_out_note(struct cv_handed_out *handed, const struct cleave_event *event)
{
    const bool there =
        event->chunk >= handed->first && event->chunk - handed->first < handed->count;
    double *asked = there ? &handed->asked[event->chunk - handed->first] : NULL;
    const bool open = there && !isnan(*asked);

    if (event->kind == CLEAVE_SENT && open) {
        handed->units += event->units - *asked;
        *asked = NAN;
    } else if (event->kind == CLEAVE_RECALLED) {
        handed->units -= event->units;
        if (open)
            *asked -= event->units;
    } else if (event->kind == CLEAVE_LOST) {
        handed->units -= open ? *asked : event->units;
        if (open)
            *asked = NAN;
    }
}
