/* elastic_costs.c -- what is known of workers whose chunks stay open.
 * SPDX-License-Identifier: MIT */
#include "policy/pull/elastic.h"

#include <math.h>
#include "policy/pull/fold_charge.h"

/* --- how fast workers are whose chunks stay open ----------------------------------- */

/* Work is at least this part of what a chunk took after its end was read. */
static const double LEAST_WORK = 0.005;
/* Part of the work below which a pace of reading says nothing about it. */
static const double SLIGHT = 0.02;
/* A test of fewer sips than that may be off by such a factor. */
static const double FEW_SIPS = 8, OFF = 2;
/* Workers whose speeds differ by so much are not alike. */
static const double DIFFERENT = 3;

/* How fast a command reads says how fast it works. */
static bool elastic_pace_tells(const struct cv_elastic *elastic)
{
    return elastic->phi > SLIGHT;
}

/* What the chunk that was done last took after its end without a start, if that was longer by
 * `more_s`. */
static double work_after(const struct cv_elastic *elastic,
                         const struct cv_worker_estimate *hand, double more_s)
{
    const double work_s = hand->after_s - (elastic->lined ? elastic->late_s : 0) + more_s;

    return fmax(work_s, LEAST_WORK * hand->after_s);
}

/* By so much that may be off: of a start and a little work nobody knows which it was. */
static double doubt_of(const struct cv_elastic *elastic,
                       const struct cv_worker_estimate *hand)
{
    return elastic->lined ? 2 * elastic->varies * hand->after_s : 0;
}

/* Of that chunk, if it took `more_s` longer. */
static double speed_if(const struct cv_elastic *elastic,
                       const struct cv_worker_estimate *hand, double more_s)
{
    return hand->done /
           fmax(hand->took_s - hand->after_s + work_after(elastic, hand, more_s), 1e-12);
}

/* Of the chunk that was done last: that of all, as far as that can be. Where next to all of its
 * time was a start, it could be faster: as others are. */
static double done_speed(const struct cv_elastic *elastic,
                         const struct cv_worker_estimate *hand)
{
    const double doubt_s = doubt_of(elastic, hand);
    double speed_ups;

    if (!(hand->done > 0))
        return 0;
    speed_ups = speed_if(elastic, hand, 0);
    if (doubt_s > 0)
        speed_ups = fmin(fmax(elastic->pooled_ups, speed_if(elastic, hand, doubt_s)),
                         speed_if(elastic, hand, -doubt_s));
    return hand->after_s - (elastic->lined ? elastic->late_s : 0) <
                   LEAST_WORK * hand->after_s
               ? fmax(speed_ups, elastic->sure_ups)
               : speed_ups;
}

/* Its last chunk was more than a start, even if starts are as long as they may be. */
static bool is_sure(const struct cv_elastic *elastic,
                    const struct cv_worker_estimate *hand)
{
    const double work_s = hand->after_s - elastic->late_s;

    return !elastic->lined ||
           (work_s >= fmax(LEAST_WORK * hand->after_s, doubt_of(elastic, hand)) &&
            hand->after_s - elastic->late_most_s >= work_s / 2);
}

/* All chunks that were done last, together. */
static void pool_last(struct cv_elastic *elastic)
{
    double done = 0, time_s = 0;

    for (uint32_t w = 0; w < elastic->n; w++) {
        const struct cv_worker_estimate *hand = &elastic->hands[w];

        if (!(hand->done > 0))
            continue;
        done += hand->done;
        time_s += hand->took_s - hand->after_s + work_after(elastic, hand, 0);
    }
    elastic->pooled_ups = done > 0 ? done / fmax(time_s, 1e-12) : 0;
}

/* As it was seen, of however little. */
static double shown_speed(const struct cv_elastic *elastic,
                          const struct cv_worker_estimate *hand)
{
    /* What a chunk took says more than how fast it was read. */
    const bool guessed = elastic->kind == CV_COMMAND_SLURPS && hand->own &&
                         elastic_pace_tells(elastic) && !(hand->done > 0);

    if (hand->pace_ups >= 0 && (elastic->kind == CV_COMMAND_STREAMS || guessed))
        return hand->pace_ups * elastic->phi;
    return done_speed(elastic, hand);
}

/* All that is known is a test of a few sips, which are a few records: others may be longer, or take less time
 * each. */
