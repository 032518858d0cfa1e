/* terminal_charts.h -- Gantt charts and reduction trees as text.
 * SPDX-License-Identifier: MIT
 *
 * Time goes right. A cell shows the activity that takes most of its time, and successive
 * chunks of a worker alternate between two marks. */
#ifndef CV_TERMINAL_CHARTS_H
#define CV_TERMINAL_CHARTS_H
#include <cleave/reduce.h>
#include <cleave/run.h>
#include <cleave/trace.h>
#include <stdbool.h>
#include "base/text.h"

struct cv_gantt_style {
    unsigned width;                  /* columns in all; at least 40 are used          */
    unsigned rows;                   /* most workers shown                            */
    bool utf8;                       /* block characters; else ASCII                  */
    bool colour;                     /* terminal escapes                              */
    const struct cleave_load *loads; /* names of several loads, or NULL */
    size_t nloads;
};

/* One row for the master's port and one per worker that gets load. */
void cv_terminal_gantt(const struct cleave_schedule *schedule,
                       const struct cleave_platform *platform,
                       const struct cv_gantt_style *style, struct cv_text *out);

/* Does nothing for more than style->rows nodes. `trace` has the entries of one run. */
void cv_terminal_tree(const struct cleave_tree *tree, const struct cleave_trace *trace,
                      const struct cv_gantt_style *style, struct cv_text *out);

#endif
