/* cluster.h -- ranks of one machine reduce among themselves first.
 * SPDX-License-Identifier: MIT
 *
 * A partial that crosses from one machine to another takes longer, and all that cross share
 * a link. So the ranks of a machine make one of theirs, by the dynamic policy of the call (for
 * tree-replan by tree-dyn) and in memory that they share, and the first rank of each machine takes part in a reduction of
 * these: from a machine of n ranks one partial crosses, not n. Machines are what
 * MPI_Comm_split_type says, or as many ranks in a row as the setting machine=N. */
#ifndef CV_CLUSTER_H
#define CV_CLUSTER_H
#include "mpi/reduce/mpi_call.h"

struct cv_cluster;

/* Whether a call is to be carried out so: there are several machines, one of them with
 * several ranks, and, if order matters, those of each stand in a row. Collective at its first
 * call on a team. */
int cv_cluster_fits(const struct cv_mpi_call *call, enum cv_mpi_policy policy,
                    struct cv_comm_state *state, bool *out);
/* Carry it out, to the root. */
int cv_cluster_run(const struct cv_mpi_call *call, enum cv_mpi_policy policy,
                   struct cv_comm_state *state);
/* How many machines partials cross between; 0: none do, as far as is known. NULL is fine. */
int cv_cluster_machines(const struct cv_cluster *cluster);

#endif
