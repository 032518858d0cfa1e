/* figure_returns_bounds.c -- bounds and optimality of FIFO and LIFO.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include "figures/common/figure.h"
#include "figures/returns/figure_returns_cluster.h"
#include "model/returns/returns_bounds.h"
#include "model/returns/returns_search.h"

/* --- loss of FIFO ------------------------------------------------------------------- */

/* Beaumont and Rosenberg, Link-heterogeneity vs. node-heterogeneity in clusters, Theorem
 * 5: FIFO does at least tau_min / tau_max of the optimum. The worst of random clusters
 * whose links differ by a given factor, in any order and in the best one; and clusters
 * with one slow link, served first, which reach the bound. */

enum { SPREADS = 7, MOST_NODES = 4 };
enum { BOUND, ANY_ORDER, BUILT, SORTED };

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
static void one_cluster_ratio(struct cv_star *cluster, const uint32_t *order,
                              struct cv_arena *arena, double *any, double *sorted)
{
    const struct cv_returns returns = { cluster->trips, cluster->n, false, NULL };
    struct cv_round_trip best, fifo, all;

    CV_MUST(cv_returns_exact(&returns, 1, arena, &best, err));
    CV_MUST(cv_returns_fifo(&returns, 1, arena, &fifo, err));
    all = cv_star_trip(cluster, true, order, cluster->n, 1, arena);
    *any = all.work / best.work;
    *sorted = fifo.work / best.work;
}

static void one_spread(int spread, uint32_t count, double *values, struct tally *tally)
{
    const double bound = 1 / spreads[spread];
    struct cv_arena arena;

    cv_arena_init(&arena);
    values[BOUND] = bound;
    values[ANY_ORDER] = values[SORTED] = INFINITY;
    for (uint32_t k = 0; k < count; k++) {
        uint32_t order[MOST_NODES];
        struct cv_star cluster;
        struct cv_random random;
        double any = 1, sorted = 1;

        cv_arena_reset(&arena);
        cv_random_at(&random, 13, k, (uint32_t)spread, 0);
        draw_cluster(&cluster, &random, spreads[spread]);
        cv_star_order(&random, cluster.n, order);
        one_cluster_ratio(&cluster, order, &arena, &any, &sorted);
        values[ANY_ORDER] = fmin(values[ANY_ORDER], any);
        values[SORTED] = fmin(values[SORTED], sorted);
        tally->broken += any < bound * (1 - 1e-9) || sorted < bound * (1 - 1e-9);
        tally->below_delta += sorted < 1 / (1 + cluster.delta) - 1e-9;
    }
    cv_arena_done(&arena);
}

/* A slow link first and a fast one, nearly no computing and results. */
static void build(double spread, double *out)
{
    static const uint32_t slow_first[] = { 0, 1 };
    struct cv_star cluster = { .n = 2,
                               .trips = { { .send_s = spread, .compute_s = 1e-6 },
                                          { .send_s = 1, .compute_s = 1e-6 } } };
    struct cv_arena arena;
    double sorted;

    cv_star_set_delta(&cluster, 1e-6);
    cv_arena_init(&arena);
    one_cluster_ratio(&cluster, slow_first, &arena, out, &sorted);
    cv_arena_done(&arena);
}

static void draw_ratio(struct cv_figure_result *result)
{
    CV_PLOT_ADD(result, .x_label = "slowest over fastest link",
                .y_label = "work of FIFO over the optimum", .log_x = true, .log_y = true,
                /* two curves coincide with the bound */
                CV_CURVES({ "tau min / tau max", BOUND, CV_LINE_PLAIN, 0 },
                          { "worst, any order", ANY_ORDER, CV_LINE_MARKS, 0 },
                          { "slow link first", BUILT, CV_LINE_MARKS, 0 },
                          { "worst, best order", SORTED, CV_LINE_MARKED, 0 }));
}

