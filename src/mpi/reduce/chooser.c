/* chooser.c -- the policy "auto". SPDX-License-Identifier: MIT */
#include "mpi/reduce/chooser.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/compare.h"
#include "mpi/reduce/comm_state.h"

/* --- learning ----------------------------------------------------------------------- */

/* Times scatter, and more so if ranks share processors. Two arms are compared by rank
 * sums (Mann and Whitney): the number of pairs of times in which one arm is faster, in
 * standard deviations. */

enum { FIRST_BATCH = 2, LEARNING_BATCHES = 7, FIRST_PERIOD = 16, LAST_PERIOD = 128 };
enum { ENOUGH = 5, FEW = 3, LEAST_PATIENCE = 6, MOST_PATIENCE = 96 };

/* Another arm becomes the best if its median is below `better` and confidence above
 * `sure`; the MPI library if its median is lower and confidence above `rather_sure`. */
static const double better = 0.93, sure = 1.8, rather_sure = 1;
/* While learning, an arm that is `hopeless` times slower, or slower with confidence
 * very_sure, is not tried again. Later a dynamic arm is not tried if the spread is below
 * worth_a_try of the MPI library's time. */
static const double hopeless = 2, very_sure = 2.5, worth_a_try = 0.5;
/* If spreads change by the factor other_times, learning starts again; if the time of the
 * arm in use changes by odd_time, batches become more frequent. */
static const double other_times = 4, odd_time = 1.3;
/* Part of the time that trials may cost. */
static const double allowance = 0.02;
/* A time this many times the usual one counts only if it is repeated: the machine may
 * have been busy. */
static const double outrageous = 8;

void cv_choice_begin(struct cv_choice *choice)
{
    choice->next_batch = FIRST_BATCH;
    choice->period = FIRST_PERIOD;
    choice->patience = LEAST_PATIENCE;
}

static unsigned in_ring(unsigned count)
{
    return count < CV_ARM_TIMES ? count : CV_ARM_TIMES;
}

/* Put a value into a ring and return the median of the ring. */
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

/* The expected time. Most of a few times may have been disturbed. */
static double expected_s(const struct cv_arm *arm)
{
    return arm->measured < ENOUGH ? quickest_s(arm) : arm->median_s;
}

/* Confidence that `a` is faster than `b`, in standard deviations. */
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

/* If arrivals change, measurements are out of date. One odd call is followed by a batch,
 * `patience` odd calls in a row restart learning; patience doubles each time, for
 * programs whose arrivals have no pattern. */
static void notice_change(struct cv_choice *choice, double spread_s)
{
    double min = worth_a_try * choice->arms[CV_ARM_OWN].median_s;
    double spread = spread_s > min ? spread_s : min;

    /* The usual spread needs several calls. */
    if (choice->spreads <= CV_ARM_TIMES) {
        choice->usual_spread_s = fmax(choice->median_spread_s, min);
        return;
    }
    if (spread < other_times * choice->usual_spread_s &&
        spread > choice->usual_spread_s / other_times) {
        choice->odd = 0;
        return;
    }
    choice->next_batch = choice->calls;
    if (++choice->odd < choice->patience)
        return;
    choice->odd = 0;
    if (choice->patience < MOST_PATIENCE)
        choice->patience *= 2;
    choice->batches = 0;
    choice->period = FIRST_PERIOD;
    choice->spreads = 0;
    for (int arm = 0; arm < CV_ARMS; arm++)
        choice->arms[arm].measured = 0;
}

/* The arm in use took long, or another one was faster just after it: rare batches would
 * take long to find out whether that was chance. */
static void look_closer(struct cv_choice *choice)
{
    choice->period = FIRST_PERIOD;
    if (choice->next_batch > choice->calls + FIRST_PERIOD)
        choice->next_batch = choice->calls + FIRST_PERIOD;
}

/* Time that a trial cost. */
static double loss_s(const struct cv_arm *arm, double time_s, double usual_s)
{
    const double max = outrageous * usual_s;

    if (arm->measured < 2 || quickest_s(arm) <= max)
        time_s = fmin(time_s, max);
    return fmax(time_s - usual_s, 0);
}

