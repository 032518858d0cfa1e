/* order_checks.h -- which items were given to whom. SPDX-License-Identifier: MIT
 *
 * The driver's book about a load of items. Each is given once, and again only after it was
 * lost; a chunk is an item, and events are told which. */
#ifndef CV_ORDER_CHECKS_H
#define CV_ORDER_CHECKS_H
#include <cleave/policy.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/arena.h"
#include "engine/driver.h"
#include "policy/common/orders.h"

struct cv_item_check {
    uint64_t nitems; /* 0: not a load of items                                     */
    uint64_t given;  /* items that somebody has                                    */
    bool *has;       /* owned, by item: somebody has it                            */
    uint64_t *of;    /* owned, by chunk: its item                                  */
    size_t has_room, of_room;
    uint64_t nchunks;
};

/* Begin again with so many items, none of which was given. False: no memory. */
bool cv_item_check_begin(struct cv_item_check *check, uint64_t nitems);
void cv_item_check_done(struct cv_item_check *check);

/* The item of a chunk; 0 for one that was not ordered. */
uint64_t cv_item_check_of(const struct cv_item_check *check, uint64_t chunk);

struct cv_open_chunk {
    bool there; /* the worker has a chunk that was opened and has not ended          */
    bool open;  /* ... and not been closed                                           */
    double due; /* units that it was to be extended by, and nobody has said if it was */
    uint64_t sent; /* other chunks that it was sent and that have not ended           */
};

struct cv_open_check {
    struct cv_open_chunk *workers; /* in an arena                                     */
    uint32_t nworkers;
};

/* False when memory is short. */
bool cv_open_check_init(struct cv_open_check *check, struct cv_arena *arena,
                        uint32_t nworkers);
/* A worker whose chunk was never closed, or nworkers. */
uint32_t cv_open_check_left(const struct cv_open_check *check);

struct cv_return_chunk {
    uint32_t worker;
    uint32_t stage;
};

struct cv_return_check {
    struct cv_return_chunk *chunks; /* owned: by number        */
    size_t count, room;
    uint64_t returned;
};

void cv_return_check_clear(struct cv_return_check *check);
void cv_return_check_done(struct cv_return_check *check);

/* The state of a reduction as the driver sees it. */
struct cv_reduce_check {
    uint32_t nodes, sent;   /* sent: partials ordered to be sent so far             */
    uint32_t *due;          /* per node: partials on their way to it or uncombined  */
    bool *gone;             /* per node: has been ordered to send                   */
    bool *there;            /* per node: has its own partial                        */
    uint32_t *first, *last; /* inputs a node stands for; NULL: order is not kept  */
};

bool cv_reduce_check_init(struct cv_reduce_check *check, struct cv_arena *arena,
                          uint32_t nodes, bool keeps_order, bool all_there);
/* NULL if the order may be carried out, and then it is taken note of; else what is wrong
 * with it (static). */
static inline const char *cv_reduce_check_order(struct cv_reduce_check *check,
                                                const struct cleave_order *order)
{
    uint32_t to = order->worker, from = order->peer;

    if (to >= check->nodes || from >= check->nodes)
        return "there is no such node";
    if (to == from)
        return "a node cannot send to itself";
    if (check->gone[from])
        return "the sender has sent its partial before";
    if (check->gone[to])
        return "the receiver has sent its partial away";
    if (!check->there[from])
        return "the sender has no partial yet";
    if (check->due[from] > 0)
        return "the sender has combinations to do";
    if (check->first != NULL) {
        if (check->last[from] + 1 == check->first[to])
            check->first[to] = check->first[from];
        else if (check->last[to] + 1 == check->first[from])
            check->last[to] = check->last[from];
        else
            return "their inputs are no neighbours";
    }
    check->gone[from] = true;
    check->due[to]++;
    check->sent++;
    return NULL;
}

static inline void cv_reduce_check_ready(struct cv_reduce_check *check, uint32_t node)
{
    check->there[node] = true;
}

static inline void cv_reduce_check_combined(struct cv_reduce_check *check,
                                            uint32_t receiver)
{
    check->due[receiver]--;
}

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

struct cv_assigned_units {
    double units;    /* in all                                                         */
    double *request; /* owned: by chunk, from `first` on; NAN: it is known what came   */
    uint64_t first;  /* chunk                                                          */
    size_t count, room;
};

