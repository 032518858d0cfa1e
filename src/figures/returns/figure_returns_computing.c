/* figure_returns_computing.c -- LIFO when computing rules.
 * SPDX-License-Identifier: MIT
 *
 * Beaumont and Rosenberg, Link-heterogeneity vs. node-heterogeneity in clusters, Theorem
 * 4: LIFO is optimal when processing takes much longer than communication. Random
 * clusters of four workers with tau between 0.5 and 1.5 and equal nodes, against the
 * optimum over all orders and sets, proved. */
#include <math.h>

#include "model/returns/returns_bounds.h"
#include "model/returns/returns_search.h"
#include "figures/common/figure_plot.h"
#include "figures/returns/figure_returns_cluster.h"

enum { RATES = 9, WORKERS = 4, DELTAS = 3 };
enum { LIFO_BEST, PROVED, FIFO_BEST, LIFO_LOSS, FIFO_LOSS, COLUMNS };

static const double EQUAL = 1 - 1e-9;
static const double deltas[DELTAS] = { 0.1, 0.5, 1 };

static enum cleave_status one_cluster(struct cv_star *cluster, struct cv_arena *arena,
                                      double *values, struct cleave_error *err)
{
    const struct cv_returns returns = { cluster->trips, cluster->n, false, NULL };
    struct cv_round_trip best, fifo, lifo;

    CV_TRY(cv_returns_exact(&returns, 1, arena, &best, err));
    CV_TRY(cv_returns_fifo(&returns, 1, arena, &fifo, err));
    CV_TRY(cv_returns_lifo(&returns, 1, arena, &lifo, err));
    values[LIFO_BEST] += lifo.work >= best.work * EQUAL;
    values[FIFO_BEST] += fifo.work >= best.work * EQUAL;
    values[PROVED] += cv_returns_lifo_proved(&returns, arena);
    values[LIFO_LOSS] = fmax(values[LIFO_LOSS], 100 * (1 - lifo.work / best.work));
    values[FIFO_LOSS] = fmax(values[FIFO_LOSS], 100 * (1 - fifo.work / best.work));
    return CLEAVE_OK;
}

static enum cleave_status one_rate(double rate, uint32_t count, double *values,
                                   struct cleave_error *err)
{
    enum cleave_status status = CLEAVE_OK;
    struct cv_arena arena;

    cv_arena_init(&arena);
    for (int c = 0; c < COLUMNS; c++)
        values[c] = 0;
    for (uint32_t k = 0; k < count && status == CLEAVE_OK; k++) {
        struct cv_star cluster = { .n = WORKERS };
        struct cv_random random;

        cv_arena_reset(&arena);
        cv_random_at(&random, 11, k, 0, 0); /* the same links for every rate */
        for (int i = 0; i < WORKERS; i++)
            cluster.trips[i] =
                (struct cv_trip){ .send_s = cv_random_between(&random, 0.5, 1.5),
                                  .compute_s = rate };
        cv_star_set_delta(&cluster, deltas[k % DELTAS]);
        status = one_cluster(&cluster, &arena, values, err);
    }
    for (int c = LIFO_BEST; c <= FIFO_BEST; c++)
        values[c] *= 100.0 / count;
    cv_arena_done(&arena);
    return status;
}

/* Two links that hardly differ: computing rules, and yet FIFO does more. */
static enum cleave_status near_links(struct cv_figure_result *result,
                                     struct cleave_error *err)
{
    static const uint32_t order[2] = { 0, 1 };
    struct cv_star cluster = { .n = 2,
                               .trips = { { .send_s = 1, .compute_s = 1000 },
                                          { .send_s = 1.001, .compute_s = 1000 } } };
    struct cv_round_trip fifo, lifo;

    cv_star_set_delta(&cluster, 0.5);
    CV_TRY(cv_star_fifo(&cluster, order, 2, 1, &result->arena, &fifo, err));
    CV_TRY(cv_star_lifo(&cluster, order, 2, 1, &result->arena, &lifo, err));
    return cv_figure_claim(
        result, lifo.work >= fifo.work, err,
        "Theorem 4: R much larger than tau is enough for LIFO to be optimal",
        "tau 1 and 1.001, R 1000, delta 0.5: FIFO %.11f, LIFO %.11f; the links must "
        "differ "
        "by much more than tau / R, too",
        fifo.work, lifo.work);
}

static enum cleave_status judge(const double first[COLUMNS], const double last[COLUMNS],
                                unsigned down, struct cv_figure_result *result,
                                struct cleave_error *err)
{
    CV_TRY(cv_figure_claim(
        result, down == 0 && last[LIFO_BEST] > 95, err,
        "the more computing rules, the more often LIFO is optimal",
        "in %.1f %% of the clusters at R = 1, in %.1f %% at R = 10,000 (proved without a "
        "search in %.1f %%)",
        first[LIFO_BEST], last[LIFO_BEST], last[PROVED]));
    CV_TRY(cv_figure_claim(result, last[LIFO_LOSS] < 0.01 && last[FIFO_LOSS] < 0.1, err,
                           "Proposition 5: the orders then matter at second order only",
                           "at R = 10,000 LIFO loses at most %.1e %%, FIFO %.1e %%",
                           last[LIFO_LOSS], last[FIFO_LOSS]));
    return near_links(result, err);
}

static enum cleave_status draw(struct cv_figure_result *result, struct cleave_error *err)
{
    struct cv_figure_plot *plot;

    CV_TRY(cv_plot_add(result,
                       &(struct cv_figure_plot){
                           .x_label = "R (links: tau from 0.5 to 1.5)",
                           .y_label = "clusters in which it is optimal (%)",
                           .log_x = true,
                           .y_from = -2,
                           .y_to = 102 },
                       &plot, err));
    return cv_plot_columns(result, plot, LIFO_BEST, FIFO_BEST + 1, err);
}

static enum cleave_status make(const struct cv_figure_job *job,
                               struct cv_figure_result *result, struct cleave_error *err)
{
    static const char *const columns[COLUMNS] = { "LIFO optimal %", "LIFO proved %",
                                                  "FIFO optimal %", "LIFO loses %",
                                                  "FIFO loses %" };
    double first[COLUMNS], last[COLUMNS], before = 0;
    unsigned down = 0;

    result->label = "R";
    result->columns = columns;
    result->ncolumns = COLUMNS;
    result->note =
        "Four workers, delta 0.1, 0.5 and 1 by turns, one message each way at a "
        "time; losses are the largest.";
    for (int i = 0; i < RATES; i++) {
        const double rate = pow(10, 0.5 * i);
        double *values = cv_figure_row(result, "%.4g", rate);

        if (values == NULL)
            return cv_fail_memory(err, "a figure");
        CV_TRY(one_rate(rate, job->quick ? 60 : 1000, values, err));
        down += values[LIFO_BEST] < before;
        before = values[LIFO_BEST];
        for (int c = 0; c < COLUMNS; c++) {
            last[c] = values[c];
            if (i == 0)
                first[c] = values[c];
        }
        if (job->progress != NULL)
            job->progress(job->context, (uint64_t)i + 1, RATES);
    }
    CV_TRY(judge(first, last, down, result, err));
    return draw(result, err);
}

const struct cv_figure cv_figure_returns_computing = {
    .title = "How often LIFO is optimal as computing takes ever longer than messages",
    .source = "Beaumont and Rosenberg, Link-heterogeneity, Theorem 4 and Proposition 5",
    .says = "When processing takes much longer than communication, LIFO with the fastest "
            "links first is optimal, and the orders matter at second order only.",
    .make = make,
};