void cv_choice_learn(struct cv_choice *choice, const struct cv_trial_time *trial)
{
    const int arm = trial->arm;
    const double time_s = trial->time_s, spread_s = trial->spread_s;
    struct cv_arm *with = &choice->arms[arm];
    double usual = choice->arms[choice->best].median_s;

    if (choice->began_s == 0)
        choice->began_s = trial->came_s;
    choice->now_s = trial->came_s;
    if (arm != choice->best && time_s > usual && !trial->counts)
        choice->lost_s += fmin(time_s, (hopeless + choice->set_up) * usual) - usual;
    if (!trial->counts)
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

/* Whether an arm is tried while learning. */
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

/* Whether a trial is within the allowance. */
static bool is_affordable(const struct cv_choice *choice, int arm)
{
    double best_s = choice->arms[choice->best].median_s;
    double loss = choice->arms[arm].median_s - best_s;

    if (arm == CV_ARM_DYNAMIC &&
        choice->median_spread_s < worth_a_try * choice->arms[CV_ARM_OWN].median_s)
        return false;
    return loss <= 0 || choice->lost_s + loss <= allowance * choice->spent_s;
}

static void add(struct cv_choice *choice, struct cv_trial_batch *batch, int arm)
{
    /* The first call of a policy includes its set-up. */
    bool counts = arm == CV_ARM_OWN || choice->used[arm] > 0;

    for (int i = 0; i < batch->length; i++)
        counts = counts || batch->calls[i].arm == arm;
    batch->calls[batch->length].arm = arm;
    batch->calls[batch->length++].counts = counts;
}

/* The possible cost of a trial while learning; for an unknown arm, the time of the best
 * one and the set-up. */
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

/* All arms take turns within the allowance. True: all arms but the best have to wait for
 * more time. */
static bool plan_learning(struct cv_choice *choice, struct cv_trial_batch *batch,
                          unsigned turn)
{
    double may_lose_s = allowance * (choice->now_s - choice->began_s) - choice->lost_s;
    bool wait = choice->arms[choice->best].measured == 0, others = false;
    double set_up = choice->set_up;

    for (int i = 0; i < CV_BATCH; i++) {
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
            set_up = 0; /* needed once */
        }
        may_lose_s -= risk;
        add(choice, batch, arm);
    }
    return wait && !others;
}

void cv_choice_plan(struct cv_choice *choice, struct cv_trial_batch *batch)
{
    unsigned turn = choice->batches++;

    batch->length = batch->done = 0;
    choice->spent_s +=
        (choice->calls - choice->accounted) * choice->arms[choice->best].median_s;
    choice->accounted = choice->calls;
    if (turn < LEARNING_BATCHES) {
        const bool wait = plan_learning(choice, batch, turn);

        choice->next_batch = choice->calls + (unsigned)batch->length;
        if (!wait) {
            choice->period = FIRST_PERIOD;
            return;
        }
        choice->batches--; /* this batch only measures the available time */
        choice->next_batch += choice->period / 4;
        if (choice->period < LAST_PERIOD)
            choice->period *= 2;
        return;
    }
    add(choice, batch, choice->best);
    for (int arm = 0; arm < CV_ARMS; arm++)
        if (arm != choice->best && is_affordable(choice, arm))
            add(choice, batch, arm);
    choice->next_batch = choice->calls + choice->period;
    if (choice->period < LAST_PERIOD)
        choice->period *= 2;
}

/* --- clocks ------------------------------------------------------------------------- */

/* MPI_Wtime has a different origin in each process, so CLOCK_MONOTONIC is used, which is
 * the same for ranks of a node. Elsewhere a rank exchanges a few messages with its parent
 * in a binomial tree; the fastest answer gives the difference within half of its time,
 * and differences add up on the way to rank 0. */

enum { TIMES = 4 };

