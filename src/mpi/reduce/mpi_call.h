/* mpi_call.h -- execution of a call of the public interface.
 * SPDX-License-Identifier: MIT */
#ifndef CV_MPI_CALL_H
#define CV_MPI_CALL_H
#include "mpi/reduce/reduction.h"

/* The state of the communicator; NULL if the MPI library is to execute the call: there is
 * nothing to gain, or it reports wrong arguments. Local. */
int cv_call_state(const struct cv_mpi_call *call, struct cv_comm_state **out);

enum { CV_SHORT_BYTES = 4096 };

/* Whether auto leaves a call to the MPI library because of its size, which is the same
 * on all ranks. False on ranks with incomplete reductions, which cv_call_do completes
 * first. */
bool cv_call_is_short(int count, MPI_Datatype type);

int cv_call_policy(const char *name, enum cv_mpi_policy *out);

/* cleave_mpi_reduce and the like. *out_ours: whether a policy decided or executed the
 * call; may be NULL. */
int cv_call_do(const struct cv_mpi_call *call, enum cv_mpi_policy policy, bool *out_ours);

/* Complete a reduce-scatter call, which has buffers, type, operator and communicator:
 * with a number of elements for each rank or, if `counts` is NULL, `block` elements each.
 * False: left to cv_parts_by_mpi (no elements, more than an int can count, or wrong
 * arguments). */
bool cv_parts_fill(struct cv_mpi_call *call, const int *counts, int block);
int cv_parts_by_mpi(const struct cv_mpi_call *call);

/* The address of a buffer that Fortran passes: its MPI_IN_PLACE and MPI_BOTTOM become
 * those of C. */
void *cv_fortran_address(void *address);

#endif
