/* learn.c -- chunk sizes from costs measured on the way. SPDX-License-Identifier: MIT
 *
 * Nothing is believed that was not seen. Every worker starts with a small chunk; the time of
 * a chunk is fitted as latency + units / speed, with old chunks forgotten by degrees. Chunks
 * grow from one to the next, so that start-up costs vanish, and shrink at the end, where each
 * gets at most half of its share of what is left, so that all end together. When nothing is
 * left and a worker is idle, the one that would be last has part of its chunk recalled: as
 * much as makes the two end together, if that is worth a start.
 *
 *     recalled = (rest of the late one - latency of the idle one) / (1/S_late + 1/S_idle)
 *
 * O(workers) for a decision. UMR grows, factoring shrinks, and work stealing recalls; here
 * all three work from measured costs. */
#include <math.h>

#include "policy/setup.h"

/* How fast old observations fade, and how chunks grow until the start-up cost is SHARE of
 * their time. */
static const double KEPT = 0.7;
static const double SHARE = 0.02;
/* A chunk must be worth so many starts, and so much of an equal share. */
static const double START_WORTH = 3;
static const double FINEST = 1.0 / 1024;

struct seen {
    double weight, units, time_s, units2,
        cross;                   /* faded sums of the fit                 */
    double latency_s, speed_ups; /* what they say; speed 0: nothing yet   */
    double last;                 /* units of the last chunk finished      */
    double chunk, began_s;       /* the one under way; 0 units: idle              */
    bool firm;                   /* its chunk cannot be recalled                        */
};

struct learn {
    double first, least, most, growth, parts;
    struct seen *workers;
    uint32_t asked; /* the idle worker that a recall is for, or NOBODY  */
};

enum { NOBODY = UINT32_MAX };

static enum cleave_status learn_start(void *state, const struct cleave_view *view,
                                      struct cleave_setup *setup,
                                      struct cleave_error *err)
{
    struct learn *learn = state;

    learn->workers = cv_array(setup->arena, view->nworkers, sizeof *learn->workers);
    learn->asked = NOBODY;
    return learn->workers != NULL ? CLEAVE_OK : cv_fail_memory(err, "what is learnt");
}

/* Fit time = latency + units / speed to what was seen, the newest most. */
static void observe(struct seen *seen, double units, double time_s)
{
    double spread, slope, mean_units, mean_s;

    if (!(units > 0) || !(time_s > 0))
        return;
    seen->weight = KEPT * seen->weight + 1;
    seen->units = KEPT * seen->units + units;
    seen->time_s = KEPT * seen->time_s + time_s;
    seen->units2 = KEPT * seen->units2 + units * units;
    seen->cross = KEPT * seen->cross + units * time_s;
    mean_units = seen->units / seen->weight;
    mean_s = seen->time_s / seen->weight;
    spread = seen->units2 / seen->weight - mean_units * mean_units;
    slope = mean_s / mean_units;
    /* Chunks of one size tell nothing about the latency: keep what is known of it. */
    if (spread > 0.01 * mean_units * mean_units)
        slope = (seen->cross / seen->weight - mean_units * mean_s) / spread;
    else if (seen->latency_s < mean_s)
        slope = (mean_s - seen->latency_s) / mean_units;
    slope = fmin(fmax(slope, 0.05 * mean_s / mean_units), mean_s / mean_units);
    seen->speed_ups = 1 / slope;
    seen->latency_s = fmax(0, mean_s - slope * mean_units);
}

/* The mean speed of those that are known stands for those that are not. */
static double share_of(const struct learn *learn, const struct cleave_view *view,
                       uint32_t worker)
{
    double sum = 0;
    uint32_t known = 0;

    for (uint32_t w = 0; w < view->nworkers; w++) {
        sum += learn->workers[w].speed_ups;
        known += learn->workers[w].speed_ups > 0;
    }
    if (known == 0)
        return 1.0 / view->nworkers;
    if (!(learn->workers[worker].speed_ups > 0))
        return 1.0 / view->nworkers;
    return learn->workers[worker].speed_ups / (sum * view->nworkers / known);
}

/* Below so many units a chunk costs more to start than it saves. */
static double worthwhile(const struct learn *learn, const struct cleave_view *view,
                         const struct seen *seen)
{
    double units = fmax(learn->least, START_WORTH * seen->latency_s * seen->speed_ups);

    if (isfinite(view->units_total))
        units = fmax(units, FINEST * view->units_total / view->nworkers);
    return units;
}

static double size_of(const struct learn *learn, const struct cleave_view *view,
                      uint32_t worker)
{
    const struct seen *seen = &learn->workers[worker];
    const double part = view->units_left * share_of(learn, view, worker);
    const double cheap = seen->latency_s * seen->speed_ups / SHARE;
    double size;

    if (seen->last > 0)
        size = seen->last * learn->growth;
    else if (learn->first > 0)
        size = learn->first;
    else
        size = view->units_total / (256.0 * view->nworkers);
    /* A stream has no end to prepare for. */
    if (isfinite(part))
        size = fmin(size, fmax(part / learn->parts, fmin(cheap, part)));
    else if (learn->most <= 0)
        size = fmin(size, fmax(cheap, seen->last));
    if (learn->most > 0)
        size = fmin(size, learn->most);
    return fmin(fmax(size, worthwhile(learn, view, seen)), view->units_left);
}