static double clock_s(void)
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
        now = clock_s();
        CV_MPI_TRY(PMPI_Send(&now, 1, MPI_DOUBLE, child, CV_TAG_PING, comm));
    }
    return MPI_SUCCESS;
}

static int ask(MPI_Comm comm, int parent, double *out_s)
{
    double best = 0;

    for (int i = 0; i < TIMES; i++) {
        double sent = clock_s(), theirs, took;

        CV_MPI_TRY(PMPI_Send(&sent, 1, MPI_DOUBLE, parent, CV_TAG_PING, comm));
        CV_MPI_TRY(PMPI_Recv(&theirs, 1, MPI_DOUBLE, parent, CV_TAG_PING, comm,
                             MPI_STATUS_IGNORE));
        took = clock_s() - sent;
        if (i == 0 || took < best) {
            best = took;
            *out_s = theirs - (sent + took / 2);
        }
    }
    return MPI_SUCCESS;
}

/* The parent of rank r is r with its lowest bit cleared. */
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
    /* If no communicator is left, messages work in any case. */
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

/* --- calls -------------------------------------------------------------------------- */

enum { SETTLE_AFTER = 2, FORGET_AFTER = 64 };

/* Between machines the first trial of another policy measures links, with a few messages
 * of 64 KiB (link_costs.c): as long as up to set_up_calls reductions of vectors of
 * set_up_bytes. */
static const double set_up_calls = 8, set_up_bytes = 65536;

static int class_of(const struct cv_kind *kind)
{
    int size = 0;

    for (double min = 4; size < CV_SIZES - 1 && kind->bytes >= min; min *= 4)
        size++;
    return (2 * (int)kind->reach + (kind->commutes ? 1 : 0)) * CV_SIZES + size;
}

/* tree-dyn needs atomic operations, which are cheap in shared memory only. */
enum cv_mpi_policy cv_chooser_policy(const struct cv_chooser *chooser, int class, int arm)
{
    bool commutes = class / CV_SIZES % 2 != 0;

    if (arm == CV_ARM_OWN)
        return CV_MPI_MPI;
    if (arm == CV_ARM_GREEDY)
        return CV_MPI_GREEDY;
    if (!commutes)
        return CV_MPI_ORDERED;
    return chooser->apart ? CV_MPI_TREE_REPLAN : CV_MPI_TREE_DYN;
}

double cv_chooser_bytes(int class)
{
    return class % CV_SIZES == 0 ? 0 : ldexp(1, 2 * (class % CV_SIZES));
}

static int make_choices(struct cv_chooser *chooser, MPI_Comm comm)
{
    if (!chooser->clock_known) {
        CV_MPI_TRY(clock_offset(comm, &chooser->clock_offset_s, &chooser->apart));
        chooser->clock_known = true;
    }
    chooser->choices = calloc(CV_CLASSES, sizeof *chooser->choices);
    if (chooser->choices == NULL)
        return MPI_ERR_NO_MEM;
    for (int i = 0; i < CV_CLASSES; i++)
        cv_choice_begin(&chooser->choices[i]);
    return MPI_SUCCESS;
}

/* Use agreed measurements when it is time to. */
static int settle(struct cv_chooser *chooser)
{
    struct cv_trial_batch *batch = &chooser->batch;

    if (chooser->wait_calls-- > 0)
        return MPI_SUCCESS;
    CV_MPI_TRY(PMPI_Wait(&chooser->agreeing, MPI_STATUS_IGNORE));
    for (int i = 0; i < batch->length; i++) {
        const double *of = &batch->all[3 * (size_t)i];
        double last = of[0], first = -of[1], there = of[2];

        cv_choice_learn(&chooser->choices[batch->class],
                        &(struct cv_trial_time){ .arm = batch->calls[i].arm,
                                                 .came_s = last,
                                                 .spread_s = last - first,
                                                 .time_s =
                                                     there > last ? there - last : 0,
                                                 .counts = batch->calls[i].counts });
    }
    batch->length = batch->done = 0;
    return MPI_SUCCESS;
}

