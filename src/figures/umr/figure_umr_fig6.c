/* figure_umr_fig6.c -- how many rounds UMR takes, against bandwidth over speed.
 * SPDX-License-Identifier: MIT
 *
 * Yang and Casanova, multi-round algorithms, Figure 6: N = 5, 2000 units, three pairs of
 * latencies. The curve for alpha = 0 only comes out with a limit that equation 9 does not
 * have, a first chunk of at least Delta, as the text of section 6.2.2 asks for. */
#include <math.h>

#include "policy/static/umr.h"
#include "figures/common/figure_plot.h"

enum { CURVES = 3, LEAST = 6, MOST = 80, WORKERS = 5, MOST_ROUNDS = 60 };
enum { COMPUTE, LINK, BOTH, EQUATION, NCOLUMNS };

static const double LOAD = 2000;
static const struct {
    double alpha, beta;
} latencies[CURVES] = { { 5, 0 }, { 0, 5 }, { 5, 5 } };

struct curves {
    double rounds[MOST + 1][NCOLUMNS];
};

static enum cleave_status rounds_at(double ratio, int curve, struct cv_arena *arena,
                                    double *out, struct cleave_error *err)
{
    struct cleave_worker workers[WORKERS];
    struct cv_umr plan;

    for (int i = 0; i < WORKERS; i++)
        workers[i] = (struct cleave_worker){ .speed_ups = 1,
                                             .compute_latency_s = latencies[curve].alpha,
                                             .bandwidth_ups = ratio,
                                             .latency_s = latencies[curve].beta };
    CV_TRY(cv_umr_plan(workers, WORKERS, LOAD, MOST_ROUNDS, 0, arena, &plan, err));
    *out = plan.rounds;
    return CLEAVE_OK;
}

/* What equation 9 alone says about alpha = 0. */
static double root_at(double ratio)
{
    const struct cleave_worker worker = { .speed_ups = 1,
                                          .bandwidth_ups = ratio,
                                          .latency_s = latencies[LINK].beta };
    struct cv_umr_sums sums = { 0 };
    struct cv_umr_line line = { 1, 0 };

    for (int i = 0; i < WORKERS; i++)
        sums = cv_umr_add(&sums, &worker, &line);
    return cv_umr_real_rounds(&sums, LOAD);
}

static enum cleave_status judge(const struct curves *curves,
                                struct cv_figure_result *result, struct cleave_error *err)
{
    const double *first = curves->rounds[LEAST], *last = curves->rounds[MOST];
    unsigned wrong[CURVES] = { 0 };
    int top = LEAST, at = 0;

    for (int r = LEAST + 1; r <= MOST; r++) {
        const double *now = curves->rounds[r], *before = curves->rounds[r - 1];

        wrong[COMPUTE] += now[COMPUTE] > before[COMPUTE];
        wrong[LINK] += now[LINK] < before[LINK];
        if (now[BOTH] > curves->rounds[top][BOTH])
            top = r;
        if (now[BOTH] == curves->rounds[top][BOTH])
            at = r;
    }
    for (int r = LEAST + 1; r <= MOST; r++)
        wrong[BOTH] += r <= top ? curves->rounds[r][BOTH] < curves->rounds[r - 1][BOTH]
                                : curves->rounds[r][BOTH] > curves->rounds[r - 1][BOTH];
    CV_TRY(
        cv_figure_claim(result,
                        wrong[COMPUTE] == 0 && first[COMPUTE] == 6 && last[COMPUTE] == 2,
                        err, "alpha 5, beta 0: from 6 rounds down to 2 as R grows",
                        "from %.0f at R = 6 to %.0f at R = 80, %u steps up",
                        first[COMPUTE], last[COMPUTE], wrong[COMPUTE]));
    CV_TRY(cv_figure_claim(
        result,
        wrong[LINK] == 0 && first[LINK] == 2 && curves->rounds[MOST - 1][LINK] == 14, err,
        "alpha 0, beta 5: from 2 rounds up to 14 as R grows",
        "from %.0f at R = 6 to %.0f at R = 79 (%.0f at R = 80), %u steps down",
        first[LINK], curves->rounds[MOST - 1][LINK], last[LINK], wrong[LINK]));
    CV_TRY(cv_figure_claim(
        result, fabs(first[EQUATION] - first[LINK]) < 1, err,
        "equation 9 gives the number of rounds",
        "alone it would ask for %.1f rounds at R = 6 with alpha 0, beta 5, where a first "
        "chunk of at least Delta, as section 6.2.2 wants it, allows %.0f; %.1f at R = 80",
        first[EQUATION], first[LINK], last[EQUATION]));
    return cv_figure_claim(
        result, wrong[BOTH] == 0 && top > LEAST && fabs(at - 10.0) <= 2, err,
        "alpha 5, beta 5: first more rounds, then fewer from R = 10 on",
        "%.0f at R = 6, %.0f from R = %d to %d, then down to %.0f", first[BOTH],
        curves->rounds[top][BOTH], top, at, last[BOTH]);
}

