/* figure_returns_regions.c -- where LIFO, FIFO or another pair of orders is best.
 * SPDX-License-Identifier: MIT
 *
 * Four workers with equal nodes and links in geometric progression: the optimum over all
 * orders and sets of workers, proved, beside LIFO and FIFO, over the ratio of
 * neighbouring links (columns), the cost of computing in units of the fastest link's and
 * the result ratio (rows), for both port rules. Answers what Beaumont and Rosenberg,
 * 2010, leave open. */
#include <math.h>

#include "model/returns/returns.h"
#include "model/returns/returns_search.h"
#include "figures/common/figure_plot.h"

enum { WORKERS = 4, LINKS = 10, COMPUTES = 7, RATIOS = 5 };
enum { IS_LIFO, IS_FIFO, IS_OTHER, KINDS };

static const double links[LINKS] = { 1, 1.01, 1.03, 1.1, 1.2, 1.4, 1.7, 2, 3, 10 };
static const double computes[COMPUTES] = { 0.1, 0.3, 1, 3, 10, 30, 100 };
static const double ratios[RATIOS] = { 0.1, 0.3, 0.5, 0.9, 1 };

/* What is as good as the optimum. */
static const double EQUAL = 1 - 1e-9;

struct tally {
    unsigned cells, kinds[KINDS];
    double worst; /* most that the best of LIFO and FIFO loses */
};

static enum cleave_status classify(bool single, double link, double compute, double ratio,
                                   struct tally *tally, double *out,
                                   struct cleave_error *err)
{
    struct cv_trip trips[WORKERS] = { { 0 } };
    const struct cv_returns returns = { trips, WORKERS, single, NULL };
    struct cv_round_trip fifo, lifo, best;
    struct cv_arena arena;
    enum cleave_status status;
    int kind;

    for (int i = 0; i < WORKERS; i++) {
        trips[i].send_s = pow(link, i);
        trips[i].compute_s = compute;
        trips[i].back_s = ratio * trips[i].send_s;
    }
    cv_arena_init(&arena);
    status = cv_returns_exact(&returns, 1, &arena, &best, err);
    if (status == CLEAVE_OK)
        status = cv_returns_fifo(&returns, 1, &arena, &fifo, err);
    if (status == CLEAVE_OK)
        status = cv_returns_lifo(&returns, 1, &arena, &lifo, err);
    if (status == CLEAVE_OK) {
        kind = fifo.work >= best.work * EQUAL   ? IS_FIFO
               : lifo.work >= best.work * EQUAL ? IS_LIFO
                                                : IS_OTHER;
        tally->cells++;
        tally->kinds[kind]++;
        tally->worst = fmax(tally->worst, 1 - fmax(fifo.work, lifo.work) / best.work);
        *out = kind;
    }
    cv_arena_done(&arena);
    return status;
}

static enum cleave_status fill(bool single, const struct cv_figure_job *job,
                               struct cv_figure_result *result, struct tally *tally,
                               struct cleave_error *err)
{
    for (int d = 0; d < RATIOS; d++)
        for (int c = 0; c < COMPUTES; c++) {
            double *values =
                cv_figure_row(result, "%s, delta %g, R/tau %g",
                              single ? "one port" : "duplex", ratios[d], computes[c]);

            if (values == NULL)
                return cv_fail_memory(err, "a figure");
            for (int l = 0; l < LINKS; l++)
                CV_TRY(classify(single, links[l], computes[c], ratios[d], tally,
                                &values[l], err));
            if (job->progress != NULL)
                job->progress(job->context,
                              ((uint64_t)single * RATIOS + (uint64_t)d) * COMPUTES +
                                  (uint64_t)c + 1,
                              (uint64_t)2 * RATIOS * COMPUTES);
        }
    return CLEAVE_OK;
}

static enum cleave_status draw(struct cv_figure_result *result, struct cleave_error *err)
{
    static const char *const letters[KINDS] = { "L", "F", "-" };
    static const char *const kinds[KINDS + 1] = { "L: LIFO is best", "F: FIFO is best",
                                                  "-: other orders", NULL };
    static const char *const names[LINKS] = { "1",   "1.01", "1.03", "1.1", "1.2",
                                              "1.4", "1.7",  "2",    "3",   "10" };
    static const struct {
        const char *title;
        size_t cut; /* what every label of the panel begins with */
    } panels[2] = { { "One message each way at a time", sizeof "duplex, " - 1 },
                    { "One message at a time", sizeof "one port, " - 1 } };

    for (size_t p = 0; p < 2; p++) {
        struct cv_figure_plot *plot;

        CV_TRY(cv_plot_add(result,
                           &(struct cv_figure_plot){ .kind = CV_PLOT_MAP,
                                                     .title = panels[p].title,
                                                     .x_label =
                                                         "link over the next faster one",
                                                     .column_names = names,
                                                     .letters = letters,
                                                     .kinds = kinds },
                           &plot, err));
        CV_TRY(cv_plot_map(result, plot, LINKS, p * RATIOS * COMPUTES,
                           (size_t)RATIOS * COMPUTES, panels[p].cut, err));
    }
    return CLEAVE_OK;
}

static bool none_rules(const struct tally *tally)
{
    return tally->kinds[IS_LIFO] > 0 && tally->kinds[IS_FIFO] > 0 &&
           tally->kinds[IS_OTHER] > 0;
}

static enum cleave_status make(const struct cv_figure_job *job,
                               struct cv_figure_result *result, struct cleave_error *err)
{
    static const char *const columns[LINKS] = { "links 1", "1.01", "1.03", "1.1", "1.2",
                                                "1.4",     "1.7",  "2",    "3",   "10" };
    struct tally duplex = { 0 }, single = { 0 };

    result->label = "master";
    result->columns = columns;
    result->ncolumns = LINKS;
    result->note =
        "0: LIFO is best, 1: FIFO is best, 2: neither. Four workers, each link "
        "slower than the one before by the factor of the column.";
    CV_TRY(fill(false, job, result, &duplex, err));
    CV_TRY(fill(true, job, result, &single, err));
    CV_TRY(draw(result, err));
    CV_TRY(
        cv_figure_claim(result, none_rules(&duplex), err,
                        "neither LIFO nor FIFO is always optimal or dominates the other, "
                        "with one message each way at a time",
                        "LIFO in %u, FIFO in %u, neither in %u of %u; the better of "
                        "them loses up to %.2f %%",
                        duplex.kinds[IS_LIFO], duplex.kinds[IS_FIFO],
                        duplex.kinds[IS_OTHER], duplex.cells, 100 * duplex.worst));
    return cv_figure_claim(result, none_rules(&single), err,
                           "the same with one message at a time",
                           "LIFO in %u, FIFO in %u, neither in %u of %u; the better of "
                           "them loses up to %.2f %%",
                           single.kinds[IS_LIFO], single.kinds[IS_FIFO],
                           single.kinds[IS_OTHER], single.cells, 100 * single.worst);
}

const struct cv_figure cv_figure_returns_regions = {
    .title = "Which orders are best: LIFO, FIFO or others",
    .source = "Beaumont and Rosenberg, Link-heterogeneity, section VI (an open question)",
    .says =
        "Neither LIFO nor FIFO is optimal in general, and neither dominates the other; "
        "the structure of the optimum is left open.",
    .make = make,
};
