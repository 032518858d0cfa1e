/* slice_plan.h -- into how many slices vectors are cut, who keeps them, and what that takes.
 * SPDX-License-Identifier: MIT
 *
 * Of n vectors, each keeper of one of k slices receives n / k in all. It keeps up with the
 * others when that takes no longer than they take to come. More slices than that make more
 * messages, and shorter ones. Pure. */
#ifndef CV_SLICE_PLAN_H
#define CV_SLICE_PLAN_H
#include <stdbool.h>

/* More do not help: messages that all begin at once get in each other's way. */
enum { CV_MOST_SLICES = 16 };

struct cv_slice_job {
    int n;           /* ranks                                                */
    double d, c;     /* what a transfer and a combination of a vector take   */
    double port_s;   /* for how long a transfer keeps its receiver busy      */
    double spread_s; /* within which ranks come                              */
    int max;         /* slices at most; less than 2: there are none          */
};

/* How many slices are worth it at most, of a vector of so many elements. */
int cv_slice_most(int n, int elements, double bytes);
/* How many, when `there` of the ranks have come. */
int cv_slice_count(const struct cv_slice_job *job, int there);
/* How long after the last arrival the result is there, about, if keepers keep up; infinite if
 * there are no slices. And how far behind they are then, when `there` of the ranks begin
 * together. */
double cv_slice_time(const struct cv_slice_job *job);
double cv_slice_backlog(const struct cv_slice_job *job, int there);
/* Who keeps them: the root, and of those who are there the quickest, spread out over them, but
 * not at equal distances: networks choose ways by the number of who is at their end.
 * Their number, at most `count`. pace: what their transfers take, or NULL if it is the
 * same; out: room for n. */
int cv_slice_owners(int n, int root, const bool *there, const double *pace, int count,
                    int *out);

#endif
