/* figure_reduce_cells.h -- reductions by the spread of costs and by what a combination
 * costs.
 * SPDX-License-Identifier: MIT
 *
 * Benoit, Canon and Marchal, Figure 4: 64 nodes, transfers of mean 1, combinations of
 * mean `ratio`, both gamma with the same coefficient of variation. Every combination
 * draws its own cost, without which the figure would not be symmetric. */
#ifndef CV_FIGURE_REDUCE_CELLS_H
#define CV_FIGURE_REDUCE_CELLS_H
#include <cleave/reduce.h>
#include "figures/common/figure.h"

enum { CV_CELL_SPREADS = 11, CV_CELL_RATIOS = 15 };

extern const double cv_cell_spreads[CV_CELL_SPREADS];
extern const double cv_cell_ratios[CV_CELL_RATIOS];
/* The ratios as headings, the first with what they are, and without. */
extern const char *const cv_cell_columns[CV_CELL_RATIOS];
extern const char *const cv_cell_names[CV_CELL_RATIOS];

/* Lengths of a policy in one cell: 10,000 runs, 500 if quick. */
enum cleave_status cv_cell_run(const struct cv_figure_job *job, int spread, int ratio,
                               const char *policy, struct cleave_stats *out,
                               struct cleave_error *err);

/* One more cell is done. */
void cv_cell_progress(const struct cv_figure_job *job, int spread, int ratio);

#endif
