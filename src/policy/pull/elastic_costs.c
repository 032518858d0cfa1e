/* elastic_costs.c -- what is known of workers whose chunks stay open.
 * SPDX-License-Identifier: MIT */
#include "policy/pull/elastic_costs.h"

#include <math.h>

#include "policy/pull/fold_charge.h"

/* Real pipes carry so many bytes a second at most. */
static const double PIPE_UPS = 1e9;
/* ... and that it holds at least, in real runs. */
static const double PAGE = 4096;
static const double GRAIN = 1e-9;
/* A unit takes at least this part of what it took with a start. */
static const double LEAST_SLOPE = 0.005;
/* Sizes that tell a start from work are so many times apart. */
static const double APART = 1.5;

bool cv_elastic_busy(const struct cv_elastic *elastic)
{
    for (uint32_t w = 0; w < elastic->n; w++)
        if (elastic->hands[w].state == CV_PHASE_OPEN ||
            elastic->hands[w].state == CV_PHASE_CLOSED)
            return true;
    return false;
}

double cv_elastic_pipe_capacity(const struct cleave_view *view)
{
    return view->real ? fmax(view->ahead, PAGE) : view->ahead;
}

double cv_elastic_min_units(const struct cleave_view *view)
{
    if (view->real)
        return 1;
    return isfinite(view->units_total) ? GRAIN * view->units_total : 0;
}

double cv_elastic_pipe(const struct cleave_view *view, uint32_t worker)
{
    const double declared = view->workers[worker].bandwidth_ups;

    return view->real ? fmin(declared, PIPE_UPS) : declared;
}

double cv_elastic_share(const struct cv_elastic *elastic, const struct cleave_view *view)
{
    const uint32_t n = elastic->present;

    if (isfinite(view->units_total))
        return view->units_total / n;
    return view->hold > 0 ? view->hold / (n + 1.0 + floor(n / 4.0)) : INFINITY;
}

double cv_elastic_share_s(const struct cv_elastic *elastic,
                          const struct cleave_view *view)
{
    return cv_elastic_share(elastic, view) / fmax(elastic->mean_ups, 1e-12);
}

/* --- starts ------------------------------------------------------------------------------- */

/* Before anybody has started: what starts took once. */
static void expect_starts(struct cv_elastic *elastic)
{
    double sum = 0;

    for (uint32_t w = 0; w < elastic->n; w++)
        sum += elastic->hands[w].prior_start_s;
    elastic->start_scale = sum > 0;
    elastic->mean_start_s = elastic->n > 0 ? sum / elastic->n : 0;
    elastic->usual_start_s = elastic->mean_start_s;
}

/* Start-ups: mean, and mean distance from it. */
static void pool_starts(struct cv_elastic *elastic)
{
    double sum = 0, priors = 0, apart = 0;
    uint32_t count = 0;

    for (uint32_t w = 0; w < elastic->n; w++)
        if (elastic->hands[w].start_s >= 0) {
            sum += elastic->hands[w].start_s;
            priors += elastic->hands[w].prior_start_s;
            count++;
        }
    if (count == 0) {
        expect_starts(elastic);
        return;
    }
    elastic->mean_start_s = sum / count;
    elastic->start_scale = priors > 0 ? sum / priors : 0;
    for (uint32_t w = 0; w < elastic->n; w++)
        if (elastic->hands[w].start_s >= 0)
            apart += fabs(elastic->hands[w].start_s - elastic->mean_start_s);
    elastic->usual_start_s = elastic->mean_start_s + apart / count;
}

void cv_elastic_pool(struct cv_elastic *elastic)
{
    cv_elastic_pool_speeds(elastic);
    pool_starts(elastic);
    cv_elastic_pool_slow_starts(elastic);
}

double cv_elastic_start(const struct cv_elastic *elastic, uint32_t worker)
{
    const double own_s = elastic->hands[worker].start_s;
    const double prior_s = elastic->hands[worker].prior_start_s;

    if (own_s >= 0)
        return own_s;
    return elastic->start_scale > 0 && prior_s > 0 ? elastic->start_scale * prior_s
                                                   : elastic->mean_start_s;
}