static bool is_slight(const struct cv_elastic *elastic,
                      const struct cv_worker_estimate *hand)
{
    return elastic->kind == CV_COMMAND_STREAMS && !(hand->read > 0) &&
           hand->done < FEW_SIPS * elastic->small_write;
}

/* As fast as all the others, if these are alike, as far as that can be. */
double cv_elastic_own_speed(const struct cv_elastic *elastic, uint32_t worker)
{
    const struct cv_worker_estimate *hand = &elastic->hands[worker];
    const double speed_ups = shown_speed(elastic, hand);

    if (!(speed_ups > 0) || !(elastic->shown_ups > 0) || !is_slight(elastic, hand))
        return speed_ups;
    return fmin(fmax(elastic->shown_ups, speed_ups / OFF), speed_ups * OFF);
}

/* What was seen of those of whom more is known, if they are alike. */
static void pool_shown(struct cv_elastic *elastic)
{
    double sum_ups = 0, slow_ups = INFINITY, fast_ups = 0;
    uint32_t count = 0;

    for (uint32_t w = 0; w < elastic->n; w++) {
        const double speed_ups = shown_speed(elastic, &elastic->hands[w]);

        if (!(speed_ups > 0) || is_slight(elastic, &elastic->hands[w]))
            continue;
        slow_ups = fmin(slow_ups, speed_ups);
        fast_ups = fmax(fast_ups, speed_ups);
        sum_ups += speed_ups;
        count++;
    }
    elastic->shown_ups =
        count > 0 && fast_ups <= DIFFERENT * slow_ups ? sum_ups / count : 0;
}

/* Parts of that: speeds; and do starts vary far less if it is taken out that slow workers are slow to start? */
static void elastic_pool_speeds(struct cv_elastic *elastic)
{
    double sum = 0, sure_sum = 0, priors = 0, slow_ups = INFINITY, fast_ups = 0;
    uint32_t count = 0, sure = 0;

    elastic->sure_ups = 0;
    pool_last(elastic);
    pool_shown(elastic);
    for (uint32_t w = 0; w < elastic->n; w++) {
        const double speed_ups = cv_elastic_own_speed(elastic, w);

        elastic->hands[w].sure = speed_ups > 0 && is_sure(elastic, &elastic->hands[w]);
        if (elastic->hands[w].sure) {
            slow_ups = fmin(slow_ups, speed_ups);
            fast_ups = fmax(fast_ups, speed_ups);
            sure_sum += speed_ups;
            sure++;
        }
        if (speed_ups > 0) {
            sum += speed_ups;
            priors += elastic->hands[w].prior;
            count++;
        }
    }
    elastic->mean_ups = count > 0 ? sum / count : 0;
    elastic->scale_ups = count > 0 ? sum / priors : 0;
    elastic->sure_ups = sure > 0 ? sure_sum / sure : 0;
    elastic->apart = fast_ups > DIFFERENT * slow_ups;
}

double cv_elastic_speed(const struct cv_elastic *elastic, uint32_t worker)
{
    const struct cv_worker_estimate *hand = &elastic->hands[worker];
    const double own_ups = cv_elastic_own_speed(elastic, worker);

    if (own_ups > 0)
        return own_ups;
    if (hand->done > 0)
        return done_speed(elastic, hand);
    /* It has been looked at, and did not read. */
    if (elastic->kind == CV_COMMAND_STREAMS && hand->pace_ups >= 0)
        return 0;
    return elastic->scale_ups * hand->prior;
}

/* --- do those that are slow take longer to start? ---------------------------------- */

/* A machine that is slow is so when a command starts, too. Then starts differ from worker to worker, and
 * that of one worker does not vary: what its last one took is what its next one takes. */

/* Starts that vary by such a part differ much; such a part of that is far less. */
static const double MUCH = 0.2, FAR_LESS = 0.25;

static void elastic_pool_slow_starts(struct cv_elastic *elastic)
{
    const double vary = elastic->usual_start_s - elastic->mean_start_s;
    double sum = 0, apart = 0;
    uint32_t count = 0;

    elastic->start_varies = -1;
    if (!elastic->apart || !(vary > MUCH * elastic->mean_start_s))
        return;
    for (uint32_t w = 0; w < elastic->n; w++)
        if (elastic->hands[w].start_s >= 0 && cv_elastic_own_speed(elastic, w) > 0) {
            sum += elastic->hands[w].start_s * cv_elastic_own_speed(elastic, w);
            count++;
        }
    for (uint32_t w = 0; count > 2 && w < elastic->n; w++)
        if (elastic->hands[w].start_s >= 0 && cv_elastic_own_speed(elastic, w) > 0)
            apart += fabs(elastic->hands[w].start_s * cv_elastic_own_speed(elastic, w) -
                          sum / count);
    if (count > 2 && apart / sum < FAR_LESS * vary / elastic->mean_start_s)
        elastic->start_varies = apart / sum;
}

