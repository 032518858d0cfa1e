/* worker_folding.h -- the folds that a worker was told to make, one after the other.
 * SPDX-License-Identifier: MIT
 *
 * A part of worker_fold.c: that one knows the words of the master and of the peers, this
 * one the command. */
#ifndef CV_WORKER_FOLDING_H
#define CV_WORKER_FOLDING_H
#include "run/fold/fold.h"
#include "run/wire/peer_port.h"
#include "run/worker/worker_fold.h"
#include "run/worker/worker_partials.h"
#include "run/worker/worker_internal.h"

/* What is to be folded: when all of it is here, and it is its turn. */
struct cv_fold_order {
    uint64_t id;
    uint64_t names[CV_FOLD_MOST];
    struct cv_worker_partial
        *held[CV_FOLD_MOST]; /* once it runs                                */
    size_t count;
    uint32_t attempt; /* from 1                                                        */
    bool off;         /* nobody wants it any more                                      */
    struct cv_fold_order *next;
};

struct cv_worker_fold {
    int peers;                /* borrowed                                              */
    struct cv_worker *worker; /* borrowed: from the time it is ready                   */
    struct cv_peer_port port;
    struct cv_worker_partials holding;
    struct cv_slot slot; /* that folds                                                 */
    struct cv_fold_call call;
    bool keeps, stopped;
    uint64_t base; /* of the names of outputs                                          */
    uint32_t retries;
    struct cv_fold_order
        *orders; /* owned, in order                                          */
    struct cv_fold_order
        *running;         /* owned                                                    */
    struct cv_timer beat; /* of what the master is told of it all                       */
    struct cv_timer again; /* until there may be room for its command                   */
    uint64_t livelock; /* bytes that came and went, and beats of the command         */
};

/* The command that reduces; the text is borrowed. */
enum cleave_status cv_folding_begin(struct cv_worker_fold *fold, const char *text,
                                    double timeout_s, struct cleave_error *err);
/* Start the first order of which all is here, if none is running. */
void cv_folding_next(struct cv_worker_fold *fold);
/* There is something to make or to give: the master is told every second how it goes. */
void cv_folding_tell(struct cv_worker_fold *fold);
/* Nobody wants that one any more; nor any. */
void cv_folding_call_off(struct cv_worker_fold *fold, uint64_t id);
void cv_folding_stop(struct cv_worker_fold *fold);
/* Kills what is running. */
void cv_folding_done(struct cv_worker_fold *fold);

#endif
