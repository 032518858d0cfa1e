/* worker_rules.c -- what a master may say to a worker, and when. SPDX-License-Identifier: MIT */
#include "run/worker/worker_rules.h"

#include "base/fail.h"
#include "run/wire/protocol.h"
#include "run/wire/frame.h"

#define IN(stage) (1u << CV_WORKER_##stage)

/* Frames that are not here may not come at all. */
static const uint16_t rules[256] = {
    [CV_FRAME_REFUSED] = (1u << CV_WORKER_STAGES) - 1,
    [CV_FRAME_HELLO] = IN(NEW),
    [CV_FRAME_JOB] = IN(GREETED),
    [CV_FRAME_PIECE] = IN(UNHEARD),
    [CV_FRAME_TOLD] = IN(UNHEARD),
    [CV_FRAME_DATA] = IN(COMING) | IN(OPEN) | IN(CUT_SHORT),
    [CV_FRAME_PACKED] = IN(COMING) | IN(OPEN) | IN(CUT_SHORT),
    [CV_FRAME_DRAWN] = IN(COMING),
    [CV_FRAME_CUT] = IN(OPEN) | IN(COMPLETE) | IN(OVER) | IN(CUT_SHORT),
    [CV_FRAME_STOP] = IN(COMING) | IN(OPEN) | IN(COMPLETE) | IN(OVER) | IN(CUT_SHORT),
    [CV_FRAME_MORE] = IN(OPEN) | IN(CUT_SHORT),
    [CV_FRAME_LOOK] = IN(OPEN) | IN(COMPLETE) | IN(OVER) | IN(CUT_SHORT),
    [CV_FRAME_SHOW] = IN(COMING) | IN(OPEN) | IN(COMPLETE) | IN(OVER) | IN(CUT_SHORT),
    [CV_FRAME_LEAVE] = IN(SEAT),
    [CV_FRAME_REDUCE] = IN(NO_FOLD),
    [CV_FRAME_GIVE] = IN(FOLDS),
    [CV_FRAME_FOLD] = IN(FOLDS),
    [CV_FRAME_FOLD_OFF] = IN(FOLDS),
    [CV_FRAME_FORGET] = IN(FOLDS),
    [CV_FRAME_FETCH] = IN(FOLDS),
    [CV_FRAME_FOLD_STOP] = IN(FOLDS),
};

static const char *const texts[CV_WORKER_STAGES] = {
    [CV_WORKER_NEW] = "before its hello",
    [CV_WORKER_GREETED] = "before the job",
    [CV_WORKER_NO_SEAT] = "while there is no such slot",
    [CV_WORKER_SEAT] = "while that is no slot's matter",
    [CV_WORKER_UNHEARD] = "while there is no such piece",
    [CV_WORKER_COMING] = "while the piece is coming",
    [CV_WORKER_OPEN] = "while the piece is open",
    [CV_WORKER_COMPLETE] = "while all of the piece is here",
    [CV_WORKER_OVER] = "while that piece is over",
    [CV_WORKER_CUT_SHORT] = "while the command of that open piece has ended",
    [CV_WORKER_ALONE] = "while this worker reduces nothing",
    [CV_WORKER_NO_FOLD] = "while nothing is reduced here",
    [CV_WORKER_FOLDS] = "while it is known what reduces",
};

bool cv_worker_may(enum cv_worker_stage stage, uint8_t type)
{
    return (rules[type] >> stage & 1) != 0;
}

const char *cv_worker_stage_text(enum cv_worker_stage stage)
{
    return texts[stage];
}

enum cv_worker_stage cv_worker_stage(const struct cv_worker *worker,
                                     const struct cv_frame_head *head,
                                     struct cv_task **out_task)
{
    *out_task = NULL;
    if (!worker->ready)
        return worker->greeted ? CV_WORKER_GREETED : CV_WORKER_NEW;
    if (head->type >= CV_FRAME_OTHERS)
        return CV_WORKER_ALONE;
    if (head->peer >= worker->nseats)
        return CV_WORKER_NO_SEAT;
    if (head->type == CV_FRAME_LEAVE)
        return CV_WORKER_SEAT;
    if (head->chunk >= worker->next_chunk)
        return CV_WORKER_UNHEARD;
    *out_task = cv_tasks_find(&worker->seats[head->peer].tasks, head->chunk);
    if (*out_task == NULL && worker->seats[head->peer].cut_short == head->chunk + 1)
        return CV_WORKER_CUT_SHORT;
    if (*out_task == NULL)
        return CV_WORKER_OVER;
    if ((*out_task)->open && !(*out_task)->shut)
        return CV_WORKER_OPEN;
    return (*out_task)->complete ? CV_WORKER_COMPLETE : CV_WORKER_COMING;
}

bool cv_worker_admit(struct cv_worker *worker, enum cv_worker_stage stage,
                     const struct cv_frame_head *head)
{
    struct cleave_error err;

    if (cv_worker_may(stage, head->type))
        return true;
    cv_fail(&err, CLEAVE_EINPUT, "the master broke the protocol: %s %s",
            cv_frame_name(head->type), cv_worker_stage_text(stage));
    cv_worker_fail(worker, &err);
    return false;
}
