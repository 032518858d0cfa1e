/* chooser.c -- choices of "auto" from times, without an MPI library.
 * SPDX-License-Identifier: MIT
 *
 * Times are made up: a mean for each policy, scattered by a factor, the same in every run.
 * The check counts how many calls used each policy. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "mpi/reduce/chooser.h"
#include "mpi_check.h"

struct play {
    struct cv_choice choice;
    struct cv_trial_batch batch;
    double mean_s[CV_ARMS];
    double spread_s, scatter; /* times are up to this factor more or less */
    double spread_scatter;    /* the same for spreads; 0: as for times */
    double disturbed, more_s; /* part of all calls that take up to `more_s` more */
    double first_s;           /* additional time of the first use of a policy */
    double set_up;            /* its estimate, in calls; for the very first */
    double spent_s, lost_s;   /* by all calls; by those that another policy did */
    double clock_s, came_s[CV_BATCH];
    uint64_t drawn;
    unsigned first_patience;
    double times_s[CV_BATCH], spreads_s[CV_BATCH];
};

static void open_play(struct play *play, double own_s, double dynamic_s, double greedy_s)
{
    *play = (struct play){ .mean_s = { own_s, dynamic_s, greedy_s },
                           .spread_s = own_s,
                           .scatter = 1.5 };
    cv_choice_begin(&play->choice);
    play->first_patience = play->choice.patience;
}

/* From 0 to 1. */
static double drawn(struct play *play)
{
    return (double)(mixed(play->drawn++, 3, 5) >> 11) * 0x1p-53;
}

/* A factor from 1 / most to most. */
static double scattered(struct play *play, double max)
{
    return exp((2 * drawn(play) - 1) * log(max));
}

/* As the chooser does it, but that ranks agree at once. */
static void one_call(struct play *play)
{
    struct cv_choice *choice = &play->choice;
    struct cv_trial_batch *batch = &play->batch;
    double time;
    int arm;

    if (batch->length == 0 && choice->calls >= choice->next_batch) {
        choice->set_up = choice->used[CV_ARM_OWN] == choice->calls ? play->set_up : 0;
        cv_choice_plan(choice, batch);
    }
    arm = batch->length > 0 ? batch->calls[batch->done].arm : choice->best;
    time = play->mean_s[arm] * scattered(play, play->scatter);
    if (arm != CV_ARM_OWN && choice->used[arm] == 0)
        time += play->first_s;
    if (play->disturbed > 0 && drawn(play) < play->disturbed)
        time += drawn(play) * play->more_s;
    choice->calls++;
    choice->used[arm]++;
    play->spent_s += time;
    play->clock_s += play->spread_s + time;
    if (arm != CV_ARM_OWN)
        play->lost_s += time - play->mean_s[CV_ARM_OWN];
    if (batch->length == 0)
        return;
    play->times_s[batch->done] = time;
    play->came_s[batch->done] = play->clock_s - time;
    play->spreads_s[batch->done] =
        play->spread_s *
        scattered(play, play->spread_scatter > 0 ? play->spread_scatter : play->scatter);
    if (++batch->done < batch->length)
        return;
    for (int i = 0; i < batch->length; i++)
        cv_choice_learn(choice,
                        &(struct cv_trial_time){ .arm = batch->calls[i].arm,
                                                 .came_s = play->came_s[i],
                                                 .spread_s = play->spreads_s[i],
                                                 .time_s = play->times_s[i],
                                                 .counts = batch->calls[i].counts });
    batch->length = batch->done = 0;
}

static void calls(struct play *play, int count)
{
    for (int i = 0; i < count; i++)
        one_call(play);
}

/* Calls out of `count` that used an arm. */
static double share(struct play *play, int arm, int count)
{
    unsigned before = play->choice.used[arm];

    calls(play, count);
    return (double)(play->choice.used[arm] - before) / count;
}

