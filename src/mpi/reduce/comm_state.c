/* comm_state.c -- what is kept with a communicator between reductions.
 * SPDX-License-Identifier: MIT */
#include "mpi/reduce/comm_state.h"

#include <stdlib.h>

#include "mpi/memory/mpi_try.h"

static int fill(struct cv_comm_state *team, MPI_Comm comm)
{
    team->users = comm;
    team->comm = MPI_COMM_NULL;
    team->broken = MPI_SUCCESS;
    team->costs.agreeing = team->chooser.agreeing = MPI_REQUEST_NULL;
    team->checked_op = MPI_OP_NULL;
    team->checked_type = MPI_DATATYPE_NULL;
    CV_MPI_TRY(PMPI_Comm_rank(comm, &team->rank));
    return PMPI_Comm_size(comm, &team->size);
}

int cv_comm_state_new(MPI_Comm comm, const struct cv_mpi_settings *settings,
                      struct cv_comm_state **out)
{
    struct cv_comm_state *team = calloc(1, sizeof *team);
    int code;

    if (team == NULL)
        return MPI_ERR_NO_MEM;
    team->settings = *settings;
    code = fill(team, comm);
    if (code != MPI_SUCCESS) {
        cv_comm_state_free(team);
        return code;
    }
    *out = team;
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
int cv_comm_state_open(struct cv_comm_state *team)
{
    MPI_Comm copy = MPI_COMM_NULL;
    MPI_Errhandler theirs;
    int code;

    if (team->comm != MPI_COMM_NULL)
        return MPI_SUCCESS;
    CV_MPI_TRY(PMPI_Comm_get_errhandler(team->users, &theirs));
    CV_MPI_TRY(PMPI_Comm_set_errhandler(team->users, MPI_ERRORS_RETURN));
    code = copy_of(team->users, &copy);
    PMPI_Comm_set_errhandler(team->users, theirs);
    PMPI_Errhandler_free(&theirs);
    if (code != MPI_SUCCESS)
        return code;
    team->comm = copy;
    return PMPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN);
}

void cv_comm_state_close(struct cv_comm_state *team)
{
    if (team->comm != MPI_COMM_NULL)
        PMPI_Comm_free(&team->comm);
}

int cv_comm_state_board(struct cv_comm_state *team)
{
    if (team->board.made)
        return MPI_SUCCESS;
    return cv_atomic_words_make(&team->board, team->comm, team->size + 1,
                                !team->settings.window);
}

/* Collective, since windows are: MPI calls it where the communicator is freed. */
void cv_comm_state_free(struct cv_comm_state *team)
{
    if (team->costs.agreeing != MPI_REQUEST_NULL)
        PMPI_Wait(&team->costs.agreeing, MPI_STATUS_IGNORE);
    if (team->replanning != NULL)
        team->free_replanning(team->replanning);
    if (team->cluster != NULL)
        team->free_cluster(team->cluster);
    cv_chooser_free(&team->chooser);
    cv_atomic_words_free(&team->board);
    cv_shared_vectors_free(&team->bays);
    cv_tree_plan_free(&team->plan);
    free(team->costs.rank_s);
    cv_scratch_free(&team->whole);
    cv_scratch_free(&team->berths);
    cv_scratch_free(&team->parted);
    cv_comm_state_close(team);
    free(team);
}
