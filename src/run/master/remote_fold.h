/* remote_fold.h -- fold orders for hosts. SPDX-License-Identifier: MIT
 *
 * Frames are those of protocol.h. A partial that moves gets a new name at its
 * destination, so that a late part of a cancelled order is not taken for a part of the
 * next one. */
#ifndef CV_REMOTE_FOLD_H
#define CV_REMOTE_FOLD_H
#include "engine/fold_plan.h"
#include "run/fold/fold.h"
#include "run/master/result_sink.h"
#include "run/master/worker_pool.h"
#include "run/wire/protocol.h"

struct cv_remote_fold_order {
    struct cv_fold_step step;
    uint64_t id;                       /* name of its result */
    uint64_t names[CV_FOLD_STEP_MOST]; /* names of its parts where they are folded */
    double given_s;                    /* when the order was sent */
    struct cv_remote_fold_order *next;
};

/* A cancelled order, which may have been carried out before the host received the
 * cancellation. */
struct cv_cancelled_fold {
    uint64_t id;
    uint32_t at;
};

/* The last report of a worker that has to fold or send something. */
struct cv_fold_progress {
    double headway_s;  /* time of its last progress, or of its order */
    uint64_t livelock; /* its progress counter */
    uint64_t awaits;   /* name of the partial it waits for; 0: none */
};

struct cv_remote_fold_orders {
    const struct cv_worker_pool
        *pool; /* borrowed                                       */
    struct cv_remote_fold_order
        *under_way; /* owned                                          */
    uint32_t *busy; /* owned: per worker: outstanding orders */
    uint64_t numbered;
    struct cv_fold_progress
        *events;           /* owned: per worker                                     */
    uint32_t fetched;      /* the worker whose result is being fetched; CV_FOLD_NOBODY */
    struct cv_timer timer; /* to check workers without progress */
    bool grace_used;       /* the extra look before a worker counts as stuck was used */
    struct cv_cancelled_fold
        *off; /* owned                                                   */
    size_t noff, off_room;
};

enum cleave_status cv_remote_fold_orders_init(struct cv_remote_fold_orders *orders,
                                              const struct cv_worker_pool *pool,
                                              struct cleave_error *err);
void cv_remote_fold_orders_done(struct cv_remote_fold_orders *orders);

/* Tell all connected hosts to keep their outputs, and the command that folds.
 * out_there[worker] is set for them. */
enum cleave_status cv_remote_fold_tell_hosts(const struct cv_remote_fold_orders *orders,
                                             const struct cleave_execution *request,
                                             bool *out_there, struct cleave_error *err);
/* Send a frame about the partial `id` to the host of a worker. */
void cv_remote_fold_say(const struct cv_remote_fold_orders *orders, uint32_t worker,
                        enum cv_frame_type type, uint64_t id);
/* The name of an output of a worker is this plus the number of the piece. */
uint64_t cv_remote_fold_base(const struct cv_remote_fold_orders *orders, uint32_t worker);

/* Send the order of a step to the hosts that send parts and to the one that folds. */
enum cleave_status cv_remote_fold_order(struct cv_remote_fold_orders *orders,
                                        const struct cv_fold_step *step,
                                        struct cleave_error *err);
/* Move a partial to a worker before its fold is ordered; part->name is its name there. */
enum cleave_status cv_remote_fold_send_ahead(struct cv_remote_fold_orders *orders,
                                             const struct cv_fold_part *part,
                                             struct cleave_error *err);
/* A new name. */
uint64_t cv_remote_fold_name(struct cv_remote_fold_orders *orders);
/* Let the worker send its result to the master. */
void cv_remote_fold_fetch(struct cv_remote_fold_orders *orders, uint32_t worker,
                          uint64_t id);
/* Remove and return the order that makes `id` (NULL: it was cancelled), or any order
 * that the worker takes part in. The caller passes it to one of the two below, or to
 * free(). */
struct cv_remote_fold_order *
cv_remote_fold_order_take(struct cv_remote_fold_orders *orders, uint64_t id);
struct cv_remote_fold_order *
cv_remote_fold_order_take_of(struct cv_remote_fold_orders *orders, uint32_t worker);
/* Cancel the order: tell the hosts, or only forget it if all are being stopped. */
void cv_remote_fold_order_call_off(struct cv_remote_fold_orders *orders,
                                   struct cv_remote_fold_order *order);
void cv_remote_fold_order_drop(struct cv_remote_fold_orders *orders,
                               struct cv_remote_fold_order *order);

struct cv_remote_fold {
    struct cv_result_sink results;
    struct cv_worker_pool *pool; /* borrowed, like the four below */
    struct cv_order_queue *queue;
    const struct cv_attempt_table *table;
    struct cv_ordered_output *outputs;
    struct cv_fold_log *log;
    struct cv_fold_plan *plan; /* owned                                                */
    struct cv_remote_fold_orders orders;
    struct cv_fold_pace pace;
    struct cv_timer near; /* a fold has at most one transfer to go */
    bool *may, *there;    /* owned: per worker                                    */
    /* owned: pieces whose outputs are on hosts, to redo after a loss */
    struct cv_piece *pieces;
    size_t npieces, piece_room;
    size_t crowd;    /* number of partials from which busy workers fold too */
    uint32_t losing; /* the worker that is being lost */
    struct cv_chunk_output *result; /* owned: the result while it is received */
    uint64_t result_id, result_bytes;
    uint32_t holder;  /* worker that has the result */
    uint32_t retries; /* of a fold                                                      */
    bool fetching, came, stopped, failed, by_command;
    struct cleave_error err; /* set if `failed` */
    struct cv_fold_counts counts;
};

/* Callback of the hosts for frames about partials. */
void cv_remote_fold_frame(void *context, struct cv_host *host,
                          const struct cv_frame_head *head, const unsigned char *payload);

#endif
