/* figure_returns_crossover.c -- two workers: when first-in-first-out wins.
 * SPDX-License-Identifier: MIT
 *
 * Beaumont and Rosenberg, Link-heterogeneity vs. node-heterogeneity in clusters, Theorem
 * 3: of two workers with equal nodes, FIFO does more than LIFO iff the faster link is
 * not much faster than the other. The table gives the ratio of the two at which they
 * change places, for costs of computing (rows, in units of the slower link's) and result
 * ratios (columns). */
#include <math.h>

#include "model/returns/returns.h"
#include "figures/common/figure_plot.h"

enum { COMPUTES = 13, RATIOS = 7 };

static const double ratios[RATIOS] = { 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 1 };

/* Work of FIFO over that of LIFO; the faster link takes `fast` of the other's time. */
static enum cleave_status compare(double fast, double compute, double ratio, double *out,
                                  struct cleave_error *err)
{
    const struct cv_trip trips[2] = {
        { .send_s = fast, .compute_s = compute, .back_s = ratio * fast },
        { .send_s = 1, .compute_s = compute, .back_s = ratio },
    };
    const struct cv_returns returns = { trips, 2, false, NULL };
    struct cv_round_trip fifo, lifo;
    struct cv_arena arena;
    enum cleave_status status;

    cv_arena_init(&arena);
    status = cv_returns_fifo_all(&returns, 1, &arena, &fifo, err);
    if (status == CLEAVE_OK)
        status = cv_returns_lifo(&returns, 1, &arena, &lifo, err);
    if (status == CLEAVE_OK)
        *out = fifo.work / lifo.work;
    cv_arena_done(&arena);
    return status;
}

/* What the theorem says about one cell: places change once, at the value of the table. */
static enum cleave_status check_cell(double compute, double ratio, double crossing,
                                     unsigned *wrong, struct cleave_error *err)
{
    const double before = crossing * (1 - 1e-4);
    const double after = crossing + (1 - crossing) * 1e-4;
    double found;

    for (int i = 1; i <= 20; i++) {
        CV_TRY(compare(before * i / 20, compute, ratio, &found, err));
        *wrong += found > 1 + 1e-12;
        CV_TRY(compare(after + (1 - after) * i / 20, compute, ratio, &found, err));
        *wrong += found < 1 - 1e-12;
    }
    return CLEAVE_OK;
}

static enum cleave_status draw(struct cv_figure_result *result, struct cleave_error *err)
{
    struct cv_figure_plot *plot;

    CV_TRY(cv_plot_add(result,
                       &(struct cv_figure_plot){
                           .title = "Below a curve LIFO does more work, above it FIFO",
                           .x_label = "R, time to compute over that of the slower link",
                           .y_label = "faster link's time per unit over the slower's",
                           .log_x = true,
                           .y_from = 0,
                           .y_to = 1.02 },
                       &plot, err));
    return cv_plot_columns(result, plot, 0, RATIOS, err);
}

static enum cleave_status make(const struct cv_figure_job *job,
                               struct cv_figure_result *result, struct cleave_error *err)
{
    static const char *const columns[RATIOS] = { "delta 0.01", "0.1", "0.3", "0.5",
                                                 "0.7",        "0.9", "1" };
    double min = 1, max = 0;
    unsigned wrong = 0;

    (void)job;
    result->label = "R/tau";
    result->columns = columns;
    result->ncolumns = RATIOS;
    result->note =
        "LIFO does more work than FIFO when the faster link's time per unit is "
        "below this part of the slower link's; FIFO does more above it.";
    for (int i = 0; i < COMPUTES; i++) {
        const double compute = pow(10, -2 + i * 0.5);
        double *values = cv_figure_row(result, "%.3g", compute);

        if (values == NULL)
            return cv_fail_memory(err, "a figure");
        for (int j = 0; j < RATIOS; j++) {
            values[j] = cv_returns_crossover(compute, ratios[j], 1);
            min = fmin(min, values[j]);
            max = fmax(max, values[j]);
            CV_TRY(check_cell(compute, ratios[j], values[j], &wrong, err));
        }
    }
    CV_TRY(draw(result, err));
    CV_TRY(
        cv_figure_claim(result, wrong == 0, err,
                        "LIFO wins below exactly one ratio of the links and FIFO above",
                        "%u of %d comparisons by the closed forms differ", wrong,
                        COMPUTES * RATIOS * 40));
    return cv_figure_claim(
        result, max < 1, err,
        "the links must differ for LIFO to win, ever less as computing "
        "rules",
        "crossings from %.3g to %.4g", min, max);
}

const struct cv_figure cv_figure_returns_crossover = {
    .title = "Two workers: ratio of the links at which FIFO overtakes LIFO",
    .source = "Beaumont and Rosenberg, Link-heterogeneity, Theorem 3",
    .says = "With the faster link first, FIFO does more work than LIFO iff that link is "
            "not much faster than the other; they change places once.",
    .make = make,
};
