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

#endif
