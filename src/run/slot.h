/* slot.h -- one worker of this machine: a command on a piece of the input.
 * SPDX-License-Identifier: MIT
 *
 * A slot starts the command, feeds the piece to it, keeps what it writes and tells when it
 * has ended. What a failure means is decided by whoever uses it. */
#ifndef CV_SLOT_H
#define CV_SLOT_H
#include "run/feed.h"
#include "run/gather.h"
#include "run/poller.h"
#include "run/process.h"
#include "run/source.h"

enum cv_slot_end {
    CV_SLOT_DONE,      /* exit status 0, all output is in `store`                       */
    CV_SLOT_FAILED,    /* it exited with another status or by a signal                  */
    CV_SLOT_TIMED_OUT, /* it was stopped because it took too long                       */
    CV_SLOT_STOPPED,   /* it was stopped by cv_slot_stop                                */
};

struct cv_slot {
    struct cv_poller *poller; /* borrowed, as all here but what is named owned         */
    struct cv_gather *gather;
    const struct cv_command *command;
    double timeout_s;
    void (*ended)(void *context, struct cv_slot *slot, enum cv_slot_end end);
    void (*broke)(void *context, const struct cleave_error *err); /* storing failed     */
    void *context;
    uint32_t worker;

    bool busy;
    struct cv_piece piece;
    struct cv_process process; /* owned                                                */
    struct cv_feed feed;
    struct cv_store *store; /* owned until it is taken away                            */
    int in, out;            /* owned ends of pipes; -1: closed                         */
    struct cv_watch in_watch, out_watch, end_watch;
    struct cv_timer timer;
    double start_s; /* of the clock of the poller                                      */
    bool exited, stopping, timed_out;
    unsigned kills; /* signals sent to stop it                                         */
    size_t body;    /* which part of the feed is the body                              */
};

void cv_slot_init(struct cv_slot *slot);
/* Start the command on a piece. Only when it is not busy. */
enum cleave_status cv_slot_start(struct cv_slot *slot, const struct cv_piece *piece,
                                 struct cleave_error *err);
/* Up to which byte of the body, an offset in the file, the command has been fed. */
uint64_t cv_slot_fed(const struct cv_slot *slot);
/* Let the piece end at `head`, which begins as it does. False if more has been fed. */
bool cv_slot_cut(struct cv_slot *slot, const struct cv_piece *head);
/* Ask the command to end, and kill it when it does not. */
void cv_slot_stop(struct cv_slot *slot);
/* Kill what runs and forget it; nothing is told. */
void cv_slot_done(struct cv_slot *slot);

#endif
