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

static void judge(struct cv_replan_history *history)
{
    history->hopeless = history->own_s > 0 &&
                        known_lesser(history->least_s) > quicker * history->own_s &&
                        known_lesser(history->slices_s) > quicker * history->own_s;
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

void cv_replan_history_see(struct cv_replan_history *history,
                           const struct cv_replan_history_call *call)
{
    const struct cv_ready_job job = { (uint32_t)call->job.n, call->came_s, call->job.d,
                                      call->job.c, CLEAVE_READY_ABSENT };
    struct cv_slice_job slices = call->job;
    double first = call->since_s;
    bool late;

    slices.spread_s = spread(call);
    note(history->spread_s, slices.spread_s);
    note(history->slices_s,
         cv_slice_time(&slices) + (slices.max > 0 ? cv_slice_backlog(&slices, 0) : 0));
    for (int i = 0; i < call->job.n; i++)
        first = call->came_s[i] < first ? call->came_s[i] : first;
    for (int i = 0; i < call->job.n; i++)
        call->came_s[i] -= first;
    note(history->least_s, cv_ready_bound(&job) - (call->last_s - first));
    late = call->last_s > call->since_s + call->job.d + call->job.c;
    /* Where plans work, once does not count: then the root may have come last. */
    history->apart = late || (history->worked && !history->together);
    history->together = !late;
    judge(history);
}

double cv_replan_history_spread(const struct cv_replan_history *history)
{
    return history->spread_s[0] > history->spread_s[1] ? history->spread_s[0]
                                                       : history->spread_s[1];
}

enum cv_plan_kind cv_replan_history_choose(const struct cv_replan_history *history,
                                           const struct cv_slice_job *job, int there)
{
    const double usual_s = expected(history->slices_s, history->slices_by);
    const double tree_s = expected(history->least_s, history->tree_by);
    const double thought_s[2] = { cv_slice_time(job), 0 };

    if (!(usual_s < tree_s))
        return tree_s < history->own_s ? CV_BY_TREE : CV_BY_MPI;
    return expected(thought_s, history->slices_by) + cv_slice_backlog(job, there) <
                   history->own_s
               ? CV_BY_SLICES
               : CV_BY_MPI;
}

void cv_replan_history_own(struct cv_replan_history *history, double took_s)
{
    history->own_s = took_s;
    judge(history);
}

void cv_replan_history_planned(struct cv_replan_history *history, double took_s,
                               bool by_slices)
{
    const double thought_s = by_slices ? history->slices_s[0] : history->least_s[0];

    history->declined = 0;
    note(history->planned_s, took_s);
    if (thought_s > 0)
        note(by_slices ? history->slices_by : history->tree_by, took_s / thought_s);
    history->worked = history->worked || took_s < quicker * history->own_s;
    if (history->own_s > 0 && lesser(history->planned_s) > quicker * history->own_s)
        history->hopeless = true;
    else
        history->doublings = 0;
}

void cv_replan_history_rest(struct cv_replan_history *history, bool was_hopeless,
                            bool declined)
{
    history->declined = declined ? history->declined + 1 : 0;
    /* That no plan can be quicker is seen at once, that some prove not to be is not. */
    if (!(was_hopeless && history->planned_s[0] > 0) && !history->hopeless &&
        history->apart && history->declined < OFTEN)
        return;
    if (!history->worked && lesser(history->planned_s) > much_slower * history->own_s &&
        history->doublings < MANY_DOUBLINGS)
        history->doublings = MANY_DOUBLINGS;
    history->unasked = 1 << history->doublings;
    if (history->doublings < MOST_DOUBLINGS)
        history->doublings++;
}
