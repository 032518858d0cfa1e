/* chooser.h -- what "auto" is. SPDX-License-Identifier: MIT
 *
 * Calls of a communicator are sorted by size of the vector (factors of four), by whether
 * the operator commutes and by who wants the result. Of each sort some calls
 * are measured, a few in a row, which is a heat: when every rank came, when the result
 * was there. After a heat, arrival spread and time from the last arrival to the result of
 * its calls are agreed on by one MPI_Iallreduce that is waited for two calls later, so
 * all ranks know the same in the same call. All other calls use the policy that is best,
 * and read no clock.
 *
 * In the first heats all policies take turns, as far as what they may lose is within a
 * fiftieth of the time since the first: so the first heat of all is the MPI library's, and one
 * that is surely worse steps aside. Then heats come ever more seldom, down to
 * one in 128 calls. They watch how ranks arrive, and all begins anew when arrivals spread
 * much more or much less than they did; policies that are not in use are tried then as
 * often as that takes a fiftieth of the time at most. */
#ifndef CV_CHOOSER_H
#define CV_CHOOSER_H
#include <mpi.h>
#include <stdbool.h>
#include "mpi/reduce/mpi_names.h"

/* The MPI library's own way, the dynamic policy that fits the operator, and greedy. */
enum { CV_ARM_OWN, CV_ARM_DYNAMIC, CV_ARM_GREEDY, CV_ARMS };
enum { CV_ARM_TIMES = 12, CV_SIZES = 16, CV_SORTS = 6 * CV_SIZES };
enum { CV_HEAT = 6 }; /* calls in a heat, at most */

struct cv_arm {
    double times_s[CV_ARM_TIMES]; /* the newest ones, in a ring */
    unsigned measured;
    double median_s;
};

struct cv_choice {
    /* What most calls look at, and no more than that. */
    unsigned calls, next_heat;
    int best;               /* arm in use                                 */
    unsigned used[CV_ARMS]; /* calls that used an arm                     */
    unsigned period, heats, odd, patience;
    unsigned accounted;     /* calls that are in spent_s                  */
    double spent_s, lost_s; /* by all calls; by trials that did not pay   */
    double set_up;          /* what the first trial sets up may take, in calls of
                               the arm in use; 0: next to nothing         */
    double newest_s;        /* of the arm in use                          */
    double began_s, now_s;  /* when all had come to the first and to the newest
                               call measured, by one clock; 0: none yet   */
    double spread_s[CV_ARM_TIMES];
    unsigned spreads;
    double median_spread_s, usual_spread_s;
    struct cv_arm arms[CV_ARMS];
};

/* The calls that are being measured, or were and are being agreed on. */
struct cv_trial_batch {
    int sort;
    int length, done; /* calls; no heat if 0        */
    unsigned idle;    /* calls of other sorts since */
    struct {
        int arm;
        bool counts; /* not if it sets something up */
    } calls[CV_HEAT];
    double mine[3 * CV_HEAT], all[3 * CV_HEAT];
};

struct cv_chooser {
    struct cv_choice *choices; /* owned, CV_SORTS                       */
    MPI_Request agreeing;
    unsigned wait_calls; /* before it is waited for               */
    struct cv_trial_batch heat;
    double clock_offset_s; /* rank 0's clock minus ours             */
    bool clock_known;
    bool apart;  /* not all ranks share memory                      */
    bool set_up; /* some other policy than the MPI library's was tried */
};

/* What a call is to do. */
struct cv_pick {
    enum cv_mpi_policy policy;
    bool measured;
    double came_s;
};

/* Who is to have the result: the root, all, or each a part of it. */
enum cv_mpi_reach { CV_TO_ROOT, CV_TO_ALL, CV_TO_PARTS };

struct cv_kind {
    double bytes;
    bool commutes;
    enum cv_mpi_reach reach;
};

/* The policy of this call. */
int cv_chooser_pick(struct cv_chooser *chooser, MPI_Comm comm, const struct cv_kind *kind,
                    struct cv_pick *out);
/* What is kept of all calls of a kind, for cv_chooser_passes; after one was picked. */
struct cv_choice *cv_chooser_choice(const struct cv_chooser *chooser,
                                    const struct cv_kind *kind);
/* Whether a call of that kind is the MPI library's, and nothing is to be measured or agreed on in
 * it: the same as picking it, at a tenth of the cost. */
bool cv_chooser_passes(const struct cv_chooser *chooser, struct cv_choice *choice);
/* The same without measuring. */
enum cv_mpi_policy cv_chooser_best(const struct cv_chooser *chooser,
                                   const struct cv_kind *kind);
/* After a measured call. `has_result`: this rank has to have it. */
int cv_chooser_note(struct cv_chooser *chooser, MPI_Comm comm, const struct cv_pick *pick,
                    bool has_result);
void cv_chooser_free(struct cv_chooser *chooser);

/* What follows from measurements: local, the same on all ranks. An arm's new time, and when
 * the last rank had come. */
struct cv_trial_time {
    int arm;
    double came_s, spread_s, time_s;
    bool counts;
};

void cv_choice_begin(struct cv_choice *choice);
void cv_choice_learn(struct cv_choice *choice, const struct cv_trial_time *lap);
/* The arms of the next heat, whether they count, and when the one after that is due. */
void cv_choice_plan(struct cv_choice *choice, struct cv_trial_batch *heat);

/* How a sort of calls is described, for reports. */
enum cv_mpi_policy cv_chooser_policy(const struct cv_chooser *chooser, int sort, int arm);
double cv_chooser_bytes(int sort);

/* Seconds since some moment in the past, and how far rank 0's clock is from this one's, and
 * whether some ranks do not share memory: collective. */
double cv_clock_s(void);

#endif
