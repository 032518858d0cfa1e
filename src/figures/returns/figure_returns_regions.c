/* figure_returns_regions.c -- costs for which LIFO, FIFO or other orders are best.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include "figures/common/figure.h"
#include "model/returns/returns.h"
#include "model/returns/returns_search.h"

/* --- four workers ------------------------------------------------------------------- */

/* Four workers with equal nodes and links in geometric progression: LIFO, FIFO and the
 * proven optimum over all orders and sets of workers, by the ratio of neighbouring
 * links (columns), the cost of computing in units of the fastest link's and the result
 * ratio (rows), for both port rules. Answers an open question of Beaumont and
 * Rosenberg, 2010. */

enum { WORKERS = 4, LINKS = 10, REGIONS_COMPUTES = 7, REGIONS_RATIOS = 5 };
enum { IS_LIFO, IS_FIFO, IS_OTHER, KINDS };

static const double links[LINKS] = { 1, 1.01, 1.03, 1.1, 1.2, 1.4, 1.7, 2, 3, 10 };
static const double computes[REGIONS_COMPUTES] = { 0.1, 0.3, 1, 3, 10, 30, 100 };
static const double ratios_regions[REGIONS_RATIOS] = { 0.1, 0.3, 0.5, 0.9, 1 };

/* As good as the optimum. */
static const double EQUAL = 1 - 1e-9;

struct tally {
    unsigned cells, kinds[KINDS];
    double worst; /* most that the best of LIFO and FIFO loses */
};

static int classify(bool single, double link, double compute, double ratio,
                    struct tally *tally)
{
    struct cv_trip trips[WORKERS] = { { 0 } };
    const struct cv_returns returns = { trips, WORKERS, single, NULL };
    struct cv_round_trip fifo, lifo, best;
    struct cv_arena arena;
    int kind;

    for (int i = 0; i < WORKERS; i++) {
        trips[i].send_s = pow(link, i);
        trips[i].compute_s = compute;
        trips[i].back_s = ratio * trips[i].send_s;
    }
    cv_arena_init(&arena);
    CV_MUST(cv_returns_exact(&returns, 1, &arena, &best, err));
    CV_MUST(cv_returns_fifo(&returns, 1, &arena, &fifo, err));
    CV_MUST(cv_returns_lifo(&returns, 1, &arena, &lifo, err));
    kind = fifo.work >= best.work * EQUAL   ? IS_FIFO
           : lifo.work >= best.work * EQUAL ? IS_LIFO
                                            : IS_OTHER;
    tally->cells++;
    tally->kinds[kind]++;
    tally->worst = fmax(tally->worst, 1 - fmax(fifo.work, lifo.work) / best.work);
    cv_arena_done(&arena);
    return kind;
}

static void fill(bool single, const struct cv_figure_job *job,
                 struct cv_figure_result *result, struct tally *tally)
{
    for (int d = 0; d < REGIONS_RATIOS; d++)
        for (int c = 0; c < REGIONS_COMPUTES; c++) {
            double *values = cv_figure_row(result, "%s, delta %g, R/tau %g",
                                           single ? "one port" : "duplex",
                                           ratios_regions[d], computes[c]);

            for (int l = 0; l < LINKS; l++)
                values[l] =
                    classify(single, links[l], computes[c], ratios_regions[d], tally);
            cv_figure_progress(job,
                               ((uint64_t)single * REGIONS_RATIOS + (uint64_t)d) *
                                       REGIONS_COMPUTES +
                                   (uint64_t)c + 1,
                               (uint64_t)2 * REGIONS_RATIOS * REGIONS_COMPUTES);
        }
}

static void draw_regions(struct cv_figure_result *result)
{
    static const struct {
        const char *title;
        size_t cut; /* length of the common prefix of labels */
    } panels[2] = { { "One message each way at a time", sizeof "duplex, " - 1 },
                    { "One message at a time", sizeof "one port, " - 1 } };

    for (size_t p = 0; p < 2; p++)
        CV_PLOT_ADD(result, .kind = CV_PLOT_MAP, .title = panels[p].title,
                    .x_label = "link over the next faster one",
                    .kinds = "L: LIFO is best|F: FIFO is best|-: other orders",
                    .ncolumns = LINKS, .cut = panels[p].cut,
                    .first_row = p * REGIONS_RATIOS * REGIONS_COMPUTES,
                    .nrows = (size_t)REGIONS_RATIOS * REGIONS_COMPUTES);
}

static void judge_regions(const struct tally *tally, const char *claim,
                          struct cv_figure_result *result)
{
    const unsigned *kinds = tally->kinds;

    cv_figure_claim(result,
                    kinds[IS_LIFO] > 0 && kinds[IS_FIFO] > 0 && kinds[IS_OTHER] > 0,
                    claim,
                    "LIFO in %u, FIFO in %u, neither in %u of %u; the better of "
                    "them loses up to %.2f %%",
                    kinds[IS_LIFO], kinds[IS_FIFO], kinds[IS_OTHER], tally->cells,
                    100 * tally->worst);
}

