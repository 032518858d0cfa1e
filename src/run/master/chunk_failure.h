/* chunk_failure.h -- what happens when a command fails. SPDX-License-Identifier: MIT */
#ifndef CV_CHUNK_FAILURE_H
#define CV_CHUNK_FAILURE_H
#include "run/master/exec_run.h"

/* Begin to count who fails. */
enum cleave_status cv_chunk_trust(struct cv_exec_run *run, struct cleave_error *err);

enum cv_failure_action {
    CV_FAILURE_REQUEUE, /* it was stopped                                               */
    CV_FAILURE_RETRY,   /* it is tried once more                                        */
    CV_FAILURE_BISECT,  /* it becomes two, each for itself                              */
    CV_FAILURE_GIVE_UP, /* it is given up                                               */
};

struct cv_failure_decision {
    enum cv_failure_action verdict;
    struct cv_piece head, tail; /* the halves                                          */
    bool single;                /* it is one record, as far as that was looked at      */
};

/* A command has failed, or was stopped: what becomes of its chunk. To be asked once. */
enum cleave_status cv_chunk_decide_failure(struct cv_exec_run *run,
                                           struct cv_attempt *attempt,
                                           enum cv_slot_end end,
                                           struct cv_failure_decision *out,
                                           struct cleave_error *err);
/* Do so; a chunk that is over may halt the run, and the caller tells it. */
enum cleave_status cv_chunk_failed(struct cv_exec_run *run, struct cv_attempt *attempt,
                                   const struct cv_failure_decision *sentence,
                                   struct cleave_error *err);
/* Put it among those that are to be done again, before all that is new. */
enum cleave_status cv_chunk_again(struct cv_exec_run *run,
                                  const struct cv_attempt *attempt,
                                  struct cleave_error *err);

/* It was lost with so many hosts, and is given up: the chunk is over. */
enum cleave_status cv_chunk_poisoned(struct cv_exec_run *run, struct cv_attempt *attempt,
                                     uint32_t hosts, struct cleave_error *err);

/* It is to be done again after some of its output was written (`early`): that is kept, for another
 * one has to begin with it. */
void cv_chunk_keep_written_prefix(struct cv_attempt *attempt);
/* It was lost with its host, and lines of it have been written: it is given up, and is over. */
enum cleave_status cv_chunk_output_truncated(struct cv_exec_run *run,
                                             struct cv_attempt *attempt,
                                             struct cleave_error *err);

/* It was done again, and what was written of it before is not how its output begins: it is given
 * up, and is over. */
enum cleave_status cv_chunk_output_mismatch(struct cv_exec_run *run,
                                            struct cv_attempt *attempt,
                                            struct cleave_error *err);

/* One has not failed: perhaps that is all that was wanted. */
void cv_chunk_succeeded(struct cv_exec_run *run);

/* The command of a chunk could not be started, as `why` says: the chunk, which is whole, is tried
 * again, before anything new. false: that is of no use any more. */
bool cv_chunk_put_off(struct cv_exec_run *run, const struct cv_attempt *attempt,
                      const struct cleave_error *why);

#endif
