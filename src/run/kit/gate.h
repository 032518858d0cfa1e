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
    uint64_t most_files;   /* descriptors of this process; 0: any number               */
    double next_s;         /* not before then                                          */
    double room_s;         /* nor before then: there was no room for another one       */
    double crowded_s;      /* since when there is none; 0: there was for the last one  */
    struct cv_timer timer;
};

/* Whether a command may begin now. If not, the poller will wake up. */
enum cleave_status cv_gate_look(struct cv_gate *gate, struct cv_poller *poller, bool *out,
                                struct cleave_error *err);
/* One has begun. */
void cv_gate_passed(struct cv_gate *gate);

/* One could not begin for want of processes or descriptors, and is tried again: not at once. With
 * `busy`, others are under way whose end makes room; without, it is worth a few seconds.
 * false: there has been no room for longer. */
bool cv_gate_wait(struct cv_gate *gate, struct cv_poller *poller, bool busy);
/* Whether that was a moment ago, and nothing has ended since. */
bool cv_gate_is_crowded(const struct cv_gate *gate);
/* There was room for one; something has ended. */
void cv_gate_begun(struct cv_gate *gate);
void cv_gate_ended(struct cv_gate *gate);

/* What most_files is by the limits of this process. */
uint64_t cv_gate_files(void);
/* Whether it could be that descriptors do not suffice for so many workers. */
bool cv_gate_is_narrow(const struct cv_gate *gate, uint32_t workers);
/* Whether there are some for another command, beside those that `busy` others may need yet. */
bool cv_gate_has_files(const struct cv_gate *gate, struct cv_poller *poller,
                       uint32_t busy);

#endif
