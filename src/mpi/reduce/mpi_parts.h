/* mpi_parts.h -- reductions whose result is shared out: MPI_Reduce_scatter.
 * SPDX-License-Identifier: MIT */
#ifndef CV_MPI_PARTS_H
#define CV_MPI_PARTS_H
#include <stdbool.h>
#include "mpi/reduce/mpi_call.h"

/* Fill in the call for parts of these lengths, one for each rank; or, if `counts` is NULL,
 * of `block` elements each. False: nothing for us (no elements, or more than an int can
 * count, or mistakes); the MPI library is to see it. `call` has the buffers, type, operator
 * and communicator. */
bool cv_parts_fill(struct cv_mpi_call *call, const int *counts, int block);

/* By the MPI library. */
int cv_parts_by_mpi(const struct cv_mpi_call *call);

/* Where the vector is reduced to: at the root memory of the team or, if all is in place, the
 * buffer it was given. NULL elsewhere, and where memory is short, which *out_code says. */
void *cv_parts_whole(const struct cv_mpi_call *call, struct cv_comm_state *state,
                     int *out_code);
/* The root has the vector there: everybody gets its part. */
int cv_parts_share(const struct cv_mpi_call *call, struct cv_comm_state *state,
                   const void *whole);

#endif
