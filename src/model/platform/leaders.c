/* leaders.c -- workers behind others. SPDX-License-Identifier: MIT */
#include "model/platform/leaders.h"

#include <math.h>
#include <stdlib.h>

/* A group that is behind another. */
struct led {
    uint32_t group, leader, depth;
    double bandwidth_ups;
};

/* The deepest first, those of one leader together, and the widest links of these first. */
static int in_order(const void *left, const void *right)
{
    const struct led *a = left, *b = right;

    if (a->depth != b->depth)
        return a->depth > b->depth ? -1 : 1;
    if (a->leader != b->leader)
        return a->leader < b->leader ? -1 : 1;
    if (a->bandwidth_ups != b->bandwidth_ups)
        return a->bandwidth_ups > b->bandwidth_ups ? -1 : 1;
    return a->group < b->group ? -1 : a->group > b->group;
}

/* How many leaders are above; UINT32_MAX: they go in circles. */
static uint32_t depth_of(const uint32_t *leader, uint32_t ngroups, uint32_t group)
{
    uint32_t depth = 0;

    while (leader[group] != CV_NO_LEADER && depth <= ngroups) {
        group = leader[group];
        depth++;
    }
    return depth <= ngroups ? depth : UINT32_MAX;
}

/* What `n` workers alike add to their leader, whose port has `room` left of its time. */
static void add_led(enum cleave_port port, const struct cleave_worker *worker, double n,
                    double *room, struct cleave_worker *sum, double *latency_s,
                    double *compute_s)
{
    const double use = worker->speed_ups / worker->bandwidth_ups;
    double used = n;

    if (port == CLEAVE_PORT_MULTI) {
        sum->speed_ups += n * fmin(worker->speed_ups, worker->bandwidth_ups);
        *compute_s = fmax(*compute_s, worker->latency_s + worker->compute_latency_s);
        return;
    }
    if (!(*room > 0))
        return;
    if (n * use > *room)
        used = ceil(*room / use);
    sum->speed_ups += fmin(n * worker->speed_ups, *room * worker->bandwidth_ups);
    *room = fmax(0, *room - n * use);
    *latency_s += used * worker->latency_s;
    *compute_s = fmax(*compute_s, worker->compute_latency_s);
}

/* Those of one leader, all of which stand for themselves or have been collapsed. Returns the
 * first that is another's. */
static const struct led *collapse_one(enum cleave_port port, const struct led *at,
                                      const struct led *end, struct cleave_worker *kinds,
                                      struct cv_group *groups)
{
    const uint32_t leader = at->leader;
    struct cleave_worker *sum = &kinds[leader];
    double room = 1, latency_s = 0, compute_s = sum->compute_latency_s;

    for (; at < end && at->leader == leader; at++) {
        const double n = groups[at->group].count;

        add_led(port, &kinds[at->group], n, &room, sum, &latency_s, &compute_s);
        groups[leader].cost += n * groups[at->group].cost;
        groups[leader].led += n * (1 + groups[at->group].led);
    }
    sum->compute_latency_s = latency_s + compute_s;
    return at;
}

enum cleave_status cv_leaders_collapse(enum cleave_port port, const uint32_t *leader,
                                       struct cleave_worker *kinds,
                                       struct cv_group *groups, uint32_t *ngroups,
                                       uint32_t *reterr_group, struct cleave_error *err)
{
    struct led *led = calloc((size_t)*ngroups + 1, sizeof *led);
    const struct led *at = led;
    uint32_t n = 0, kept = 0;

    if (led == NULL)
        return cv_fail_memory(err, "a platform");
    for (uint32_t g = 0; g < *ngroups; g++) {
        const uint32_t depth = depth_of(leader, *ngroups, g);

        if (depth == UINT32_MAX) {
            free(led);
            *reterr_group = g;
            return cv_fail(err, CLEAVE_EINPUT, "leaders go in circles");
        }
        if (depth > 0)
            led[n++] = (struct led){ g, leader[g], depth, kinds[g].bandwidth_ups };
    }
    qsort(led, n, sizeof *led, in_order);
    while (at < led + n)
        at = collapse_one(port, at, led + n, kinds, groups);
    for (uint32_t g = 0; g < *ngroups; g++)
        if (leader[g] == CV_NO_LEADER) {
            kinds[kept] = kinds[g];
            groups[kept++] = groups[g];
        }
    *ngroups = kept;
    free(led);
    return CLEAVE_OK;
}

double cv_platform_led(const struct cleave_platform *platform)
{
    double led = 0;

    for (uint32_t g = 0; g < platform->ngroups; g++)
        led += platform->groups[g].count * platform->groups[g].led;
    return led;
}