/* The best policy is found soon, also if it has to be set up first. */
static void check_finding(struct check *check)
{
    static const double means[][CV_ARMS] = { { 1e-3, 0.7e-3, 2e-3 },
                                             { 1e-3, 2e-3, 0.7e-3 },
                                             { 1e-3, 0.5e-3, 0.7e-3 } };
    static const int best[] = { CV_ARM_DYNAMIC, CV_ARM_GREEDY, CV_ARM_DYNAMIC };

    for (int i = 0; i < 3; i++) {
        struct play play;

        open_play(&play, means[i][0], means[i][1], means[i][2]);
        play.first_s = 1;
        calls(&play, 250);
        CHECK(check, share(&play, best[i], 1000) > 0.9, "case %d", i);
    }
}

/* Also where one call in twenty is disturbed, and then takes a hundred times as long: a policy that
 * had bad luck in its first trials is not given up. */
static void check_disturbance(struct check *check)
{
    enum { PLAYS = 200 };
    int found = 0;

    for (int i = 0; i < PLAYS; i++) {
        struct play play;

        open_play(&play, 1e-5, 0.55e-5, 2e-5);
        play.drawn = (uint64_t)i << 32;
        play.spread_s = 2e-4;
        play.disturbed = 0.05;
        play.more_s = 4e-3;
        calls(&play, 250);
        found += share(&play, CV_ARM_DYNAMIC, 1000) > 0.9;
    }
    CHECK(check, found >= 0.98 * PLAYS, "found in %d of %d", found, (int)PLAYS);
}

/* Arrivals follow no pattern, and what the first spread was means nothing: all is not measured
 * again and again. */
static void check_random_arrivals(struct check *check)
{
    enum { PLAYS = 200 };
    int anew = 0;

    for (int i = 0; i < PLAYS; i++) {
        struct play play;

        open_play(&play, 1e-5, 0.7e-5, 2e-5);
        play.drawn = (uint64_t)i << 32;
        play.spread_s = 2e-4;
        play.spread_scatter = 6;
        calls(&play, 400);
        /* A larger patience is the trace of a restart. */
        anew += play.choice.patience > play.first_patience;
    }
    CHECK(check, anew <= 0.02 * PLAYS, "begun anew in %d of %d", anew, (int)PLAYS);
}

/* If no policy beats the MPI library it is kept, and trials of the rest take a fiftieth
 * of the time at most, after the first ones. */
static void check_keeping(struct check *check)
{
    static const double others[] = { 1, 1.1, 1.5, 10 };

    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 4; k++) {
            struct play play;
            double mean, before;

            open_play(&play, 1e-3, others[i] * 1e-3, others[k] * 1e-3);
            calls(&play, 200);
            before = play.spent_s;
            calls(&play, 20000);
            /* The mean of a scattered time of 1 ms, and no more than 3 % beyond it. */
            mean = 1e-3 * (1.5 - 1 / 1.5) / (2 * log(1.5));
            CHECK(check, play.spent_s - before < 1.03 * 20000 * mean, "%g %g: %g",
                  others[i], others[k], (play.spent_s - before) / 20000 / mean);
            if (i > 1 && k > 1)
                CHECK(check, share(&play, CV_ARM_OWN, 1000) > 0.95, "%g %g", others[i],
                      others[k]);
        }
}

/* A policy with a long set-up waits until it is a fiftieth of the time, and is found at
 * that time. */
static void check_setting_up(struct check *check)
{
    static const double calls_of[] = { 8, 100 };

    for (int i = 0; i < 2; i++) {
        struct play play;
        bool kept = true;

        open_play(&play, 1e-3, 0.5e-3, 2e-3);
        play.spread_s = 4e-3;
        play.set_up = calls_of[i];
        play.first_s = calls_of[i] * 1e-3;
        for (int k = 0; k < 20000 && kept; k++) {
            one_call(&play);
            /* Greedy is thought to have next to nothing to set up after the other. */
            kept = play.lost_s <=
                   0.02 * play.clock_s + 0.01 +
                       (play.choice.used[CV_ARM_GREEDY] > 0 ? play.first_s : 0);
        }
        CHECK(check, kept, "%g calls to set up: %g s of %g lost after %u calls",
              calls_of[i], play.lost_s, play.clock_s, play.choice.calls);
        CHECK(check, share(&play, CV_ARM_DYNAMIC, 1000) > 0.9, "%g calls to set up",
              calls_of[i]);
    }
}

