/* rate.c -- how much may start in any window of a given length. SPDX-License-Identifier: MIT */
#include "engine/rate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/arena.h"
#include "base/fail.h"
#include "base/quantity.h"

/* Rounding error of sums of weights, relative to the amount. */
static const double SLACK = 1e-9;
/* Part of the amount that comes back in each period. */
static const double STEP = 0.1;

bool cv_rate_parse(const char *text, struct cleave_rate *out)
{
    const char *period = strchr(text, '/');
    char *end = NULL, each[32];

    out->amount = strtod(text, &end);
    out->by_weight = *end == 'w';
    if (text[0] < '0' || text[0] > '9' || period == NULL || period[1] == '\0' ||
        end + out->by_weight != period)
        return false;
    snprintf(each, sizeof each, "%s%s", period[1] >= '0' && period[1] <= '9' ? "" : "1",
             period + 1);
    if (strchr(each, '-') != NULL || strchr(each, '+') != NULL ||
        cv_quantity_parse(each, CV_DURATION, &out->period_s) != NULL)
        return false;
    if (!out->by_weight && out->amount >= 1)
        out->amount = floor(out->amount);
    return out->period_s > 0 && out->amount > 0 && isfinite(out->amount);
}

void cv_rate_done(struct cv_rate *rate)
{
    free(rate->starts);
    rate->starts = NULL;
    rate->first = rate->count = rate->room = 0;
}

/* Forget starts that every window has left, and raise the learnt limit. */
static void advance(struct cv_rate *rate, double now_s)
{
    while (rate->first < rate->count &&
           rate->starts[rate->first].time_s + rate->period_s <= now_s)
        rate->used -= rate->starts[rate->first++].amount;
    if (rate->first == rate->count) {
        rate->first = rate->count = 0;
        rate->used = 0;
    }
    while (rate->cut > 0 && rate->since_s + rate->period_s <= now_s) {
        rate->cut = fmax(0, rate->cut - STEP * rate->amount);
        rate->since_s += rate->period_s;
    }
}

static double limit(const struct cv_rate *rate)
{
    return rate->amount - rate->cut + SLACK * rate->amount;
}

double cv_rate_next_s(struct cv_rate *rate, double now_s, double amount, double ahead)
{
    const double wanted = amount + ahead;
    double used, time_s = now_s;

    advance(rate, now_s);
    used = rate->used;
    for (size_t i = rate->first; i < rate->count && used + wanted > limit(rate); i++) {
        used -= rate->starts[i].amount;
        time_s = rate->starts[i].time_s + rate->period_s;
    }
    /* An amount that does not fit into one window begins in a later one. */
    return ahead > 0 && wanted > limit(rate)
               ? time_s + floor(fmin(wanted / limit(rate), wanted)) * rate->period_s
               : time_s;
}

bool cv_rate_can_hold(const struct cv_rate *rate, double amount)
{
    return amount <= rate->amount * (1 + SLACK);
}

double cv_rate_left(struct cv_rate *rate, double now_s)
{
    advance(rate, now_s);
    return fmax(0, limit(rate) - rate->used);
}

enum cleave_status cv_rate_start(struct cv_rate *rate, double now_s, double amount,
                                 struct cleave_error *err)
{
    advance(rate, now_s);
    if (rate->count == rate->room && 2 * rate->first > rate->count) {
        rate->count -= rate->first;
        memmove(rate->starts, rate->starts + rate->first,
                rate->count * sizeof *rate->starts);
        rate->first = 0;
    }
    if (!CV_ROOM(rate->starts, &rate->room, rate->count + 1))
        return cv_fail_memory(err, "the starts of a rate");
    rate->starts[rate->count++] = (struct cv_rate_start){ now_s, amount };
    rate->used += amount;
    return CLEAVE_OK;
}

void cv_rate_lower(struct cv_rate *rate, double now_s, double amount)
{
    advance(rate, now_s);
    if (!(rate->cut > 0))
        rate->since_s = now_s;
    rate->cut = fmin(rate->cut + amount, rate->amount);
}
