/* replan_habit.c -- whether plans pay, by what the root has seen. SPDX-License-Identifier: MIT */
#include "mpi/plan/replan_habit.h"

#include "model/ready/ready_times.h"

enum { MOST_DOUBLINGS = 6, MANY_DOUBLINGS = 4 };

/* A plan is worth it if it is so much quicker. If it is that much slower, and none was ever
 * quicker, it is not tried again soon. */
static const double quicker = 0.97, much_slower = 1.3;

int cv_habit_of(double bytes)
{
    int size = 0;

    for (double least = 4; size < CV_HABITS - 1 && bytes >= least; least *= 4)
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

static void judge(struct cv_habit *habit)
{
    habit->hopeless = habit->own_s > 0 && lesser(habit->least_s) > quicker * habit->own_s;
}

void cv_habit_see(struct cv_habit *habit, const struct cv_habit_call *call)
{
    const struct cv_ready_job job = { (uint32_t)call->n, call->came_s, call->d, call->c,
                                      CLEAVE_READY_ABSENT };
    double first = call->since_s;

    for (int i = 0; i < call->n; i++)
        first = call->came_s[i] < first ? call->came_s[i] : first;
    for (int i = 0; i < call->n; i++)
        call->came_s[i] -= first;
    note(habit->least_s, cv_ready_bound(&job) - (call->last_s - first));
    habit->apart = call->last_s > call->since_s + call->d + call->c;
    judge(habit);
}

void cv_habit_own(struct cv_habit *habit, double took_s)
{
    habit->own_s = took_s;
    judge(habit);
}

void cv_habit_planned(struct cv_habit *habit, double took_s)
{
    note(habit->planned_s, took_s);
    habit->worked = habit->worked || took_s < quicker * habit->own_s;
    if (habit->own_s > 0 && lesser(habit->planned_s) > quicker * habit->own_s)
        habit->hopeless = true;
    else
        habit->doublings = 0;
}

void cv_habit_rest(struct cv_habit *habit, bool was_hopeless)
{
    if (!was_hopeless && !habit->hopeless && habit->apart)
        return;
    if (!habit->worked && lesser(habit->planned_s) > much_slower * habit->own_s &&
        habit->doublings < MANY_DOUBLINGS)
        habit->doublings = MANY_DOUBLINGS;
    habit->unasked = 1 << habit->doublings;
    if (habit->doublings < MOST_DOUBLINGS)
        habit->doublings++;
}
