/* figure_returns_protocols.c -- three workers served LIFO and FIFO.
 * SPDX-License-Identifier: MIT
 *
 * Beaumont and Rosenberg, Link-heterogeneity vs. node-heterogeneity in clusters, Figures
 * 2 and 3, with numbers: tau = 1, 2, 3, rho = 3, pi = 1, delta = 0.5, L = 20. Table I
 * prints the rate of a node as R = pi + rho; unpacking, computing and packing take (1 +
 * delta) pi + rho. */
#include <math.h>

#include "figures/common/figure_plot.h"
#include "figures/returns/figure_returns_cluster.h"

enum { WORKERS = 3 };
enum { UNITS, SEND, SENT, COMPUTED, RETURNS, RETURNED, COLUMNS };

static const double RHO = 3, PI = 1, DELTA = 0.5, LIFESPAN = 20;
static const uint32_t order[WORKERS] = { 0, 1, 2 };

static void make_cluster(struct cv_star *out, double rate)
{
    out->n = WORKERS;
    for (int i = 0; i < WORKERS; i++)
        out->trips[i] = (struct cv_trip){ .send_s = i + 1, .compute_s = rate };
    cv_star_set_delta(out, DELTA);
}

/* Carry shares out, computing at `rate`: sends one after the other, results in the order
 * of `back`, each as soon as it and the way back are ready. */
static double carry_out(const double *units, const uint32_t *back, double rate,
                        double when[WORKERS][COLUMNS])
{
    double sent = 0, returned = 0;

    for (int i = 0; i < WORKERS; i++) {
        when[i][UNITS] = units[i];
        when[i][SEND] = sent;
        sent += (i + 1) * units[i];
        when[i][SENT] = sent;
        when[i][COMPUTED] = sent + rate * units[i];
    }
    for (int k = 0; k < WORKERS; k++) {
        double *own = when[back[k]];

        own[RETURNS] = fmax(own[COMPUTED], returned);
        returned = own[RETURNED] = own[RETURNS] + DELTA * (back[k] + 1) * own[UNITS];
    }
    return returned;
}

/* The closed forms of Theorems 1 and 2: how far the shares are from them. */
static double off_theorem(bool fifo, const double *units, double rate)
{
    double share, off = 0, sum = rate + (1 + DELTA), product = 1;

    for (int k = 1; k < WORKERS; k++) {
        product *= (rate + DELTA * k) / (rate + k + 1);
        sum += DELTA * (k + 1) * product;
    }
    share = LIFESPAN / (fifo ? sum : rate + 1 + DELTA);
    for (int k = 0; k < WORKERS; k++) {
        if (k > 0)
            share *= fifo ? (rate + DELTA * k) / (rate + k + 1)
                          : rate / (rate + (1 + DELTA) * (k + 1));
        off = fmax(off, fabs(units[k] / share - 1));
    }
    return off;
}

static enum cleave_status draw(double when[WORKERS][COLUMNS], const char *title,
                               struct cv_figure_result *result, struct cleave_error *err)
{
    static const char *const rows[] = { "C0 sends", "C0 receives", "C1", "C2", "C3" };
    static const char *const kinds[] = { "work", "processing", "results", NULL };
    struct cv_figure_plot *plot;

    CV_TRY(cv_plot_add(result,
                       &(struct cv_figure_plot){ .kind = CV_PLOT_BARS,
                                                 .title = title,
                                                 .x_label = "time (s)",
                                                 .row_names = rows,
                                                 .nrows = WORKERS + 2,
                                                 .kinds = kinds },
                       &plot, err));
    for (uint32_t i = 0; i < WORKERS; i++) {
        const double *own = when[i];
        const struct cv_bar bars[] = {
            { 0, 0, own[SEND], own[SENT], rows[i + 2], NULL },
            { 1, 2, own[RETURNS], own[RETURNED], rows[i + 2], NULL },
            { i + 2, 0, own[SEND], own[SENT], NULL, NULL },
            { i + 2, 1, own[SENT], own[COMPUTED], NULL, NULL },
            { i + 2, 2, own[RETURNS], own[RETURNED], NULL, NULL },
        };

        for (size_t k = 0; k < sizeof bars / sizeof *bars; k++)
            CV_TRY(cv_plot_bar(result, plot, &bars[k], err));
    }
    return CLEAVE_OK;
}

