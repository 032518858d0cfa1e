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

enum cleave_status cv_slow_stream_look(struct cv_slow_stream *slow,
                                       struct cv_poller *poller,
                                       const struct cv_incoming *input, bool *out,
                                       struct cleave_error *err)
{
    const double now_s = cv_clock_s();
    const double ready = (double)input->ready;
    const double longest_s = ready < input->speed_ups * input->start_s ? CHEAP_S
                             : input->idle                             ? 0
                                           : LONGEST_S / input->workers;

    if (!(slow->since_s > 0))
        slow->since_s = now_s;
    *out = ready > 0 &&
           (ready >= (double)input->wanted || ready >= (double)MUCH / input->workers ||
            now_s >= slow->since_s + longest_s);
    if (*out || !(ready > 0)) {
        slow->since_s = 0;
        return CLEAVE_OK;
    }
    return cv_poller_set(poller, &slow->timer, slow->since_s + longest_s, woken, slow,
                         err);
}

uint64_t cv_slow_stream_part(const struct cv_incoming *input)
{
    const double ready = (double)input->ready;
    const double part =
        fmax(ready / input->workers, input->speed_ups * fmax(input->start_s, LITTLE_S));

    return part < 1 ? 1 : part < ready ? (uint64_t)part : input->ready;
}

enum cleave_status cv_slow_stream_wake(struct cv_slow_stream *slow,
                                       struct cv_poller *poller, double time_s,
                                       struct cleave_error *err)
{
    if (slow->look_s > cv_clock_s() && slow->look_s <= time_s)
        return CLEAVE_OK;
    slow->look_s = time_s;
    return cv_poller_set(poller, &slow->looks, time_s, woken, slow, err);
}

/* --- what commands have in hand ------------------------------------------------------------- */

static void learn(struct cv_slow_stream *slow, double bytes, double work_s)
{
    if (slow->work_s > MEMORY_S) {
        slow->bytes /= 2;
        slow->work_s /= 2;
    }
    slow->bytes += bytes;
    slow->work_s += work_s;
}

void cv_unread_input_give(struct cv_unread_input *unread, uint64_t bytes, double now_s)
{
    unread->given = (double)bytes;
    unread->given_s = now_s;
}

/* What it reads late was given while it worked on what it had; of more than it reads at once, all but the last
 * is work that is done. */
void cv_unread_input_read(struct cv_unread_input *unread, struct cv_slow_stream *slow,
                          double now_s)
{
    const double last = fmin(unread->given, GULP);
    const bool late = now_s - unread->given_s > AT_ONCE_S;

    if (!(unread->given > 0))
        return;
    if (unread->since_s > 0 && unread->given > GULP)
        learn(slow, unread->given - last, now_s - unread->given_s);
    else if (unread->since_s > 0 && late)
        learn(slow, unread->bytes, now_s - unread->since_s);
    *unread = (struct cv_unread_input){ .bytes = last, .since_s = now_s };
}

void cv_unread_input_end(struct cv_unread_input *unread, struct cv_slow_stream *slow,
                         double read_s, double now_s)
{
    if (!(read_s > 0))
        return;
    cv_unread_input_read(unread, slow, read_s);
    if (unread->since_s > 0 && now_s - read_s > AT_ONCE_S)
        learn(slow, unread->bytes, now_s - unread->since_s);
}

double cv_unread_input_rest(const struct cv_unread_input *unread,
                            const struct cv_slow_stream *slow, double now_s)
{
    if (!(slow->bytes > 0) || !(unread->since_s > 0))
        return 0;
    return fmax(0,
                unread->bytes * slow->work_s / slow->bytes - (now_s - unread->since_s));
}
