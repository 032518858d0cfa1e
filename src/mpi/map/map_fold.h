/* map_fold.h -- rank 0 of a shared job. SPDX-License-Identifier: MIT */
#ifndef CV_MAP_FOLD_H
#define CV_MAP_FOLD_H
#include "engine/engine.h"
#include "engine/fold_plan.h"
#include "mpi/map/map_messages.h"
#include "mpi/map/map_units.h"

struct cv_map_master;

struct cv_map_chunk {
    struct cv_map_task task; /* packing, then collecting: first                       */
    struct cv_map_transfer transfer;
    struct cv_map_master *master;
    uint64_t id, number; /* number of the order, for the policy                       */
    uint64_t begin, end;
    uint32_t worker;
    double send_s;                   /* start of the transfer                         */
    struct cleave_mpi_buffer buffer; /* input, later the partial                      */
    bool sending, sent_reported, computed; /* sent_reported: CLEAVE_SENT              */
    uint64_t bytes;                        /* size of its partial, once computed      */
    struct cv_map_chunk *next; /* in a list of its worker, or of returned chunks      */
    struct cv_map_chunk *next_queued;
};

/* An order whose chunk has not been started. */
struct cv_map_pending_order {
    uint64_t number;
    double units;
};

struct cv_map_worker {
    struct cv_map_pending_order *pending; /* owned; orders before `first` were started */
    size_t first, npending, pending_room;
    struct cv_map_chunk *chunks; /* owned: sent or being computed                     */
    uint32_t nchunks;
    uint32_t folds; /* steps that it was ordered to take                              */
};

struct cv_map_fold {
    struct cv_fold_step step;
    uint64_t id;
    double given_s; /* time of the order                                              */
    struct cv_map_fold *next;
};

struct cv_map_wake {
    double at_s;
    uint32_t worker;
};

struct cv_map_master {
    const struct cleave_mpi_map *map;
    struct cv_map_requests requests;
    struct cv_map_tasks *tasks;    /* borrowed                                        */
    struct cv_map_message message; /* the last event                                  */
    struct cv_map_transfer listen;
    uint32_t nworkers;
    struct cv_map_worker *workers; /* owned                                           */
    bool *may;                     /* owned: per worker, for the plan                 */
    struct cleave_event *events;   /* owned; first_event is the next for the policy   */
    size_t first_event, nevents, event_room;
    struct cv_map_wake *wakes; /* owned                                               */
    size_t nwakes, wake_room;
    uint64_t next_unit, next_id, numbered;
    double ordered, started; /* units of all orders; of orders that were started      */
    double began_s, last_s;
    uint32_t running;             /* chunks that were started and are not computed    */
    struct cv_range_set computed; /* units of computed chunks                         */
    /* Over a shared port one chunk is sent at a time. */
    bool shares_port, port_busy;
    struct cv_map_chunk *queue, **queue_end; /* chunks to be sent                     */
    /* Partials that stay with workers. */
    struct cv_fold_plan *plan; /* owned; NULL: partials are collected                 */
    struct cv_map_fold *folds; /* owned: running                                      */
    struct cv_fold_pace pace;  /* durations of folds                                  */
    double fold_s;             /* sum of folds, from the order to the end             */
    /* Partials that are collected, by begin. */
    struct cv_map_chunk *returned;       /* owned                                     */
    uint64_t next_collected, collecting; /* collecting: chunks computed, not collected */
    struct cleave_mpi_buffer value;
    struct cv_map_transfer value_transfer;
    bool value_received;
    uint32_t left; /* workers that have left                                          */
    bool failed;
    struct cleave_error err; /* if failed                                             */
    struct cleave_mpi_result counts;
};

/* Queue an event for the policy. Sets time_s and, except for DONE and SENT, start_s. */
void cv_map_event(struct cv_map_master *master, struct cleave_event event);
/* The first error counts. */
void cv_map_fail(struct cv_map_master *master, const struct cleave_error *err);
/* cv_map_progress; fails if the job has failed. */
enum cleave_status cv_map_step(struct cv_map_master *master, double until_s,
                               struct cleave_error *err);
void cv_map_chunk_free(struct cv_map_chunk *chunk);

/* Let idle workers combine, and send partials ahead to workers that will soon be idle.
 * Call it again at *out_next_s even if nothing happens. */
enum cleave_status cv_map_fold_go(struct cv_map_master *master, double *out_next_s,
                                  struct cleave_error *err);
/* Seconds to combine one more partial, as measured. */
double cv_map_fold_one_s(const struct cv_map_master *master);
void cv_map_folded(struct cv_map_master *master, const struct cv_map_message *message);
/* Plan or fetch the partial of a computed chunk. Takes the chunk over. */
void cv_map_partial(struct cv_map_master *master, struct cv_map_chunk *chunk);
/* Combine or collect all partials, after all chunks. */
enum cleave_status cv_map_finish(struct cv_map_master *master, struct cleave_error *err);

#endif
