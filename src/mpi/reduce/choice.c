/* choice.c -- which policy "auto" uses, by what was measured.
 * SPDX-License-Identifier: MIT
 *
 * Times scatter, the more so where ranks share processors, and the MPI library's own way
 * must not be given up by chance. Two arms are compared by rank sums: of all pairs of a
 * time of one and a time of the other, how many speak for the one, in standard deviations
 * of what chance would do. */
#include "base/compare.h"
#include "mpi/reduce/chooser.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_HEAT = 2, LEARNING_HEATS = 7, FIRST_PERIOD = 16, LAST_PERIOD = 128 };
enum { ENOUGH = 5, FEW = 3, LEAST_PATIENCE = 6, MOST_PATIENCE = 96 };

/* Another policy is taken up when its median is this much better and that is this sure;
 * the MPI's own when it is better at all. */
static const double better = 0.93, sure = 1.8, rather_sure = 1;
/* One that is that much worse, or that surely, is not tried again while learning; and a
 * dynamic one not later, while the spread is less than this part of the time that the MPI
 * library needs. */
static const double hopeless = 2, very_sure = 2.5, worth_a_try = 0.5;
/* When spreads have changed by this factor all is measured again; when the time of the arm
 * in use has, by this one, it is looked at more closely. */
static const double other_times = 4, odd_time = 1.3;
/* Part of the time that may be lost by trials. */
static const double allowance = 0.02;
/* A time that many times the usual one may be the machine's, which had something else to do: so
 * it is with two that a policy needs at least. */
static const double outrageous = 8;

void cv_choice_begin(struct cv_choice *choice)
{
    choice->next_heat = FIRST_HEAT;
    choice->period = FIRST_PERIOD;
    choice->patience = LEAST_PATIENCE;
}

static unsigned in_ring(unsigned count)
{
    return count < CV_ARM_TIMES ? count : CV_ARM_TIMES;
}

/* Put a value into a ring and return the median of what is there. */
static double push(double *ring, unsigned *count, double value)
{
    double sorted[CV_ARM_TIMES];
    unsigned n;

    ring[(*count)++ % CV_ARM_TIMES] = value;
    n = in_ring(*count);
    memcpy(sorted, ring, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, cv_compare_doubles);
    return sorted[n / 2];
}

static double quickest_s(const struct cv_arm *arm)
{
    double min = HUGE_VAL;

    for (unsigned i = 0; i < in_ring(arm->measured); i++)
        min = fmin(min, arm->times_s[i]);
    return min;
}

/* What an arm is thought to take. Of few times most may have been disturbed. */
static double expected_s(const struct cv_arm *arm)
{
    return arm->measured < ENOUGH ? quickest_s(arm) : arm->median_s;
}

/* How sure it is that `a` is quicker than `b`, in standard deviations. */
static double confidence(const struct cv_arm *a, const struct cv_arm *b)
{
    unsigned n = in_ring(a->measured), m = in_ring(b->measured);
    double won = 0;

    for (unsigned i = 0; i < n; i++)
        for (unsigned k = 0; k < m; k++)
            won += a->times_s[i] < b->times_s[k];
    return (won - n * m / 2.0) / sqrt(n * m * (n + m + 1) / 12.0);
}

static bool beats(const struct cv_choice *choice, int arm, int best)
{
    const struct cv_arm *a = &choice->arms[arm], *b = &choice->arms[best];

    if (arm == best || a->measured < ENOUGH || b->measured < ENOUGH)
        return false;
    if (arm == CV_ARM_OWN)
        return a->median_s < b->median_s && confidence(a, b) > rather_sure;
    return a->median_s < better * b->median_s && confidence(a, b) > sure;
}

static void settle_best(struct cv_choice *choice)
{
    for (int arm = 0; arm < CV_ARMS; arm++)
        if (beats(choice, arm, choice->best)) {
            choice->best = arm;
            choice->period = FIRST_PERIOD;
        }
}

/* Ranks come in another way than when the policies were compared: what was measured then
 * says nothing about now. One odd call is looked into at once, a few in a row are
 * believed; more of them each time, lest one learns for ever where arrivals follow no
 * pattern. */
static void notice_change(struct cv_choice *choice, double spread_s)
{
    double min = worth_a_try * choice->arms[CV_ARM_OWN].median_s;
    double spread = spread_s > min ? spread_s : min;

    /* What is usual takes some calls to see: one alone may be anything. */
    if (choice->spreads <= CV_ARM_TIMES) {
        choice->usual_spread_s = fmax(choice->median_spread_s, min);
        return;
    }
    if (spread < other_times * choice->usual_spread_s &&
        spread > choice->usual_spread_s / other_times) {
        choice->odd = 0;
        return;
    }
    choice->next_heat = choice->calls;
    if (++choice->odd < choice->patience)
        return;
    choice->odd = 0;
    if (choice->patience < MOST_PATIENCE)
        choice->patience *= 2;
    choice->heats = 0;
    choice->period = FIRST_PERIOD;
    choice->spreads = 0;
    for (int arm = 0; arm < CV_ARMS; arm++)
        choice->arms[arm].measured = 0;
}

/* The arm in use took long, or another one did better just after it. If that is more than
 * chance, seldom heats would take long to find out. */
static void look_closer(struct cv_choice *choice)
{
    choice->period = FIRST_PERIOD;
    if (choice->next_heat > choice->calls + FIRST_PERIOD)
        choice->next_heat = choice->calls + FIRST_PERIOD;
}