double cv_elastic_foreseen(const struct cv_elastic *elastic,
                           const struct cleave_view *view)
{
    if (!view->measured || !isfinite(view->units_left))
        return INFINITY;
    for (uint32_t w = 0; w < elastic->n; w++) {
        const struct cv_worker_estimate *hand = &elastic->hands[w];

        elastic->ready[w].in_s = cv_hand_is_out(hand) ? INFINITY : hand->prior_start_s;
        elastic->ready[w].speed_ups = hand->prior / CV_AS_MEASURED;
    }
    return cv_end_together(elastic->ready, elastic->n, view->units_left);
}

/* --- when --------------------------------------------------------------------------------- */

double cv_elastic_read(const struct cv_elastic *elastic, uint32_t worker, double now_s)
{
    const struct cv_worker_estimate *hand = &elastic->hands[worker];

    if (hand->drained) /* ... before it is given more */
        return hand->given - hand->due;
    if (hand->started_s < 0)
        return 0;
    return fmin(hand->given,
                hand->read + fmax(hand->pace_ups, 0) * fmax(0, now_s - hand->sampled_s));
}

double cv_elastic_ready_in(const struct cv_elastic *elastic, uint32_t worker,
                           double now_s)
{
    const struct cv_worker_estimate *hand = &elastic->hands[worker];
    const double start_s = cv_elastic_start(elastic, worker);

    return (hand->state == CV_PHASE_PRESTARTED
                ? fmax(0, start_s - (now_s - hand->begun_s))
                : start_s) +
           elastic->late_s;
}

double cv_elastic_rest(const struct cv_elastic *elastic, uint32_t worker, double now_s)
{
    const struct cv_worker_estimate *hand = &elastic->hands[worker];
    const double speed_ups = cv_elastic_speed(elastic, worker);
    const double read = cv_elastic_read(elastic, worker, now_s);

    if (hand->state == CV_PHASE_IDLE || hand->state == CV_PHASE_PRESTARTED)
        return 0;
    if (!(speed_ups > 0))
        return hand->state == CV_PHASE_CLOSED || read < hand->given ? INFINITY : 0;
    if (hand->started_s < 0)
        return fabs(cv_elastic_start(elastic, worker) - (now_s - hand->begun_s)) +
               elastic->late_s + hand->given / speed_ups;
    /* What is late takes as long again as it is late. */
    if (hand->state == CV_PHASE_CLOSED && (read >= hand->given || hand->pace_ups < 0))
        return fabs(elastic->late_s + hand->given / speed_ups -
                    (now_s - hand->started_s));
    return (hand->given - read) * elastic->phi / speed_ups + elastic->late_s +
           hand->given * (1 - elastic->phi) / speed_ups;
}

/* It is not to have anything: neither by itself nor through somebody who is given his part now. */
static bool is_kept(const struct cv_elastic *elastic,
                    const struct cv_worker_estimate *hand)
{
    return hand->spare &&
           (hand->mate == CV_NOBODY || (hand->mate != elastic->goes_on &&
                                        !cv_hand_is_free(&elastic->hands[hand->mate])));
}

double cv_elastic_end(struct cv_elastic *elastic, double units, double now_s)
{
    for (uint32_t w = 0; w < elastic->n; w++) {
        const struct cv_worker_estimate *hand = &elastic->hands[w];
        struct cv_ready *ready = &elastic->ready[w];

        ready->speed_ups = cv_elastic_speed(elastic, w);
        /* Who is not done with its first chunk is no faster than that. */
        if (elastic->lined && hand->state == CV_PHASE_CLOSED && !(hand->done > 0))
            ready->speed_ups =
                fmin(ready->speed_ups,
                     hand->given / fmax(now_s - hand->started_s - elastic->late_s, 1e-9));
        if (cv_hand_is_out(hand) || hand->late || is_kept(elastic, hand))
            ready->in_s = INFINITY;
        else if (hand->held)
            ready->in_s = elastic->late_s;
        else if (w == elastic->goes_on)
            ready->in_s = cv_elastic_rest(elastic, w, now_s);
        else if (cv_hand_is_free(hand))
            ready->in_s = cv_elastic_ready_in(elastic, w, now_s) + hand->doubt_s;
        else
            ready->in_s = cv_elastic_rest(elastic, w, now_s) +
                          cv_elastic_start(elastic, w) + elastic->late_s;
    }
    return cv_end_together(elastic->ready, elastic->n, units);
}

