/* figure_reduce_cells.c -- reductions by the spread of costs and by what a combination
 * costs. SPDX-License-Identifier: MIT */
#include "figures/reduce/figure_reduce_cells.h"

#include <stdio.h>

enum { NODES = 64, RUNS = 10000, QUICK_RUNS = 500 };

const double cv_cell_spreads[CV_CELL_SPREADS] = { 0.01, 0.05, 0.1, 0.2, 0.3, 0.5,
                                                  0.7,  1,    2,   5,   10 };
const double cv_cell_ratios[CV_CELL_RATIOS] = { 0.1, 0.2, 0.3,       0.4,  0.5,
                                                0.6, 0.8, 1,         1.25, 1.0 / 0.6,
                                                2,   2.5, 1.0 / 0.3, 5,    10 };
const char *const cv_cell_columns[CV_CELL_RATIOS] = { "c/d 0.1", "0.2",  "0.3", "0.4",
                                                      "0.5",     "0.6",  "0.8", "1",
                                                      "1.25",    "1.67", "2",   "2.5",
                                                      "3.33",    "5",    "10" };
const char *const cv_cell_names[CV_CELL_RATIOS] = { "0.1", "0.2", "0.3",  "0.4",  "0.5",
                                                    "0.6", "0.8", "1",    "1.25", "1.67",
                                                    "2",   "2.5", "3.33", "5",    "10" };

enum cleave_status cv_cell_run(const struct cv_figure_job *job, int spread, int ratio,
                               const char *policy, struct cleave_stats *out,
                               struct cleave_error *err)
{
    char transfer[48], compute[64];
    const struct cleave_reduction reduction = { .nodes = NODES,
                                                .transfer = transfer,
                                                .compute = compute,
                                                .policy = policy,
                                                .seed = 1 };
    const struct cleave_trial trial = { .runs = job->quick ? QUICK_RUNS : RUNS,
                                        .threads = job->threads };

    snprintf(transfer, sizeof transfer, "gamma:1,%.17g", cv_cell_spreads[spread]);
    snprintf(compute, sizeof compute, "gamma:%.17g,%.17g", cv_cell_ratios[ratio],
             cv_cell_spreads[spread]);
    return cleave_simulate_reduce(&reduction, &trial, out, err);
}

void cv_cell_progress(const struct cv_figure_job *job, int spread, int ratio)
{
    if (job->progress != NULL)
        job->progress(job->context,
                      (uint64_t)spread * CV_CELL_RATIOS + (uint64_t)ratio + 1,
                      (uint64_t)CV_CELL_SPREADS * CV_CELL_RATIOS);
}