static double set_up_of(const struct cv_chooser *chooser, int class)
{
    const double bytes = cv_chooser_bytes(class);

    if (!chooser->apart || chooser->set_up)
        return 0;
    return set_up_calls * (bytes < set_up_bytes ? set_up_bytes / fmax(bytes, 1) : 1);
}

/* Whether this call is in a batch, which it may start. */
static bool join_batch(struct cv_chooser *chooser, int class)
{
    struct cv_choice *choice = &chooser->choices[class];
    struct cv_trial_batch *batch = &chooser->batch;

    if (chooser->agreeing != MPI_REQUEST_NULL)
        return false;
    if (batch->length > 0 && batch->class == class) {
        batch->idle = 0;
        return true;
    }
    /* A class without further calls must not block others. */
    if (batch->length > 0 && ++batch->idle < FORGET_AFTER)
        return false;
    if (choice->calls < choice->next_batch)
        return false;
    batch->class = class;
    batch->idle = 0;
    choice->set_up = set_up_of(chooser, class);
    cv_choice_plan(choice, batch);
    return true;
}

int cv_chooser_pick(struct cv_chooser *chooser, MPI_Comm comm, const struct cv_kind *kind,
                    struct cv_pick *out)
{
    struct cv_choice *choice;
    int class = class_of(kind), arm;

    if (chooser->choices == NULL)
        CV_MPI_TRY(make_choices(chooser, comm));
    if (chooser->agreeing != MPI_REQUEST_NULL)
        CV_MPI_TRY(settle(chooser));
    choice = &chooser->choices[class];
    out->measured = (choice->calls >= choice->next_batch || chooser->batch.length > 0) &&
                    join_batch(chooser, class);
    arm = out->measured ? chooser->batch.calls[chooser->batch.done].arm : choice->best;
    choice->calls++;
    choice->used[arm]++;
    chooser->set_up = chooser->set_up || arm != CV_ARM_OWN;
    out->policy = cv_chooser_policy(chooser, class, arm);
    if (out->measured)
        out->came_s = clock_s();
    return MPI_SUCCESS;
}

struct cv_choice *cv_chooser_choice(const struct cv_chooser *chooser,
                                    const struct cv_kind *kind)
{
    return &chooser->choices[class_of(kind)];
}

bool cv_chooser_passes(const struct cv_chooser *chooser, struct cv_choice *choice)
{
    if (choice->best != CV_ARM_OWN || choice->calls >= choice->next_batch ||
        chooser->batch.length > 0 || chooser->agreeing != MPI_REQUEST_NULL)
        return false;
    choice->calls++;
    choice->used[CV_ARM_OWN]++;
    return true;
}

enum cv_mpi_policy cv_chooser_best(const struct cv_chooser *chooser,
                                   const struct cv_kind *kind)
{
    int class = class_of(kind);

    return cv_chooser_policy(chooser, class,
                             chooser->choices ? chooser->choices[class].best
                                              : CV_ARM_OWN);
}

int cv_chooser_note(struct cv_chooser *chooser, MPI_Comm comm, const struct cv_pick *pick,
                    bool has_result)
{
    struct cv_trial_batch *batch = &chooser->batch;
    double came = pick->came_s + chooser->clock_offset_s;
    double *mine = &batch->mine[3 * (size_t)batch->done];

    mine[0] = came;
    mine[1] = -came;
    /* A rank without the result must not determine the maximum. */
    mine[2] = has_result ? clock_s() + chooser->clock_offset_s : came;
    if (++batch->done < batch->length)
        return MPI_SUCCESS;
    chooser->wait_calls = SETTLE_AFTER - 1;
    return PMPI_Iallreduce(batch->mine, batch->all, 3 * batch->length, MPI_DOUBLE,
                           MPI_MAX, comm, &chooser->agreeing);
}

void cv_chooser_free(struct cv_chooser *chooser)
{
    if (chooser->agreeing != MPI_REQUEST_NULL)
        PMPI_Wait(&chooser->agreeing, MPI_STATUS_IGNORE);
    free(chooser->choices);
    chooser->choices = NULL;
}
