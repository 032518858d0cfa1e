/* remote_fold_frames.h -- outputs that stay with hosts: what is known of them, and what hosts say of it.
 * SPDX-License-Identifier: MIT */
#ifndef CV_REMOTE_FOLD_FRAMES_H
#define CV_REMOTE_FOLD_FRAMES_H
#include "engine/fold_pace.h"
#include "engine/fold_plan.h"
#include "run/fold/fold.h"
#include "run/master/remote_fold.h"
#include "run/master/result_sink_kinds.h"

struct cv_remote_fold {
    struct cv_result_sink results;
    struct cv_worker_pool
        *pool; /* borrowed, as the four below                             */
    struct cv_order_queue *queue;
    const struct cv_attempt_table *table;
    struct cv_ordered_output *outputs;
    struct cv_fold_log *log;
    struct cv_fold_plan *plan; /* owned                                                */
    struct cv_remote_fold_orders orders;
    struct cv_fold_pace pace; /* of the folds so far                                   */
    struct cv_timer near;     /* one of them has at most a transfer to go              */
    bool *may, *there;        /* owned: per worker                                    */
    struct cv_piece *pieces;  /* owned: those whose outputs are kept, to be done again */
    size_t npieces, piece_room;
    size_t crowd;    /* partials from which on all fold                                */
    uint32_t losing; /* the worker that is being lost                                  */
    struct cv_chunk_output
        *result; /* owned while it comes                                   */
    uint64_t result_id, result_bytes;
    uint32_t holder;  /* of the result                                                  */
    uint32_t retries; /* of a fold                                                      */
    bool fetching, came, stopped, failed, by_command;
    struct cleave_error err; /* once failed                                            */
    struct cv_fold_counts counts;
};

/* A frame about partial results, for `other` of the hosts. */
void cv_remote_fold_frame(void *context, struct cv_host *host,
                          const struct cv_frame_head *head, const unsigned char *payload);

#endif
