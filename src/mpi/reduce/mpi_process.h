/* mpi_process.h -- what a process keeps for all its communicators: the key under which a team is
 * found, its own error codes, the teams that are alive. SPDX-License-Identifier: MIT */
#ifndef CV_MPI_PROCESS_H
#define CV_MPI_PROCESS_H
#include <stdbool.h>
#include <mpi.h>

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