double cv_elastic_usual_start(const struct cv_elastic *elastic, uint32_t worker)
{
    const double own_s = elastic->hands[worker].start_s;

    return own_s >= 0 && elastic->start_varies >= 0 ? own_s * (1 + elastic->start_varies)
                                                    : elastic->usual_start_s;
}

/* --- what is known of workers whose chunks stay open ------------------------------- */

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
    elastic_pool_speeds(elastic);
    pool_starts(elastic);
    elastic_pool_slow_starts(elastic);
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
        if (post->units >= APART * small->units && !elastic_pace_tells(elastic) &&
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

/* --- how fast a command reads ------------------------------------------------------ */

/* Simulated commands read evenly: what was read since the last look, by the time, is the pace. A
 * real one takes what its pipe holds, and reads nothing while it works on that; how long that
 * may take, the view says. Two looks tell the pace only within bounds then, and it is thought to
 * be what it was, or that of all, as far as these allow. Who does not move at all is taken for
 * slow little by little: to take its work over costs a start. */

/* A pipe is narrow until so many windows have been read. */
static const double NARROW = 4;
/* A sample of so many times what is read at once is as good as any. */
static const double STEADY = 8;
/* So many sips are as many as a test has. */
static const double TELLING = 4;
/* That somebody stands still is believed after such a part of a start. */
static const double STILL = 0.25;

/* Read evenly, so many units since the last sample. False: that says nothing. */
static bool even(const struct cv_decision *turn, struct cv_worker_estimate *hand,
                 double units)
{
    const double ahead = turn->view->ahead, since_s = turn->now_s - hand->from_s;

    if (hand->from_s >= 0) {
        if (!(since_s > CV_SAMPLE_S) || !(units > ahead || hand->pace_ups < 0 ||
                                          since_s * hand->pace_ups > 4 * ahead))
            return false;
        hand->pace_ups = units / since_s;
    }
    hand->from_s = turn->now_s;
    hand->from = hand->read;
    return hand->pace_ups >= 0;
}

/* As it was thought to be, unless that cannot be. */
static double bounded(const struct cv_decision *turn,
                      const struct cv_worker_estimate *hand, double thought_ups,
                      double units, double since_s)
{
    const double burst_s = turn->view->burst_s, narrow = 2 * turn->view->ahead;

    if (hand->read < NARROW * turn->view->ahead)
        return fmin(fmax(thought_ups, (units - narrow) / since_s),
                    (units + narrow) / since_s);
    return fmin(fmax(thought_ups, units / (since_s + burst_s)),
                since_s > burst_s ? units / (since_s - burst_s) : INFINITY);
}

/* Of what was read until it last moved. */
static void learn_pace(const struct cv_decision *turn, struct cv_worker_estimate *hand)
{
    const double units = hand->read - hand->from, since_s = hand->moved_s - hand->from_s;
    const double thought_ups =
        hand->moving_ups >= 0 ? hand->moving_ups : turn->elastic->scale_ups * hand->prior;
    /* What was seen of it is no less than what the test had: it counts for itself. */
    const bool first = cv_elastic_writes_small(turn->view) && hand->moving_ups < 0 &&
                       units >= TELLING * turn->view->ahead;
    const bool steady = since_s >= STEADY * turn->view->burst_s;

    if (!(since_s > CV_SAMPLE_S))
        return;
    hand->moving_ups = steady || first || !(thought_ups > 0)
                           ? units / since_s
                           : bounded(turn, hand, thought_ups, units, since_s);
    if (steady) {
        hand->from_s = hand->moved_s;
        hand->from = hand->read;
    }
}

/* Read in gulps; has it moved since the last look? False: that says nothing. */
static bool gulping(const struct cv_decision *turn, struct cv_worker_estimate *hand,
                    bool moved)
{
    const struct cv_elastic *elastic = turn->elastic;
    double patience_s = fmax(turn->view->burst_s, STILL * elastic->mean_start_s), still_s;

    if (hand->from_s < 0) {
        hand->from_s = hand->moved_s = turn->now_s;
        hand->from = hand->read;
        return false;
    }
    if (moved) {
        hand->moved_s = turn->now_s;
        learn_pace(turn, hand);
    }
    still_s = turn->now_s - hand->moved_s;
    if (cv_elastic_writes_small(turn->view) &&
        hand->moving_ups > 0) /* it works on what it has read at once */
        patience_s = fmax(patience_s, 2 * turn->view->ahead / hand->moving_ups);
    if (hand->moving_ups < 0 && still_s > patience_s)
        hand->moving_ups = elastic->scale_ups * hand->prior;
    if (hand->moving_ups < 0)
        return false;
    hand->pace_ups = hand->moving_ups * fmin(1, patience_s / fmax(still_s, 1e-9));
    return true;
}

void cv_decision_sample(const struct cv_decision *turn, uint32_t worker, double read)
{
    struct cv_worker_estimate *hand = &turn->elastic->hands[worker];
    const double since_s = turn->now_s - hand->from_s;
    const bool moved = read > hand->read;

    hand->read = read;
    hand->sampled_s = turn->now_s;
    if (turn->view->burst_s > 0 ? gulping(turn, hand, moved)
                                : even(turn, hand, read - hand->from))
        hand->own = hand->pace_ups < CV_OWN_PACE * cv_elastic_pipe(turn->view, worker) &&
                    cv_elastic_tells(turn->elastic, since_s, 1);
}

/* --- the part of its work that a command does while it reads ----------------------- */

/* How long it took until it had read its end, of all that it took, is that part, but for what it had in
 * its hands then. Of a chunk of few windows, or few records, that is much of it. */

/* So many windows tell; so many as well as any; of fewer, only a chunk of so many times as many tells
 * more. */
static const double READING_TELLING = 4, FINE = 16, FINER = 4;
/* Less than this is one window, which tells nothing. Who works as it reads has done such a part when it has
 * read the last of two. */
static const double LITTLE = 1.5, LEAST = 0.2;

/* Whether a window is a sip or a record, of which a command that reads in gulps may have two in its hands. */
static bool is_coarse(const struct cv_decision *turn, double windows)
{
    return turn->view->burst_s > 0 && windows >= LITTLE && windows < FINE &&
           (turn->elastic->record > 0 || cv_elastic_writes_small(turn->view));
}

/* The last window may have been read before it was worked on; or the last two. */
static double part_of(const struct cv_decision *turn, double windows, double read_s,
                      double after_s)
{
    const double part = read_s / fmax(read_s + after_s, 1e-12);
    const bool coarse = is_coarse(turn, windows);
    const double window = windows >= READING_TELLING || coarse ? 1 / windows : 0;

    if (coarse)
        return part >= fmax(0.5 - window, LEAST) ? fmax(0.5, fmin(1, part + 2 * window))
                                                 : part;
    return part + window / 2 >= 0.5 ? fmin(1, part + window) : part;
}

bool cv_reading_tells(const struct cv_decision *turn, double units, double read_s,
                      double after_s)
{
    struct cv_elastic *elastic = turn->elastic;
    const double ahead = fmax(turn->view->ahead, elastic->record);
    const double windows = ahead > 0 ? units / ahead : INFINITY;

    if (elastic->told &&
        !(elastic->told_windows < FINE && windows > FINER * elastic->told_windows))
        return false;
    elastic->told = elastic->told || windows >= READING_TELLING;
    elastic->told_windows = is_coarse(turn, windows) ? windows : INFINITY;
    elastic->phi = part_of(turn, windows, read_s, after_s);
    return true;
}

/* --- orders about open chunks, and the books kept of them -------------------------- */

static const double SOON_S = 1e-5;
/* One is looked at again after this part of its time. */
static const double AGAIN = 1.0 / 16;

/* A new command: what was learnt of its worker stays. */
static void renew(const struct cv_decision *turn, struct cv_worker_estimate *hand)
{
    *hand = (struct cv_worker_estimate){ .state = CV_PHASE_PRESTARTED,
                                         .begun_s = turn->now_s,
                                         .started_s = -1,
                                         .from_s = -1,
                                         .mate = CV_NOBODY,
                                         .prior = hand->prior,
                                         .prior_start_s = hand->prior_start_s,
                                         .start_s = hand->start_s,
                                         .pace_ups = hand->pace_ups,
                                         .moving_ups = hand->moving_ups,
                                         .done = hand->done,
                                         .took_s = hand->took_s,
                                         .after_s = hand->after_s,
                                         .small = hand->small,
                                         .large = hand->large,
                                         .lost = hand->lost,
                                         .sampled = hand->sampled,
                                         .sure = hand->sure,
                                         .own = hand->own };
}

void cv_decision_prestart(const struct cv_decision *turn, uint32_t worker)
{
    renew(turn, &turn->elastic->hands[worker]);
    cleave_order_open(turn->orders, worker, 0);
}

/* As much as there is and one may have. */
static double orders_bounded(const struct cv_decision *turn,
                             const struct cv_worker_estimate *hand, double units)
{
    const struct cv_elastic *elastic = turn->elastic;

    units = fmax(units, elastic->min);
    if (elastic->max > 0)
        units = fmin(units, elastic->max - hand->given);
    return fmin(units, turn->view->units_left);
}

void cv_decision_give(const struct cv_decision *turn, uint32_t worker, double units,
                      bool close)
{
    struct cv_worker_estimate *hand = &turn->elastic->hands[worker];
    const bool warm = hand->state == CV_PHASE_PRESTARTED;

    hand->given = 0;
    units = orders_bounded(turn, hand, units);
    if (!(units > 0))
        return;
    if (!warm)
        renew(turn, hand);
    hand->state = CV_PHASE_OPEN;
    hand->bound_s = turn->now_s;
    hand->given = hand->due = units;
    hand->sending = !warm;
    if (warm)
        cleave_order_extend(turn->orders, worker, units);
    else
        cleave_order_open(turn->orders, worker, units);
    if (close)
        cv_decision_close(turn, worker);
}

void cv_decision_extend(const struct cv_decision *turn, uint32_t worker, double units)
{
    struct cv_worker_estimate *hand = &turn->elastic->hands[worker];

    units = orders_bounded(turn, hand, units);
    if (hand->due > 0)
        return;
    if (!(units > 0)) {
        if (hand->drained)
            cv_decision_close(turn, worker);
        return;
    }
    hand->due = units;
    hand->given += units;
    cleave_order_extend(turn->orders, worker, units);
}

void cv_decision_close(const struct cv_decision *turn, uint32_t worker)
{
    struct cv_worker_estimate *hand = &turn->elastic->hands[worker];

    hand->state = CV_PHASE_CLOSED;
    hand->closed_s = turn->now_s;
    hand->held = false;
    cleave_order_close(turn->orders, worker);
}

void cv_decision_recall(const struct cv_decision *turn, uint32_t worker, double units)
{
    turn->elastic->hands[worker].recalling = true;
    turn->elastic->waits++;
    cleave_order_recall(turn->orders, worker, units);
}

void cv_decision_query(const struct cv_decision *turn, uint32_t worker)
{
    turn->elastic->hands[worker].looking = true;
    turn->elastic->hands[worker].looked_s = turn->now_s;
    turn->elastic->waits++;
    cleave_order_look(turn->orders, worker);
}

void cv_decision_wake(const struct cv_decision *turn, double time_s)
{
    uint32_t worker = 0;

    time_s = fmax(time_s, turn->now_s + SOON_S); /* what is asked for now comes later */
    if (turn->elastic->wake_s > turn->now_s && turn->elastic->wake_s <= time_s)
        return;
    /* Any worker would do; traces of 0.2 have one that takes part. */
    while (worker + 1 < turn->elastic->n &&
           (cv_hand_is_out(&turn->elastic->hands[worker]) ||
            turn->elastic->hands[worker].coming))
        worker++;
    turn->elastic->wake_s = time_s;
    cleave_order_wake(turn->orders, worker, time_s);
}

bool cv_decision_query_all(const struct cv_decision *turn)
{
    const struct cv_elastic *elastic = turn->elastic;
    bool any = false;

    for (uint32_t w = 0; w < elastic->n; w++) {
        const struct cv_worker_estimate *hand = &elastic->hands[w];
        const double since_s = turn->now_s - hand->sampled_s;

        if (hand->state != CV_PHASE_OPEN || hand->started_s < 0 || hand->drained ||
            hand->looking || !(since_s > CV_SAMPLE_S))
            continue;
        if (hand->pace_ups > 0 &&
            since_s < AGAIN * cv_elastic_rest(elastic, w, turn->now_s))
            continue;
        cv_decision_query(turn, w);
        any = true;
    }
    return any;
}
