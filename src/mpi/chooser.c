/* chooser.c -- what "auto" is. SPDX-License-Identifier: MIT */
#include "mpi/chooser.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/mpi_try.h"

enum { OWN, DYNAMIC, GREEDY };
enum {
    FIRST_MEASURED = 2,
    EAGER_TURNS = 24,
    FIRST_PERIOD = 16,
    LAST_PERIOD = 128,
    ENOUGH = 4
};
enum { SETTLE_AFTER = 2 };

/* Another policy is taken up when it is this much better; one that is that much worse is
 * hardly tried any more, and neither is a dynamic one while the spread is less than this
 * part of the time that the MPI library needs. */
static const double better = 0.93, hopeless = 1.5, worth_a_try = 0.5;
/* When spreads have changed by this factor all is measured again. */
static const double other_times = 4;

static int sort_of(const struct cv_kind *kind)
{
    int size = kind->bytes < 4 ? 0 : ilogb(kind->bytes) / 2;

    if (size >= CV_SIZES)
        size = CV_SIZES - 1;
    return ((kind->to_all ? 2 : 0) + (kind->commutes ? 1 : 0)) * CV_SIZES + size;
}

enum cv_mpi_policy cv_chooser_policy(int sort, int arm)
{
    bool commutes = sort / CV_SIZES % 2 != 0;

    if (arm == OWN)
        return CV_MPI_MPI;
    if (arm == GREEDY)
        return CV_MPI_GREEDY;
    return commutes ? CV_MPI_TREE_DYN : CV_MPI_ORDERED;
}