static void give(struct learn *learn, uint32_t worker, double units, double now_s,
                 struct cleave_orders *orders)
{
    learn->workers[worker].chunk = units;
    learn->workers[worker].began_s = now_s;
    learn->workers[worker].firm = false;
    cleave_order_send(orders, worker, units);
}

/* How long a busy worker still takes; as long again when nothing is known of it. */
static double rest_of(const struct seen *seen, double now_s)
{
    const double elapsed_s = now_s - seen->began_s;

    if (!(seen->speed_ups > 0))
        return elapsed_s;
    return fmax(0, seen->latency_s + seen->chunk / seen->speed_ups - elapsed_s);
}

/* Take from the worker that will be last what lets it end together with an idle one. */
static void recall(struct learn *learn, const struct cleave_view *view, uint32_t idle,
                   double now_s, struct cleave_orders *orders)
{
    const struct seen *helper = &learn->workers[idle];
    uint32_t late = NOBODY;
    double longest_s = 0, units, speed_ups;

    if (!(helper->speed_ups > 0))
        return;
    for (uint32_t w = 0; w < view->nworkers; w++) {
        const struct seen *seen = &learn->workers[w];
        const double rest_s = seen->chunk > 0 && !seen->firm ? rest_of(seen, now_s) : 0;

        if (rest_s > longest_s) {
            longest_s = rest_s;
            late = w;
        }
    }
    if (late == NOBODY)
        return;
    speed_ups = learn->workers[late].speed_ups;
    units = speed_ups > 0 ? (longest_s - helper->latency_s) /
                                (1 / speed_ups + 1 / helper->speed_ups)
                          : learn->workers[late].chunk / 2;
    if (units < worthwhile(learn, view, helper))
        return;
    learn->asked = idle;
    cleave_order_recall(orders, late, units);
}

static void serve(struct learn *learn, const struct cleave_view *view, double now_s,
                  struct cleave_orders *orders)
{
    for (uint32_t w = 0; w < view->nworkers; w++) {
        if (learn->workers[w].chunk > 0)
            continue;
        if (view->units_left > 0)
            give(learn, w, size_of(learn, view, w), now_s, orders);
        else if (learn->asked == NOBODY)
            recall(learn, view, w, now_s, orders);
    }
}

static void learn_decide(void *state, const struct cleave_view *view,
                         const struct cleave_event *event, struct cleave_orders *orders)
{
    struct learn *learn = state;
    struct seen *seen = &learn->workers[event->worker];

    switch (event->kind) {
    case CLEAVE_DONE:
        /* From the order on: what it takes to get there is part of the cost. */
        observe(seen, event->units, event->time_s - seen->began_s);
        seen->last = event->units;
        seen->chunk = 0;
        break;
    case CLEAVE_LOST:
        seen->chunk = 0;
        break;
    case CLEAVE_RECALLED:
        seen->chunk = fmax(seen->chunk - event->units, 0);
        /* What could not be taken back now will not be later: it has been fed. */
        seen->firm = !(event->units > 0);
        if (event->units > 0 && learn->workers[learn->asked].chunk == 0)
            give(learn, learn->asked, event->units, event->time_s, orders);
        learn->asked = NOBODY;
        break;
    default:
        break;
    }
    if (!event->more)
        serve(learn, view, event->time_s, orders);
}

static const struct cleave_param learn_params[] = {
    { "first", CLEAVE_PARAM_REAL, offsetof(struct learn, first), 0, 0, 1e300,
      "units of each worker's first chunk; 0: a 256th of an equal share" },
    { "least", CLEAVE_PARAM_REAL, offsetof(struct learn, least), 0, 0, 1e300,
      "units of the smallest chunk" },
    { "most", CLEAVE_PARAM_REAL, offsetof(struct learn, most), 0, 0, 1e300,
      "units of the largest chunk; 0: no limit" },
    { "growth", CLEAVE_PARAM_REAL, offsetof(struct learn, growth), 2, 1, 100,
      "from one chunk to the next" },
    { "parts", CLEAVE_PARAM_REAL, offsetof(struct learn, parts), 2, 1, 100,
      "at the end a chunk is at most this part of the worker's share" },
    { 0 },
};

const struct cleave_policy cleave_policy_learn = {
    .name = "learn",
    .summary = "sizes from measured costs: growing, then shrinking, late tails recalled",
    .reference = "cleave",
    .takes_streams = true,
    .state_size = sizeof(struct learn),
    .params = learn_params,
    .start = learn_start,
    .decide = learn_decide,
};
