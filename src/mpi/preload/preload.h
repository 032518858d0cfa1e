/* preload.h -- what the parts of the preload share. SPDX-License-Identifier: MIT */
#ifndef CV_PRELOAD_H
#define CV_PRELOAD_H
#include <stdbool.h>
#include <mpi.h>
#include "mpi/reduce/mpi_call.h"

/* What CLEAVE_MPI says, read at the first call; a mistake in it is told and ends the
 * program. */
struct cv_preload {
    bool ready, verbose;
    bool hands_on; /* short vectors, at once */
    enum cv_mpi_policy policy;
    double reductions, handed_on; /* calls taken over; left to MPI at once */
};

/* MPI has been initialised, on all ranks. */
void cv_preload_start(void);
/* MPI_Reduce and MPI_Allreduce of the program. */
int cv_preload_call(const struct cv_mpi_call *call);
/* MPI_Reduce_scatter, with counts, and MPI_Reduce_scatter_block, without. */
int cv_preload_parts(struct cv_mpi_call *call, const int *counts, int block);

/* Tell what was chosen and gained, where CLEAVE_MPI asks for it. */
void cv_preload_report(const struct cv_comm_state *state);
void cv_preload_sum_up(const struct cv_preload *preload);

#endif
