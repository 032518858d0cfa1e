/* mpi.h -- reductions for MPI programs. SPDX-License-Identifier: MIT
 *
 * Link with libcleave-mpi of the MPI in use. The arguments are those of MPI_Reduce, and a
 * policy: its name, or NULL for "auto".
 *
 *     "tree-dyn"          whoever is done sends to whoever waits; the operator commutes
 *     "ordered-tree-dyn"  whoever is done sends to an idle neighbour; the order is kept
 *     "tree-replan"       the root says who sends to whom as ranks come; messages only
 *     "greedy"            the shortest tree for the costs measured or given, in segments
 *     "binomial"          the usual tree, in segments; the same bits in every run
 *     "fibonacci"         the tree that is shortest when sending costs what combining does
 *     "mpi"               MPI_Reduce of the MPI library
 *     "auto"              whichever of these was measured to be best on the communicator
 *     "fixed"             "binomial", under a name that says what it is for
 *
 * Every call returns an MPI error code, and raises it through the error handler of the
 * communicator first. All ranks of a communicator make the same calls in the same order.
 * Calls on one communicator, cleave_mpi_test and cleave_mpi_wait among them, are made by
 * one thread at a time.
 *
 * The first call on a communicator sets up what is kept with it until it is freed; it
 * waits for the others. */
#ifndef CLEAVE_MPI_H
#define CLEAVE_MPI_H
#include <mpi.h>
#include <cleave/error.h>

CLEAVE_BEGIN_C

/* MPI_Reduce: any datatype, operator, count and root, MPI_IN_PLACE at the root; on an
 * inter-communicator it is MPI_Reduce itself. An operator that does not commute is applied
 * in the order of the ranks, and refused by "tree-dyn"
 * and "tree-replan". */
int cleave_mpi_reduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype type,
                      MPI_Op op, int root, MPI_Comm comm, const char *policy);

/* MPI_Allreduce, as a reduction to rank 0 that is then broadcast, or in memory that all ranks
 * share. "mpi" is MPI_Allreduce. */
int cleave_mpi_allreduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype type,
                         MPI_Op op, MPI_Comm comm, const char *policy);

/* MPI_Reduce_scatter and MPI_Reduce_scatter_block, as a reduction to rank 0 whose parts are
 * sent from there. "mpi" is the MPI library's own. */
int cleave_mpi_reduce_scatter(const void *sendbuf, void *recvbuf, const int recvcounts[],
                              MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                              const char *policy);
int cleave_mpi_reduce_scatter_block(const void *sendbuf, void *recvbuf, int recvcount,
                                    MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                                    const char *policy);

/* A reduction under way. */
struct cleave_mpi_request;

/* The same without waiting. The buffers belong to the reduction until it is done. It
 * advances in cleave_mpi_test, cleave_mpi_wait and other calls on that communicator.
 * *request is set to NULL when it is done and forgotten. */
int cleave_mpi_ireduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype type,
                       MPI_Op op, int root, MPI_Comm comm, const char *policy,
                       struct cleave_mpi_request **request);
int cleave_mpi_test(struct cleave_mpi_request **request, int *flag);
int cleave_mpi_wait(struct cleave_mpi_request **request);

/* Set up what the first reduction would set up. Collective. */
int cleave_mpi_prepare(MPI_Comm comm);

/* Settings of a communicator, the same on all ranks; collective, before other calls have
 * used what they change. Words separated by commas:
 *
 *     transfer=TIME   what sending the vector takes, for "greedy" (10us, 2ms, ...)
 *     combine=TIME    what combining two vectors takes, for "greedy"
 *     segment=SIZE    the piece in which long vectors travel (64KiB, ...)
 *     machine=RANKS   so many ranks in a row reduce among themselves first, in the dynamic
 *                     policies; without it, the ranks of one machine do. 1: nobody does
 *     share=SIZE      tree-dyn on one machine shares at most so much memory, 64 MiB unless
 *                     given: vectors of more than that by twice the number of ranks are sent
 *     slices=RANKS    tree-replan cuts vectors into so many slices, up to 16, each of which
 *                     one rank combines; without it, where that pays. 1: never
 *     board=window    meet in an MPI window even where memory is shared */
int cleave_mpi_tune(MPI_Comm comm, const char *settings);

/* Name of policy `index`, from 0 on; NULL past the last one. Static. */
const char *cleave_mpi_policy_name(int index);

CLEAVE_END_C
#endif
