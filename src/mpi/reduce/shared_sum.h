/* shared_sum.h -- tree-dyn among ranks of one machine. SPDX-License-Identifier: MIT
 *
 * Where all ranks share memory partials lie in it: whoever comes second at a pair combines
 * its own partial into the other's and goes on with that. Nobody waits for a message before
 * its partial is in good hands. The last one to come combines its vector into the sum of all
 * others segment by segment, and whoever wants the result takes what is ready from there: it is
 * not sent. */
#ifndef CV_SHARED_SUM_H
#define CV_SHARED_SUM_H
#include "mpi/reduce/mpi_call.h"

/* Whether a call is one for this: collective, the first time and when vectors get longer. */
int cv_shared_sum_fits(const struct cv_mpi_call *call, enum cv_mpi_policy policy,
                       struct cv_comm_state *state, bool *out);
/* To the end, after what was begun before. */
int cv_shared_sum_run(const struct cv_mpi_call *call, struct cv_comm_state *state);

#endif
