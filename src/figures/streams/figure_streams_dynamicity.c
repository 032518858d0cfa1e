/* figure_streams_dynamicity.c -- CPU efficiency when speeds change.
 * SPDX-License-Identifier: MIT
 *
 * Millot and Parrot, PPAM 2013, Figure 6: CPU efficiency against the length of rounds for
 * several dynamicities, the part by which speeds drop and come back. A stream of 10,000
 * s, first posts spread over a round, no care for the end. How a master serves workers
 * that are late is not printed; the last rows serve them strictly in turn: a stream of
 * 3000 s on 33 fast workers of one master. */
#include <math.h>
#include <stdio.h>

#include "figures/common/figure_plot.h"
#include "figures/streams/figure_streams_scene.h"

enum { LATENCIES = 2, DROPS = 6, PERIODS = 7, TURNS = DROPS, ALL_PERIODS = 8 };
enum { CURVES = LATENCIES * DROPS, FIRST_QUICK = 2, TURN_WORKERS = 33, BEST_KIND = 3 };

static const double latencies_s[LATENCIES] = { 0, 0.01 };
static const double drops[DROPS] = { 0, 0.1, 0.3, 0.5, 0.7, 0.9 };
/* Rows in turn have the first seven, the others the last seven. */
static const double periods_s[ALL_PERIODS] = { 1, 2, 5, 10, 20, 50, 100, 200 };

/* An independent simulation of the same: during the stream, and to the last result. */
static const double reference[LATENCIES][DROPS][PERIODS][2] = {
    {
        { { 0.9999, 0.9998 },
          { 0.9998, 0.9995 },
          { 0.9995, 0.9990 },
          { 0.9990, 0.9980 },
          { 0.9975, 0.9950 },
          { 0.9950, 0.9902 },
          { 0.9900, 0.9806 } },
        { { 0.9999, 0.9998 },
          { 0.9998, 0.9995 },
          { 0.9995, 0.9991 },
          { 0.9990, 0.9979 },
          { 0.9975, 0.9952 },
          { 0.9950, 0.9900 },
          { 0.9900, 0.9801 } },
        { { 0.9999, 0.9998 },
          { 0.9998, 0.9996 },
          { 0.9995, 0.9992 },
          { 0.9990, 0.9974 },
          { 0.9975, 0.9948 },
          { 0.9950, 0.9897 },
          { 0.9900, 0.9741 } },
        { { 0.9999, 0.9996 },
          { 0.9998, 0.9991 },
          { 0.9995, 0.9982 },
          { 0.9990, 0.9965 },
          { 0.9975, 0.9910 },
          { 0.9950, 0.9867 },
          { 0.9900, 0.9684 } },
        { { 0.9999, 0.9992 },
          { 0.9998, 0.9980 },
          { 0.9995, 0.9961 },
          { 0.9990, 0.9958 },
          { 0.9975, 0.9912 },
          { 0.9950, 0.9721 },
          { 0.9900, 0.9627 } },
        { { 0.9999, 0.9980 },
          { 0.9998, 0.9957 },
          { 0.9995, 0.9945 },
          { 0.9990, 0.9903 },
          { 0.9975, 0.9701 },
          { 0.9950, 0.9651 },
          { 0.9900, 0.9567 } },
    },
    {
        { { 0.9899, 0.9898 },
          { 0.9958, 0.9955 },
          { 0.9975, 0.9970 },
          { 0.9980, 0.9970 },
          { 0.9971, 0.9946 },
          { 0.9948, 0.9900 },
          { 0.9899, 0.9805 } },
        { { 0.9899, 0.9898 },
          { 0.9958, 0.9955 },
          { 0.9975, 0.9971 },
          { 0.9980, 0.9969 },
          { 0.9971, 0.9948 },
          { 0.9948, 0.9898 },
          { 0.9899, 0.9800 } },
        { { 0.9899, 0.9899 },
          { 0.9958, 0.9956 },
          { 0.9975, 0.9972 },
          { 0.9980, 0.9964 },
          { 0.9971, 0.9944 },
          { 0.9948, 0.9892 },
          { 0.9899, 0.9740 } },
        { { 0.9899, 0.9897 },
          { 0.9958, 0.9952 },
          { 0.9975, 0.9963 },
          { 0.9980, 0.9955 },
          { 0.9971, 0.9906 },
          { 0.9948, 0.9867 },
          { 0.9899, 0.9682 } },
        { { 0.9900, 0.9893 },
          { 0.9959, 0.9941 },
          { 0.9976, 0.9941 },
          { 0.9981, 0.9952 },
          { 0.9972, 0.9905 },
          { 0.9948, 0.9724 },
          { 0.9899, 0.9625 } },
        { { 0.9904, 0.9880 },
          { 0.9963, 0.9922 },
          { 0.9979, 0.9896 },
          { 0.9983, 0.9844 },
          { 0.9972, 0.9699 },
          { 0.9949, 0.9649 },
          { 0.9899, 0.9564 } },
    },
};

