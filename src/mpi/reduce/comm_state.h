/* comm_state.h -- what is kept with a communicator between reductions.
 * SPDX-License-Identifier: MIT
 *
 * Reductions of a communicator are carried out one after the other, in the order of the
 * calls, also those that do not block. So a rank takes part in one at a time, and while a
 * reduction is unfinished some rank waits in it: messages of two reductions cannot be
 * confused, and tags need no number. */
#ifndef CV_COMM_STATE_H
#define CV_COMM_STATE_H
#include <stdbool.h>
#include <mpi.h>
#include "mpi/memory/shared_vectors.h"
#include "mpi/memory/atomic_words.h"
#include "mpi/reduce/chooser.h"
#include "mpi/reduce/mpi_names.h"
#include "mpi/reduce/tree_plan.h"
#include "mpi/memory/vector.h"

struct cv_reduction;
struct cv_cluster;
struct cv_replanning;

enum cv_tag {
    CV_TAG_HEADER = 1,
    CV_TAG_DATA,
    CV_TAG_TREE,
    CV_TAG_RESULT,
    CV_TAG_PING,
    CV_TAG_TOLD,
    CV_TAG_SLICE,
    CV_TAG_BAY
};

struct cv_comm_state {
    MPI_Comm users; /* borrowed: theirs                               */
    MPI_Comm comm;  /* owned: a copy of it, which returns its errors;
                      MPI_COMM_NULL as long as none was needed      */
    int rank, size;
    unsigned ahead;    /* pairs that met before their last segment was combined */
    unsigned seen;     /* calls that left the choice to us and came before it had one */
    bool request;      /* whether it may have `comm` */
    bool placed;       /* so it may: else all is left to the MPI library */
    int broken;        /* the error after which nothing can be relied on */
    MPI_Op checked_op; /* the pair last found to go together */
    MPI_Datatype checked_type;
    struct cv_reduction *first, *last; /* under way or to come, linked by `next` */
    struct cv_chooser chooser;
    struct cv_atomic_words atomics;
    struct cv_shared_vectors vectors;
    struct cv_mpi_settings settings;
    struct cv_scratch whole, berths; /* a vector; segments that arrive */
    struct cv_scratch parted;        /* a result, before it is shared out */
    struct cv_tree_plan plan;
    struct cv_link_costs costs;
    struct cv_cluster *cluster; /* owned: who shares a machine; NULL: not looked at yet */
    void (*free_cluster)(struct cv_cluster *cluster);
    struct cv_replanning *replanning; /* owned: of tree-replan; NULL: not used yet */
    void (*free_replanning)(struct cv_replanning *replanning);
    struct cv_comm_state *next; /* made after this one */
};

/* A team for a communicator: local. cv_mpi_process_meet finds the one that there is. */
int cv_comm_state_new(MPI_Comm comm, const struct cv_mpi_settings *settings,
                      struct cv_comm_state **out);
/* Give it a communicator of its own, if it has none yet: collective. Fails, on all ranks and
 * without a word, where the MPI library has none left. */
int cv_comm_state_open(struct cv_comm_state *state);
/* Give that one back, when nothing on it is under way and nothing else was made of it: collective. */
void cv_comm_state_close(struct cv_comm_state *state);
/* The board, made at the first call: collective. */
int cv_comm_state_board(struct cv_comm_state *state);
void cv_comm_state_free(struct cv_comm_state *state);

#endif
