/* figure_umr_grid.h -- UMR and XMI over the settings of the published experiments.
 * SPDX-License-Identifier: MIT
 *
 * Yang and Casanova, multi-round algorithms, Table 2: N = 5, 10, .. 50 equal workers, R =
 * N, N+2, .. 80, both latencies 0, 0.5, .. 10, load 2000, speed 1. Every feasible plan is
 * simulated on the native engine.
 *
 * What the paper does where XMI-x gives a negative chunk it does not say. Here workers
 * are dropped down to the most for which no chunk is negative, and where none of 2 or
 * more works, the formula's length for two workers stands. */
#ifndef CV_FIGURE_UMR_GRID_H
#define CV_FIGURE_UMR_GRID_H
#include "figures/common/figure.h"

enum { CV_GRID_XMIS = 8, CV_GRID_UMR = 0, CV_GRID_XMI_K = CV_GRID_XMIS + 1 };
enum { CV_GRID_LEAST_R = 5, CV_GRID_MOST_R = 80 };

struct cv_grid_setting {
    uint32_t workers;
    double ratio, compute_latency_s, latency_s;
};

/* Makespans: umr, xmi with 1 to 8 rounds, xmi-k. */
struct cv_grid_times {
    double of[CV_GRID_XMIS + 2];
};

struct cv_grid {
    uint32_t xmis; /* XMI up to so many rounds */
    bool xmi_k;    /* xmi-k too                */
    struct cv_grid_setting *settings;
    struct cv_grid_times *times;
    size_t count;
    const struct cv_figure_job *job;
};

/* Simulate all settings, or every 47th of them if quick. Memory is from the arena. */
enum cleave_status cv_grid_run(const struct cv_figure_job *job, struct cv_grid *grid,
                               struct cv_arena *arena, struct cleave_error *err);

/* UMR held to as many rounds as XMI, without latencies: how much longer it takes, in
 * percent, over all N and R. */
struct cv_grid_penalty {
    double mean, max;
    double of[CV_GRID_XMIS]; /* with 1 .. 8 rounds */
};

enum cleave_status cv_grid_no_latency(struct cv_arena *arena, struct cv_grid_penalty *out,
                                      struct cleave_error *err);

#endif
