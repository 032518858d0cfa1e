/* star_link.c -- a link of a star: units into bytes that suit SimGrid.
 * SPDX-License-Identifier: MIT */
#include <stddef.h>

#include <simgrid/link.h>

#include "simgrid/world.h"

/* A message has so many bytes. */
static const double LEAST_BYTES = 1e13, USUAL_BYTES = 1e15, MOST_BYTES = 1e18;

double cv_star_factor(double factor)
{
    return factor > 1e-14 ? factor : 1e-14;
}

void cv_star_bandwidth(const struct link *link)
{
    if (link->unit_bytes > 0)
        sg_link_set_bandwidth(link->link, link->rate_ups * link->unit_bytes *
                                              cv_star_factor(link->factor));
}

void cv_star_fit(struct activity *activity)
{
    struct link *link = activity->link;
    const double bytes = activity->bytes * link->unit_bytes;

    if (activity->bytes > 0 && (bytes < LEAST_BYTES || bytes > MOST_BYTES)) {
        link->unit_bytes = USUAL_BYTES / activity->bytes;
        cv_star_bandwidth(link);
    }
    activity->bytes *= link->unit_bytes;
}
