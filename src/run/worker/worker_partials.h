/* worker_partials.h -- partial results that lie with a worker, and those on their way out.
 * SPDX-License-Identifier: MIT */
#ifndef CV_WORKER_PARTIALS_H
#define CV_WORKER_PARTIALS_H
#include "run/wire/frame.h"
#include "run/output/ordered_output.h"

/* A partial that lies here, or is coming. One that is forgotten before it has come stays
 * until then, without its bytes. */
struct cv_worker_partial {
    uint64_t id;
    struct cv_chunk_output
        *store;            /* owned                                                  */
    struct cv_taken taken; /* once it is complete                                    */
    bool complete, forgotten;
    unsigned users; /* that send or fold it                                           */
    struct cv_worker_partial *next;
};

/* A partial on its way out. */
struct cv_partial_out {
    struct cv_worker_partial *held;
    uint32_t peer; /* 0: the master                                                   */
    uint64_t name; /* what it is called there                                         */
    uint64_t at;   /* next byte                                                       */
    struct cv_partial_out *next;
};

struct cv_worker_partials {
    struct cv_worker_partial *held; /* owned                                */
    struct cv_partial_out *for_peers,
        *for_master; /* owned, in order                      */
};

/* The partial of that name, complete or not; NULL if there is none. */
struct cv_worker_partial *cv_holding_find(const struct cv_worker_partials *holding,
                                          uint64_t id);
/* The store is a whole partial, and the holding's then. */
enum cleave_status cv_holding_add(struct cv_worker_partials *holding, uint64_t id,
                                  struct cv_chunk_output *store,
                                  struct cleave_error *err);
/* Bytes of a partial have come; *out_complete: the last ones, of one that is wanted. */
enum cleave_status cv_holding_take(struct cv_worker_partials *holding,
                                   struct cv_ordered_output *outputs,
                                   const struct cv_frame_head *head,
                                   const unsigned char *payload, bool *out_complete,
                                   struct cleave_error *err);
/* It is not needed any more once nobody uses it, nor when it comes. */
enum cleave_status cv_holding_forget(struct cv_worker_partials *holding, uint64_t id,
                                     struct cleave_error *err);
/* One who used it does not any more. */
void cv_holding_release(struct cv_worker_partials *holding,
                        struct cv_worker_partial *held);
/* Send it to a peer, or to the master if that is 0, who calls it `name`. */
enum cleave_status cv_holding_send(struct cv_worker_partials *holding, uint64_t id,
                                   uint32_t peer, uint64_t name,
                                   struct cleave_error *err);
/* The next frame of what is to be sent; its payload has room for CV_FRAME_MOST. *out_any
 * is false if there is none. */
enum cleave_status cv_holding_next(struct cv_worker_partials *holding, bool for_master,
                                   struct cv_frame_head *head, unsigned char *payload,
                                   bool *out_any, struct cleave_error *err);
void cv_holding_done(struct cv_worker_partials *holding);

#endif
