/* livelock_check.c -- whether a run gets on. SPDX-License-Identifier: MIT */
#include "engine/livelock_check.h"

#include <math.h>

/* No plan that has an end has chunks as small as this part of the load. */
static const double GRAIN = 1e-12;

void cv_livelock_check_begin(struct cv_livelock_check *livelock, double total)
{
    *livelock =
        (struct cv_livelock_check){ .grain = isfinite(total) ? GRAIN * total : 0 };
}

/* All but the two that come most. */
bool cv_livelock_check_is_on(struct cv_livelock_check *livelock,
                             const struct cleave_event *event)
{
    switch (event->kind) {
    case CLEAVE_EXTENDED:
        return cv_livelock_check_gives(livelock, event->units);
    case CLEAVE_RECALLED:
        return cv_livelock_check_gives(livelock, -event->units);
    case CLEAVE_LOST:
        livelock->open -= livelock->open > 0;
        cv_livelock_check_gives(livelock, -event->units);
        return true;
    case CLEAVE_ARRIVED:
    case CLEAVE_COMBINED:
    case CLEAVE_READY:
    case CLEAVE_ENDED:
        return true;
    default:
        return false;
    }
}