/* The same in turn, during the stream. */
static const double in_turn[TURNS][PERIODS] = {
    { 0.9798, 0.9897, 0.9952, 0.9964, 0.9958, 0.9915, 0.9836 },
    { 0.9798, 0.9897, 0.9952, 0.9964, 0.9957, 0.9915, 0.9833 },
    { 0.9795, 0.9894, 0.9950, 0.9960, 0.9809, 0.9855, 0.9761 },
    { 0.9658, 0.9632, 0.9315, 0.9093, 0.8910, 0.9001, 0.9044 },
    { 0.9356, 0.9142, 0.8124, 0.7293, 0.6867, 0.7180, 0.7410 },
    { 0.7802, 0.6260, 0.4239, 0.4206, 0.4549, 0.4627, 0.5040 },
};

struct scene {
    struct cv_scene_run curves[CURVES][PERIODS], turns[TURNS][PERIODS];
    int first_curve, first_period; /* what is made */
};

static void set_up(struct scene *scene, bool quick)
{
    scene->first_curve = quick ? DROPS : 0;
    scene->first_period = quick ? FIRST_QUICK : 0;
    for (int c = 0; c < CURVES; c++)
        for (int p = 0; p < PERIODS; p++)
            scene->curves[c][p] = (struct cv_scene_run){
                .workers = quick ? 100 : 1000,
                .kind = -1,
                .latency_s = latencies_s[c / DROPS],
                .drop = drops[c % DROPS],
                .port = CLEAVE_PORT_MULTI, /* no contention */
                .tau_s = periods_s[p + 1],
                .horizon_s = 10000,
                .start = "spread",
                .end = "none",
            };
    for (int c = 0; c < TURNS; c++)
        for (int p = 0; p < PERIODS; p++)
            scene->turns[c][p] = (struct cv_scene_run){
                .workers = TURN_WORKERS,
                .kind = BEST_KIND,
                .latency_s = 0.01,
                .drop = drops[c],
                .port = CLEAVE_PORT_DUPLEX,
                .tau_s = periods_s[p],
                .horizon_s = 3000,
                .start = "spread",
                .end = "none",
                .service = "rr",
            };
}

/* Put the runs that are made one after the other, or back. */
static size_t gather(struct scene *scene, struct cv_scene_run *list, bool back)
{
    size_t n = 0;

    for (int c = scene->first_curve; c < CURVES + TURNS; c++)
        for (int p = scene->first_period; p < PERIODS; p++) {
            struct cv_scene_run *run =
                c < CURVES ? &scene->curves[c][p] : &scene->turns[c - CURVES][p];

            if (back)
                *run = list[n++];
            else
                list[n++] = *run;
        }
    return n;
}

static enum cleave_status fill(const struct scene *scene, struct cv_figure_result *result,
                               struct cleave_error *err)
{
    for (int c = scene->first_curve; c < CURVES + TURNS; c++) {
        const bool turn = c >= CURVES;
        double *values =
            cv_figure_row(result, "%sf %g, drop %g", turn ? "in turn, " : "",
                          turn ? 0.01 : latencies_s[c / DROPS], drops[c % DROPS]);

        if (values == NULL)
            return cv_fail_memory(err, "a figure");
        for (int p = scene->first_period; p < PERIODS; p++) {
            const struct cv_scene_run *run =
                turn ? &scene->turns[c - CURVES][p] : &scene->curves[c][p];

            values[turn ? p : p + 1] = turn ? run->in_stream : run->to_end;
            values[ALL_PERIODS + (turn ? p : p + 1)] = run->in_stream;
        }
    }
    return CLEAVE_OK;
}

static enum cleave_status draw(const struct scene *scene, struct cv_figure_result *result,
                               struct cleave_error *err)
{
    static const char *const titles[LATENCIES + 1] = {
        "f = 0, served as they come, to the last result",
        "f = 0.01 s, served as they come, to the last result",
        "f = 0.01 s, served strictly in turn, during the stream",
    };
    const struct cv_figure_row *row = result->rows;
    struct cv_figure_plot *plot = NULL;

    for (int c = scene->first_curve; c < CURVES + TURNS; c++, row = row->next) {
        const int first = scene->first_period + (c < CURVES ? 1 : 0);
        char name[32];

        if (c % DROPS == 0)
            CV_TRY(cv_plot_add(result,
                               &(struct cv_figure_plot){
                                   .title = titles[c / DROPS],
                                   .x_label = "τ, wanted length of rounds (s)",
                                   .y_label = "CPU efficiency",
                                   .log_x = true },
                               &plot, err));
        snprintf(name, sizeof name, "drop %g", drops[c % DROPS]);
        CV_TRY(cv_plot_row(result, plot, name, row->values + first,
                           (size_t)(PERIODS - scene->first_period), periods_s + first,
                           err));
    }
    return CLEAVE_OK;
}

