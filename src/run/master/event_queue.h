/* event_queue.h -- what the driver is to be told. SPDX-License-Identifier: MIT
 *
 * Whoever notices something adds it here, and the driver asks for it one by one: nobody
 * calls up. */
#ifndef CV_EVENT_QUEUE_H
#define CV_EVENT_QUEUE_H
#include <stdbool.h>
#include <stddef.h>
#include <cleave/policy.h>

struct cv_event_queue {
    struct cleave_event *events; /* owned: those from `first` on are to be told        */
    size_t first, count, room;
    double began_s; /* of the clock of the poller: time 0 of events                    */
    bool broken;
    struct cleave_error err; /* when broken                                            */
};

void cv_event_queue_done(struct cv_event_queue *events);

/* The time is set here, and so is the start where there is none. */
void cv_event_queue_push(struct cv_event_queue *events, struct cleave_event event);
/* What was told last is not so, and the driver has not heard it yet. */
void cv_event_queue_remove(struct cv_event_queue *events);
/* Something that makes it impossible to go on; the first one counts. */
void cv_event_queue_fail(struct cv_event_queue *events, const struct cleave_error *err);
/* The next one; false: there is none. */
bool cv_event_queue_pop(struct cv_event_queue *events, struct cleave_event *out);
/* Fails once something broke. */
enum cleave_status cv_event_queue_status(const struct cv_event_queue *events,
                                         struct cleave_error *err);

#endif
