/* remote_fold.h -- what hosts have been told to fold. SPDX-License-Identifier: MIT
 *
 * The words for it are those of protocol.h. A partial that moves gets a name of its own
 * where it goes: when an order is called off, what still comes of it is not taken for a
 * part of the next one. */
#ifndef CV_REMOTE_FOLD_H
#define CV_REMOTE_FOLD_H
#include "engine/fold_plan.h"
#include "run/wire/protocol.h"
#include "run/master/worker_pool.h"

struct cv_remote_fold_order {
    struct cv_fold_step step;
    uint64_t id;                       /* the name of what it makes                    */
    uint64_t names[CV_FOLD_STEP_MOST]; /* of its parts, where they are folded          */
    double given_s;                    /* when it was                                  */
    struct cv_remote_fold_order *next;
};

/* An order that was called off: it may have been carried out before that was heard. */
struct cv_cancelled_fold {
    uint64_t id;
    uint32_t at; /* the worker */
};

/* What was heard last of a worker that is to make or to give something. */
struct cv_fold_progress {
    double headway_s;  /* when it had got on, or was told what to do                    */
    uint64_t livelock; /* what it said of that                                          */
    uint64_t awaits;   /* name of the partial; 0: none                                  */
};

struct cv_remote_fold_orders {
    const struct cv_worker_pool
        *pool; /* borrowed                                       */
    struct cv_remote_fold_order
        *under_way; /* owned                                          */
    uint32_t *busy; /* owned: per worker: orders that it is to carry out */
    uint64_t numbered;
    struct cv_fold_progress
        *events;      /* owned: per worker                                     */
    uint32_t fetched; /* the worker whose result is coming; CV_FOLD_NOBODY             */
    struct cv_timer timer; /* to look after those that do not get on                    */
    bool
        grace_used; /* one of them did not, and may have said something since            */
    struct cv_cancelled_fold
        *off; /* owned                                                   */
    size_t noff, off_room;
};

enum cleave_status cv_remote_fold_orders_init(struct cv_remote_fold_orders *orders,
                                              const struct cv_worker_pool *pool,
                                              struct cleave_error *err);
void cv_remote_fold_orders_done(struct cv_remote_fold_orders *orders);

/* Tell the hosts that are there, which out_there[worker] says then, that they keep their
 * outputs from now on, and the command that folds. */
enum cleave_status cv_remote_fold_tell_hosts(const struct cv_remote_fold_orders *orders,
                                             const struct cleave_execution *request,
                                             bool *out_there, struct cleave_error *err);
/* Tell the host of a worker something about the partial `id`. */
void cv_remote_fold_say(const struct cv_remote_fold_orders *orders, uint32_t worker,
                        enum cv_frame_type type, uint64_t id);
/* The name of a worker's output is this and the number of the piece. */
uint64_t cv_remote_fold_base(const struct cv_remote_fold_orders *orders, uint32_t worker);

/* Tell who gives and who folds. */
enum cleave_status cv_remote_fold_order(struct cv_remote_fold_orders *orders,
                                        const struct cv_fold_step *step,
                                        struct cleave_error *err);
/* Let a partial go to a worker before it is known when it will be folded there; part->name
 * is what it is called there. */
enum cleave_status cv_remote_fold_send_ahead(struct cv_remote_fold_orders *orders,
                                             const struct cv_fold_part *part,
                                             struct cleave_error *err);
/* A name that nothing has yet. */
uint64_t cv_remote_fold_name(struct cv_remote_fold_orders *orders);
/* It is to send its result. */
enum cleave_status cv_remote_fold_fetch(struct cv_remote_fold_orders *orders,
                                        uint32_t worker, uint64_t id,
                                        struct cleave_error *err);
/* It has got on, or says that it has: what it has done, and what it waits for. A host that
 * does not, for as long as one may be silent, is lost. */
void cv_remote_fold_got_on(struct cv_remote_fold_orders *orders, uint32_t worker);
void cv_remote_fold_heard(struct cv_remote_fold_orders *orders, uint32_t worker,
                          uint64_t livelock, uint64_t awaits);
/* The order that makes `id`, or NULL: it has been called off. Or any that the worker takes
 * part in. It is not under way any more and the caller's, for one of the two below, or
 * for free(). */
struct cv_remote_fold_order *
cv_remote_fold_order_take(struct cv_remote_fold_orders *orders, uint64_t id);
struct cv_remote_fold_order *
cv_remote_fold_order_take_of(struct cv_remote_fold_orders *orders, uint32_t worker);
/* It has been carried out: nobody needs its parts any more. */
void cv_remote_fold_order_end(const struct cv_remote_fold_orders *orders,
                              struct cv_remote_fold_order *order);
/* Nobody waits for it any more; it is said there, or not if all are being stopped. */
void cv_remote_fold_order_call_off(struct cv_remote_fold_orders *orders,
                                   struct cv_remote_fold_order *order);
void cv_remote_fold_order_drop(struct cv_remote_fold_orders *orders,
                               struct cv_remote_fold_order *order);
/* Whether that host was told to make `id`, and whether it still is to. */
enum cv_stage cv_remote_fold_stage(const struct cv_remote_fold_orders *orders,
                                   const struct cv_host *host, uint64_t id);

#endif
