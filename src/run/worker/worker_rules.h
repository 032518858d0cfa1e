/* worker_rules.h -- what a master may say to a worker, and when. SPDX-License-Identifier: MIT
 *
 * A frame that cannot come now ends the worker, with a word to both sides: what is done with
 * the piece it was about would be wrong. */
#ifndef CV_WORKER_RULES_H
#define CV_WORKER_RULES_H
#include "run/worker/worker_internal.h"

/* Where things stand with what a frame is about. */
enum cv_worker_stage {
    CV_WORKER_NEW,       /* nobody has said hello                                       */
    CV_WORKER_GREETED,   /* the job is not known, or not all of it                      */
    CV_WORKER_NO_SEAT,   /* the slot: there is none of that number                      */
    CV_WORKER_SEAT,      /* there is                                                    */
    CV_WORKER_UNHEARD,   /* the piece: none of that number or a higher one has come     */
    CV_WORKER_COMING,    /* announced, not all of it is here                            */
    CV_WORKER_OPEN,      /* it is being worked on, and more of it may come              */
    CV_WORKER_COMPLETE,  /* it is to be worked on, or is being                          */
    CV_WORKER_OVER,      /* it has ended, was stopped, or is another slot's             */
    CV_WORKER_CUT_SHORT, /* it was open and has ended, which the master may not know    */
    CV_WORKER_ALONE,   /* folds: this worker knows no others, and makes none           */
    CV_WORKER_NO_FOLD, /* nothing was said of them                                     */
    CV_WORKER_FOLDS,   /* outputs are kept                                            */
    CV_WORKER_STAGES,
};

bool cv_worker_may(enum cv_worker_stage stage, uint8_t type);
/* "while the piece is over". */
const char *cv_worker_stage_text(enum cv_worker_stage stage);
/* Where things stand with what the frame is about, but for folds. *out_task: that piece, NULL
 * if it is not in its slot. */
enum cv_worker_stage cv_worker_stage(const struct cv_worker *worker,
                                     const struct cv_frame_head *head,
                                     struct cv_task **out_task);
/* Whether it may come now; if not, the worker has ended for it. */
bool cv_worker_admit(struct cv_worker *worker, enum cv_worker_stage stage,
                     const struct cv_frame_head *head);

#endif
