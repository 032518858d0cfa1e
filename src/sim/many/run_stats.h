/* run_stats.h -- mean, spread and quantiles of any number of runs in constant memory.
 * SPDX-License-Identifier: MIT
 *
 * Results are added in the order of the runs, so sums do not depend on threads. Up to
 * CV_EXACT_RUNS runs the quantiles are exact; beyond, they come from a histogram whose
 * bins are 1/2048 of their value wide, with interpolation inside a bin. */
#ifndef CV_RUN_STATS_H
#define CV_RUN_STATS_H
#include <cleave/run.h>

enum { CV_EXACT_RUNS = 1 << 20 };

/* What a run came to. */
struct cv_run_result {
    double makespan_s, utilisation, chunks;
};

struct cv_run_stats {
    uint64_t runs;
    double mean_s, squares, utilisation, chunks, least_s, most_s;
    double *exact;  /* owned: all makespans while they are few, then NULL */
    uint64_t *bins; /* owned: NULL while they are few                     */
};

/* Stats for `runs` runs in all; false when memory is short. */
bool cv_run_stats_init(struct cv_run_stats *stats, uint64_t runs);
void cv_run_stats_done(struct cv_run_stats *stats);
void cv_run_stats_add(struct cv_run_stats *stats, const struct cv_run_result *results,
                      uint64_t count);
/* Fill all of *out but the bound and what was picked. */
void cv_run_stats_sum_up(struct cv_run_stats *stats, struct cleave_stats *out);

#endif
