/* elastic_speeds.c -- how fast workers are whose chunks stay open. SPDX-License-Identifier: MIT */
#include <math.h>

#include "policy/pull/elastic_costs.h"

/* Work is at least this part of what a chunk took after its end was read. */
static const double LEAST_WORK = 0.005;
/* Part of the work below which a pace of reading says nothing about it. */
static const double SLIGHT = 0.02;
/* A test of fewer sips than that may be off by such a factor. */
static const double FEW_SIPS = 8, OFF = 2;
/* Workers whose speeds differ by so much are not alike. */
static const double DIFFERENT = 3;

bool cv_elastic_pace_tells(const struct cv_elastic *elastic)
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
                         cv_elastic_pace_tells(elastic) && !(hand->done > 0);

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

void cv_elastic_pool_speeds(struct cv_elastic *elastic)
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
