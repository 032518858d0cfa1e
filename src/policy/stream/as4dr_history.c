/* as4dr_history.c -- speeds that come back: find the period, foresee the work.
 * SPDX-License-Identifier: MIT
 *
 * The period is the lag of the highest autocorrelation of the cells, the shortest of
 * those nearly as high (multiples of a period are), placed between cells by the parabola
 * through its neighbours. It is looked for again after every LOOK_EVERY cells: with n
 * cells that costs n^2 / 2 multiplications. */
#include "policy/stream/as4dr_history.h"

#include <math.h>

enum { LOOK_EVERY = 16, LEAST_CELLS = 24, LEAST_LAG = 2 };

/* A correlation below this is no period; one above this part of the highest is as good. */
static const double LEAST_CORRELATION = 0.4, AS_GOOD = 0.9;

struct cv_as4dr_history *cv_as4dr_history_new(struct cv_arena *arena, uint32_t workers,
                                              double cell_s)
{
    struct cv_as4dr_history *history = cv_array(arena, workers, sizeof *history);

    for (uint32_t w = 0; history != NULL && w < workers; w++) {
        history[w].cell_s = cell_s;
        history[w].newest = history[w].looked_at = -1;
    }
    return history;
}

static float *cell_of(struct cv_as4dr_history *history, int64_t number)
{
    return &history->speed[number % CV_HISTORY_CELLS];
}

/* Deviations from the mean, the newest last; returns how many, 0 if speeds never change. */
static int deviations(const struct cv_as4dr_history *history, float *out)
{
    const int n = (int)(history->newest + 1 < CV_HISTORY_CELLS ? history->newest + 1
                                                               : CV_HISTORY_CELLS);
    float last = 0;
    double sum = 0, squares = 0;

    for (int i = 0; i < n; i++) {
        const float speed =
            history->speed[(history->newest - n + 1 + i) % CV_HISTORY_CELLS];

        last = speed > 0 ? speed : last;
        out[i] = last;
        sum += last;
    }
    for (int i = 0; i < n; i++) {
        out[i] -= (float)(sum / n);
        squares += (double)out[i] * out[i];
    }
    return squares > 1e-6 * sum * sum / n ? n : 0;
}

static double product_at(const float *cells, int n, int lag)
{
    float sum = 0;

    for (int i = lag; i < n; i++)
        sum += cells[i] * cells[i - lag];
    return (double)sum / (n - lag);
}

static void look_for_period(struct cv_as4dr_history *history)
{
    double product[CV_HISTORY_CELLS];
    float cells[CV_HISTORY_CELLS];
    const int n = deviations(history, cells), max = n * 2 / 3;
    const double variance = n >= LEAST_CELLS ? product_at(cells, n, 0) : 0;
    double highest = 0;

    history->period_s = 0;
    if (n < LEAST_CELLS)
        return;
    for (int lag = LEAST_LAG - 1; lag <= max; lag++)
        product[lag] = product_at(cells, n, lag);
    for (int lag = LEAST_LAG; lag < max; lag++)
        if (product[lag] >= product[lag - 1] && product[lag] >= product[lag + 1])
            highest = fmax(highest, product[lag]);
    if (highest < LEAST_CORRELATION * variance)
        return;
    for (int lag = LEAST_LAG; lag < max; lag++) {
        const double before = product[lag - 1], at = product[lag],
                     after = product[lag + 1];
        const double bend = before - 2 * at + after;

        if (at < before || at < after || at < AS_GOOD * highest)
            continue;
        history->period_s =
            history->cell_s * (lag + (bend < 0 ? (before - after) / (2 * bend) : 0));
        return;
    }
}

void cv_as4dr_history_add(struct cv_as4dr_history *history, double begin_s, double end_s,
                          double speed_ups)
{
    /* Cells whose middle lies within; a long computation fills them all. */
    const int64_t last = (int64_t)floor(end_s / history->cell_s - 0.5);
    int64_t first = (int64_t)ceil(begin_s / history->cell_s - 0.5);

    if (last < 0 || last <= history->newest)
        return;
    if (first <= history->newest)
        first = history->newest + 1;
    if (last - history->newest > CV_HISTORY_CELLS)
        history->newest = last - CV_HISTORY_CELLS;
    while (history->newest < last) {
        history->newest++;
        *cell_of(history, history->newest) =
            history->newest >= first ? (float)speed_ups : 0;
    }
    if (history->newest - history->looked_at >= LOOK_EVERY) {
        history->looked_at = history->newest;
        look_for_period(history);
    }
}

/* The speed as many periods before `time_s` as it takes to be in the past. */
static double speed_before(const struct cv_as4dr_history *history, double time_s,
                           double otherwise)
{
    const double known_s = ((double)history->newest + 1) * history->cell_s;
    const double periods = ceil((time_s - known_s) / history->period_s);
    const double past_s = time_s - fmax(periods, 1) * history->period_s;
    int64_t cell = (int64_t)floor(past_s / history->cell_s);
    double speed;

    if (cell > history->newest)
        cell = history->newest;
    if (cell < 0 || cell <= history->newest - CV_HISTORY_CELLS)
        return otherwise;
    speed = history->speed[cell % CV_HISTORY_CELLS];
    return speed > 0 ? speed : otherwise;
}

double cv_as4dr_history_work(const struct cv_as4dr_history *history, double begin_s,
                             double end_s, double speed_ups)
{
    const double cell_s = history->cell_s;
    double work = 0, from_s = begin_s;

    if (!(history->period_s > 0) || end_s - begin_s > CV_HISTORY_CELLS * cell_s)
        return speed_ups * (end_s - begin_s);
    while (from_s < end_s) {
        /* Half cells: the period need not be a whole number of them. */
        const double to_s = fmin(end_s, from_s + cell_s / 2);

        work += speed_before(history, from_s + (to_s - from_s) / 2, speed_ups) *
                (to_s - from_s);
        from_s = to_s;
    }
    return work;
}
