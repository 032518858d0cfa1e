/* chooser.c -- what "auto" is. SPDX-License-Identifier: MIT */
#include "mpi/reduce/chooser.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/compare.h"
#include "mpi/memory/mpi_try.h"
#include "mpi/reduce/comm_state.h"

/* --- which policy "auto" uses, by what was measured -------------------------------- */

/* Times scatter, the more so where ranks share processors, and the MPI library's own way
 * must not be given up by chance. Two arms are compared by rank sums: of all pairs of a
 * time of one and a time of the other, how many speak for the one, in standard deviations
 * of what chance would do. */

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

/* --- how far the clocks of two ranks are apart ------------------------------------- */

/* MPI_Wtime counts from a moment of each process's own, so the clock of the system is
 * read. Ranks on one node have the same. Elsewhere a rank asks the one above it in a
 * binomial tree a few times; the quickest answer tells the difference to within half of
 * what it took, and differences add up on the way to rank 0. */

enum { TIMES = 4 };

double cv_clock_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int answer(MPI_Comm comm, int child)
{
    for (int i = 0; i < TIMES; i++) {
        double now;

        CV_MPI_TRY(
            PMPI_Recv(&now, 1, MPI_DOUBLE, child, CV_TAG_PING, comm, MPI_STATUS_IGNORE));
        now = cv_clock_s();
        CV_MPI_TRY(PMPI_Send(&now, 1, MPI_DOUBLE, child, CV_TAG_PING, comm));
    }
    return MPI_SUCCESS;
}

static int ask(MPI_Comm comm, int parent, double *out_s)
{
    double best = 0;

    for (int i = 0; i < TIMES; i++) {
        double sent = cv_clock_s(), theirs, took;

        CV_MPI_TRY(PMPI_Send(&sent, 1, MPI_DOUBLE, parent, CV_TAG_PING, comm));
        CV_MPI_TRY(PMPI_Recv(&theirs, 1, MPI_DOUBLE, parent, CV_TAG_PING, comm,
                             MPI_STATUS_IGNORE));
        took = cv_clock_s() - sent;
        if (i == 0 || took < best) {
            best = took;
            *out_s = theirs - (sent + took / 2);
        }
    }
    return MPI_SUCCESS;
}

/* Rank r is below r with its lowest bit cleared. */
static int walk(MPI_Comm comm, int rank, int size, double *offset)
{
    int lowest = rank & -rank;

    if (rank > 0) {
        double above;

        CV_MPI_TRY(ask(comm, rank - lowest, offset));
        CV_MPI_TRY(PMPI_Recv(&above, 1, MPI_DOUBLE, rank - lowest, CV_TAG_PING, comm,
                             MPI_STATUS_IGNORE));
        *offset += above;
    }
    for (int bit = 1; (rank == 0 || bit < lowest) && bit < size - rank; bit *= 2) {
        CV_MPI_TRY(answer(comm, rank + bit));
        CV_MPI_TRY(PMPI_Send(offset, 1, MPI_DOUBLE, rank + bit, CV_TAG_PING, comm));
    }
    return MPI_SUCCESS;
}

static int clock_offset(MPI_Comm comm, double *out_s, bool *out_apart)
{
    MPI_Comm node;
    int rank, size, here = 0, apart, any;
    double offset = 0;

    CV_MPI_TRY(PMPI_Comm_rank(comm, &rank));
    CV_MPI_TRY(PMPI_Comm_size(comm, &size));
    /* Where no communicator is left to ask with, messages are right in any case. */
    if (PMPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node) ==
        MPI_SUCCESS) {
        CV_MPI_TRY(PMPI_Comm_size(node, &here));
        CV_MPI_TRY(PMPI_Comm_free(&node));
    }
    apart = here < size;
    CV_MPI_TRY(PMPI_Allreduce(&apart, &any, 1, MPI_INT, MPI_MAX, comm));
    if (any)
        CV_MPI_TRY(walk(comm, rank, size, &offset));
    *out_s = offset;
    *out_apart = any != 0;
    return MPI_SUCCESS;
}

/* --- what "auto" is ---------------------------------------------------------------- */

enum { SETTLE_AFTER = 2, FORGET_AFTER = 64 };

/* Between machines the first trial of another policy measures links, with a few messages of
 * 64 KiB (link_costs.c): that takes up to so many reductions of vectors of that length, and longer
 * ones, which have to travel at least once, take longer than that. */
static const double set_up_calls = 8, set_up_bytes = 65536;

static int sort_of(const struct cv_kind *kind)
{
    int size = 0;

    for (double min = 4; size < CV_SIZES - 1 && kind->bytes >= min; min *= 4)
        size++;
    return (2 * (int)kind->reach + (kind->commutes ? 1 : 0)) * CV_SIZES + size;
}

/* Where ranks share memory they meet there, which costs next to nothing; elsewhere atomic
 * operations cost more than messages. */
enum cv_mpi_policy cv_chooser_policy(const struct cv_chooser *chooser, int sort, int arm)
{
    bool commutes = sort / CV_SIZES % 2 != 0;

    if (arm == CV_ARM_OWN)
        return CV_MPI_MPI;
    if (arm == CV_ARM_GREEDY)
        return CV_MPI_GREEDY;
    if (!commutes)
        return CV_MPI_ORDERED;
    return chooser->apart ? CV_MPI_TREE_REPLAN : CV_MPI_TREE_DYN;
}

double cv_chooser_bytes(int sort)
{
    return sort % CV_SIZES == 0 ? 0 : ldexp(1, 2 * (sort % CV_SIZES));
}