/* Worse policies cost a fiftieth of the time, from the first call, besides the first two
 * calls of each, which have no measurements. */
static void check_learning(struct check *check)
{
    static const double others[] = { 1.1, 1.5, 3, 10, 100 };

    for (int i = 0; i < 5; i++)
        for (int skewed = 0; skewed < 2; skewed++) {
            struct play play;

            open_play(&play, 1e-3, others[i] * 1e-3, others[i] * 1e-3);
            play.spread_s = skewed ? 8e-3 : 0;
            for (int k = 0; k < 3000; k++) {
                one_call(&play);
                if (play.lost_s > 0.02 * play.clock_s + 4 * 1.5 * others[i] * 1e-3)
                    break;
            }
            CHECK(check, play.choice.calls == 3000, "%g: %u calls, %g s of %g s lost",
                  others[i], play.choice.calls, play.lost_s, play.clock_s);
        }
}

/* Times change: that is noticed, also if ranks arrive as before. */
static void check_changing(struct check *check)
{
    struct play play;

    open_play(&play, 1e-3, 5e-3, 0.6e-3);
    calls(&play, 3000);
    CHECK(check, share(&play, CV_ARM_GREEDY, 1000) > 0.9, "greedy is not used");
    play.mean_s[CV_ARM_GREEDY] = 2e-3;
    calls(&play, 600);
    CHECK(check, share(&play, CV_ARM_OWN, 1000) > 0.9, "greedy is still used");

    /* Ranks come far apart now, and that is when a dynamic policy is worth it. */
    open_play(&play, 1e-3, 3e-3, 2e-3);
    play.spread_s = 0;
    calls(&play, 20000);
    play.spread_s = 20e-3;
    play.mean_s[CV_ARM_DYNAMIC] = 0.5e-3;
    calls(&play, 500);
    CHECK(check, share(&play, CV_ARM_DYNAMIC, 1000) > 0.9, "tree-dyn is not used");
}

/* Calls that need no thought are as good as picked; all others are not passed. */
static void check_passing(struct check *check)
{
    struct cv_chooser chooser = { .agreeing = MPI_REQUEST_NULL };
    const struct cv_kind kind = { .bytes = 65536, .commutes = true, .reach = CV_TO_ALL };
    struct cv_choice *choice;

    chooser.choices = calloc(CV_CLASSES, sizeof *chooser.choices);
    if (chooser.choices == NULL)
        exit(1);
    choice = cv_chooser_choice(&chooser, &kind);
    cv_choice_begin(choice);
    while (cv_chooser_passes(&chooser, choice))
        continue;
    CHECK(check, choice->calls == choice->next_batch && choice->calls > 0, "%u calls",
          choice->calls);
    CHECK(check, choice->used[CV_ARM_OWN] == choice->calls, "%u of them the library's",
          choice->used[CV_ARM_OWN]);
    choice->next_batch += 10;
    CHECK(check, cv_chooser_passes(&chooser, choice), "it is not due");
    chooser.batch.length = 1;
    CHECK(check, !cv_chooser_passes(&chooser, choice), "others are measured");
    chooser.batch.length = 0;
    choice->best = CV_ARM_DYNAMIC;
    CHECK(check, !cv_chooser_passes(&chooser, choice), "another policy is better");
    choice->best = CV_ARM_OWN;
    chooser.agreeing = (MPI_Request)0;
    if (chooser.agreeing != MPI_REQUEST_NULL)
        CHECK(check, !cv_chooser_passes(&chooser, choice), "there is something to hear");
    free(chooser.choices);
}

int main(void)
{
    struct check check = { 0 };

    check_finding(&check);
    check_disturbance(&check);
    check_random_arrivals(&check);
    check_keeping(&check);
    check_setting_up(&check);
    check_passing(&check);
    check_learning(&check);
    check_changing(&check);
    printf("choice: %ld checks, %ld failed\n", check.made, check.failed);
    return check.failed > 0 || check.made == 0;
}