/* The period with the best efficiency to the last result. */
static double best_period(const struct scene *scene, int curve)
{
    int best = scene->first_period;

    for (int p = best; p < PERIODS; p++)
        if (scene->curves[curve][p].to_end > scene->curves[curve][best].to_end)
            best = p;
    return periods_s[best + 1];
}

struct distances {
    double stream, end, turn, spread;
};

static struct distances measure(const struct scene *scene)
{
    struct distances far = { 0, 0, 0, 0 };

    for (int c = scene->first_curve; c < CURVES; c++)
        for (int p = scene->first_period; p < PERIODS; p++) {
            const double *expected = reference[c / DROPS][c % DROPS][p];
            const struct cv_scene_run *run = &scene->curves[c][p];
            const struct cv_scene_run *steady = &scene->curves[c - c % DROPS][p];

            far.stream = fmax(far.stream, fabs(run->in_stream - expected[0]));
            far.end = fmax(far.end, fabs(run->to_end - expected[1]));
            far.spread = fmax(far.spread, fabs(run->in_stream - steady->in_stream));
        }
    for (int c = 0; c < TURNS; c++)
        for (int p = scene->first_period; p < PERIODS; p++)
            far.turn = fmax(far.turn, fabs(scene->turns[c][p].in_stream - in_turn[c][p]));
    return far;
}

static enum cleave_status judge(const struct scene *scene, bool quick,
                                struct cv_figure_result *result, struct cleave_error *err)
{
    const struct distances far = measure(scene);
    const int steady = CURVES - DROPS, worst = CURVES - 1;

    CV_TRY(cv_figure_claim(
        result, best_period(scene, worst) <= best_period(scene, steady), err,
        "rounds should be shorter for the highest dynamicity than for none",
        "f = 0.01 s: best to the end %g s when steady, %g, %g, %g, %g "
        "and %g s for drops of 0.1 to 0.9",
        best_period(scene, steady), best_period(scene, steady + 1),
        best_period(scene, steady + 2), best_period(scene, steady + 3),
        best_period(scene, steady + 4), best_period(scene, worst)));
    CV_TRY(cv_figure_claim(result, far.spread < 1e-3, err,
                           "while the stream lasts dynamicity costs nothing: the next "
                           "data is there half a round ahead",
                           "at most %.1e from the steady curve", far.spread));
    CV_TRY(cv_figure_claim(result, far.stream <= (quick ? 1e-3 : 3e-4), err,
                           "in the stream: as an independent simulation",
                           "at most %.1e apart", far.stream));
    CV_TRY(cv_figure_claim(result, far.end <= (quick ? 8e-3 : 4e-3), err,
                           "to the last result: as an independent simulation, in which "
                           "profiles meet kinds otherwise",
                           "at most %.1e apart", far.end));
    return cv_figure_claim(
        result, far.turn <= 0.05, err,
        "served strictly in turn one slow worker blocks all",
        "drop 0.9, rounds of 5 s: %.3f instead of %.3f; at most %.3f from an independent "
        "simulation",
        scene->turns[TURNS - 1][2].in_stream, 0.9957, far.turn);
}

static enum cleave_status make(const struct cv_figure_job *job,
                               struct cv_figure_result *result, struct cleave_error *err)
{
    static const char *const columns[2 * ALL_PERIODS] = {
        "tau 1",     "2",         "5",          "10",         "20",       "50",
        "100",       "200",       "stream 1",   "stream 2",   "stream 5", "stream 10",
        "stream 20", "stream 50", "stream 100", "stream 200",
    };
    struct scene *scene = cv_array(&result->arena, 1, sizeof *scene);
    struct cv_scene_run *list =
        cv_array(&result->arena, (size_t)(CURVES + TURNS) * PERIODS, sizeof *list);

    if (scene == NULL || list == NULL)
        return cv_fail_memory(err, "a figure");
    result->label = "stream";
    result->columns = columns;
    result->ncolumns = sizeof columns / sizeof *columns;
    result->nshown = ALL_PERIODS;
    result->note = "Part of the time up to the last result that CPUs compute, by the "
                   "period in seconds; for rows in turn, and in the CSV file for all, "
                   "during the stream.";
    set_up(scene, job->quick);
    CV_TRY(cv_scene_runs(job, list, gather(scene, list, false), err));
    gather(scene, list, true);
    CV_TRY(fill(scene, result, err));
    CV_TRY(draw(scene, result, err));
    return judge(scene, job->quick, result, err);
}

const struct cv_figure cv_figure_streams_dynamicity = {
    .title = "CPU efficiency of a stream against the length of rounds when speeds change",
    .source = "Millot and Parrot, Setting up clusters for several data streams, Figure 6",
    .says =
        "The higher the dynamicity, the shorter rounds should be; latencies still ask "
        "for long ones.",
    .make = make,
};