static void make_regions(struct cv_figure_result *result)
{
    struct tally duplex = { 0 }, single = { 0 };

    cv_figure_table(
        result, "master", "links 1|1.01|1.03|1.1|1.2|1.4|1.7|2|3|10",
        "0: LIFO is best, 1: FIFO is best, 2: neither. Four workers, each link "
        "slower than the one before by the factor of the column.");
    fill(false, result->job, result, &duplex);
    fill(true, result->job, result, &single);
    draw_regions(result);
    judge_regions(&duplex,
                  "neither LIFO nor FIFO is always optimal or dominates the other, with "
                  "one message each way at a time",
                  result);
    judge_regions(&single, "the same with one message at a time", result);
}

const struct cv_figure cv_figure_returns_regions = {
    .title = "Which orders are best: LIFO, FIFO or others",
    .source = "Beaumont and Rosenberg, Link-heterogeneity, section VI (an open question)",
    .says =
        "Neither LIFO nor FIFO is optimal in general, and neither dominates the other; "
        "the structure of the optimum is left open.",
    .make = make_regions,
};

/* --- two workers: when first-in-first-out wins -------------------------------------- */

/* Beaumont and Rosenberg, Link-heterogeneity vs. node-heterogeneity in clusters, Theorem
 * 3: of two workers with equal nodes, FIFO does more than LIFO iff the faster link is
 * not much faster than the other. The table gives the ratio of the two at which they
 * change places, for costs of computing (rows, in units of the slower link's) and result
 * ratios (columns). */

enum { CROSSOVER_COMPUTES = 13, CROSSOVER_RATIOS = 7 };

static const double ratios_crossover[CROSSOVER_RATIOS] = { 0.01, 0.1, 0.3, 0.5,
                                                           0.7,  0.9, 1 };

/* Work of FIFO over that of LIFO; the faster link takes `fast` of the other's time. */
static double compare(double fast, double compute, double ratio)
{
    const struct cv_trip trips[2] = {
        { .send_s = fast, .compute_s = compute, .back_s = ratio * fast },
        { .send_s = 1, .compute_s = compute, .back_s = ratio },
    };
    const struct cv_returns returns = { trips, 2, false, NULL };
    struct cv_round_trip fifo, lifo;
    struct cv_arena arena;

    cv_arena_init(&arena);
    CV_MUST(cv_returns_fifo_all(&returns, 1, &arena, &fifo, err));
    CV_MUST(cv_returns_lifo(&returns, 1, &arena, &lifo, err));
    cv_arena_done(&arena);
    return fifo.work / lifo.work;
}

/* The theorem for one cell: LIFO and FIFO change places once, at the value of the
 * table. */
static void check_cell(double compute, double ratio, double crossing, unsigned *wrong)
{
    const double before = crossing * (1 - 1e-4);
    const double after = crossing + (1 - crossing) * 1e-4;

    for (int i = 1; i <= 20; i++) {
        *wrong += compare(before * i / 20, compute, ratio) > 1 + 1e-12;
        *wrong += compare(after + (1 - after) * i / 20, compute, ratio) < 1 - 1e-12;
    }
}

static void make_crossover(struct cv_figure_result *result)
{
    double min = 1, max = 0;
    unsigned wrong = 0;

    cv_figure_table(
        result, "R/tau", "delta 0.01|0.1|0.3|0.5|0.7|0.9|1",
        "LIFO does more work than FIFO when the faster link's time per unit is "
        "below this part of the slower link's; FIFO does more above it.");
    for (int i = 0; i < CROSSOVER_COMPUTES; i++) {
        const double compute = pow(10, -2 + i * 0.5);
        double *values = cv_figure_row(result, "%.3g", compute);

        for (int j = 0; j < CROSSOVER_RATIOS; j++) {
            values[j] = cv_returns_crossover(compute, ratios_crossover[j], 1);
            min = fmin(min, values[j]);
            max = fmax(max, values[j]);
            check_cell(compute, ratios_crossover[j], values[j], &wrong);
        }
    }
    CV_PLOT_ADD(result, .title = "Below a curve LIFO does more work, above it FIFO",
                .x_label = "R, time to compute divided by the time of the slower link",
                .y_label = "faster link's time per unit over the slower's", .log_x = true,
                .y_from = 0, .y_to = 1.02, .ncurves = CROSSOVER_RATIOS);
    cv_figure_claim(result, wrong == 0,
                    "LIFO wins below exactly one ratio of the links and FIFO above",
                    "%u of %d comparisons by the closed forms differ", wrong,
                    CROSSOVER_COMPUTES * CROSSOVER_RATIOS * 40);
    cv_figure_claim(result, max < 1,
                    "the links must differ for LIFO to win, ever less as computing "
                    "rules",
                    "crossings from %.3g to %.4g", min, max);
}

const struct cv_figure cv_figure_returns_crossover = {
    .title = "Two workers: ratio of the links at which FIFO overtakes LIFO",
    .source = "Beaumont and Rosenberg, Link-heterogeneity, Theorem 3",
    .says = "With the faster link first, FIFO does more work than LIFO iff that link is "
            "not much faster than the other; they change places once.",
    .make = make_crossover,
};
