/* comm_state.h -- what is kept with a communicator between reductions.
 * SPDX-License-Identifier: MIT
 *
 * Reductions of a communicator are carried out one after the other, in the order of the
 * calls, also those that do not block. So a rank takes part in one at a time, and while a
 * reduction is unfinished some rank waits in it: messages of two reductions cannot be
 * confused, and tags need no number. */
#ifndef CV_COMM_STATE_H
#define CV_COMM_STATE_H
#include <mpi.h>
#include <stdbool.h>
#include "mpi/memory/shared_memory.h"
#include "mpi/memory/vector.h"
#include "mpi/reduce/chooser.h"
#include "mpi/reduce/mpi_names.h"
#include "mpi/reduce/tree_algorithm.h"

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

struct cv_comm_state;
struct cv_mpi_settings;

/* Whether there is a world (MPI_Init), without which nothing can be kept here: a program
 * may use sessions before it, after it and instead. */
bool cv_mpi_process_has_world(void);
/* The team kept with a communicator, or NULL. */
struct cv_comm_state *cv_mpi_process_find(MPI_Comm comm);
/* The same, made and kept if there is none yet: local. It is closed when the communicator
 * is freed or, at the latest, when MPI is finalized. */
int cv_mpi_process_meet(MPI_Comm comm, struct cv_comm_state **out);
/* How many teams have been closed: one that was found before is good as long as this is the
 * same. */
unsigned cv_mpi_process_closed(void);

/* Reductions of this process that have begun and not ended, of all communicators: where
 * there are none, a call that is handed on to the MPI library need not look for some on
 * its communicator. Differs from rank to rank, so nothing else may depend on it. */
void cv_mpi_process_pend(int change);
bool cv_mpi_process_pending(void);

/* Whether a team may have a communicator of its own, as all its ranks see it: collective at the
 * first call. An MPI library has only so many (MPICH 2048), and a program may want most of them:
 * where it reduces on hundreds, later ones go without. */
int cv_mpi_process_place(struct cv_comm_state *state, bool *out);

/* Settings that a new team begins with, and who is told before a team is closed; may be
 * NULL. */
struct cv_mpi_settings *cv_mpi_process_defaults(void);
void cv_mpi_process_on_close(void (*told)(const struct cv_comm_state *state));

/* Whether `op` may be applied to `type`, as the MPI library sees it. */
bool cv_mpi_process_allows(MPI_Op op, MPI_Datatype type);

/* An error of a class of our own, with a text. (MPICH 4.0 confuses the texts of codes that
 * are added to its own classes.) The text of the newest error is the one that is told. */
int cv_mpi_process_error(const char *text);
/* Tell the communicator's error handler, unless it is MPI_SUCCESS; returns `code`. */
int cv_mpi_process_raise(MPI_Comm comm, int code);

#endif
