/* figure_streams_auto.c -- what an automatic period and a tapered end are worth.
 * SPDX-License-Identifier: MIT
 *
 * Beyond the paper: one stream on 100 workers of Table 1, which drop in speed and come
 * back. Rounds of 100 s, as published, with nothing done about the end, against a period
 * that follows what is measured, and against that with rounds that get shorter when the
 * end is known. */
#include <math.h>

#include "figures/common/figure_plot.h"
#include "figures/streams/figure_streams_scene.h"

enum { HORIZONS = 2, DROPS = 4, ROWS = HORIZONS * DROPS };
enum { PUBLISHED, CLOSE, AUTO, TAPER, WAYS, GAIN = WAYS, COLUMNS };

static const double horizons_s[HORIZONS] = { 500, 2000 };
static const double drops[DROPS] = { 0, 0.3, 0.6, 0.9 };
/* An independent simulation: rounds of 100 s, and the automatic period with a taper. */
static const double reference[ROWS][2] = {
    { 0.8470, 0.9849 }, { 0.7923, 0.9850 }, { 0.7579, 0.9802 }, { 0.6534, 0.9518 },
    { 0.9534, 0.9936 }, { 0.9515, 0.9935 }, { 0.9124, 0.9936 }, { 0.8530, 0.9635 },
};
/* What is left to do when the stream ends, in seconds of all workers: about a round,
 * sqrt(8 f T). */
static const double rests_s[HORIZONS] = { 10, 20 };

static void set_up(struct cv_scene_run runs[ROWS][WAYS])
{
    for (int i = 0; i < ROWS; i++)
        for (int way = 0; way < WAYS; way++)
            runs[i][way] = (struct cv_scene_run){
                .workers = 100,
                .kind = -1,
                .latency_s = -1,
                .drop = drops[i % DROPS],
                .port = CLEAVE_PORT_DUPLEX,
                .tau_s = way <= CLOSE ? 100 : 0,
                .horizon_s = horizons_s[i / DROPS],
                .rest_s = way == TAPER ? rests_s[i / DROPS] : 0,
                .start = way == PUBLISHED ? "spread" : "close",
                .end = way == TAPER ? "taper" : "none",
            };
}

static enum cleave_status judge(struct cv_scene_run runs[ROWS][WAYS],
                                struct cv_figure_result *result, struct cleave_error *err)
{
    double min = INFINITY, least_alone = INFINITY, below = -INFINITY;

    for (int i = 0; i < ROWS; i++) {
        below = fmax(below, reference[i][1] - runs[i][TAPER].to_end);
        if (horizons_s[i / DROPS] < 2000)
            continue;
        min = fmin(min, runs[i][TAPER].to_end - runs[i][PUBLISHED].to_end);
        least_alone = fmin(least_alone, runs[i][AUTO].to_end - runs[i][PUBLISHED].to_end);
    }
    CV_TRY(cv_figure_claim(
        result, min >= 0.03, err,
        "automatic period and taper: at least 3 points of CPU efficiency over rounds of "
        "100 s with posts spread as in streams-fig5, T = 2000 s, every dynamicity",
        "%+.1f points at least; %+.1f by the period alone", 100 * min,
        100 * least_alone));
    return cv_figure_claim(result, below <= 0.01, err,
                           "automatic period and taper reach an independent simulation",
                           "at most %.2f points below it", 100 * below);
}

static enum cleave_status draw(struct cv_scene_run runs[ROWS][WAYS],
                               struct cv_figure_result *result, struct cleave_error *err)
{
    static const char *const titles[HORIZONS] = { "T = 500 s", "T = 2000 s" };
    static const char *const names[WAYS] = { "rounds of 100 s, posts spread",
                                             "rounds of 100 s, posts close", "automatic",
                                             "automatic, tapered end" };

    for (int h = 0; h < HORIZONS; h++) {
        struct cv_figure_plot *plot;

        CV_TRY(cv_plot_add(result,
                           &(struct cv_figure_plot){
                               .title = titles[h],
                               .x_label = "dynamicity: speeds drop by",
                               .y_label = "CPU efficiency, to the last "
                                          "result",
                               .y_from = 0.6,
                               .y_to = 1 },
                           &plot, err));
        for (int way = 0; way < WAYS; way++) {
            struct cv_figure_series *series;

            CV_TRY(cv_plot_series(result, plot, names[way], DROPS, false, &series, err));
            for (int d = 0; d < DROPS; d++) {
                series->x[d] = drops[d];
                series->y[d] = runs[h * DROPS + d][way].to_end;
            }
        }
    }
    return CLEAVE_OK;
}

static enum cleave_status make(const struct cv_figure_job *job,
                               struct cv_figure_result *result, struct cleave_error *err)
{
    static const char *const columns[COLUMNS] = { "tau 100", "tau 100, close", "auto",
                                                  "auto, taper", "gain, points" };
    struct cv_scene_run runs[ROWS][WAYS];

    result->label = "stream";
    result->columns = columns;
    result->ncolumns = COLUMNS;
    result->note = "Part of the time up to the last result that CPUs compute. tau 100: "
                   "first posts spread over a round; close: as soon as ports allow.";
    set_up(runs);
    CV_TRY(cv_scene_runs(job, &runs[0][0], (size_t)ROWS * WAYS, err));
    for (int i = 0; i < ROWS; i++) {
        double *values = cv_figure_row(result, "T %g, drop %g", horizons_s[i / DROPS],
                                       drops[i % DROPS]);

        if (values == NULL)
            return cv_fail_memory(err, "a figure");
        for (int way = 0; way < WAYS; way++)
            values[way] = runs[i][way].to_end;
        values[GAIN] = 100 * (values[TAPER] - values[PUBLISHED]);
    }
    CV_TRY(draw(runs, result, err));
    return judge(runs, result, err);
}

const struct cv_figure cv_figure_streams_auto = {
    .title = "CPU efficiency with an automatic period and a tapered end",
    .source = "Beyond the papers: what Millot and Parrot leave open",
    .says =
        "The length of rounds is set by experience, and nothing is done about the end "
        "of the stream.",
    .make = make,
};