/* They are given something in this order: who is first is to be done first. */
double cv_elastic_end_apart(struct cv_elastic *elastic, const struct cleave_view *view,
                            double now_s)
{
    const double end_s = cv_elastic_end(elastic, view->units_left, now_s);

    if (!(elastic->fold_s > 0))
        return end_s;
    for (uint32_t w = 0; w < elastic->n; w++)
        elastic->ready[w].in_s += cv_fold_tail(view, elastic->fold_s, elastic->n - 1 - w);
    return cv_end_together(elastic->ready, elastic->n, view->units_left);
}

/* --- lines -------------------------------------------------------------------------------- */

/* Where the line through two sizes begins; below 0: they are too near. */
static double intercept(const struct cv_end_sample *small,
                        const struct cv_end_sample *large)
{
    double slope;

    if (!(large->units >= APART * small->units) || !(small->units > 0))
        return -1;
    slope = fmax((large->time_s - small->time_s) / (large->units - small->units),
                 LEAST_SLOPE * large->time_s / large->units);
    return fmax(0, fmin(small->time_s, large->time_s) - slope * small->units);
}

static void add_post(struct cv_worker_estimate *hand, double units, double time_s)
{
    const struct cv_end_sample post = { units, time_s };
    const bool alike =
        units < APART * hand->small.units && APART * units > hand->large.units;

    /* Of one size the newest counts; between two sizes, nothing is learnt. */
    if (!(hand->large.units > 0) || (alike && hand->small.units == hand->large.units))
        hand->small = hand->large = post;
    else if (units >= APART * hand->small.units)
        hand->large = post;
    else if (APART * units <= hand->large.units)
        hand->small = post;
}

/* No start after the end is longer than this times the shortest time that anybody took there: who
 * has become slower between two sizes looks as if starts were long. */
static const double LATE_SPREAD = 2;

/* A start after the end is the same for all, more or less: from workers that have done two
 * sizes; as long as there are none, from the smallest chunk and, of those far larger, the
 * one that was done first. */
static void find_line(struct cv_elastic *elastic)
{
    const struct cv_end_sample *small = NULL, *large = NULL;
    double sum = 0;
    uint32_t count = 0;

    for (uint32_t w = 0; w < elastic->n; w++) {
        const struct cv_worker_estimate *hand = &elastic->hands[w];
        const double own_s = intercept(&hand->small, &hand->large);

        if (own_s >= 0) {
            sum += own_s;
            count++;
        }
        if (hand->small.units > 0 && (small == NULL || hand->small.units < small->units))
            small = &hand->small;
    }
    for (uint32_t w = 0; count == 0 && small != NULL && w < elastic->n; w++) {
        const struct cv_end_sample *post = &elastic->hands[w].large;

        /* Far less time for more units is speed, no matter of starts. */
        if (post->units >= APART * small->units && !cv_elastic_pace_tells(elastic) &&
            post->time_s > 0.8 * small->time_s &&
            (large == NULL || post->time_s < large->time_s))
            large = post;
    }
    if (count == 0 && large == NULL)
        return;
    elastic->lined = true;
    elastic->late_s = count > 0 ? sum / count : intercept(small, large);
    elastic->late_s = fmin(elastic->late_s, LATE_SPREAD * elastic->least_after_s);
    elastic->late_most_s = count > 0 ? elastic->late_s : small->time_s;
}

void cv_elastic_learn(struct cv_elastic *elastic, uint32_t worker, double units,
                      double took_s, double after_s)
{
    struct cv_worker_estimate *hand = &elastic->hands[worker];

    if (!(units > 0) || !(took_s > 0))
        return;
    hand->done = units;
    hand->took_s = took_s;
    hand->after_s = after_s;
    elastic->least_after_s =
        elastic->least_after_s > 0 ? fmin(elastic->least_after_s, after_s) : after_s;
    if (elastic->kind == CV_COMMAND_SLURPS) {
        add_post(hand, units, after_s);
        find_line(elastic);
    }
}
