/* figure_umr_fig4.c -- XMI over UMR against the ratio of computing to communication.
 * SPDX-License-Identifier: MIT
 *
 * Yang and Casanova, multi-round algorithms, Figure 4: mean makespan of XMI with 1 to 4
 * rounds over that of UMR for each R, over all other settings of Table 2. Odd R belong
 * to odd N and even R to even N, so neighbours are taken together: alone they would
 * zigzag. */
#include <math.h>

#include "figures/common/figure_plot.h"
#include "figures/umr/figure_umr_grid.h"

enum { XMIS = 4, PAIRS = (CV_GRID_MOST_R - CV_GRID_LEAST_R + 1) / 2 };
enum { SETTINGS = XMIS, COLUMNS };

struct curves {
    double over[PAIRS][XMIS]; /* mean makespan over UMR's */
    double settings[PAIRS];
};

static void sum_up(const struct cv_grid *grid, struct curves *curves)
{
    for (size_t i = 0; i < grid->count; i++) {
        const int pair = ((int)grid->settings[i].ratio - CV_GRID_LEAST_R) / 2;

        curves->settings[pair]++;
        for (int x = 0; x < XMIS; x++)
            curves->over[pair][x] += grid->times[i].of[x + 1] / grid->times[i].of[0];
    }
    for (int p = 0; p < PAIRS; p++)
        for (int x = 0; x < XMIS; x++)
            curves->over[p][x] /= curves->settings[p];
}

static int pair_of(int ratio)
{
    return (ratio - CV_GRID_LEAST_R) / 2;
}

/* The most that a curve goes against its trend from R = 9 on, where `sign` is 1 for a
 * curve that should rise. Below, N = 5 is alone; R = 5 is R = N, where UMR is weak. */
static double against(const struct curves *curves, int x, int sign)
{
    const int first = pair_of(9);
    double max = 0, far = curves->over[first][x];

    for (int p = first + 1; p < PAIRS; p++) {
        max = fmax(max, sign * (far - curves->over[p][x]));
        far = sign * curves->over[p][x] > sign * far ? curves->over[p][x] : far;
    }
    return max;
}

static int lowest(const struct curves *curves, int x)
{
    int best = 0;

    for (int p = 1; p < PAIRS; p++)
        if (curves->over[p][x] < curves->over[best][x])
            best = p;
    return CV_GRID_LEAST_R + 2 * best;
}

static enum cleave_status judge_trends(const struct curves *curves, double noise,
                                       struct cv_figure_result *result,
                                       struct cleave_error *err)
{
    const double *ten = curves->over[pair_of(10)], *last = curves->over[PAIRS - 1];
    const double *seven = curves->over[pair_of(7)];
    const int turn = lowest(curves, 1);

    CV_TRY(cv_figure_claim(
        result, ten[2] < fmin(fmin(ten[0], ten[1]), 1) && ten[3] < fmin(ten[0], ten[1]),
        err,
        "near R = 10 XMI with 3 and 4 rounds is better than with 1 and 2, and than UMR",
        "R 9-10: %.3f %.3f %.3f %.3f of UMR's time with 1 to 4 rounds; at R 7-8 %.3f "
        "%.3f %.3f %.3f",
        ten[0], ten[1], ten[2], ten[3], seven[0], seven[1], seven[2], seven[3]));
    CV_TRY(cv_figure_claim(result, against(curves, 0, -1) < noise && last[0] < ten[0],
                           err, "XMI with 1 round gets better as R grows",
                           "from %.3f at R 9-10 to %.3f at R 79-80", ten[0], last[0]));
    CV_TRY(cv_figure_claim(
        result, turn >= 7 && turn <= 16 && last[1] > curves->over[pair_of(turn)][1], err,
        "XMI with 2 rounds first gets better, then worse after R = 12",
        "least, %.3f, at R %d-%d; %.3f at R 15-16, %.3f at R 79-80",
        curves->over[pair_of(turn)][1], turn, turn + 1, curves->over[pair_of(15)][1],
        last[1]));
    return cv_figure_claim(result,
                           against(curves, 2, 1) < noise &&
                               against(curves, 3, 1) < noise && last[2] > ten[2] &&
                               last[3] > ten[3],
                           err, "XMI with 3 and 4 rounds gets worse as R grows",
                           "from %.2f and %.2f at R 9-10 to %.2f and %.2f at R 79-80",
                           ten[2], ten[3], last[2], last[3]);
}

