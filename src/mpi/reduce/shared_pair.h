/* shared_pair.h -- a vector from one rank to the only other, on one machine.
 * SPDX-License-Identifier: MIT
 *
 * With two ranks there is nobody to choose. The one that does not want the result leaves its
 * vector in its bay, segment by segment, and goes; the root combines what is there with its own.
 * Each byte passes from one processor to the other once, and no message is sent. */
#ifndef CV_SHARED_PAIR_H
#define CV_SHARED_PAIR_H
#include "mpi/reduce/mpi_call.h"

/* Whether a call for which shared_sum.h fits is one for this. */
bool cv_shared_pair_fits(const struct cv_mpi_call *call, const struct cv_team *team);
int cv_shared_pair_run(const struct cv_mpi_call *call, struct cv_team *team);

#endif
