/* slow_stream.c -- who is given what has come of a stream. SPDX-License-Identifier: MIT */
#include "run/common/slow_stream.h"

#include <math.h>

/* Of all workers together: with many of them there are cores to start commands on. */
static const double LONGEST_S = 0.01;
/* What is less work than a start waits for so long: that is ten starts in a second, and nobody sees it. */
static const double CHEAP_S = 0.1;
enum { MUCH = 16 << 20 };
/* What is done in this time is not divided. */
static const double LITTLE_S = 0.02;
/* Who reads what it is given in this time had nothing else to do. */
static const double AT_ONCE_S = 0.005;
/* A command works on no more than it reads at once. */
static const double GULP = 4096;
/* What was seen in more than so many seconds of work is half forgotten. */
static const double MEMORY_S = 10;

/* Only to wake up: whoever waits looks by himself. */
static void woken(void *context)
{
    (void)context;
}

enum cleave_status cv_slow_stream_look(struct cv_slow_stream *trickle,
                                       struct cv_poller *poller,
                                       const struct cv_incoming *supply, bool *out,
                                       struct cleave_error *err)
{
    const double now_s = cv_clock_s();
    const double ready = (double)supply->ready;
    const double longest_s = ready < supply->speed_ups * supply->start_s ? CHEAP_S
                             : supply->idle                              ? 0
                                            : LONGEST_S / supply->workers;

    if (!(trickle->since_s > 0))
        trickle->since_s = now_s;
    *out = ready > 0 &&
           (ready >= (double)supply->wanted || ready >= (double)MUCH / supply->workers ||
            now_s >= trickle->since_s + longest_s);
    if (*out || !(ready > 0)) {
        trickle->since_s = 0;
        return CLEAVE_OK;
    }
    return cv_poller_set(poller, &trickle->timer, trickle->since_s + longest_s, woken,
                         trickle, err);
}

uint64_t cv_slow_stream_part(const struct cv_incoming *supply)
{
    const double ready = (double)supply->ready;
    const double part = fmax(ready / supply->workers,
                             supply->speed_ups * fmax(supply->start_s, LITTLE_S));

    return part < 1 ? 1 : part < ready ? (uint64_t)part : supply->ready;
}

enum cleave_status cv_slow_stream_wake(struct cv_slow_stream *trickle,
                                       struct cv_poller *poller, double time_s,
                                       struct cleave_error *err)
{
    if (trickle->look_s > cv_clock_s() && trickle->look_s <= time_s)
        return CLEAVE_OK;
    trickle->look_s = time_s;
    return cv_poller_set(poller, &trickle->looks, time_s, woken, trickle, err);
}

/* --- what commands have in hand ------------------------------------------------------------- */

static void learn(struct cv_slow_stream *trickle, double bytes, double work_s)
{
    if (trickle->work_s > MEMORY_S) {
        trickle->bytes /= 2;
        trickle->work_s /= 2;
    }
    trickle->bytes += bytes;
    trickle->work_s += work_s;
}

void cv_unread_input_give(struct cv_unread_input *hand, uint64_t bytes, double now_s)
{
    hand->given = (double)bytes;
    hand->given_s = now_s;
}

/* What it reads late was given while it worked on what it had; of more than it reads at once, all but the last
 * is work that is done. */
void cv_unread_input_read(struct cv_unread_input *hand, struct cv_slow_stream *trickle,
                          double now_s)
{
    const double last = fmin(hand->given, GULP);
    const bool late = now_s - hand->given_s > AT_ONCE_S;

    if (!(hand->given > 0))
        return;
    if (hand->since_s > 0 && hand->given > GULP)
        learn(trickle, hand->given - last, now_s - hand->given_s);
    else if (hand->since_s > 0 && late)
        learn(trickle, hand->bytes, now_s - hand->since_s);
    *hand = (struct cv_unread_input){ .bytes = last, .since_s = now_s };
}

void cv_unread_input_end(struct cv_unread_input *hand, struct cv_slow_stream *trickle,
                         double read_s, double now_s)
{
    if (!(read_s > 0))
        return;
    cv_unread_input_read(hand, trickle, read_s);
    if (hand->since_s > 0 && now_s - read_s > AT_ONCE_S)
        learn(trickle, hand->bytes, now_s - hand->since_s);
}

double cv_unread_input_rest(const struct cv_unread_input *hand,
                            const struct cv_slow_stream *trickle, double now_s)
{
    if (!(trickle->bytes > 0) || !(hand->since_s > 0))
        return 0;
    return fmax(0,
                hand->bytes * trickle->work_s / trickle->bytes - (now_s - hand->since_s));
}