double cv_chooser_bytes(int sort)
{
    return sort % CV_SIZES == 0 ? 0 : ldexp(1, 2 * (sort % CV_SIZES));
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Put a value into a ring and return the median of what is there. */
static double push(double *ring, unsigned *count, double value)
{
    double sorted[CV_ARM_TIMES];
    unsigned n;

    ring[(*count)++ % CV_ARM_TIMES] = value;
    n = *count < CV_ARM_TIMES ? *count : CV_ARM_TIMES;
    memcpy(sorted, ring, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, compare);
    return sorted[n / 2];
}

static bool worth_trying(const struct cv_choice *choice, int arm)
{
    const struct cv_arm *own = &choice->arms[OWN], *other = &choice->arms[arm];
    double best_s = choice->arms[choice->best].median_s;

    /* What is far behind need not be measured often to know. */
    if (other->measured > 0 && other->median_s > 2 * hopeless * best_s)
        return choice->turn % 32 < 4;
    if (other->measured < ENOUGH || choice->turn % 32 < 4)
        return true;
    if (arm == DYNAMIC && choice->median_spread_s < worth_a_try * own->median_s)
        return false;
    return other->median_s < hopeless * best_s;
}

/* Which policy a measured call uses: every second time the MPI's own or, when another one
 * is in use, in turn that one and the rest. */
static int arm_of_turn(const struct cv_choice *choice)
{
    int arm = (int)(choice->turn / 2 % 2) + DYNAMIC;

    if (choice->turn % 2 == 0)
        return choice->turn % 4 == 0 ? OWN : choice->best;
    return worth_trying(choice, arm) ? arm : choice->best;
}

static void settle_best(struct cv_choice *choice)
{
    for (int arm = 0; arm < CV_ARMS; arm++) {
        const struct cv_arm *with = &choice->arms[arm],
                            *best = &choice->arms[choice->best];

        if (with->measured >= ENOUGH && best->measured >= ENOUGH &&
            with->median_s < better * best->median_s) {
            choice->best = arm;
            choice->period = FIRST_PERIOD;
        }
    }
}

/* Ranks come in another way than when the policies were compared: what was measured then
 * says nothing about now. One odd call is looked into at once, a few in a row are believed. */
static void notice_change(struct cv_choice *choice, double spread_s)
{
    double least = worth_a_try * choice->arms[OWN].median_s;
    double spread = spread_s > least ? spread_s : least;

    if (choice->usual_spread_s == 0)
        choice->usual_spread_s = spread;
    if (spread < other_times * choice->usual_spread_s &&
        spread > choice->usual_spread_s / other_times) {
        choice->odd = 0;
        return;
    }
    choice->next_measured = choice->calls;
    if (++choice->odd < ENOUGH)
        return;
    choice->odd = 0;
    choice->usual_spread_s = spread;
    choice->turn = 0;
    choice->period = FIRST_PERIOD;
    choice->spreads = 0;
    for (int arm = 0; arm < CV_ARMS; arm++)
        choice->arms[arm].measured = 0;
}

/* Take over what was agreed on. */
static void learn(struct cv_chooser *chooser)
{
    struct cv_choice *choice = &chooser->choices[chooser->sort];
    struct cv_arm *arm = &choice->arms[chooser->arm];
    double last = chooser->all[0], first = -chooser->all[1], there = chooser->all[2];

    choice->median_spread_s = push(choice->spread_s, &choice->spreads, last - first);
    arm->median_s = push(arm->times_s, &arm->measured, there > last ? there - last : 0);
    notice_change(choice, last - first);
    settle_best(choice);
}

static int settle(struct cv_chooser *chooser)
{
    if (chooser->agreeing == MPI_REQUEST_NULL || chooser->wait_calls-- > 0)
        return MPI_SUCCESS;
    CV_MPI_TRY(PMPI_Wait(&chooser->agreeing, MPI_STATUS_IGNORE));
    learn(chooser);
    return MPI_SUCCESS;
}

static int make_choices(struct cv_chooser *chooser, MPI_Comm comm)
{
    if (!chooser->clock_known) {
        CV_MPI_TRY(cv_clock_offset(comm, &chooser->clock_offset_s));
        chooser->clock_known = true;
    }
    chooser->choices = calloc(CV_SORTS, sizeof *chooser->choices);
    if (chooser->choices == NULL)
        return MPI_ERR_NO_MEM;
    for (int i = 0; i < CV_SORTS; i++) {
        chooser->choices[i].next_measured = FIRST_MEASURED;
        chooser->choices[i].period = FIRST_PERIOD;
    }
    return MPI_SUCCESS;
}

static void plan_next(struct cv_choice *choice)
{
    choice->turn++;
    if (choice->turn < EAGER_TURNS) {
        choice->next_measured = choice->calls + SETTLE_AFTER;
        return;
    }
    choice->next_measured = choice->calls + choice->period;
    if (choice->turn % 4 == 0 && choice->period < LAST_PERIOD)
        choice->period *= 2;
}

int cv_chooser_pick(struct cv_chooser *chooser, MPI_Comm comm, const struct cv_kind *kind,
                    struct cv_pick *out)
{
    struct cv_choice *choice;

    if (chooser->choices == NULL)
        CV_MPI_TRY(make_choices(chooser, comm));
    if (chooser->agreeing != MPI_REQUEST_NULL)
        CV_MPI_TRY(settle(chooser));
    out->sort = sort_of(kind);
    choice = &chooser->choices[out->sort];
    out->arm = choice->best;
    out->measured = false;
    if (choice->calls++ >= choice->next_measured &&
        chooser->agreeing == MPI_REQUEST_NULL) {
        out->measured = true;
        out->arm = arm_of_turn(choice);
        plan_next(choice);
        out->came_s = cv_clock_s();
    }
    choice->arms[out->arm].calls++;
    out->policy = cv_chooser_policy(out->sort, out->arm);
    return MPI_SUCCESS;
}

enum cv_mpi_policy cv_chooser_best(const struct cv_chooser *chooser,
                                   const struct cv_kind *kind)
{
    int sort = sort_of(kind);

    return cv_chooser_policy(sort, chooser->choices ? chooser->choices[sort].best : OWN);
}

int cv_chooser_note(struct cv_chooser *chooser, MPI_Comm comm, const struct cv_pick *pick,
                    bool has_result)
{
    double came = pick->came_s + chooser->clock_offset_s;

    chooser->mine[0] = came;
    chooser->mine[1] = -came;
    /* A rank without the result must not be the last one. */
    chooser->mine[2] = has_result ? cv_clock_s() + chooser->clock_offset_s : came;
    chooser->sort = pick->sort;
    chooser->arm = pick->arm;
    chooser->wait_calls = SETTLE_AFTER - 1;
    return PMPI_Iallreduce(chooser->mine, chooser->all, 3, MPI_DOUBLE, MPI_MAX, comm,
                           &chooser->agreeing);
}

void cv_chooser_free(struct cv_chooser *chooser)
{
    if (chooser->agreeing != MPI_REQUEST_NULL)
        PMPI_Wait(&chooser->agreeing, MPI_STATUS_IGNORE);
    free(chooser->choices);
    chooser->choices = NULL;
}