static enum cleave_status fill(double when[WORKERS][COLUMNS],
                               struct cv_figure_result *result, struct cleave_error *err)
{
    static const char *const columns[COLUMNS] = { "units",    "send from", "sent",
                                                  "computed", "return",    "returned" };

    result->label = "worker";
    result->columns = columns;
    result->ncolumns = COLUMNS;
    result->note =
        "tau 1, 2 and 3 s per unit, rho 3 s, pi 1 s, delta 0.5, lifespan 20 s.";
    for (int i = 0; i < WORKERS; i++) {
        double *values = cv_figure_row(result, "C%d", i + 1);

        if (values == NULL)
            return cv_fail_memory(err, "a figure");
        for (int c = 0; c < COLUMNS; c++)
            values[c] = when[i][c];
    }
    return CLEAVE_OK;
}

static enum cleave_status make_protocol(bool fifo, struct cv_figure_result *result,
                                        struct cleave_error *err)
{
    const double rate = (1 + DELTA) * PI + RHO, printed = PI + RHO;
    double when[WORKERS][COLUMNS], wrong[WORKERS][COLUMNS], waits = 0, end, late, first;
    struct cv_round_trip trip = { 0 }, short_trip = { 0 };
    struct cv_star cluster;

    make_cluster(&cluster, rate);
    CV_TRY((fifo ? cv_star_fifo : cv_star_lifo)(&cluster, order, WORKERS, LIFESPAN,
                                                &result->arena, &trip, err));
    make_cluster(&cluster, printed);
    CV_TRY((fifo ? cv_star_fifo : cv_star_lifo)(&cluster, order, WORKERS, LIFESPAN,
                                                &result->arena, &short_trip, err));
    end = carry_out(trip.units, trip.back, rate, when);
    late = carry_out(short_trip.units, short_trip.back, rate, wrong);
    for (int i = 0; i < WORKERS; i++)
        waits = fmax(waits, when[i][RETURNS] - when[i][COMPUTED]);
    first = when[trip.back[0]][RETURNS];
    CV_TRY(fill(when, result, err));
    CV_TRY(cv_figure_claim(result, off_theorem(fifo, trip.units, rate) < 1e-12, err,
                           fifo ? "Theorem 2: shares in closed form"
                                : "Theorem 1: shares in closed form",
                           "%.4f, %.4f and %.4f units, at most %.0e off", trip.units[0],
                           trip.units[1], trip.units[2],
                           off_theorem(fifo, trip.units, rate)));
    CV_TRY(cv_figure_claim(result, fabs(end - LIFESPAN) < 1e-9 && waits < 1e-9, err,
                           "carried out without gaps all ends at L",
                           "at %.6g of %g s, %.0e s of waiting", end, LIFESPAN, waits));
    CV_TRY(cv_figure_claim(result, first >= when[WORKERS - 1][SENT] - 1e-9, err,
                           "one message at a time is enough (section II)",
                           "sends end at %.3f s, the first result leaves at %.3f s",
                           when[WORKERS - 1][SENT], first));
    CV_TRY(cv_figure_claim(result, late <= LIFESPAN + 1e-9, err, "Table I: R = pi + rho",
                           "with shares for that R it ends at %.2f s instead of %g; R is "
                           "(1 + delta) pi + rho = %g, as in equation 6",
                           late, LIFESPAN, rate));
    return draw(when,
                fifo ? "FIFO: results return in the order of sending"
                     : "LIFO: results return in reverse order",
                result, err);
}

static enum cleave_status make_lifo(const struct cv_figure_job *job,
                                    struct cv_figure_result *result,
                                    struct cleave_error *err)
{
    (void)job;
    return make_protocol(false, result, err);
}

static enum cleave_status make_fifo(const struct cv_figure_job *job,
                                    struct cv_figure_result *result,
                                    struct cleave_error *err)
{
    (void)job;
    return make_protocol(true, result, err);
}

const struct cv_figure cv_figure_returns_lifo = {
    .title = "Three workers served LIFO",
    .source = "Beaumont and Rosenberg, Link-heterogeneity, Figure 2, Table I, Theorem 1",
    .says = "The first to get work is the last to return results; no gaps, all ends with "
            "the lifespan.",
    .make = make_lifo,
};

const struct cv_figure cv_figure_returns_fifo = {
    .title = "Three workers served FIFO",
    .source = "Beaumont and Rosenberg, Link-heterogeneity, Figure 3, Table I, Theorem 2",
    .says =
        "The first to get work is the first to return results; no gaps, all ends with "
        "the lifespan.",
    .make = make_fifo,
};
