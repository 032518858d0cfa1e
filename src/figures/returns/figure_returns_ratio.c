/* figure_returns_ratio.c -- how much FIFO can lose. SPDX-License-Identifier: MIT
 *
 * Beaumont and Rosenberg, Link-heterogeneity vs. node-heterogeneity in clusters, Theorem
 * 5: FIFO does at least tau_min / tau_max of the optimum. The worst of random clusters
 * whose links differ by a given factor, in any order and in the best one; and the family
 * of one worker behind a slow link, served first, which reaches the bound. */
#include <math.h>

#include "model/returns/returns_search.h"
#include "figures/common/figure_plot.h"
#include "figures/returns/figure_returns_cluster.h"

enum { SPREADS = 7, MOST_NODES = 4 };
enum { BOUND, ANY_ORDER, BUILT, SORTED, COLUMNS };

static const double spreads[SPREADS] = { 1, 2, 5, 10, 20, 50, 100 };

struct tally {
    unsigned broken;      /* below tau_min / tau_max                 */
    unsigned below_delta; /* below 1 / (1 + delta), in the best order */
};

/* Least and greatest link are 1 and `spread`; nodes differ as well. */
static void draw_cluster(struct cv_star *out, struct cv_random *random, double spread)
{
    out->n = 2 + (uint32_t)(cv_random_bits(random) % (MOST_NODES - 1));
    for (uint32_t i = 0; i < out->n; i++)
        out->trips[i] = (struct cv_trip){
            .send_s = i == 0   ? 1
                      : i == 1 ? spread
                               : cv_random_scale(random, 1, spread),
            .compute_s = cv_random_scale(random, 1e-4, 1e2),
        };
    cv_star_set_delta(out, cv_random_scale(random, 1e-4, 1));
}

/* FIFO in a random order with everyone, and the best FIFO, over the optimum. */
static enum cleave_status one_cluster(struct cv_star *cluster, const uint32_t *order,
                                      struct cv_arena *arena, double *any, double *sorted,
                                      struct cleave_error *err)
{
    const struct cv_returns returns = { cluster->trips, cluster->n, false, NULL };
    struct cv_round_trip best, fifo, all;

    CV_TRY(cv_returns_exact(&returns, 1, arena, &best, err));
    CV_TRY(cv_returns_fifo(&returns, 1, arena, &fifo, err));
    CV_TRY(cv_star_fifo(cluster, order, cluster->n, 1, arena, &all, err));
    *any = all.work / best.work;
    *sorted = fifo.work / best.work;
    return CLEAVE_OK;
}

static enum cleave_status one_spread(int spread, uint32_t count, double *values,
                                     struct tally *tally, struct cleave_error *err)
{
    enum cleave_status status = CLEAVE_OK;
    const double bound = 1 / spreads[spread];
    struct cv_arena arena;

    cv_arena_init(&arena);
    values[BOUND] = bound;
    values[ANY_ORDER] = values[SORTED] = INFINITY;
    for (uint32_t k = 0; k < count && status == CLEAVE_OK; k++) {
        uint32_t order[MOST_NODES];
        struct cv_star cluster;
        struct cv_random random;
        double any = 1, sorted = 1;

        cv_arena_reset(&arena);
        cv_random_at(&random, 13, k, (uint32_t)spread, 0);
        draw_cluster(&cluster, &random, spreads[spread]);
        cv_star_order(&random, cluster.n, order);
        status = one_cluster(&cluster, order, &arena, &any, &sorted, err);
        values[ANY_ORDER] = fmin(values[ANY_ORDER], any);
        values[SORTED] = fmin(values[SORTED], sorted);
        tally->broken += any < bound * (1 - 1e-9) || sorted < bound * (1 - 1e-9);
        tally->below_delta += sorted < 1 / (1 + cluster.delta) - 1e-9;
    }
    cv_arena_done(&arena);
    return status;
}

/* A slow link first and a fast one, nearly no computing and results. */
static enum cleave_status build(double spread, double *out, struct cleave_error *err)
{
    static const uint32_t slow_first[] = { 0, 1 };
    struct cv_star cluster = { .n = 2,
                               .trips = { { .send_s = spread, .compute_s = 1e-6 },
                                          { .send_s = 1, .compute_s = 1e-6 } } };
    struct cv_arena arena;
    enum cleave_status status;
    double sorted;

    cv_star_set_delta(&cluster, 1e-6);
    cv_arena_init(&arena);
    status = one_cluster(&cluster, slow_first, &arena, out, &sorted, err);
    cv_arena_done(&arena);
    return status;
}

static enum cleave_status draw(struct cv_figure_result *result, struct cleave_error *err)
{
    struct cv_figure_plot *plot;

    CV_TRY(
        cv_plot_add(result,
                    &(struct cv_figure_plot){ .x_label = "slowest over fastest link",
                                              .y_label = "work of FIFO over the optimum",
                                              .log_x = true,
                                              .log_y = true },
                    &plot, err));
    CV_TRY(cv_plot_columns(result, plot, 0, COLUMNS, err));
    plot->series->line = CV_LINE_PLAIN; /* others lie on the bound: marks alone */
    plot->series->next->line = CV_LINE_MARKS;
    plot->series->next->next->line = CV_LINE_MARKS;
    return CLEAVE_OK;
}

static enum cleave_status make(const struct cv_figure_job *job,
                               struct cv_figure_result *result, struct cleave_error *err)
{
    static const char *const columns[COLUMNS] = { "tau min / tau max", "worst, any order",
                                                  "slow link first",
                                                  "worst, best order" };
    struct tally tally = { 0 };
    double min = 1, last = 1;

    result->label = "links";
    result->columns = columns;
    result->ncolumns = COLUMNS;
    result->note = "2 to 4 workers, nodes too differ; one message each way at a time.";
    for (int i = 0; i < SPREADS; i++) {
        double *values = cv_figure_row(result, "%g", spreads[i]);

        if (values == NULL)
            return cv_fail_memory(err, "a figure");
        CV_TRY(one_spread(i, job->quick ? 100 : 3000, values, &tally, err));
        CV_TRY(build(spreads[i], &values[BUILT], err));
        min = fmin(min, values[SORTED]);
        last = values[BUILT];
        if (job->progress != NULL)
            job->progress(job->context, (uint64_t)i + 1, SPREADS);
    }
    CV_TRY(cv_figure_claim(result, tally.broken == 0, err,
                           "FIFO does at least tau_min / tau_max of the optimum",
                           "broken by %u of %u clusters; tight when the slow link is "
                           "served first: %.5f for links 1 : 100",
                           tally.broken, SPREADS * (job->quick ? 100u : 3000u), last));
    CV_TRY(cv_figure_claim(
        result, tally.below_delta == 0, err,
        "beyond the paper: with the fastest links first, and pruned, FIFO does at least "
        "1 / (1 + delta) of the optimum",
        "broken by %u clusters; %.3f at worst", tally.below_delta, min));
    return draw(result, err);
}

const struct cv_figure cv_figure_returns_ratio = {
    .title = "FIFO over the optimum, against how much links differ",
    .source = "Beaumont and Rosenberg, Link-heterogeneity, Theorem 5",
    .says = "FIFO does at least tau_min / tau_max of the optimal work.",
    .make = make,
};
