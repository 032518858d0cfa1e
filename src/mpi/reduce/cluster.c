/* cluster.c -- ranks of one machine reduce among themselves first.
 * SPDX-License-Identifier: MIT */
#include "mpi/reduce/cluster.h"

#include <stdlib.h>

#include "mpi/memory/mpi_try.h"
#include "mpi/reduce/shared_sum.h"

struct cv_cluster {
    int machines;
    bool useful;   /* several machines, one of them with several ranks         */
    bool in_a_row; /* the ranks of each are neighbours                          */
    MPI_Comm machine, fore; /* owned: this machine's ranks; the first ranks of all, or
                               MPI_COMM_NULL                                            */
    struct cv_comm_state *inside,
        *across; /* owned: of these                                  */
    int *
        first; /* owned: for each rank, the first one of its machine, by its number in `fore` */
    struct cv_scratch held;
};

/* Collective, as what it frees. */
static void free_cluster(struct cv_cluster *cluster)
{
    if (cluster->inside != NULL)
        cv_comm_state_free(cluster->inside);
    if (cluster->across != NULL)
        cv_comm_state_free(cluster->across);
    if (cluster->machine != MPI_COMM_NULL)
        PMPI_Comm_free(&cluster->machine);
    if (cluster->fore != MPI_COMM_NULL)
        PMPI_Comm_free(&cluster->fore);
    cv_scratch_free(&cluster->held);
    free(cluster->first);
    free(cluster);
}

static int split(const struct cv_comm_state *state, MPI_Comm *out)
{
    const int ranks = state->settings.machine_ranks;

    if (ranks > 0)
        return PMPI_Comm_split(state->comm, state->rank / ranks, state->rank, out);
    return PMPI_Comm_split_type(state->comm, MPI_COMM_TYPE_SHARED, state->rank,
                                MPI_INFO_NULL, out);
}

/* Who is where: all know the number in `fore` of everybody's machine. */
static int look(struct cv_cluster *cluster, const struct cv_comm_state *state)
{
    int ranks, max, machines = 0, index = 0;
    int rows = 1;

    CV_MPI_TRY(PMPI_Comm_size(cluster->machine, &ranks));
    if (cluster->fore != MPI_COMM_NULL)
        CV_MPI_TRY(PMPI_Comm_rank(cluster->fore, &index));
    CV_MPI_TRY(PMPI_Bcast(&index, 1, MPI_INT, 0, cluster->machine));
    CV_MPI_TRY(
        PMPI_Allgather(&index, 1, MPI_INT, cluster->first, 1, MPI_INT, state->comm));
    CV_MPI_TRY(PMPI_Allreduce(&ranks, &max, 1, MPI_INT, MPI_MAX, state->comm));
    for (int i = 0; i < state->size; i++) {
        machines = cluster->first[i] >= machines ? cluster->first[i] + 1 : machines;
        rows += i > 0 && cluster->first[i] != cluster->first[i - 1];
    }
    cluster->machines = machines;
    cluster->useful = machines > 1 && max > 1;
    cluster->in_a_row = rows == machines;
    return MPI_SUCCESS;
}

static int make(struct cv_cluster *cluster, struct cv_comm_state *state)
{
    int here, ranks;

    cluster->machine = cluster->fore = MPI_COMM_NULL;
    /* One call tells, in general. With MPICH and more ranks than processors what follows
     * takes as long as a few reductions. */
    if (state->settings.machine_ranks == 0) {
        CV_MPI_TRY(cv_link_costs_look(&state->costs, state->comm));
        if (state->costs.together)
            return MPI_SUCCESS;
    }
    cluster->first = malloc((size_t)state->size * sizeof *cluster->first);
    if (cluster->first == NULL)
        return MPI_ERR_NO_MEM;
    CV_MPI_TRY(split(state, &cluster->machine));
    CV_MPI_TRY(PMPI_Comm_rank(cluster->machine, &here));
    CV_MPI_TRY(PMPI_Comm_size(cluster->machine, &ranks));
    if (ranks == state->size)
        return MPI_SUCCESS; /* all are here */
    CV_MPI_TRY(PMPI_Comm_split(state->comm, here == 0 ? 0 : MPI_UNDEFINED, state->rank,
                               &cluster->fore));
    CV_MPI_TRY(look(cluster, state));
    if (!cluster->useful)
        return MPI_SUCCESS;
    CV_MPI_TRY(cv_comm_state_new(cluster->machine, &state->settings, &cluster->inside));
    cluster->inside->settings.machine_ranks = 1; /* there are no machines within one */
    CV_MPI_TRY(cv_comm_state_open(cluster->inside));
    if (cluster->fore == MPI_COMM_NULL)
        return MPI_SUCCESS;
    CV_MPI_TRY(cv_comm_state_new(cluster->fore, &state->settings, &cluster->across));
    return cv_comm_state_open(cluster->across);
}

