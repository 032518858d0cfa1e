/* worker_fold.h -- a worker that keeps its outputs and folds them with those of other workers.
 * SPDX-License-Identifier: MIT */
#ifndef CV_WORKER_FOLD_H
#define CV_WORKER_FOLD_H
#include "run/output/ordered_output.h"
#include "run/worker/worker_serve.h"

struct cv_worker_fold;

/* `peers` is a socket to the other workers, borrowed (engine/mpi_bridge.h); -1: none. */
enum cleave_status cv_worker_fold_new(int peers, struct cv_worker_fold **out,
                                      struct cleave_error *err);
void cv_worker_fold_free(struct cv_worker_fold *fold);
/* Set the callbacks of the options. */
void cv_worker_fold_attach(struct cv_worker_fold *fold,
                           struct cv_worker_options *options);

/* cv_worker_serve for a worker that can fold. */
enum cleave_status cv_worker_fold_serve(const struct cv_worker_options *options,
                                        int peers, struct cleave_error *err);

/* Kept, or arriving. If it is forgotten before it is complete, its entry stays without bytes. */
struct cv_worker_partial {
    uint64_t id;
    struct cv_chunk_output *store; /* owned */
    struct cv_taken taken;         /* once it is complete */
    bool complete, forgotten;
    unsigned users; /* that send or fold it */
    struct cv_worker_partial *next;
};

/* A partial result that is being sent. */
struct cv_partial_out {
    struct cv_worker_partial *held;
    uint32_t peer; /* 0: the master */
    uint64_t name; /* id at the receiver */
    uint64_t at;   /* next byte */
    struct cv_partial_out *next;
};

struct cv_worker_partials {
    struct cv_worker_partial *held;                /* owned */
    struct cv_partial_out *for_peers, *for_master; /* owned, in order */
};

/* Complete or not; NULL: there is none, or it was forgotten. */
struct cv_worker_partial *cv_partials_find(const struct cv_worker_partials *partials,
                                           uint64_t id);
/* Add a complete one; the store is taken. */
enum cleave_status cv_partials_add(struct cv_worker_partials *partials, uint64_t id,
                                   struct cv_chunk_output *store,
                                   struct cleave_error *err);
/* Take a frame PARTIAL. *out_complete: the last one of a partial result that is wanted. */
enum cleave_status cv_partials_take(struct cv_worker_partials *partials,
                                    struct cv_ordered_output *outputs,
                                    const struct cv_frame_head *head,
                                    const unsigned char *payload, bool *out_complete,
                                    struct cleave_error *err);
/* Drop it when it has no users, or when it arrives. */
enum cleave_status cv_partials_forget(struct cv_worker_partials *partials, uint64_t id,
                                      struct cleave_error *err);
/* Send it to a peer, or to the master (0), with the id `name`. */
enum cleave_status cv_partials_send(struct cv_worker_partials *partials, uint64_t id,
                                    uint32_t peer, uint64_t name,
                                    struct cleave_error *err);
/* The next frame to be sent; the payload has room for CV_FRAME_MOST. *out_any: there is one. */
enum cleave_status cv_partials_next(struct cv_worker_partials *partials, bool for_master,
                                    struct cv_frame_head *head, unsigned char *payload,
                                    bool *out_any, struct cleave_error *err);
void cv_partials_done(struct cv_worker_partials *partials);

#endif
