/* comm_state.c -- what is kept with a communicator between reductions.
 * SPDX-License-Identifier: MIT */
#include "mpi/reduce/comm_state.h"

#include <stdlib.h>

#include "mpi/memory/mpi_try.h"

static int fill(struct cv_comm_state *state, MPI_Comm comm)
{
    state->users = comm;
    state->comm = MPI_COMM_NULL;
    state->broken = MPI_SUCCESS;
    state->costs.agreeing = state->chooser.agreeing = MPI_REQUEST_NULL;
    state->checked_op = MPI_OP_NULL;
    state->checked_type = MPI_DATATYPE_NULL;
    CV_MPI_TRY(PMPI_Comm_rank(comm, &state->rank));
    return PMPI_Comm_size(comm, &state->size);
}

int cv_comm_state_new(MPI_Comm comm, const struct cv_mpi_settings *settings,
                      struct cv_comm_state **out)
{
    struct cv_comm_state *state = calloc(1, sizeof *state);
    int code;

    if (state == NULL)
        return MPI_ERR_NO_MEM;
    state->settings = *settings;
    code = fill(state, comm);
    if (code != MPI_SUCCESS) {
        cv_comm_state_free(state);
        return code;
    }
    *out = state;
    return MPI_SUCCESS;
}

/* MPI_Comm_dup would call the functions that programs keep with their attributes, each time. */
static int copy_of(MPI_Comm users, MPI_Comm *out)
{
    MPI_Group group;
    int code;

    CV_MPI_TRY(PMPI_Comm_group(users, &group));
    code = PMPI_Comm_create(users, group, out);
    PMPI_Group_free(&group);
    return code;
}

/* That none is left is not the program's error, which its handler would take it for. */
int cv_comm_state_open(struct cv_comm_state *state)
{
    MPI_Comm copy = MPI_COMM_NULL;
    MPI_Errhandler theirs;
    int code;

    if (state->comm != MPI_COMM_NULL)
        return MPI_SUCCESS;
    CV_MPI_TRY(PMPI_Comm_get_errhandler(state->users, &theirs));
    CV_MPI_TRY(PMPI_Comm_set_errhandler(state->users, MPI_ERRORS_RETURN));
    code = copy_of(state->users, &copy);
    PMPI_Comm_set_errhandler(state->users, theirs);
    PMPI_Errhandler_free(&theirs);
    if (code != MPI_SUCCESS)
        return code;
    state->comm = copy;
    return PMPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN);
}

void cv_comm_state_close(struct cv_comm_state *state)
{
    if (state->comm != MPI_COMM_NULL)
        PMPI_Comm_free(&state->comm);
}

int cv_comm_state_board(struct cv_comm_state *state)
{
    if (state->atomics.made)
        return MPI_SUCCESS;
    return cv_atomic_words_make(&state->atomics, state->comm, state->size + 1,
                                !state->settings.window);
}

/* Collective, since windows are: MPI calls it where the communicator is freed. */
void cv_comm_state_free(struct cv_comm_state *state)
{
    if (state->costs.agreeing != MPI_REQUEST_NULL)
        PMPI_Wait(&state->costs.agreeing, MPI_STATUS_IGNORE);
    if (state->replanning != NULL)
        state->free_replanning(state->replanning);
    if (state->cluster != NULL)
        state->free_cluster(state->cluster);
    cv_chooser_free(&state->chooser);
    cv_atomic_words_free(&state->atomics);
    cv_shared_vectors_free(&state->vectors);
    cv_tree_plan_free(&state->plan);
    free(state->costs.rank_s);
    cv_scratch_free(&state->whole);
    cv_scratch_free(&state->berths);
    cv_scratch_free(&state->parted);
    cv_comm_state_close(state);
    free(state);
}
