/* shared_pair.h -- a reduction between two ranks of one machine. SPDX-License-Identifier: MIT
 *
 * With two ranks there is nobody to choose. Whoever does not want the result leaves its vector
 * in its bay, segment by segment, and goes; whoever wants it combines what is there with its own.
 * Where both want it both do both, at the same time, or, if it is long, the second to come makes it
 * where the first has left its own. Each byte passes from one processor to the
 * other once, and no message is sent. */
#ifndef CV_SHARED_PAIR_H
#define CV_SHARED_PAIR_H
#include "mpi/reduce/mpi_call.h"

/* Whether a call for which shared_sum.h fits is one for this. */
bool cv_shared_pair_fits(const struct cv_mpi_call *call,
                         const struct cv_comm_state *state);
int cv_shared_pair_run(const struct cv_mpi_call *call, struct cv_comm_state *state);

#endif