int cv_cluster_fits(const struct cv_mpi_call *call, enum cv_mpi_policy policy,
                    struct cv_comm_state *state, bool *out)
{
    int commutes = 0;

    *out = false;
    if ((policy != CV_MPI_TREE_DYN && policy != CV_MPI_ORDERED &&
         policy != CV_MPI_TREE_REPLAN) ||
        state->settings.machine_ranks == 1 || state->size < 3)
        return MPI_SUCCESS;
    if (state->cluster == NULL) {
        /* Others may be in a reduction that was begun before, and wait for this rank. */
        CV_MPI_TRY(cv_reduction_drain(state));
        state->cluster = calloc(1, sizeof *state->cluster);
        if (state->cluster == NULL)
            return MPI_ERR_NO_MEM;
        state->free_cluster = free_cluster;
        CV_MPI_TRY(make(state->cluster, state));
    }
    CV_MPI_TRY(PMPI_Op_commutative(call->op, &commutes));
    *out = state->cluster->useful &&
           (policy == CV_MPI_ORDERED ? state->cluster->in_a_row : commutes != 0);
    return MPI_SUCCESS;
}

static int reduce(const struct cv_mpi_call *call, enum cv_mpi_policy policy,
                  struct cv_comm_state *state)
{
    struct cv_reduction r;
    bool shares;

    if (state->broken != MPI_SUCCESS)
        return state->broken;
    if (state->size == 1) {
        struct cv_vector vector;

        if (call->send == MPI_IN_PLACE)
            return MPI_SUCCESS;
        CV_MPI_TRY(cv_vector_init(&vector, call->count, call->type, call->op));
        return cv_vector_copy(&vector, call->send, call->recv, call->count, state->comm,
                              0);
    }
    CV_MPI_TRY(cv_shared_sum_fits(call, policy, state, &shares));
    if (shares)
        return cv_shared_sum_run(call, state);
    CV_MPI_TRY(cv_call_begin(call, policy, state, &r));
    r.blocks = true;
    return cv_reduction_drive(&r, true);
}

/* The result is with the first rank of the root's machine: the root wants it. */
static int hand_over(const struct cv_mpi_call *call, const struct cv_cluster *cluster,
                     const struct cv_comm_state *state, const void *held)
{
    int from = 0;

    while (cluster->first[from] != cluster->first[call->root])
        from++;
    if (from == call->root)
        return MPI_SUCCESS;
    if (state->rank == from)
        return PMPI_Send(held, call->count, call->type, call->root, CV_TAG_RESULT,
                         state->comm);
    if (state->rank == call->root)
        return PMPI_Recv(call->recv, call->count, call->type, from, CV_TAG_RESULT,
                         state->comm, MPI_STATUS_IGNORE);
    return MPI_SUCCESS;
}

int cv_cluster_run(const struct cv_mpi_call *call, enum cv_mpi_policy policy,
                   struct cv_comm_state *state)
{
    struct cv_cluster *cluster = state->cluster;
    struct cv_mpi_call part = *call;
    char *held = NULL;

    /* What was begun before comes first: others may wait for it. */
    CV_MPI_TRY(cv_reduction_drain(state));
    if (call->send == MPI_IN_PLACE)
        part.send = call->recv;
    if (cluster->across != NULL && state->rank == call->root) {
        held = call->recv;
        if (call->send == MPI_IN_PLACE)
            part.send = MPI_IN_PLACE;
    } else if (cluster->across != NULL) {
        struct cv_vector vector;

        CV_MPI_TRY(cv_vector_init(&vector, call->count, call->type, call->op));
        held = cv_scratch_get(&cluster->held, vector.span);
        if (held == NULL)
            return MPI_ERR_NO_MEM;
        held -= vector.lower;
    }
    part.recv = held;
    part.root = 0;
    part.reach = CV_TO_ROOT;
    /* Inside they have memory to meet in. */
    CV_MPI_TRY(reduce(&part, policy == CV_MPI_TREE_REPLAN ? CV_MPI_TREE_DYN : policy,
                      cluster->inside));
    if (cluster->across != NULL) {
        part.root = cluster->first[call->root];
        part.send = cluster->across->rank == part.root ? MPI_IN_PLACE : held;
        CV_MPI_TRY(reduce(&part, policy, cluster->across));
    }
    return hand_over(call, cluster, state, held);
}

int cv_cluster_machines(const struct cv_cluster *cluster)
{
    return cluster != NULL && cluster->useful ? cluster->machines : 0;
}
