/* mpi_call.h -- a call of the public interface, checked and ready to be carried out.
 * SPDX-License-Identifier: MIT */
#ifndef CV_MPI_CALL_H
#define CV_MPI_CALL_H
#include <mpi.h>
#include <stdbool.h>
#include "mpi/reduce/reduction.h"

/* The team that is to carry out a call, or NULL where the MPI library is: there is
 * nothing to gain, or it is to report the mistake in the arguments. Local. */
int cv_call_team(const struct cv_mpi_call *call, struct cv_comm_state **out);

enum { CV_SHORT_BYTES = 4096 };

/* Whether "auto" hands a call on to the MPI library at once: because of its size alone,
 * which is the same on all ranks. Says no, for this rank, where reductions begun before
 * are to be ended first; cv_call_do sees to that. */
bool cv_call_is_short(int count, MPI_Datatype type);

/* The policy of a name, or the error. */
int cv_call_policy(const char *name, enum cv_mpi_policy *out);

/* What cleave_mpi_reduce and cleave_mpi_allreduce do. *out_ours: whether there was
 * anything to decide or to do here, before the MPI library; may be NULL. */
int cv_call_do(const struct cv_mpi_call *call, enum cv_mpi_policy policy, bool *out_ours);

/* Fill in the call for parts of these lengths, one for each rank; or, if `counts` is NULL,
 * of `block` elements each. False: nothing for us (no elements, or more than an int can
 * count, or mistakes); the MPI library is to see it. `call` has the buffers, type, operator
 * and communicator. */
bool cv_parts_fill(struct cv_mpi_call *call, const int *counts, int block);

/* By the MPI library. */
int cv_parts_by_mpi(const struct cv_mpi_call *call);

struct cv_cluster;

/* Whether a call is to be carried out so: there are several machines, one of them with
 * several ranks, and, if order matters, those of each stand in a row. Collective at its first
 * call on a team. */
int cv_cluster_fits(const struct cv_mpi_call *call, enum cv_mpi_policy policy,
                    struct cv_comm_state *state, bool *out);
/* How many machines partials cross between; 0: none do, as far as is known. NULL is fine. */
int cv_cluster_machines(const struct cv_cluster *cluster);

/* An address as C knows it: MPI_IN_PLACE and MPI_BOTTOM of Fortran are those of C. */
void *cv_fortran_address(void *address);

#endif