static void make_ratio(struct cv_figure_result *result)
{
    struct tally tally = { 0 };
    double min = 1, last = 1;

    cv_figure_table(
        result, "links",
        "tau min / tau max|worst, any order|slow link first|worst, best order",
        "2 to 4 workers, nodes too differ; one message each way at a time.");
    for (int i = 0; i < SPREADS; i++) {
        double *values = cv_figure_row(result, "%g", spreads[i]);

        one_spread(i, result->job->quick ? 100 : 3000, values, &tally);
        build(spreads[i], &values[BUILT]);
        min = fmin(min, values[SORTED]);
        last = values[BUILT];
        cv_figure_progress(result->job, (uint64_t)i + 1, SPREADS);
    }
    cv_figure_claim(result, tally.broken == 0,
                    "FIFO does at least tau_min / tau_max of the optimum",
                    "broken by %u of %u clusters; tight when the slow link is "
                    "served first: %.5f for links 1 : 100",
                    tally.broken, SPREADS * (result->job->quick ? 100u : 3000u), last);
    cv_figure_claim(
        result, tally.below_delta == 0,
        "beyond the paper: with the fastest links first, and pruned, FIFO does at least "
        "1 / (1 + delta) of the optimum",
        "broken by %u clusters; %.3f at worst", tally.below_delta, min);
    draw_ratio(result);
}

const struct cv_figure cv_figure_returns_ratio = {
    .title = "FIFO over the optimum, against how much links differ",
    .source = "Beaumont and Rosenberg, Link-heterogeneity, Theorem 5",
    .says = "FIFO does at least tau_min / tau_max of the optimal work.",
    .make = make_ratio,
};

/* --- LIFO when computing dominates -------------------------------------------------- */

/* Beaumont and Rosenberg, Link-heterogeneity vs. node-heterogeneity in clusters, Theorem
 * 4: LIFO is optimal when processing takes much longer than communication. Random
 * clusters of four workers with tau between 0.5 and 1.5 and equal nodes, against the
 * optimum over all orders and sets, proved. */

enum { RATES = 9, WORKERS = 4, COMPUTING_DELTAS = 3 };
enum { LIFO_BEST, PROVED, FIFO_BEST, LIFO_LOSS, FIFO_LOSS, COMPUTING_COLUMNS };

static const double EQUAL = 1 - 1e-9;
static const double deltas_computing[COMPUTING_DELTAS] = { 0.1, 0.5, 1 };

static void one_cluster_computing(struct cv_star *cluster, struct cv_arena *arena,
                                  double *values)
{
    const struct cv_returns returns = { cluster->trips, cluster->n, false, NULL };
    struct cv_round_trip best, fifo, lifo;

    CV_MUST(cv_returns_exact(&returns, 1, arena, &best, err));
    CV_MUST(cv_returns_fifo(&returns, 1, arena, &fifo, err));
    CV_MUST(cv_returns_lifo(&returns, 1, arena, &lifo, err));
    values[LIFO_BEST] += lifo.work >= best.work * EQUAL;
    values[FIFO_BEST] += fifo.work >= best.work * EQUAL;
    values[PROVED] += cv_returns_lifo_proved(&returns, arena);
    values[LIFO_LOSS] = fmax(values[LIFO_LOSS], 100 * (1 - lifo.work / best.work));
    values[FIFO_LOSS] = fmax(values[FIFO_LOSS], 100 * (1 - fifo.work / best.work));
}

static void one_rate(double rate, uint32_t count, double *values)
{
    struct cv_arena arena;

    cv_arena_init(&arena);
    for (int c = 0; c < COMPUTING_COLUMNS; c++)
        values[c] = 0;
    for (uint32_t k = 0; k < count; k++) {
        struct cv_star cluster = { .n = WORKERS };
        struct cv_random random;

        cv_arena_reset(&arena);
        cv_random_at(&random, 11, k, 0, 0); /* the same links for every rate */
        for (int i = 0; i < WORKERS; i++)
            cluster.trips[i] =
                (struct cv_trip){ .send_s = cv_random_between(&random, 0.5, 1.5),
                                  .compute_s = rate };
        cv_star_set_delta(&cluster, deltas_computing[k % COMPUTING_DELTAS]);
        one_cluster_computing(&cluster, &arena, values);
    }
    for (int c = LIFO_BEST; c <= FIFO_BEST; c++)
        values[c] *= 100.0 / count;
    cv_arena_done(&arena);
}

