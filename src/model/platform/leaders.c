/* leaders.c -- workers that are led by others. SPDX-License-Identifier: MIT */
#include "model/platform/leaders.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/compare.h"
#include "base/text.h"

/* A group that another one leads. */
struct led {
    uint32_t group, leader, depth;
    double bandwidth_ups;
};

/* The deepest first, groups of one leader together, and their widest links first. */
static int in_order(const void *left, const void *right)
{
    const struct led *a = left, *b = right;

    return cv_order(CV_COMPARE(b->depth, a->depth), CV_COMPARE(a->leader, b->leader),
                    cv_order(CV_COMPARE(b->bandwidth_ups, a->bandwidth_ups),
                             CV_COMPARE(a->group, b->group), 0));
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

/* Speed that `n` equal workers add to their leader, whose port has `room` left of its time. */
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

/* The groups of one leader, none of which leads groups that are not collapsed. Returns the
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
                                       struct cv_group *groups, uint32_t ngroups,
                                       uint32_t *reterr_group, struct cleave_error *err)
{
    struct led *led = calloc((size_t)ngroups + 1, sizeof *led);
    const struct led *at = led;
    uint32_t n = 0;

    if (led == NULL)
        return cv_fail_memory(err, "a platform");
    for (uint32_t g = 0; g < ngroups; g++) {
        const uint32_t depth = depth_of(leader, ngroups, g);

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

struct named {
    const char *name;
    uint32_t index;
};

/* Names to look up, and the leaders found so far. */
struct applying {
    const struct cv_lead_names *names;
    struct named *sorted; /* owned: those that have one */
    size_t nsorted;
    uint32_t *leader;
    struct cleave_error *err;
};

static int compare_named(const void *left, const void *right)
{
    const struct named *a = left, *b = right;

    return strcmp(a->name, b->name);
}

static enum cleave_status find(const struct applying *applying, const char *name,
                               uint32_t *out)
{
    const struct named key = { name, 0 };
    const struct named *found =
        bsearch(&key, applying->sorted, applying->nsorted, sizeof key, compare_named);
    char shown[80];

    if (found == NULL)
        return cv_fail(applying->err, CLEAVE_EINPUT,
                       "hosts.via: expected the name of a worker, got '%s'",
                       cv_shown(name, strlen(name), shown, sizeof shown));
    *out = found->index;
    return CLEAVE_OK;
}

static enum cleave_status put_behind(const struct applying *applying, uint32_t index,
                                     uint32_t leader)
{
    const char *const *names = applying->names->items;

    if (index == leader)
        return cv_fail(applying->err, CLEAVE_EINPUT, "hosts.via: '%s' cannot lead itself",
                       names[leader]);
    if (applying->leader[index] != CV_NO_LEADER && applying->leader[index] != leader)
        return cv_fail(
            applying->err, CLEAVE_EINPUT,
            "hosts.via: '%s' is behind '%s' and behind '%s': expected one of them",
            names[index], names[applying->leader[index]], names[leader]);
    applying->leader[index] = leader;
    return CLEAVE_OK;
}

static enum cleave_status apply_list(const struct applying *applying,
                                     const struct cv_lead_rule *rule)
{
    uint32_t leader, index;

    CV_TRY(find(applying, rule->leader, &leader));
    for (size_t i = 0; rule->led[i] != NULL; i++) {
        CV_TRY(find(applying, rule->led[i], &index));
        CV_TRY(put_behind(applying, index, leader));
    }
    return CLEAVE_OK;
}

/* Whether `above` leads a worker, directly or not. */
static bool is_behind(const struct applying *applying, uint32_t index, uint32_t above)
{
    uint32_t steps = 0;

    while (applying->leader[index] != CV_NO_LEADER && steps++ < applying->names->count) {
        index = applying->leader[index];
        if (index == above)
            return true;
    }
    return false;
}

/* All other workers without a leader, except the leaders of this one. */
static enum cleave_status apply_all(const struct applying *applying,
                                    const struct cv_lead_rule *rule)
{
    const struct cv_lead_names *names = applying->names;
    uint32_t leader, count = 0;

    CV_TRY(find(applying, rule->leader, &leader));
    for (uint32_t i = 0; i < names->count; i++) {
        if (names->items[i] == NULL || i == leader ||
            applying->leader[i] != CV_NO_LEADER || is_behind(applying, leader, i) ||
            (names->others != NULL && !names->others[i]))
            continue;
        applying->leader[i] = leader;
        count++;
    }
    return count > 0 ? CLEAVE_OK
                     : cv_fail(applying->err, CLEAVE_EINPUT,
                               "hosts.via %s: there is nobody else that it could lead",
                               rule->leader);
}

static enum cleave_status check_circles(const struct applying *applying)
{
    for (uint32_t i = 0; i < applying->names->count; i++)
        if (is_behind(applying, i, i))
            return cv_fail(applying->err, CLEAVE_EINPUT,
                           "hosts.via: '%s' is behind itself: leaders go in circles",
                           applying->names->items[i]);
    return CLEAVE_OK;
}

static enum cleave_status apply(const struct applying *applying,
                                const struct cv_lead_rule *rules, size_t count)
{
    const struct cv_lead_rule *all = NULL;

    for (size_t i = 0; i < count; i++) {
        if (rules[i].led == NULL && all != NULL)
            return cv_fail(applying->err, CLEAVE_EINPUT,
                           "hosts.via: expected one leader of all others, got '%s' and "
                           "'%s': say whom each leads, hosts.via %s:HOSTS",
                           all->leader, rules[i].leader, all->leader);
        if (rules[i].led == NULL)
            all = &rules[i];
        else
            CV_TRY(apply_list(applying, &rules[i]));
    }
    if (all != NULL)
        CV_TRY(apply_all(applying, all));
    return check_circles(applying);
}

enum cleave_status cv_lead_rules_apply(const struct cv_lead_rule *rules, size_t count,
                                       const struct cv_lead_names *names,
                                       uint32_t *leader, struct cleave_error *err)
{
    struct applying applying = { .names = names, .leader = leader, .err = err };
    enum cleave_status status;

    applying.sorted = calloc(names->count + 1U, sizeof *applying.sorted);
    if (applying.sorted == NULL)
        return cv_fail_memory(err, "the workers");
    for (uint32_t i = 0; i < names->count; i++)
        if (names->items[i] != NULL)
            applying.sorted[applying.nsorted++] = (struct named){ names->items[i], i };
    qsort(applying.sorted, applying.nsorted, sizeof *applying.sorted, compare_named);
    status = apply(&applying, rules, count);
    free(applying.sorted);
    return status;
}
