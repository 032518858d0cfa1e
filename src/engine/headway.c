/* headway.c -- whether a run gets on. SPDX-License-Identifier: MIT */
#include "engine/headway.h"

#include <math.h>

/* No plan that has an end has chunks as small as this part of the load. */
static const double GRAIN = 1e-12;

/* More than ever, and not by next to nothing. */
static bool is_more(const struct cv_headway *headway, double units, double *most)
{
    if (!(units > *most + headway->grain))
        return false;
    *most = units;
    return true;
}

static bool gives_more(struct cv_headway *headway, const struct cleave_event *event)
{
    const bool taken = event->kind == CLEAVE_RECALLED || event->kind == CLEAVE_LOST;

    headway->given += taken ? -event->units : event->units;
    return is_more(headway, headway->given, &headway->most_given);
}

static bool does_more(struct cv_headway *headway, const struct cleave_event *event)
{
    headway->done += event->units;
    return is_more(headway, headway->done, &headway->most_done);
}

static bool gets_on(struct cv_headway *headway, const struct cleave_event *event)
{
    switch (event->kind) {
    case CLEAVE_SENT:
    case CLEAVE_EXTENDED:
    case CLEAVE_RECALLED:
        return gives_more(headway, event);
    case CLEAVE_LOST:
        headway->open -= headway->open > 0;
        gives_more(headway, event);
        return true;
    case CLEAVE_DONE:
        headway->open -= headway->open > 0;
        return does_more(headway, event) || headway->items;
    case CLEAVE_ARRIVED:
    case CLEAVE_COMBINED:
    case CLEAVE_READY:
    case CLEAVE_ENDED:
        return true;
    default:
        return false;
    }
}

void cv_headway_begin(struct cv_headway *headway, double total)
{
    *headway = (struct cv_headway){ .grain = isfinite(total) ? GRAIN * total : 0 };
}

bool cv_headway_note(struct cv_headway *headway, const struct cleave_event *event)
{
    if (gets_on(headway, event)) {
        headway->idle = 0;
        headway->since_s = event->time_s;
        return true;
    }
    return ++headway->idle <= CV_HEADWAY_PATIENCE + 4 * headway->open;
}
