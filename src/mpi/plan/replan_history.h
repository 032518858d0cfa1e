/* replan_history.h -- whether plans pay, by what the root has seen. SPDX-License-Identifier: MIT
 *
 * Calls of about the same size are judged together: how long after the last arrival the
 * result was there, by MPI_Reduce and by plans, and from when ranks came what no tree could
 * have beaten (model/ready/ready_times.h) and what slices take (slice_plan.h). What proved
 * to take longer than that is expected to take as many times as long again. Where
 * MPI_Reduce is quicker than both, or plans prove not to be quicker, 1, 2, 4, ... calls in a
 * row go to MPI_Reduce unasked. Pure. */
#ifndef CV_REPLAN_HISTORY_H
#define CV_REPLAN_HISTORY_H
#include <stdbool.h>

#include "mpi/plan/slice_plan.h"

enum { CV_HABITS = 24 }; /* sizes, by factors of four */

/* All zero at first. At the root of the calls, but for `unasked`. */
struct cv_replan_history {
    double own_s;        /* by MPI_Reduce; 0: unknown                          */
    double planned_s[2]; /* by the last two plans; 0: unknown                  */
    double least_s[2];   /* by any tree, for arrivals as they were, twice      */
    double slices_s[2];  /* by slices, likewise                                */
    double spread_s[2];  /* within which ranks came, likewise                  */
    double tree_by[2];   /* what trees took by that, the last two; 0: unknown  */
    double slices_by[2]; /* and slices                                         */
    bool apart;          /* lately, somebody came long after the root      */
    bool together;       /* nobody did the time before                     */
    bool worked;         /* some plan was quicker than MPI_Reduce          */
    bool hopeless;       /* plans are not quicker, or no tree can be       */
    int doublings;
    int declined; /* calls in a row that were not planned though some had not come */
    int unasked;  /* calls to come that go to MPI_Reduce; the same on all ranks */
};

/* Which one is for a size. */
int cv_replan_history_of(double bytes);

/* When n ranks came, the root at since_s and the last one at last_s, and what can be done
 * then, but for the spread. came_s is changed. */
struct cv_replan_history_call {
    double *came_s;
    double since_s, last_s;
    struct cv_slice_job job;
};

/* All have come to a call, and so had others before. */
void cv_replan_history_see(struct cv_replan_history *history,
                           const struct cv_replan_history_call *call);
/* How long after that the result was there. */
void cv_replan_history_own(struct cv_replan_history *history, double took_s);
void cv_replan_history_planned(struct cv_replan_history *history, double took_s,
                               bool by_slices);
/* Within which time ranks come. */
double cv_replan_history_spread(const struct cv_replan_history *history);
/* How to go on in a call for which `there` ranks have come when the root comes. Where slices
 * are quickest in general, they may not be if most ranks begin to send at once: then
 * MPI_Reduce, once all have come. */
enum cv_plan_kind { CV_BY_TREE, CV_BY_SLICES, CV_BY_MPI };
enum cv_plan_kind cv_replan_history_choose(const struct cv_replan_history *history,
                                           const struct cv_slice_job *job, int there);
/* A call for which all have come goes to MPI_Reduce: how many more do, then. was_hopeless:
 * before this call was seen; declined: some had not come when that was chosen. */
void cv_replan_history_rest(struct cv_replan_history *history, bool was_hopeless,
                            bool declined);

#endif