/* Begin again. */
void cv_assigned_units_clear(struct cv_assigned_units *handed);
void cv_assigned_units_done(struct cv_assigned_units *handed);

/* The next chunk was ordered: chunks are numbered as they come. False: no memory. */
bool cv_assigned_units_ask(struct cv_assigned_units *handed, double units);
/* A CLEAVE_SENT, CLEAVE_RECALLED or CLEAVE_LOST event. */
void cv_assigned_units_note(struct cv_assigned_units *handed,
                            const struct cleave_event *event);

struct cv_queued_returns {
    bool on;                    /* results are held in this run                  */
    bool before;                /* they go right before the next chunk; until all are
                                   sent, only then                               */
    bool under_way;             /* a return is                                   */
    uint64_t sends;             /* ordered and not there yet                     */
    struct cleave_order *items; /* owned: from `first` on, in the order asked for */
    size_t first, count, room;
};

/* A run begins. */
void cv_queued_returns_clear(struct cv_queued_returns *held, bool on, bool before);
void cv_queued_returns_done(struct cv_queued_returns *held);
/* A return was asked for; false when memory is short. */
bool cv_queued_returns_add(struct cv_queued_returns *held,
                           const struct cleave_order *order);
/* Something happened. */
void cv_queued_returns_note(struct cv_queued_returns *held,
                            const struct cleave_event *event);
/* The return whose turn has come; false: none. `all_sent`: no chunk will be sent any more. */
bool cv_queued_returns_next(struct cv_queued_returns *held, bool all_sent,
                            struct cleave_order *out);
/* The first return of a worker, which is about to be sent a chunk; false: none. */
bool cv_queued_returns_take(struct cv_queued_returns *held, uint32_t worker,
                            struct cleave_order *out);

/* Sums of chunk sizes may miss the load by rounding: this much of it is forgiven. */
static const double CV_DRIVER_SLACK = 1e-9;

struct cv_driver {
    const struct cv_planned *planned; /* borrowed */
    const struct cv_engine *engine;
    void *instance;        /* owned, of engine                     */
    struct cv_arena arena; /* policy state of the current run      */
    void *state;           /* in arena                             */
    double *done_s;        /* in arena: per worker, the end of its last chunk  */
    struct cleave_view view;
    struct cleave_orders orders;
    struct cv_run run; /* the current one                      */
    uint64_t chunks;
    struct cv_livelock_check livelock;
    struct cv_assigned_units handed; /* units sent                           */
    struct cv_item_check items;      /* of a load that is made of items      */
    struct cv_open_check open;       /* chunks that may be extended          */
    struct cv_reduce_check reduce;   /* of a reduction                       */
    struct cv_return_check returns;  /* when results come back               */
    struct cv_queued_returns held;   /* those that sends overtake            */
};

static inline bool cv_driver_has_results(const struct cv_driver *driver)
{
    return driver->view.result_ratio > 0;
}

/* The order is sane: order_checks.c. The sum over chunks is judged when units run out or the
 * run ends. */
enum cleave_status cv_driver_check_order(struct cv_driver *driver,
                                         const struct cleave_order *order, double now_s,
                                         struct cleave_error *err);
/* What an event means for the driver's own books. */
void cv_driver_note_event(struct cv_driver *driver, const struct cleave_event *event,
                          struct cv_outcome *outcome);
/* The run does not get on, or there is no end of chunks: say so. */
enum cleave_status cv_driver_fail_headway(const struct cv_driver *driver,
                                          struct cleave_error *err);
enum cleave_status cv_driver_fail_chunks(const struct cv_driver *driver,
                                         struct cleave_error *err);
enum cleave_status cv_driver_fail_units(const struct cv_driver *driver,
                                        struct cleave_error *err);
enum cleave_status cv_driver_fail_limit(const struct cv_driver *driver,
                                        struct cleave_error *err);
/* What is written down of a run, driver.c. */
enum cleave_status cv_driver_record_event(const struct cv_driver *driver,
                                          struct cleave_trace *trace,
                                          const struct cleave_event *event,
                                          struct cleave_error *err);
enum cleave_status cv_driver_record_order(struct cleave_trace *trace,
                                          const struct cleave_order *order,
                                          struct cleave_error *err);

#endif
