/* headway.h -- whether a run gets on. SPDX-License-Identifier: MIT
 *
 * A policy may order for ever without anything being done: chunks that are recalled as soon
 * as they are sent, chunks so small that sums do not change, or to be woken again and
 * again. A run gets on when a chunk with units is done, when more units have been given
 * than ever before, and when partials are combined. What an engine loses is not the
 * policy's fault. */
#ifndef CV_HEADWAY_H
#define CV_HEADWAY_H
#include <cleave/policy.h>

/* Events after which it is hopeless, chunks under way aside. */
enum { CV_HEADWAY_PATIENCE = 100000 };
/* Chunks of a simulated run: millions of commands are no use to anybody, and what is kept
 * of them would take gigabytes. */
enum { CV_CHUNKS_MOST = 10000000 };

struct cv_headway {
    double grain;             /* units that do not count                               */
    bool items;               /* whatever is done is headway: an item may have no units */
    double given, most_given; /* units that arrived, less those taken back; the most   */
    double done, most_done;   /* units; as many as when it last got on                 */
    uint64_t idle;            /* events since it got on                                */
    uint64_t open;            /* chunks under way                                      */
    double since_s;           /* when it last got on                                   */
};

/* `total`: units of the load; INFINITY for a stream. */
void cv_headway_begin(struct cv_headway *headway, double total);
/* A chunk was ordered. */
static inline void cv_headway_order(struct cv_headway *headway)
{
    headway->open++;
}

/* False if the run does not get on. */
bool cv_headway_note(struct cv_headway *headway, const struct cleave_event *event);

#endif
