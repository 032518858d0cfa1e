/* replan_plan.h -- decisions of the root of tree-replan. SPDX-License-Identifier: MIT
 *
 * Pure: no messages, no clock. */
#ifndef CV_REPLAN_PLAN_H
#define CV_REPLAN_PLAN_H
#include <stdbool.h>
#include <stdint.h>
#include "base/arena.h"

/* --- trees --- */

/* Ranks report to the root when they arrive and when they have combined. Each time the
 * root plans for all ranks that have arrived, as if no other rank were to come, with busy
 * ranks available when they are expected to be done (model/ready/ready_tree.h). It
 * executes the part of the plan that depends on no busy rank: an idle rank sends to
 * another idle rank, and to a busy rank or the root only if that has at most a transfer
 * to go. Sending earlier would bind the sender while a rank may arrive that could take
 * its partial. */
struct cv_replan_rank {
    int directed, done; /* partials that it expects; that it has combined       */
    bool there, gone;   /* has arrived; knows where to send                     */
    double until_s;     /* expected time at which all are combined              */
    /* The last decision, if it concerns the rank. */
    bool touched;
    int sends_to;    /* -1: none */
    int first, last; /* new senders to it, linked by `next`; -1: none */
    int next;
};

struct cv_replan {
    int size, root;
    int there, gone; /* ranks that have arrived; that know where to send, in the end all
                        but the root */
    struct cv_replan_rank *ranks;
    int *touched, ntouched; /* ranks that the last decision concerns */
    double d, c;
    const double *pace; /* borrowed; NULL: all equal */
    struct cv_ready_planner *planner;
    double *ready_s; /* per node of the plan, as the following */
    uint32_t *parent;
    struct cv_replan_node *nodes;
    struct cv_ranked *order;
    struct cv_replan_seat *seats;
    struct cv_arena room, scratch;
};

/* For up to `size` ranks; NULL: out of memory. */
struct cv_replan *cv_replan_new(int size);
void cv_replan_free(struct cv_replan *plan);

/* Start a reduction. transfer_s is above 0. pace: relative cost of transfers of each
 * rank, NULL: all equal; borrowed until the next call. The slower of two ranks counts. */
void cv_replan_begin(struct cv_replan *plan, int root, double transfer_s,
                     double combine_s, const double *pace);

/* A rank has arrived, and has combined `done` of the partials that it expects. */
void cv_replan_hear(struct cv_replan *plan, int rank, int done, double now_s);

/* Whether a rank has arrived, has combined all that it expects, and was not told to
 * send. */
bool cv_replan_is_idle(const struct cv_replan *plan, int rank);

/* False: out of memory. */
bool cv_replan_decide(struct cv_replan *plan, double now_s);

/* --- slices --- */

/* The owner of one of k slices of n vectors receives n / k vectors in all. It keeps up if
 * that takes no longer than the arrivals. More slices make more and shorter messages,
 * which disturb each other. */
enum { CV_MOST_SLICES = 16 };

struct cv_slice_job {
    int n;           /* ranks                                                */
    double d, c;     /* costs of a transfer and a combination of a vector    */
    double port_s;   /* time that a transfer keeps its receiver busy         */
    double spread_s; /* from the first to the last arrival                   */
    int max;         /* most slices; below 2: none                           */
};

/* The most slices that are useful. */
int cv_slice_most(int n, int elements, double bytes);
/* The number of slices if `there` ranks have arrived. */
int cv_slice_count(const struct cv_slice_job *job, int there);
/* Time from the last arrival to the result if owners keep up; HUGE_VAL: no slices. And
 * the delay of owners if `there` ranks start together. */
double cv_slice_time(const struct cv_slice_job *job);
double cv_slice_backlog(const struct cv_slice_job *job, int there);
/* Choose owners: the root, and the fastest ranks that have arrived, spread over them, but
 * not at equal distances: networks route by rank numbers. Returns their number, at most
 * `count`. out: room for n. */
int cv_slice_owners(int n, int root, const bool *there, const double *pace, int count,
                    int *out);

/* --- whether plans pay --- */

/* Calls of about the same size are judged together, by the time from the last arrival to
 * the result: with MPI_Reduce, with plans, of the best tree for these arrivals
 * (model/ready/ready_tree.h), and of slices. The measured ratio to the latter two
 * corrects later estimates. If MPI_Reduce is faster than both, or plans prove not to be
 * faster, 1, 2, 4, ... calls in a row use MPI_Reduce without asking the root. */
enum { CV_HABITS = 24 }; /* sizes, by factors of four */

/* Zero at first. On the root, except for `unasked`. Pairs are of the last two calls; 0:
 * unknown. */
struct cv_replan_history {
    double own_s;        /* MPI_Reduce; 0: unknown                             */
    double planned_s[2]; /* plans                                              */
    double least_s[2];   /* the best tree                                      */
    double slices_s[2];  /* slices, estimated                                  */
    double spread_s[2];  /* from the first to the last arrival                 */
    double tree_by[2];   /* measured over best, for trees                      */
    double slices_by[2]; /* measured over estimated, for slices                */
    bool apart;          /* recently a rank came long after the root           */
    bool together;       /* no rank did in the call before                     */
    bool worked;         /* some plan was faster than MPI_Reduce               */
    bool hopeless;       /* plans are not faster, or no tree can be            */
    int doublings;
    int declined; /* calls in a row that were not planned although ranks were missing */
    int unasked;  /* next calls that use MPI_Reduce; the same on all ranks */
};

/* Index of the history for a size. */
int cv_replan_history_of(double bytes);

/* Arrivals of all ranks, of the root and of the last rank; costs, without the spread.
 * came_s is changed. */
struct cv_replan_history_call {
    double *came_s;
    double since_s, last_s;
    struct cv_slice_job job;
};

/* All ranks have arrived. */
void cv_replan_history_see(struct cv_replan_history *history,
                           const struct cv_replan_history_call *call);
/* The time from the last arrival to the result: with MPI_Reduce; with a plan. */
void cv_replan_history_own(struct cv_replan_history *history, double took_s);
void cv_replan_history_planned(struct cv_replan_history *history, double took_s,
                               bool by_slices);
/* The larger spread of the last two calls. */
double cv_replan_history_spread(const struct cv_replan_history *history);
/* How to execute a call if `there` ranks arrived before the root. Slices that are usually
 * fastest may not be if most ranks start to send at once: then MPI_Reduce. */
enum cv_plan_kind { CV_BY_TREE, CV_BY_SLICES, CV_BY_MPI };
enum cv_plan_kind cv_replan_history_choose(const struct cv_replan_history *history,
                                           const struct cv_slice_job *job, int there);
/* A call uses MPI_Reduce: set `unasked`. was_hopeless: before this call; declined: ranks
 * were missing when it was chosen. */
void cv_replan_history_rest(struct cv_replan_history *history, bool was_hopeless,
                            bool declined);

#endif
