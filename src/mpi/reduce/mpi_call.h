/* mpi_call.h -- a call of the public interface, checked and ready to be carried out.
 * SPDX-License-Identifier: MIT */
#ifndef CV_MPI_CALL_H
#define CV_MPI_CALL_H
#include <stdbool.h>
#include <mpi.h>
#include "mpi/reduce/reduction.h"

struct cv_mpi_call {
    const void *send;
    void *recv;
    int count;
    MPI_Datatype type;
    MPI_Op op;
    int root;
    enum cv_mpi_reach reach;
    MPI_Comm comm;
    const int *parts; /* to parts: elements of each rank's; NULL: `block` of them */
    int block;
};

/* The team that is to carry out a call, or NULL where the MPI library is: there is
 * nothing to gain, or it is to report the mistake in the arguments. Local. */
int cv_call_team(const struct cv_mpi_call *call, struct cv_comm_state **out);

enum { CV_SHORT_BYTES = 4096 };

/* Whether "auto" hands a call on to the MPI library at once: because of its size alone,
 * which is the same on all ranks. Says no, for this rank, where reductions begun before
 * are to be ended first; cv_call_do sees to that. */
bool cv_call_is_short(int count, MPI_Datatype type);

/* Make `r` ready for its turn, with a policy other than auto. Says what is wrong. */
int cv_call_begin(const struct cv_mpi_call *call, enum cv_mpi_policy policy,
                  struct cv_comm_state *state, struct cv_reduction *r);
/* The policy of a name, or the error. */
int cv_call_policy(const char *name, enum cv_mpi_policy *out);

/* What cleave_mpi_reduce and cleave_mpi_allreduce do. *out_ours: whether there was
 * anything to decide or to do here, before the MPI library; may be NULL. */
int cv_call_do(const struct cv_mpi_call *call, enum cv_mpi_policy policy, bool *out_ours);

#endif
