/* livelock_check.h -- whether a run gets on. SPDX-License-Identifier: MIT
 *
 * A policy may order for ever without anything being done: chunks that are recalled as soon
 * as they are sent, chunks so small that sums do not change, or to be woken again and
 * again. A run gets on when a chunk with units is done, when more units have been given
 * than ever before, and when partials are combined. What an engine loses is not the
 * policy's fault. */
#ifndef CV_LIVELOCK_CHECK_H
#define CV_LIVELOCK_CHECK_H
#include <cleave/policy.h>

/* Events after which it is hopeless, chunks under way aside. */
enum { CV_HEADWAY_PATIENCE = 100000 };
/* Chunks of a simulated run: millions of commands are no use to anybody, and what is kept
 * of them would take gigabytes. */
enum { CV_CHUNKS_MOST = 10000000 };

struct cv_livelock_check {
    double grain;             /* units that do not count                               */
    bool items;               /* whatever is done is headway: an item may have no units */
    double given, most_given; /* units that arrived, less those taken back; the most   */
    double done, most_done;   /* units; as many as when it last got on                 */
    uint64_t idle;            /* events since it got on                                */
    uint64_t open;            /* chunks under way                                      */
    double since_s;           /* when it last got on                                   */
};

/* `total`: units of the load; INFINITY for a stream. */
void cv_livelock_check_begin(struct cv_livelock_check *livelock, double total);
/* A chunk was ordered. */
static inline void cv_livelock_check_order(struct cv_livelock_check *livelock)
{
    livelock->open++;
}

/* More than ever, and not by next to nothing. */
static inline bool cv_livelock_check_is_more(const struct cv_livelock_check *livelock,
                                             double units, double *max)
{
    if (!(units > *max + livelock->grain))
        return false;
    *max = units;
    return true;
}

static inline bool cv_livelock_check_gives(struct cv_livelock_check *livelock,
                                           double units)
{
    livelock->given += units;
    return cv_livelock_check_is_more(livelock, livelock->given, &livelock->most_given);
}

static inline bool cv_livelock_check_does(struct cv_livelock_check *livelock,
                                          double units)
{
    livelock->open -= livelock->open > 0;
    livelock->done += units;
    return cv_livelock_check_is_more(livelock, livelock->done, &livelock->most_done) ||
           livelock->items;
}

/* Whether it gets on by an event that is neither of those below. */
bool cv_livelock_check_is_on(struct cv_livelock_check *livelock,
                             const struct cleave_event *event);

/* False if the run does not get on. Inline: it is asked at every event. */
static inline bool cv_livelock_check_note(struct cv_livelock_check *livelock,
                                          const struct cleave_event *event)
{
    const bool on =
        event->kind == CLEAVE_SENT   ? cv_livelock_check_gives(livelock, event->units)
        : event->kind == CLEAVE_DONE ? cv_livelock_check_does(livelock, event->units)
                                     : cv_livelock_check_is_on(livelock, event);

    if (on) {
        livelock->idle = 0;
        livelock->since_s = event->time_s;
        return true;
    }
    return ++livelock->idle <= CV_HEADWAY_PATIENCE + 4 * livelock->open;
}

#endif
