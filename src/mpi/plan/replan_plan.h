/* replan_plan.h -- who sends to whom, decided as ranks say that they have come.
 * SPDX-License-Identifier: MIT
 *
 * One rank, the root of the reduction, is told by every other one when it has come and when
 * it has combined what it was told to expect. Each time it plans anew for all that are
 * there, as if nobody else were to come, those at work from when they are likely to be done
 * (model/ready/ready_tree.h), and of that plan it decides on what depends on nobody at
 * work: an idle rank sends to another idle one, and to one at work, or to the root, only
 * if that one has at most a transfer to go. Sending earlier would bind the sender while
 * somebody else may come who could have its partial. Pure: no messages, no clock. */
#ifndef CV_REPLAN_PLAN_H
#define CV_REPLAN_PLAN_H
#include <stdbool.h>

struct cv_replan;

/* For up to `size` ranks; NULL when memory is short. */
struct cv_replan *cv_replan_new(int size);
void cv_replan_free(struct cv_replan *plan);

/* A reduction to `root`, nobody there yet. What a transfer and a combination take: the
 * former is more than 0. pace: what transfers of a rank take by that, or NULL if all take
 * the same; borrowed until the next one begins. Of two ranks the slower counts. */
void cv_replan_begin(struct cv_replan *plan, int root, double transfer_s,
                     double combine_s, const double *pace);

/* Rank `rank` is there, and has combined `done` of the partials it was told to expect. */
void cv_replan_hear(struct cv_replan *plan, int rank, int done, double now_s);

/* Whether a rank is there, has combined all that it was told to expect, and waits. */
bool cv_replan_is_idle(const struct cv_replan *plan, int rank);

/* Decide what can be. False when memory is short. */
bool cv_replan_decide(struct cv_replan *plan, double now_s);

/* What was decided: the i-th rank concerned, -1 behind the last. Whom it is to expect now,
 * one after the other, -1 behind the last; `after` is -1 at first. And whom it sends to
 * after that, or -1 if that is open. */
int cv_replan_rank(const struct cv_replan *plan, int i);
int cv_replan_expects(const struct cv_replan *plan, int rank, int after);
int cv_replan_sends_to(const struct cv_replan *plan, int rank);

/* Ranks that are there; whether all but the root have been told whom to send to. */
int cv_replan_there(const struct cv_replan *plan);
bool cv_replan_is_complete(const struct cv_replan *plan);

/* More do not help: messages that all begin at once get in each other's way. */
enum { CV_MOST_SLICES = 16 };

struct cv_slice_job {
    int n;           /* ranks                                                */
    double d, c;     /* what a transfer and a combination of a vector take   */
    double port_s;   /* for how long a transfer keeps its receiver busy      */
    double spread_s; /* within which ranks come                              */
    int max;         /* slices at most; less than 2: there are none          */
};

/* How many slices are worth it at most, of a vector of so many elements. */
int cv_slice_most(int n, int elements, double bytes);
/* How many, when `there` of the ranks have come. */
int cv_slice_count(const struct cv_slice_job *job, int there);
/* How long after the last arrival the result is there, about, if keepers keep up; infinite if
 * there are no slices. And how far behind they are then, when `there` of the ranks begin
 * together. */
double cv_slice_time(const struct cv_slice_job *job);
double cv_slice_backlog(const struct cv_slice_job *job, int there);
/* Who keeps them: the root, and of those who are there the quickest, spread out over them, but
 * not at equal distances: networks choose ways by the number of who is at their end.
 * Their number, at most `count`. pace: what their transfers take, or NULL if it is the
 * same; out: room for n. */
int cv_slice_owners(int n, int root, const bool *there, const double *pace, int count,
                    int *out);

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