/* By how much a trial was longer than the usual call. */
static double loss_s(const struct cv_arm *arm, double time_s, double usual_s)
{
    const double max = outrageous * usual_s;

    if (arm->measured < 2 || quickest_s(arm) <= max)
        time_s = fmin(time_s, max);
    return fmax(time_s - usual_s, 0);
}

void cv_choice_learn(struct cv_choice *choice, const struct cv_trial_time *lap)
{
    const int arm = lap->arm;
    const double time_s = lap->time_s, spread_s = lap->spread_s;
    struct cv_arm *with = &choice->arms[arm];
    double usual = choice->arms[choice->best].median_s;

    if (choice->began_s == 0)
        choice->began_s = lap->came_s;
    choice->now_s = lap->came_s;
    if (arm != choice->best && time_s > usual && !lap->counts)
        choice->lost_s += fmin(time_s, (hopeless + choice->set_up) * usual) -
                          usual; /* most is set up once */
    if (!lap->counts)
        return;
    if (arm == choice->best ? time_s > odd_time * usual
                            : time_s < better * choice->newest_s)
        look_closer(choice);
    if (arm == choice->best)
        choice->newest_s = time_s;
    choice->median_spread_s = push(choice->spread_s, &choice->spreads, spread_s);
    with->median_s = push(with->times_s, &with->measured, time_s);
    if (arm != choice->best)
        choice->lost_s += loss_s(with, time_s, usual);
    notice_change(choice, spread_s);
    settle_best(choice);
}

/* Whether an arm is tried while all is learnt. */
static bool is_in_the_running(const struct cv_choice *choice, int arm)
{
    const struct cv_arm *with = &choice->arms[arm];

    const struct cv_arm *best = &choice->arms[choice->best];

    if (with == best || with->measured < FEW)
        return true;
    if (with->measured >= ENOUGH && confidence(best, with) > very_sure)
        return false;
    return expected_s(with) < hopeless * best->median_s;
}

/* Whether a trial of another arm than the best is within what may be lost. */
static bool is_affordable(const struct cv_choice *choice, int arm)
{
    double best_s = choice->arms[choice->best].median_s;
    double loss = choice->arms[arm].median_s - best_s;

    if (arm == CV_ARM_DYNAMIC &&
        choice->median_spread_s < worth_a_try * choice->arms[CV_ARM_OWN].median_s)
        return false;
    return loss <= 0 || choice->lost_s + loss <= allowance * choice->spent_s;
}

static void add(struct cv_choice *choice, struct cv_trial_batch *heat, int arm)
{
    /* The first call of a policy sets up what it needs. */
    bool counts = arm == CV_ARM_OWN || choice->used[arm] > 0;

    for (int i = 0; i < heat->length; i++)
        counts = counts || heat->calls[i].arm == arm;
    heat->calls[heat->length].arm = arm;
    heat->calls[heat->length++].counts = counts;
}

/* What a trial of an arm may lose, while all is learnt: as much as the best one takes, for
 * one that nobody knows, whose first call does not count, and what is to be set up before. */
static double risk_s(const struct cv_choice *choice, int arm, double set_up)
{
    const double best_s = choice->arms[choice->best].median_s;
    const struct cv_arm *with = &choice->arms[arm];

    if (arm == choice->best)
        return 0;
    if (with->measured == 0)
        return (1 + set_up) * best_s;
    if (with->measured == 1)
        return fmax(fmin(with->median_s, outrageous * best_s) - best_s, 0);
    return fmax(expected_s(with) - best_s, 0);
}

/* All take turns, if the time that may be lost is there. Whether some have to wait for it. */
static bool plan_turns(struct cv_choice *choice, struct cv_trial_batch *heat,
                       unsigned turn)
{
    double may_lose_s = allowance * (choice->now_s - choice->began_s) - choice->lost_s;
    bool wait = choice->arms[choice->best].measured == 0, others = false;
    double set_up = choice->set_up;

    for (int i = 0; i < CV_HEAT; i++) {
        const int arm = (int)((turn + (unsigned)i) % CV_ARMS);
        const double risk = risk_s(choice, arm, set_up);

        if (!is_in_the_running(choice, arm))
            continue;
        if (arm != choice->best) {
            if (choice->arms[choice->best].measured == 0 ||
                (risk > 0 && risk > may_lose_s)) {
                wait = true;
                continue;
            }
            others = true;
            set_up = 0; /* by this one, for all */
        }
        may_lose_s -= risk;
        add(choice, heat, arm);
    }
    return wait && !others;
}

void cv_choice_plan(struct cv_choice *choice, struct cv_trial_batch *heat)
{
    unsigned turn = choice->heats++;

    heat->length = heat->done = 0;
    choice->spent_s +=
        (choice->calls - choice->accounted) * choice->arms[choice->best].median_s;
    choice->accounted = choice->calls;
    if (turn < LEARNING_HEATS) {
        const bool wait = plan_turns(choice, heat, turn);

        choice->next_heat = choice->calls + (unsigned)heat->length;
        if (!wait) {
            choice->period = FIRST_PERIOD;
            return;
        }
        choice->heats--; /* nothing is learnt by that but how much time there is */
        choice->next_heat += choice->period / 4;
        if (choice->period < LAST_PERIOD)
            choice->period *= 2;
        return;
    }
    add(choice, heat, choice->best);
    for (int arm = 0; arm < CV_ARMS; arm++)
        if (arm != choice->best && is_affordable(choice, arm))
            add(choice, heat, arm);
    choice->next_heat = choice->calls + choice->period;
    if (choice->period < LAST_PERIOD)
        choice->period *= 2;
}
