/* mpi.h -- reductions for MPI programs. SPDX-License-Identifier: MIT
 *
 * Link with libcleave-mpi of the MPI in use. The arguments are the arguments of
 * MPI_Reduce and the name of a policy, or NULL for "auto".
 *
 *     "tree-dyn"          a finished rank sends to any waiting rank; needs commutativity
 *     "ordered-tree-dyn"  a finished rank sends to an idle neighbour; the order is kept
 *     "tree-replan"       the root plans the messages as ranks arrive; no shared memory
 *     "greedy"            the shortest tree for the measured or given costs, in segments
 *     "binomial"          the usual tree, in segments; the same bits in every run
 *     "fibonacci"         the shortest tree if sending and combining cost the same
 *     "mpi"               MPI_Reduce of the MPI library
 *     "auto"              the policy that was measured to be best on the communicator
 *     "fixed"             another name of "binomial"
 *
 * Every call first raises an error through the error handler of the communicator, then
 * returns its MPI error code. All ranks of a communicator make the same calls in the same
 * order. Calls on one communicator, cleave_mpi_test and cleave_mpi_wait among them, are
 * made by one thread at a time.
 *
 * The first call on a communicator is collective: it waits for all ranks and sets up a
 * state that is kept until the communicator is freed. */
#ifndef CLEAVE_MPI_H
#define CLEAVE_MPI_H
#include <mpi.h>
#include <cleave/error.h>

CLEAVE_BEGIN_C

/* MPI_Reduce: any datatype, operator, count and root, MPI_IN_PLACE at the root; on an
 * inter-communicator it is MPI_Reduce itself. An operator that does not commute is
 * applied in the order of the ranks; "tree-dyn" and "tree-replan" refuse it. */
int cleave_mpi_reduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype type,
                      MPI_Op op, int root, MPI_Comm comm, const char *policy);

/* MPI_Allreduce, as a reduction to rank 0 that is then broadcast, or in memory that all ranks
 * share. "mpi" is MPI_Allreduce. */
int cleave_mpi_allreduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype type,
                         MPI_Op op, MPI_Comm comm, const char *policy);

/* MPI_Reduce_scatter and MPI_Reduce_scatter_block, as a reduction to rank 0, which then
 * sends each rank its part. "mpi" is the MPI library's own. */
int cleave_mpi_reduce_scatter(const void *sendbuf, void *recvbuf, const int recvcounts[],
                              MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                              const char *policy);
int cleave_mpi_reduce_scatter_block(const void *sendbuf, void *recvbuf, int recvcount,
                                    MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                                    const char *policy);

/* A reduction in progress. */
struct cleave_mpi_request;

/* cleave_mpi_reduce without waiting. The buffers belong to the reduction until it is
 * done. It advances in cleave_mpi_test, cleave_mpi_wait and other calls on that
 * communicator. When the reduction is done, it is released and *request is set to
 * NULL. */
int cleave_mpi_ireduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype type,
                       MPI_Op op, int root, MPI_Comm comm, const char *policy,
                       struct cleave_mpi_request **request);
int cleave_mpi_test(struct cleave_mpi_request **request, int *flag);
int cleave_mpi_wait(struct cleave_mpi_request **request);

/* Set up the state that the first reduction would set up. Collective. */
int cleave_mpi_prepare(MPI_Comm comm);

/* Settings of a communicator, the same on all ranks; collective, before a call has used
 * the settings that change. Words separated by commas:
 *
 *     transfer=TIME   time to send the vector, for "greedy" (10us, 2ms, ...)
 *     combine=TIME    time to combine two vectors, for "greedy"
 *     segment=SIZE    size of the segments of long vectors (64KiB, ...)
 *     machine=RANKS   the dynamic policies first reduce groups of this many consecutive
 *                     ranks; 1: no groups. Default: the ranks of each machine
 *     share=SIZE      memory limit of tree-dyn on one machine, 64 MiB by default: vectors
 *                     that need more than SIZE / (2 ranks) are sent instead of shared
 *     slices=RANKS    tree-replan cuts vectors into this many slices, at most 16, and one
 *                     rank combines each slice; 1: never. Default: if slices are faster
 *     board=window    meet in an MPI window even if memory is shared */
int cleave_mpi_tune(MPI_Comm comm, const char *settings);

/* Name of policy `index`; the first is 0. NULL after the last policy. Static. */
const char *cleave_mpi_policy_name(int index);

CLEAVE_END_C
#endif
