/* real_run.h -- what the parts of the engine share. SPDX-License-Identifier: MIT */
#ifndef CV_REAL_RUN_H
#define CV_REAL_RUN_H
#include "run/master/real_engine.h"

/* An order that has not been begun. */
struct cv_want {
    uint64_t chunk;
    double units;
    bool told; /* that it was sent: it was lost since */
};

/* A chunk under way. The next one may travel while one is worked on, so there are several
 * for a worker of another machine. */
struct cv_errand {
    struct cv_slot slot; /* its worker is the one that does it                          */
    uint32_t owner;      /* the one it was ordered for                                  */
    uint64_t chunk;
    uint32_t attempt; /* from 1                                                        */
    double began_s;   /* its first attempt                                             */
    bool told;        /* that it was sent                                              */
    double output;    /* bytes of it                                                   */
    struct cv_piece tail; /* what is being taken back, while the answer is due          */
};

enum { CV_DESK_ERRANDS = 3 }; /* of a worker of another machine */

struct cv_desk {
    struct cv_errand *errands; /* owned                                              */
    uint32_t nerrands;
    struct cv_want *wants; /* owned: those from `first` on are to come           */
    size_t first, nwants, want_room;
    bool folds_first; /* the next chunk waits for a fold                               */
};

struct cv_local_wake {
    struct cv_real_engine *engine;
    struct cv_timer timer;
    uint32_t worker;
    bool set;
    struct cv_local_wake *next;
};

struct cv_real_engine {
    struct cv_local *local;
    struct cv_desk *desks;       /* owned: per worker                                  */
    struct cleave_event *events; /* owned: those from first_event on are to be told    */
    size_t first_event, nevents, event_room;
    struct cv_local_wake *wakes; /* owned                                              */
    struct cv_watch input;
    uint64_t numbered;
    double began_s, wanted; /* units of orders that have not been begun                */
    uint32_t running, sleeping;
    size_t pending; /* orders that have not been begun                                 */
    bool listening, open_ended, stopping, broken;
    struct cleave_error err; /* when broken                                            */
};

/* Tell the driver; the time is set here, and so is the start where there is none. */
void cv_local_tell(struct cv_real_engine *engine, struct cleave_event event);
/* Something that makes it impossible to go on. */
void cv_local_broke(void *context, const struct cleave_error *err);

bool cv_desk_busy(const struct cv_desk *at);
void cv_local_stop_all(struct cv_real_engine *engine);

/* --- real_chunks.c: from the beginning of a chunk to its end ----------------------------- */

void cv_desk_done(struct cv_desk *at);
enum cleave_status cv_desk_open(struct cv_real_engine *engine, uint32_t worker,
                                struct cleave_error *err);
/* The chunk is over, done or given up. */
void cv_local_chunk_over(struct cv_real_engine *engine, struct cv_errand *errand);
/* It has come to nothing; its bytes are left again. */
enum cleave_status cv_local_chunk_lost(struct cv_real_engine *engine,
                                       struct cv_errand *errand,
                                       struct cleave_error *err);

/* --- real_orders.c ----------------------------------------------------------------------- */

/* Begin what can be begun. */
enum cleave_status cv_real_begin_all(struct cv_real_engine *engine,
                                     struct cleave_error *err);
enum cleave_status cv_real_submit(void *instance, const struct cleave_order *order,
                                  struct cleave_error *err);
/* Order a chunk again that was lost, before all others. */
enum cleave_status cv_local_want_again(struct cv_real_engine *engine, uint32_t worker,
                                       const struct cv_want *want,
                                       struct cleave_error *err);
void cv_local_cut_answered(void *context, struct cv_slot *slot, bool done);

#endif
