/* elastic_reading.c -- the part of its work that a command does while it reads.
 * SPDX-License-Identifier: MIT
 *
 * How long it took until it had read its end, of all that it took, is that part, but for what it had in
 * its hands then. Of a chunk of few windows, or few records, that is much of it. */
#include <math.h>

#include "policy/pull/elastic.h"

/* So many windows tell; so many as well as any; of fewer, only a chunk of so many times as many tells
 * more. */
static const double TELLING = 4, FINE = 16, FINER = 4;
/* Less than this is one window, which tells nothing. Who works as it reads has done such a part when it has
 * read the last of two. */
static const double LITTLE = 1.5, LEAST = 0.2;

/* Whether a window is a sip or a record, of which a command that reads in gulps may have two in its hands. */
static bool is_coarse(const struct cv_decision *turn, double windows)
{
    return turn->view->burst_s > 0 && windows >= LITTLE && windows < FINE &&
           (turn->elastic->record > 0 || cv_elastic_writes_small(turn->view));
}

/* The last window may have been read before it was worked on; or the last two. */
static double part_of(const struct cv_decision *turn, double windows, double read_s,
                      double after_s)
{
    const double part = read_s / fmax(read_s + after_s, 1e-12);
    const bool coarse = is_coarse(turn, windows);
    const double window = windows >= TELLING || coarse ? 1 / windows : 0;

    if (coarse)
        return part >= fmax(0.5 - window, LEAST) ? fmax(0.5, fmin(1, part + 2 * window))
                                                 : part;
    return part + window / 2 >= 0.5 ? fmin(1, part + window) : part;
}

bool cv_reading_tells(const struct cv_decision *turn, double units, double read_s,
                      double after_s)
{
    struct cv_elastic *elastic = turn->elastic;
    const double ahead = fmax(turn->view->ahead, elastic->record);
    const double windows = ahead > 0 ? units / ahead : INFINITY;

    if (elastic->told &&
        !(elastic->told_windows < FINE && windows > FINER * elastic->told_windows))
        return false;
    elastic->told = elastic->told || windows >= TELLING;
    elastic->told_windows = is_coarse(turn, windows) ? windows : INFINITY;
    elastic->phi = part_of(turn, windows, read_s, after_s);
    return true;
}
