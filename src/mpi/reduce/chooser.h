/* chooser.h -- the policy "auto". SPDX-License-Identifier: MIT
 *
 * Calls of a communicator belong to classes: by size of the vector (factors of four), by
 * whether the operator commutes, and by the ranks that want the result. In each class
 * some consecutive calls, a batch, are measured: the arrival of every rank, and the
 * result. After a batch, ranks agree on the arrival spread and on the time from the last
 * arrival to the result by one MPI_Iallreduce, which they wait for two calls later: so
 * all ranks know the same in the same call. All other calls use the best policy and read
 * no clock.
 *
 * In the first batches all policies take turns, as long as expected losses are within 2 %
 * of the time since the first batch, which is the MPI library's; a policy that is surely
 * worse is dropped. Then batches become rarer, down to one in 128 calls. If arrivals
 * spread much more or less than before, learning starts again. Other policies are tried
 * for at most 2 % of the time. */
#ifndef CV_CHOOSER_H
#define CV_CHOOSER_H
#include <mpi.h>
#include <stdbool.h>
#include "mpi/reduce/mpi_names.h"

/* The MPI library, the dynamic policy that fits the operator, and greedy. */
enum { CV_ARM_OWN, CV_ARM_DYNAMIC, CV_ARM_GREEDY, CV_ARMS };
enum { CV_ARM_TIMES = 12, CV_SIZES = 16, CV_CLASSES = 6 * CV_SIZES };
enum { CV_BATCH = 6 }; /* most calls in a batch */

struct cv_arm {
    double times_s[CV_ARM_TIMES]; /* the last times, in a ring */
    unsigned measured;
    double median_s;
};

struct cv_choice {
    /* For most calls, in one cache line. */
    unsigned calls, next_batch;
    int best;               /* arm in use                                 */
    unsigned used[CV_ARMS]; /* calls that used an arm                     */
    unsigned period, batches, odd, patience;
    unsigned accounted;     /* calls that are in spent_s                  */
    double spent_s, lost_s; /* by all calls; by slower trials             */
    double set_up;          /* cost of the first trial, in calls of the arm in use */
    double newest_s;        /* last time of the arm in use                */
    double began_s, now_s;  /* last arrival at the first and at the last measured
                               call, by one clock; 0: none                */
    double spread_s[CV_ARM_TIMES];
    unsigned spreads;
    double median_spread_s, usual_spread_s;
    struct cv_arm arms[CV_ARMS];
};

/* Calls that are being measured or agreed on. */
struct cv_trial_batch {
    int class;
    int length, done; /* calls; 0: no batch            */
    unsigned idle;    /* calls of other classes since  */
    struct {
        int arm;
        bool counts; /* false for the first call of an arm */
    } calls[CV_BATCH];
    double mine[3 * CV_BATCH], all[3 * CV_BATCH];
};

struct cv_chooser {
    struct cv_choice *choices; /* owned, CV_CLASSES                       */
    MPI_Request agreeing;
    unsigned wait_calls; /* before `agreeing` is waited for       */
    struct cv_trial_batch batch;
    double clock_offset_s; /* clock of rank 0 minus this rank's      */
    bool clock_known;
    bool apart;  /* not all ranks share memory                      */
    bool set_up; /* another arm than the MPI library was tried      */
};

struct cv_pick {
    enum cv_mpi_policy policy;
    bool measured;
    double came_s;
};

/* Ranks that get the result: the root, all, or each a part. */
enum cv_mpi_reach { CV_TO_ROOT, CV_TO_ALL, CV_TO_PARTS };

struct cv_kind {
    double bytes;
    bool commutes;
    enum cv_mpi_reach reach;
};

int cv_chooser_pick(struct cv_chooser *chooser, MPI_Comm comm, const struct cv_kind *kind,
                    struct cv_pick *out);
/* The state of a class, for cv_chooser_passes; after cv_chooser_pick. */
struct cv_choice *cv_chooser_choice(const struct cv_chooser *chooser,
                                    const struct cv_kind *kind);
/* Whether the MPI library executes a call, without measurement: as cv_chooser_pick, at a
 * tenth of its cost. */
bool cv_chooser_passes(const struct cv_chooser *chooser, struct cv_choice *choice);
/* The best policy, without measurement. */
enum cv_mpi_policy cv_chooser_best(const struct cv_chooser *chooser,
                                   const struct cv_kind *kind);
/* After a measured call. `has_result`: this rank gets the result. */
int cv_chooser_note(struct cv_chooser *chooser, MPI_Comm comm, const struct cv_pick *pick,
                    bool has_result);
void cv_chooser_free(struct cv_chooser *chooser);

/* A measured call, the same on all ranks; came_s: arrival of the last rank. */
struct cv_trial_time {
    int arm;
    double came_s, spread_s, time_s;
    bool counts;
};

void cv_choice_begin(struct cv_choice *choice);
void cv_choice_learn(struct cv_choice *choice, const struct cv_trial_time *trial);
/* Plan the next batch, and when the one after it is due. */
void cv_choice_plan(struct cv_choice *choice, struct cv_trial_batch *batch);

/* For reports. */
enum cv_mpi_policy cv_chooser_policy(const struct cv_chooser *chooser, int class,
                                     int arm);
double cv_chooser_bytes(int class);

#endif
