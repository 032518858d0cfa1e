/* fold_frames.h -- what masters and workers say about partial results that stay with the
 * workers. SPDX-License-Identifier: MIT
 *
 * The master only decides (engine/fold_plan.h). A partial has a name; the output of a piece
 * is called `base` + its number, where `base` is the worker's own. A worker keeps what it
 * has given away or folded until the master says that it is not needed any more: nothing is
 * lost with a worker that got it. */
#ifndef CV_FOLD_FRAMES_H
#define CV_FOLD_FRAMES_H
#include "run/wire/remote.h"

enum cv_fold_frame {
    /* From the master. `chunk` is the name of a partial. */
    CV_FRAME_REDUCE = CV_FRAME_OTHERS, /* outputs stay from now on; value: base;
                                          payload: command, retries, seconds allowed   */
    CV_FRAME_GIVE,                     /* send it to the peer `value`; payload: what it is
                                          called there                                 */
    CV_FRAME_FOLD,                     /* make it; payload: how many partials it takes,
                                          and their names, in order                    */
    CV_FRAME_FOLD_OFF,                 /* do not make it, if it has not been made       */
    CV_FRAME_FORGET,                   /* it is not needed any more, not even if it is
                                          still to come                                */
    CV_FRAME_FETCH,                    /* send it to the master                         */
    CV_FRAME_FOLD_STOP,                /* stop folding                                  */

    /* From the worker. */
    CV_FRAME_FOLDED,      /* it has been made and has `value` bytes; payload: how often it
                             was tried                                                 */
    CV_FRAME_FOLD_FAILED, /* payload: how often it was tried, and what was wrong       */
    CV_FRAME_HEADWAY, /* every second while it has something to make or to give; `chunk`:
                         the partial it waits for, 0: none; value: grows with every byte
                         that comes or goes, and as long as the command runs           */

    /* To the master or a peer, also between workers: bytes of it, up to CV_FRAME_LAST;
     * value: how many came before them. */
    CV_FRAME_PARTIAL,
};

#endif
