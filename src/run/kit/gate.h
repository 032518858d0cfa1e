/* gate.h -- when this machine may begin another command. SPDX-License-Identifier: MIT
 *
 * So long after the last one, while it is not too busy and has memory left. Whoever finds
 * it closed is woken when it is worth another look. */
#ifndef CV_GATE_H
#define CV_GATE_H
#include <stdint.h>
#include "run/kit/poller.h"

/* All zero: it is always open. */
struct cv_gate {
    double delay_s;        /* between two commands                                     */
    double most_load;      /* processes that run or want to, on average; 0: any number */
    uint64_t least_memory; /* bytes that nobody uses; 0: none need be                   */
    double next_s;         /* not before then                                          */
    struct cv_timer timer;
};

/* Whether a command may begin now. If not, the poller will wake up. */
enum cleave_status cv_gate_look(struct cv_gate *gate, struct cv_poller *poller, bool *out,
                                struct cleave_error *err);
/* One has begun. */
void cv_gate_passed(struct cv_gate *gate);

#endif