static int make_choices(struct cv_chooser *chooser, MPI_Comm comm)
{
    if (!chooser->clock_known) {
        CV_MPI_TRY(clock_offset(comm, &chooser->clock_offset_s, &chooser->apart));
        chooser->clock_known = true;
    }
    chooser->choices = calloc(CV_SORTS, sizeof *chooser->choices);
    if (chooser->choices == NULL)
        return MPI_ERR_NO_MEM;
    for (int i = 0; i < CV_SORTS; i++)
        cv_choice_begin(&chooser->choices[i]);
    return MPI_SUCCESS;
}

/* Take over what was agreed on, when it is time to. */
static int settle(struct cv_chooser *chooser)
{
    struct cv_trial_batch *heat = &chooser->heat;

    if (chooser->wait_calls-- > 0)
        return MPI_SUCCESS;
    CV_MPI_TRY(PMPI_Wait(&chooser->agreeing, MPI_STATUS_IGNORE));
    for (int i = 0; i < heat->length; i++) {
        const double *of = &heat->all[3 * (size_t)i];
        double last = of[0], first = -of[1], there = of[2];

        cv_choice_learn(&chooser->choices[heat->sort],
                        &(struct cv_trial_time){ .arm = heat->calls[i].arm,
                                                 .came_s = last,
                                                 .spread_s = last - first,
                                                 .time_s =
                                                     there > last ? there - last : 0,
                                                 .counts = heat->calls[i].counts });
    }
    heat->length = heat->done = 0;
    return MPI_SUCCESS;
}

static double set_up_of(const struct cv_chooser *chooser, int sort)
{
    const double bytes = cv_chooser_bytes(sort);

    if (!chooser->apart || chooser->set_up)
        return 0;
    return set_up_calls * (bytes < set_up_bytes ? set_up_bytes / fmax(bytes, 1) : 1);
}

/* Whether this call is in a heat, which may begin here. */
static bool join_heat(struct cv_chooser *chooser, int sort)
{
    struct cv_choice *choice = &chooser->choices[sort];
    struct cv_trial_batch *heat = &chooser->heat;

    if (chooser->agreeing != MPI_REQUEST_NULL)
        return false;
    if (heat->length > 0 && heat->sort == sort) {
        heat->idle = 0;
        return true;
    }
    /* A sort that comes no more must not keep the others from being measured. */
    if (heat->length > 0 && ++heat->idle < FORGET_AFTER)
        return false;
    if (choice->calls < choice->next_heat)
        return false;
    heat->sort = sort;
    heat->idle = 0;
    choice->set_up = set_up_of(chooser, sort);
    cv_choice_plan(choice, heat);
    return true;
}

int cv_chooser_pick(struct cv_chooser *chooser, MPI_Comm comm, const struct cv_kind *kind,
                    struct cv_pick *out)
{
    struct cv_choice *choice;
    int sort = sort_of(kind), arm;

    if (chooser->choices == NULL)
        CV_MPI_TRY(make_choices(chooser, comm));
    if (chooser->agreeing != MPI_REQUEST_NULL)
        CV_MPI_TRY(settle(chooser));
    choice = &chooser->choices[sort];
    out->measured = (choice->calls >= choice->next_heat || chooser->heat.length > 0) &&
                    join_heat(chooser, sort);
    arm = out->measured ? chooser->heat.calls[chooser->heat.done].arm : choice->best;
    choice->calls++;
    choice->used[arm]++;
    chooser->set_up = chooser->set_up || arm != CV_ARM_OWN;
    out->policy = cv_chooser_policy(chooser, sort, arm);
    if (out->measured)
        out->came_s = cv_clock_s();
    return MPI_SUCCESS;
}

struct cv_choice *cv_chooser_choice(const struct cv_chooser *chooser,
                                    const struct cv_kind *kind)
{
    return &chooser->choices[sort_of(kind)];
}

bool cv_chooser_passes(const struct cv_chooser *chooser, struct cv_choice *choice)
{
    if (choice->best != CV_ARM_OWN || choice->calls >= choice->next_heat ||
        chooser->heat.length > 0 || chooser->agreeing != MPI_REQUEST_NULL)
        return false;
    choice->calls++;
    choice->used[CV_ARM_OWN]++;
    return true;
}

enum cv_mpi_policy cv_chooser_best(const struct cv_chooser *chooser,
                                   const struct cv_kind *kind)
{
    int sort = sort_of(kind);

    return cv_chooser_policy(chooser, sort,
                             chooser->choices ? chooser->choices[sort].best : CV_ARM_OWN);
}

int cv_chooser_note(struct cv_chooser *chooser, MPI_Comm comm, const struct cv_pick *pick,
                    bool has_result)
{
    struct cv_trial_batch *heat = &chooser->heat;
    double came = pick->came_s + chooser->clock_offset_s;
    double *mine = &heat->mine[3 * (size_t)heat->done];

    mine[0] = came;
    mine[1] = -came;
    /* A rank without the result must not be the last one. */
    mine[2] = has_result ? cv_clock_s() + chooser->clock_offset_s : came;
    if (++heat->done < heat->length)
        return MPI_SUCCESS;
    chooser->wait_calls = SETTLE_AFTER - 1;
    return PMPI_Iallreduce(heat->mine, heat->all, 3 * heat->length, MPI_DOUBLE, MPI_MAX,
                           comm, &chooser->agreeing);
}

void cv_chooser_free(struct cv_chooser *chooser)
{
    if (chooser->agreeing != MPI_REQUEST_NULL)
        PMPI_Wait(&chooser->agreeing, MPI_STATUS_IGNORE);
    free(chooser->choices);
    chooser->choices = NULL;
}
