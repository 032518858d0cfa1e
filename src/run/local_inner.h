/* local_inner.h -- what the parts of the local engine share. SPDX-License-Identifier: MIT */
#ifndef CV_LOCAL_INNER_H
#define CV_LOCAL_INNER_H
#include "run/local_engine.h"

/* An order that has not been begun. */
struct cv_local_want {
    uint64_t chunk;
    double units;
};

struct cv_local_slot {
    struct cv_slot slot;
    uint64_t chunk;   /* the one under way                                             */
    uint32_t attempt; /* from 1                                                        */
    double began_s;   /* its first attempt                                             */
    struct cv_local_want *wants; /* owned: those from `first` on are to come           */
    size_t first, nwants, want_room;
    bool folds_first; /* the next chunk waits for a fold                               */
};

struct cv_local_engine;

struct cv_local_wake {
    struct cv_local_engine *engine;
    struct cv_timer timer;
    uint32_t worker;
    bool set;
    struct cv_local_wake *next;
};

struct cv_local_engine {
    struct cv_local *local;
    struct cv_local_slot *slots; /* owned: per worker                                  */
    struct cleave_event *events; /* owned: those from first_event on are to be told    */
    size_t first_event, nevents, event_room;
    struct cv_local_wake *wakes; /* owned                                              */
    struct cv_watch input;
    uint64_t numbered;
    double began_s, wanted; /* units of orders that have not been begun                */
    uint32_t running, sleeping;
    bool listening, open_ended, stopping, broken;
    struct cleave_error err; /* when broken                                            */
};

/* Tell the driver; time and, but for DONE, start are set here. */
void cv_local_tell(struct cv_local_engine *engine, struct cleave_event event);
/* The chunk of the slot is over, done or given up. */
void cv_local_chunk_over(struct cv_local_engine *engine, struct cv_local_slot *at);

#endif
