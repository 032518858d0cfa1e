/* map_fold.h -- rank 0 of a shared job. SPDX-License-Identifier: MIT */
#ifndef CV_MAP_FOLD_H
#define CV_MAP_FOLD_H
#include "engine/engine.h"
#include "engine/fold_pace.h"
#include "mpi/map/map_messages.h"
#include "mpi/map/map_units.h"

/* So many chunks of a worker are under way or being computed: the next one travels while
 * the last one is computed. */
enum { CV_MAP_AHEAD = 2 };
/* Partials that the callback combines at a time. */
enum { CV_MAP_COMBINES = 2 };

struct cv_map_master;

struct cv_map_chunk {
    struct cv_map_task task; /* packing, then collecting: first                       */
    struct cv_map_requests_item item;
    struct cv_map_master *master;
    uint64_t id, number; /* number: of the order, for the policy                      */
    uint64_t begin, end;
    uint32_t worker;
    double send_s; /* when it began to move                                           */
    struct cleave_mpi_buffer buffer; /* input, later the partial                      */
    bool sending, told, computed; /* told: the policy knows that it was sent          */
    uint64_t bytes;               /* of its partial, once computed                    */
    struct cv_map_chunk *next;    /* of its worker, or of those that came back        */
    struct cv_map_chunk *next_queued;
};

/* An order that has not been begun. */
struct cv_map_pending_order {
    uint64_t number;
    double units;
};

/* What rank 0 keeps of a worker. */
struct cv_map_member {
    struct cv_map_pending_order
        *wants; /* owned: those from `first` on are to come            */
    size_t first, nwants, want_room;
    struct cv_map_chunk *chunks; /* owned: under way or being computed                */
    uint32_t held;
    uint32_t folds; /* steps that it has been told to take                            */
};

struct cv_map_fold {
    struct cv_fold_step step;
    uint64_t id;
    double given_s; /* of the nap clock                                               */
    struct cv_map_fold *next;
};

struct cv_map_wake {
    double at_s;
    uint32_t worker;
};

struct cv_map_master {
    const struct cleave_mpi_map *map;
    const struct cleave_platform *platform;
    struct cv_map_requests requests;
    struct cv_map_tasks *tasks; /* borrowed                                           */
    struct cv_map_message note; /* the next event                                     */
    struct cv_map_requests_item listen;
    uint32_t nworkers;
    struct cv_map_member
        *members;                /* owned: per worker                                   */
    bool *may;                   /* owned: per worker, for the plan                     */
    struct cleave_event *events; /* owned: those from first_event on are to be told   */
    size_t first_event, nevents, event_room;
    struct cv_map_wake *wakes; /* owned                                               */
    size_t nwakes, wake_room;
    uint64_t next_unit, next_id, numbered;
    double ordered, begun; /* units of all orders; of those that have been begun      */
    double began_s, last_s;
    uint32_t running; /* chunks that are begun and not computed                       */
    struct cv_map_units computed; /* by those that are                                */
    /* Over a shared port one chunk is sent at a time: */
    bool shares_port, port_busy;
    struct cv_map_chunk *queue, **queue_end; /* those to be sent                      */
    /* Partials that stay with workers: */
    struct cv_fold_plan *plan; /* owned; NULL: they are collected                     */
    struct cv_map_fold *folds; /* owned: under way                                    */
    struct cv_fold_pace pace;  /* what they took                                      */
    double fold_s;             /* of all that are done, from the order to the end     */
    /* Partials that come back, by begin: */
    struct cv_map_chunk *returned; /* owned                                           */
    uint64_t next_collected, collecting; /* collecting: chunks computed, not collected */
    struct cleave_mpi_buffer value;
    struct cv_map_requests_item value_item;
    bool value_came;
    uint32_t left; /* workers that have left                                          */
    bool failed;
    struct cleave_error err; /* once failed                                           */
    struct cleave_mpi_result counts;
};

extern const struct cv_engine cv_engine_map; /* its source is a struct cv_map_master    */

/* --- map_fold.c --- */

/* Tell the policy; time and, but for DONE and SENT, start are set here. */
void cv_map_event(struct cv_map_master *master, struct cleave_event event);
/* The job has come to nothing: what was first counts. */
void cv_map_fail(struct cv_map_master *master, const struct cleave_error *err);
/* See what has happened, or nap, no longer than until that time of the nap clock. */
enum cleave_status cv_map_step(struct cv_map_master *master, double until_s,
                               struct cleave_error *err);
/* Free a chunk that nobody knows any more. */
void cv_map_chunk_free(struct cv_map_chunk *chunk);

/* --- map_lead.c --- */

/* --- map_fold.c --- */

/* Let workers that have nothing else to do combine, and partials go ahead to those that will
 * soon have. *out_next_s is when to ask again even if nothing happens. */
enum cleave_status cv_map_fold_go(struct cv_map_master *master, double *out_next_s,
                                  struct cleave_error *err);
/* What one partial more takes to be combined, as far as was seen. */
double cv_map_fold_one_s(const struct cv_map_master *master);
void cv_map_folded(struct cv_map_master *master, const struct cv_map_message *note);
/* A chunk's partial is kept by its worker, or comes. The chunk is not the caller's then. */
void cv_map_partial(struct cv_map_master *master, struct cv_map_chunk *chunk);
/* After all chunks: combine or collect all. */
enum cleave_status cv_map_finish(struct cv_map_master *master, struct cleave_error *err);

#endif
