/* mpi_call.h -- a call of the public interface, checked and ready to be carried out.
 * SPDX-License-Identifier: MIT */
#ifndef CV_MPI_CALL_H
#define CV_MPI_CALL_H
#include <stdbool.h>
#include <mpi.h>
#include "mpi/reduction.h"

struct cv_call {
    const void *send;
    void *recv;
    int count;
    MPI_Datatype type;
    MPI_Op op;
    int root;
    bool to_all;
    MPI_Comm comm;
};

/* Whether the MPI library is to do it: there is nothing to gain, or it is to report the
 * mistake in the arguments. */
bool cv_call_is_for_mpi(const struct cv_call *call);
bool cv_call_is_mistaken(const struct cv_call *call, struct cv_team *team);
int cv_call_mpi(const struct cv_call *call);

/* Make `r` ready for its turn, with a policy other than auto. Says what is wrong. */
int cv_call_begin(const struct cv_call *call, enum cv_mpi_policy policy,
                  struct cv_team *team, struct cv_reduction *r);
/* The same, to the end, and the result sent to all if they want it. */
int cv_call_run(const struct cv_call *call, enum cv_mpi_policy policy,
                struct cv_team *team);
/* The policy of a name, or the error. */
int cv_call_policy(const char *name, enum cv_mpi_policy *out);

/* What cleave_mpi_reduce and cleave_mpi_allreduce do. */
int cv_call_do(const struct cv_call *call, enum cv_mpi_policy policy);

#endif