/* Two links that hardly differ: computing rules, and yet FIFO does more. */
static void near_links(struct cv_figure_result *result)
{
    static const uint32_t order[2] = { 0, 1 };
    struct cv_star cluster = { .n = 2,
                               .trips = { { .send_s = 1, .compute_s = 1000 },
                                          { .send_s = 1.001, .compute_s = 1000 } } };
    struct cv_round_trip fifo, lifo;

    cv_star_set_delta(&cluster, 0.5);
    fifo = cv_star_trip(&cluster, true, order, 2, 1, &result->arena);
    lifo = cv_star_trip(&cluster, false, order, 2, 1, &result->arena);
    cv_figure_claim(
        result, lifo.work >= fifo.work,
        "Theorem 4: R much larger than tau is enough for LIFO to be optimal",
        "tau 1 and 1.001, R 1000, delta 0.5: FIFO %.11f, LIFO %.11f; the links must "
        "differ "
        "by much more than tau / R, too",
        fifo.work, lifo.work);
}

static void judge(struct cv_figure_result *result)
{
    const double *first = result->rows[0].values, *last = result->rows[RATES - 1].values;
    unsigned down = 0;

    for (int i = 1; i < RATES; i++)
        down += result->rows[i].values[LIFO_BEST] < result->rows[i - 1].values[LIFO_BEST];
    cv_figure_claim(
        result, down == 0 && last[LIFO_BEST] > 95,
        "the more computing rules, the more often LIFO is optimal",
        "in %.1f %% of the clusters at R = 1, in %.1f %% at R = 10,000 (proved without a "
        "search in %.1f %%)",
        first[LIFO_BEST], last[LIFO_BEST], last[PROVED]);
    cv_figure_claim(result, last[LIFO_LOSS] < 0.01 && last[FIFO_LOSS] < 0.1,
                    "Proposition 5: the orders then matter at second order only",
                    "at R = 10,000 LIFO loses at most %.1e %%, FIFO %.1e %%",
                    last[LIFO_LOSS], last[FIFO_LOSS]);
    near_links(result);
}

static void make_computing(struct cv_figure_result *result)
{
    cv_figure_table(
        result, "R",
        "LIFO optimal %|LIFO proved %|FIFO optimal %|LIFO loses %|FIFO loses %",
        "Four workers, delta 0.1, 0.5 and 1 by turns, one message each way at a "
        "time; losses are the largest.");
    for (int i = 0; i < RATES; i++) {
        const double rate = pow(10, 0.5 * i);

        one_rate(rate, result->job->quick ? 60 : 1000,
                 cv_figure_row(result, "%.4g", rate));
        cv_figure_progress(result->job, (uint64_t)i + 1, RATES);
    }
    judge(result);
    CV_PLOT_ADD(result, .x_label = "R (links: tau from 0.5 to 1.5)",
                .y_label = "clusters in which it is optimal (%)", .log_x = true,
                .y_from = -2, .y_to = 102, .first_curve = LIFO_BEST,
                .ncurves = FIFO_BEST + 1);
}

const struct cv_figure cv_figure_returns_computing = {
    .title = "How often LIFO is optimal as computing takes ever longer than messages",
    .source = "Beaumont and Rosenberg, Link-heterogeneity, Theorem 4 and Proposition 5",
    .says = "When processing takes much longer than communication, LIFO with the fastest "
            "links first is optimal, and the orders matter at second order only.",
    .make = make_computing,
};

/* --- the order of returning when results are small ---------------------------------- */

/* Beaumont and Rosenberg, Link-heterogeneity vs. node-heterogeneity in clusters, section
 * V-B: for small delta work is sent over the fastest links first and results return in
 * the order of tau y / u, printed as increasing. Time runs backwards in that problem, so
 * it is nonincreasing: with equal links the printed order is LIFO, where FIFO is
 * optimal. Both, against the optimum of random clusters of four workers. */

enum { SMALL_DELTAS = 7, TENTH = 3 };
enum { RIGHT, RIGHT_MEAN, RIGHT_MAX, PRINTED, PRINTED_MEAN, PRINTED_MAX, SMALL_COLUMNS };

static const double deltas_small[SMALL_DELTAS] = { 1e-5, 1e-3, 0.01, 0.1, 0.3, 0.5, 1 };
/* A loss of less than this is rounding. At delta 1e-5 orders differ by 1e-6 and more. */
static const double SAME = 1e-9;

static void note_loss(double loss, uint32_t count, double *values)
{
    values[0] += loss < SAME ? 100.0 / count : 0;
    values[1] += 100 * loss / count;
    values[2] = fmax(values[2], 100 * loss);
}

