/* chooser.h -- what "auto" is. SPDX-License-Identifier: MIT
 *
 * Calls of a communicator are sorted by size of the vector (factors of four), by whether
 * the operator commutes and by whether all ranks want the result. Of each sort some calls
 * are measured: when every rank came, when the result was there. Arrival spread and time
 * from the last arrival to the result are agreed on by an MPI_Iallreduce of three numbers
 * that is waited for two calls later, so all ranks know the same in the same call. Measured
 * calls take turns among the policies; all other calls use the one with the least median.
 *
 * Calls are measured often at first, then ever more seldom, down to one in 128, and often
 * again when arrivals spread much more or much less than they did. */
#ifndef CV_CHOOSER_H
#define CV_CHOOSER_H
#include <stdbool.h>
#include <mpi.h>
#include "mpi/mpi_names.h"

enum { CV_ARMS = 3, CV_ARM_TIMES = 7, CV_SIZES = 16, CV_SORTS = 4 * CV_SIZES };

struct cv_arm {
    double times_s[CV_ARM_TIMES]; /* the newest ones, in a ring */
    unsigned measured;
    double median_s;
    double calls;
};

struct cv_choice {
    unsigned calls, next_measured, period, turn, odd;
    int best; /* arm in use */
    double spread_s[CV_ARM_TIMES];
    unsigned spreads;
    double median_spread_s, usual_spread_s;
    struct cv_arm arms[CV_ARMS]; /* the MPI's own, dynamic, greedy */
};

struct cv_chooser {
    double clock_offset_s; /* rank 0's clock minus ours             */
    bool clock_known;
    MPI_Request agreeing;
    int sort, arm;       /* what is being agreed on               */
    unsigned wait_calls; /* before it is waited for               */
    double mine[3], all[3];
    struct cv_choice *choices; /* owned, CV_SORTS                       */
};

/* What a call is to do. */
struct cv_pick {
    enum cv_mpi_policy policy;
    int sort, arm;
    bool measured;
    double came_s;
};

struct cv_kind {
    double bytes;
    bool commutes, to_all;
};

/* The policy of this call. */
int cv_chooser_pick(struct cv_chooser *chooser, MPI_Comm comm, const struct cv_kind *kind,
                    struct cv_pick *out);
/* The same without measuring. */
enum cv_mpi_policy cv_chooser_best(const struct cv_chooser *chooser,
                                   const struct cv_kind *kind);
/* After a measured call. `has_result`: this rank has to have it. */
int cv_chooser_note(struct cv_chooser *chooser, MPI_Comm comm, const struct cv_pick *pick,
                    bool has_result);
void cv_chooser_free(struct cv_chooser *chooser);

/* How a sort of calls is described, for reports. */
enum cv_mpi_policy cv_chooser_policy(int sort, int arm);
double cv_chooser_bytes(int sort);

/* Seconds since some moment in the past, and how far rank 0's clock is from this one's:
 * collective. */
double cv_clock_s(void);
int cv_clock_offset(MPI_Comm comm, double *out_s);

#endif
