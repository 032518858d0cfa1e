/* replan_history.c -- whether plans pay, by what the root has seen. SPDX-License-Identifier: MIT */
#include "mpi/plan/replan_history.h"

#include "model/ready/ready_times.h"

enum { MOST_DOUBLINGS = 6, MANY_DOUBLINGS = 4, FEW = 4, OFTEN = 3 };

/* A plan is worth it if it is so much quicker. If it is that much slower, and none was ever
 * quicker, it is not tried again soon. */
static const double quicker = 0.97, much_slower = 1.3;

int cv_replan_history_of(double bytes)
{
    int size = 0;

    for (double min = 4; size < CV_HABITS - 1 && bytes >= min; min *= 4)
        size++;
    return size;
}

/* Two in a row count: one that is slow may be because the root came last. */
static void note(double *last, double now)
{
    last[1] = last[0];
    last[0] = now;
}

static double lesser(const double *last)
{
    return last[0] < last[1] ? last[0] : last[1];
}

/* The second may be unknown yet, which is 0. */
static double known_lesser(const double *last)
{
    return last[1] == 0 ? last[0] : lesser(last);
}

/* What is expected of a way, for which a call took `by` times as long as thought. */
static double expected(const double *thought_s, const double *by)
{
    return known_lesser(thought_s) * (by[0] == 0 ? 1 : known_lesser(by));
}

static void judge(struct cv_replan_history *habit)
{
    habit->hopeless = habit->own_s > 0 &&
                      known_lesser(habit->least_s) > quicker * habit->own_s &&
                      known_lesser(habit->slices_s) > quicker * habit->own_s;
}

/* Whoever came before the root is seen when that one comes: as if those had come at the
 * pace of the others, if they are enough to tell. */
static double spread(const struct cv_replan_history_call *call)
{
    const double since = call->since_s + call->job.d / 4;
    int later = 0;

    for (int i = 0; i < call->job.n; i++)
        later += call->came_s[i] > since;
    if (later < call->job.n / FEW)
        later = call->job.n / FEW;
    return later == 0 ? 0 : (call->last_s - call->since_s) * call->job.n / later;
}

void cv_replan_history_see(struct cv_replan_history *habit,
                           const struct cv_replan_history_call *call)
{
    const struct cv_ready_job job = { (uint32_t)call->job.n, call->came_s, call->job.d,
                                      call->job.c, CLEAVE_READY_ABSENT };
    struct cv_slice_job slices = call->job;
    double first = call->since_s;
    bool late;

    slices.spread_s = spread(call);
    note(habit->spread_s, slices.spread_s);
    note(habit->slices_s,
         cv_slice_time(&slices) + (slices.max > 0 ? cv_slice_backlog(&slices, 0) : 0));
    for (int i = 0; i < call->job.n; i++)
        first = call->came_s[i] < first ? call->came_s[i] : first;
    for (int i = 0; i < call->job.n; i++)
        call->came_s[i] -= first;
    note(habit->least_s, cv_ready_bound(&job) - (call->last_s - first));
    late = call->last_s > call->since_s + call->job.d + call->job.c;
    /* Where plans work, once does not count: then the root may have come last. */
    habit->apart = late || (habit->worked && !habit->together);
    habit->together = !late;
    judge(habit);
}

double cv_replan_history_spread(const struct cv_replan_history *habit)
{
    return habit->spread_s[0] > habit->spread_s[1] ? habit->spread_s[0]
                                                   : habit->spread_s[1];
}

enum cv_plan_kind cv_replan_history_choose(const struct cv_replan_history *habit,
                                           const struct cv_slice_job *job, int there)
{
    const double usual_s = expected(habit->slices_s, habit->slices_by);
    const double tree_s = expected(habit->least_s, habit->tree_by);
    const double thought_s[2] = { cv_slice_time(job), 0 };

    if (!(usual_s < tree_s))
        return tree_s < habit->own_s ? CV_BY_TREE : CV_BY_MPI;
    return expected(thought_s, habit->slices_by) + cv_slice_backlog(job, there) <
                   habit->own_s
               ? CV_BY_SLICES
               : CV_BY_MPI;
}

void cv_replan_history_own(struct cv_replan_history *habit, double took_s)
{
    habit->own_s = took_s;
    judge(habit);
}

void cv_replan_history_planned(struct cv_replan_history *habit, double took_s,
                               bool by_slices)
{
    const double thought_s = by_slices ? habit->slices_s[0] : habit->least_s[0];

    habit->declined = 0;
    note(habit->planned_s, took_s);
    if (thought_s > 0)
        note(by_slices ? habit->slices_by : habit->tree_by, took_s / thought_s);
    habit->worked = habit->worked || took_s < quicker * habit->own_s;
    if (habit->own_s > 0 && lesser(habit->planned_s) > quicker * habit->own_s)
        habit->hopeless = true;
    else
        habit->doublings = 0;
}

void cv_replan_history_rest(struct cv_replan_history *habit, bool was_hopeless,
                            bool declined)
{
    habit->declined = declined ? habit->declined + 1 : 0;
    /* That no plan can be quicker is seen at once, that some prove not to be is not. */
    if (!(was_hopeless && habit->planned_s[0] > 0) && !habit->hopeless && habit->apart &&
        habit->declined < OFTEN)
        return;
    if (!habit->worked && lesser(habit->planned_s) > much_slower * habit->own_s &&
        habit->doublings < MANY_DOUBLINGS)
        habit->doublings = MANY_DOUBLINGS;
    habit->unasked = 1 << habit->doublings;
    if (habit->doublings < MOST_DOUBLINGS)
        habit->doublings++;
}