static void one_cluster_small(const struct cv_star *cluster, uint32_t count,
                              struct cv_arena *arena, double *values)
{
    const struct cv_returns returns = { cluster->trips, cluster->n, false, NULL };
    struct cv_round_trip best, small, printed;
    uint32_t send[WORKERS], back[WORKERS] = { 0 };
    double keys[WORKERS];

    CV_MUST(cv_returns_exact(&returns, 1, arena, &best, err));
    CV_MUST(cv_returns_small(&returns, 1, arena, &small, keys, err));
    for (uint32_t i = 0; i < WORKERS; i++) { /* links are sorted */
        uint32_t k = i;

        send[i] = i;
        for (; k > 0 && keys[back[k - 1]] > keys[i]; k--)
            back[k] = back[k - 1];
        back[k] = i;
    }
    CV_MUST(cv_returns_given(&returns, send, back, WORKERS, 1, arena, &printed, err));
    note_loss(fmax(0, 1 - small.work / best.work), count, values + RIGHT);
    note_loss(fmax(0, 1 - printed.work / best.work), count, values + PRINTED);
}

static void one_delta(double delta, uint32_t count, double *values)
{
    struct cv_arena arena;

    cv_arena_init(&arena);
    for (int c = 0; c < SMALL_COLUMNS; c++)
        values[c] = 0;
    for (uint32_t k = 0; k < count; k++) {
        struct cv_star cluster;
        struct cv_random random;

        cv_arena_reset(&arena);
        cv_random_at(&random, 12, k, 0, 0);
        cv_star_random(&cluster, &random, WORKERS);
        cv_star_set_delta(&cluster, delta);
        cv_star_sort(&cluster);
        one_cluster_small(&cluster, count, &arena, values);
    }
    cv_arena_done(&arena);
}

/* Losses of nearly nothing are not drawn on a log scale. */
static void draw_small(struct cv_figure_result *result)
{
    struct cv_figure_plot *plot = CV_PLOT_ADD(
        result, .x_label = "δ, result per unit of load",
        .y_label = "less than the optimum (%)", .log_x = true, .log_y = true,
        CV_CURVES({ .name = "nonincreasing, mean", .column = RIGHT_MEAN },
                  { .name = "nonincreasing, worst", .column = RIGHT_MAX },
                  { .name = "increasing as printed, mean", .column = PRINTED_MEAN },
                  { .name = "increasing as printed, worst", .column = PRINTED_MAX }));

    for (struct cv_figure_series *s = plot->series; s != NULL; s = s->next)
        for (int k = 0; k < SMALL_DELTAS; k++)
            if (!(s->y[k] > 1e-8))
                s->y[k] = NAN;
}

static void make_small(struct cv_figure_result *result)
{
    const double *smallest, *tenth;

    cv_figure_table(result, "delta",
                    "optimal %|loses %|at most %|printed: optimal %|printed: loses %|"
                    "printed: at most %",
                    "Returns by nonincreasing tau y / u, then by increasing as printed; "
                    "losses against the optimum over all orders and sets, proved.");
    for (int i = 0; i < SMALL_DELTAS; i++) {
        one_delta(deltas_small[i], result->job->quick ? 60 : 600,
                  cv_figure_row(result, "%g", deltas_small[i]));
        cv_figure_progress(result->job, (uint64_t)i + 1, SMALL_DELTAS);
    }
    smallest = result->rows[0].values;
    tenth = result->rows[TENTH].values;
    cv_figure_claim(result, smallest[PRINTED] > 95,
                    "results should return by increasing tau y / u",
                    "optimal in %.0f %% of the clusters at delta 1e-5; by "
                    "nonincreasing tau y / u in %.0f %%",
                    smallest[PRINTED], smallest[RIGHT]);
    cv_figure_claim(result, smallest[RIGHT] > 99,
                    "a polynomial algorithm is optimal for small results",
                    "the other way round: %.0f %% at delta 1e-5; at 0.1 it loses "
                    "%.3f %% on average, %.1f %% at most",
                    smallest[RIGHT], tenth[RIGHT_MEAN], tenth[RIGHT_MAX]);
    draw_small(result);
}

const struct cv_figure cv_figure_returns_small = {
    .title = "The order of returning small results, as printed and the other way round",
    .source = "Beaumont and Rosenberg, Link-heterogeneity, section V-B",
    .says = "When results are small, fastest links first and results by increasing "
            "tau y / u is optimal.",
    .make = make_small,
};