static enum cleave_status draw(const struct curves *curves,
                               struct cv_figure_result *result, struct cleave_error *err)
{
    static const char *const names[CURVES] = { "α = 5 s, β = 0", "α = 0, β = 5 s",
                                               "α = β = 5 s" };
    struct cv_figure_plot *plot;

    CV_TRY(cv_plot_add(result,
                       &(struct cv_figure_plot){ .x_label = "R = bandwidth over speed",
                                                 .y_label = "rounds of UMR",
                                                 .y_from = 0,
                                                 .y_to = 16 },
                       &plot, err));
    for (int c = 0; c < CURVES; c++) {
        struct cv_figure_series *series;

        CV_TRY(cv_plot_series(result, plot, names[c], MOST - LEAST + 1, false, &series,
                              err));
        series->line = CV_LINE_STEPS;
        for (int r = LEAST; r <= MOST; r++) {
            series->x[r - LEAST] = r;
            series->y[r - LEAST] = curves->rounds[r][c];
        }
    }
    return CLEAVE_OK;
}

static enum cleave_status make(const struct cv_figure_job *job,
                               struct cv_figure_result *result, struct cleave_error *err)
{
    static const char *const columns[NCOLUMNS] = { "alpha 5, beta 0", "alpha 0, beta 5",
                                                   "alpha 5, beta 5",
                                                   "0, 5: equation 9" };
    struct curves *curves = cv_array(&result->arena, 1, sizeof *curves);

    (void)job;
    if (curves == NULL)
        return cv_fail_memory(err, "a figure");
    result->label = "R";
    result->columns = columns;
    result->ncolumns = NCOLUMNS;
    result->note = "Rounds of UMR on 5 workers, 2000 units, latencies in seconds.";
    for (int r = LEAST; r <= MOST; r++) {
        double *values;

        for (int c = 0; c < CURVES; c++)
            CV_TRY(rounds_at(r, c, &result->arena, &curves->rounds[r][c], err));
        curves->rounds[r][EQUATION] = root_at(r);
        values = r <= 12 || r % 10 == 0 ? cv_figure_row(result, "%d", r)
                                        : cv_figure_file_row(result, "%d", r);
        if (values == NULL)
            return cv_fail_memory(err, "a figure");
        for (int c = 0; c < NCOLUMNS; c++)
            values[c] = curves->rounds[r][c];
    }
    CV_TRY(judge(curves, result, err));
    return draw(curves, result, err);
}

const struct cv_figure cv_figure_umr_fig6 = {
    .title = "Rounds of UMR against bandwidth over speed, for three pairs of latencies",
    .source = "Yang and Casanova, Multi-round algorithms, Figure 6 and section 6.2.2",
    .says = "From 6 rounds down to 2 when only computing has a latency, from 2 up to 14 "
            "when only messages have one, up and then down from R = 10 on with both.",
    .make = make,
};
