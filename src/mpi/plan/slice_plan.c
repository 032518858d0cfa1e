/* slice_plan.c -- into how many slices vectors are cut, who keeps them, and what that takes.
 * SPDX-License-Identifier: MIT */
#include "mpi/plan/slice_plan.h"

#include <math.h>
#include <stddef.h>

/* Shorter messages cost as much as these; fewer ranks have a tree of few levels; and who is
 * not much slower than the quickest will do. */
static const double least_slice = 1024, about_as_quick = 1.05;
enum { LEAST_RANKS = 16, LEAST_SLICES = 4, RANKS_EACH = 4 };

int cv_slice_most(int n, int elements, double bytes)
{
    const int ranks = n / RANKS_EACH;
    const double max =
        fmin(fmin(CV_MOST_SLICES, ranks), fmin(elements, bytes / least_slice));

    return n < LEAST_RANKS || max < LEAST_SLICES ? 0 : (int)max;
}

/* The time in which those come who are not there yet. */
static double left_of(const struct cv_slice_job *job, int there)
{
    return job->spread_s * (job->n - there) / job->n;
}

/* For how long one that kept all would be busy. */
static double busy_of(const struct cv_slice_job *job)
{
    return job->n * fmax(job->port_s, job->c);
}

int cv_slice_count(const struct cv_slice_job *job, int there)
{
    const double wish = 2 * busy_of(job), left_s = left_of(job, there);

    if (wish >= job->max * left_s)
        return job->max;
    return (int)fmin(fmax(ceil(wish / left_s), LEAST_SLICES), job->max);
}

double cv_slice_time(const struct cv_slice_job *job)
{
    return job->max < 2 ? HUGE_VAL : 2 * job->d + job->c;
}

double cv_slice_backlog(const struct cv_slice_job *job, int there)
{
    return fmax(0, busy_of(job) / job->max - left_of(job, there));
}

/* The pace that `count` ranks are not slower than. */
static double pace_of_most(int n, const bool *there, const double *pace, int count)
{
    double bound = HUGE_VAL;

    for (int i = 0; i < n; i++) {
        int quicker = 0;

        if (!there[i] || pace[i] >= bound)
            continue;
        for (int k = 0; k < n; k++)
            quicker += there[k] && pace[k] <= pace[i];
        if (quicker >= count)
            bound = pace[i];
    }
    return bound;
}

/* The k-th of `count` places among `able`: one of each range of able / count, at a place in it
 * that is another one each time, by the golden ratio. */
static int place_of(int k, int able, int count)
{
    const int first = (int)((long)k * able / count);
    const int next = (int)((long)(k + 1) * able / count);
    double whole;

    return first + (int)(modf(k * 0.6180339887498949, &whole) * (next - first));
}

int cv_slice_owners(int n, int root, const bool *there, const double *pace, int count,
                    int *out)
{
    const double bound =
        pace == NULL ? HUGE_VAL : about_as_quick * pace_of_most(n, there, pace, count);
    int able = 0, kept = 1;

    for (int i = 0; i < n; i++)
        if (i != root && there[i] && (pace == NULL || pace[i] <= bound))
            out[1 + able++] = i;
    out[0] = root;
    if (able < count)
        return able + 1;
    for (; kept < count; kept++)
        out[kept] = out[1 + place_of(kept - 1, able, count - 1)];
    return kept;
}
