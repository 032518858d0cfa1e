/* home.h -- what a process keeps for all its communicators: the key under which a team is
 * found, its own error codes, the teams that are alive. SPDX-License-Identifier: MIT */
#ifndef CV_HOME_H
#define CV_HOME_H
#include <stdbool.h>
#include <mpi.h>

struct cv_team;
struct cv_mpi_settings;

/* Whether there is a world (MPI_Init), without which nothing can be kept here: a program
 * may use sessions before it, after it and instead. */
bool cv_home_has_world(void);
/* The team kept with a communicator, or NULL. */
struct cv_team *cv_home_find(MPI_Comm comm);
/* The same, made and kept if there is none yet: local. It is closed when the communicator
 * is freed or, at the latest, when MPI is finalized. */
int cv_home_meet(MPI_Comm comm, struct cv_team **out);
/* How many teams have been closed: one that was found before is good as long as this is the
 * same. */
unsigned cv_home_closed(void);

/* Reductions of this process that have begun and not ended, of all communicators: where
 * there are none, a call that is handed on to the MPI library need not look for some on
 * its communicator. Differs from rank to rank, so nothing else may depend on it. */
void cv_home_pend(int change);
bool cv_home_pending(void);

/* Whether a team may have a communicator of its own, as all its ranks see it: collective at the
 * first call. An MPI library has only so many (MPICH 2048), and a program may want most of them:
 * where it reduces on hundreds, later ones go without. */
int cv_home_place(struct cv_team *team, bool *out);

/* Settings that a new team begins with, and who is told before a team is closed; may be
 * NULL. */
struct cv_mpi_settings *cv_home_defaults(void);
void cv_home_on_close(void (*told)(const struct cv_team *team));

/* Whether `op` may be applied to `type`, as the MPI library sees it. */
bool cv_home_allows(MPI_Op op, MPI_Datatype type);

/* An error of a class of our own, with a text. (MPICH 4.0 confuses the texts of codes that
 * are added to its own classes.) The text of the newest error is the one that is told. */
int cv_home_error(const char *text);
/* Tell the communicator's error handler, unless it is MPI_SUCCESS; returns `code`. */
int cv_home_raise(MPI_Comm comm, int code);

#endif