static enum cleave_status judge(const struct curves *curves, bool quick,
                                const struct cv_grid_penalty *penalty,
                                struct cv_figure_result *result, struct cleave_error *err)
{
    double max = 0;
    int where = 0;

    for (int p = 0; p < PAIRS; p++)
        for (int x = 0; x < XMIS; x++)
            if (1 / curves->over[p][x] - 1 > max) {
                max = 1 / curves->over[p][x] - 1;
                where = CV_GRID_LEAST_R + 2 * p;
            }
    CV_TRY(judge_trends(curves, quick ? 0.5 : 0.02, result, err));
    CV_TRY(cv_figure_claim(result, max < 0.1, err,
                           "over all R, UMR is the best or close to it",
                           "at most %.1f %% longer than the best XMI, at R %d-%d",
                           100 * max, where, where + 1));
    return cv_figure_claim(
        result, fabs(penalty->mean - 1.6) < 0.1, err,
        "without latencies and with the same 1 to 8 rounds UMR takes 1.6 % longer",
        "%.2f %% on average, %.1f %% at most; %.2f %% with 2 rounds, %.2f %% with 8: the "
        "uniform rounds cost less than printed",
        penalty->mean, penalty->max, penalty->of[1], penalty->of[7]);
}

static enum cleave_status draw(const struct curves *curves,
                               struct cv_figure_result *result, struct cleave_error *err)
{
    static const char *const names[XMIS] = { "XMI, 1 round", "XMI, 2 rounds",
                                             "XMI, 3 rounds", "XMI, 4 rounds" };
    struct cv_figure_plot *plot;

    CV_TRY(cv_plot_add(result,
                       &(struct cv_figure_plot){ .x_label = "R = bandwidth over speed",
                                                 .y_label = "mean makespan over UMR's" },
                       &plot, err));
    for (int x = 0; x < XMIS; x++) {
        struct cv_figure_series *series;

        CV_TRY(cv_plot_series(result, plot, names[x], PAIRS, false, &series, err));
        for (int p = 0; p < PAIRS; p++) {
            series->x[p] = CV_GRID_LEAST_R + 2 * p + 0.5;
            series->y[p] = curves->over[p][x];
        }
    }
    return CLEAVE_OK;
}

static enum cleave_status make(const struct cv_figure_job *job,
                               struct cv_figure_result *result, struct cleave_error *err)
{
    static const char *const columns[COLUMNS] = { "xmi, 1 round", "2 rounds", "3 rounds",
                                                  "4 rounds", "settings" };
    struct cv_grid grid = { .xmis = XMIS };
    struct curves curves = { .settings = { 0 } };
    struct cv_grid_penalty penalty;

    result->label = "R";
    result->columns = columns;
    result->ncolumns = COLUMNS;
    result->note = "Mean makespan over that of UMR, by pairs of R: odd R have odd N.";
    CV_TRY(cv_grid_run(job, &grid, &result->arena, err));
    CV_TRY(cv_grid_no_latency(&result->arena, &penalty, err));
    sum_up(&grid, &curves);
    for (int p = 0; p < PAIRS; p++) {
        const int ratio = CV_GRID_LEAST_R + 2 * p;
        double *values = p % 4 == 0 || p < 6 || p == PAIRS - 1
                             ? cv_figure_row(result, "%d-%d", ratio, ratio + 1)
                             : cv_figure_file_row(result, "%d-%d", ratio, ratio + 1);

        if (values == NULL)
            return cv_fail_memory(err, "a figure");
        for (int x = 0; x < XMIS; x++)
            values[x] = curves.over[p][x];
        values[SETTINGS] = curves.settings[p];
    }
    CV_TRY(judge(&curves, job->quick, &penalty, result, err));
    return draw(&curves, result, err);
}

const struct cv_figure cv_figure_umr_fig4 = {
    .title = "XMI with 1 to 4 rounds over UMR, against bandwidth over speed",
    .source = "Yang and Casanova, Multi-round algorithms, Figure 4 and section 6.1.3",
    .says = "More rounds of XMI are better at low R, fewer at high R; UMR is the best or "
            "close to it for every R. Without latencies UMR is within 1.6 % of XMI.",
    .make = make,
};
