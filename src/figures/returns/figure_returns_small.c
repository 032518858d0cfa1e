/* figure_returns_small.c -- the order of returning when results are small.
 * SPDX-License-Identifier: MIT
 *
 * Beaumont and Rosenberg, Link-heterogeneity vs. node-heterogeneity in clusters, section
 * V-B: for small delta work is sent over the fastest links first and results return in
 * the order of tau y / u, printed as increasing. Time runs backwards in that problem, so
 * it is nonincreasing: with equal links the printed order is LIFO, where FIFO is
 * optimal. Both, against the optimum of random clusters of four workers. */
#include <math.h>

#include "model/returns/returns_search.h"
#include "figures/common/figure_plot.h"
#include "figures/returns/figure_returns_cluster.h"

enum { DELTAS = 7, WORKERS = 4 };
enum { RIGHT, RIGHT_MEAN, RIGHT_MOST, PRINTED, PRINTED_MEAN, PRINTED_MOST, COLUMNS };

static const double deltas[DELTAS] = { 1e-5, 1e-3, 0.01, 0.1, 0.3, 0.5, 1 };
/* A loss of less than this is rounding. At delta 1e-5 orders differ by 1e-6 and more. */
static const double SAME = 1e-9;

static void note_loss(double loss, uint32_t count, double *values)
{
    values[0] += loss < SAME ? 100.0 / count : 0;
    values[1] += 100 * loss / count;
    values[2] = fmax(values[2], 100 * loss);
}

static enum cleave_status one_cluster(const struct cv_star *cluster, uint32_t count,
                                      struct cv_arena *arena, double *values,
                                      struct cleave_error *err)
{
    const struct cv_returns returns = { cluster->trips, cluster->n, false, NULL };
    struct cv_round_trip best, small, printed;
    uint32_t send[WORKERS], back[WORKERS];
    double keys[WORKERS];

    CV_TRY(cv_returns_exact(&returns, 1, arena, &best, err));
    CV_TRY(cv_returns_small(&returns, 1, arena, &small, keys, err));
    for (uint32_t i = 0; i < WORKERS; i++) { /* links are sorted */
        uint32_t k = i;

        send[i] = i;
        for (; k > 0 && keys[back[k - 1]] > keys[i]; k--)
            back[k] = back[k - 1];
        back[k] = i;
    }
    CV_TRY(cv_returns_given(&returns, send, back, WORKERS, 1, arena, &printed, err));
    note_loss(fmax(0, 1 - small.work / best.work), count, values + RIGHT);
    note_loss(fmax(0, 1 - printed.work / best.work), count, values + PRINTED);
    return CLEAVE_OK;
}

static enum cleave_status one_delta(double delta, uint32_t count, double *values,
                                    struct cleave_error *err)
{
    enum cleave_status status = CLEAVE_OK;
    struct cv_arena arena;

    cv_arena_init(&arena);
    for (int c = 0; c < COLUMNS; c++)
        values[c] = 0;
    for (uint32_t k = 0; k < count && status == CLEAVE_OK; k++) {
        struct cv_star cluster;
        struct cv_random random;

        cv_arena_reset(&arena);
        cv_random_at(&random, 12, k, 0, 0);
        cv_star_random(&cluster, &random, WORKERS);
        cv_star_set_delta(&cluster, delta);
        cv_star_sort(&cluster);
        status = one_cluster(&cluster, count, &arena, values, err);
    }
    cv_arena_done(&arena);
    return status;
}

static enum cleave_status draw(struct cv_figure_result *result, struct cleave_error *err)
{
    static const struct {
        const char *name;
        int column;
    } curves[] = { { "nonincreasing, mean", RIGHT_MEAN },
                   { "nonincreasing, worst", RIGHT_MOST },
                   { "increasing as printed, mean", PRINTED_MEAN },
                   { "increasing as printed, worst", PRINTED_MOST } };
    struct cv_figure_plot *plot;

    CV_TRY(cv_plot_add(result,
                       &(struct cv_figure_plot){ .x_label = "δ, result per unit of load",
                                                 .y_label = "less than the optimum (%)",
                                                 .log_x = true,
                                                 .log_y = true },
                       &plot, err));
    for (size_t i = 0; i < sizeof curves / sizeof *curves; i++) {
        const struct cv_figure_row *row = result->rows;
        struct cv_figure_series *series;

        CV_TRY(cv_plot_series(result, plot, curves[i].name, DELTAS, false, &series, err));
        for (int k = 0; k < DELTAS; k++, row = row->next) {
            const double loss = row->values[curves[i].column];

            series->x[k] = deltas[k];
            series->y[k] = loss > 1e-8 ? loss : NAN; /* nothing, on a log scale */
        }
    }
    return CLEAVE_OK;
}

static enum cleave_status make(const struct cv_figure_job *job,
                               struct cv_figure_result *result, struct cleave_error *err)
{
    static const char *const columns[COLUMNS] = {
        "optimal %",          "loses %",          "at most %",
        "printed: optimal %", "printed: loses %", "printed: at most %"
    };
    const double *smallest = NULL, *tenth = NULL;

    result->label = "delta";
    result->columns = columns;
    result->ncolumns = COLUMNS;
    result->note = "Returns by nonincreasing tau y / u, then by increasing as printed; "
                   "losses against the optimum over all orders and sets, proved.";
    for (int i = 0; i < DELTAS; i++) {
        double *values = cv_figure_row(result, "%g", deltas[i]);

        if (values == NULL)
            return cv_fail_memory(err, "a figure");
        CV_TRY(one_delta(deltas[i], job->quick ? 60 : 600, values, err));
        if (i == 0)
            smallest = values;
        if (deltas[i] == 0.1)
            tenth = values;
        if (job->progress != NULL)
            job->progress(job->context, (uint64_t)i + 1, DELTAS);
    }
    CV_TRY(cv_figure_claim(result, smallest[PRINTED] > 95, err,
                           "results should return by increasing tau y / u",
                           "optimal in %.0f %% of the clusters at delta 1e-5; by "
                           "nonincreasing tau y / u in %.0f %%",
                           smallest[PRINTED], smallest[RIGHT]));
    CV_TRY(cv_figure_claim(result, smallest[RIGHT] > 99, err,
                           "a polynomial algorithm is optimal for small results",
                           "the other way round: %.0f %% at delta 1e-5; at 0.1 it loses "
                           "%.3f %% on average, %.1f %% at most",
                           smallest[RIGHT], tenth[RIGHT_MEAN], tenth[RIGHT_MOST]));
    return draw(result, err);
}

const struct cv_figure cv_figure_returns_small = {
    .title = "The order of returning small results, as printed and the other way round",
    .source = "Beaumont and Rosenberg, Link-heterogeneity, section V-B",
    .says = "When results are small, fastest links first and results by increasing "
            "tau y / u is optimal.",
    .make = make,
};
